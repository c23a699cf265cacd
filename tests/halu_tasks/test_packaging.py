"""What is declared in pyproject.toml and the other files of the project."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from halu_tasks import __version__
from halu_tasks.core.errors import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OWN = {"halu_tasks", "_halu_tasks_autoload"}
THROUGH_OTHERS = {"lm-eval", "openpyxl", "openai", "torch"}
"""Needed for the models of lm-eval's own extras; imported by pandas, by Inspect for OpenAI, by transformers."""
LOADED = {"sqlitedict"}
"""Imported only to change what lm-eval, which requires it, does with it."""


def distributions(requirements: list[str]) -> set[str]:
    names = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", name[0]).lower() for name in names if name} - {"halu-tasks"}


DISTRIBUTIONS = packages_distributions()
"""The distributions of each package that is installed, read once: it takes a second."""
CORE = distributions(PROJECT["dependencies"])
OF_EXTRA = {extra: distributions(PROJECT["optional-dependencies"][extra]) for extra in EXTRAS}


def imported() -> Iterator[tuple[str, str]]:
    """Yield (module, file) of each import of another package."""
    for folder in ("halu_tasks", "scorers", "solvers"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names = [node.module]
                for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - OWN:
                    yield name, str(path.relative_to(ROOT))


def distributions_of(module: str) -> set[str]:
    return {name.lower().replace("_", "-") for name in DISTRIBUTIONS.get(module, [])}


@pytest.mark.slow
def test_what_is_imported_is_declared() -> None:
    declared = CORE.union(LOADED, *OF_EXTRA.values())
    for module, path in imported():
        # those of extras that are not installed here are known by their modules
        names = distributions_of(module) or {module.replace("_", "-")}
        assert names & declared, f"{path} imports {module}"


@pytest.mark.slow
def test_what_is_declared_is_imported() -> None:
    modules = {module for module, _ in imported()}
    used = set().union(*(distributions_of(module) or {module.replace("_", "-")} for module in modules))
    assert CORE | set().union(*OF_EXTRA.values()) <= used | THROUGH_OTHERS


def test_each_extra_is_declared_and_in_all() -> None:
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(EXTRAS) <= set(re.findall(r"[\w]+", everything))


def without(code: str, *modules: str) -> subprocess.CompletedProcess[str]:
    """Run code where modules cannot be imported."""
    block = f"import sys\nsys.modules.update(dict.fromkeys({modules!r}))\n"
    return subprocess.run([sys.executable, "-P", "-c", block + code], capture_output=True, text=True, cwd=ROOT.parent)


MAIN = "from halu_tasks.cli import main\nsys.exit(main({!r}))"


def test_a_command_names_the_extra_that_it_lacks() -> None:
    arguments = ["build", "refact_pipeline", "none.jsonl", "-o", "none", "--model", "mockllm/model"]
    done = without(MAIN.format(arguments), *EXTRAS["build"])
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.endswith(
        'pip install "bm25s>=0.2.14" "datasketch>=1.6" "scikit-learn>=1.5"\n'
    )


def test_replies_are_scored_without_any_extra(tmp_path: Path) -> None:
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"id": "x", "output": "True"}\n')
    arguments = ["score", "refact_judgment_independent", str(replies), "--data", "sample"]
    # lm-eval needs scikit-learn by itself, and Inspect decides about transformers
    modules = {module for extra in EXTRAS.values() for module in extra} - {"sklearn"}
    done = without(MAIN.format(arguments), *sorted(modules))
    assert done.stderr.startswith("halu-tasks: ") and "unknown" in done.stderr and done.stderr.count("\n") == 1


def test_the_version_is_the_same_everywhere() -> None:
    assert PROJECT["dynamic"] == ["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], citation["license"]) == (__version__, PROJECT["license"])


def test_the_lock_file_names_one_index_only() -> None:
    packages = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    assert {package["source"].get("registry") for package in packages} == {None, "https://pypi.org/simple"}
    files = [file["url"] for package in packages for file in [package.get("sdist"), *package.get("wheels", [])] if file]
    assert files and all(url.startswith("https://files.pythonhosted.org/") for url in files)
