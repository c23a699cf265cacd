"""Metrics: functions of columns, each with a clustered standard error and a 95% interval.

A metric is a function whose parameters name columns (`columns.Columns`). It returns one of three things (`Form`):

    @metric(about="share of items answered with the target")
    def acc(correct):
        return correct  # a number for each item: its mean over the items that have one (are not NaN)

    @metric(about="share of the returned characters that are gold")
    def char_precision(shared_chars, predicted_chars):
        return shared_chars, predicted_chars  # the ratio of their sums, or another `value` of them

    @metric
    def median_length(text_chars):
        "Median length of a text."  # `about`, but python -OO drops docstrings
        return np.median(text_chars)  # the metric itself

The error comes from leaving out one cluster at a time (`statistics.jackknife`), and
the interval from the error (`statistics.intervals`). Sums over items are exact: they do not depend on the order of
items, nor on how these are divided among processes, and do not need all items in memory. A metric that is returned
itself does.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, wraps
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.answer import ABSTAINED, EMPTY, INFERRED, REQUEST_FAILED, UNPARSED, Outcome
from halu_tasks.scorers.columns import TAG, Array, Columns, Numbers, by_cluster
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.intervals import FEWEST, exact_interval, mean_interval
from halu_tasks.scorers.statistics.jackknife import (
    ErrorBasis,
    Flags,
    Jackknife,
    Stratum,
    SumFunction,
    Sums,
    leave_out,
    leave_out_items,
    reach_of_strata,
)

logger = logging.getLogger(__name__)
_T = TypeVar("_T")
Terms = Any
"""What the function of a metric returns; `Form` lists the types."""
Form = Literal["mean", "sums", "figure"]
"""What the function of a metric returns.

- `mean`: an array with a number for each item, of which the metric is the mean;
- `sums`: a tuple of such arrays, of whose sums the metric is a function;
- `figure`: the metric itself, a number.
"""
# a bias up to this is a rounding error
_ROUNDING = 1e-9


class Estimate(NamedTuple):
    """A metric's value with its error.

    Attributes:
        value: The value, in the metric's unit.
        stderr: The clustered standard error; None, as are `low` and `high`, if it cannot be estimated: fewer than two
            clusters contribute, a class has items in fewer than five, the value is undefined without one of them, or
            the metric has no error (`Metric.has_interval`).
        low: The lower end of the 95% interval.
        high: The upper end of the 95% interval.
    """

    value: float
    stderr: float | None
    low: float | None
    high: float | None


def ratio(sums: Array) -> Array:
    """Divide the first sum by the second; NaN where the second is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan))


_OF_STRATUM = 4
"""The number of sums of a stratum."""


class Strata(NamedTuple):
    """Parts of the items, in each of which some have labels, as a metric sums them up.

    Its first sums are four of each stratum: the number of items, their values by the judge, the number of those with
    labels, and the values of these by the labels. Items of several verdicts count as often as they have one.

    Attributes:
        number: The number of strata.
        bounds: The lowest and the highest value of an item.
        is_linear: Whether the metric is linear in the means of the strata; of another, intervals of means are wider,
            as only one at a time is taken to be at its end.
    """

    number: int
    bounds: tuple[float, float]
    is_linear: bool = True

    def by_labels(self, sums: Array) -> tuple[Array, Array, Array]:
        """Compute the sum of the values of all items of each stratum, if those with labels are like the others.

        Args:
            sums: The sums of the metric, shape (…, K).

        Returns:
            The number of items, the sum of their values by the judge, and that by the labels, shape (…, S) each. The
            last one is that by the judge in a stratum without labels, and NaN if no stratum has any.
        """
        strata = sums[..., : _OF_STRATUM * self.number].reshape(*sums.shape[:-1], self.number, _OF_STRATUM)
        items, by_judge, labelled, by_people = np.moveaxis(strata, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_labels = np.where(labelled > 0, items * (by_people / labelled), by_judge)
        return items, by_judge, np.where((labelled > 0).any(axis=-1, keepdims=True), by_labels, np.nan)


@dataclass(frozen=True)
class Metric:
    """A named metric; `metric` makes one of a function.

    Attributes:
        name: The name under which the metric is reported.
        terms: The metric's function, of all columns.
        inputs: The names of the columns that `terms` and `classes` read.
        form: What `terms` returns; None to find out by calling it with columns of no items.
        about: One line that explains the metric in listings.
        higher_is_better: Whether higher values are better; None if neither direction is (a bias, a count).
        range: The lowest and the highest possible value; the highest may be infinite.
        value: Computes the metric from sums of shape (…, K), if the function returns what is summed up; of an average
            over classes, the figure of each (`jackknife.SumFunction`), whose intervals give that of their mean.
        requires_option: The option without which the metric is undefined, if any.
        within: Tags with their values, if the metric is computed only over the items with all of them.
        classes: For a metric that compares or averages classes, the function of columns that says for each class which
            items are of it. An interval needs five clusters of each class.
        strata: For a metric that rests on the labelled items of several strata, what its first sums are of
            (`Strata`). The interval then reaches as far as those of the strata allow.
        bounds: Computes from the sums over all items, shape (K,), the lowest and the highest value that `value` can
            have, if it is cut at the ends of `range` afterwards; None if the sums are not enough for an error.
        has_interval: Whether the clusters give an error; not if the metric does not vary between them, or if chance
            biases it, as it does a sum of absolute differences.
        members: The metrics whose mean this one is (`mean_of`).
    """

    name: str
    terms: Callable[[Columns], Terms]
    inputs: tuple[str, ...]
    form: Form | None = None
    about: str = ""
    higher_is_better: bool | None = True
    range: tuple[float, float] = (0.0, 1.0)
    value: SumFunction = ratio
    requires_option: str | None = None
    within: tuple[tuple[str, str], ...] = ()
    classes: Callable[[Columns], Sequence[npt.ArrayLike]] = lambda columns: ()
    strata: Strata | None = None
    bounds: Callable[[Array], tuple[float, float] | None] | None = None
    has_interval: bool = True
    members: tuple[Metric, ...] = ()

    def only(self, tag: str, value: str, name: str) -> Metric:
        """Restrict the metric to the items whose `tag` is `value`, under a new name."""
        about = f"{self.about} ({tag}: {value})"
        return replace(self, name=name, within=((tag, value), *self.within), about=about)

    @property
    def item(self) -> Callable[[ScoredReply], float] | None:
        """The function that computes the metric of a single item; None if it is no mean over items."""
        if self._form != "mean":
            return None
        return lambda score: float(self.terms(Columns.of([score]))[0])

    def of_items(self, columns: Columns) -> list[float]:
        """Compute the metric of each item, as `item` does; NaN if it is no mean over items."""
        if not (item := self.item):
            return [math.nan] * len(columns)
        if self.needs_ids or "score" in self.columns:  # another item may change it
            return list(map(item, columns["score"]))
        with np.errstate(all="ignore"):
            return [float(number) for number in self.terms(columns)]

    @property
    def has_sums(self) -> bool:
        """Whether the metric is computed from sums over items, which need not be in memory at the same time."""
        return self._form != "figure"

    @property
    def columns(self) -> set[str]:
        """The names of the columns that the metric reads, including the tags of `within`."""
        return {*self.inputs, *(TAG + tag for tag, _ in self.within)}

    def error_basis(self, total: Array, clusters: int, of_classes: Numbers) -> ErrorBasis | None:
        """Find what the error rests on (`jackknife.FindBasis`)."""
        bounds = self.bounds(total) if self.bounds else self.range
        number, fewest = (float(of_classes.min()), FEWEST) if len(of_classes) else (float(clusters), 2)
        return ErrorBasis(number, bounds) if bounds and number >= fewest else None

    @property
    def place(self) -> str:
        """Where the function of the metric is defined, as `file:line`."""
        code = inspect.unwrap(self.terms).__code__
        return f"{Path(code.co_filename).name}:{code.co_firstlineno}"

    @property
    def tags(self) -> set[str]:
        """The tags that the metric reads."""
        return {name.removeprefix(TAG) for name in self.columns if name.startswith(TAG)}

    @property
    def needs_ids(self) -> bool:
        """Whether the metric relates items by their ids."""
        return not {"row", "part"}.isdisjoint(self.columns)

    @cached_property
    def _form(self) -> Form:
        if self.form:
            return self.form
        with np.errstate(all="ignore"):
            terms = self.terms(Columns.of([]))
        return "sums" if isinstance(terms, tuple) else "mean" if np.ndim(terms) else "figure"

    def counted(self, columns: Columns) -> Columns:
        """Select the items that the metric is over."""
        return columns.where(self._has_tags(columns)) if self.within else columns

    def _has_tags(self, columns: Columns) -> Flags:
        return np.asarray(np.all([columns[TAG + tag] == value for tag, value in self.within], axis=0), dtype=bool)

    def sums_of_items(self, columns: Columns) -> Sums | float:
        """Compute what each item adds to the sums of the metric; or the metric, if its function does so itself."""
        counted = self.counted(columns)
        with np.errstate(all="ignore"):
            terms = self.terms(counted)
        if not isinstance(terms, tuple):
            if np.ndim(terms) == 0:
                return float(terms)
            numbers = np.asarray(terms, dtype=np.float64)
            terms = numbers, ~np.isnan(numbers)
        nothing = np.zeros(len(counted))
        table = np.nan_to_num(np.stack([nothing + np.asarray(each, dtype=np.float64) for each in terms], axis=1))
        sums = Sums(table, self.of_classes(counted))
        # items without the tags add nothing
        return sums.scatter(self._has_tags(columns)) if self.within else sums

    def of_classes(self, counted: Columns) -> Flags:
        """Return whether each item is of each class that the metric compares, shape (N, L)."""
        flags = [np.broadcast_to(np.asarray(flag, dtype=bool), len(counted)) for flag in self.classes(counted)]
        return np.array(flags, dtype=bool).reshape(len(flags), len(counted)).T


@overload
def metric(function: Callable[..., Terms], /, **properties: Any) -> Metric: ...


@overload
def metric(function: None = None, /, **properties: Any) -> Callable[[Callable[..., Terms]], Metric]: ...


def metric(
    function: Callable[..., Terms] | None = None, /, **properties: Any
) -> Metric | Callable[[Callable[..., Terms]], Metric]:
    """Make a metric of a function of columns, which its parameters name.

    Args:
        function: The function; its name is the metric's, and the first line of its docstring is `about` by default.
        **properties: Attributes of `Metric`; the parameters of `classes` name columns, too. A function whose form is
            not given must accept columns of no items.
    """

    def decorate(function: Callable[..., Terms]) -> Metric:
        defaults = {"name": function.__name__, "about": _summary(function)}
        inputs, of_classes = parameters(function), {}
        if "classes" in properties:
            inputs += parameters(properties["classes"])
            of_classes = {"classes": of_columns(properties["classes"])}
        return Metric(terms=of_columns(function), inputs=inputs, **defaults | properties | of_classes)

    return decorate if function is None else decorate(function)


def _summary(function: Callable[..., object]) -> str:
    about = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
    return about[:1].lower() + about[1:] if about[1:2].islower() else about


def of_columns(function: Callable[..., _T]) -> Callable[[Columns], _T]:
    """Make a function of columns from one whose parameters name them."""
    names = parameters(function)

    # a function and no object that is called: lm-eval copies what a task file names, and copies must be equal
    @wraps(function)
    def read(columns: Columns) -> _T:
        return function(*(columns[name] for name in names))

    return read


def parameters(function: Callable[..., object]) -> tuple[str, ...]:
    """List the names of a function's parameters."""
    return tuple(inspect.signature(function).parameters)


# --- estimates -----------------------------------------------------------------------------------------


def estimate(metric: Metric, columns: Columns, *, interval: bool = True) -> Estimate | None:
    """Estimate a metric; None if it is undefined.

    Args:
        metric: The metric.
        columns: The scores (see `by_cluster`).
        interval: Whether its interval is needed; it takes most of the time.
    """
    return _estimate(metric, jackknife(metric, columns), interval=interval) if len(columns) else None


def estimates(metrics: Iterable[Metric], scores: Iterable[ScoredReply]) -> dict[str, Estimate]:
    """Estimate metrics by name, in the given order; those that are undefined are left out."""
    columns = by_cluster(scores)
    return {metric.name: value for metric in metrics if (value := estimate(metric, columns)) is not None}


def estimate_of_sums(metric: Metric, sums: Sums) -> Estimate | None:
    """Estimate a metric from what clusters add to its sums; None if it is undefined."""
    return _estimate(metric, jackknife_of_sums(metric, sums))


def jackknife_of_sums(metric: Metric, sums: Sums) -> Jackknife:
    """Compute a metric without each cluster, from what clusters add to its sums."""
    result = leave_out(metric.value, sums, metric.error_basis)
    if not metric.strata:
        return result
    total, labelled = sums.total, slice(2, _OF_STRATUM * metric.strata.number, _OF_STRATUM)
    # without its only label, nothing is known of a stratum, which says nothing of the error
    has_only = ((sums.terms[:, labelled] > 0) & (sums.terms[:, labelled] == total[labelled])).any(axis=1)
    strata = [
        _stratum(metric, metric.strata, sums, total, place)
        for place in range(0, _OF_STRATUM * metric.strata.number, _OF_STRATUM)
        if total[place] > 0
    ]
    return result._replace(without=np.where(has_only, result.value, result.without), strata=tuple(strata))


def _stratum(metric: Metric, strata: Strata, sums: Sums, total: Array, place: int) -> Stratum:
    """Return the stratum whose sums begin at a place, with what the metric would be if its mean were another."""
    labelled, by_people = place + 2, place + 3
    label_sums = Sums(sums.terms[:, [by_people, labelled]], sums.classes[:, :0], sums.multiplicity)
    value = float(metric.value(total))

    def change(mean: float) -> float:
        assumed = total.copy()
        assumed[[labelled, by_people]] = 1.0, mean
        return float(metric.value(assumed)) - value

    values, labels = label_sums.terms[label_sums.terms[:, 1] > 0].T
    is_binomial = strata.is_linear and bool((labels == 1).all() and np.isin(values, strata.bounds).all())
    share = leave_out(ratio, label_sums, lambda _, clusters, __: ErrorBasis(clusters, strata.bounds))
    return Stratum(share, change, is_binomial)


def jackknife(metric: Metric, columns: Columns) -> Jackknife:
    """Compute a metric without each cluster."""
    if metric.members:
        return Jackknife.mean([jackknife(member, columns) for member in metric.members])
    of_items = metric.sums_of_items(columns)
    if isinstance(of_items, Sums):
        return jackknife_of_sums(metric, of_items.by_cluster(columns.cluster, columns.clusters))
    if math.isnan(of_items) or not metric.has_interval:
        return Jackknife.constant(of_items)
    counted = metric.counted(columns)
    return leave_out_items(of_items, metric.terms, counted, metric.of_classes(counted), metric.error_basis)


def _estimate(metric: Metric, result: Jackknife, *, interval: bool = True) -> Estimate | None:
    value, (bottom, top) = result.value, metric.range
    if math.isnan(value):
        return None
    if result.parts:
        return _estimate_of_mean(metric.members or [metric] * len(result.parts), result)
    moments = result.moments
    if metric.has_interval and metric.within and not result.clusters:
        return None  # a part of the items without any that the metric counts, such as one without the class
    without_interval = Estimate(min(max(value, bottom), top) if metric.bounds else value, None, None, None)
    if not (metric.has_interval and result.basis and moments):
        return without_interval
    if not metric.bounds and not bottom - _ROUNDING <= value <= top + _ROUNDING:
        _warn_of_range(metric.name, metric.range)
        return without_interval
    stderr = math.sqrt(moments.second)
    if not interval and not metric.bounds:
        return without_interval._replace(stderr=stderr)
    clusters, bounds = result.basis
    # where there are strata, their intervals say how uncertain the error is
    low, high = exact_interval(value, moments, bounds, clusters, degrees=clusters - 1 if result.strata else None)
    # the interval reaches as far as the bias, which is 0 for a mean
    if abs(moments.bias) > _ROUNDING:
        low, high = low - max(moments.bias, 0.0), high - min(moments.bias, 0.0)
    if result.strata:
        below, above = reach_of_strata(result.strata, [interval_of_mean(stratum) for stratum in result.strata])
        low, high = min(low, value - below), max(high, value + above)
    if high <= bottom or low >= top:
        return without_interval  # the items contradict what `bounds` assumes
    return without_interval._replace(stderr=stderr, low=max(low, bottom), high=min(high, top))


@cache
def _warn_of_range(name: str, declared: tuple[float, float]) -> None:
    logger.warning(
        "metric %s has values outside its range %g to %g, so it has no interval: declare its range, "
        "as in @metric(range=(0.0, float('inf')))",
        name,
        *declared,
    )


def interval_of_mean(stratum: Stratum) -> tuple[float, float]:
    """Compute the interval of the mean of a stratum, the whole range if fewer than two clusters have labels."""
    value, moments, basis = stratum.share.value, stratum.share.moments, stratum.share.basis
    assert basis
    clusters, bounds = basis
    if moments is None:
        return bounds
    return exact_interval(value, moments, bounds, clusters, degrees=math.inf if stratum.is_binomial else None)


def _estimate_of_mean(metrics: Sequence[Metric], mean: Jackknife) -> Estimate | None:
    """Estimate a mean from the estimates of its parts; clusters that have several of them stay correlated."""
    parts = [_estimate(metric, part) for metric, part in zip(metrics, mean.parts, strict=True)]
    ends = [(each.low, each.high) for each in parts if each and each.low is not None and each.high is not None]
    if len(ends) < len(parts):
        return None if None in parts else Estimate(mean.value, None, None, None)
    covariance = mean.covariance()
    stderr = math.sqrt(max(float(covariance.sum()), 0.0)) / mean.part_count
    low, high = mean_interval(
        np.array(ends).T, np.array([part.value for part in mean.parts]), covariance, mean.part_count
    )
    return Estimate(mean.value, stderr, low, high)


def as_json(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Convert estimates to `{"metrics": {name: value}, "intervals": {name: [low, high]}}`; some have none."""
    return {
        "metrics": {name: e.value for name, e in estimates.items()},
        "intervals": {name: [e.low, e.high] for name, e in estimates.items() if e.low is not None},
    }


# --- metrics of common forms ----------------------------------------------------------------------------


def mean(name: str, measurement: str, about: str = "", **properties: Any) -> Metric:
    """Create the mean of a measurement over the items that have it; `properties` are attributes of `Metric`."""
    return Metric(name, lambda columns: columns[measurement], (measurement,), "mean", about, **properties)


def micro(name: str, part: str, whole: str, about: str = "", **properties: Any) -> Metric:
    """Create the ratio of the sums of two measurements over all items, a micro average."""
    return Metric(name, lambda columns: (columns[part], columns[whole]), (part, whole), "sums", about, **properties)


def share_free_of(name: str, measurement: str, about: str, **properties: Any) -> Metric:
    """Create the share (0 to 1) of items without any of what a measurement counts, of those that have it."""

    def free(columns: Columns) -> Terms:
        counted = columns[measurement]
        return np.where(np.isnan(counted), np.nan, counted == 0)

    return Metric(name, free, (measurement,), "mean", about, **properties)


_SHARES: Mapping[Outcome, tuple[str, bool | None]] = {
    UNPARSED: ("share of replies from which no answer can be read", False),
    ABSTAINED: ("share of replies that decline to answer", None),
    EMPTY: ("share of replies without content", False),
    REQUEST_FAILED: ("share of requests that were refused, filtered or ended in an error", False),
    INFERRED: ("share of replies that declare no answer, so that it is inferred from what they say", None),
}


def share_of(outcome: Outcome) -> Metric:
    """Create the share (0 to 1) of items with an outcome of reading, under its name."""
    about, higher_is_better = _SHARES[outcome]
    return Metric(outcome, lambda columns: columns["outcome"] == outcome, ("outcome",), "mean", about, higher_is_better)


def outcome_shares(*, of_labels: bool) -> list[Metric]:
    """Create the shares of replies that decline, are empty and are missing, and of labels that are inferred."""
    shares = [share_of(ABSTAINED), share_of(EMPTY), share_of(REQUEST_FAILED)]
    return [*shares, share_of(INFERRED)] if of_labels else shares


def mean_of(name: str, members: Mapping[str, Metric], tag: str) -> Metric:
    """Create the unweighted mean of a metric over groups of items.

    The mean is undefined if the metric of any group is, and has no interval if any group has none. Items of one
    cluster in several groups stay correlated.

    Args:
        name: The name of the mean.
        members: The metric of each group, by the value of `tag` that the group's items have.
        tag: The tag that tells the groups apart.
    """
    parts = tuple(metric.only(tag, value, metric.name) for value, metric in members.items())
    first = parts[0]
    return Metric(
        name,
        lambda columns: math.nan,
        (),
        "figure",
        higher_is_better=first.higher_is_better,
        range=first.range,
        has_interval=first.has_interval,
        members=parts,
    )
