"""Agreement of raters (people, judges or models) on the labels of the same items.

Every value comes with the clustered jackknife error and 95% interval of `metrics.py`. A missing label is not a label:
two raters that give an item none do not agree on it. Shares and kappas rest on the items that all of their raters
labelled, Krippendorff's alpha on those with two labels or more. Each figure therefore has its number of items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array
from halu_tasks.scorers.metrics import Estimate, jackknife, ratio
from halu_tasks.scorers.statistics.jackknife import Value

Labels = Sequence[str | None]
"""One rater's labels of N items; None for an item without a label."""

_MISSING = -1
"""The code of a missing label."""


class Measured(NamedTuple):
    """A measure of agreement.

    Attributes:
        items: The number of items that it rests on.
        estimate: The estimate; None if it is undefined.
    """

    items: int
    estimate: Estimate | None


def pairwise_agreement(raters: Sequence[Labels], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute the share (0 to 1) of pairs of raters that give an item the same label, averaged over items.

    Args:
        raters: R >= 2 sequences of N labels, all in the same order of items. Items without a label of one of the raters
            are left out.
        clusters: The clusters of the N items; by default, each item is a cluster.

    Returns:
        The estimate; None if there is no item that all raters labelled.

    Raises:
        ValueError: There are fewer than two raters or no items, or the sequences differ in length.
    """
    coded, names = _complete(_coded(raters), clusters)
    squares = (_counts(coded) ** 2).sum(axis=1)
    pairs = len(raters) * (len(raters) - 1)
    return _estimate(ratio, np.stack([squares - len(raters), np.full(len(coded), pairs)], axis=1), names, (0.0, 1.0))


def cohen_kappa(one: Labels, other: Labels, clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute Cohen's kappa (1960) of two raters, -1 to 1.

    It is (p_o - p_e) / (1 - p_e), where p_o is the observed agreement and p_e the one expected by chance from the two
    raters' own shares of labels.

    Args:
        one: The labels of one rater.
        other: The labels of the other rater, in the same order of items. Items without a label of either are left out.
        clusters: The clusters of the items; by default, each item is a cluster.

    Returns:
        The estimate; None if there is no item that both labelled, or both give every item one and the same label.

    Raises:
        ValueError: There are no items, or the sequences differ in length.
    """
    coded, names = _complete(_coded([one, other]), clusters)
    labels = int(coded.max(initial=0)) + 1
    cells = np.zeros((len(coded), labels, labels))
    cells[np.arange(len(coded)), coded[:, 0], coded[:, 1]] = 1

    def kappa(sums: Array) -> Array:
        table = sums.reshape(*sums.shape[:-1], labels, labels)
        n = table.sum(axis=(-2, -1))
        by_chance = _over((table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1), n**2)
        agreed = _over(np.trace(table, axis1=-2, axis2=-1), n)
        return _over(agreed - by_chance, np.where(by_chance < 1 - 1e-12, 1 - by_chance, 0.0))

    return _estimate(kappa, cells.reshape(len(coded), labels**2), names, (-1.0, 1.0), _counts(coded))


def krippendorff_alpha(raters: Sequence[Labels], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute Krippendorff's alpha (2004) for nominal labels of any number of raters, at most 1.

    It is 1 - D_o / D_e, the observed disagreement relative to the one expected by chance. Raters may have labelled
    different items; an item with fewer than two labels does not count.

    Args:
        raters: R >= 2 sequences of N labels, all in the same order of items; None for a missing label.
        clusters: The clusters of the N items; by default, each item is a cluster.

    Returns:
        The estimate; None if no item has two labels, or all labels are the same.

    Raises:
        ValueError: There are fewer than two raters or no items, or the sequences differ in length.
    """
    coded = _coded(raters)
    counts = _counts(coded)
    given = counts.sum(axis=1)
    counts[given < 2] = 0
    # the pairs of different labels of an item, each counted 1 / (labels of the item - 1) times
    different = np.where(given > 1, (given**2 - (counts**2).sum(axis=1)) / np.maximum(given - 1, 1), 0)

    def alpha(sums: Array) -> Array:
        labels = sums[..., 1:]
        number = labels.sum(axis=-1)
        by_chance = number**2 - (labels**2).sum(axis=-1)
        return 1 - _over((number - 1) * sums[..., 0], by_chance)

    return _estimate(alpha, np.column_stack([different, counts]), clusters, (-1.0, 1.0), counts)


def agreement(raters: Mapping[str, Labels], clusters: Sequence[str] | None = None) -> dict[str, Measured]:
    """Compute all measures of agreement by name.

    These are `pairwise_agreement` and `krippendorff_alpha` of all raters, and `agreement (a, b)` and
    `cohen_kappa (a, b)` of each pair.

    Args:
        raters: The labels of each rater by name, all in the same order of items.
        clusters: The clusters of the items; by default, each item is a cluster.

    Raises:
        ValueError: There are fewer than two raters or no items, or the sequences differ in length.
    """
    everyone = list(raters.values())
    given = _coded(everyone) != _MISSING
    complete = int(given.all(axis=1).sum())
    measures = {
        "pairwise_agreement": Measured(complete, pairwise_agreement(everyone, clusters)),
        "krippendorff_alpha": Measured(int((given.sum(axis=1) > 1).sum()), krippendorff_alpha(everyone, clusters)),
    }
    for (i, one), (j, other) in combinations(enumerate(raters), 2):
        both = int((given[:, i] & given[:, j]).sum())
        pair = raters[one], raters[other]
        measures[f"agreement ({one}, {other})"] = Measured(both, pairwise_agreement(pair, clusters))
        measures[f"cohen_kappa ({one}, {other})"] = Measured(both, cohen_kappa(*pair, clusters))
    return measures


def _coded(raters: Sequence[Labels]) -> npt.NDArray[np.int64]:
    """Encode the labels as integers from 0, and missing ones as `_MISSING`, shape (N, R)."""
    if len(raters) < 2:
        raise ValueError(f"expected two or more raters, got {len(raters)}")
    sizes = {len(labels) for labels in raters}
    if len(sizes) > 1 or not max(sizes):
        raise ValueError(f"every rater must label the same items, got {' and '.join(map(str, sorted(sizes)))} labels")
    codes: dict[str | None, int] = {None: _MISSING}
    rows = [[codes.setdefault(label, len(codes) - 1) for label in row] for row in zip(*raters, strict=True)]
    return np.array(rows)


def _complete(
    coded: npt.NDArray[np.int64], clusters: Sequence[str] | None
) -> tuple[npt.NDArray[np.int64], Sequence[str] | None]:
    """Select the items that all raters labelled, and their clusters."""
    _check_clusters(clusters, len(coded))
    kept = (coded != _MISSING).all(axis=1)
    names = None if clusters is None else [clusters[item] for item in np.flatnonzero(kept).tolist()]
    return coded[kept], names


def _check_clusters(clusters: Sequence[str] | None, items: int) -> None:
    if clusters is not None and len(clusters) != items:
        raise ValueError(f"expected the clusters of {items} items, got {len(clusters)}")


def _counts(coded: npt.NDArray[np.int64]) -> Array:
    """Count how often each item has each label, shape (N, L)."""
    codes = np.arange(int(coded.max(initial=0)) + 1)
    return np.asarray((coded[:, :, None] == codes).sum(axis=1), dtype=np.float64)


def _over(part: Array, whole: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(whole > 0, part / whole, np.nan))


def _estimate(
    value: Value,
    items: Array,
    clusters: Sequence[str] | None,
    bounds: tuple[float, float],
    labels: Array | None = None,
) -> Estimate | None:
    """Estimate the value of the sums of `items`, shape (N, K), with its clustered jackknife error.

    Args:
        value: The function that computes the value from sums.
        items: What each item adds to the sums.
        clusters: The clusters of the items; None if each item is a cluster.
        bounds: The lowest and the highest possible value.
        labels: For a value that compares labels, how often each item has each of them, shape (N, L). Like a metric of
            two classes, the most common label and all others, it needs five clusters of each for an interval.
    """
    _check_clusters(clusters, len(items))
    if not len(items):
        return None
    names = clusters if clusters is not None else range(len(items))
    _, number = np.unique(np.asarray(names), return_inverse=True)
    table = np.zeros((int(number.max()) + 1, items.shape[1]))
    np.add.at(table, number, items)
    if labels is None:
        return jackknife(value, items.sum(axis=0), table, bounds)
    common = int(labels.sum(axis=0).argmax())
    both = np.stack([labels[:, common], labels.sum(axis=1) - labels[:, common]], axis=1)
    classes = np.stack([np.bincount(number.ravel(), column) > 0 for column in both.T], axis=1)
    return jackknife(value, items.sum(axis=0), table, bounds, classes)
