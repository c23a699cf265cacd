"""Summaries of papers with citations: what is checked of them, and how many hallucinations they have (Factored
Verification, section 3).

Sentences are the claims. Only those that cite a paper are checked, each against the titles and abstracts of the papers
that it cites and no others. A sentence whose citations all name no paper of the list has nothing to support it: it
is a hallucination, and nobody is asked. An empty reply is no summary: it counts as one with one hallucination.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from halu_tasks.items import Item
from halu_tasks.scorers.answer import strip_reasoning
from halu_tasks.scorers.citations.citations import cited
from halu_tasks.scorers.citations.references import Paper, Reference, references
from halu_tasks.scorers.metrics import Metric, mean, micro, share_unparsed
from halu_tasks.scorers.reading.claims import UNSUPPORTED, read_support
from halu_tasks.scorers.reading.judge import FAILED, LONGEST, JudgeSpec, fence
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score
from halu_tasks.text.sentences import sentences

Papers = Sequence[Mapping[str, Any]]
"""Papers as an item's gold has them: `name`, `title`, `abstract`, `authors`, `year`."""

_HEADING = re.compile(
    r"[#*_\s]{0,6}(?:corrected |revised |final )?summary[ \t]?[*_]{0,3}(?::[*_]{0,3}|[ \t]*\n)\s*", re.IGNORECASE
)
_KEPT = 4_000
"""Characters of a summary that its score keeps."""


class Cited(NamedTuple):
    """A sentence that cites: the papers of the list that it names, and the citations that name none or several."""

    sentence: str
    papers: list[Mapping[str, Any]]
    unknown: list[str]
    ambiguous: list[str]


def references_of(papers: Papers) -> list[Reference]:
    return references(Paper(paper["title"], paper["authors"], paper["year"]) for paper in papers)


def summary_of(reply: str) -> str | None:
    """The summary that a reply gives, without reasoning and heading; None where there is none."""
    text = strip_reasoning(reply)
    if text is None or not text.strip():
        return None
    begin = _HEADING.match(text)
    return text[begin.end() if begin else 0 :].strip() or None


def cited_sentences(summary: str, papers: Papers) -> tuple[list[Cited], int]:
    """The sentences of a summary that cite, and the number of all its sentences."""
    named = references_of(papers)
    found = []
    every = sentences(summary)
    for sentence in every:
        known, unknown, ambiguous = cited(sentence, named)
        if known or unknown:
            found.append(Cited(sentence, [papers[place] for place in known], unknown, ambiguous))
    return found, len(every)


def shown(papers: Papers) -> str:
    """Papers as a judge, critic or writer sees them, fenced."""
    return fence(
        "\n\n".join(
            f"{paper['name']}:\n\nTitle: {paper['title']}\n\nAbstract: {paper['abstract'] or '(none)'}"
            for paper in papers
        )
    )


# --- the judge --------------------------------------------------------------------------------------


def questions(item: Item, reply: str) -> list[Mapping[str, str]]:
    """One question for each sentence that cites papers of the list."""
    summary = summary_of(reply)
    checked = cited_sentences(summary, item.gold["papers"])[0] if summary else []
    return [
        {"papers": shown(one.papers), "claim": fence(one.sentence, LONGEST), "about": one.sentence}
        for one in checked
        if one.papers
    ]


JUDGING = JudgeSpec("fave_support", questions, read_support, unjudged="share_cited")


# --- scores -----------------------------------------------------------------------------------------


def score(item: Item, reply: str, verdicts: Sequence[str] | None) -> Score:
    """Score of a summary, given a verdict on each of `questions`, or None where no judge was named.

    A sentence on which the judge failed is no hallucination and is counted in `failed`.
    """
    summary = summary_of(reply)
    checked, every = cited_sentences(summary, item.gold["papers"]) if summary else ([], 0)
    asked = [one for one in checked if one.papers]
    facts = {
        "sentences": float(every),
        "cited": float(len(checked)),
        "known": float(len(asked)),
        "unknown": float(sum(len(one.unknown) for one in checked)),
        "ambiguous": float(sum(len(one.ambiguous) for one in checked)),
        "blank": float(sum(not any(paper["abstract"] for paper in one.papers) for one in asked)),
    }
    if verdicts is not None:
        if len(verdicts) != len(asked):
            raise ValueError(f"{len(verdicts)} verdicts on {len(asked)} sentences of item {item.id}")
        factor = float(item.gold["adjustment"])
        wrong = sum(verdict == UNSUPPORTED for verdict in verdicts) + len(checked) - len(asked) + (summary is None)
        facts |= {
            "asked": float(len(asked)),
            "failed": float(sum(verdict == FAILED for verdict in verdicts)),
            "hallucinations": float(wrong),
            "any": float(wrong > 0),
            "adjusted": wrong * factor,
            "any_adjusted": (wrong > 0) * factor,
            "factor": factor,
        }
    reason = "" if summary else "empty" if strip_reasoning(reply) is not None else "unclosed reasoning"
    return Score(item.id, item.cluster, summary and summary[:_KEPT], item.target, facts, item.tags, reason)


def _count(name: str, fact: str, about: str, *, higher_is_better: bool | None = False) -> Metric:
    return replace(mean(name, fact, about, higher_is_better=higher_is_better), range=(0.0, math.inf))


def fave_scorer() -> TaskScorer:
    """Score a summary whose cited sentences a judge checks: `score` and its metrics."""
    return TaskScorer(score, METRICS)


_ADJUSTED = "times the adjustment factor"

METRICS = (
    _count("hallucinations_per_summary", "hallucinations", "mean number of cited sentences that are not supported"),
    *(
        replace(metric, requires_option="judge")
        for metric in (
            mean(
                "summaries_with_any",
                "any",
                "share of summaries with a cited sentence that is not supported",
                higher_is_better=False,
            ),
            _count("hallucinations_per_summary_adjusted", "adjusted", f"hallucinations_per_summary {_ADJUSTED}"),
            mean(
                "summaries_with_any_adjusted",
                "any_adjusted",
                f"summaries_with_any {_ADJUSTED}",
                higher_is_better=False,
            ),
            _count(
                "adjustment_factor",
                "factor",
                "share of reported hallucinations that are taken for real",
                higher_is_better=None,
            ),
            micro(
                "judge_failed",
                "failed",
                "asked",
                "share of the sentences that the judge gave no verdict on",
                higher_is_better=False,
            ),
        )
    ),
    micro("share_cited", "known", "sentences", "share of all sentences that cite a paper of the list"),
    _count("sentences", "sentences", "mean number of sentences of a summary", higher_is_better=None),
    _count("sentences_cited", "cited", "mean number of sentences with a citation", higher_is_better=None),
    _count("citations_unknown", "unknown", "mean number of citations that fit no paper of the list"),
    _count("citations_ambiguous", "ambiguous", "mean number of citations that fit several papers"),
    _count(
        "cited_without_abstract",
        "blank",
        "mean number of sentences that cite only papers with a blank abstract",
        higher_is_better=None,
    ),
    share_unparsed(),
)
