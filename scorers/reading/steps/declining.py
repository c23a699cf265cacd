"""Whether a reply declines to answer, in English, Chinese, Arabic, Turkish or Hindi.

A clause declines that says of the one who answers, of the verdict or of what is judged that no decision can be
made: "I cannot determine whether the answer is correct", "its accuracy cannot be verified", "there is not enough
information", "I don't know", 无法判断该回答是否正确, "bir karar veremiyorum". What is said of the subject matter
does not decline: "scientists do not know why", "the exact date cannot be determined".

A clause that declines takes back nothing and states nothing: "I cannot be sure, but the answer is True" is an
answer. Readers therefore drop such clauses (`stated`), read what is left, and ask `declines` where nothing is left
that can be read.
"""

from __future__ import annotations

from collections.abc import Iterable

from halu_tasks.scorers.reading.lexicons import declining as words
from halu_tasks.scorers.reading.steps.sentences import clauses, sentences_of
from halu_tasks.text.folding import fold


def declines(text: str) -> bool:
    """Return whether a clause of any sentence of the reply says that it cannot decide.

    The reply may still answer in another clause, so ask only where no answer is read.
    """
    return any(map(declining, sentences_of(text)))


def declining(sentence: str) -> bool:
    """Return whether a clause of the sentence declines."""
    return any(map(_declining, _clauses(sentence)))


def stated(sentences: Iterable[str]) -> list[str]:
    """Return the sentences without the clauses that decline."""
    kept = ("".join(map(_without_declining, _clauses(sentence))).strip(" ,") for sentence in sentences)
    return list(filter(None, kept))


def _clauses(sentence: str) -> Iterable[str]:
    if words.CONCEDES.match(sentence):
        conceded, comma, rest = sentence.partition(",")
        return [conceded + comma, *_clauses(rest)] if comma else [sentence]
    return clauses(sentence, words.TURN)


def _without_declining(clause: str) -> str:
    """Return the clause, or nothing if it declines; what a reason that declines was given for stays."""
    if not _declining(clause):
        return clause
    reason = words.REASON.search(clause)
    return clause[: reason.start()] if reason and not _declining(clause[: reason.start()]) else ""


def _declining(clause: str) -> bool:
    if not words.HINT.search(clause):
        return False
    folded = fold(clause)
    return any(phrases.search(folded) for phrases in words.DECLINES) or any(
        words.SPEAKER.search(folded, max(found.start() - 80, 0), found.start())
        for found in words.CANNOT_DECIDE.finditer(folded)
    )
