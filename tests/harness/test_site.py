"""The documentation site: it builds strictly, its links lead somewhere, and every page is found."""

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from halu_tasks.core.options import Options

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
MISSING = [name for name in ("zensical", "mkdocstrings", "nbclient", "nbconvert") if not importlib.util.find_spec(name)]


def paths(entries: list[Any]) -> Iterator[str]:
    """The pages of a navigation."""
    for entry in entries:
        values = [entry] if isinstance(entry, str) else entry.values()
        for value in values:
            yield from [value] if isinstance(value, str) else paths(value)


@pytest.fixture
def of_site(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a module of the site's scripts."""
    monkeypatch.syspath_prepend(str(SITE))
    return importlib.import_module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as in CI, with proxies that lead nowhere, so that nothing can be downloaded."""
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    evaluation = subprocess.run(
        [sys.executable, SITE / "make.py", "-o", folder],
        capture_output=True, text=True, timeout=1500, env=os.environ | nowhere, cwd=folder.parent,
    )  # fmt: skip
    assert evaluation.returncode == 0, evaluation.stdout + evaluation.stderr
    return folder / "site"


def test_every_written_page_is_in_the_navigation() -> None:
    named = set(paths(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    docs = ROOT / "docs"
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    written |= {path.relative_to(docs).with_suffix(".md").as_posix() for path in docs.rglob("*.ipynb")}
    assert written <= named


def test_a_link_without_page_or_anchor_and_a_foreign_script_are_found(
    of_site: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text('<a href="a/#here">x</a><a href="a/#gone">x</a><a href="b/">x</a>')
    (tmp_path / "a" / "index.html").write_text('<h2 id="here">x</h2><script src="https://example.org/x.js"></script>')
    assert of_site("check").problems(tmp_path) == [
        "a/index.html: https://example.org/x.js is fetched from another server",
        "index.html: the link a/#gone leads to no anchor",
        "index.html: the link b/ leads to no page",
    ]


def test_every_option_is_on_a_generated_page_as_it_is_given(of_site: Callable[[str], ModuleType]) -> None:
    tasks, builders = (page.text for page in of_site("option_pages").option_section().pages)
    for name, spec in Options.settings().items():
        assert f"| `{name}=…` | `{spec.flag}` |" in tasks, name
        assert name == "fewshot" or f"| `halu_{name}=…` |" in tasks, name
    for name in ("haluagent", "refact_pipeline", "halluverse25_pipeline", "factchd_pipeline"):
        section = builders.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert all(f"| `{option}` |" in section for option in ("language", "prompts", "seed")), name
    assert "| `hops` | 3 |" in builders


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"needs the extra docs: {', '.join(MISSING)} not installed")
def test_the_site_builds_and_every_page_is_reachable_in_two_steps(
    site: Path, of_site: Callable[[str], ModuleType]
) -> None:
    check = of_site("check")
    reached = steps = {site / "index.html"}
    for _ in range(2):
        links = ((page, link) for page in steps for link in check.document(page).links)
        steps = {file for page, link in links if (file := check.target(page, link)) and file.suffix == ".html"}
        reached = reached | steps
    pages = {path for path in site.rglob("*.html") if path.name != "404.html"}
    assert pages <= reached, sorted(str(path.relative_to(site)) for path in pages - reached)
    from halu_tasks.cli import COMMANDS
    from halu_tasks.tasks import registry

    shown = {path.parent.relative_to(site).as_posix() for path in pages}
    assert {f"reference/tasks/{name}" for name in registry()[0]} <= shown
    assert {f"reference/commands/{name}" for name in COMMANDS} <= shown
    assert {"reference/metrics/hallucination_rate", "reference/methods/selfcheck_prompt"} <= shown
    assert {f"gallery/{name}" for name in ("evaluate-a-model", "score-replies", "leaderboard", "modes")} <= shown


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"needs the extra docs: {', '.join(MISSING)} not installed")
def test_pages_have_what_the_package_declares(site: Path) -> None:
    task = (site / "reference" / "tasks" / "refact_correction" / "index.html").read_text(encoding="utf-8")
    for part in ("CC BY 4.0", "2509.25868", "em_mask", "glucagon", "higher is better", "GPT-4o", "multi_error"):
        assert part in task, part
    metric = (site / "reference" / "metrics" / "hallucination_rate" / "index.html").read_text(encoding="utf-8")
    assert "lower is better" in metric and "hallucination_rate_EntErr" in metric and "cfaith_tf" in metric
    tutorial = (site / "tutorials" / "evaluate-a-model" / "index.html").read_text(encoding="utf-8")
    assert "halluverse25_en success" in tutorial and "0.5938" in tutorial
    interface = (site / "reference" / "api" / "scorers" / "index.html").read_text(encoding="utf-8")
    assert 'id="halu_tasks.scorers.metrics.estimates"' in interface
    index = (site / "llms.txt").read_text(encoding="utf-8")
    lines = [line for line in index.splitlines() if line.startswith("- [")]
    assert len(lines) > 200 and all(line.partition("): ")[2] for line in lines)
