"""HaluEval: how judgements, checked claims and returned passages score, and their metrics.

`paper`, for a judgement, reads as `evaluation/evaluate.py` in the authors' repository: full stops removed, exactly
one of the strings "Yes" and "No" must occur, in any word; else the judgement failed, which counts as wrong. For the
chain of thought that is asked of what follows the last "#Your Judgement#", since "No" is in every "November". For
claims it is the form that Factored Verification's prompt fixes (A.1.3), a line "Supported: Yes" or "Supported: No".
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from halu_tasks.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.label_scorer import verdict_scorer
from halu_tasks.scorers.classification import score_label
from halu_tasks.scorers.metrics import mean
from halu_tasks.scorers.reading.claims import Checks, checks
from halu_tasks.scorers.reading.labels.declining import declines
from halu_tasks.scorers.reading.labels.hallucination import NO, YES
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score

CUE = "#Your Judgement#"
KINDS = ("right", "hallucinated")
"""The two summaries of a row, as ids end and items are tagged."""


def published_reasoned_judgement(reply: str) -> Answer[str]:
    """Yes or No as the authors' evaluator reads it, of what follows the last cue."""
    return published_judgement(reply.rpartition(CUE)[2])


def published_judgement(reply: str) -> Answer[str]:
    """Yes or No as the authors' evaluator reads it; unparsed where it has "failed!"."""
    text = reply.replace(".", "")
    found = [word for word in (YES, NO) if word in text]
    return Answer(found[0]) if len(found) == 1 else Answer(None, "both Yes and No" if found else "neither Yes nor No")


def claims_verdict(reply: str) -> Answer[str]:
    """Whether a summary hallucinates by the checks that a reply lists."""
    return _verdict(checks(reply), reply)


def _verdict(found: Checks, reply: str = "") -> Answer[str]:
    """One claim without support makes the summary hallucinated: the product of probabilities that are 0 or 1 is 0
    (section 2.2). All must have been checked to call it right."""
    if not found.checked:
        declined = declines(reply)
        return Answer(None, "declines" if declined else found.reason, declined)
    if not all(found.checked):
        return Answer(YES)
    if found.unchecked:
        return Answer(None, f"{found.unchecked} claims without a check")
    return Answer(NO)


def score_claims(item: Item, reply: str) -> Score:
    """Score of the checks that a reply lists."""
    found = checks(reply)
    return _score_checks(item, found, _verdict(found, reply))


def score_claims_published(item: Item, reply: str) -> Score:
    found = [check == YES for check in _SUPPORTED.findall(reply)]
    listed = Checks(found, reason="" if found else "no claim with a check")
    return _score_checks(item, listed, _verdict(listed))


_SUPPORTED = re.compile(r"^Supported: (Yes|No)\b", re.MULTILINE)


def _score_checks(item: Item, found: Checks, answer: Answer[str]) -> Score:
    """Facts: `claims`, their number, and `supported`, the share of the checked ones that are."""
    score = _score(item, answer)
    if not found.checked:
        return score
    listed = {
        "claims": float(len(found.checked) + found.unchecked),
        "supported": sum(found.checked) / len(found.checked),
    }
    return replace(score, measurements={**score.measurements, **listed})


def _score(item: Item, answer: Answer[str]) -> Score:
    return score_label(item.id, item.cluster, item.target, answer, item.tags)


def claims_scorer(published: bool = False) -> TaskScorer:
    """Score the checks of claims that a reply lists: the summary hallucinates if a claim is not supported.

    Args:
        published: whether checks have the form that the paper's prompt fixes, and no other (`paper`).

    Returns:
        A scorer with the metrics of `verdict` for the labels Yes and No, and `claims`, the mean number of claims, and
        `supported`, the mean share of supported ones.
    """
    score = score_claims_published if published else score_claims
    labels = verdict_scorer("checked_claims", (YES, NO), pairs=KINDS)
    return TaskScorer(
        lambda item, reply, _: score(item, reply),
        (
            *labels.metrics,
            replace(mean("claims", "claims", "mean number of claims", higher_is_better=None), range=(0.0, math.inf)),
            mean("supported", "supported", "mean share of the claims that are supported", higher_is_better=None),
        ),
    )
