"""The papers' published figures, to stand beside this package's own for the same quantity.

They lie in `halu_tasks/reference/`, one file a paper, a table as columns and rows:

    paper: the short name that sources begin with
    tables:
      - source: where in the paper
        method, scoring, critic, judge: those of all figures of the table; the latter two may be absent
        columns: {task: [metric, …], …}, in the order of a row's values
        rows: {model: [value, …], …}
        notes: [{text, and of tasks, metrics, models those that it is about; all when not given}, …]

A figure that two tables of a paper print alike is there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.errors import UsageError, did_you_mean
from halu_tasks.tasks import Task, registry

REFERENCE = Path(__file__).parent / "reference"


@dataclass(frozen=True)
class Published:
    """One figure of a paper.

    Attributes:
        task: the task, or the group, that prints the same quantity.
        metric: the name under which it is printed.
        model: as the paper calls it.
        method: how the model was used:
            `prompt`: asked once, without worked examples;
            `few_shot`: the same after worked examples;
            `cot`: reasons first;
            `claims`: writes out and checks every claim of a text in one reply;
            `factored_verification`: each claim is checked by itself;
            `factored_revision`: a summary revised by the critiques of its unsupported claims;
            `self_correction`: a summary revised by the model's own feedback on the whole;
            `selfcheck`: agreement with the model's own samples (SelfCheckGPT), threshold 0.5;
            `selfcheck_tuned_threshold`: the same, threshold tuned;
            `tuned`: fine-tuned on the benchmark's training part;
            `with_knowledge`: shown evidence from outside the benchmark;
            `tuned_with_knowledge`: both of the latter;
            `truth_triangulator`: a tuned model and one with knowledge, and a manager who decides.
        value: in the unit that the package prints (shares from 0 to 1), as rounded by the paper.
        source: the paper and the table or section.
        scoring: the mode whose figure it compares with. `paper` or `strict`: how the paper read the replies, or
            the definition, is that mode's and not the other's. `both`: the definition is the same in both, and how
            the paper read the replies is not published.
        note: what a reader must know, such as another table that contradicts it, each thing on a line; empty where
            there is nothing.
        critic: the model that wrote the critique for a revision; None where there is none or it is not one.
        judge: the model that decided what is hallucinated; None where there is none or it is not one.
    """

    task: str
    metric: str
    model: str
    method: str
    value: float
    source: str
    scoring: str
    note: str = ""
    critic: str | None = None
    judge: str | None = None


def published(task: str | None = None) -> list[Published]:
    """The figures of a task, of a group and its members, or all. A task without any gives none.

    Raises:
        UsageError: there is no such task or group.
    """
    if task is None:
        return list(_figures())
    tasks, groups = registry()
    named = {task, *(groups[task].members if task in groups else ())}
    found = [figure for figure in _figures() if figure.task in named]
    if not found and task not in {*tasks, *groups}:
        raise UsageError(f"unknown task {task!r}{did_you_mean(task, [*tasks, *groups])}; {with_figures()}")
    return found


def published_for(task: Task) -> list[Published]:
    """The figures of a packaged task; none of one that a user derived, which asks or scores otherwise."""
    return [figure for figure in _figures() if figure.task == task.name] if task.name in registry()[0] else []


def with_figures() -> str:
    """The tasks and groups that have figures, for an error about one that has none."""
    return f"there are published figures for {', '.join(dict.fromkeys(figure.task for figure in _figures()))}"


@cache
def _figures() -> tuple[Published, ...]:
    papers = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(REFERENCE.glob("*.yaml"))]
    return tuple(figure for paper in papers for table in paper["tables"] for figure in _of_table(paper["paper"], table))


def _of_table(paper: str, table: Mapping[str, Any]) -> Iterator[Published]:
    columns = [(task, metric) for task, metrics in table["columns"].items() for metric in metrics]
    for model, values in table["rows"].items():
        for (task, metric), value in zip(columns, values, strict=True):
            about = {"tasks": task, "metrics": metric, "models": model}
            notes = [
                note["text"]
                for note in table.get("notes", ())
                if all(cell in note.get(kind, (cell,)) for kind, cell in about.items())
            ]
            yield Published(
                task=task,
                metric=metric,
                model=model,
                method=table["method"],
                value=float(value),
                source=f"{paper}, {table['source']}",
                scoring=table["scoring"],
                note="\n".join(notes),
                critic=table.get("critic"),
                judge=table.get("judge"),
            )


__all__ = ["Published", "published", "with_figures"]
