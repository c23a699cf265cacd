"""Stop words: NLTK's lists, as bm25s carries them, or those of a user's file."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

from halu_tasks.errors import UsageError

_LISTS = {
    "da": "DANISH",
    "de": "GERMAN",
    "en": "EN_PLUS",
    "es": "SPANISH",
    "fr": "FRENCH",
    "it": "ITALIAN",
    "nl": "DUTCH",
    "no": "NORWEGIAN",
    "pt": "PORTUGUESE",
    "ru": "RUSSIAN",
    "sv": "SWEDISH",
    "tr": "TURKISH",
    "zh": "CHINESE",
}


@cache
def stop_words(language: str, file: str | None) -> frozenset[str]:
    """The stop words of a language (ISO 639-1), in lower case: those of `file`, one a line, or else NLTK's; none for a
    language that it has no list of.

    Raises:
        UsageError: the file cannot be read or is empty.
    """
    if file is not None:
        try:
            words = Path(file).expanduser().read_text(encoding="utf-8-sig").split("\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise UsageError(f"stop words {file}: {reason}; name a text file of one word a line") from None
        found = frozenset(_plain(word) for word in words if word.strip())
        if not found:
            raise UsageError(f"stop words {file}: holds none; name a text file of one word a line")
        return found
    if language not in _LISTS:
        return frozenset()
    from bm25s import stopwords  # it takes memory, and most commands do not need it

    return frozenset(_plain(word) for word in getattr(stopwords, f"STOPWORDS_{_LISTS[language]}"))


def only_stop_words(phrase: str, words: frozenset[str]) -> bool:
    """Is every word of the phrase a stop word, or no word at all? One written in capitals (IT, WHO) is none."""
    return all(not (len(word) > 1 and word.isupper()) and _plain(word) in words for word in _words(phrase))


def _words(phrase: str) -> list[str]:
    """The words without the signs around them; a symbol (an emoji, "+") is a word too."""
    edges = {char for char in phrase if unicodedata.category(char)[0] == "P"}
    return [word for part in phrase.split() if (word := part.strip("".join(edges)))]


def _plain(word: str) -> str:
    return word.strip().replace("’", "'").casefold()
