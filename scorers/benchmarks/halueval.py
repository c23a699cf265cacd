"""HaluEval: scores of checked claims, and their metrics.

In `paper`, the check of a claim is read in the form that Factored Verification's prompt prescribes (section A.1.3), a
line "Supported: Yes" or "Supported: No".
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from halu_tasks.core.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.label_scorer import verdict_scorer
from halu_tasks.scorers.classification import score_label
from halu_tasks.scorers.metrics import mean
from halu_tasks.scorers.reading.claims import Checks, checks
from halu_tasks.scorers.reading.declining import declines
from halu_tasks.scorers.reading.questions import NO, YES
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import Score

CUE = "#Your Judgement#"
"""The heading of the judgement after a chain of thought."""
KINDS = ("right", "hallucinated")
"""The tags of the two summaries of a row, with which the ids of their items end."""


def claims_verdict(reply: str) -> Answer[str]:
    """Read whether a summary hallucinates according to the checks of claims that a reply lists."""
    return _verdict(checks(reply), reply)


def _verdict(checks: Checks, reply: str = "") -> Answer[str]:
    """Combine the checks of claims into a verdict on the summary.

    One unsupported claim makes the summary hallucinated, since the product of probabilities that are 0 or 1 is then 0
    (Factored Verification, section 2.2). It is right only if all claims have been checked.
    """
    if not checks.checked:
        declined = declines(reply)
        return Answer(None, "declines" if declined else checks.reason, declined)
    if not all(checks.checked):
        return Answer(YES)
    if checks.unchecked:
        return Answer(None, f"{checks.unchecked} claims without a check")
    return Answer(NO)


def score_claims(item: Item, reply: str) -> Score:
    """Score the checks of claims that a reply lists."""
    listed = checks(reply)
    return _score_checks(item, listed, _verdict(listed, reply))


def score_claims_published(item: Item, reply: str) -> Score:
    """Score checks of claims that have the form prescribed by the paper's prompt, and no others (`paper`)."""
    supported = [check == YES for check in _SUPPORTED.findall(reply)]
    listed = Checks(supported, reason="" if supported else "no claim with a check")
    return _score_checks(item, listed, _verdict(listed))


_SUPPORTED = re.compile(r"^Supported: (Yes|No)\b", re.MULTILINE)


def _score_checks(item: Item, checks: Checks, answer: Answer[str]) -> Score:
    """Score the verdict, and measure the number of `claims` and the share of checked claims that are `supported`."""
    score = score_label(item.id, item.cluster, item.target, answer, item.tags)
    if not checks.checked:
        return score
    measurements = {
        "claims": float(len(checks.checked) + checks.unchecked),
        "supported": sum(checks.checked) / len(checks.checked),
    }
    return replace(score, measurements={**score.measurements, **measurements})


def claims_scorer(published: bool = False) -> TaskScorer:
    """Score the checks of claims that a reply lists; a summary hallucinates if one of its claims is not supported.

    Args:
        published: Whether checks must have the form prescribed by the paper's prompt (`paper`).

    Returns:
        A scorer with the metrics of `verdict` for the labels Yes and No, the mean number of `claims`, and the mean
        share (0 to 1) of claims that are `supported`.
    """
    score = score_claims_published if published else score_claims
    labels = verdict_scorer("checked_claims", (YES, NO), pairs=KINDS)
    return TaskScorer(
        lambda item, reply, _: score(item, reply),
        (
            *labels.metrics,
            mean("claims", "claims", "mean number of claims", higher_is_better=None, range=(0.0, math.inf)),
            mean("supported", "supported", "mean share of the claims that are supported", higher_is_better=None),
        ),
    )
