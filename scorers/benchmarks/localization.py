"""Localization: returned strings against gold spans, as characters and as strings (ReFACT, section 4.1.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from halu_tasks.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks import refact_published_strings as published
from halu_tasks.scorers.metrics import Array, Metric, mean, micro, ratio, share_unparsed
from halu_tasks.scorers.reading.strings.passages import passages
from halu_tasks.scorers.reading.strings.strings import entities, normalise, sentence
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score
from halu_tasks.text.spans import Text, char_counts, merge

Span = tuple[int, int]


def score_entities(item: Item, reply: str) -> Score:
    """Score of the entities that `reply` lists."""
    return score_strings(item, entities(reply))


def score_sentence(item: Item, reply: str) -> Score:
    """Score of the sentence that `reply` returns. A reply that stands in the text as it is needs no
    cleaning: what looks like a list mark or a quotation is then the sentence's own."""
    bare = reply.strip()
    verbatim = bool(bare) and bare in item.gold["text"]
    return score_strings(item, Answer([bare]) if verbatim else sentence(reply))


def score_strings(item: Item, answer: Answer[list[str]]) -> Score:
    """Score of the strings that a reply returned for `item`, whose gold holds `text` (the answer shown),
    `spans` and `strings`.

    A string counts at every place where it stands in the text; but where gold spans are among those
    places, at the gold spans only: nothing tells a reader which of them the model meant, and so the
    gold strings themselves score 1.

    The empty list says that there is nothing to find: it scores 1 where there are no gold spans, while a reply
    without an answer scores 0 there too. A string counts once however often it is returned, and so do strings that
    `normalise` makes equal.

    Facts: `iou`; `acc`, the share of gold strings among the returned ones; `exact`, whether the two sets
    of strings are equal; `strings` and `unplaced`, numbers of returned strings and of those that are
    nowhere in the text; `gold_chars`, `predicted_chars`, `shared_chars`, `text_chars`.
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
    nowhere = [distinct[key][0] for key, spans in placed.items() if not spans]
    counts = char_counts(gold, [span for spans in placed.values() for span in spans], sum(map(len, nowhere)))
    wanted = {normalise(string) for string in item.gold["strings"]}
    found = distinct.keys()
    answered = answer.value is not None
    facts = {
        "iou": counts.iou if answered else 0.0,
        "acc": float(answered) * (len(wanted & found) / len(wanted) if wanted else float(not found)),
        "exact": float(answered and wanted == found),
        "strings": float(len(distinct)),
        "unplaced": float(len(nowhere)),
        "gold_chars": float(counts.gold),
        "predicted_chars": float(counts.predicted),
        "shared_chars": float(counts.intersection),
        "text_chars": float(len(item.gold["text"])),
    }
    reason = answer.reason or ("" if not nowhere else f"{len(nowhere)} of {len(distinct)} strings not in the text")
    strings = list(item.gold["strings"])
    return Score(item.id, item.cluster, answer.value, strings, facts, item.tags, reason, answer.outcome)


def score_entities_published(item: Item, reply: str) -> Score:
    """Entity localization as the authors' evaluation has it: recall of raw strings, IoU of first
    occurrences."""
    return _published(item, published.entities(reply), published.set_recall)


def score_sentence_published(item: Item, reply: str) -> Score:
    """Negation localization as the authors' evaluation has it: exact string equality, IoU likewise."""
    sentence = published.sentence(reply)
    return _published(item, [sentence], lambda gold, found: published.sentence_match(gold[0], found[0]))


def _published(item: Item, found: list[str], accuracy: Callable[[Sequence[str], list[str]], float]) -> Score:
    gold = list(item.gold["strings"])
    facts = {"acc": accuracy(gold, found), "iou": published.iou(item.gold["text"], gold, found)}
    answer = found if any(string.strip() for string in found) else None
    return Score(item.id, item.cluster, answer, gold, facts, item.tags, "" if answer else "no string")


def places(text: Text, string: str, gold: Sequence[Span]) -> list[Span]:
    """Where a returned string counts in the text: at the gold spans among its places, or else at all of them."""
    found = text.place(string)
    return [span for span in found if span in gold] or found


def _spans(item: Item) -> list[Span]:
    return [(int(start), int(end)) for start, end in item.gold["spans"]]


def _f1(sums: Array) -> Array:
    return ratio(sums * [2.0, 1.0])


CHAR_F1 = Metric(
    "char_f1",
    lambda scores: (
        sum(s.measurements["shared_chars"] for s in scores),
        sum(s.measurements["gold_chars"] + s.measurements["predicted_chars"] for s in scores),
    ),
    _f1,
    about="harmonic mean of char_precision and char_recall",
)

METRICS = (
    mean("acc", "acc", "mean share of the gold strings that are returned"),
    mean("iou", "iou", "mean intersection over union of the returned and the gold characters"),
    mean("exact", "exact", "share of items whose returned strings are the gold ones, all and no other"),
    micro(
        "char_precision",
        "shared_chars",
        "predicted_chars",
        "share of the returned characters that are gold, over all items",
    ),
    micro(
        "char_recall", "shared_chars", "gold_chars", "share of the gold characters that are returned, over all items"
    ),
    CHAR_F1,
    micro(
        "unplaced",
        "unplaced",
        "strings",
        "share of the returned strings that stand nowhere in the text",
        higher_is_better=False,
    ),
    share_unparsed(),
)


def fixed_replies(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """What replies without any reading earn on these items, by name and metric: marking all of the text, every piece
    of it listed, and nothing. `acc` is recall, and of all pieces none is missing."""
    shares = [s.measurements["gold_chars"] / s.measurements["text_chars"] for s in scores]
    return {
        "marking all": {"acc": 1.0, "iou": sum(shares) / len(shares)},
        "marking nothing": {"acc": 0.0, "iou": 0.0},
    }


PUBLISHED_METRICS = (
    mean("acc", "acc", "mean share of the gold strings that are returned, as raw strings"),
    mean("iou", "iou", "mean intersection over union of the first occurrences of the strings"),
    share_unparsed(),
)


def iou_scorer(returns: Literal["sentence", "entities", "passages"], published: bool = False) -> TaskScorer:
    """Score where the strings that a reply returns stand in a text, against gold spans.

    Args:
        returns: what a reply is asked for: one `sentence`, `entities` (one on each line), or `passages` (likewise, but
            a passage may have several lines).
        published: whether a sentence or entities are read and scored as by the authors of ReFACT (`paper`).

    Returns:
        A scorer with the metrics `acc` (the share of gold strings returned), `iou`, `exact`, `char_precision`,
        `char_recall`, `char_f1` and `unplaced`; as published with `acc` and `iou` alone.
    """
    by_name = _PUBLISHED if published else _STRICT
    if returns not in by_name:
        raise ValueError(f"returns: expected {' or '.join(by_name)}, got {returns!r}")
    score = by_name[returns]
    if published:
        return TaskScorer(lambda item, reply, _: score(item, reply), PUBLISHED_METRICS)
    return TaskScorer(lambda item, reply, _: score(item, reply), METRICS, fixed_replies)


def score_passages(item: Item, reply: str) -> Score:
    """Score of the passages that `reply` returns."""
    return score_strings(item, passages(reply, str(item.gold["text"])))


_STRICT = {"sentence": score_sentence, "entities": score_entities, "passages": score_passages}
_PUBLISHED = {"sentence": score_sentence_published, "entities": score_entities_published}
