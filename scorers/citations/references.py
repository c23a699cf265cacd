"""Make the names under which the papers of a list are cited, such as "Smith (2019)".

A name consists of the surname of the first author and the year. A missing year is "n.d."; missing authors are replaced
by the first words of the title in quotation marks, or by "Anonymous" if it has no title. Papers with the same name,
except for accents, get letters in their order: "Smith (2019a)", "Smith (2019b)", "Smith (n.d.-a)".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from halu_tasks.scorers.citations.authors import Author, author, words

YEARS = range(1500, 2100)
"""Valid years; any other number means that the year is missing (0 in the released data)."""

# The maximum number of words of a title in a name.
_TITLE_WORDS = 5
_TITLE_MARKS = re.compile(r"[\"“”„«»()\[\]<>*_`#]+")
_SPELLED_OUT = re.compile(r"([aou])e|(?<=a)a")
_DANGLING = re.compile(
    r"(?:an?|the|of|on|in|at|for|from|to|with|and|or|by|as|that|which|is|are|its|their|what|we|among|between|\W)\W*",
    re.IGNORECASE,
)


class Paper(NamedTuple):
    """The data of a paper from which its name is made.

    Attributes:
        title: The title.
        authors: The names of the authors.
        year: The year; None if it is missing.
    """

    title: str
    authors: Sequence[str]
    year: int | None


class Reference(NamedTuple):
    """A paper's name, and the parts by which its citations are recognised.

    Attributes:
        key: The name.
        authors: The authors; never empty.
        year: The year; None if it is missing.
        letter: The letter that distinguishes papers of the same name; empty if there is only one.
        title: The title if it replaces the authors; otherwise empty.
    """

    key: str
    authors: tuple[Author, ...]
    year: int | None
    letter: str = ""
    title: str = ""


def references(papers: Iterable[Paper]) -> list[Reference]:
    """Make the reference of each paper, in order, with distinct keys.

    Raises:
        ValueError: More than 26 papers have the same first author and year.
    """
    without_letters = [_without_letter(paper) for paper in papers]
    names = [(_simplified(reference.authors[0].surname), reference.year) for reference in without_letters]
    counts = Counter(names)
    letters = {name: iter(ascii_lowercase) for name, count in counts.items() if count > 1}
    result: list[Reference] = []
    for reference, name in zip(without_letters, names, strict=True):
        if counts[name] > len(ascii_lowercase):
            raise ValueError(f"{counts[name]} papers named {_key(reference, '')}: there are letters for only 26")
        letter = next(letters[name]) if name in letters else ""
        result.append(reference._replace(key=_key(reference, letter), letter=letter))
    return result


def _simplified(surname: str) -> str:
    """Return the same form for surnames that may be confused, such as "Rösler", "Rosler" and "Roesler"."""
    return _SPELLED_OUT.sub(r"\1", "".join(words(surname)))


def _without_letter(paper: Paper) -> Reference:
    """Make the reference of a paper without key and letter."""
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
    """Return the first words of a title, up to a colon or full stop, without articles and similar words at the end."""
    head = re.split(r"[:.?!;–—]\s|[.:;]$", title, maxsplit=1)[0].strip()
    first_words = (head if " " in head else title).split()[:_TITLE_WORDS]
    while len(first_words) > 1 and _DANGLING.fullmatch(first_words[-1]):
        del first_words[-1]
    return " ".join(first_words).rstrip(" ,.:;–—-")
