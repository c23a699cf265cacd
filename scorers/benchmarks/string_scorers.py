"""Strings that a reply returns: passages compared with gold spans, and replacements of masked words (ReFACT, 4.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from rapidfuzz import fuzz

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import UNPARSED, Answer
from halu_tasks.scorers.benchmarks import released_readers as authors
from halu_tasks.scorers.benchmarks.span_scorers import (
    MarkedSpans,
    average_precision,
    correlation,
    read_marks,
    recall,
    series,
    soft_iou,
)
from halu_tasks.scorers.classification import NO_LABEL, balanced_acc
from halu_tasks.scorers.columns import Column
from halu_tasks.scorers.gold import SpanGold, StringsGold
from halu_tasks.scorers.metrics import Metric, Terms, mean, metric, micro, share_of
from halu_tasks.scorers.reading.lines import Unit
from halu_tasks.scorers.reading.strings import replacements
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.text.folding import normalise
from halu_tasks.text.spans import char_counts

Returns = Literal["sentence", "entities", "passages"]
_UNITS: dict[Returns, Unit] = {"sentence": "sentence", "entities": "entity", "passages": "passage"}


# --- passages and gold spans (section 4.1.2) --------------------------------------------------------------


def score_passages(
    item: Item[SpanGold], reply: str, unit: Unit, categories: Mapping[str, str] | None = None, *, degrees: bool = False
) -> ScoredReply:
    """Score what a reply returns of a text: each `entity`, one `sentence`, or each `passage` of any length.

    A string counts wherever it occurs in the text. If some of these places are gold spans, it counts only there, since
    a string does not tell which occurrence the model meant; the gold strings themselves therefore score 1. A string
    counts once, however often it is returned, and so do strings that are equal after `normalise`.

    The empty list is an answer, namely that there is nothing to find: it scores 1 if there are no gold spans. A reply
    without an answer always scores 0.

    Measurements: `iou`, 0 to 1, the intersection over union of the characters; `acc`, 0 to 1, the share of gold strings
    that are returned; `exact`, 0 or 1, whether the two sets of strings are equal; the numbers of returned `strings` and
    of `unplaced` ones, which occur nowhere in the text; and the numbers of characters `gold_chars`, `predicted_chars`,
    `shared_chars` and `text_chars`. With `degrees` also `soft_iou` and `ap`, 0 to 1, and `cor`, -1 to 1; with
    `categories` numbers of characters by category.

    Args:
        item: An item with the text shown to the model, its spans, and their categories and degrees where these are
            scored.
        reply: The reply.
        unit: What the model was asked for.
        categories: The names that metrics use for the categories.
        degrees: Whether the gold has degrees.
    """
    text, gold = item.gold.text, [(start, end) for start, end in item.gold.spans]
    marked = read_marks(reply, text, gold, unit, [*(categories or ())], records=bool(categories) or degrees)
    answer, returned, unplaced = marked.answer, marked.spans.keys(), marked.unplaced
    counts = char_counts(gold, [span for spans in marked.spans.values() for span in spans], marked.extra)
    gold_strings = {normalise(string) for string in item.gold.strings}
    answered = answer.value is not None
    measurements = {
        "iou": counts.iou if answered else 0.0,
        "acc": recall(marked, item.gold.strings) if answered else 0.0,
        "exact": float(answered and gold_strings == returned),
        "strings": float(len(returned)),
        "unplaced": float(len(unplaced)),
        "gold_chars": float(counts.gold),
        "predicted_chars": float(counts.predicted),
        "shared_chars": float(counts.intersection),
        "text_chars": float(len(text)),
    }
    if degrees:
        by_gold = series(item.gold.degrees or (), len(text))
        by_reply = series(marked.soft, len(text))
        measurements["soft_iou"] = soft_iou(by_gold, by_reply, marked.extra) if answered else 0.0
        measurements["cor"] = correlation(by_gold, by_reply) if answered and (marked.soft or not unplaced) else 0.0
        measurements["ap"] = average_precision(by_gold, by_reply, marked.extra) if answered else 0.0
    if categories:
        measurements |= {name: float(count) for name, count in _by_category(item, marked, categories).items()}
    if unplaced and not answer.reason:
        answer = answer._replace(reason=f"{len(unplaced)} of {len(returned)} strings not in the text")
    return ScoredReply.of(item, answer, measurements, list(item.gold.strings))


def _by_category(item: Item[SpanGold], marked: MarkedSpans, categories: Mapping[str, str]) -> Counter[str]:
    categories_at: dict[int, set[str]] = {}
    for at, category in ((at, mark.category) for mark in marked.hard for at in range(mark.start, mark.end)):
        categories_at.setdefault(at, set()).add(category)
    counts: Counter[str] = Counter()
    for span, category in zip(item.gold.spans, item.gold.categories or (), strict=True):
        if category in categories:
            shared = [categories_at[at] for at in range(*span) if at in categories_at]
            counts[f"gold_chars_{categories[category]}"] += span[1] - span[0]
            counts[f"shared_chars_{categories[category]}"] += len(shared)
            right = sum(category in chosen for chosen in shared)
            counts.update(categorized_chars=len(shared), right_category_chars=right)
    return counts


def score_passages_published(item: Item[SpanGold], reply: str, unit: Unit) -> ScoredReply:
    """Score entities or a sentence as the authors' evaluation does.

    `acc` is the recall of raw strings, or their equality for a sentence; `iou` is that of their first occurrences.
    """
    gold = list(item.gold.strings)
    if unit == "entity":
        returned = authors.entities(reply)
        acc = authors.set_recall(gold, returned)
    else:
        returned = [authors.sentence(reply)]
        acc = float(returned[0] == gold[0])
    texts = (item.gold.text, item.gold.other_text)
    ious = [authors.iou(text, gold, returned) for text in texts if text is not None]
    measurements = {
        "acc": acc,
        "iou": ious[0],
        "joined": float(len(ious)),
        "acc_joined": acc * len(ious),
        "iou_joined": sum(ious),
    }
    answer = Answer(returned) if any(string.strip() for string in returned) else Answer(None, "no string")
    return ScoredReply.of(item, answer, measurements, gold)


@metric(form="sums", about="harmonic mean of char_precision and char_recall")
def char_f1(shared_chars: Column, gold_chars: Column, predicted_chars: Column) -> Terms:
    """Divide twice the shared characters by those of both."""
    return 2 * shared_chars, gold_chars + predicted_chars


_RETURNED, _FOUND = "share of the returned characters that are gold", "share of the gold characters that are returned"
_NOWHERE = "share of the returned strings that occur nowhere in the text"


def _right(answer: Column, gold_chars: Column, predicted_chars: Column) -> Column:
    """Say of each item whether something is marked if and only if there is something to mark."""
    return np.asarray((answer != NO_LABEL) & ((gold_chars > 0) == (predicted_chars > 0)), dtype=np.float64)


_FACTS = (
    *("iou", "acc", "exact", "strings", "unplaced"),
    *("gold_chars", "predicted_chars", "shared_chars", "text_chars"),
)
_METRICS = (
    mean("acc", "acc", "mean share of the gold strings that are returned"),
    mean("iou", "iou", "mean intersection over union of the returned and the gold characters"),
    mean("exact", "exact", "share of items whose returned strings are exactly the gold ones"),
    micro("char_precision", "shared_chars", "predicted_chars", f"{_RETURNED}, over all items"),
    micro("char_recall", "shared_chars", "gold_chars", f"{_FOUND}, over all items"),
    char_f1,
    micro("unplaced", "unplaced", "strings", _NOWHERE, higher_is_better=False),
    balanced_acc(lambda gold_chars: [gold_chars > 0, gold_chars == 0], _right),
    share_of(UNPARSED),
)
_DEGREES = (
    mean("soft_iou", "soft_iou", "mean of the sum of the smaller over that of the larger degrees of characters"),
    mean("cor", "cor", "mean of Spearman's correlation of the degrees of characters", range=(-1.0, 1.0)),
    mean("ap", "ap", "mean average precision of the degrees of characters"),
)


def _category_metrics(categories: Mapping[str, str]) -> Iterator[Metric]:
    about = "share of the gold characters that are marked which have the gold's category"
    yield micro("category_acc", "right_category_chars", "categorized_chars", about)
    for category, name in categories.items():
        about = f"share of the gold characters of {category} that are marked, in whatever category"
        yield micro(f"recall_{name}", f"shared_chars_{name}", f"gold_chars_{name}", about)


# what trivial replies score on the same items. `marking all` lists every part of the text, so it returns every gold
# string, and `marking nothing` is right where there are none.
_FIXED_REPLIES = {
    "marking all": (
        metric(lambda gold_chars: 1.0 * (gold_chars > 0), name="acc", form="mean"),
        metric(lambda gold_chars, text_chars: gold_chars / text_chars, name="iou", form="mean"),
    ),
    "marking nothing": tuple(
        metric(lambda gold_chars: 1.0 * (gold_chars == 0), name=name, form="mean") for name in ("acc", "iou")
    ),
}
_JOIN = " an item counts twice if a row of the other error type has its id, the second time with the text of that row"
_PUBLISHED_FACTS = ("acc", "iou", "joined", "acc_joined", "iou_joined")
_PUBLISHED_METRICS = (
    mean("acc", "acc", "mean share of the gold strings that are returned, as raw strings"),
    mean("iou", "iou", "mean intersection over union of the first occurrences of the strings"),
    micro("acc_published_join", "acc_joined", "joined", "acc as in the published tables, where" + _JOIN),
    micro("iou_published_join", "iou_joined", "joined", "iou as in the published tables, where" + _JOIN),
    share_of(UNPARSED),
)


def iou_scorer(
    returns: Returns = "passages",
    published: bool = False,
    categories: Mapping[str, str] | None = None,
    degrees: bool = False,
) -> TaskScorer:
    """Score where the passages that a reply returns stand in a text, against gold spans.

    Args:
        returns: What replies are asked for: one `sentence`, `entities` (one per line), or `passages` (likewise, but
            a passage may have several lines).
        published: Whether a sentence or entities are read and scored as by the authors of ReFACT (`paper`).
        categories: The names that metrics use for the categories of spans; the worst first.
        degrees: Whether the gold has degrees.

    Returns:
        A scorer with the metrics `acc` (the share of gold strings that are returned), `iou`, `exact`, `char_precision`,
        `char_recall`, `char_f1`, `unplaced`, and `balanced_acc`, the mean of the shares of items with and without gold
        spans that are told apart, in which unread replies are wrong. With `degrees` also `soft_iou`, `cor` and `ap`;
        with `categories` also `category_acc` and `recall_NAME`. If `published`, only `acc` and `iou`, each item once,
        and `acc_published_join` and `iou_published_join`, some items twice. All are 0 to 1, but `cor` is -1 to 1.

    Raises:
        ValueError: `returns` is unknown to the authors' evaluation.
    """
    if published and returns == "passages":
        raise ValueError("returns: the authors' evaluation knows sentence and entities, got 'passages'")
    unit = _UNITS[returns]
    if published:

        def score(item: Item[SpanGold], reply: str, _: object) -> ScoredReply:
            return score_passages_published(item, reply, unit)

        return TaskScorer(score, _PUBLISHED_METRICS, _PUBLISHED_FACTS)
    facts, metrics = {*_FACTS}, [*_METRICS]
    if degrees:
        facts |= {"soft_iou", "cor", "ap"}
        metrics += _DEGREES
    if categories:
        facts |= {"categorized_chars", "right_category_chars"}
        facts |= {f"{kind}_chars_{name}" for kind in ("gold", "shared") for name in categories.values()}
        metrics += _category_metrics(categories)
    return TaskScorer(
        lambda item, reply, _: score_passages(item, reply, unit, categories, degrees=degrees),
        tuple(metrics),
        facts,
        fixed_replies=_FIXED_REPLIES,
    )


# --- replacements of masked words (section 4.1.3) ---------------------------------------------------------

# the rapidfuzz ratio, 0 to 100, from which strings count as equal in `em_fuzzy`
_FUZZY = 90.0


def score_replacements(item: Item[StringsGold], reply: str, verdicts: object = None) -> ScoredReply:
    """Score the replacements in a reply, in order, against the gold's `originals`.

    Replacements beyond the number of masks are ignored, and missing ones are wrong. Strings are compared after
    `normalise`, that is, in compatibility form (NFKC) and without case, white space and surrounding punctuation.

    Measurements, all 0 to 1: `em`, whether every mask is right; `em_mask`, the share of masks that are right;
    `em_fuzzy`, whether every replacement reaches a rapidfuzz ratio of 90; and `acc`, which is `em_mask` under the name
    by which the paper averages it with the other tasks.
    """
    originals = [normalise(original) for original in item.gold.originals]
    answer = replacements(reply, len(originals))
    returned = [normalise(string) for string in (answer.value or [])[: len(originals)]]
    pairs = list(zip(returned + [""] * (len(originals) - len(returned)), originals, strict=True))
    right = [bool(string) and string == original for string, original in pairs]
    near = [bool(string) and fuzz.ratio(string, original) >= _FUZZY for string, original in pairs]
    em_mask = sum(right) / len(right)
    measurements = {"acc": em_mask, "em": float(all(right)), "em_mask": em_mask, "em_fuzzy": float(all(near))}
    if len(returned) < len(originals) and not answer.reason:
        answer = answer._replace(reason=f"{len(returned)} of {len(originals)} replacements")
    return ScoredReply.of(item, answer, measurements, list(item.gold.originals))


def score_replacements_published(item: Item[StringsGold], reply: str, verdicts: object = None) -> ScoredReply:
    """Score the replacements as the authors' evaluation does: the recall of raw strings, called exact match there."""
    returned = authors.replacements(reply)
    gold = list(item.gold.published_originals)
    em = authors.set_recall(gold, returned)
    answer = Answer(returned) if returned else Answer[list[str]](None, "no string")
    return ScoredReply.of(item, answer, {"acc": em, "em": em}, gold)


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
        acc = mean("acc", "acc", "em, under the name by which groups average it")
        em = mean("em", "em", "mean share of the originals that are among the returned strings, in any order")
        return TaskScorer(score_replacements_published, (acc, em, share_of(UNPARSED)), {"acc", "em"})
    metrics = (
        mean("em_mask", "em_mask", "mean share of the masks that are replaced by the original"),
        mean("acc", "acc", "em_mask, under the name by which groups average it"),
        mean("em", "em", "share of items with every mask replaced by the original"),
        mean("em_fuzzy", "em_fuzzy", f"em with strings counting as equal from a rapidfuzz ratio of {_FUZZY:g}"),
        share_of(UNPARSED),
    )
    return TaskScorer(score_replacements, metrics, {"acc", "em", "em_mask", "em_fuzzy"})
