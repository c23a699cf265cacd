"""Spans that a reply gives by offsets, by tags in the text or as quotations, and scores of their degrees.

Degrees are compared character by character. `paper` has the definitions of the released evaluators: the intersection
over union of the characters above 0.5; for Mu-SHROOM (SemEval-2025, task 3) Spearman's correlation of the degrees,
which is 1 if both are constant, so that marking everything has 1 in a text without a hallucination; and for PsiloQA the
average precision of the degrees, which is 0 in a text without a hallucination whatever is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import UNPARSED, Answer
from halu_tasks.scorers.columns import Array
from halu_tasks.scorers.gold import SpanGold
from halu_tasks.scorers.metrics import Metric, mean, share_of
from halu_tasks.scorers.reading.fields import values
from halu_tasks.scorers.reading.lines import Unit
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.strings import quotations
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import precision_sum
from halu_tasks.text.folding import normalise
from halu_tasks.text.marks import (
    CATEGORIES,
    HARD,
    Mark,
    degree_and_category,
    marks_of,
    match_quote,
    parse_tags,
    quoted,
    shift_marks,
    trimmed,
)
from halu_tasks.text.spans import FUZZY_LENGTH, Span, Text

_EQUAL = 8  # the decimals to which degrees are compared
_MOST_BEYOND = 10**15  # characters beyond a text; a longer offset, of a model caught in a loop, may be no float

# --- what a reply marks -----------------------------------------------------------------------------------


class MarkedSpans(NamedTuple):
    """What a reply marks in a text.

    Attributes:
        answer: The strings that count as marked.
        spans: The spans of each different string, trimmed; none of one that occurs nowhere.
        hard: The marks that count as marked, as the reply gives them.
        soft: All marks with their degrees, as the reply gives them.
        unplaced: The strings that occur nowhere, and the offsets beyond the text.
        extra: The number of their characters.
        by_offsets: Whether the reply says where they are.
    """

    answer: Answer[list[str]]
    spans: Mapping[object, Sequence[Span]]
    hard: Sequence[Mark]
    soft: Sequence[Mark]
    unplaced: Sequence[str]
    extra: int
    by_offsets: bool = False


class _Quote(NamedTuple):
    string: str
    prob: float = 1.0
    category: str = ""


def read_marks(
    reply: str, text: str, gold: Sequence[Span], unit: Unit, categories: Sequence[str] = (), *, records: bool = False
) -> MarkedSpans:
    """Read what a reply marks: by offsets in JSON, by tags in the text, or else in the strings that it quotes.

    A string counts wherever it occurs (`places`), and strings that are equal after `normalise` count once. What is
    marked by offsets counts there.

    Args:
        reply: The reply.
        text: The text that it is about.
        gold: The gold spans.
        unit: What the model was asked for.
        categories: The categories, which tags may have as names.
        records: Whether quotations may come as records with a degree or a category.
    """
    try:
        marks_or_quotes = _marks_or_quotes(ReplyText(reply).text, text, categories, records=records)
    except ValueError as error:
        return MarkedSpans(Answer(None, str(error)), {}, (), (), (), 0)
    if isinstance(marks_or_quotes, tuple):
        return _by_offsets(text, gold, *marks_or_quotes)
    answer = Answer([quote.string for quote in marks_or_quotes if quote.prob > HARD])
    if not marks_or_quotes:
        answer = quotations(reply, text, unit)
        marks_or_quotes = [_Quote(string) for string in answer.value or []]
    searched, spans, first, marks = Text(text), dict[object, list[Span]](), dict[object, str](), list[Mark]()
    for quote in dict.fromkeys(marks_or_quotes):
        spans_of_quote = places(searched, quote.string, gold)
        marks += [Mark(*span, quote.prob, quote.category) for span in spans_of_quote]
        if quote.prob > HARD:
            spans.setdefault(key := normalise(quote.string), []).extend(spans_of_quote)
            first.setdefault(key, quote.string)
    unplaced = [first[key] for key, spans_of_quote in spans.items() if not spans_of_quote]
    return MarkedSpans(
        answer, spans, [mark for mark in marks if mark.is_hard], marks, unplaced, sum(map(len, unplaced))
    )


def places(text: Text, string: str, gold: Sequence[Span]) -> list[Span]:
    """Return the places where a returned string counts: its occurrences that are gold spans, or else all of them.

    What is the same string (`normalise`) has the same places.
    """
    plain = normalise(string)
    spans = text.place(string, fuzzy=False) or (text.place(plain, fuzzy=False) if plain != string else [])
    if not spans and len(string) >= FUZZY_LENGTH:
        spans = text.place(string)
    return [span for span in spans if span in gold] or spans


def recall(marked: MarkedSpans, strings: Iterable[str]) -> float:
    """Compute the share of the different gold strings that are marked, 0 to 1; of none, 1 if nothing is marked."""
    gold = {normalise(string) for string in strings}
    return len(gold & marked.spans.keys()) / len(gold) if gold else float(not marked.spans)


def _by_offsets(text: str, gold: Sequence[Span], hard: Sequence[Mark], soft: Sequence[Mark]) -> MarkedSpans:
    beyond = [(max(mark.start, len(text)), mark.end) for mark in hard if mark.is_hard and mark.end > len(text)]
    hard, soft = (
        [mark._replace(end=min(mark.end, len(text))) for mark in marks if mark.start < len(text)]
        for marks in ([mark for mark in hard if mark.is_hard], soft)
    )
    bare, spans = [(mark.start, mark.end) for mark in trimmed(text, hard)], dict[object, list[Span]]()
    for span in bare:  # only a gold span counts as its string
        spans.setdefault(normalise(text[slice(*span)]) if span in gold else span, []).append(span)
    return MarkedSpans(
        Answer([text[slice(*span)] for span in bare]),
        {**spans, **dict.fromkeys(beyond, ())},
        hard,
        soft,
        [f"{start} to {end}" for start, end in beyond],
        min(sum(end - start for start, end in beyond), _MOST_BEYOND),
        by_offsets=True,
    )


def _marks_or_quotes(
    reply: str, text: str, categories: Sequence[str], *, records: bool
) -> tuple[list[Mark], list[Mark]] | list[_Quote]:
    """Return what a reply marks by offsets, of which the last JSON value counts, or the records of its quotations.

    Raises:
        ValueError: An offset or a degree is impossible.
    """
    if "[" not in reply and "{" not in reply and "<" not in reply:
        return []
    contents = list(_contents(reply, text))
    for content in (*reversed(contents), [each for each in contents if isinstance(each, dict)]):
        marks = _hard_and_soft(content)
        quotes = _quotes(content, text) if records or marks else []
        if marks:
            hard, soft = marks
            placed_marks = [match_quote(text, mark, quote.string) for mark, quote in zip(hard, quotes, strict=False)]
            # of a model's offsets and quotations that differ, the quotations are right
            if None not in placed_marks:
                moved = [mark for mark in placed_marks if mark] + hard[len(placed_marks) :]
                return moved, moved if soft is hard else soft
        if quotes:
            return quotes
    try:
        bare, tagged = parse_tags(reply, categories)
    except ValueError:
        return []
    if marks_in := shift_marks(bare, tagged, text) if tagged else None:
        return marks_in, marks_in
    return [_Quote(bare[mark.start : mark.end], category=mark.category) for mark in tagged]


def _contents(reply: str, text: str) -> Iterator[Any]:
    """Yield the JSON lists and objects of a reply that are not part of another, nor a quotation, such as a matrix."""
    quoted = "".join(text.split())
    for value in values(reply):
        if "".join(reply[value.start : value.end].split()) not in quoted:
            yield value.content


def _hard_and_soft(content: Any) -> tuple[list[Mark], list[Mark]] | None:
    if not isinstance(content, dict):
        marks = marks_of(content)
        return (marks, marks) if marks else None
    hard, soft = (marks_of(content.get(name)) for name in ("hard_labels", "soft_labels"))
    if hard is None and soft is None:
        lists = (marks_of(value) for value in content.values())
        hard = marks_of(content["spans"]) if "spans" in content else next(filter(None, lists), None)
    hard, soft = soft if hard is None else hard, hard if soft is None else soft
    return None if hard is None or soft is None else (hard, soft)


def _quotes(content: Any, text: str) -> list[_Quote]:
    """Return the quotations of a list of records, or of an object that has such a list; empty if it has none."""
    if isinstance(content, dict):
        content = next((value for value in content.values() if isinstance(value, list)), None)
    if not isinstance(content, list) or not all(isinstance(record, Mapping) for record in content):
        return []
    strings = [quoted(record) or _part_of(text, record) for record in content]
    if not all(map(str.strip, strings)):
        return []
    return [_Quote(string, *degree_and_category(record)) for string, record in zip(strings, content, strict=True)]


def _part_of(text: str, record: Mapping[str, Any]) -> str:
    """Return the first string of a record, under any key except a category's, that occurs in a text."""
    strings = (value for key, value in record.items() if isinstance(value, str) and key not in CATEGORIES)
    return next((string for string in strings if string.strip() and string in text), "")


# --- degrees, character by character ----------------------------------------------------------------------


def series(marks: Iterable[Mark], length: int) -> Array:
    """Return the degree of each of the characters of a text; of marks that overlap, the last one counts."""
    degrees: Array = np.zeros(length)
    for mark in marks:
        degrees[mark.start : mark.end] = mark.prob
    return degrees


def soft_iou(gold: Array, predicted: Array, extra: int = 0) -> float:
    """Compute the sum of the smaller degrees of characters over that of the larger ones, 0 to 1; 1 if all are 0.

    Args:
        gold: The degrees of the gold.
        predicted: The degrees of the prediction.
        extra: The number of marked characters that are not in the text.
    """
    either = float(np.maximum(gold, predicted).sum()) + extra
    return float(np.minimum(gold, predicted).sum()) / either if either else 1.0


def correlation(gold: Array, predicted: Array, *, published: bool = False) -> float:
    """Compute Spearman's correlation of two series of degrees, -1 to 1.

    It is undefined if either is constant. It is then 1 if the two are equal and otherwise 0, but if `published`, 1 if
    both are constant, whatever their degrees.
    """
    gold, predicted = np.round(gold, _EQUAL), np.round(predicted, _EQUAL)
    if np.array_equal(gold, predicted):
        return 1.0
    constant = [len(np.unique(each)) <= 1 for each in (gold, predicted)]
    if any(constant):
        return float(published and all(constant))
    return float(np.clip(np.corrcoef(_ranks(gold), _ranks(predicted))[0, 1], -1, 1))


def _ranks(degrees: Array) -> Array:
    _, inverse, counts = np.unique(degrees, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse.ravel()])


def average_precision(gold: Array, predicted: Array, extra: int = 0, *, published: bool = False) -> float:
    """Compute the average precision of the degrees of characters, 0 to 1.

    It is the mean of the precision at each degree, weighted by the recall that is gained there; equal degrees are not
    ordered. What is not marked has the degree 0, so that marking nothing, or everything, has the share of the gold
    characters in the text. Where no character is gold, it is 1 if none has a degree above 0.5 and otherwise 0; if
    `published`, 0.

    Args:
        gold: The degrees of the gold, of which those above 0.5 are positive.
        predicted: The degrees of the prediction.
        extra: The number of marked characters that are not in the text.
        published: Whether it is that of PsiloQA's evaluator (`psilo/methods/uncertainty/evaluation.py`, which calls
            scikit-learn's `average_precision_score` for each text).
    """
    positive = gold > HARD
    if not positive.any():
        return float(not published and not extra and not (predicted > HARD).any())
    return precision_sum(np.round(predicted, _EQUAL), positive, extra) / int(positive.sum())


def mushroom_scorer() -> TaskScorer:
    """Score spans as Mu-SHROOM's own scorer does (`paper`). Spans of gold without degrees have the degree 1.

    Returns:
        A scorer with the metrics `iou`, 0 to 1, of the characters with a degree above 0.5, `cor`, -1 to 1, and `acc`,
        0 to 1, the share of gold strings that are returned. A reply without an answer has 0 in all.
    """
    about = "mean of Spearman's correlation of degrees; 1 if both are constant"
    return _released(mean("cor", "cor", about, range=(-1.0, 1.0)), correlation)


def psiloqa_scorer() -> TaskScorer:
    """Score spans as PsiloQA's own evaluator does (`paper`). Spans of gold without degrees have the degree 1.

    Returns:
        A scorer with the metrics `iou`, of the characters with a degree above 0.5, `ap`, and `acc`, the share of gold
        strings that are returned, all 0 to 1. A reply without an answer has 0 in all.
    """
    about = "mean average precision of the degrees of characters; 0 where none is gold"
    return _released(mean("ap", "ap", about), average_precision)


def _released(metric: Metric, figure: Callable[..., float]) -> TaskScorer:
    def score(item: Item[SpanGold], reply: str, verdicts: object) -> ScoredReply:
        text, spans = item.gold.text, item.gold.spans
        gold = item.gold.degrees or [Mark(*span) for span in spans]
        marked = read_marks(reply, text, [(start, end) for start, end in spans], "passage", records=True)
        hard, by_hard, soft, by_soft = (
            series(marks, len(text)) for marks in ([m for m in gold if m.is_hard], marked.hard, gold, marked.soft)
        )
        figures = {
            "iou": soft_iou(np.ceil(hard), np.ceil(by_hard), marked.extra),
            metric.name: figure(soft, by_soft, published=True),
            "acc": recall(marked, item.gold.strings),
        }
        answered = float(marked.answer.value is not None)
        measurements = {name: value * answered for name, value in figures.items()}
        return ScoredReply.of(item, marked.answer, measurements, list(item.gold.strings))

    iou = mean("iou", "iou", "mean intersection over union of the characters with a degree above 0.5")
    acc = mean("acc", "acc", "mean share of the gold strings that are returned")
    return TaskScorer(score, (iou, metric, acc, share_of(UNPARSED)), {"iou", metric.name, "acc"})
