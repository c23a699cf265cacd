"""What the papers of a list are called when they are cited, "Author (year)": `references`.

The surname of the first author and the year; "n.d." for a missing year, the first words of the title in quotation
marks for missing authors, "Anonymous" for both. Papers that would have one name get letters in their order, "Smith
(2019a)", "Smith (2019b)" and "Smith (n.d.-a)"; so do those whose names differ in accents alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from halu_tasks.scorers.citations.authors import Author, author, words

YEARS = range(1500, 2100)
"""What is taken for a year; any other number says that the year is missing (the released data have 0)."""

_TITLE_WORDS = 5
_TITLE_MARKS = re.compile(r"[\"“”„«»()\[\]<>*_`#]+")
_SPELLED_OUT = re.compile(r"([aou])e|(?<=a)a")
_DANGLING = re.compile(
    r"(?:an?|the|of|on|in|at|for|from|to|with|and|or|by|as|that|which|is|are|its|their|what|we|among|between|\W)\W*",
    re.IGNORECASE,
)


class Paper(NamedTuple):
    """What of a paper its name is made from."""

    title: str
    authors: Sequence[str]
    year: int | None


class Reference(NamedTuple):
    """A paper's name, and what a citation of it is recognised by; `title` only where it stands for the authors."""

    key: str
    authors: tuple[Author, ...]
    year: int | None
    letter: str = ""
    title: str = ""


def references(papers: Iterable[Paper]) -> list[Reference]:
    """The reference of each paper, in order; no two have the same key. Raises ValueError for more than 26 papers
    of one first author and year."""
    plain = [_plain(paper) for paper in papers]
    names = [(_alike(reference.authors[0].surname), reference.year) for reference in plain]
    counts = Counter(names)
    seen: Counter[tuple[str, int | None]] = Counter()
    found: list[Reference] = []
    for reference, name in zip(plain, names, strict=True):
        letter = ""
        if counts[name] > 1:
            if counts[name] > len(ascii_lowercase):
                raise ValueError(f"{counts[name]} papers named {reference.key}: there are letters for 26")
            letter = ascii_lowercase[seen[name]]
            seen[name] += 1
        found.append(reference._replace(key=_key(reference, letter), letter=letter))
    return found


def _alike(surname: str) -> str:
    """The same for surnames that a reader may take for one: "Rösler", "Rosler" and "Roesler"."""
    return _SPELLED_OUT.sub(r"\1", "".join(words(surname)))


def _plain(paper: Paper) -> Reference:
    """The reference without its key and letter."""
    authors = tuple(author(name) for name in paper.authors if any(map(str.isalnum, name)))
    year = paper.year if paper.year in YEARS else None
    title = ""
    if not authors:
        title = " ".join(_TITLE_MARKS.sub(" ", paper.title).split())
        authors = (Author(short_title(title) or "Anonymous"),)
    return Reference("", authors, year, title=title)


def _key(reference: Reference, letter: str) -> str:
    name = reference.authors[0].surname
    if reference.title:
        name = f'"{name}"'
    year = str(reference.year or "n.d.")
    return f"{name} ({year}{'-' if letter and not reference.year else ''}{letter})"


def short_title(title: str) -> str:
    """The first words of a title, up to a colon or full stop and without loose words at their end."""
    head = re.split(r"[:.?!;–—]\s|[.:;]$", title, maxsplit=1)[0].strip()
    kept = (head if " " in head else title).split()[:_TITLE_WORDS]
    while len(kept) > 1 and _DANGLING.fullmatch(kept[-1]):
        del kept[-1]
    return " ".join(kept).rstrip(" ,.:;–—-")
