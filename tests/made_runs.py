"""Figures of replies, runs on the sample that no harness made, and reports on them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.replies.scoring import score_replies
from halu_tasks.report.assemble import assemble
from halu_tasks.report.board import board
from halu_tasks.report.page import as_json as to_json
from halu_tasks.report.report_records import Report
from halu_tasks.results.run import Run, RunReply
from halu_tasks.scorers.metrics import estimates
from halu_tasks.tasks import Evaluation, build, registry

TASKS, GROUPS = registry()
CORRECTION, COMPARATIVE, HALUEVAL = "refact_correction", "refact_judgment_comparative", "halueval_summarization"


def strict_json(text: str) -> Any:
    """Read JSON, in which Python allows NaN and infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def figures_of(evaluation: Evaluation, replies: Iterable[str | Reply]) -> dict[str, float]:
    """The figures of replies, one to each item."""
    made = [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies]
    scores = score_replies(evaluation, list(zip(evaluation.items, made, strict=True)))
    return {name: estimate.value for name, estimate in estimates(evaluation.metrics, scores).items()}


def answered(task: str, wrong: int = 0, limit: int | None = None, **options: Any) -> list[RunReply]:
    """Answers to the sample's items: right, but for the first `wrong` ones, which say nothing."""
    evaluation = build(task, Options(data="sample", **options))
    verdicts = [] if evaluation.task.judge_spec and evaluation.options.judge else None
    made = []
    for number, item in enumerate(evaluation.items[:limit]):
        reply = "" if number < wrong else evaluation.task.prompts.oracle(item)
        score = evaluation.task.score(evaluation.options.scoring, item, Reply(reply), verdicts)
        made.append(RunReply(item, reply, score))
    return made


def run_of(task: str = CORRECTION, wrong: int = 0, limit: int | None = None, **others: Any) -> Run:
    """A run on the sample; `others` are options of the task, and what a run holds."""
    own = {name: others.pop(name) for name in list(others) if name in Run.__dataclass_fields__}
    evaluation = build(task, Options(data="sample", **others))
    told = {
        "source": "a.eval",
        "id": f"{task} {wrong} {limit} {others} {own}",
        "harness": "Inspect 0.3",
        "model": "m",
        "roles": {"grader": evaluation.options.judge} if evaluation.options.judge else {},
        "settings": {},
        "provenance": evaluation.provenance,
        "epochs": 1,
        "answers": answered(task, wrong, limit, **others),
        "created": "2026-01-01T00:00:00+00:00",
    }
    settings = own.get("settings", {})
    return Run(**{"generation": frozenset(settings) - {"chat_template"}, **told, **own})


def titles(found: Report) -> list[tuple[str, str, int]]:
    """Of each column: task, why it stands apart, and how many results it holds."""
    return [(column.task, column.why, len(column.runs)) for column in found.columns]


def labels(report: Report) -> list[str]:
    """The names of the entries."""
    return [entry.label for entry in report.entries]


def report_on(runs: Sequence[Run], folder: Path) -> Report:
    return assemble(board(runs), [], "T", table=folder / "items.parquet")


def as_json(report: Report) -> dict[str, Any]:
    return dict(strict_json(json.dumps(to_json(report))))


def assembled(runs: Sequence[Run], folder: Path) -> dict[str, Any]:
    return as_json(report_on(runs, folder))
