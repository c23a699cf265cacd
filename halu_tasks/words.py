"""The tokens that passages and queries are compared by.

A token is a run of letters and digits, folded as in `scorers/folding.py`: without case, accents, Arabic
diacritics and tatweel, with one form for dotted and dotless i. What is written without spaces between words
(Chinese, Japanese, Thai and their like), and Korean, whose particles stand on the noun, gives every two
neighbouring characters, and a character that stands alone gives itself. Nothing is stemmed and no word is
left out: a claim may turn on a "not".
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from halu_tasks.scorers.folding import fold

SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u30fa\u30fc-\u312f\u31f0-\u31ff"  # jamo, radicals, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"  # Han, Hangul
)
"""Letters of scripts whose words no space divides, for use inside the brackets of an expression."""

_SPACELESS_RUN = re.compile(f"([{SPACELESS}]+)")
# beside letters and digits the vowel signs of the Indic scripts, which an expression does not take for letters
_WORD = re.compile(r"[^\W_]+(?:[\u0900-\u0963\u0971-\u0dff]+[^\W_]*)*")
_PLAIN_WORD = re.compile("[a-z0-9]+")
# soft hyphens, joiners and marks of direction stand inside words
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u061c\u200c\u200d\u200e\u200f\u2060\ufeff"))
_SHORT = 40


def tokens(text: str) -> list[str]:
    """The tokens of a text, in its order, repeated ones too."""
    if text.isascii():
        return _PLAIN_WORD.findall(text.lower())
    found: list[str] = []
    for part in text.split():
        found += _remembered(part) if len(part) <= _SHORT else _tokens(part)
    return found


def _tokens(part: str) -> list[str]:
    found: list[str] = []
    # NFKC first: what it joins (a kana and its voicing mark) must not be taken for an accent by the folding
    composed = unicodedata.normalize("NFKC", part.translate(_UNSEEN))
    for number, run in enumerate(_SPACELESS_RUN.split(composed)):
        if number % 2 == 0:
            found += _WORD.findall(fold(run))
        elif len(run) == 1:
            found.append(run)
        else:
            found += [run[start : start + 2] for start in range(len(run) - 1)]
    return found


# the same words come again and again, and folding one takes longer than remembering it
_remembered = lru_cache(maxsize=2**17)(_tokens)
