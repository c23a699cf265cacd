"""Recognise replies that decline to answer, in English, Chinese, Arabic, Turkish or Hindi.

A clause declines if it says that no decision can be made, and says so about the author of the reply, the verdict or
the judged text: "I cannot determine whether the answer is correct", "its accuracy cannot be verified", "there is not
enough information", "I don't know", 无法判断该回答是否正确, "bir karar veremiyorum". A clause about the subject matter
does not decline: "scientists do not know why", "the exact date cannot be determined".

A clause that declines neither states an answer nor takes one back: "I cannot be sure, but the answer is True" is an
answer. Readers therefore remove such clauses (`stated`), read the rest, and call `declines` only if no answer was
read.
"""

from __future__ import annotations

from collections.abc import Iterable

from halu_tasks.scorers.reading.lexicons import declining as words
from halu_tasks.scorers.reading.steps.sentences import clauses, sentences_of
from halu_tasks.text.folding import fold


def declines(text: str) -> bool:
    """Return whether a clause of any sentence of a reply declines.

    The reply may still answer in another clause, so call this only if no answer was read.
    """
    return any(map(declining, sentences_of(text)))


def declining(sentence: str) -> bool:
    """Return whether a clause of a sentence declines."""
    return any(map(_clause_declines, _clauses(sentence)))


def stated(sentences: Iterable[str]) -> list[str]:
    """Return the sentences without the clauses that decline."""
    rests = ("".join(map(_without_declining, _clauses(sentence))).strip(" ,") for sentence in sentences)
    return list(filter(None, rests))


def _clauses(sentence: str) -> Iterable[str]:
    """Return the clauses of a sentence; a concession at its start ends at the first comma."""
    if words.CONCEDES.match(sentence):
        concession, comma, rest = sentence.partition(",")
        return [concession + comma, *_clauses(rest)] if comma else [sentence]
    return clauses(sentence, words.TURN)


def _without_declining(clause: str) -> str:
    """Return a clause without the part that declines: all of it, or a reason at its end ("False, because …")."""
    if not _clause_declines(clause):
        return clause
    reason = words.REASON.search(clause)
    return clause[: reason.start()] if reason and not _clause_declines(clause[: reason.start()]) else ""


def _clause_declines(clause: str) -> bool:
    """Return whether a clause declines."""
    if not words.HINT.search(clause):
        return False
    folded = fold(clause)
    return any(phrases.search(folded) for phrases in words.DECLINES) or any(
        words.SPEAKER.search(folded, max(match.start() - 80, 0), match.start())
        for match in words.CANNOT_DECIDE.finditer(folded)
    )
