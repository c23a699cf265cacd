"""Rule-based checks of edits that make a sentence wrong: their form, and how much they change.

HalluVerse25's types (Abdaljalil, Kurban and Serpedin 2025, section 2 and appendix B): an entity error replaces a
person, place, date, number or thing; a relation error replaces what connects them; a sentence error changes the whole
claim. Rules can distinguish the first two from rewriting, and the third from the change of a word. The rest (whether it
is an entity or a relation error, and whether the sentence is wrong at all) is decided by a verifier.

The limits and their source: the paper states none, and its data are only available on request. Measured were the 27
pairs that it prints (table 1, three in each language; appendices B and C, 18 in English).

| measure | entity, relation (18 pairs) | sentence (9) | limit |
|---|---|---|---|
| words kept, of the longer sentence | 0.56 to 0.94 | 0.25 to 0.70 | half, for entity and relation |
| words changed | 1 to 4 | 3 to 9 | two, for sentence |
| characters, edited to original | 0.86 to 1.24 | 0.98 to 1.22 | half to twice |

All 27 pass, which for 18 pairs only shows that at least 0.82 of such pairs do (95%, Wilson). The limits are therefore
the wide ones implied by the definitions: most of a sentence is at least half of it, and more than a word is two.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from halu_tasks.builders.quoting import ended, one_line, sentence_count
from halu_tasks.scorers.reading.questions import ENTITY, RELATION
from halu_tasks.text.tokens import SPACELESS

KEPT = 0.5
"""Minimum share of the longer sentence's words that an entity or relation edit keeps."""
REWRITTEN = 2
"""Minimum number of words that a sentence edit changes."""
LENGTHS = (0.5, 2.0)
"""Minimum and maximum length of the edited sentence in characters, relative to the original."""

_APOSTROPHES = str.maketrans("’ʼ＇", "'''")
_ARABIC_MARKS = re.compile("[\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_DOTTED_I = ("tr", "az")
_SUFFIXED = ("tr", "az", "en")
"""Languages that attach suffixes to names with an apostrophe."""
_INSIDE = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0900-\u0963\u0971-\u0dff\u200c\u200d"
_WORD = re.compile(
    rf"[{SPACELESS}]|[+#%‰°$€£¥₺&@]"
    rf"|(?:(?![{SPACELESS}])[^\W_])(?:(?![{SPACELESS}])(?:[^\W_]|[{_INSIDE}]|(?<=\w)'(?=\w)|(?<=\d)[.,٫٬](?=\d)))*"
)
_MARKUP = frozenset("<>{}[]*_`|#=~^\\\ufffd")
_STOPS = ".。۔।"
_DOTTED = re.compile(r"\.\S*\.\Z")  # "U.S.", dots
_QUOTES = "\"'“”„‘’«»‹›「」"
_FUNCTION_WORDS = {
    "en": "a an the of in on at by to for from with without into onto over under after before during since until till"
    " between among through against about as than and or but nor so because while although though if when where that"
    " which who whom whose is are was were be been being am has have had do does did not no never also only",
    "ar": "في من إلى الى على عن مع بعد قبل خلال أثناء منذ حتى بين ضد تحت فوق عند لدى ثم أو او و أن ان إن لأن لكن كما"
    " التي الذي الذين قد لم لن لا ليس ليست كان كانت هو هي هم",
    "tr": "ve veya ya da de ile için gibi kadar göre sonra önce beri rağmen karşı karşın üzerine üzerinde altında"
    " içinde arasında tarafından hakkında ama fakat ancak çünkü ki değil bir bu şu o olarak olan idi ise ne",
}


class Change(NamedTuple):
    """What an edit does to the words of a sentence, after case folding.

    Attributes:
        kept: Share of the longer sentence's words that both sentences contain in the same order.
        words: Number of words of the longer sentence that are not kept.
        removed: Words that the edited sentence lacks, or has less often.
        added: Words that the original lacks, or has less often.
    """

    kept: float
    words: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


def words(text: str, language: str) -> list[str]:
    """Return the words of a sentence, normalized.

    Case, tatweel and Arabic vowel signs are removed, and digits of any script become 0 to 9. A suffix after an
    apostrophe belongs to its word; in scripts without spaces each character is a word.
    """
    text = one_line(text).translate(_APOSTROPHES)
    if language in _DOTTED_I:
        text = text.replace("İ", "i").replace("I", "ı")
    text = _ARABIC_MARKS.sub("", unicodedata.normalize("NFKC", text).casefold())
    return _WORD.findall("".join(str(unicodedata.decimal(char, char)) for char in text))


def change(original: str, edited: str, language: str) -> Change:
    """Compare the words of two sentences."""
    before, after = words(original, language), words(edited, language)
    longer = max(len(before), len(after))
    same = LCSseq.similarity(before, after)
    removed, added = Counter(before) - Counter(after), Counter(after) - Counter(before)
    return Change(same / longer if longer else 1.0, longer - same, tuple(removed.elements()), tuple(added.elements()))


def form_faults(original: str, edited: str, language: str) -> list[str]:
    """Return why an edited sentence is not a single sentence in the form of the original; empty if it is."""
    tests = {
        "several lines": len(edited.strip().splitlines()) > 1,
        "several sentences": sentence_count(edited, language) > max(sentence_count(original, language), 1),
        "markup": any(_is_stray(char) and char not in original for char in " ".join(edited.split())),
        "enclosed in quotes": _is_quoted(edited) and not _is_quoted(original),
        "length": not LENGTHS[0] <= len(one_line(edited)) / max(len(one_line(original)), 1) <= LENGTHS[1],
        "another script": script(edited) != script(original),
    }
    return [fault for fault, present in tests.items() if present]


def extent_faults(original: str, edited: str, kind: str, language: str) -> list[str]:
    """Return why an edit changes too little, too much or the wrong thing for its type; empty if it does not."""
    difference = change(original, edited, language)
    if difference.words == 0:
        return ["unchanged"]
    if kind not in (ENTITY, RELATION):
        return ["only one word changed"] if difference.words < REWRITTEN else []
    faults = ["mostly rewritten"] if difference.kept < KEPT else []
    if kind == ENTITY and not _new_content(difference, language):
        faults.append("no new name, number or thing")
    if kind == RELATION and (both := difference.removed + difference.added) and all(map(_has_digit, both)):
        faults.append("only numbers changed")
    return faults


def finished(original: str, edited: str) -> str:
    """Return the edited sentence on one line, with the original's style of apostrophes and its full stop or none.

    Otherwise these alone would distinguish the two.
    """
    text = one_line(edited)
    if "’" in original and "'" not in original:
        text = text.replace("'", "’")
    if ended(original) and not ended(text):
        return text + (original[-1] if original[-1] in _STOPS else "")
    if not ended(original) and text[-1:] in _STOPS and not _DOTTED.search(text):
        return text[:-1]
    return text


def script(text: str) -> str:
    """Return the script of most letters of a text, by the first word of their Unicode names; Han and kana are `CJK`."""
    names = Counter(unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha())
    most_common = max(names, key=lambda name: (names[name], name), default="")
    return "CJK" if most_common in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA") else most_common


def _new_content(difference: Change, language: str) -> bool:
    """Whether a content word was added.

    Function words do not count (in languages with a list of them), nor does a name of the original with another suffix
    ("Moskova'da", "Moskova'dan").
    """
    functional = set(words(_FUNCTION_WORDS.get(language, ""), language))
    removed = set(_heads(difference.removed, language))
    return any(head not in removed and head not in functional for head in _heads(difference.added, language))


def _heads(tokens: Iterable[str], language: str) -> list[str]:
    """Return words without suffixes after an apostrophe, in languages that write them so."""
    return [word.partition("'")[0] if language in _SUFFIXED else word for word in tokens]


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)


def _is_stray(char: str) -> bool:
    return char in _MARKUP or unicodedata.category(char) in ("Cc", "Cs", "Co")


def _is_quoted(text: str) -> bool:
    text = text.strip()
    return len(text) > 1 and text[0] in _QUOTES and text.rstrip(".")[-1:] in _QUOTES
