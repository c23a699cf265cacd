"""The page on what is stable: the names are there, and the other pages use no others."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROWS = re.findall(r"^\| `(halu_tasks[\w.]*)` \| (.*) \|$", (DOCS / "stability.md").read_text("utf-8"), re.M)
STABLE = {module: re.findall(r"`(\w+)`", names.partition(":")[0]) for module, names in ROWS}
IMPORT = re.compile(r"^ *from (halu_tasks[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.M)


@pytest.mark.parametrize("module", STABLE)
def test_the_names_are_there(module: str) -> None:
    if module == "halu_tasks.scanners" and not find_spec("inspect_scout"):
        pytest.skip("needs the extra scout")
    found = import_module(module)
    for name in STABLE[module]:
        assert hasattr(found, name), name


def test_the_attributes_of_a_run_are_there() -> None:
    from halu_tasks.results.run import Run

    attributes = re.findall(r"`(\w+)`", dict(ROWS)["halu_tasks.results.run"].partition(":")[2])
    assert attributes and {*attributes} <= {*dir(Run), *Run.__dataclass_fields__}


def test_what_the_pages_import_is_stable() -> None:
    used = set()
    for page in DOCS.glob("*.md"):
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
            for module, several, one in IMPORT.findall(block):
                used |= {(module, name.split()[0]) for name in re.split(r",\s*", several or one) if name.strip()}
    assert ("halu_tasks.tasks", "build") in used
    unlisted = {f"{module}.{name}" for module, name in used if name not in STABLE.get(module, ())}
    assert not unlisted
