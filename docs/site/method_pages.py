"""A page for each method and prompt format, from the solvers' docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import NamedTuple

from page import Page, Section, listed, literal, mentions, sections

from halu_tasks import solvers

FOLDER = "reference/methods/"


class Solver(NamedTuple):
    """A solver: the module that defines it, its name, the first sentence of its docstring, and whether it is a prompt.

    Prompts can leave the call of the model to a later solver; the others are methods, which make their own calls.
    """

    module: str
    name: str
    about: str
    prompt: bool


def method_section() -> Section:
    """Make the pages of all solvers."""
    modules = [module.name for module in walk_packages(solvers.__path__, f"{solvers.__name__}.")]
    found = [solver for module in modules for solver in _solvers(module)]
    groups = {
        "Methods": [_page(solver) for solver in found if not solver.prompt],
        "Prompts": [_page(solver) for solver in found if solver.prompt],
    }
    text = sections(
        "This section has a page for every method and prompt format, generated from the solvers' docstrings. "
        "[Methods](../../methods.md) explains the cost of methods and how to compare them, and "
        "[Solvers](../../solvers.md) explains the prompt formats.",
        "## Methods",
        listed(groups["Methods"], FOLDER),
        "## Prompts",
        listed(groups["Prompts"], FOLDER),
    )
    about = "Every method (several model calls per item) and every prompt format, with its arguments."
    return Section("Methods", Page(f"{FOLDER}index.md", "All methods", about, text), groups)


def _solvers(module: str) -> Iterator[Solver]:
    for name, value in vars(import_module(module)).items():
        if not callable(value) or getattr(value, "__module__", "") != module or name.startswith("_"):
            continue
        if hasattr(value, "__registry_info__"):
            yield Solver(module, name, _first_sentence(value), "generate" in inspect.signature(value).parameters)


def _first_sentence(value: object) -> str:
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())


def _page(solver: Solver) -> Page:
    text = sections(
        "## Use it",
        literal(f"inspect eval halu_tasks/TASK --solver halu_tasks/{solver.name} --model MODEL", "bash"),
        "Set arguments with `-S NAME=VALUE`.",
        "## Arguments",
        f"::: {solver.module}.{solver.name}\n    options:\n      heading_level: 3",
        mentions(solver.name, 2),
    )
    return Page(f"{FOLDER}{solver.name}.md", solver.name, solver.about, text)
