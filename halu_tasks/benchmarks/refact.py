"""ReFACT (Wang et al. 2025): judge, compare, localize and correct scientific confabulations.

A row is a question, a correct answer, and the same answer made false by negating a sentence (`neg`) or replacing
entities (`swap`), with tags around the changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from halu_tasks.benchmarks.refact_tags import nearest_originals, original_strings, tagged_spans
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row
from halu_tasks.scorers.gold import SpanGold, StringsGold

FACTUAL, CONFABULATED = "True", "False"
ORDERS = ("original_first", "confabulated_first")


def check_row(row: Row) -> None:
    """Raise ValueError unless the tags of a row are balanced, enclose text, and leave the confabulated answer."""
    text, spans = tagged_spans(row["error_spans"])
    if text != row["confabulated_answer"]:
        raise ValueError("error_spans without its tags differs from confabulated_answer")
    if not spans or any(start == end for start, end in spans):
        raise ValueError("error_spans has no tagged text")


def check_correctable(row: Row) -> None:
    """Raise ValueError unless the row is valid and, if it is a `swap` row, the replaced strings can be recovered."""
    check_row(row)
    if row["error_type"] == "swap":
        originals_of(row)


def original_first(sample_id: str, seed: int) -> bool:
    """Whether the correct answer is shown as A, drawn by one bit of a hash of the seed and the id."""
    return int(stable_hash(f"{seed}:{sample_id}")[:2], 16) % 2 == 1


# --- rows to items --------------------------------------------------------------------------------


def _item(row: Row, target: str, suffix: str = "", explanation: str = "explanation", **attributes: Any) -> Item:
    """Make an item of a row; its cluster is the id up to the first underscore, which rows of one answer share."""
    id = row["sample_id"]
    return Item(id + suffix, id.partition("_")[0], target, explanation=row.get(explanation, ""), **attributes)


def independent(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield two items per row: the question with the original answer, and with the confabulated one."""
    for row in rows:
        tags = {"type": row["error_type"]}
        for suffix, field, target, explanation in (
            ("/original", "correct_answer", FACTUAL, "explanation_correct"),
            ("/confabulated", "confabulated_answer", CONFABULATED, "explanation"),
        ):
            fields = {"question": row["question"], "answer": row[field]}
            yield _item(row, target, suffix, explanation, fields=fields, tags=tags)


def comparative(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per row with both answers in a drawn order; with `both_orders`, one item for each order."""
    for row in rows:
        first = original_first(row["sample_id"], options.seed)
        orders = {"": first}
        if options.both_orders:
            orders = {f"/{order}": order == ORDERS[0] for order in ORDERS}
        for suffix, original_is_a in orders.items():
            answers = [row["correct_answer"], row["confabulated_answer"]]
            answer_a, answer_b = answers if original_is_a else reversed(answers)
            fields = {"question": row["question"], "answer_a": answer_a, "answer_b": answer_b}
            target = "A" if original_is_a else "B"
            yield _item(row, target, suffix, fields=fields, tags={"type": row["error_type"]})


def localization_cases(rows: Iterable[Row], options: Options, *, error_type: str) -> Iterator[Item]:
    """Yield one item per row of an error type; the gold has the confabulated answer, the spans and their strings.

    If the row of the other error type has the same id except for its ending, the gold also has that row's text, with
    which the published evaluation scores a reply a second time.
    """
    rows = list(rows)
    texts = {row["sample_id"]: row["confabulated_answer"] for row in rows}
    other = "swap" if error_type == "neg" else "neg"
    for row in rows:
        if row["error_type"] != error_type:
            continue
        text, spans = tagged_spans(row["error_spans"])
        strings = [text[start:end] for start, end in spans]
        same, ending, _ = row["sample_id"].rpartition(f"_{error_type}")
        other_text = texts.get(f"{same}_{other}") if ending else None
        gold = SpanGold(text=text, spans=spans, strings=strings, other_text=other_text)
        yield _item(row, "\n".join(strings), fields={"question": row["question"], "answer": text}, gold=gold)


def correction_cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per `swap` row: the answer with masks for the replaced entities, whose originals are the gold."""
    for row in rows:
        if row["error_type"] != "swap":
            continue
        text, spans = tagged_spans(row["error_spans"])
        edges = [0, *(edge for span in spans for edge in span), len(text)]
        masked = "<mask>".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
        originals = originals_of(row)
        fields = {"question": row["question"], "answer": masked, "number_of_masks": str(len(spans))}
        gold = StringsGold(originals=originals, published_originals=originals_of(row, leftmost=True))
        yield _item(row, "\n".join(originals), fields=fields, gold=gold)


def originals_of(row: Row, *, leftmost: bool = False) -> list[str]:
    """Return the string that each tagged span replaced.

    The text between the tags is aligned with the correct answer. If a row tags only one of several changes
    (`…_split2` in the single-error data), the two differ elsewhere, too, and words are aligned instead.

    Args:
        row: The row.
        leftmost: Use the leftmost alignment, on which the published correction figures rest.

    Raises:
        ValueError: The two cannot be aligned.
    """
    if "_split" in row["sample_id"]:
        return nearest_originals(row["error_spans"], row["correct_answer"])
    return original_strings(row["error_spans"], row["correct_answer"], leftmost=leftmost)


# --- replies that need no model -------------------------------------------------------------------


def first_sentence(item: Item[SpanGold]) -> str:
    """Return the text up to its first full stop: a span copied without reading."""
    head, stop, _ = item.gold.text.partition(". ")
    return head + stop.strip()


def first_words(item: Item[SpanGold]) -> str:
    """Return the first word of the text."""
    return item.gold.text.split()[0]


def copied_words(item: Item) -> str:
    """Return the word after each mask, or before it at the end: a reply copied from the context."""
    parts = item.prompt.split("<mask>")
    near = [(after.split() or before.split() or ["?"])[0] for before, after in pairwise(parts)]
    return "\n".join(near)
