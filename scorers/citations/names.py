"""The names that stand before the year of a citation: `names_before` and `names_behind`.

Read from the end: "et al." and its like, then words with a capital, initials and particles, and what divides them:
commas, "and", "&". In "However, Ling and Benton" nothing tells whether the first is an author, so all that may begin
the list of authors are given, in order, for the papers to decide.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from halu_tasks.scorers.citations.authors import PARTICLES, words

REACH = 300
"""Characters before a year in which its names are looked for."""
_MOST_TOKENS = 60

_COMPANY = r"(?:colleagues|co-?workers|others|co-?authors|collaborators|associates|co-?researchers|team|company)"
_ET_AL = re.compile(
    rf"(?:,?\s?\bet\.?\s?al(?:ii|ia)?\b\.?|,?\s(?:and|&)\s(?:(?:his|her|their|the)\s)?(?:research\s)?{_COMPANY}|\s?等人?"
    rf"|,?\s(?:&|and)\sal\.?)(?:,?'s?)?(?:\s(?:study|work|paper|review))?[\s,.:]*\Z",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"(?:'s|(?<=s)')\Z")
_TOKEN = re.compile(r"[^\W\d_]+(?:['.-]{1,2}[^\W\d_]+)*\.?|\S")
_AND = frozenset({"and", "&", "/", "und", "et", "y", "ve"})
_SHORT = re.compile(r"(?:[^\W\d_]{1,3}[.-]{1,2})+")
_SUFFIX = re.compile(r"(?:jr|sr|ii|iii|iv)\.?", re.IGNORECASE)
_CAPITALS = re.compile(r"[A-Z]{1,3}")
_INITIALS = re.compile(r"(?:[^\W\d_a-z]\.-?){1,4}")


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Words with a capital that begin a sentence or stand before a name and are no part of it.
_OPENING = _set(
    "the a an in on at by for from with to of as if and or but both while whereas when although though however"
    " moreover furthermore additionally similarly likewise conversely finally overall thus therefore hence also"
    " notably specifically interestingly importantly meanwhile nevertheless nonetheless further next then lastly"
    " instead indeed second first third yet so since because given according unlike like see cf e.g eg i.e ie"
    " study studies research work author authors paper papers review results findings evidence another one two"
    " three professor prof dr mr mrs ms researcher researchers scholar scholars data using following after before"
    " despite consistent building based this that these those"
)
# What a year in brackets may stand behind without being a citation: "Table 2 (2009)", "(May 2009)".
_NO_NAME = _set(
    "january february march april may june july august september october november december jan feb mar apr jun jul"
    " aug sep sept oct nov dec spring summer autumn fall winter table figure fig section chapter act law directive"
    " regulation olympics census survey version edition windows dsm icd cup year years since until circa phase study"
    " trial volume equation appendix model week day month protocol amendment treaty convention agreement"
    " inventory scale index questionnaire checklist report guideline guidelines"
    " i ii iii iv v"
)


class Names(NamedTuple):
    """The authors of a citation."""

    authors: list[list[str]]
    """In order, each as the words of `authors.words`."""
    starts: list[int]
    """Those with which the list may begin."""
    several: bool
    """More than one, or cut by "et al."."""
    at: int
    """Where they begin in the text, as far as can be told without the papers."""
    written: str
    size: int
    """Words in all."""
    credible: bool
    """Could these be names, if no paper tells? Not "Table", not "May"."""


def names_before(text: str, end: int, floor: int) -> Names | None:
    """The names that end at `end`, looked for from `floor` on; None where there are none."""
    floor = max(floor, end - REACH)
    part = whole = text[floor:end].rstrip(" \t\n,:\"”»'")
    if text[floor + len(part) : end].startswith("'") and part.endswith("s"):
        part += "'"
    et_al = _ET_AL.search(part)
    part = part[: et_al.start()] if et_al else _POSSESSIVE.sub("", part)
    tokens = [*_TOKEN.finditer(part)][-_MOST_TOKENS:]
    elements, divided = _elements(tokens)
    if not elements:
        return None
    size = sum(map(len, elements))
    for element in elements:
        while len(element) > 1 and _opens(element[0][0]):
            del element[0]
    authors = [words(" ".join(_name_last([token[0] for token in element]))) for element in elements]
    if not all(authors):
        return None
    starts = [0]
    while len(starts) < len(authors) and divided[starts[-1]] == ",":
        starts.append(starts[-1] + 1)
    # "In Europe, Ling (2009)": nobody joins two authors by a comma alone
    shown = len(authors) - 1 if not et_al and len(starts) == len(authors) else 0
    while shown < len(authors) - 1 and divided[shown] == "," and _opens(elements[shown][-1][0]):
        shown += 1
    credible = not (shown == len(authors) - 1 and _opens(elements[-1][-1][0]))
    credible = credible and authors[-1][-1] not in _NO_NAME and max(map(len, authors[-1])) > 1
    several = bool(et_al) or len(authors) - shown > 1
    at = min(token.start() for token in elements[shown])
    return Names(authors, starts, several, floor + at, whole[at:], size, credible)


def _name_last(parts: list[str]) -> list[str]:
    """ "Ling JM": initials behind a name go before it."""
    last = len(parts)
    while last > 1 and _CAPITALS.fullmatch(parts[last - 1]) and not parts[0].isupper():
        last -= 1
    return [*parts[last:], *parts[:last]]


def _opens(word: str) -> bool:
    """Does this word begin sentences rather than names?"""
    return word.lower().strip(".") in _OPENING or (word.endswith("ly") and len(word) > 8)


def names_behind(text: str, start: int) -> Names | None:
    """The names that begin at `start`."""
    end = start
    for token in _TOKEN.finditer(text, start, min(len(text), start + REACH)):
        if _of_name(token[0], True):
            end = token.end()
        elif token[0].lower() not in _AND and token[0] != ",":
            break
    return names_before(text, end, start)


Token = re.Match[str]


def _elements(tokens: list[Token]) -> tuple[list[list[Token]], list[str]]:
    """The words of each author that the tokens end with, and what stands behind each author, "," or "and"."""
    elements: list[list[Token]] = [[]]
    divided = [""]
    at = len(tokens) - 1
    while at >= 0:
        token = tokens[at][0]
        if _of_name(token, bool(elements[0])):
            elements[0].insert(0, tokens[at])
            at -= 1
            continue
        joins = token.lower() in _AND
        before = at - 1 if not joins or at < 1 or tokens[at - 1][0] != "," else at - 2
        if not (joins or token == ",") or not elements[0] or before < 0 or not _of_name(tokens[before][0], False):
            break
        elements.insert(0, [])
        divided.insert(0, "and" if joins else ",")
        at = before
    return _with_initials([element for element in elements if element], divided)


def _of_name(token: str, inside: bool) -> bool:
    """Is this a word of a name? A particle is one before another; a longer word with a full stop ends a sentence."""
    if not token[0].isalpha():
        return False
    if token[0].islower():
        return inside and token in PARTICLES
    return not token.endswith(".") or bool(_SHORT.fullmatch(token)) or token.lower() == "prof."


def _with_initials(elements: list[list[Token]], divided: list[str]) -> tuple[list[list[Token]], list[str]]:
    """ "Ling, J., & Benton, D.": initials belong to the name before them, and so does "Jr."."""
    found: list[list[Token]] = []
    behind: list[str] = []
    for element, sign in zip(elements, divided, strict=False):
        short = all(_INITIALS.fullmatch(token[0]) or _SUFFIX.fullmatch(token[0]) for token in element)
        if short and found and behind[-1] == "," and len(element) < 4 and not _opens(found[-1][-1][0]):
            if not _SUFFIX.fullmatch(element[-1][0]):
                found[-1] = [*element, *found[-1]]
            behind[-1] = sign
        else:
            found.append(element)
            behind.append(sign)
    return found, behind
