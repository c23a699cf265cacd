"""Opinions of the roles of a method before its answer, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halu_tasks.scorers.metrics import Estimate, estimates, mean
from halu_tasks.scorers.score import Opinions, ScoredReply
from halu_tasks.scorers.statistics.agreement import pairwise_agreement


def opinion_figures(scores: Sequence[ScoredReply], opinions: Sequence[Opinions | None]) -> dict[str, Estimate]:
    """Compute the metrics of the opinions behind N answers, each with its clustered error.

    All are 0 to 1:

    - `acc_ROLE`, the share of items for which the role's label is right; a missing label is wrong;
    - `unparsed_ROLE`, the share of items for which the role gave no label;
    - `agreement` of the roles; a missing label counts as one more label.

    Args:
        scores: The scores of the answers.
        opinions: The opinions behind each answer, of two or more roles, the same for all; None for a method that was
            stopped before it had any, which counts as a missing label of each role.

    Returns:
        The estimates by name; empty if there are no opinions at all.
    """
    roles = next((list(by_role) for by_role in opinions if by_role is not None), None)
    if roles is None:
        return {}
    filled: list[Opinions] = [by_role or dict.fromkeys(roles) for by_role in opinions]
    measured = [replace(score, facts=_measure(score, each)) for score, each in zip(scores, filled, strict=True)]
    names = [f"{name}_{role}" for name in ("acc", "unparsed") for role in roles]
    figures = estimates((mean(name, name) for name in names), measured)
    labels = [[by_role[role] or "unparsed" for by_role in filled] for role in roles]
    clusters = [score.cluster for score in scores]
    if share := pairwise_agreement(labels, clusters):
        figures["agreement"] = share
    return figures


def _measure(score: ScoredReply, opinions: Opinions) -> dict[str, float]:
    measurements: dict[str, float] = {}
    for role, label in opinions.items():
        measurements |= {f"acc_{role}": float(label == score.target), f"unparsed_{role}": float(label is None)}
    return measurements
