"""Contract tests: each harness internal in docs/harness-internals.md is there and behaves as this package needs."""

from __future__ import annotations

import ast
import re
import zipfile
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from programs import IS_LM_EVAL_0_5

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "harness-internals.md"
PACKAGES = {"lm-eval": "lm_eval", "Inspect": "inspect_ai"}
OTHER = "lm-eval 0.4" if IS_LM_EVAL_0_5 else "lm-eval 0.5"
"""The version that is not installed."""


class Entry(NamedTuple):
    harness: str
    name: str
    purpose: str
    file: str
    consequence: str

    @property
    def problem(self) -> str:
        name = self.harness.split()[0]
        return (
            f"{name} {metadata.version(PACKAGES[name])} changed {self.name}, which {self.file} uses to {self.purpose}"
        )


def entries() -> list[Entry]:
    rows = re.findall(
        r"^\| (lm-eval(?: 0\.[45])?|Inspect) \| (.+) \| (.+) \| `(.+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE
    )
    assert len(rows) == len(re.findall(r"^\| (?:lm-eval|Inspect)", PAGE.read_text(), re.MULTILINE)) >= 15
    return [Entry(*row) for row in rows]


def dotted(entry: Entry) -> str | None:
    """The importable name of an entry; None for a file format or a private attribute of instances."""
    found = re.match(r"`((?:lm_eval|inspect_ai)[\w.]+)`", entry.name)
    return found[1] if found else None


def resolve(name: str) -> Any:
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            value: Any = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_the_code_that_uses_it_does(entry: Entry) -> None:
    """The page does not outlive what it describes."""
    name = re.findall(r"[A-Za-z_.]+", entry.name.split("`")[1])[0]
    last = {"results_": "results", "NAME": "_stderr"}.get(name, name).rsplit(".", 1)[-1]
    assert last in (ROOT / entry.file).read_text(), f"{entry.file} does not use {entry.name}"


@pytest.mark.parametrize(
    "entry", [entry for entry in entries() if dotted(entry) and entry.harness != OTHER], ids=lambda entry: entry.name
)
def test_it_is_there(entry: Entry) -> None:
    name = dotted(entry)
    assert name
    try:
        resolve(name)
    except (AttributeError, ModuleNotFoundError):
        pytest.fail(f"{entry.problem}; then {entry.consequence}")


@pytest.mark.slow
def test_every_private_module_of_a_harness_that_is_imported_is_on_the_page() -> None:
    page = PAGE.read_text()
    for path in [*ROOT.glob("halu_tasks/**/*.py"), *ROOT.glob("scorers/**/*.py"), *ROOT.glob("solvers/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                if module.split(".")[0] in PACKAGES.values() and any(part[:1] == "_" for part in module.split(".")):
                    assert module in page, f"{path} imports {module}, which {PAGE.name} does not list"


@pytest.mark.parametrize("name", ["model", "filter", "metric", "aggregation"])
def test_a_registry_takes_the_place_of_an_object_and_gives_the_object(name: str) -> None:
    import lm_eval.api.metrics
    import lm_eval.filters
    import lm_eval.models  # lm-eval imports its own entries only while a registry is empty

    assert lm_eval.models and lm_eval.filters
    registry = resolve(f"lm_eval.api.registry.{name}_registry")
    alias = f"halu_contract_{name}"
    registry.register(alias, target="halu_tasks.lm_eval_adapter.lm_eval_metrics:halu_mean")
    assert alias in registry and callable(registry.get(alias))


CALLED = ["build_all_requests", "dump_config", "higher_is_better", "override_metric"]
CALLED += ["process_instances", "aggregate"] if IS_LM_EVAL_0_5 else ["apply_filters", "process_results", "aggregation"]


@pytest.mark.parametrize("name", CALLED)
def test_lm_eval_calls_what_our_task_defines(name: str) -> None:
    """Else it would compute figures of its own."""
    source = "".join(
        Path(str(import_module(f"lm_eval.{module}").__file__)).read_text(encoding="utf-8")
        for module in ("evaluator", "evaluator_utils")
    )
    assert re.search(rf"task\w*\.{name}\(", source.replace('acc["task"]', "task")), f"lm-eval does not call {name}"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from inspect_ai import eval

    folder = tmp_path_factory.mktemp("logs")
    (log,) = eval(
        "halu_tasks/refact_correction", model="halu/oracle", task_args={"data": "sample"}, log_dir=str(folder),
        display="none",
    )  # fmt: skip
    return Path(log.location)


def test_a_log_of_another_layout_is_read_by_inspect(log: Path, tmp_path: Path) -> None:
    from halu_tasks.results.inspect_logs import read_runs

    other = tmp_path / "other.eval"
    with zipfile.ZipFile(log) as archive, zipfile.ZipFile(other, "w") as copy:
        for name in dict.fromkeys(archive.namelist()):
            if name != "summaries.json":
                copy.writestr(name, archive.read(name))
    (first,), (second,) = read_runs(str(log)), read_runs(str(other))
    assert len(first.answers) == 16 and first.answers == second.answers
