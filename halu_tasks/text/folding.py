"""Words: folding strings, so that all spellings of a word become the same, tokens for search, and the language.

Folded are case, full-width letters, accents, dotted and dotless i; Arabic diacritics, tatweel and spellings of alef,
ta marbuta, ya and kaf; the nukta and the spellings of a nasal in Devanagari; punctuation of Arabic and Hindi.

A Devanagari vowel sign becomes the vowel's letter: it distinguishes words, but regular expressions do not count it as
a word character and would see the end of a word before it.

A token is a folded run of letters and digits. Scripts without spaces between words (such as Chinese, Japanese and
Thai), and Korean, whose particles are attached to nouns, are split into overlapping pairs of characters; a character on
its own is a token. Words are not stemmed, and there are no stop words, since a claim may hinge on a "not".
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

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
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.replace("\u0640", "")).casefold()
    plain = _NASAL.sub("न", plain)
    marks = dict.fromkeys(ord(char) for char in set(plain) if unicodedata.combining(char))
    return (plain.translate(marks) if marks else plain).translate(_FOLDED)


def slug(label: str) -> str:
    """Return a label as part of a metric's name: in lower case, with underscores between its words, in any script."""
    text = unicodedata.normalize("NFC", label).casefold()
    kept = (char if unicodedata.category(char)[0] in "LMN" else " " for char in text)
    return "_".join("".join(kept).split())


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


# --- tokens -----------------------------------------------------------------------------------------

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


# --- language ---------------------------------------------------------------------------------------


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of a text's most likely language; varieties of Chinese are `zh`."""
    from py3langid.langid import classify  # imported here because it takes memory that most commands do not need

    code = str(classify(text[:5_000])[0])
    return "zh" if code in ("wuu", "yue", "lzh", "gan", "hak", "nan") else code
