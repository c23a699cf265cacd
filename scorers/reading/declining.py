"""Recognise replies that decline to answer, in English, Chinese, Turkish, Arabic and Hindi."""

from __future__ import annotations

from halu_tasks.scorers.reading.clauses import clauses
from halu_tasks.scorers.reading.clauses import declines as clause_declines
from halu_tasks.scorers.reading.lexicon import lexicon
from halu_tasks.scorers.reading.text import joined, sentences
from halu_tasks.text.folding import fold

_LANGUAGES = ("en", "zh", "tr", "ar", "hi")


def declines(text: str) -> bool:
    """Return whether a sentence of a reply declines; the reply may still answer in another one."""
    return any(_sentences_decline(text))


def only_declines(text: str) -> bool:
    """Return whether all sentences of a reply decline; False if it has none."""
    found = _sentences_decline(text)
    return bool(found) and all(found)


def _sentences_decline(text: str) -> list[bool]:
    words = lexicon(*_LANGUAGES, *(f"judgment.{language}" for language in _LANGUAGES))
    folded = (fold(sentence.text) for sentence in joined(sentences(text)))
    return [any(map(clause_declines, clauses(words.scan(sentence), sentence))) for sentence in folded]
