"""Names of authors as bibliographies give them: `author`, and the form in which names are compared: `words`.

A surname is the last word with the particles before it ("van der Berg", "De Bruyne"), or what stands before a comma.
Titles, degrees, "Jr.", trailing initials ("de Vries GE") and numbers of footnotes are no part of it. "Liu Guoxia"
and "Hua Hou-jie" have their surname first: a very common Chinese surname before what is none but is written as
Chinese names are. A group ("WHO Collaborating Group") is its own surname.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from halu_tasks.text.folding import fold


class Author(NamedTuple):
    """A surname and the names or initials given beside it; a group or a title has none."""

    surname: str
    given: str = ""


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


PARTICLES = _set(
    "van von der den de del della delle dei di da das dos do du des la le las los ten ter te zu zum zur af av el al"
    " ibn dalle dall"
)
_LOWER_PARTICLES = PARTICLES | {"bin", "y"}  # "Jong Bin Kim" is Korean
_TITLES = _set("dr prof professor mr mrs ms miss sir dame rev mb bch")
_SUFFIXES = _set("jr sr junior júnior ii iii iv 2nd 3rd esq phd md mph mba msc bsc dds dvm rn frcp facp dha mbbs")
_GROUP = re.compile(
    r"\b(?:group|committee|organi[sz]ation|board|consortium|collaborat\w+|network|association|society|institute"
    r"|university|commission|council|team|cent(?:er|re)|ministry|department|agency|foundation|nations|families"
    r"|investigators|programme|program|task force|federation|union|initiative|academy|hospital|hôpital|trialists"
    r"|administration|bureau|college of|world bank|workshop|working party)\b",
    re.IGNORECASE,
)
_CHINESE = _set(
    "wang li zhang liu chen yang huang zhao wu zhou xu sun ma zhu hu guo he lin gao luo zheng liang xie tang deng feng"
    " peng zeng cao xiao cheng yuan pan dong jiang shao hua qin ye fan shi teng xiong ge weng zhong zhen ling ni su"
    " tian lu ding cai du jia wei xue yan yu ren yao fang zou kong qian bai cui mao hong ouyang"
)
_COMMONEST = _set("wang li zhang liu chen yang huang zhao wu zhou xu sun zhu guo lin luo zheng xie deng cao ye")
_SYLLABLE = (
    r"(?:zh|ch|sh|[bpmfdtnlgkhjqxrzcsyw])?(?:iang|iong|uang|ang|eng|ong|ian|iao|ing|uai|uan|ai|an|ao|ei|en|er|ia|ie|in"
    r"|iu|ou|ua|ue|ui|un|uo|a|e|i|o|u)"
)
_PINYIN = re.compile(rf"(?:{_SYLLABLE}'?){{1,2}}")
_IDEOGRAPHS = re.compile(r"[\u3400-\u9fff々]+")
_GIVEN_PARTS = re.compile(r"[A-Z][a-z]+[-‐‑][a-z]+")
_GLUED = re.compile(r"((?!Mc|Mac|De|Di|Du|La|Le|Van|Von|O[’'])[^\W\d_A-Z]?[A-Z][\w.-]*?[a-z]|[A-Z]{2,})([A-Z][a-z].*)")
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
    """The words of a text without case, accents, apostrophes and hyphens: "O’Dowd-Łęcki" is odowd, lecki."""
    plain = fold(_APOSTROPHES.sub("", text)).translate(_LETTERS)
    return _NO_LETTERS.sub(" ", plain).split()


def spellings(name: str) -> set[str]:
    """The forms in which a name is looked up, its words joined: "Al-Momani" and "AlMomani" are one, "Rösler" is
    also "Roesler"."""
    low = name.lower()
    return {"".join(words(name)), "".join(words(low.translate(_SPELLED_OUT)))}


def other_forms(author: Author) -> set[str]:
    """Forms, as in `spellings`, in which an author may be named although the surname is another: without its
    particles; the other word of two where the order of a Chinese name, or what is an initial, is in doubt; the
    letters of a group."""
    bare = [word for word in author.surname.split() if not _particle(word)]
    found = spellings(" ".join(bare)) if bare and author.given else set()
    if " " not in author.given and (author.given.lower() in _CHINESE or (author.given and len(author.surname) < 3)):
        found |= spellings(author.given)
    if not author.given and len(bare) > 1 and _GROUP.search(author.surname):
        found.add("".join(word[0] for word in bare if word[0].isupper()).lower())
        found |= spellings(bare[0]) if bare[0].isupper() else set()
    return {form for form in found if len(form) > 1} - spellings(author.surname)


def author(name: str) -> Author:
    """A name divided into surname and given names; white space does not matter. Of a string that holds several
    persons divided by commas, the first."""
    name = " ".join(re.sub(r"\([^()]{0,60}\)", " ", name).split())
    name = re.sub(r"(?<=[^\W\d_])\d{1,2}$", "", name)
    if _GROUP.search(name) and not re.search(r"\b\w\.", name):
        return Author(name.rstrip(" ."))
    before, comma, behind = (part.strip() for part in name.partition(","))
    if comma and before:
        inner = [word for word in before.split() if word.lower() not in PARTICLES]
        rest = [word for word in behind.replace(",", " ").split() if not _is(word, _SUFFIXES)]
        if rest and (len(inner) == 1 or len(rest) == 1 or all(map(_INITIALS.fullmatch, rest))):
            return Author(before, " ".join(rest))
        name = before
    # "Dr.C K Gomathy": the full stop divides words too, if a longer one stands before it
    parts = re.sub(r"(?<=[^\W\d_]{2}\.)(?=\w)", " ", name).split()
    while len(parts) > 1 and _is(parts[0], _TITLES):
        del parts[0]
    while len(parts) > 1 and _is(parts[-1], _SUFFIXES):
        del parts[-1]
    parts = [part.rstrip(".") if len(part) > 4 and "." not in part[:-1] else part for part in parts if part.strip(".")]
    return _divided(parts) if parts else Author(name)


def _is(word: str, listed: frozenset[str]) -> bool:
    return word.lower().replace(".", "").strip(",") in listed


def _divided(parts: list[str]) -> Author:
    if len(parts) == 1 and (glued := _GLUED.fullmatch(parts[0])):
        return Author(glued[1], glued[2])
    if len(parts) < 2 or all(map(_INITIALS.fullmatch, parts)):
        return Author(" ".join(parts))
    last = len(parts)
    # "de Vries GE", "Archibong E P": initials behind a word that is none
    while last > 1 and _INITIALS.fullmatch(parts[last - 1]) and any(len(part) > 2 for part in parts[: last - 1]):
        last -= 1
    if last == len(parts) == 2 and _surname_first(*parts):
        return Author(parts[0], parts[1])
    first = last - 1
    while first > 0 and _particle(parts[first - 1]) and (first > 1 or parts[0].islower() or last < len(parts)):
        first -= 1
    return Author(" ".join(parts[first:last]), " ".join([*parts[:first], *parts[last:]]))


def _particle(word: str) -> bool:
    return word.lower() in PARTICLES or word in _LOWER_PARTICLES


def _surname_first(first: str, second: str) -> bool:
    """Are these the two words of a name in Chinese order, or of a Japanese one in its own script?"""
    if _IDEOGRAPHS.fullmatch(first + second):
        return True
    if first.lower() not in _CHINESE:
        return False
    if _GIVEN_PARTS.fullmatch(second):
        return True
    low = second.lower()
    if low in _CHINESE:
        return first.lower() in _COMMONEST and low not in _COMMONEST
    return bool(_PINYIN.fullmatch(low))
