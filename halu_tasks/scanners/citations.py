"""The scanner `citations`: do the citations of a reply exist, and do the papers that it cites support it?"""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from inspect_scout import Result, Scanner, Transcript, scanner

from halu_tasks.core.errors import DataError
from halu_tasks.core.items import Item
from halu_tasks.judging.judge import Judge
from halu_tasks.scanners.transcripts import TranscriptReply, field_of, no_reply, reply_of
from halu_tasks.scorers.benchmarks.judged import (
    SUMMARY,
    GoldPaper,
    cited_sentences,
    references_of,
    score_summary,
    summary_of,
)
from halu_tasks.scorers.citations import YEARS
from halu_tasks.scorers.judge import FAILED, Verdict
from halu_tasks.scorers.reading.claims import UNSUPPORTED
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import model_in

_judges: WeakKeyDictionary[AbstractEventLoop, dict[str, Judge]] = WeakKeyDictionary()
"""The judges of each scan, which has an event loop of its own, by model."""


@scanner(messages="all")
@checked
def citations(papers: str = "papers", support: bool = True) -> Scanner[Transcript]:
    """Check the citations of a reply against a list of papers, as the task `fave` does.

    The value is whether a citation matches no paper of the list or, with `support`, a cited sentence is not supported
    by the papers that it cites. The model role `grader` is asked about support; it defaults to the model of the scan.

    Args:
        papers: The metadata field with the papers: a list of strings, or of objects with `title`, `authors`, `year`,
            and `abstract` or `text`.
        support: Whether a model is asked if the cited papers support each sentence.
    """

    async def scan(transcript: Transcript) -> Result:
        reply = reply_of(transcript)
        if reply is None:
            return no_reply()
        item = _item(transcript, papers)
        verdicts = await _judge().of_reply(item, reply.text) if support else None
        return _result(item, reply, verdicts)

    return scan


def _judge() -> Judge:
    """Return the judge of this scan, which is made in each process of the scan."""
    model = model_in("grader")
    judges = _judges.setdefault(get_running_loop(), {})
    if str(model) not in judges:
        judges[str(model)] = Judge(model, SUMMARY)
    return judges[str(model)]


def _item(transcript: Transcript, name: str) -> Item:
    """Return the item of FAVE that asks about a transcript's papers.

    Raises:
        DataError: The papers are missing or cannot be read.
    """
    listed = field_of(transcript, name)
    if not isinstance(listed, list) or not listed:
        raise DataError(f"metadata {name!r}: expected a list of papers, got {type(listed).__name__}")
    papers = [_paper(paper, number, name) for number, paper in enumerate(listed, 1)]
    try:
        references = references_of(papers)
    except ValueError as error:
        raise DataError(f"metadata {name!r}: {error}") from None
    for paper, reference in zip(papers, references, strict=True):
        paper["name"] = reference.key
    id = transcript.transcript_id
    return Item(id, id, "", "", "", {"papers": papers, "adjustment": 1.0}, {})


def _paper(paper: Any, number: int, name: str) -> GoldPaper:
    """Return a paper as in FAVE; a text alone is cited by its number, and gets a title of its own."""
    fields: Mapping[str, Any] = {"text": paper} if isinstance(paper, str) else paper
    if not isinstance(fields, Mapping):
        raise DataError(
            f"metadata {name!r}: paper {number} is {type(paper).__name__}, expected a string or an object with title, "
            "authors, year, and abstract or text"
        )
    authors = fields.get("authors") or []
    year = str(fields.get("year") or "")
    return {
        "name": "",
        "title": str(fields.get("title") or f"Document {number}"),
        "abstract": str(fields.get("abstract") or fields.get("text") or ""),
        "authors": [authors] if isinstance(authors, str) else [str(author) for author in authors],
        "year": int(year) if year.isdecimal() and int(year) in YEARS else None,
    }


def _result(item: Item, reply: TranscriptReply, verdicts: list[Verdict] | None) -> Result:
    labels = None if verdicts is None else [verdict.label for verdict in verdicts]
    measurements = score_summary(item, reply.text, labels).measurements
    cited = cited_sentences(summary_of(reply.text) or "", item.gold["papers"])[0]
    unknown = [{"sentence": each.sentence, "citation": written} for each in cited for written in each.unknown]
    unsupported = [verdict for verdict in verdicts or [] if verdict.label == UNSUPPORTED]
    failed = sum(label == FAILED for label in labels or [])
    found = [f"cites {each['citation']}, which is not listed: {each['sentence']}" for each in unknown]
    found += [f"not supported: {verdict.about} ({verdict.reason})" for verdict in unsupported]
    value = bool(found)
    nothing = "no citations" if not cited else f"{failed} sentences without a verdict" if failed else "nothing found"
    return Result(
        # a sentence without a verdict may be unsupported
        value=None if failed and not value else value,
        answer=f"{len(found)} found",
        explanation="\n".join(found) or nothing,
        metadata={
            "sentences": int(measurements["sentences"]),
            "sentences_cited": len(cited),
            "citations_ambiguous": int(measurements["ambiguous"]),
            "citations_unknown": unknown,
            "unsupported": [{"sentence": verdict.about, "reason": verdict.reason} for verdict in unsupported],
            "judge_failed": failed,
            "support": verdicts is not None,
        },
        references=reply.references,
    )
