"""The items shown on the page, with every entry's replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halu_tasks.report.page.escaping import as_text
from halu_tasks.report.page.numbers import defined
from halu_tasks.report.page.view import Record, View
from halu_tasks.scorers.answer import NO_ANSWER

BUDGET = 2_400_000
"""Maximum size in bytes of all strings of items, so that the page stays under 5 MB."""
LIMITS = (6000, 4000, 2500, 1500, 1000, 700, 500, 350, 250, 150, 100)
"""Possible limits in characters for each string; the first one with which all strings fit the budget is used."""


@dataclass(frozen=True)
class Reply:
    """An entry's reply.

    Attributes:
        record: The reply in the report.
        entry: The entry's number.
        verdict: Its CSS classes: `right`, `wrong`, `partly` or `unread`.
        told: The verdict as shown; for a reply without an answer, its outcome (unparsed, abstained or empty).
    """

    record: Record
    entry: int
    verdict: str
    told: str


@dataclass(frozen=True)
class Item:
    """An item of a column; `kinds` and `wrong` (entries that failed on it) are numbers."""

    record: Record
    column: int
    kinds: Sequence[int]
    wrong: Sequence[int]
    replies: Sequence[Reply]


def verdict(column: Record, reply: Record) -> tuple[str, str]:
    """Classify a reply by its figure.

    A reply without an answer is wrong, and shown as its outcome. An empty list is an answer.

    Returns:
        The CSS classes, and the word or number to show.
    """
    value = reply.get("value")
    if reply.get("answer") is None:
        # a report's JSON may come from anywhere, and this string is not truncated
        outcome = reply.get("outcome")
        return "wrong unread", outcome if outcome in NO_ANSWER else "unparsed"
    if not defined(value):
        return "unread", "no verdict"
    low, high = (*(column.get("range") or ()), None, None)[:2]
    low = low or 0.0
    best, worst = (high, low) if column["higher_is_better"] else (low, high)
    if value == best:
        return "right", "right"
    if value == worst:
        return "wrong", "wrong"
    return ("partly", f"{value:.2f}") if high is not None else ("wrong", f"{value:g}")


def items(view: View, kinds: Sequence[str]) -> list[Item]:
    """Collect all items of the page in the order of the columns, main ones first.

    Args:
        view: The view model.
        kinds: All kinds of items; `Item.kinds` are indices into it.
    """
    shown = []
    for column in [*view.main, *view.apart]:
        for record in view.why.get(column, {}).get("items", ()):
            replies = [
                Reply(reply, view.entry_number[reply["entry"]], *verdict(view.columns[column], reply))
                for reply in record["replies"]
            ]
            wrong = [reply.entry for reply in replies if reply.verdict.startswith(("wrong", "partly"))]
            numbers = [kinds.index(as_text(kind)) for kind in record["kinds"]]
            shown.append(Item(record, column, numbers, wrong, replies))
    return shown


def kinds_of(view: View) -> list[str]:
    """List the kinds of all items, in order of first occurrence."""
    records = [record for why in view.why.values() for record in why.get("items", ())]
    return list(dict.fromkeys(as_text(kind) for record in records for kind in record["kinds"]))


def _texts(record: Mapping[str, Any]) -> Iterator[str]:
    for name in ("prompt", "system", "target"):
        yield as_text(record.get(name) or "")
    text = (record.get("text") or {}).get("text")
    for reply in record["replies"]:
        yield as_text(reply.get("reply") or "")
        yield as_text(reply.get("answer") or "")
        yield as_text(reply.get("reason") or "")
        for one in reply.get("verdicts") or ():
            yield from map(as_text, one.values())
        if text is not None:
            yield text


def limit_of(shown: Sequence[Item]) -> int:
    """Choose how many characters of each string of an item are shown, to keep the page small."""
    texts = [text for item in shown for text in _texts(item.record)]
    for limit in LIMITS:
        if sum(len(text[:limit].encode("utf-8", "replace")) for text in texts) <= BUDGET:
            return limit
    return LIMITS[-1]
