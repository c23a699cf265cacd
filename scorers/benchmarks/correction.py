"""Correction: replacements for masked words, compared with the original words (ReFACT, section 4.1.3)."""

from __future__ import annotations

from rapidfuzz import fuzz

from halu_tasks.core.items import Item
from halu_tasks.scorers.benchmarks import published
from halu_tasks.scorers.metrics import mean, share_unparsed
from halu_tasks.scorers.reading.strings import replacements
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score
from halu_tasks.text.folding import normalise

_FUZZY = 90.0
"""The rapidfuzz ratio, 0 to 100, from which strings count as equal in `em_fuzzy`."""


def score_replacements(item: Item, reply: str) -> Score:
    """Score the replacements in a reply, in order, against the gold's `originals`.

    Replacements beyond the number of masks are ignored, and missing ones are wrong. Strings are compared after
    `normalise`, that is, in compatibility form (NFKC) and without case, white space and surrounding punctuation.

    Measurements, all 0 to 1: `em`, whether every mask is right; `em_mask`, the share of masks that are right;
    `em_fuzzy`, whether every replacement reaches a rapidfuzz ratio of 90; and `acc`, which is `em_mask` under the name
    by which the paper averages it with the other tasks.
    """
    originals = [normalise(original) for original in item.gold["originals"]]
    answer = replacements(reply, len(originals))
    returned = [normalise(string) for string in (answer.value or [])[: len(originals)]]
    pairs = list(zip(returned + [""] * (len(originals) - len(returned)), originals, strict=True))
    right = [bool(string) and string == original for string, original in pairs]
    near = [bool(string) and fuzz.ratio(string, original) >= _FUZZY for string, original in pairs]
    measurements = {
        "acc": sum(right) / len(right),
        "em": float(all(right)),
        "em_mask": sum(right) / len(right),
        "em_fuzzy": float(all(near)),
    }
    short = len(returned) < len(originals)
    reason = answer.reason or (f"{len(returned)} of {len(originals)} replacements" if short else "")
    target = list(item.gold["originals"])
    return Score(item.id, item.cluster, answer.value, target, measurements, item.tags, reason, answer.outcome)


def score_replacements_published(item: Item, reply: str) -> Score:
    """Score the replacements as the authors' evaluation does: the recall of raw strings, called exact match there."""
    returned = published.replacements(reply)
    gold = list(item.gold["published_originals"])
    em = published.set_recall(gold, returned)
    reason = "" if returned else "no string"
    return Score(item.id, item.cluster, returned or None, gold, {"acc": em, "em": em}, item.tags, reason)


METRICS = (
    mean("em_mask", "em_mask", "mean share of the masks that are replaced by the original"),
    mean("acc", "acc", "em_mask, under the name by which groups average it"),
    mean("em", "em", "share of items with every mask replaced by the original"),
    mean("em_fuzzy", "em_fuzzy", f"em with strings counting as equal from a rapidfuzz ratio of {_FUZZY:g}"),
    share_unparsed(),
)
PUBLISHED_METRICS = (
    mean("acc", "acc", "em, under the name by which groups average it"),
    mean("em", "em", "mean share of the originals that are among the returned strings, in any order"),
    share_unparsed(),
)


def exact_match_scorer(published: bool = False) -> TaskScorer:
    """Score strings that a reply returns in order, one for each mask, against the originals.

    Args:
        published: Whether replies are read and scored as by the authors of ReFACT (`paper`), whose exact match is the
            recall of raw strings in any order.

    Returns:
        A scorer with the metrics `em_mask`, `em`, `em_fuzzy`, and `acc`, which is `em_mask`; if `published`, only `em`
        and `acc`, which are equal. All are 0 to 1.
    """
    if published:
        return TaskScorer(lambda item, reply, _: score_replacements_published(item, reply), PUBLISHED_METRICS)
    return TaskScorer(lambda item, reply, _: score_replacements(item, reply), METRICS)
