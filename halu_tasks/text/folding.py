"""Text with what does not tell words apart taken off, so that one spelling of a word finds all of them.

Case, full-width letters, accents, dotted and dotless i; Arabic diacritics, tatweel and spellings of alef, ta
marbuta, ya and kaf; the nukta and the spellings of a nasal in Devanagari; punctuation of Arabic and Hindi.

A Devanagari vowel sign becomes the vowel's letter: it tells words apart, but is no word character to a
regular expression, which would see the end of a word before it.
"""

from __future__ import annotations

import re
import unicodedata

_FOLDED = str.maketrans(
    {
        **dict(zip("ıةىیک،؛؟۔।॥", "iهييك,;?...", strict=True)),
        **dict(zip("ािीुूृॄॅॆेैॉॊोौ", "आइईउऊऋॠऍऎएऐऑऒओऔ", strict=True)),
        **dict.fromkeys("ँं", "न"),
        "ः": "",
    }
)
# before a consonant a nasal may be written as a letter or as a dot: सम्बन्ध, संबंध
_NASAL = re.compile("[ङञणनम]़?्(?=[क-ह])")


def fold(text: str) -> str:
    """The text folded; its length changes."""
    plain = unicodedata.normalize("NFKD", text.replace("\u0640", "")).casefold()
    plain = _NASAL.sub("न", plain)
    return "".join(char for char in plain if not unicodedata.combining(char)).translate(_FOLDED)


def spelled(words: str) -> str:
    """An expression for one of the words, folded."""
    return any_of(fold(words))


def any_of(words: str) -> str:
    """An expression for one of the words, which may themselves be expressions."""
    return f"(?:{'|'.join(words.split())})"
