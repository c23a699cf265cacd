"""The replies of a run in the schema of Every Eval Ever: one row each, which says whether it is right."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from halu_tasks.core.json_lines import json_line
from halu_tasks.exports.exported import Exported
from halu_tasks.results.run import ScoredReply
from halu_tasks.scorers.score import Score

SCHEMA_VERSION = "0.3.0"


class Rows(NamedTuple):
    """The rows of a run.

    Attributes:
        lines: The rows as JSON.
        metric: The metric that `score` is the value of.
        unjudged: The number of replies of which it is not known whether they are right, which have no row.
    """

    lines: Sequence[str]
    metric: str
    unjudged: int


def rows_of(exported: Exported, evaluation_id: str) -> Rows:
    """Return the rows of a run.

    A reply without a verdict of the judge has none: the schema knows only right and wrong, and the figures leave such
    replies out, too.
    """
    metric = _metric(exported)
    epochs: Counter[str] = Counter()
    lines = []
    for answered in exported.run.answers:
        score = answered.score
        epochs[score.id] += 1
        is_right, value = exported.is_right(score), _values(exported, score).get(metric)
        if is_right is None or value is None:
            continue
        row = _row(exported, evaluation_id, answered, epochs[score.id])
        row |= {"evaluation_result_id": metric, "evaluation": {"score": value, "is_correct": is_right}}
        lines.append(json_line(_encodable(row), allow_nan=False))
    return Rows(lines, metric, len(exported.run.answers) - len(lines))


def _metric(exported: Exported) -> str:
    """Return the first metric with values for single items: the headline, or else what comes closest to it."""
    return next((name for name, figure in exported.figures.items() if figure.metric.item), "")


def _values(exported: Exported, score: Score) -> dict[str, float]:
    """Return the values of all metrics for an item; those for parts of the items say nothing more."""
    metrics = [figure.metric for figure in exported.figures.values()]
    values = {m.name: m.item(score) for m in metrics if m.item and not m.tag_filter}
    return {name: value for name, value in values.items() if not math.isnan(value)}


def _row(exported: Exported, evaluation_id: str, answered: ScoredReply, epoch: int) -> dict[str, Any]:
    run, score, item = exported.run, answered.score, answered.item
    prompt = f"{item.system}\n\n{item.prompt}" if item.system else item.prompt
    references = [score.target] if isinstance(score.target, str) else list(score.target)
    shown = {"raw": prompt, "reference": references}
    answer = score.answer if isinstance(score.answer, str) or score.answer is None else "\n".join(score.answer)
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": evaluation_id,
        "model_id": exported.model.id,
        "evaluation_name": run.task,
        "sample_id": score.id,
        "sample_hash": _sample_hash(shown),
        "interaction_type": "single_turn",
        "input": shown,
        "output": {"raw": [answered.reply]},
        "answer_attribution": [] if answer is None else [_attribution(exported, answer)],
        "metadata": {
            "epoch": str(epoch),
            "cluster": score.cluster,
            "outcome": score.outcome,
            **({"reason": score.reason} if score.reason else {}),
            "values": json.dumps(_values(exported, score)),
            **{f"tag:{name}": value for name, value in score.tags.items()},
            **({"verdicts": json.dumps(score.verdicts_json(), ensure_ascii=False)} if score.verdicts else {}),
        },
    }


def _attribution(exported: Exported, answer: str) -> dict[str, Any]:
    return {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": answer,
        "extraction_method": f"halu_tasks {exported.run.scoring}",
        "is_terminal": True,
    }


def _sample_hash(shown: dict[str, Any]) -> str:
    """Return the hash by which the schema's converters recognize an item in other results."""
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _encodable(value: Any) -> Any:
    """Replace lone surrogates, which a model's reply can contain and no file in UTF-8 can."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _encodable(one) for name, one in value.items()}
    return [_encodable(one) for one in value] if isinstance(value, list) else value
