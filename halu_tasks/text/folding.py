"""Folding strings, so that all spellings of a word become the same.

Folded are case, full-width letters, accents, dotted and dotless i; Arabic diacritics, tatweel and spellings of alef,
ta marbuta, ya and kaf; the nukta and the spellings of a nasal in Devanagari; punctuation of Arabic and Hindi.

A Devanagari vowel sign becomes the vowel's letter: it distinguishes words, but regular expressions do not count it as
a word character and would see the end of a word before it.
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
    """Fold a string; its length may change."""
    plain = unicodedata.normalize("NFKD", text.replace("\u0640", "")).casefold()
    plain = _NASAL.sub("न", plain)
    return "".join(char for char in plain if not unicodedata.combining(char)).translate(_FOLDED)


def normalise(string: str) -> str:
    """Return the form in which two strings are compared.

    The string is normalised to NFKC and case-folded, white space becomes single spaces, and surrounding punctuation is
    removed, except for signs that carry meaning (%, #, &, @, a minus before a digit). A string of punctuation only is
    kept. A string of more than 10,000 characters is only stripped and case-folded, since it is compared with shorter
    ones.
    """
    if len(string) > 10_000:  # normalising a long run of combining marks takes quadratic time
        return string.strip().casefold()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", string).casefold())
    folded = " ".join(folded.split())
    start, end = 0, len(folded)
    while end > start and _is_removable(folded[end - 1]):
        end -= 1
    while start < end and _is_removable(folded[start]):
        if folded[start] == "-" and folded[start + 1 : start + 2].isdigit():
            break
        start += 1
    return folded[start:end] or folded


def _is_removable(char: str) -> bool:
    category = unicodedata.category(char)
    return char in " `" or category in ("Cf", "Cc") or (category[0] == "P" and char not in "%‰#&@")
