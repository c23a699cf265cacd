"""Gold by several people: their labels or spans pooled, and how far they agree.

An item's gold keeps them as `annotators`: records with `by` and a `label` for each annotation, or `by` and the `marks`
of each annotator. With `pool`, which says how they are pooled, a log has all that figures of people need. If these
labels are classes of which the task's labels follow, `classes` has the label of each in both modes, and the tag `class`
the class of an item.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from halu_tasks.core.items import Item
from halu_tasks.scorers.columns import Array
from halu_tasks.scorers.gold import LabelAnnotation, LabelGold, SpanAnnotation, SpanGold
from halu_tasks.scorers.kinds import AnswerKind, Label, Spans
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.scorers.statistics.agreement import alpha_of_counts
from halu_tasks.text.marks import Mark, bare, trimmed

CLASS = "class"
"""The tag of an item with the class that is pooled, of which its label follows."""
Annotation = LabelAnnotation | SpanAnnotation


def pooled(item: Item, annotations: Sequence[Annotation], answer: AnswerKind) -> Item:
    """Return an item whose gold some annotators give together, pooled as its gold says.

    - `any`: the worst label that is given, the characters that anyone marks, with the worst category;
    - `all`: the best label that is given, the characters that all mark, with the best category;
    - `majority`: the most frequent label over annotations, the worse of several; the characters that more than half of
      the annotators mark, with their most frequent category;
    - `distinct`: the most frequent label of the different values that are given, each once, the better of several; the
      characters of `majority`;
    - `soft`: the share of annotators that mark each character, for spans with degrees.

    Args:
        item: The item.
        annotations: Those of one or more annotators.
        answer: The kind of answer, whose labels or categories are ordered from the worst to the best.
    """
    gold, pool = item.gold, item.gold.pool
    if isinstance(answer, Label):
        label_annotations = [each for each in annotations if isinstance(each, LabelAnnotation)]
        labels: list[str | None] = [each.label for each in label_annotations]
        rank = (*(gold.classes or answer.labels),).index
        if pool == "distinct":
            labels = [label for _, label in {value for each in label_annotations for value in each.values}]
        counts = Counter(filter(None, labels))
        orders: dict[str, Callable[[str], Any]] = {"any": rank, "all": lambda label: -rank(label)}
        orders["distinct"] = lambda label: (-counts[label], -rank(label))
        order = orders.get(pool, lambda label: (-counts[label], rank(label)))
        label = min(counts, key=order, default="")
        return replace(item, target=label, tags={**item.tags, CLASS: label} if gold.classes else item.tags)
    assert isinstance(answer, Spans)
    marked = [each.marks for each in annotations if isinstance(each, SpanAnnotation)]
    return with_marks(item, list(_pooled_marks(marked, len(gold.text), [*answer.categories], pool)), answer)


def in_mode(item: Item, mode: str) -> Item:
    """Return an item with the label of its class in a scoring mode as its target."""
    classes = item.gold.classes if isinstance(item.gold, LabelGold) else None
    return replace(item, target=classes[item.tags[CLASS]][mode]) if classes and item.tags.get(CLASS) else item


def _pooled_marks(
    people: Sequence[Sequence[Mark]], length: int, categories: Sequence[str], pool: str
) -> Iterator[Mark]:
    votes = _votes(people, length)
    share = votes / max(len(people), 1)
    kinds = {"any": votes > 0, "all": (votes > 0) & (share == 1), "soft": share}
    degrees = kinds.get(pool, share > 0.5) * 1.0
    names = [*categories, ""]
    of_names = np.array([_votes([[m for m in p if m.category == name] for p in people], length) for name in names])
    chosen = len(names) - 1 - (of_names[::-1] > 0).argmax(axis=0) if pool == "all" else of_names.argmax(axis=0)
    chosen = (of_names > 0).argmax(axis=0) if pool == "any" else chosen
    changes = np.flatnonzero((np.diff(degrees) != 0) | (np.diff(chosen) != 0)) + 1
    for start, end in zip([0, *changes.tolist()], [*changes.tolist(), length], strict=True):
        if start < end and degrees[start]:
            yield Mark(start, end, float(degrees[start]), names[chosen[start]])


def _votes(people: Sequence[Sequence[Mark]], length: int) -> Array:
    from halu_tasks.scorers.benchmarks.span_scorers import series  # imports what reads spans, which labels do not need

    return np.sum([series(marks, length) > 0 for marks in people], axis=0) if people else np.zeros(length)


def with_marks(item: Item[SpanGold], marks: Sequence[Mark], answer: Spans) -> Item[SpanGold]:
    """Return an item with marks as its gold, and a reply as its target that has the full score.

    The reply lists the marked strings, if they are read as they are, or else the marks in JSON.

    Raises:
        ValueError: A mark is not within the text, or its category is unknown.
    """
    from halu_tasks.scorers.reading.strings import quotations

    text = item.gold.text
    if beyond := [mark for mark in marks if mark.end > len(text)]:
        raise ValueError(f"the span {[*beyond[0][:2]]} is not within the text of {len(text)} characters")
    if unknown := {mark.category for mark in marks} - {*answer.categories, ""}:
        categories = ", ".join(answer.categories) or "none"
        raise ValueError(f"{min(unknown)!r} is not among the categories of the answer; it has {categories}")
    hard = trimmed(text, marks)
    strings = [text[mark.start : mark.end] for mark in hard]
    gold = replace(
        item.gold,
        spans=[(mark.start, mark.end) for mark in hard],
        strings=strings,
        categories=[mark.category for mark in hard] if answer.categories else None,
        degrees=list(marks) if answer.degrees else None,
    )
    target = "\n".join(strings)
    if answer.categories or answer.degrees or quotations(target, text, "passage").value != strings:
        keys = ["start", "end", *(["prob"] * answer.degrees), *(["category"] if answer.categories else [])]
        listed = marks if answer.degrees else hard
        records = [{"text": text[m.start : m.end], **{key: getattr(m, key) for key in keys}} for m in listed]
        target = json.dumps(records, ensure_ascii=False)
    return replace(item, target=target, gold=gold)


# --- agreement --------------------------------------------------------------------------------------------


def by_annotator(item: Item) -> dict[str, list[Annotation]]:
    """Return what each annotator of an item says; empty if it has none. One without a label does not count."""
    people: dict[str, list[Annotation]] = {}
    for each in item.gold.annotators if isinstance(item.gold, LabelGold | SpanGold) else ():
        if not (isinstance(each, LabelAnnotation) and not each.label):
            people.setdefault(each.by, []).append(each)
    return people


def annotators_alpha(items: Sequence[Item], answer: AnswerKind, mode: str = "strict") -> Estimate | None:
    """Compute Krippendorff's alpha of annotators, of labels or of whether each character is marked.

    Args:
        items: The items; those of a single annotator do not count.
        answer: The kind of answer.
        mode: The scoring mode, on which labels may depend.

    Returns:
        The estimate; None if it is undefined.
    """
    counts, clusters = [np.zeros((0, len(answer.labels) if isinstance(answer, Label) else 2))], list[str]()
    for item in items:
        people = by_annotator(item)
        if len(people) < 2:
            continue
        if isinstance(answer, Label):
            counted = Counter(in_mode(pooled(item, theirs, answer), mode).target for theirs in people.values())
            counts.append(np.array([[counted[label] for label in answer.labels]]))
        else:
            text = item.gold.text
            spans = [[each for each in theirs if isinstance(each, SpanAnnotation)] for theirs in people.values()]
            marks = [[bare(text, mark) for each in theirs for mark in each.marks] for theirs in spans]
            votes = _votes(marks, len(text))
            counts.append(np.stack([len(people) - votes, votes], axis=1))
        clusters += [item.cluster] * len(counts[-1])
    return alpha_of_counts(np.concatenate(counts), clusters) if clusters else None
