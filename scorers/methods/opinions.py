"""Opinions that a method weighed before its answer: how good each was, how they agree, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from halu_tasks.scorers.metrics import Estimate, estimates, mean
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.agreement import cohen_kappa, pairwise_agreement
from halu_tasks.scorers.statistics.paired import flip_table

Opinions = Mapping[str, str | None]
"""The label of each role for one item; None where it gave none."""

FLIPS = ("kept_right", "kept_wrong", "flipped_to_right", "flipped_to_wrong")


def opinion_figures(scores: Sequence[Score], opinions: Sequence[Opinions | None]) -> dict[str, Estimate]:
    """Figures of the opinions behind N answers, each with its clustered error:

    - `acc_ROLE`: share of items of which the role's label is the right one; no label is wrong;
    - `unparsed_ROLE`: share of items for which the role gave no label;
    - `agreement`, `cohen_kappa` of the roles, the latter for two of them and where it is defined; no label is a label
      of its own;
    - `kept_right_ROLE`, `kept_wrong_ROLE`, `flipped_to_right_ROLE`, `flipped_to_wrong_ROLE`: what the answer made of
      the role's label, as shares of all items.

    Empty where there are no opinions at all.

    Args:
        scores: of the answers.
        opinions: behind each, all of the same roles, two or more; None where a method was stopped before it had any,
            which counts as no label of each role.

    Raises:
        ValueError: sequences of different lengths, or opinions of different roles.
    """
    roles = next((list(own) for own in opinions if own is not None), None)
    if roles is None:
        return {}
    if any(own is not None and set(own) != set(roles) for own in opinions):
        raise ValueError("opinions are not all of the same roles")
    known: list[Opinions] = [own or dict.fromkeys(roles) for own in opinions]
    told = [replace(score, measurements=_facts(score, own)) for score, own in zip(scores, known, strict=True)]
    by_role = (mean(f"{name}_{role}", f"{name}_{role}") for name in ("acc", "unparsed") for role in roles)
    found = estimates(by_role, told)
    labels = [[own[role] for own in known] for role in roles]
    clusters = [score.cluster for score in scores]
    found["agreement"] = pairwise_agreement(labels, clusters)
    if len(roles) == 2 and (kappa := cohen_kappa(labels[0], labels[1], clusters)):
        found["cohen_kappa"] = kappa
    return found | estimates((mean(f"{flip}_{role}", f"{flip}_{role}") for role in roles for flip in FLIPS), told)


def _facts(score: Score, opinions: Opinions) -> dict[str, float]:
    """What happened to one item, 0 or 1 each."""
    answer, target = (value if isinstance(value, str) else None for value in (score.answer, score.target))
    assert target is not None  # opinions are labels
    found: dict[str, float] = {}
    for role, label in opinions.items():
        found |= {f"acc_{role}": float(label == target), f"unparsed_{role}": float(label is None)}
        flips = flip_table([label], [answer], [target])
        found |= {f"{flip}_{role}": float(flips[flip]) for flip in FLIPS}
    return found
