"""Rates of a build with 95% intervals, for which documents are clusters: items of one document are similar."""

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.metrics import Estimate, estimate_of_sums, micro
from halu_tasks.scorers.statistics.jackknife import Sums

OVERALL, KEPT = "overall", "kept"
"""Names of rates besides those of the checks: drafts that passed every check, and drafts that became an item."""
_RATIO = micro("rate", "part", "whole")


class Rate(NamedTuple):
    """The pass rate of a check: drafts that passed it, drafts it was run on, and the share with its interval."""

    passed: int
    of: int
    share: Estimate


class PassCounts:
    """For each rate, and each document, the number of drafts that passed and the number that were checked."""

    def __init__(self) -> None:
        self._counts: dict[str, array[int]] = {}

    def add(self, document: Mapping[str, Sequence[int]]) -> None:
        """Add the two numbers of a document by the name of the rate."""
        for name, passed_and_checked in document.items():
            self._counts.setdefault(name, array("q")).extend(passed_and_checked)

    def rates(self, checks: Sequence[str]) -> dict[str, Rate]:
        """Return the rates of the checks, `overall` and `kept`; those without drafts are left out."""
        rates = {}
        for name in (*checks, OVERALL, KEPT):
            table = np.array(self._counts.get(name, ()), dtype=np.float64).reshape(-1, 2)
            if share := _ratio(table):
                passed, checked = table.sum(axis=0)
                rates[name] = Rate(int(passed), int(checked), share)
        return rates


def clustered_mean(values: Sequence[float], documents: Sequence[str]) -> Estimate | None:
    """Return the mean of N values of the N `documents`, rounded to four decimals; None if there are none."""
    numbers: dict[str, int] = {}
    cluster = [numbers.setdefault(document, len(numbers)) for document in documents]
    return rounded(_ratio(np.column_stack([np.bincount(cluster, values), np.bincount(cluster)])) if cluster else None)


def rounded(figure: Estimate | None) -> Estimate | None:
    """Round a figure to four decimals, which are the same on every machine."""
    return figure and Estimate(*(None if each is None else round(each, 4) for each in figure))  # type: ignore[arg-type]


def _ratio(table: npt.NDArray[np.float64]) -> Estimate | None:
    """Return the ratio of the sums of two columns; each row is a document."""
    return estimate_of_sums(_RATIO, Sums(table, np.zeros((len(table), 0), dtype=bool))) if len(table) else None
