"""Correction: replacements for masks against what stood there (ReFACT, section 4.1.3)."""

from __future__ import annotations

from rapidfuzz import fuzz

from halu_tasks.items import Item
from halu_tasks.scorers.benchmarks import refact_published_strings as published
from halu_tasks.scorers.metrics import mean, share_unparsed
from halu_tasks.scorers.reading.strings.strings import normalise, replacements
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score

_FUZZY = 90.0


def score_replacements(item: Item, reply: str) -> Score:
    """Score of the replacements in `reply`, in order, against the gold's `originals`; any beyond the
    number of masks are ignored, and missing ones are wrong.

    Facts: `em`, every mask right (NFKC, case, white space and surrounding punctuation aside); `em_mask`,
    the share of masks right; `em_fuzzy`, every mask at least 90 by rapidfuzz ratio. `acc` is `em`, the
    name under which the paper averages it with the other tasks.
    """
    originals = [normalise(original) for original in item.gold["originals"]]
    answer = replacements(reply, len(originals))
    returned = [normalise(string) for string in (answer.value or [])[: len(originals)]]
    padded = returned + [""] * (len(originals) - len(returned))
    right = [bool(found) and found == wanted for found, wanted in zip(padded, originals, strict=True)]
    near = [
        bool(found) and fuzz.ratio(found, wanted) >= _FUZZY for found, wanted in zip(padded, originals, strict=True)
    ]
    facts = {
        "acc": float(all(right)),
        "em": float(all(right)),
        "em_mask": sum(right) / len(right),
        "em_fuzzy": float(all(near)),
    }
    short = len(returned) < len(originals)
    reason = answer.reason or (f"{len(returned)} of {len(originals)} replacements" if short else "")
    strings = list(item.gold["originals"])
    return Score(item.id, item.cluster, answer.value, strings, facts, item.tags, reason, answer.outcome)


def score_replacements_published(item: Item, reply: str) -> Score:
    """Correction as the authors' evaluation has it: recall of the set of raw strings, under the name
    exact match."""
    found = published.replacements(reply)
    gold = list(item.gold["published_originals"])
    em = published.set_recall(gold, found)
    return Score(
        item.id, item.cluster, found or None, gold, {"acc": em, "em": em}, item.tags, "" if found else "no string"
    )


METRICS = (
    mean("acc", "acc", "em, under the name by which groups average it"),
    mean("em", "em", "share of items with every mask replaced by what stood there"),
    mean("em_mask", "em_mask", "mean share of the masks that are replaced by what stood there"),
    mean("em_fuzzy", "em_fuzzy", f"em, where strings of a rapidfuzz ratio of {_FUZZY:g} or more are equal"),
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
        published: whether replies are read and scored as by the authors of ReFACT (`paper`), whose exact match is a
            recall of raw strings in any order.

    Returns:
        A scorer with the metrics `em`, `em_mask`, `em_fuzzy`, and `acc`, which is `em`; as published with `em` and
        `acc` alone.
    """
    if published:
        return TaskScorer(lambda item, reply, _: score_replacements_published(item, reply), PUBLISHED_METRICS)
    return TaskScorer(lambda item, reply, _: score_replacements(item, reply), METRICS)
