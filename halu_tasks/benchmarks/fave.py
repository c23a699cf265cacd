"""FAVE (George and Stuhlmüller 2023): summarise what eight papers say about a query, with citations.

Scored is how much of the summary the cited abstracts do not support.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, with_ids
from halu_tasks.scorers.benchmarks import judged
from halu_tasks.scorers.citations import listed_papers
from halu_tasks.scorers.gold import Paper, SummaryGold
from halu_tasks.text.sentences import sentences

PAPER = {"title": str, "summary": str, "authors": list, "metadata": dict}


def check_row(row: Row) -> None:
    """Raise ValueError unless the row has at least one valid paper."""
    if not row["papers"]:
        raise ValueError("field 'papers' is empty")
    for number, paper in enumerate(row["papers"], 1):
        if not isinstance(paper, dict):
            raise ValueError(f"paper {number} is {type(paper).__name__}, expected an object")
        for field, kind in PAPER.items():
            if not isinstance(paper.get(field), kind):
                raise ValueError(f"paper {number}: field {field!r} is missing or not {kind.__name__}")
        if not all(isinstance(author, str) for author in paper["authors"]):
            raise ValueError(f"paper {number}: authors must be strings")
        if not isinstance(paper["metadata"].get("year"), int | None):
            raise ValueError(f"paper {number}: metadata.year must be an integer")


def cases(rows: Iterable[Row], options: Options) -> Iterator[Item]:
    """Yield one item per query; papers are named by first author and year, with letters if two have the same name."""
    precision = options.assumption and options.assumption.precision
    for id, row in with_ids(rows, "query"):
        papers = [_paper(paper) for paper in row["papers"]]
        for paper, reference in zip(papers, listed_papers(papers), strict=True):
            paper["name"] = reference.key
        listed = "\n\n".join(
            f"Paper {number}: {paper['name']}\n\nTitle: {paper['title']}\n\nAbstract: {paper['abstract'] or '(none)'}"
            for number, paper in enumerate(papers, 1)
        )
        summary = str(row.get("summary", ""))
        query = row["query"].strip()
        adjustment = judged.SUMMARY.precision if precision is None else precision
        assert adjustment is not None
        gold = SummaryGold(query=query, papers=papers, summary=summary, adjustment=adjustment)
        yield Item(id, id, summary, fields={"query": query, "papers": listed}, gold=gold)


def _paper(paper: dict[str, Any]) -> Paper:
    return {
        "name": "",
        "title": " ".join(paper["title"].split()),
        "abstract": paper["summary"].strip(),
        "authors": [" ".join(author.split()) for author in paper["authors"]],
        "year": paper["metadata"].get("year"),
    }


def oracle(item: Item[SummaryGold]) -> str:
    """Return the summary of a worked example; without one, each paper's first sentence with its citation."""
    papers = [paper for paper in item.gold.papers if paper["abstract"]]
    claims = ((paper["name"], sentences(paper["abstract"])[0].rstrip(" .")) for paper in papers)
    return item.gold.summary or " ".join(f"{name} writes: {sentence}." for name, sentence in claims)
