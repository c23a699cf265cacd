"""lm-eval filters for users' tasks: `halu_document`, `halu_strings` and `halu_verdict`.

Like lm-eval's filters they take and return a list of replies for each document, so that `take_first` or `majority_vote`
may follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from lm_eval.api.filter import Filter

from halu_tasks.core.errors import UsageError
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.sections import Unit
from halu_tasks.scorers.reading.strings import quotations
from halu_tasks.scorers.registry import reading_named

Docs = Sequence[Mapping[str, Any]]


class DocumentReply(str):
    """A reply with the document that it answers."""

    document: Mapping[str, Any] | None = None


class DocumentFilter(Filter):
    """Attaches documents to their replies for the `halu_…` metrics, to which lm-eval only gives the target."""

    def apply(self, resps: Iterable[Sequence[str]], docs: Docs) -> list[list[DocumentReply]]:
        """Return the replies with their documents."""
        return [
            [_document_reply(reply, doc) for reply in listed(replies)] for replies, doc in zip(resps, docs, strict=True)
        ]


def _document_reply(text: str, document: Mapping[str, Any]) -> DocumentReply:
    reply = DocumentReply(text)
    reply.document = document
    return reply


class ReadingFilter(Filter):
    """Reduces each reply to its answer, or to its outcome in brackets: `[unparsed]`, `[abstained]`, `[empty]`.

    Args:
        read: Reads the answer of a reply.
    """

    def __init__(self, read: Callable[[str], Answer[Any]]) -> None:
        super().__init__()
        self._read = read

    def apply(self, resps: Iterable[Sequence[str]], docs: Docs) -> list[list[str]]:
        """Return the answers."""
        return [[self._reduced(reply) for reply in listed(replies)] for replies in resps]

    def _reduced(self, reply: str) -> str:
        answer = self._read(reply)
        if answer.value is None:
            return f"[{answer.outcome if reply.strip() else 'empty'}]"
        # an empty list says that there are no strings
        return "\n".join(answer.value) or "None" if isinstance(answer.value, list) else str(answer.value)


class StringsFilter(ReadingFilter):
    """Reduces a reply to the strings that it lists, one on each line; to `None` if it says that there are none.

    Args:
        returns: What a reply is asked for: `entities` or one `sentence`.
    """

    def __init__(self, returns: str = "entities") -> None:
        units: dict[str, Unit] = {"entities": "entity", "sentence": "sentence"}
        if returns not in units:
            raise UsageError(f"halu_strings: returns: expected entities or sentence, got {returns!r}")
        super().__init__(partial(quotations, passage="", unit=units[returns]))


class VerdictFilter(ReadingFilter):
    """Reduces a reply to the label that it states.

    Args:
        reading: The name of a reading in `scorers/registry.py`, as in task files.
    """

    def __init__(self, reading: str = "true_false") -> None:
        try:
            super().__init__(reading_named(reading))
        except ValueError as error:
            raise UsageError(f"halu_verdict: {error}") from None


def listed(replies: Any) -> list[str]:
    """Return the replies to one document as a list, also after `take_first`, which leaves a single one."""
    return list(map(str, replies)) if isinstance(replies, list | tuple) else [str(replies)]
