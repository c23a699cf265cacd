"""The items shown on the page, with every entry's replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from halu_tasks.report.model.detail_records import ShownItem, ShownReply
from halu_tasks.report.model.report import ReportColumn
from halu_tasks.report.page.escaping import as_text
from halu_tasks.report.page.numbers import defined
from halu_tasks.report.page.view import View
from halu_tasks.scorers.answer import NO_ANSWER

BUDGET = 2_400_000
"""Maximum size in bytes of all strings of items, so that the page stays under 5 MB."""
LIMITS = (6000, 4000, 2500, 1500, 1000, 700, 500, 350, 250, 150, 100)
"""Possible limits in characters for each string; the first one with which all strings fit the budget is used."""


@dataclass(frozen=True)
class PageReply:
    """An entry's reply.

    Attributes:
        record: The reply in the report.
        entry: The entry's number.
        verdict: Its CSS classes: `right`, `wrong`, `partly` or `unread`.
        shown: The verdict in a word or number; the outcome (unparsed, abstained or empty) if there is no answer.
    """

    record: ShownReply
    entry: int
    verdict: str
    shown: str


@dataclass(frozen=True)
class PageItem:
    """An item of a column; `kinds` and `wrong` (entries that failed on it) are numbers."""

    record: ShownItem
    column: int
    kinds: Sequence[int]
    wrong: Sequence[int]
    replies: Sequence[PageReply]


def verdict(column: ReportColumn, reply: ShownReply) -> tuple[str, str]:
    """Classify a reply by its figure.

    A reply without an answer is wrong, and shown as its outcome. An empty list is an answer.

    Returns:
        The CSS classes, and the word or number to show.
    """
    value = reply.value
    if reply.answer is None:
        # a log may contain any string, and this one is not truncated
        return "wrong unread", reply.outcome if reply.outcome in NO_ANSWER else "unparsed"
    if value is None or not defined(value):
        return "unread", "no verdict"
    low, high = column.range
    best, worst = (high, low) if column.higher_is_better else (low, high)
    if value == best:
        return "right", "right"
    if value == worst:
        return "wrong", "wrong"
    return ("partly", f"{value:.2f}") if high is not None else ("wrong", f"{value:g}")


def items(view: View, kinds: Sequence[str]) -> list[PageItem]:
    """Collect all items of the page in the order of the columns, main ones first.

    Args:
        view: The view model.
        kinds: All kinds of items; `PageItem.kinds` are indices into it.
    """
    shown = []
    for column in [*view.main, *view.apart]:
        for record in view.details[column].items:
            replies = [
                PageReply(reply, view.entry_number[reply.entry], *verdict(view.columns[column], reply))
                for reply in record.replies
            ]
            wrong = [reply.entry for reply in replies if reply.verdict.startswith(("wrong", "partly"))]
            numbers = [kinds.index(kind) for kind in record.kinds]
            shown.append(PageItem(record, column, numbers, wrong, replies))
    return shown


def kinds_of(view: View) -> list[str]:
    """List the kinds of all items, in order of first occurrence."""
    records = [record for details in view.details.values() for record in details.items]
    return list(dict.fromkeys(kind for record in records for kind in record.kinds))


def _strings(record: ShownItem) -> Iterator[str]:
    yield from (record.prompt, record.system, record.target)
    for reply in record.replies:
        yield from (reply.reply, as_text(reply.answer or ""), reply.reason)
        for verdict in reply.verdicts:
            yield from verdict
        if record.text is not None:
            yield record.text.text


def limit_of(shown: Sequence[PageItem]) -> int:
    """Choose how many characters of each string of an item are shown, to keep the page small."""
    strings = [string for item in shown for string in _strings(item.record)]
    for limit in LIMITS:
        if sum(len(string[:limit].encode("utf-8", "replace")) for string in strings) <= BUDGET:
            return limit
    return LIMITS[-1]
