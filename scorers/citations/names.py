"""Read the names of a citation from the text around its year.

The text before the year is read backwards: "et al." and similar words first, then capitalized words, initials and
particles, separated by commas, "and" or "&". In "However, Ling and Benton (2009)", the text does not show whether the
list of authors begins with the first or the second word. All possible starts are therefore returned, and the
papers that match determine which one is right.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from halu_tasks.scorers.citations.authors import PARTICLES, word_set, words

REACH = 300
"""The maximum distance, in characters, of names from the year."""
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


# Capitalized words that begin sentences or precede names, but are not part of them.
_OPENING = word_set(
    "the a an in on at by for from with to of as if and or but both while whereas when although though however"
    " moreover furthermore additionally similarly likewise conversely finally overall thus therefore hence also"
    " notably specifically interestingly importantly meanwhile nevertheless nonetheless further next then lastly"
    " instead indeed second first third yet so since because given according unlike like see cf e.g eg i.e ie"
    " study studies research work author authors paper papers review results findings evidence another one two"
    " three professor prof dr mr mrs ms researcher researchers scholar scholars data using following after before"
    " despite consistent building based this that these those"
)
# Words before a year that is not a citation: "Table 2 (2009)", "(May 2009)"
_NO_NAME = word_set(
    "january february march april may june july august september october november december jan feb mar apr jun jul"
    " aug sep sept oct nov dec spring summer autumn fall winter table figure fig section chapter act law directive"
    " regulation olympics census survey version edition windows dsm icd cup year years since until circa phase study"
    " trial volume equation appendix model week day month protocol amendment treaty convention agreement"
    " inventory scale index questionnaire checklist report guideline guidelines"
    " i ii iii iv v"
)


class Names(NamedTuple):
    """The names of a citation.

    Attributes:
        authors: The authors in order, each as the words of `authors.words`.
        starts: The indexes of the authors with which the list may begin.
        several: Whether there are several authors, or "et al.".
        at: The most likely start of the names in the text.
        written: The names from there on, as written.
        size: The total number of words.
        credible: Whether these can be names even if no paper matches; "Table" and "May" cannot.
    """

    authors: list[list[str]]
    starts: list[int]
    several: bool
    at: int
    written: str
    size: int
    credible: bool


def names_before(text: str, end: int, floor: int) -> Names | None:
    """Read the names that end at a position of the text.

    Args:
        text: The text.
        end: The end of the names.
        floor: The first position at which they may begin.

    Returns:
        The names; None if there are none.
    """
    floor = max(floor, end - REACH)
    written = text[floor:end].rstrip(" \t\n,:\"”»'")
    genitive = written.endswith("s") and text[floor + len(written) : end].startswith("'")
    part = written + "'" if genitive else written
    et_al = _ET_AL.search(part)
    part = part[: et_al.start()] if et_al else _POSSESSIVE.sub("", part)
    elements, separators = _author_words([*_TOKEN.finditer(part)][-_MOST_TOKENS:])
    size = sum(map(len, elements))
    for element in elements:
        while len(element) > 1 and _begins_sentence(element[0][0]):
            del element[0]
    authors = [words(" ".join(_initials_first([token[0] for token in element]))) for element in elements]
    if not authors or not all(authors):
        return None
    last = len(authors) - 1
    starts = [0]
    while starts[-1] < last and separators[starts[-1]] == ",":
        starts.append(starts[-1] + 1)
    # Two authors are not separated by only a comma: "In Europe, Ling (2009)"
    first = last if not et_al and starts[-1] == last else 0
    while first < last and separators[first] == "," and _begins_sentence(elements[first][-1][0]):
        first += 1
    is_word = first == last and _begins_sentence(elements[last][-1][0])
    credible = not is_word and authors[last][-1] not in _NO_NAME and max(map(len, authors[last])) > 1
    at = min(token.start() for token in elements[first])
    return Names(authors, starts, bool(et_al) or first < last, floor + at, written[at:], size, credible)


def _initials_first(parts: list[str]) -> list[str]:
    """Move initials after a surname, as in "Ling JM", before it."""
    last = len(parts)
    while last > 1 and _CAPITALS.fullmatch(parts[last - 1]) and not parts[0].isupper():
        last -= 1
    return [*parts[last:], *parts[:last]]


def _begins_sentence(word: str) -> bool:
    """Return whether a word usually begins a sentence, not a name."""
    return word.lower().strip(".") in _OPENING or (word.endswith("ly") and len(word) > 8)


def names_behind(text: str, start: int) -> Names | None:
    """Read the names that begin at a position of the text; None if there are none."""
    end = start
    for token in _TOKEN.finditer(text, start, min(len(text), start + REACH)):
        if _is_name_word(token[0], True):
            end = token.end()
        elif token[0].lower() not in _AND and token[0] != ",":
            break
    return names_before(text, end, start)


Token = re.Match[str]


def _author_words(tokens: list[Token]) -> tuple[list[list[Token]], list[str]]:
    """Return the words of each author at the end of the tokens, and the separator after each: "," or "and"."""
    elements: list[list[Token]] = [[]]
    separators = [""]
    at = len(tokens) - 1
    while at >= 0:
        token = tokens[at][0]
        if _is_name_word(token, bool(elements[0])):
            elements[0].insert(0, tokens[at])
            at -= 1
            continue
        is_and = token.lower() in _AND
        before = at - 2 if is_and and at > 0 and tokens[at - 1][0] == "," else at - 1
        if not (is_and or token == ",") or not elements[0] or before < 0 or not _is_name_word(tokens[before][0], False):
            break
        elements.insert(0, [])
        separators.insert(0, "and" if is_and else ",")
        at = before
    return _merge_initials([element for element in elements if element], separators)


def _is_name_word(token: str, follows: bool) -> bool:
    """Return whether a token is a word of a name.

    Args:
        token: The token.
        follows: Whether a word of the same name follows, which a particle needs.
    """
    if not token[0].isalpha():
        return False
    if token[0].islower():
        return follows and token in PARTICLES
    # A longer word with a full stop ends a sentence.
    return not token.endswith(".") or bool(_SHORT.fullmatch(token)) or token.lower() == "prof."


def _merge_initials(elements: list[list[Token]], separators: list[str]) -> tuple[list[list[Token]], list[str]]:
    """Merge initials and "Jr." after a comma with the name before it: "Ling, J., & Benton, D."."""
    merged: list[list[Token]] = []
    after: list[str] = []
    for element, separator in zip(elements, separators, strict=False):
        short = all(_INITIALS.fullmatch(token[0]) or _SUFFIX.fullmatch(token[0]) for token in element)
        if short and merged and after[-1] == "," and len(element) < 4 and not _begins_sentence(merged[-1][-1][0]):
            if not _SUFFIX.fullmatch(element[-1][0]):
                merged[-1] = [*element, *merged[-1]]
            after[-1] = separator
        else:
            merged.append(element)
            after.append(separator)
    return merged, after
