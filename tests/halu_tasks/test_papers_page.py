"""The table of the papers names only what exists: tasks, solvers, builders, commands, options, metrics and files."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest

from halu_tasks.builders.pipeline import pipelines
from halu_tasks.cli import command_line
from halu_tasks.core.options import Options, option_specs
from halu_tasks.tasks import registry

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
COLUMNS = ["in the paper", "run", "option or metric", "file", "what differs, and why"]
PAPERS = ("ReFACT", "C-FAITH and HaluAgent", "FactCHD", "HalluVerse25", "Factored Verification")
TASKS, GROUPS = registry()
OF_EVERY_TASK = Options.specs().keys() - Options.of_some_tasks().keys()
JUDGE = {name for name in OF_EVERY_TASK if name.startswith("judge")}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(page: str) -> list[list[str]]:
    """The rows of all tables of a page."""
    lines = [line for line in page.splitlines() if line.startswith("|")]
    return [row for line in lines if (row := cells(line)) != COLUMNS and not set(row[0]) <= {"-"}]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def command(words: list[str]) -> set[str] | None:
    """The flags of a command of `halu-tasks`; None if there is no such command."""
    command: click.Command = command_line()
    for word in words:
        if word.startswith("-"):
            break
        found = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if found is None:
            return None
        command = found
    if isinstance(command, click.Group):
        context = click.Context(command)
        # the first one is the default
        command = command.get_command(context, command.list_commands(context)[0]) or command
    return {flag for option in command.get_params(click.Context(command)) for flag in option.opts}


def solver_arguments(name: str) -> set[str] | None:
    """The arguments of a solver of the package; None if there is no such solver."""
    from inspect_ai._util.registry import registry_lookup

    import halu_tasks._registry  # noqa: F401

    solver = registry_lookup("solver", name)
    return None if solver is None else set(inspect.signature(solver).parameters)


def accepted(name: str) -> set[str] | None:
    """The options and metrics of what a row runs; None if there is nothing of that name."""
    if name.startswith("halu-tasks "):
        return command(name.split()[1:])
    if name.startswith("halu_tasks/"):
        return solver_arguments(name)
    if name in pipelines():
        return {*option_specs(pipelines()[name]), *(command(["build"]) or ())}
    members = GROUPS[name].tasks if name in GROUPS else [TASKS[name]] if name in TASKS else []
    if not members:
        return None
    metrics = {metric.name for task in members for mode in task.scoring.values() for metric in mode.metrics}
    options = {option for task in members for option in task.prompts.task_options}
    of_all = OF_EVERY_TASK - (set() if any(task.judged for task in members) else JUDGE)
    of_all -= set() if any("cot" in w.prompt for task in members for w in task.prompts.wordings) else {"cot"}
    return metrics | options | of_all


def faults(row: list[str]) -> list[str]:
    """What a row names that does not exist."""
    _, runs, options, files, _ = row
    known = {name: accepted(name) for name in names(runs)}
    found = [f"{name}: no such task, solver, builder or command" for name in known if known[name] is None]
    every = {option for each in known.values() for option in each or ()}
    found += [f"{name}: not of {', '.join(known)}" for name in names(options) if name not in every]
    return found + [f"{name}: no such file or folder" for name in names(files) if not (ROOT / name).exists()]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_name_on_the_page_exists(paper: str) -> None:
    section = PAGE.split(f"\n## {paper}\n")[1].split("\n## ")[0]
    table = rows(section)
    assert len(table) > 15
    assert all(len(row) == len(COLUMNS) for row in table)
    assert [(row[0], fault) for row in table for fault in faults(row)] == []


def test_every_task_and_published_table_is_on_the_page() -> None:
    from halu_tasks.results.published import PROTOCOLS, published

    run = {name for row in rows(PAGE) for name in names(row[1])}
    papers = {"refact", "cfaith", "factchd", "halluverse25", "fave"}
    covered = run | {member for name in run & GROUPS.keys() for member in GROUPS[name].members}
    assert {name for name, task in TASKS.items() if task.benchmark in papers} <= covered
    assert {figure.task for figure in published()} <= covered
    files = {Path(name).stem for row in rows(PAGE) for name in names(row[3])}
    assert {path.stem for path in PROTOCOLS.glob("*/*.yaml")} <= files
    solvers = {name for name in run if name.startswith("halu_tasks/")}
    assert len(solvers) >= 6
