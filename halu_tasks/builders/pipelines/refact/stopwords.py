"""Stop words: NLTK's lists, as shipped with bm25s, or those of a user's file."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

from halu_tasks.core.errors import UsageError
from halu_tasks.core.extras import require_extra

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
    """Return the stop words of a language (ISO 639-1), in lower case.

    Args:
        language: The language; there are no words for languages without a list.
        file: Path of a file with one word per line, to use instead of NLTK's list.

    Raises:
        UsageError: The file cannot be read or is empty.
    """
    if file is not None:
        try:
            words = Path(file).expanduser().read_text(encoding="utf-8-sig").split("\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise UsageError(f"stop words {file}: {reason}; expected a text file with one word per line") from None
        listed = frozenset(_plain(word) for word in words if word.strip())
        if not listed:
            raise UsageError(f"stop words {file}: contains no words; expected a text file with one word per line")
        return listed
    if language not in _LISTS:
        return frozenset()
    require_extra("build", "refact_pipeline")
    from bm25s import stopwords  # imported here because it takes memory that most commands do not need

    return frozenset(_plain(word) for word in getattr(stopwords, f"STOPWORDS_{_LISTS[language]}"))


def only_stop_words(phrase: str, words: frozenset[str]) -> bool:
    """Whether a phrase consists of stop words only; words in capitals (IT, WHO) are not stop words."""
    return all(not (len(word) > 1 and word.isupper()) and _plain(word) in words for word in _words(phrase))


def _words(phrase: str) -> list[str]:
    """Return the words without surrounding punctuation; a symbol (an emoji, "+") is a word too."""
    edges = {char for char in phrase if unicodedata.category(char)[0] == "P"}
    return [word for part in phrase.split() if (word := part.strip("".join(edges)))]


def _plain(word: str) -> str:
    """Normalize a word for comparison."""
    return word.strip().replace("’", "'").casefold()
