"""The items that a report shows: those that most entries get wrong, that they disagree on, or that the two modes
read differently."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import repeat
from statistics import fmean, pvariance
from typing import Any

from halu_tasks.entries import Entry
from halu_tasks.items import Item
from halu_tasks.report.board import Column
from halu_tasks.report.why import OTHER_MODE, value_of
from halu_tasks.runs import Answered
from halu_tasks.scorers.localization import places
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.probability import FACT
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.spans import Text

WORST, DISAGREEING, MODES_DIFFER = "worst", "disagreeing", "modes differ"

PER_KIND = 10
"""Items of each kind in a column."""
BUDGET = 2_500_000
"""Bytes that the texts of all items shown may have together."""
_LEAST, _MOST = 300, 6_000
"""Bounds on the bytes of one text."""
_MOST_VERDICTS = 100
"""Verdicts of one reply that are shown."""
_MOST_TEXT = 20_000
"""Characters of a text in which spans are drawn, once for each entry."""

Answers = Mapping[str, list[tuple[Answered, Score | None]]]
"""By item: each answer to it (several with epochs), with its score in the other mode where there is one."""


def by_item(answers: Sequence[Answered], others: Sequence[Score] | None) -> Answers:
    found: dict[str, list[tuple[Answered, Score | None]]] = {}
    for answered, other in zip(answers, others or repeat(None, len(answers)), strict=True):
        found.setdefault(answered.item.id, []).append((answered, other))
    return found


def chosen(column: Column, answers: Mapping[Entry, Answers]) -> dict[str, list[str]]:
    """The ids of the items to show, each with the kinds that it was chosen for. Which of several alike is chosen
    depends on their ids alone."""
    right = {id: [_right(column, own[id]) for own in answers.values()] for id in next(iter(answers.values()))}
    known = {id: [value for value in values if value is not None] for id, values in right.items()}
    lowest = {id: 1 - fmean(values) for id, values in known.items() if values}
    spread = {id: pvariance(values) for id, values in known.items() if len(values) > 1}
    other = _other_headline(column)
    differ = {
        id: float(sum(_differs(column.headline, other, own[id]) for own in answers.values())) for id in right if other
    }
    found: dict[str, list[str]] = {}
    for kind, weights in ((WORST, lowest), (DISAGREEING, spread), (MODES_DIFFER, differ)):
        ranked = sorted((id for id, weight in weights.items() if weight > 0), key=lambda id: (-weights[id], _coin(id)))
        for id in ranked[:PER_KIND]:
            found.setdefault(id, []).append(kind)
    return found


def _right(column: Column, own: Sequence[tuple[Answered, Score | None]]) -> float | None:
    """How right an entry is in an item, from 0 to 1; the mean over epochs."""
    headline = column.headline
    values = [value for answered, _ in own if (value := value_of(headline, answered.score)) is not None]
    if not values:
        return None
    value = fmean(values)
    if headline.higher_is_better:
        return value
    # a share turned so that more is better; of a count only the order matters
    return 1 - value if headline.range[1] <= 1 else 1 / (1 + max(value, 0.0))


def _other_headline(column: Column) -> Metric | None:
    """The metric of the headline's name in the other mode."""
    metrics = column.task.scoring[OTHER_MODE[column.first.scoring]].metrics
    return next((metric for metric in metrics if metric.name == column.headline.name), None)


def _differs(headline: Metric, other_headline: Metric, own: Sequence[tuple[Answered, Score | None]]) -> bool:
    return any(
        other is not None and value_of(headline, answered.score) != value_of(other_headline, other)
        for answered, other in own
    )


def _coin(id: str) -> bytes:
    return hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()


def text_limit(items: int, entries: int) -> int:
    """Bytes that each text may have where so many items are shown, each with the replies of so many entries."""
    return max(_LEAST, min(_MOST, BUDGET // max(items * (entries + 1), 1)))


def cut(text: str, limit: int) -> tuple[str, int]:
    """The start of a text, of at most `limit` bytes, and how many characters are left out."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= limit:
        return text, 0
    start = encoded[:limit].decode("utf-8", "ignore") if _plain(text) else text[: limit // 4]
    return start, len(text) - len(start)


def _plain(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def as_json(
    column: Column, id: str, kinds: Sequence[str], answers: Mapping[str, Answers], limit: int
) -> dict[str, Any]:
    """One item with the replies of all entries, which are named as in `answers`."""
    (first, _), *_ = next(iter(answers.values()))[id]
    item = first.item
    text = _localized(item.gold)
    values = [_right(column, own[id]) for own in answers.values()]
    prompt, prompt_cut = cut(item.prompt, limit)
    system, system_cut = cut(item.system, limit)
    target, target_cut = cut(item.target, limit)
    return {
        "id": item.id,
        "kinds": list(kinds),
        "right": sum(value == 1 for value in values),
        "entries": len(values),
        "prompt": prompt,
        "system": system,
        "target": target,
        "cut": prompt_cut + system_cut + target_cut,
        "tags": dict(item.tags),
        "text": {"text": item.gold["text"], "gold": item.gold["spans"]} if text else None,
        "replies": [
            _reply(column, entry, answered, other, text, limit, item)
            for entry, own in answers.items()
            for answered, other in own[id]
        ],
    }


def _localized(gold: Mapping[str, Any]) -> Text | None:
    text = gold.get("text") if "spans" in gold else None
    return Text(text) if isinstance(text, str) and len(text) <= _MOST_TEXT else None


def _reply(
    column: Column, entry: str, answered: Answered, other: Score | None, text: Text | None, limit: int, shown: Item
) -> dict[str, Any]:
    score = answered.score
    reply, left_out = cut(answered.reply, limit)
    found: dict[str, Any] = {
        "entry": entry,
        "reply": reply,
        "cut": left_out,
        "answer": _brief(score.answer, limit),
        "outcome": score.outcome,
        "target": score.target if isinstance(score.target, str) and score.target != shown.target else None,
        "value": value_of(column.headline, score),
        "reason": score.reason,
        "verdicts": [
            {part: cut(text, limit)[0] for part, text in one.items()} for one in score.verdicts[:_MOST_VERDICTS]
        ],
        "verdicts_left_out": max(len(score.verdicts) - _MOST_VERDICTS, 0),
        "spans": None,
        "unplaced": [],
        "probability": score.facts.get(FACT),
        "other": None,
    }
    if text is not None and isinstance(score.answer, list):
        gold = [tuple(span) for span in answered.item.gold["spans"]]
        placed = [(string, places(text, string, gold)) for string in dict.fromkeys(score.answer)]
        found["spans"] = sorted({span for _, spans in placed for span in spans})
        found["unplaced"] = [cut(string, limit)[0] for string, spans in placed if not spans]
    if other is not None:
        known = _other_headline(column)
        found["other"] = {
            "scoring": OTHER_MODE[column.first.scoring],
            "answer": _brief(other.answer, limit),
            "outcome": other.outcome,
            "value": value_of(known, other) if known else None,
        }
    return found


def _brief(answer: str | list[str] | None, limit: int) -> str | list[str] | None:
    if isinstance(answer, list):
        return [cut(string, limit)[0] for string in answer]
    return None if answer is None else cut(answer, limit)[0]
