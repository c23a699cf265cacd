"""What a report says of a column in detail: JSON values, as in `why` of `report.json`, where `entry` is an id."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

from halu_tasks.text.spans import Span


class Figure(TypedDict):
    """An estimate (`scorers.metrics.Estimate`)."""

    value: float
    stderr: float | None
    low: float | None
    high: float | None


class TagValue(TypedDict):
    """A value of a tag, and the number of items that have it."""

    value: str
    n: int


class TagCell(TypedDict):
    """The figures of an entry for each value of a tag, also as labels correct them."""

    entry: str
    figures: list[Figure | None]
    corrected: list[Figure | None]


class Breakdown(TypedDict):
    """A metric by the values of a tag."""

    by: str
    metric: str
    values: list[TagValue]
    cells: list[TagCell]


class Confusion(TypedDict):
    """The number of replies of an entry by target (rows) and answer (columns)."""

    entry: str
    targets: list[str]
    answers: list[str]
    counts: list[list[int]]


class CalibrationBin(TypedDict):
    """The replies whose probability is from `low` to `high`: their number, mean probability, and share of the label."""

    low: float
    high: float
    n: int
    mean: float
    share: float


class Calibration(TypedDict):
    """The calibration of an entry's probabilities of a label; `without` replies have none."""

    entry: str
    label: str
    bins: list[CalibrationBin]
    without: int
    ece: Figure
    brier: Figure


class Risk(TypedDict):
    """The points (coverage, risk) of an entry, with their figures and the number of different confidences."""

    entry: str
    points: list[list[float]]
    degrees: int
    aurc: Figure | None
    coverage_at_risk: Figure | None
    no_confidence: Figure | None


class BothModes(TypedDict):
    """A metric in both modes, the replies without an answer, and those of `n` whose figure is `changed`."""

    entry: str
    metric: str
    strict: Figure | None
    paper: Figure | None
    unanswered_strict: int
    unanswered_paper: int
    changed: int
    n: int


class OtherScore(TypedDict):
    """The score of a reply in the other mode."""

    scoring: str
    answer: Any
    outcome: str
    value: float | None


class ShownReply(TypedDict):
    """A reply to an item, of whose text `cut` characters are left out.

    `target` is the correct answer if the item was asked in another order; `spans` are those of the answer's strings in
    the item's text, and `unplaced` the strings that are not in it.
    """

    entry: str
    reply: str
    cut: int
    answer: Any
    outcome: str
    target: str | None
    value: float | None
    reason: str
    verdicts: list[dict[str, Any]]
    verdicts_left_out: int
    probability: float | None
    other: OtherScore | None
    spans: list[Span] | None
    unplaced: list[str]


class ShownItem(TypedDict):
    """An item with its replies; `right` of `of` entries have it right.

    `text` is the text in which `gold` spans are marked, if the item has any.
    """

    id: str
    title: str
    kinds: list[str]
    right: int
    of: int
    prompt: str
    system: str
    target: str
    cut: int
    tags: Mapping[str, str]
    text: str | None
    gold: Sequence[Span]
    replies: list[ShownReply]


class Details(TypedDict):
    """The details of a column; `modes_missing` says why there are no `modes`."""

    column: str
    breakdowns: list[Breakdown]
    confusion: list[Confusion]
    calibration: list[Calibration]
    risk: list[Risk]
    modes: list[BothModes] | None
    modes_missing: str
    items: list[ShownItem]


_OfEntry = TypeVar("_OfEntry", TagCell, Confusion, Calibration, Risk, BothModes, ShownReply)


def details_of(details: Details, entries: Collection[str]) -> Details:
    """Return the details of some entries."""

    def only(records: list[_OfEntry]) -> list[_OfEntry]:
        return [record for record in records if record["entry"] in entries]

    return {
        **details,
        "breakdowns": [{**one, "cells": only(one["cells"])} for one in details["breakdowns"]],
        "confusion": only(details["confusion"]),
        "calibration": only(details["calibration"]),
        "risk": only(details["risk"]),
        "modes": details["modes"] and only(details["modes"]),
        "items": [{**item, "replies": only(item["replies"])} for item in details["items"]],
    }
