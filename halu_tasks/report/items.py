"""The items that the page shows, with every entry's reply to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halu_tasks.report.numbers import defined
from halu_tasks.report.texts import as_text
from halu_tasks.report.view import Record, View
from halu_tasks.scorers.answer import NO_ANSWER

BUDGET = 2_400_000
"""Bytes of all texts of items: with them the page stays under 5 MB."""
LIMITS = (6000, 4000, 2500, 1500, 1000, 700, 500, 350, 250, 150, 100)
"""Characters of a text that are shown: the first limit with which all texts fit into the budget."""


@dataclass(frozen=True)
class Reply:
    """An entry's reply. `verdict` is right, wrong, partly right or unread, and a word for it is `told`: of a reply
    that gives no answer its outcome (unparsed, abstained or empty)."""

    record: Record
    entry: int
    verdict: str
    told: str


@dataclass(frozen=True)
class Item:
    """An item of a column; kinds and the entries that failed on it by number."""

    record: Record
    column: int
    kinds: Sequence[int]
    wrong: Sequence[int]
    replies: Sequence[Reply]


def verdict(column: Record, reply: Record) -> tuple[str, str]:
    """What a reply's figure means: of a figure from 0 to 1 whether it is right, of another its number.

    A reply that gives no answer is wrong, and its outcome says why there is none. An empty list is an answer.
    """
    value = reply.get("value")
    if reply.get("answer") is None:
        # a report's JSON may come from anywhere, and this text is not cut
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
    """All items of the page in the order of the columns, main ones first; `kinds` are numbered as given."""
    found = []
    for column in [*view.main, *view.apart]:
        for record in view.why.get(column, {}).get("items", ()):
            replies = [
                Reply(reply, view.entry_number[reply["entry"]], *verdict(view.columns[column], reply))
                for reply in record["replies"]
            ]
            wrong = [reply.entry for reply in replies if reply.verdict.startswith(("wrong", "partly"))]
            numbers = [kinds.index(as_text(kind)) for kind in record["kinds"]]
            found.append(Item(record, column, numbers, wrong, replies))
    return found


def kinds_of(view: View) -> list[str]:
    """The kinds of all items, in the order in which they occur."""
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


def limit_of(found: Sequence[Item]) -> int:
    """Characters of a text of an item that are shown, so that the page stays small."""
    texts = [text for item in found for text in _texts(item.record)]
    for limit in LIMITS:
        if sum(len(text[:limit].encode("utf-8", "replace")) for text in texts) <= BUDGET:
            return limit
    return LIMITS[-1]
