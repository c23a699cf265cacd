"""Figures published in papers, for comparison with this package's figures for the same quantities.

They are stored in `halu_tasks/published/`, one file per paper, with each table as columns and rows:

    paper: the short name that sources begin with
    tables:
      - source: where in the paper
        method, scoring, critic, judge: the same for all figures of the table; the latter two are optional
        columns: {task: [metric, …], …}, in the order of a row's values
        rows: {model: [value, …], …}; null for a figure that there is not
        notes: [{text, and optionally the tasks, metrics and models that it is about; all by default}, …]
    prompts: see `halu_tasks.tasks.prompting`

A figure that a paper prints in two tables is listed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from halu_tasks.core.files import read_yaml
from halu_tasks.tasks import registry
from halu_tasks.tasks.prompting import PUBLISHED

PROTOCOLS = Path(__file__).parent.parent / "protocols"
"""Run configurations of published tables: `lm_eval/` for `lm_eval run --config`, `inspect/` for `inspect eval
--run-config`."""


@dataclass(frozen=True)
class Published:
    """One figure of a paper.

    Attributes:
        task: The task, group or builder that reports the same quantity.
        metric: The name under which the package reports it.
        model: The model, as the paper calls it.
        method: How the model was used:
            `prompt`: asked once, without worked examples;
            `few_shot`: the same after worked examples;
            `cot`: reasons first;
            `claims`: writes out and checks every claim of a text in one reply;
            `factored_verification`: checks each claim separately;
            `factored_revision`: a summary revised by the critiques of its unsupported claims;
            `self_correction`: a summary revised by the model's own feedback on the whole;
            `selfcheck`: agreement with the model's own samples (SelfCheckGPT), threshold 0.5;
            `selfcheck_tuned_threshold`: the same with a tuned threshold;
            `tuned`: fine-tuned on the benchmark's training set;
            `with_knowledge`: shown evidence from outside the benchmark;
            `tuned_with_knowledge`: both of the latter;
            `truth_triangulator`: a tuned model, a model with knowledge, and a manager that decides;
            `submission`: a system submitted to a shared task, or a baseline of its organizers; of a team's systems in a
                language, that of the ranking by `iou`;
            `submission_by_cor`: likewise, that of the ranking by `cor`, if it is another one;
            `construction`: the share of a builder's drafts that passed a check;
            `annotation`: what annotators said of built items: the share that is right, and their agreement.
        value: The figure, rounded as in the paper, in the package's unit (shares from 0 to 1).
        source: The paper and the table or section.
        scoring: The mode whose figure it can be compared with. `paper` or `strict`: only this mode reads replies, or
            defines the figure, as the paper does. `both`: the definition is the same in both modes, and the paper
            does not say how it read the replies.
        note: What readers need to know, such as another table that contradicts it, one remark per line; may be empty.
        critic: The model that wrote the critique for a revision; None if there was no critique or no single model.
        judge: The model that decided what is hallucinated; None if there was none or no single model.
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
    """Return the published figures of a task or builder, of a group with its members, or, if it is None, of all."""
    if task is None:
        return list(_figures())
    groups = registry()[1]
    names = {task, *(groups[task].members if task in groups else ())}
    return [figure for figure in _figures() if figure.task in names]


def with_figures() -> str:
    """List the tasks and groups with published figures, for an error message about one without."""
    return f"there are published figures for {', '.join(dict.fromkeys(figure.task for figure in _figures()))}"


@cache
def _figures() -> tuple[Published, ...]:
    papers = [read_yaml(path) for path in sorted(PUBLISHED.glob("*.yaml"))]
    return tuple(figure for one in papers for table in one["tables"] for figure in _read_table(one["paper"], table))


def _read_table(paper: str, table: Mapping[str, Any]) -> Iterator[Published]:
    columns = [(task, metric) for task, metrics in table["columns"].items() for metric in metrics]
    for model, values in table["rows"].items():
        for (task, metric), value in zip(columns, values, strict=True):
            if value is None:
                continue
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
