"""Which papers of a list the names and the year of a citation fit: `Index`."""

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


class Index:
    """The papers by the forms of their authors' names and their year.

    Looked up in turn, so that a later table decides only where no earlier one has a paper: first authors, other
    authors, surnames without particles and doubtful surnames. A surname may have any words before it.
    """

    def __init__(self, references: Sequence[Reference]) -> None:
        self._references = references
        self._tables: list[Table] = [defaultdict(list) for _ in range(3)]
        self._forms = [[spellings(author.surname) for author in reference.authors] for reference in references]
        self._longest = 1
        for paper, reference in enumerate(references):
            for place, (author, forms) in enumerate(zip(reference.authors, self._forms[paper], strict=True)):
                self._enter(min(place, 1), forms, reference.year, paper)
                self._enter(2, other_forms(author), reference.year, paper)
                self._longest = max(self._longest, len(words(author.surname)))

    def _enter(self, table: int, forms: set[str], year: int | None, paper: int) -> None:
        for form in filter(None, forms):
            papers = self._tables[table][form, year]
            if paper not in papers:
                papers.append(paper)

    def named(self, names: Names, year: int | None, letter: str) -> list[int]:
        """The papers that these authors wrote in that year, those that fit best."""
        for table in self._tables:
            for start in names.starts:
                for form, given in _readings(names.authors[start], self._longest):
                    if papers := table.get((form, year)):
                        several = names.several or len(names.authors) > start + 1
                        return self._best(
                            self._lettered(papers, letter), form, given, names.authors[start + 1 :], several
                        )
        return []

    def called(self, text: str, size: int, year: int | None, letter: str) -> list[int]:
        """The papers of that year whose author, group or title, of more than `size` words, the text ends with
        in whatever case; else those whose title it holds."""
        said = words(text)
        for count in range(min(len(said), self._longest), size, -1):
            form = "".join(said[-count:])
            for table in self._tables[:2]:
                if papers := table.get((form, year)):
                    return self._lettered(papers, letter)
        joined = "".join(said)
        whole = f" {' '.join(said)} "
        found = []
        for paper, reference in enumerate(self._references):
            name = reference.authors[0].surname
            held = reference.title and f" {' '.join(words(name))} " in whole
            # scripts without white space
            if reference.year == year and (
                held or (_IDEOGRAPHS.search(name) and joined.endswith("".join(words(name))))
            ):
                found.append(paper)
        return self._lettered(found, letter)

    def _lettered(self, papers: list[int], letter: str) -> list[int]:
        """Those of the papers that have this letter; all if none has any, since then there is but one."""
        if not letter:
            return papers
        own = [paper for paper in papers if self._references[paper].letter == letter]
        return own or [paper for paper in papers if not self._references[paper].letter]

    def _best(
        self, papers: list[int], form: str, given: list[str], others: list[list[str]], several: bool
    ) -> list[int]:
        """Those of the papers that given names, further authors and their number tell apart from the rest."""
        if len(papers) > 1 and given:
            papers = [paper for paper in papers if self._given(paper, form, given)] or papers
        for other in others if len(papers) > 1 else []:
            forms = {form for form, _ in _readings(other, self._longest)}
            papers = [p for p in papers if any(not forms.isdisjoint(own) for own in self._forms[p][1:])] or papers
        if len(papers) > 1 and several:
            papers = [paper for paper in papers if len(self._references[paper].authors) > 1] or papers
        return papers

    def _given(self, paper: int, form: str, given: list[str]) -> bool:
        """Does an author of this surname have one of these given names or initials?"""
        same = (
            author
            for author, forms in zip(self._references[paper].authors, self._forms[paper], strict=True)
            if form in forms
        )
        return any(_same_given(own, cited) for author in same for own in words(author.given) for cited in given)


def _same_given(own: str, cited: str) -> bool:
    return own == cited or (min(len(own), len(cited)) == 1 and own[0] == cited[0])


def _readings(name: list[str], longest: int) -> Iterator[tuple[str, list[str]]]:
    """The surnames that a name may end in, joined, the longest first, each with the words beside it."""
    end = len(name)
    while end > 1 and len(name[end - 1]) == 1 and any(len(word) > 1 for word in name[: end - 1]):
        end -= 1
    for count in range(min(end, longest + 2), 0, -1):
        yield "".join(name[end - count : end]), [*name[: end - count], *name[end:]]


@lru_cache(maxsize=256)
def index(references: tuple[Reference, ...]) -> Index:
    """The index of these papers, made once for all sentences of a summary."""
    return Index(references)
