"""Tokenizing passages and queries for search.

A token is a run of letters and digits, folded as in `folding.py`: without case, accents, Arabic diacritics
and tatweel, with one form for dotted and dotless i. Scripts without spaces between words (such as Chinese, Japanese
and Thai), and Korean, whose particles are attached to nouns, are split into overlapping pairs of characters; a
character on its own is a token. Words are not stemmed, and there are no stop words, since a claim may hinge on a
"not".
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from halu_tasks.text.folding import fold

SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u30fa\u30fc-\u312f\u31f0-\u31ff"  # jamo, radicals, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"  # Han, Hangul
)
"""Letters of scripts without spaces between words, for use in a character class of a regular expression."""

_SPACELESS_RUN = re.compile(f"([{SPACELESS}]+)")
# besides letters and digits, the vowel signs of the Indic scripts, which \w does not match
_WORD = re.compile(r"[^\W_]+(?:[\u0900-\u0963\u0971-\u0dff]+[^\W_]*)*")
_PLAIN_WORD = re.compile("[a-z0-9]+")
# soft hyphens, joiners and directional marks occur inside words
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u061c\u200c\u200d\u200e\u200f\u2060\ufeff"))
_SHORT = 40


def tokens(text: str) -> list[str]:
    """Tokenize a string, keeping the order and repeated tokens."""
    if text.isascii():
        return _PLAIN_WORD.findall(text.lower())
    result: list[str] = []
    for part in text.split():
        result += _cached_tokens(part) if len(part) <= _SHORT else _tokens(part)
    return result


def _tokens(part: str) -> list[str]:
    result: list[str] = []
    # NFKC first, so folding does not remove marks that it joins (such as the voicing mark of a kana) as accents
    composed = unicodedata.normalize("NFKC", part.translate(_INVISIBLE))
    for number, run in enumerate(_SPACELESS_RUN.split(composed)):
        if number % 2 == 0:
            result += _WORD.findall(fold(run))
        elif len(run) == 1:
            result.append(run)
        else:
            result += [run[start : start + 2] for start in range(len(run) - 1)]
    return result


# words repeat, and folding one takes longer than looking it up
_cached_tokens = lru_cache(maxsize=2**17)(_tokens)
