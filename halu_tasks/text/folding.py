"""Folding of strings and words for comparison, tokens, and the language of a text.

Two strings are the same if `normalise` returns the same for both, and a string occurs in a text where their folded
forms are the same (`folded_with_places`). Neither distinguishes composed from decomposed characters (NFC, NFD),
compatible characters, case, styles of quotes and hyphens, the digits of scripts, or runs of white space.

Words are folded further, so that all spellings of a word become the same (`fold`). Folded are case, full-width letters,
accents, dotted and dotless i; Arabic diacritics, tatweel and spellings of alef, ta marbuta, ya and kaf; the nukta and
the spellings of a nasal in Devanagari; punctuation of Arabic and Hindi.

A Devanagari vowel sign becomes the vowel's letter: it distinguishes words, but regular expressions do not count it as
a word character and would see the end of a word before it.

A token is a folded run of letters and digits. Scripts without spaces between words (such as Chinese, Japanese and
Thai), and Korean, whose particles are attached to nouns, are split into overlapping pairs of characters; a character on
its own is a token. Words are not stemmed, and there are no stop words, since a claim may hinge on a "not".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

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
    chars = (char if unicodedata.category(char)[0] in "LMN" else " " for char in text)
    return "_".join("".join(chars).split())


# --- what is the same -------------------------------------------------------------------------------

_SIGNS = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´ʼ＇‹›", "'"),
        **dict.fromkeys("“”„‟″«»＂「」『』〝〞", '"'),
        **dict.fromkeys("\u2010\u2011\u2012–−﹣", "-"),
    }
)
_SPACE = re.compile(r"\s+")
# characters of which one may be made; a longer run of combining marks is of a text made to take time
_LONGEST = 32


class FoldedText(NamedTuple):
    """A folded text.

    Attributes:
        text: The text.
        starts: The offset in the original of what each of its characters was made of.
        ends: The offset after that.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


def folded_with_places(text: str) -> FoldedText:
    """Fold a text for comparison, and say where each character of the result comes from.

    The result is in compatibility form (NFKC), without case, with one style of quotes and hyphens, with the digits of
    ASCII, and with single spaces. The
    Turkish İ and ı become i, and so does an i followed by a combining dot above, which other programs make of İ when
    they convert it to lower case.
    """
    chars = set(text)
    if not any(map(_may_join, chars)):  # most texts keep their length
        single = {ord(char): " " if char.isspace() else _fold_piece(char) for char in chars}
        plain = text.translate(single)
        if "  " not in plain and all(len(piece) == 1 for piece in single.values()):
            return FoldedText(plain, range(len(text)), range(1, len(text) + 1))
    parts, starts, ends, space = list[str](), list[int](), list[int](), False
    for start, string in enumerate(text) if text.isascii() else _composed(text):
        if string.isspace() and space:
            continue
        space = string.isspace()
        piece = " " if space else _fold_piece(string)
        each = [piece] if len(string) == 1 else [*map(_fold_piece, string)]
        if len(each) == 1 or "".join(each) != piece:  # one character, or one that is made of all of them
            parts.append(piece)
            starts += [start] * len(piece)
            ends += [start + len(string)] * len(piece)
            continue
        for at, part in enumerate(each, start):
            parts.append(part)
            starts += [at] * len(part)
            ends += [at + 1] * len(part)
    return FoldedText("".join(parts), starts, ends)


def folded(text: str) -> str:
    """Fold a text as `folded_with_places` does."""
    if text.isascii():
        return _SPACE.sub(" ", text.lower().translate(_SIGNS))
    return folded_with_places(text).text


def _composed(text: str) -> Iterator[tuple[int, str]]:
    """Divide a text into the shortest strings that fold by themselves: letters with their marks, syllables of jamo."""
    start, last = 0, text[:1]
    for at, char in enumerate(text[1:], 1):
        may_join = at - start < _LONGEST and not last.isspace() and _may_join(char)
        joined = _joined(last, char) if may_join else ""
        if not joined:
            yield start, text[start:at]
            start = at
        last = joined or char
    yield start, text[start:]


@lru_cache(maxsize=2**14)
def _may_join(char: str) -> bool:
    plain = unicodedata.normalize("NFKC", char)[0]
    return unicodedata.category(plain)[0] == "M" or "\u1160" <= plain <= "\u11ff"  # vowels and finals of jamo


@lru_cache(maxsize=2**14)
def _joined(last: str, char: str) -> str:
    """Return what the next character may be joined to: the composed character, or the marked one; otherwise ""."""
    both = unicodedata.normalize("NFKC", last + char)
    return both if len(both) == 1 else last if unicodedata.combining(char) else ""


@lru_cache(maxsize=2**14)
def _fold_piece(string: str) -> str:
    if string.isascii():
        return string.lower().translate(_SIGNS)
    if len(string) == 1 and (digit := unicodedata.decimal(string, -1)) >= 0:
        return str(digit)
    plain = unicodedata.normalize("NFKC", string.translate(_SIGNS)).casefold()
    return unicodedata.normalize("NFKC", plain).replace("i\u0307", "i").replace("ı", "i")


def normalise(string: str) -> str:
    """Return the form in which two strings are compared.

    The string is folded as in `folded_with_places`, and surrounding white space and punctuation are removed, except for
    signs that carry meaning (%, #, &, @, a minus before a digit). A string of punctuation only is kept. A string of
    more than 10,000 characters is only stripped and case-folded, since it is compared with shorter ones.
    """
    return string.strip().casefold() if len(string) > 10_000 else _normalised(string)


@lru_cache(maxsize=2**10)  # a string is compared several times
def _normalised(string: str) -> str:
    plain = " ".join(folded(string).split())
    start, end = 0, len(plain)
    while end > start and _is_removable(plain[end - 1]):
        end -= 1
    while start < end and _is_removable(plain[start]):
        if plain[start] == "-" and plain[start + 1 : start + 2].isdigit():
            break
        start += 1
    return plain[start:end] or plain


@lru_cache(maxsize=2**14)
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
