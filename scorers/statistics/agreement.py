"""Agreement of raters (people, judges or models) on the labels of the same items.

Every value comes with the clustered jackknife error and 95% interval of `metrics.py`. A missing label counts as one
more label, since leaving such items out would favour raters that often give none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

import krippendorff
import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.classification import UNPARSED
from halu_tasks.scorers.metrics import Array, Estimate, Value, jackknife

Labels = Sequence[str | None]
"""One rater's labels of N items; None for an item without a label."""


def pairwise_agreement(raters: Sequence[Labels], clusters: Sequence[str] | None = None) -> Estimate:
    """Compute the share (0 to 1) of pairs of raters that give an item the same label, averaged over items.

    Args:
        raters: R >= 2 sequences of N labels, all in the same order of items.
        clusters: The clusters of the N items; by default, each item is a cluster.

    Raises:
        ValueError: There are fewer than two raters or no items, or the sequences differ in length.
    """
    table = _counts(_coded(raters))
    share = _estimate(partial(_agreed, raters=len(raters)), table, clusters, (0.0, 1.0))
    assert share  # a share of pairs is defined for any labels
    return share


def cohen_kappa(one: Labels, other: Labels, clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute Cohen's kappa (1960) of two raters, -1 to 1.

    It is (p_o - p_e) / (1 - p_e), where p_o is the observed agreement and p_e the one expected by chance from the two
    raters' own shares of labels.

    Args:
        one: The labels of one rater.
        other: The labels of the other rater, in the same order of items.
        clusters: The clusters of the items; by default, each item is a cluster.

    Returns:
        The estimate; None if both raters give every item one and the same label.

    Raises:
        ValueError: There are no items, or the sequences differ in length.
    """
    coded = _coded([one, other])
    labels = int(coded.max()) + 1
    cells = np.zeros((len(coded), labels, labels))
    cells[np.arange(len(coded)), coded[:, 0], coded[:, 1]] = 1

    def kappa(sums: Array) -> Array:
        table = sums.reshape(*sums.shape[:-1], labels, labels)
        n = table.sum(axis=(-2, -1))
        by_chance = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1)
        return _beyond_chance(_over(np.trace(table, axis1=-2, axis2=-1), n), _over(by_chance, n**2))

    return _estimate(kappa, cells.reshape(len(coded), -1), clusters, (-1.0, 1.0), _counts(coded)[:, 2:])


def fleiss_kappa(raters: Sequence[Labels], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute Fleiss' kappa (1971) of any number of raters, at most 1.

    It is computed like Cohen's, with the agreement by chance from the pooled shares of labels.

    Args:
        raters: R >= 2 sequences of N labels, all in the same order of items.
        clusters: The clusters of the N items; by default, each item is a cluster.

    Returns:
        The estimate; None if all raters give every item one and the same label.

    Raises:
        ValueError: There are fewer than two raters or no items, or the sequences differ in length.
    """

    def kappa(sums: Array) -> Array:
        labels = sums[..., 2:]
        shares = _over(labels, labels.sum(axis=-1, keepdims=True))
        return _beyond_chance(_agreed(sums, len(raters)), (shares**2).sum(axis=-1))

    counts = _counts(_coded(raters))
    return _estimate(kappa, counts, clusters, (-1.0, 1.0), counts[:, 2:])


def krippendorff_alpha(raters: Sequence[Labels], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute Krippendorff's alpha (2004) for nominal labels of any number of raters, at most 1.

    It is 1 - D_o / D_e, the observed disagreement relative to the one expected by chance. Unlike in the other measures,
    a missing label is not a label: raters may have labelled different items, and an item with fewer than two labels
    does not count.

    Args:
        raters: R >= 2 sequences of N labels, all in the same order of items; None for a missing label.
        clusters: The clusters of the N items; by default, each item is a cluster.

    Returns:
        The estimate; None if no item has two labels, or all labels are the same.

    Raises:
        ValueError: There are fewer than two raters or no items, or the sequences differ in length.
    """
    coded = _coded(raters)
    missing = np.array([[label is None for label in row] for row in zip(*raters, strict=True)])
    counts = np.stack([((coded == code) & ~missing).sum(axis=1) for code in range(int(coded.max()) + 1)], axis=1)
    # alpha depends only on how often each combination of label counts occurs
    kinds, number = np.unique(counts, axis=0, return_inverse=True)
    occurrences = np.eye(len(kinds))[number.reshape(-1)]

    def alpha(sums: Array) -> Array:
        rows = np.atleast_2d(sums).round().astype(int)
        values = np.array([_alpha(np.repeat(kinds, row, axis=0)) for row in rows])
        return values if sums.ndim > 1 else values[0]

    pairable = counts.sum(axis=1, keepdims=True) > 1
    return _estimate(alpha, occurrences, clusters, (-1.0, 1.0), counts * pairable)


def agreement(raters: Mapping[str, Labels], clusters: Sequence[str] | None = None) -> dict[str, Estimate]:
    """Compute all measures of agreement by name.

    These are `pairwise_agreement` and `fleiss_kappa` of all raters, and `agreement (a, b)` and `cohen_kappa (a, b)` of
    each pair. A kappa that is undefined is left out.

    Args:
        raters: The labels of each rater by name, all in the same order of items.
        clusters: The clusters of the items; by default, each item is a cluster.

    Raises:
        ValueError: There are fewer than two raters or no items, or the sequences differ in length.
    """
    everyone = list(raters.values())
    measures: dict[str, Estimate | None] = {
        "pairwise_agreement": pairwise_agreement(everyone, clusters),
        "fleiss_kappa": fleiss_kappa(everyone, clusters),
    }
    for one, other in combinations(raters, 2):
        measures[f"agreement ({one}, {other})"] = pairwise_agreement([raters[one], raters[other]], clusters)
        measures[f"cohen_kappa ({one}, {other})"] = cohen_kappa(raters[one], raters[other], clusters)
    return {name: value for name, value in measures.items() if value is not None}


def _coded(raters: Sequence[Labels]) -> npt.NDArray[np.int64]:
    """Encode the labels as integers from 0, shape (N, R)."""
    if len(raters) < 2:
        raise ValueError(f"expected two or more raters, got {len(raters)}")
    sizes = {len(labels) for labels in raters}
    if len(sizes) > 1 or not max(sizes):
        raise ValueError(f"every rater must label the same items, got {' and '.join(map(str, sorted(sizes)))} labels")
    codes: dict[str, int] = {}
    named = [[UNPARSED if label is None else label for label in labels] for labels in raters]
    rows = [[codes.setdefault(label, len(codes)) for label in row] for row in zip(*named, strict=True)]
    return np.array(rows)


def _counts(coded: npt.NDArray[np.int64]) -> Array:
    """Compute for each item 1, the sum of its squared label counts, and its label counts; shape (N, 2 + labels)."""
    counts = np.stack([(coded == code).sum(axis=1) for code in range(int(coded.max()) + 1)], axis=1)
    return np.column_stack([np.ones(len(counts)), (counts**2).sum(axis=1), counts]).astype(np.float64)


def _alpha(counts: npt.NDArray[np.int64]) -> float:
    """Compute Krippendorff's alpha of label counts, shape (N, labels); NaN if it is undefined."""
    pairable = counts[counts.sum(axis=1) > 1]
    if (pairable.sum(axis=0) > 0).sum() < 2:
        return float("nan")
    return float(krippendorff.alpha(value_counts=pairable, level_of_measurement="nominal"))


def _agreed(sums: Array, raters: int) -> Array:
    return _over(sums[..., 1] - sums[..., 0] * raters, sums[..., 0] * raters * (raters - 1))


def _beyond_chance(agreed: Array, by_chance: Array) -> Array:
    return _over(agreed - by_chance, np.where(by_chance < 1 - 1e-12, 1 - by_chance, 0.0))


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
    names = clusters if clusters is not None else range(len(items))
    if len(names) != len(items):
        raise ValueError(f"expected the clusters of {len(items)} items, got {len(names)}")
    _, number = np.unique(np.asarray(names), return_inverse=True)
    table = np.zeros((int(number.max()) + 1, items.shape[1]))
    np.add.at(table, number, items)
    if labels is None:
        return jackknife(value, items.sum(axis=0), table, bounds)
    common = int(labels.sum(axis=0).argmax())
    both = np.stack([labels[:, common], labels.sum(axis=1) - labels[:, common]], axis=1)
    classes = np.stack([np.bincount(number.ravel(), column) > 0 for column in both.T], axis=1)
    return jackknife(value, items.sum(axis=0), table, bounds, classes, averaged=True)
