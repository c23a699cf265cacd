"""A page for each method and prompt format, from the solvers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from page import Page, Section, listed, literal, mentions, sections

FOLDER = "reference/methods/"
METHODS, PROMPTS = ("factored_verification", "knowledge", "opinions", "selfcheck"), ("prompt_formats",)
"""The modules of the solvers that are methods of several calls, and those that change how a model is asked."""


class Solver(NamedTuple):
    """A solver: the module that defines it, its name, and the first sentence of its docstring."""

    module: str
    name: str
    about: str


def method_section() -> Section:
    """Make the pages of all solvers."""
    groups = {
        "Methods": [_page(solver) for name in METHODS for solver in _solvers(f"halu_tasks.solvers.{name}")],
        "Prompts": [_page(solver) for name in PROMPTS for solver in _solvers(f"halu_tasks.solvers.{name}")],
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
        if hasattr(value, "__registry_info__") or "-> Solver" in _signature(value):
            yield Solver(module, name, _first_sentence(value))


def _signature(value: object) -> str:
    return f"-> {inspect.signature(value).return_annotation}" if inspect.isfunction(value) else ""


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
