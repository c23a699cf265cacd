"""Parse the names of authors as they appear in bibliographies, and normalize them for comparison.

A surname is the last word of a name with the particles before it ("van der Berg", "De Bruyne"), or everything before a
comma. Titles, degrees, "Jr.", trailing initials ("de Vries GE") and footnote numbers are not part of it. In "Liu
Guoxia" and "Hua Hou-jie" the surname comes first, because a common Chinese surname is followed by a word that is not
such a surname but is spelled like a Chinese name. A group ("WHO Collaborating Group") is its own surname.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from halu_tasks.text.folding import fold


class Author(NamedTuple):
    """An author's name.

    Attributes:
        surname: The surname with its particles; also the name of a group, or a title in place of the authors.
        given: The given names or initials; empty for a group or a title.
    """

    surname: str
    given: str = ""


def word_set(listed: str) -> frozenset[str]:
    """Return the set of the words in a string."""
    return frozenset(listed.split())


PARTICLES = word_set(
    "van von der den de del della delle dei di da das dos do du des la le las los ten ter te zu zum zur af av el al"
    " ibn dalle dall"
)
# Particles only in lower case, since "Jong Bin Kim" is Korean.
_LOWER_PARTICLES = {"bin", "y"}
_TITLES = word_set("dr prof professor mr mrs ms miss sir dame rev mb bch")
_SUFFIXES = word_set("jr sr junior júnior ii iii iv 2nd 3rd esq phd md mph mba msc bsc dds dvm rn frcp facp dha mbbs")
_GROUP = re.compile(
    r"\b(?:group|committee|organi[sz]ation|board|consortium|collaborat\w+|network|association|society|institute"
    r"|university|commission|council|team|cent(?:er|re)|ministry|department|agency|foundation|nations|families"
    r"|investigators|programme|program|task force|federation|union|initiative|academy|hospital|hôpital|trialists"
    r"|administration|bureau|college of|world bank|workshop|working party)\b",
    re.IGNORECASE,
)
_CHINESE_SURNAMES = word_set(
    "wang li zhang liu chen yang huang zhao wu zhou xu sun ma zhu hu guo he lin gao luo zheng liang xie tang deng feng"
    " peng zeng cao xiao cheng yuan pan dong jiang shao hua qin ye fan shi teng xiong ge weng zhong zhen ling ni su"
    " tian lu ding cai du jia wei xue yan yu ren yao fang zou kong qian bai cui mao hong ouyang"
)
_MOST_COMMON = word_set("wang li zhang liu chen yang huang zhao wu zhou xu sun zhu guo lin luo zheng xie deng cao ye")
# Two syllables in pinyin, the form of a Chinese given name.
_SYLLABLE = (
    r"(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:iang|iong|uang|ang|eng|ong|ian|iao|ing|uai|uan|ai|an|ao|ei|en|er|ia|ie|in"
    r"|iu|ou|ua|ue|ui|un|uo|a|e|i|o|u)"
)
_PINYIN = re.compile(rf"(?:{_SYLLABLE}'?){{1,2}}")
_IDEOGRAPHS = re.compile(r"[\u3400-\u9fff々]+")
# "Hou-jie"
_HYPHENATED = re.compile(r"[A-Z][a-z]+[-‐‑][a-z]+")
# Surname and given name without a space, as in "SmithJohn", but not "McDonald".
_JOINED = re.compile(r"((?!Mc|Mac|De|Di|Du|La|Le|Van|Von|O[’'])[^\W\d_A-Z]?[A-Z][\w.-]*?[a-z]|[A-Z]{2,})([A-Z][a-z].*)")
_INITIALS = re.compile(
    r"[^\W\d_](?:(?:\.[-‐‑]?|[-‐‑])[^\W\d_])*\.?|[A-Z]{2,3}|(?!Ng)[B-DF-HJ-NP-TV-XZ][b-df-hj-np-tv-xz]"
)

_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ħ": "h", "ŋ": "n", "ə": "e"}
)
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_APOSTROPHES = re.compile(r"['’‘ʼ`´′.]")
_NO_LETTERS = re.compile(r"[\W_]+")


def words(text: str) -> list[str]:
    """Split a string into words without case, accents, apostrophes and hyphens: "O’Dowd-Łęcki" becomes odowd, lecki."""
    plain = fold(_APOSTROPHES.sub("", text)).translate(_LETTERS)
    return _NO_LETTERS.sub(" ", plain).split()


def spellings(name: str) -> set[str]:
    """Return the normalized forms under which a name is looked up, with its words joined.

    "Al-Momani" and "AlMomani" have the same form, and "Rösler" also has the form of "Roesler".
    """
    return {"".join(words(name)), "".join(words(name.lower().translate(_SPELLED_OUT)))}


def other_forms(author: Author) -> set[str]:
    """Return further forms under which an author may be cited, normalized as in `spellings`.

    These are the surname without particles; the given name, if it may be the surname because the order of a Chinese
    name is uncertain or the surname may be initials; and the acronym of a group.
    """
    without_particles = [word for word in author.surname.split() if not _is_particle(word)]
    forms: set[str] = set()
    if author.given:
        forms |= spellings(" ".join(without_particles))
        if " " not in author.given and (author.given.lower() in _CHINESE_SURNAMES or len(author.surname) < 3):
            forms |= spellings(author.given)
    elif len(without_particles) > 1 and _GROUP.search(author.surname):
        forms.add("".join(word[0] for word in without_particles if word[0].isupper()).lower())
        forms |= spellings(without_particles[0]) if without_particles[0].isupper() else set()
    return {form for form in forms if len(form) > 1} - spellings(author.surname)


def author(name: str) -> Author:
    """Parse a name into surname and given names; of several persons separated by commas, parse the first."""
    name = " ".join(re.sub(r"\([^()]{0,60}\)", " ", name).split())
    name = re.sub(r"(?<=[^\W\d_])\d{1,2}$", "", name)
    if _GROUP.search(name) and not re.search(r"\b\w\.", name):
        return Author(name.rstrip(" ."))
    before, comma, after = (part.strip() for part in name.partition(","))
    if comma and before:
        surname = [word for word in before.split() if word.lower() not in PARTICLES]
        given = [word for word in after.replace(",", " ").split() if not _is_in(_SUFFIXES, word)]
        if given and (len(surname) == 1 or len(given) == 1 or all(map(_INITIALS.fullmatch, given))):
            return Author(before, " ".join(given))
        name = before
    # "Dr.C K Gomathy": a full stop after more than one letter separates words, too
    parts = re.sub(r"(?<=[^\W\d_]{2}\.)(?=\w)", " ", name).split()
    while len(parts) > 1 and _is_in(_TITLES, parts[0]):
        del parts[0]
    while len(parts) > 1 and _is_in(_SUFFIXES, parts[-1]):
        del parts[-1]
    parts = [part.rstrip(".") if len(part) > 4 and "." not in part[:-1] else part for part in parts if part.strip(".")]
    return _split_words(parts) if parts else Author(name)


def _is_in(listed: frozenset[str], word: str) -> bool:
    return word.lower().replace(".", "").strip(",") in listed


def _split_words(parts: list[str]) -> Author:
    """Divide the words of a name into surname and given names."""
    if len(parts) == 1 and (joined := _JOINED.fullmatch(parts[0])):
        return Author(joined[1], joined[2])
    if len(parts) < 2 or all(map(_INITIALS.fullmatch, parts)):
        return Author(" ".join(parts))
    last = len(parts)
    # "de Vries GE", "Archibong E P": initials after the surname
    while last > 1 and _INITIALS.fullmatch(parts[last - 1]) and any(len(part) > 2 for part in parts[: last - 1]):
        last -= 1
    if last == len(parts) == 2 and _has_surname_first(*parts):
        return Author(parts[0], parts[1])
    first = last - 1
    while first > 0 and _is_particle(parts[first - 1]) and (first > 1 or parts[0].islower() or last < len(parts)):
        first -= 1
    return Author(" ".join(parts[first:last]), " ".join([*parts[:first], *parts[last:]]))


def _is_particle(word: str) -> bool:
    return word.lower() in PARTICLES or word in _LOWER_PARTICLES


def _has_surname_first(first: str, second: str) -> bool:
    """Return whether two words are a Chinese name in its own order, or any name in ideographs."""
    if _IDEOGRAPHS.fullmatch(first + second):
        return True
    first, given = first.lower(), second.lower()
    if first not in _CHINESE_SURNAMES:
        return False
    if given in _CHINESE_SURNAMES and not _HYPHENATED.fullmatch(second):
        return first in _MOST_COMMON and given not in _MOST_COMMON
    return bool(_HYPHENATED.fullmatch(second) or _PINYIN.fullmatch(given))
