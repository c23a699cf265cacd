"""Metrics of the opinions that a method weighs before it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from halu_tasks.scorers.metrics import Estimate, estimates, mean
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.agreement import cohen_kappa, pairwise_agreement

Opinions = Mapping[str, str | None]
"""The label given by each role for one item; None if it gave none."""

NO_LABEL = "unparsed"
"""What counts as the label of a role that gave none."""
FLIPS = {
    "kept_right": (True, True),
    "kept_wrong": (False, False),
    "flipped_to_right": (False, True),
    "flipped_to_wrong": (True, False),
}
"""Whether a role's label and the answer are right."""


def opinion_figures(scores: Sequence[Score], opinions: Sequence[Opinions | None]) -> dict[str, Estimate]:
    """Compute the metrics of the opinions behind N answers, each with its clustered error.

    All except kappa are 0 to 1:

    - `acc_ROLE`, the share of items for which the role's label is right; a missing label is wrong;
    - `unparsed_ROLE`, the share of items for which the role gave no label;
    - `agreement` of the roles and, for two roles and if it is defined, their `cohen_kappa`; a missing label counts as
      one more label;
    - `kept_right_ROLE`, `kept_wrong_ROLE`, `flipped_to_right_ROLE` and `flipped_to_wrong_ROLE`, which compare the
      role's label with the answer, as shares of all items.

    Args:
        scores: The scores of the answers.
        opinions: The opinions behind each answer, of two or more roles, the same for all; None for a method that was
            stopped before it had any, which counts as a missing label of each role.

    Returns:
        The estimates by name; empty if there are no opinions at all.

    Raises:
        ValueError: The sequences differ in length, or the opinions in their roles.
    """
    roles = next((list(by_role) for by_role in opinions if by_role is not None), None)
    if roles is None:
        return {}
    if any(by_role is not None and set(by_role) != set(roles) for by_role in opinions):
        raise ValueError("opinions are not all of the same roles")
    filled: list[Opinions] = [by_role or dict.fromkeys(roles) for by_role in opinions]
    measured = [replace(score, measurements=_measure(score, each)) for score, each in zip(scores, filled, strict=True)]
    figures = estimates(
        (mean(f"{name}_{role}", f"{name}_{role}") for name in ("acc", "unparsed") for role in roles), measured
    )
    labels = [[by_role[role] or NO_LABEL for by_role in filled] for role in roles]
    clusters = [score.cluster for score in scores]
    if share := pairwise_agreement(labels, clusters):
        figures["agreement"] = share
    if len(roles) == 2 and (kappa := cohen_kappa(labels[0], labels[1], clusters)):
        figures["cohen_kappa"] = kappa
    flips = (mean(f"{flip}_{role}", f"{flip}_{role}") for role in roles for flip in FLIPS)
    return figures | estimates(flips, measured)


def _measure(score: Score, opinions: Opinions) -> dict[str, float]:
    """Return the measurements of one item's opinions, 0 or 1 each."""
    answer, target = (value if isinstance(value, str) else None for value in (score.answer, score.target))
    assert target is not None  # opinions are labels
    measurements: dict[str, float] = {}
    for role, label in opinions.items():
        measurements |= {f"acc_{role}": float(label == target), f"unparsed_{role}": float(label is None)}
        right = label == target, answer == target
        measurements |= {f"{flip}_{role}": float(right == both) for flip, both in FLIPS.items()}
    return measurements
