"""The reference of the Python interface, from docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from page import ROOT, Page, Section, listed, sections

FOLDER = "reference/api/"
ROOMS = {
    "scorers": "Readings of replies, scores, metrics and statistics, without files, network or harness.",
    "solvers": "Methods and prompts as Inspect solvers.",
    "tasks": "Task files, the registry of tasks, and how items are built.",
    "data": "Finding, downloading, checking and reading data.",
    "core": "Items, options, prompts and errors, which every other package uses.",
    "replies": "Scoring of replies from any source.",
    "judging": "Judge models: calls, budgets and stored verdicts.",
    "results": "Reading and comparing results of both harnesses, and planning comparisons.",
    "report": "The report's content and its page.",
    "builders": "Builders of benchmarks from documents.",
    "knowledge": "Passages, and the search that methods use.",
    "executors": "Running jobs on this machine, with Slurm or with Ray.",
    "inspect_adapter": "The tasks, scorers and models as Inspect sees them.",
    "lm_eval_adapter": "The tasks, filters, metrics and models as lm-eval sees them.",
}
"""The packages of the reference, in the order of the navigation, and what each is for."""


def api_section() -> Section:
    """Make a page for each package, with the public names of its modules."""
    pages = [
        Page(f"{FOLDER}{room}.md", f"halu_tasks.{room}", about, sections(about, *_modules(room)))
        for room, about in ROOMS.items()
    ]
    text = sections(
        "This section has a page for every package, generated from docstrings. Import a name from the module under "
        "which it is documented. Names that begin with an underscore can change without notice.",
        "To score replies in Inspect tasks, start with [Scorers](../../scorers.md). To score them with one "
        "function, see [`score_replies`][halu_tasks.replies.scoring.score_replies].",
        listed(pages, FOLDER),
    )
    return Section(
        "Python", Page(f"{FOLDER}index.md", "Python", "The Python interface, by package.", text), {"": pages}
    )


def _modules(room: str) -> Iterator[str]:
    place = (ROOT / "halu_tasks" / room).resolve()
    for path in [*sorted(place.rglob("*.py")), *place.parent.glob(f"{room}.py")]:
        parts = ("halu_tasks", room, *path.with_suffix("").parts[len(place.parts) :])
        name = ".".join(parts).removesuffix(".__init__")
        if not path.name.startswith("_") and _defines(path):
            yield f"## `{name.partition('.')[2]}`\n\n::: {name}"


def _defines(path: Path) -> bool:
    """Return whether a module defines a public function or class."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) and not node.name.startswith("_") for node in body)
