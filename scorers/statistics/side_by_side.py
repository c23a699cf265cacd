"""Metrics of two replies to each question, side by side: what both are, and the difference with its paired error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from halu_tasks.scorers.columns import TAG, Columns, Numbers
from halu_tasks.scorers.metrics import Estimate, Metric, estimate, estimate_of_sums, jackknife, jackknife_of_sums
from halu_tasks.scorers.statistics.differences import Difference, difference_of
from halu_tasks.scorers.statistics.jackknife import Sums


class SideBySide(NamedTuple):
    """A metric of some replies and of others to the same questions.

    Attributes:
        value: The metric of the first; None if it is undefined.
        other: The metric of the others; None if it is undefined.
        difference: The first minus the other, with the error of pairs: clusters are left out of both at once. None if
            either is undefined.
    """

    value: Estimate | None
    other: Estimate | None
    difference: Difference | None


class Pairs:
    """The scores of two replies to each question, of which only the sums are kept, part by part.

    Args:
        metrics: The metrics.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)
        self._sums: dict[str, list[Sums]] = {metric.name: [] for metric in self._metrics}
        self._columns: dict[str, list[tuple[Columns, Columns]]] = {metric.name: [] for metric in self._metrics}
        self._items = dict.fromkeys(self._sums, 0)

    def add(self, ones: Columns, others: Columns, item: Numbers) -> None:
        """Add the scores of whole clusters.

        Args:
            ones: The scores of N replies.
            others: The scores of the N others, in the same order and clusters.
            item: The number of each one's item, shape (N,).
        """
        for metric in self._metrics:
            flags = [ones[TAG + tag] == value for tag, value in metric.within]
            counted = np.all(flags, axis=0) if flags else np.ones(len(item), dtype=bool)
            self._items[metric.name] += len(np.unique(item[counted]))
            if not metric.has_sums:
                self._columns[metric.name].append((ones.only(metric.columns), others.only(metric.columns)))
                continue
            first, second = metric.sums_of_items(ones), metric.sums_of_items(others)
            assert isinstance(first, Sums) and isinstance(second, Sums)
            sums = [each.by_cluster(ones.cluster, ones.clusters) for each in (first, second)]
            both = (np.concatenate([getattr(each, name) for each in sums], axis=1) for name in ("terms", "classes"))
            self._sums[metric.name].append(Sums(*both).unique())

    def figures(self) -> dict[str, SideBySide]:
        """Compute the metrics that are defined for either, by name."""
        figures = {metric.name: self._figure(metric) for metric in self._metrics}
        return {name: figure for name, figure in figures.items() if figure and (figure.value or figure.other)}

    def _figure(self, metric: Metric) -> SideBySide | None:
        if sums := self._sums[metric.name]:
            terms, classes, multiplicity = (np.concatenate(each) for each in zip(*sums, strict=True))
            halves = zip(np.split(terms, 2, axis=1), np.split(classes, 2, axis=1), strict=True)
            one, other = (Sums(*half, multiplicity) for half in halves)
            values = estimate_of_sums(metric, one), estimate_of_sums(metric, other)
            without = jackknife_of_sums(metric, one), jackknife_of_sums(metric, other)
        elif columns := self._columns[metric.name]:
            ones, others = (Columns.joined(part) for part in zip(*columns, strict=True))
            values = estimate(metric, ones), estimate(metric, others)
            without = jackknife(metric, ones), jackknife(metric, others)
        else:
            return None
        return SideBySide(*values, difference_of(metric, *without, self._items[metric.name]))
