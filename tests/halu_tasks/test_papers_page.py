"""The table of the papers names every part of them, and only what exists: tasks, options, metrics and so on."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest
import yaml

from halu_tasks.builders.pipeline import pipelines
from halu_tasks.cli import command_line
from halu_tasks.core.options import Options
from halu_tasks.core.settings import settings_of
from halu_tasks.tasks import registry

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
COLUMNS = ["in the paper", "run", "option or metric", "what differs, and why"]
PARTS = yaml.safe_load((Path(__file__).parent / "paper_parts.yaml").read_text(encoding="utf-8"))
PAPERS = tuple(PARTS)
TASKS, GROUPS = registry()
OF_EVERY_TASK = Options.settings().keys() - Options.task_specific().keys()
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
        return {*settings_of(pipelines()[name]), *(command(["build"]) or ())}
    members = GROUPS[name].tasks if name in GROUPS else [TASKS[name]] if name in TASKS else []
    if not members:
        return None
    metrics = {metric.name for task in members for mode in task.scorers.values() for metric in mode.metrics}
    options = {option for task in members for option in task.prompts.task_options}
    of_all = OF_EVERY_TASK - (set() if any(task.judge_spec for task in members) else JUDGE)
    of_all -= set() if any("cot" in w.prompt for task in members for w in task.prompts.wordings) else {"cot"}
    return metrics | options | of_all


def faults(row: list[str]) -> list[str]:
    """What a row names that does not exist."""
    _, runs, options, _ = row
    known = {name: accepted(name) for name in names(runs)}
    found = [f"{name}: no such task, solver, builder or command" for name in known if known[name] is None]
    every = {option for each in known.values() for option in each or ()}
    return found + [f"{name}: not of {', '.join(known)}" for name in names(options) if name not in every]


def section_of(paper: str) -> str:
    return PAGE.split(f"\n## {paper}\n")[1].split("\n## ")[0]


def headings(paper: str) -> set[str]:
    return {str(part) for part in PARTS[paper]["sections"] + PARTS[paper]["appendices"]}


def numbers_of(kind: str, text: str) -> set[int]:
    """The numbers in "Table 1", "Tables 2 and 3" and "Tables 6 to 8"."""
    found = re.findall(rf"\b{kind}s? (\d+)(?: (and|to) (\d+))?", text)
    ends = [(int(first), int(last or first), word) for first, word, last in found]
    return {n for first, last, word in ends for n in ((first, last) if word == "and" else range(first, last + 1))}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_numbered_part_of_a_paper_is_on_the_page(paper: str) -> None:
    text = "\n".join(row[0] for row in rows(section_of(paper)))
    for kind in ("Table", "Figure"):
        assert numbers_of(kind, text) == set(range(1, PARTS[paper][f"{kind.lower()}s"] + 1)), kind
    named = set(re.findall(r"§([\d.]*\d)|\bAppendix ([A-C](?:\.\d)*)|\b([A-C](?:\.\d)+)", text))
    named = {part for alternatives in named for part in alternatives if part}
    assert named <= headings(paper)
    # an appendix stands for its parts, and a part for the section that it begins
    covered = {part for part in headings(paper) for name in named if f"{name}.".startswith(f"{part}.")}
    covered |= {part for part in headings(paper) for name in named if name[0].isalpha() and part.startswith(name)}
    assert headings(paper) - covered == set()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_of_results_has_a_run_configuration(paper: str) -> None:
    from halu_tasks.results.published import PROTOCOLS

    sources = {
        yaml.safe_load(file.read_text())["metadata"]["published"]["source"] for file in PROTOCOLS.glob("*/*.yaml")
    }
    of_paper = (source for source in sources if source.startswith(paper.removesuffix(" and HaluAgent")))
    tables = {n for source in of_paper for n in numbers_of("Table", source)}
    assert tables == set(PARTS[paper]["results"])


@pytest.mark.parametrize("paper", PAPERS)
def test_the_list_of_parts_is_that_of_the_paper(paper: str, shared_data: Path) -> None:
    file = shared_data.parent / "papers" / f"{PARTS[paper]['file']}.txt"
    if not file.is_file():
        pytest.skip(f"no {file}")
    text = file.read_text(encoding="utf-8")
    heads = re.findall(r"^(?:Appendix )?((?:\d|[A-C])(?:\.\d)*)\.? (?=[A-Z“r][^|.]{3,90}$)", text, re.M)
    assert set(heads) == headings(paper)
    for kind, pattern in (("tables", r"\bTable\s(\d+)"), ("figures", r"\bFig(?:ure|\.)\s(\d+)")):
        assert {int(n) for n in re.findall(pattern, text)} == set(range(1, PARTS[paper][kind] + 1))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_name_on_the_page_exists(paper: str) -> None:
    table = rows(section_of(paper))
    assert len(table) > 15
    assert all(len(row) == len(COLUMNS) for row in table)
    assert [(row[0], fault) for row in table for fault in faults(row)] == []


def test_every_task_and_published_table_is_on_the_page() -> None:
    from halu_tasks.results.published import published

    run = {name for row in rows(PAGE) for name in names(row[1])}
    papers = {"refact", "cfaith", "factchd", "halluverse25", "fave"}
    covered = run | {member for name in run & GROUPS.keys() for member in GROUPS[name].members}
    assert {name for name, task in TASKS.items() if task.benchmark in papers} <= covered
    # the rankings of a shared task, HalluQA's leaderboard and FActScore's labels are of none of the five papers
    assert {figure.task for figure in published()} - {*GROUPS["mushroom"].members, "halluqa", "factscore"} <= covered
    solvers = {name for name in run if name.startswith("halu_tasks/")}
    assert len(solvers) >= 6
