"""Agreement of raters (people, judges or models) on the labels of the same items.

Every value comes with the clustered jackknife error and 95% interval of `metrics.py`. A missing label is not a label:
two raters that give an item none do not agree on it. Shares and Cohen's kappa rest on the items that all of their
raters labelled, Fleiss' kappa on those with the most labels, Krippendorff's alpha on those with two labels or more.
Each figure therefore has its number of items.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.columns import Array
from halu_tasks.scorers.metrics import Estimate, Metric, estimate_of_sums, ratio
from halu_tasks.scorers.statistics.jackknife import SumFunction, Sums

Labels = Sequence[str | None]
"""One rater's labels of N items; None for an item without a label."""


def pairwise_agreement(raters: Sequence[Labels], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute the share (0 to 1) of pairs of raters that give an item the same label, averaged over items.

    Args:
        raters: R >= 2 sequences of N labels, all in the same order of items. Items without a label of one of the raters
            are left out.
        clusters: The clusters of the N items; by default, each item is a cluster.

    Returns:
        The estimate; None if there is no item that all raters labelled.
    """
    counts = _counts(raters, len(raters))
    pairs = len(raters) * (len(raters) - 1) * counts.any(axis=1)
    return _estimate([(counts**2 - counts).sum(axis=1), pairs], ratio, clusters, (0.0, 1.0))


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
    """
    counts = _counts([one, other], 2)
    complete = counts.any(axis=1)
    labels = sorted({label for label in (*one, *other) if label is not None})
    chosen = [np.array([mine == label for mine in rater]) & complete for label in labels for rater in (one, other)]
    terms = [complete, (counts == 2).any(axis=1), *chosen]
    return _estimate(terms, kappa_of_sums, clusters, (-1.0, 1.0), counts, [one, other])


def kappa_of_sums(sums: Array) -> Array:
    """Compute Cohen's kappa from numbers of items: all, those with agreement, and for each label each rater's."""
    n, agreed, *of_labels = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_chance = sum(one * other for one, other in zip(of_labels[::2], of_labels[1::2], strict=True)) / n**2
        return np.asarray(np.where(by_chance < 1 - 1e-12, (agreed / n - by_chance) / (1 - by_chance), np.nan))


def fleiss_kappa(raters: Sequence[Labels], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute Fleiss' kappa (1971) of items with equally many labels, by any raters, at most 1.

    It is (P - P_e) / (1 - P_e), where P is the share of equal pairs of labels of an item, and P_e the one expected by
    chance from the shares of labels.

    Args:
        raters: R >= 2 sequences of N labels, all in the same order of items; None for a missing label. Items with
            fewer labels than others are left out.
        clusters: The clusters of the N items; by default, each item is a cluster.

    Returns:
        The estimate; None if no item has two labels, or all labels are the same.
    """
    counts = _most_labelled(raters)
    most = counts.sum(axis=1).max(initial=2)
    pairs = (counts**2 - counts).sum(axis=1) / (most * (most - 1))

    def kappa(sums: Array) -> Array:
        items, equal, labels = sums[..., 0], sums[..., 1], sums[..., 2:]
        with np.errstate(divide="ignore", invalid="ignore"):
            by_chance = (labels**2).sum(axis=-1) / (items * most) ** 2
            return np.asarray(np.where(by_chance < 1 - 1e-12, (equal / items - by_chance) / (1 - by_chance), np.nan))

    return _estimate([counts.any(axis=1), pairs, *counts.T], kappa, clusters, (-1.0, 1.0), counts)


def krippendorff_alpha(raters: Sequence[Labels], clusters: Sequence[str] | None = None) -> Estimate | None:
    """Compute Krippendorff's alpha (2004) for nominal labels of any number of raters, at most 1.

    It is 1 - D_o / D_e, the observed disagreement relative to the one expected by chance. Raters may have labelled
    different items; an item with fewer than two labels does not count.

    Args:
        raters: R >= 2 sequences of N labels, all in the same order of items; None for a missing label.
        clusters: The clusters of the N items; by default, each item is a cluster.

    Returns:
        The estimate; None if no item has two labels, or all labels are the same.
    """
    return alpha_of_counts(_counts(raters, 2), clusters, raters)


def alpha_of_counts(
    counts: Array, clusters: Sequence[str] | None = None, raters: Sequence[Labels] = ()
) -> Estimate | None:
    """Compute Krippendorff's alpha as `krippendorff_alpha` does, from how often each item has each label.

    Args:
        counts: The counts, shape (N, L); at least two labels of each item, or none.
        clusters: The clusters of the items; by default, each item is a cluster.
        raters: Each rater's labels, if they are known.
    """
    label_counts = counts.sum(axis=1)
    # the pairs of different labels of an item, each counted 1 / (labels of the item - 1) times
    different = (label_counts**2 - (counts**2).sum(axis=1)) / np.maximum(label_counts - 1, 1)

    def alpha(sums: Array) -> Array:
        labels = sums[..., 1:]
        number = labels.sum(axis=-1)
        by_chance = number**2 - (labels**2).sum(axis=-1)
        return 1 - ratio(np.stack([(number - 1) * sums[..., 0], by_chance], axis=-1))

    return _estimate([different, *counts.T], alpha, clusters, (-1.0, 1.0), counts, raters)


def agreement(
    raters: Mapping[str, Labels], clusters: Sequence[str] | None = None
) -> dict[str, tuple[int, Estimate | None]]:
    """Compute all measures of agreement by name, each with the number of items that it rests on.

    These are `pairwise_agreement`, `krippendorff_alpha` and, if there are more than two, `fleiss_kappa` of all raters,
    and `agreement (a, b)` and `cohen_kappa (a, b)` of each pair.

    Args:
        raters: The labels of each rater by name, all in the same order of items.
        clusters: The clusters of the items; by default, each item is a cluster.
    """

    def items(raters: Sequence[Labels], fewest: int) -> int:
        return int(_counts(raters, fewest).any(axis=1).sum())

    everyone = list(raters.values())
    measures = {
        "pairwise_agreement": (items(everyone, len(everyone)), pairwise_agreement(everyone, clusters)),
        "krippendorff_alpha": (items(everyone, 2), krippendorff_alpha(everyone, clusters)),
    }
    if len(everyone) > 2:
        measures["fleiss_kappa"] = int(_most_labelled(everyone).any(axis=1).sum()), fleiss_kappa(everyone, clusters)
    for one, other in combinations(raters, 2):
        pair = (raters[one], raters[other])
        measures[f"agreement ({one}, {other})"] = items(pair, 2), pairwise_agreement(pair, clusters)
        measures[f"cohen_kappa ({one}, {other})"] = items(pair, 2), cohen_kappa(*pair, clusters)
    return measures


def _counts(raters: Sequence[Labels], fewest: int) -> Array:
    """Count how often each item has each label, shape (N, L); never, if it has fewer than `fewest` labels."""
    names = _columns(raters)
    counts = np.zeros((len(raters[0]), len(names)))
    for rater in raters:
        np.add.at(counts, (np.arange(len(rater)), np.array([names[label] for label in rater])), 1)
    if None in names:
        counts[:, names[None]] = 0
    counts[counts.sum(axis=1) < fewest] = 0
    return counts


def _most_labelled(raters: Sequence[Labels]) -> Array:
    counts = _counts(raters, 2)
    label_counts = counts.sum(axis=1)
    counts[label_counts < label_counts.max(initial=2)] = 0
    return counts


def _columns(raters: Sequence[Labels]) -> dict[str | None, int]:
    return {label: column for column, label in enumerate(dict.fromkeys(chain(*zip(*raters, strict=True))))}


def _estimate(
    terms: Sequence[npt.ArrayLike],
    value: SumFunction,
    clusters: Sequence[str] | None,
    bounds: tuple[float, float],
    counts: Array | None = None,
    raters: Sequence[Labels] = (),
) -> Estimate | None:
    """Estimate a value of sums of terms of the items.

    Args:
        terms: What each item adds to each sum.
        value: The function of the sums.
        clusters: The clusters of the items; None if each item is a cluster.
        bounds: The lowest and the highest possible value.
        counts: For a value that compares labels, how often each item has each of them. It is taken for a metric of two
            classes, the most common label and all others, and needs five clusters of each for an interval, from each
            of two raters, and an item with the same rare label twice. Otherwise, hardly anything varies whatever the
            raters would say of other items.
        raters: Each rater's labels, if they are known.
    """
    table = np.column_stack(terms).astype(np.float64)
    names: Sequence[Any] = range(len(table)) if clusters is None else clusters
    # an array of names, which may be whole texts, would take gigabytes where items are characters
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    cluster = np.array([numbers[name] for name in names], dtype=np.intp)
    classes, agree = np.zeros((len(table), 0), dtype=bool), True
    if counts is not None:
        most, label_counts = int(counts.sum(axis=0).argmax()), counts.sum(axis=1)
        flags = [(counts[:, most] > 0, label_counts > counts[:, most])]
        if raters:
            column = _columns(raters)
            codes = [np.array([-1 if label is None else column[label] for label in rater]) for rater in raters]
            of_raters = [
                ((code == most) & (label_counts > 0), (code >= 0) & (code != most) & (label_counts > 0))
                for code in codes
            ]
            flags = sorted(of_raters, key=lambda each: int(each[1].sum()))[-2:]
        classes = np.column_stack([flag for each in flags for flag in each])
        agree = bool((np.delete(counts, most, axis=1) > 1).any())
    metric = Metric("agreement", lambda columns: (), (), "sums", range=bounds, value=value)
    metric = metric if agree else replace(metric, has_interval=False)
    return estimate_of_sums(metric, Sums(table, classes).by_cluster(cluster, len(numbers)))
