"""How the replies of each file are read: the one place that knows the package's readers."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from halu_tasks.builders.replies import read_verdict as read_builder_verdict
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks import explanations, labels, released_readers
from halu_tasks.scorers.judge import read_verdict
from halu_tasks.scorers.reading.claims import checks, read_support
from halu_tasks.scorers.reading.questions import error_type, hallucinates
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.steps import partly_declines
from halu_tasks.scorers.reading.strings import quotations, replacements
from halu_tasks.tasks import build

Row = dict[str, Any]
FOLDER = Path(__file__).parent


def rows(name: str) -> list[Row]:
    """Return the rows of `name.jsonl`."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [json.loads(line) for line in lines]


def read_label(task: str, reply: str) -> Answer[Any]:
    """Read a label as the task of that name does in strict, whatever the item."""
    evaluation = build(task, Options(data="sample"))
    item = replace(evaluation.items[0], system="", prompt="")
    scored = evaluation.task.score("strict", item, Reply(reply))
    return Answer(scored.answer, scored.reason, scored.outcome, scored.outcome == "inferred", scored.step, scored.place)


def of_task(task: str) -> Callable[[Row], Answer[Any]]:
    return lambda row: read_label(task, row["reply"])


def type_as_published(row: Row) -> Answer[str]:
    item = build("halluverse25_tr", Options(data="sample")).items[0]
    return Answer(labels.error_type_scorer(alone=True).score(item, row["reply"], None).answer, "not one class alone")


def without_reasoning(row: Row) -> Answer[str]:
    text = strip_reasoning(row["reply"])
    if text is None:
        return Answer(None, "unclosed reasoning")
    return Answer(text.strip() or "empty")


STRICT: dict[str, Callable[[Row], Answer[Any]]] = {
    "builder_verdict": lambda row: read_builder_verdict(row["reply"]),
    "cfaith_choice": of_task("cfaith_choice"),
    "cfaith_tf": of_task("cfaith_tf"),
    "claim_support": lambda row: read_support(row["reply"]),
    "claims": lambda row: Answer(checks(row["reply"]).checked, ""),
    "declining": lambda row: Answer("declines" if partly_declines(row["reply"]) else "states", ""),
    "factchd": of_task("factchd"),
    "factchd_explanation": lambda row: Answer(explanations.read(row["reply"])[1]),
    "failed": lambda row: Answer("failed" if hallucinates(row["reply"]).outcome == "failed" else "a reply"),
    "halluverse25": lambda row: error_type(row["reply"]),
    "halluverse25_binary": of_task("halluverse25_binary_en"),
    "halueval_general_localization": lambda row: quotations(row["reply"], row["passage"], "passage"),
    "halueval_summarization": of_task("halueval_summarization"),
    "halueval_summarization_claims": lambda row: labels.claims_verdict(row["reply"]),
    "judge_verdict": lambda row: read_verdict(row["reply"]),
    "reasoning": without_reasoning,
    "refact_correction": lambda row: replacements(row["reply"], row["masks"]),
    "refact_judgment_comparative": of_task("refact_judgment_comparative"),
    "refact_judgment_independent": of_task("refact_judgment_independent"),
    "refact_localization_entity": lambda row: quotations(row["reply"], row["passage"], "entity"),
    "refact_localization_negation": lambda row: quotations(row["reply"], row["passage"], "sentence"),
}

PAPER: dict[str, Callable[[Row], Answer[Any]]] = {
    "factchd": lambda row: Answer(
        released_readers.published_label(released_readers.published_clean(row["reply"])), "-"
    ),
    "halluverse25": type_as_published,
    "halluverse25_binary": lambda row: released_readers.yes_no_alone(row["reply"]),
    "halueval_summarization": lambda row: released_readers.published_judgement(row["reply"]),
    "refact_judgment_comparative": lambda row: released_readers.published_pick(row["reply"]),
    "refact_judgment_independent": lambda row: released_readers.published_true_false(row["reply"]),
    "refact_correction": lambda row: Answer(released_readers.replacements(row["reply"]), ""),
    "refact_localization_entity": lambda row: Answer(released_readers.entities(row["reply"]), ""),
    "refact_localization_negation": lambda row: Answer(released_readers.sentence(row["reply"]), ""),
}


def read(name: str, row: Row) -> Answer[Any]:
    """Read the reply of a row of `name.jsonl`."""
    return (PAPER if row.get("mode") == "paper" else STRICT)[name](row)
