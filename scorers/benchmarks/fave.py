"""Hallucinations in summaries that cite papers (Factored Verification, section 3).

The claims of a summary are its sentences. A judge checks only those that cite a paper, each against the titles and
abstracts of the papers that it cites. A sentence all of whose citations match no paper of the list is a hallucination,
since nothing supports it, and the judge is not asked. An empty reply counts as a summary with one hallucination.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy.typing as npt

from halu_tasks.core.items import Item
from halu_tasks.scorers.citations import Paper, Reference, cited, references
from halu_tasks.scorers.judge import FAILED, LONGEST, JudgeSpec, fence
from halu_tasks.scorers.metrics import NO_ERROR, Metric, Terms, mean, metric, micro, share_free_of, share_unparsed
from halu_tasks.scorers.reading.claims import UNSUPPORTED, read_support
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.judge_error import judge_error_metrics
from halu_tasks.text.sentences import sentences

Column = npt.NDArray[Any]


class GoldPaper(TypedDict):
    """A paper in an item's gold.

    Attributes:
        name: The name under which it is cited.
        title: Its title.
        abstract: Its abstract; may be empty.
        authors: The names of its authors.
        year: Its year; None if it is missing.
    """

    name: str
    title: str
    abstract: str
    authors: list[str]
    year: int | None


Papers = Sequence[GoldPaper]
"""The papers of an item."""

_HEADING = re.compile(
    r"[#*_\s]{0,6}(?:corrected |revised |final )?summary[ \t]?[*_]{0,3}(?::[*_]{0,3}|[ \t]*\n)\s*", re.IGNORECASE
)
_KEPT = 4_000
"""Maximum length in characters of the summary that a score keeps."""


class Cited(NamedTuple):
    """A sentence with citations.

    Attributes:
        sentence: The sentence.
        papers: The papers of the list that it cites, each once.
        unknown: The citations, as written, that match no paper of the list.
        ambiguous: The citations that match several papers, all of which are among the `papers`.
    """

    sentence: str
    papers: list[GoldPaper]
    unknown: list[str]
    ambiguous: list[str]


def references_of(papers: Papers) -> list[Reference]:
    """Return the reference of each paper, in order."""
    return references(Paper(paper["title"], paper["authors"], paper["year"]) for paper in papers)


def summary_of(reply: str) -> str | None:
    """Extract the summary from a reply, without reasoning and heading; None if there is none."""
    text = strip_reasoning(reply)
    if text is None or not text.strip():
        return None
    begin = _HEADING.match(text)
    return text[begin.end() if begin else 0 :].strip() or None


def cited_sentences(summary: str, papers: Papers) -> tuple[list[Cited], int]:
    """Return the sentences of a summary that have citations, and the number of all its sentences."""
    listed = references_of(papers)
    with_citations = []
    every = sentences(summary)
    for sentence in every:
        known, unknown, ambiguous = cited(sentence, listed)
        if known or unknown:
            with_citations.append(Cited(sentence, [papers[index] for index in known], unknown, ambiguous))
    return with_citations, len(every)


def shown(papers: Papers) -> str:
    """Format papers for a judge, critic or writer, between fences."""
    return fence(
        "\n\n".join(
            f"{paper['name']}:\n\nTitle: {paper['title']}\n\nAbstract: {paper['abstract'] or '(none)'}"
            for paper in papers
        )
    )


def questions(item: Item, reply: str) -> list[Mapping[str, str]]:
    """Return the fields of the judge's questions, one for each sentence that cites papers of the list."""
    summary = summary_of(reply)
    claims = cited_sentences(summary, item.gold["papers"])[0] if summary else []
    return [
        {"papers": shown(claim.papers), "claim": fence(claim.sentence, LONGEST), "about": claim.sentence}
        for claim in claims
        if claim.papers
    ]


JUDGING = JudgeSpec(
    "fave_support",
    questions,
    read_support,
    unjudged="share_cited",
    coverage="share_cited",
    positive=UNSUPPORTED,
    measurement="hallucinations",
    precision=2 / 3,
)
"""In the paper, people confirm two thirds of the reported hallucinations (section 3.4)."""


def score(item: Item, reply: str, verdicts: Sequence[str] | None) -> Score:
    """Score a summary by the judge's verdicts on its sentences.

    A sentence on which the judge failed does not count as a hallucination, but is counted in `failed`.

    Args:
        item: The item.
        reply: The reply.
        verdicts: A verdict on each of `questions`; None if no judge was asked, in which case nothing is known about
            hallucinations.

    Raises:
        ValueError: The number of verdicts is not that of the questions.
    """
    summary = summary_of(reply)
    claims, sentence_count = cited_sentences(summary, item.gold["papers"]) if summary else ([], 0)
    judged = [claim for claim in claims if claim.papers]
    measurements = {
        "sentences": float(sentence_count),
        "cited": float(len(claims)),
        "known": float(len(judged)),
        "unknown": float(sum(len(claim.unknown) for claim in claims)),
        "ambiguous": float(sum(len(claim.ambiguous) for claim in claims)),
        "blank": float(sum(not any(paper["abstract"] for paper in claim.papers) for claim in judged)),
    }
    if verdicts is not None:
        if len(verdicts) != len(judged):
            raise ValueError(f"item {item.id}: expected {len(judged)} verdicts, got {len(verdicts)}")
        wrong = sum(verdict == UNSUPPORTED for verdict in verdicts) + len(claims) - len(judged) + (summary is None)
        measurements |= {
            "asked": float(len(judged)),
            "failed": float(sum(verdict == FAILED for verdict in verdicts)),
            "hallucinations": float(wrong),
            "any": float(wrong > 0),
            "factor": float(item.gold["adjustment"]),
        }
    reason = "" if summary else "empty" if strip_reasoning(reply) is not None else "unclosed reasoning"
    return Score(item.id, item.cluster, summary and summary[:_KEPT], item.target, measurements, item.tags, reason)


def _count(name: str, measurement: str, about: str, *, higher_is_better: bool | None = False) -> Metric:
    """Create the mean of a count, 0 or more."""
    return mean(name, measurement, about, higher_is_better=higher_is_better, range=(0.0, math.inf))


@metric(higher_is_better=False, range=(0.0, math.inf), requires_option="judge")
def hallucinations_per_summary_adjusted(hallucinations: Column, factor: Column) -> Terms:
    """Hallucinations_per_summary times the assumed precision."""
    return hallucinations * factor


@metric(higher_is_better=False, requires_option="judge")
def summaries_with_any_adjusted(hallucinations: Column, factor: Column) -> Terms:
    """Mean of 1 - (1 - assumed precision)^k over summaries with k reported hallucinations.

    This is the probability that one of them is real, if each is so independently of the others.
    """
    return 1 - (1 - factor) ** hallucinations


# it does not vary between summaries
@metric(higher_is_better=None, requires_option="judge", error=NO_ERROR)
def adjustment_factor(factor: Column) -> Terms:
    """Assumed precision, the share of reported hallucinations that are taken to be real."""
    return factor


def fave_scorer() -> TaskScorer:
    """Score a summary whose cited sentences are checked by a judge.

    Returns:
        A scorer with `METRICS`: those of hallucinations, for which a judge is needed, and numbers of sentences and
        citations. The adjusted ones assume that a certain share of reported hallucinations is real.
    """
    return TaskScorer(score, METRICS)


METRICS = (
    _count("hallucinations_per_summary", "hallucinations", "mean number of cited sentences that are not supported"),
    mean(
        "summaries_with_any",
        "any",
        "share of summaries with a cited sentence that is not supported",
        higher_is_better=False,
        requires_option="judge",
    ),
    share_free_of(
        "acc", "hallucinations", "share of summaries without one, 1 - summaries_with_any", requires_option="judge"
    ),
    hallucinations_per_summary_adjusted,
    summaries_with_any_adjusted,
    adjustment_factor,
    micro(
        "judge_failed",
        "failed",
        "asked",
        "share of the judged sentences on which the judge gave no verdict",
        higher_is_better=False,
        requires_option="judge",
    ),
    *judge_error_metrics("hallucinations_per_summary", "hallucinations", math.inf),
    micro("share_cited", "known", "sentences", "share of all sentences that cite a paper of the list"),
    _count("sentences", "sentences", "mean number of sentences of a summary", higher_is_better=None),
    _count("sentences_cited", "cited", "mean number of sentences with a citation", higher_is_better=None),
    _count("citations_unknown", "unknown", "mean number of citations that match no paper of the list"),
    _count("citations_ambiguous", "ambiguous", "mean number of citations that match several papers"),
    _count(
        "cited_without_abstract",
        "blank",
        "mean number of sentences that cite only papers with a blank abstract",
        higher_is_better=None,
    ),
    share_unparsed(),
)
