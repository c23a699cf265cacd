"""Localization: returned strings compared with gold spans, as characters and as strings (ReFACT, section 4.1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks import published
from halu_tasks.scorers.metrics import Metric, Terms, mean, metric, micro, of_columns, share_unparsed
from halu_tasks.scorers.reading.sections import Unit
from halu_tasks.scorers.reading.strings import quotations
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score
from halu_tasks.text.folding import normalise
from halu_tasks.text.spans import Text, char_counts, merge

Column = npt.NDArray[Any]
Span = tuple[int, int]
"""Start and end, in characters of the text."""


def score_quotations(item: Item, reply: str, unit: Unit) -> Score:
    """Score what a reply returns of the text: each `entity`, one `sentence`, or each `passage` of any length."""
    return score_strings(item, quotations(reply, item.gold["text"], unit))


score_entities, score_sentence = (partial(score_quotations, unit=unit) for unit in ("entity", "sentence"))


def score_strings(item: Item, answer: Answer[list[str]]) -> Score:
    """Score the strings that a reply returns.

    A string counts wherever it occurs in the text. If some of these places are gold spans, it counts only there, since
    a string does not tell which occurrence the model meant; the gold strings themselves therefore score 1. A string
    counts once, however often it is returned, and so do strings that are equal after `normalise`.

    The empty list is an answer, namely that there is nothing to find: it scores 1 if there are no gold spans. A reply
    without an answer always scores 0.

    Measurements: `iou`, 0 to 1, the intersection over union of the characters; `acc`, 0 to 1, the share of gold strings
    that are returned; `exact`, 0 or 1, whether the two sets of strings are equal; the numbers of returned `strings` and
    of `unplaced` ones, which occur nowhere in the text; and the numbers of characters `gold_chars`, `predicted_chars`,
    `shared_chars` and `text_chars`.

    Args:
        item: An item whose gold has the `text` shown to the model, the `spans` and their `strings`.
        answer: The answer read from the reply.
    """
    gold = merge(_spans(item))
    text = Text(item.gold["text"])
    distinct: dict[str, list[str]] = {}
    for string in dict.fromkeys(answer.value or []):
        distinct.setdefault(normalise(string), []).append(string)
    placed = {
        key: [span for string in strings for span in places(text, string, _spans(item))]
        for key, strings in distinct.items()
    }
    unplaced = [distinct[key][0] for key, spans in placed.items() if not spans]
    counts = char_counts(gold, [span for spans in placed.values() for span in spans], sum(map(len, unplaced)))
    gold_strings = {normalise(string) for string in item.gold["strings"]}
    returned = distinct.keys()
    answered = answer.value is not None
    recall = len(gold_strings & returned) / len(gold_strings) if gold_strings else float(not returned)
    measurements = {
        "iou": counts.iou if answered else 0.0,
        "acc": recall if answered else 0.0,
        "exact": float(answered and gold_strings == returned),
        "strings": float(len(distinct)),
        "unplaced": float(len(unplaced)),
        "gold_chars": float(counts.gold),
        "predicted_chars": float(counts.predicted),
        "shared_chars": float(counts.intersection),
        "text_chars": float(len(item.gold["text"])),
    }
    reason = answer.reason or (f"{len(unplaced)} of {len(distinct)} strings not in the text" if unplaced else "")
    target = list(item.gold["strings"])
    return Score(item.id, item.cluster, answer.value, target, measurements, item.tags, reason, answer.outcome)


def score_entities_published(item: Item, reply: str) -> Score:
    """Score entities as the authors' evaluation does: recall of raw strings, and IoU of their first occurrences."""
    returned = published.entities(reply)
    return _score_published(item, returned, published.set_recall(item.gold["strings"], returned))


def score_sentence_published(item: Item, reply: str) -> Score:
    """Score a sentence as the authors' evaluation does: equality of strings, and IoU of their first occurrences."""
    returned = published.sentence(reply)
    return _score_published(item, [returned], float(returned == item.gold["strings"][0]))


def _score_published(item: Item, returned: list[str], acc: float) -> Score:
    gold = list(item.gold["strings"])
    ious = [published.iou(item.gold[name], gold, returned) for name in ("text", "other_text") if name in item.gold]
    measurements = {
        "acc": acc,
        "iou": ious[0],
        "joined": float(len(ious)),
        "acc_joined": acc * len(ious),
        "iou_joined": sum(ious),
    }
    answer = returned if any(string.strip() for string in returned) else None
    return Score(item.id, item.cluster, answer, gold, measurements, item.tags, "" if answer else "no string")


def places(text: Text, string: str, gold: Sequence[Span]) -> list[Span]:
    """Return the places where a returned string counts: its occurrences that are gold spans, or else all of them."""
    occurrences = text.place(string)
    return [span for span in occurrences if span in gold] or occurrences


def _spans(item: Item) -> list[Span]:
    return [(int(start), int(end)) for start, end in item.gold["spans"]]


@metric
def char_f1(shared_chars: Column, gold_chars: Column, predicted_chars: Column) -> Terms:
    """Harmonic mean of char_precision and char_recall."""
    return 2 * shared_chars, gold_chars + predicted_chars


METRICS = (
    mean("acc", "acc", "mean share of the gold strings that are returned"),
    mean("iou", "iou", "mean intersection over union of the returned and the gold characters"),
    mean("exact", "exact", "share of items whose returned strings are exactly the gold ones"),
    micro(
        "char_precision",
        "shared_chars",
        "predicted_chars",
        "share of the returned characters that are gold, over all items",
    ),
    micro(
        "char_recall", "shared_chars", "gold_chars", "share of the gold characters that are returned, over all items"
    ),
    char_f1,
    micro(
        "unplaced",
        "unplaced",
        "strings",
        "share of the returned strings that occur nowhere in the text",
        higher_is_better=False,
    ),
    share_unparsed(),
)
FIXED_REPLIES = {
    "marking all": (
        Metric("acc", lambda columns: np.ones(len(columns))),
        Metric("iou", of_columns(lambda gold_chars, text_chars: gold_chars / text_chars)),
    ),
    "marking nothing": (
        Metric("acc", lambda columns: np.zeros(len(columns))),
        Metric("iou", lambda columns: np.zeros(len(columns))),
    ),
}
"""What trivial replies score on the same items.

`marking all` lists every part of the text, so its recall, which is `acc`, is 1; `marking nothing` lists none.
"""
_JOIN = " an item counts twice if a row of the other error type has its id, the second time with the text of that row"
PUBLISHED_METRICS = (
    mean("acc", "acc", "mean share of the gold strings that are returned, as raw strings"),
    mean("iou", "iou", "mean intersection over union of the first occurrences of the strings"),
    micro("acc_published_join", "acc_joined", "joined", "acc as in the published tables, where" + _JOIN),
    micro("iou_published_join", "iou_joined", "joined", "iou as in the published tables, where" + _JOIN),
    share_unparsed(),
)


def iou_scorer(returns: Literal["sentence", "entities", "passages"], published: bool = False) -> TaskScorer:
    """Score the passages of a text that a reply returns against gold spans.

    Args:
        returns: What replies are asked for: one `sentence`, `entities` (one per line), or `passages` (likewise, but
            a passage may have several lines).
        published: Whether a sentence or entities are read and scored as by the authors of ReFACT (`paper`).

    Returns:
        A scorer with the metrics `acc` (the share of gold strings that are returned), `iou`, `exact`, `char_precision`,
        `char_recall`, `char_f1` and `unplaced`; if `published`, only `acc` and `iou`, each item once, and
        `acc_published_join` and `iou_published_join`, some items twice. All are 0 to 1.

    Raises:
        ValueError: `returns` is unknown, or unknown to the authors' evaluation.
    """
    by_name = _PUBLISHED if published else _STRICT
    if returns not in by_name:
        raise ValueError(f"returns: expected {' or '.join(by_name)}, got {returns!r}")
    score = by_name[returns]
    if published:
        return TaskScorer(lambda item, reply, _: score(item, reply), PUBLISHED_METRICS)
    return TaskScorer(lambda item, reply, _: score(item, reply), METRICS, FIXED_REPLIES)


_STRICT = {
    "sentence": score_sentence,
    "entities": score_entities,
    "passages": partial(score_quotations, unit="passage"),
}
_PUBLISHED = {"sentence": score_sentence_published, "entities": score_entities_published}
