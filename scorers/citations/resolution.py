"""Match the names and the year of a citation to the papers of a list."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from halu_tasks.scorers.citations.authors import other_forms, spellings, words
from halu_tasks.scorers.citations.names import Names
from halu_tasks.scorers.citations.references import Reference

_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
Table = dict[tuple[str, int | None], list[int]]
"""Indexes of papers by the form of a name and the year."""


class Index:
    """The papers of a list by their year and the forms of their authors' names.

    There are three tables: first authors, other authors, and other forms of all authors' names. A table is used only if
    the ones before it have no match. In a citation, any words may precede a surname.

    Args:
        references: The papers.
    """

    def __init__(self, references: Sequence[Reference]) -> None:
        self._references = references
        self._tables: list[Table] = [defaultdict(list) for _ in range(3)]
        self._forms = [[spellings(author.surname) for author in reference.authors] for reference in references]
        self._longest = 1
        for paper, reference in enumerate(references):
            for place, (author, forms) in enumerate(zip(reference.authors, self._forms[paper], strict=True)):
                self._add(min(place, 1), forms, reference.year, paper)
                self._add(2, other_forms(author), reference.year, paper)
                self._longest = max(self._longest, len(words(author.surname)))

    def _add(self, table: int, forms: set[str], year: int | None, paper: int) -> None:
        """Add a paper to a table under each form of a name."""
        for form in filter(None, forms):
            papers = self._tables[table][form, year]
            if paper not in papers:
                papers.append(paper)

    def named(self, names: Names, year: int | None, letter: str) -> list[int]:
        """Return the indexes of the papers of a year that match the names best.

        Args:
            names: The names of the citation.
            year: The year; None for a missing one.
            letter: The letter after the year, if any.
        """
        for table in self._tables:
            for start in names.starts:
                for form, given in _possible_surnames(names.authors[start], self._longest):
                    if papers := table.get((form, year)):
                        others = names.authors[start + 1 :]
                        papers = self._with_letter(papers, letter)
                        return self._best(papers, form, given, others, several=names.several or bool(others))
        return []

    def called(self, text: str, size: int, year: int | None, letter: str) -> list[int]:
        """Return the indexes of the papers of a year whose name is in the text before it, in any case.

        The text must end with the name of an author or group of more than `size` words. If no paper matches, it
        may contain the title in place of authors, or end with a name in a script without spaces.

        Args:
            text: The text before the year.
            size: The number of words that have been tried as names.
            year: The year; None for a missing one.
            letter: The letter after the year, if any.
        """
        before = words(text)
        for count in range(min(len(before), self._longest), size, -1):
            form = "".join(before[-count:])
            for table in self._tables[:2]:
                if papers := table.get((form, year)):
                    return self._with_letter(papers, letter)
        spaced, joined = f" {' '.join(before)} ", "".join(before)
        papers = []
        for paper, reference in enumerate(self._references):
            name = reference.authors[0].surname
            if reference.year == year and (
                (reference.title and f" {' '.join(words(name))} " in spaced)
                or (_IDEOGRAPHS.search(name) and joined.endswith("".join(words(name))))
            ):
                papers.append(paper)
        return self._with_letter(papers, letter)

    def _with_letter(self, papers: list[int], letter: str) -> list[int]:
        """Return the papers with a letter or, if none has it, those without a letter, whose names are unique."""
        if not letter:
            return papers
        with_letter = [paper for paper in papers if self._references[paper].letter == letter]
        return with_letter or [paper for paper in papers if not self._references[paper].letter]

    def _best(
        self, papers: list[int], form: str, given: list[str], others: list[list[str]], several: bool
    ) -> list[int]:
        """Return the papers that match the given names, the other authors and their number best.

        Args:
            papers: The papers of authors with the surname.
            form: The surname's form.
            given: The given names or initials in the citation.
            others: The other authors in the citation.
            several: Whether the citation has several authors.
        """
        if len(papers) > 1 and given:
            papers = [paper for paper in papers if self._has_given(paper, form, given)] or papers
        for other in others if len(papers) > 1 else []:
            cited = {form for form, _ in _possible_surnames(other, self._longest)}
            papers = [p for p in papers if any(not cited.isdisjoint(forms) for forms in self._forms[p][1:])] or papers
        if len(papers) > 1 and several:
            papers = [paper for paper in papers if len(self._references[paper].authors) > 1] or papers
        return papers

    def _has_given(self, paper: int, form: str, given: list[str]) -> bool:
        """Return whether an author of the paper with this surname has one of the given names or initials."""
        return any(
            name == cited or (min(len(name), len(cited)) == 1 and name[0] == cited[0])
            for author, forms in zip(self._references[paper].authors, self._forms[paper], strict=True)
            if form in forms
            for name in words(author.given)
            for cited in given
        )


def _possible_surnames(name: list[str], longest: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the possible surnames at the end of a name, the longest first, each with the other words of the name."""
    end = len(name)
    while end > 1 and len(name[end - 1]) == 1 and any(len(word) > 1 for word in name[: end - 1]):
        end -= 1
    for count in range(min(end, longest + 2), 0, -1):
        yield "".join(name[end - count : end]), [*name[: end - count], *name[end:]]


@lru_cache(maxsize=256)
def index(references: tuple[Reference, ...]) -> Index:
    """Return the index of a list of papers, which is built once for all sentences of a summary."""
    return Index(references)
