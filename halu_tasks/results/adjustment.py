"""The share of reported hallucinations that people confirm, the adjustment factor of `fave` (section 3.4).

Reports are the sentences that a judge calls unsupported. `draw_reports` draws some from results for people to check,
and `read_checks` and `adjustment_of` turn their labels into the factor and its error.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write
from halu_tasks.core.hashing import stable_hash
from halu_tasks.data.yes_no import id_of, labelled_lines, yes_or_no
from halu_tasks.results.readers.read import read_results
from halu_tasks.results.run import Run
from halu_tasks.scorers.benchmarks.fave import cited_sentences
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean
from halu_tasks.scorers.reading.claims import UNSUPPORTED
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.intervals import NORMAL

TASK = "fave"
FIELDS = ("id", "summary", "claim", "papers", "critique", "confirmed")
"""The columns of a file of checks. Only `id` and `confirmed` are needed; `summary` is the cluster of a report."""


class Report(NamedTuple):
    """A reported hallucination.

    Attributes:
        id: The id of the report: the run if there are several, the item with its epoch if it is not the first, and the
            number of the sentence among those put to the judge.
        summary: The id of the item.
        claim: The sentence.
        papers: Titles and abstracts of the papers that it cites.
        critique: The judge's reason.
    """

    id: str
    summary: str
    claim: str
    papers: str
    critique: str


class Check(NamedTuple):
    """What a person said of a report; `confirmed` is None without a label."""

    id: str
    summary: str
    confirmed: bool | None


@dataclass(frozen=True, kw_only=True)
class Adjustment:
    """The adjustment factor.

    Attributes:
        confirmed: The number of confirmed reports.
        checked: The number of reports with a label.
        unlabelled: The number of reports without one, which are left out.
        summaries: The number of summaries with a labelled report.
        factor: The share of labelled reports that are confirmed, with the summaries as clusters.
        error: The standard error that the factor's 95% interval implies, which is not 0 even if all are confirmed.
    """

    confirmed: int
    checked: int
    unlabelled: int
    summaries: int
    factor: Estimate
    error: float

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON values; the factor and its error have the names of the options that take them."""
        return {
            "adjustment": self.factor.value,
            "adjustment_error": self.error,
            "interval": [self.factor.low, self.factor.high],
            "confirmed": self.confirmed,
            "checked": self.checked,
            "unlabelled": self.unlabelled,
            "summaries": self.summaries,
        }


def draw_reports(paths: Sequence[str], number: int, seed: int, output: Path) -> tuple[int, int]:
    """Draw reported hallucinations at random and write them as a CSV file for people to check.

    Args:
        paths: Files and folders with results of `fave`.
        number: The number of reports to draw; all if there are fewer.
        seed: The seed; which reports are drawn depends on it and on their ids.
        output: The CSV file, with an empty column `confirmed`.

    Returns:
        The number of reports drawn, and of all reports.

    Raises:
        DataError: There are no results of `fave` with a judge's verdicts, none of its verdicts reports a hallucination,
            or a file cannot be read or written.
    """
    results = read_results(paths)
    if lost := [skipped for skipped in results.skipped if skipped.lost]:
        raise DataError(f"{lost[0].source}: {lost[0].why}")
    runs = [run for run in results.runs if run.task == TASK]
    if not any(score.verdicts for run in runs for score in run.scores):
        raise DataError(f"{', '.join(paths)}: expected results of {TASK} with a judge's verdicts, found none")
    reports = [report for place, run in enumerate(runs, 1) for report in _reports(run, place if len(runs) > 1 else 0)]
    if not reports:
        raise DataError(f"{', '.join(paths)}: the judge reported no hallucination, so there is nothing to check")
    drawn = sorted(reports, key=lambda report: stable_hash(seed, report.id))[:number]
    with atomic_write(output, "checks") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(report._asdict() for report in drawn)
    return len(drawn), len(reports)


def _reports(run: Run, place: int) -> Iterator[Report]:
    epochs: Counter[str] = Counter()
    for answered in run.answers:
        item = answered.item
        epochs[item.id] += 1
        epoch = epochs[item.id]
        reply_id = f"{f'{place}/' if place else ''}{item.id}{f'@{epoch}' if epoch > 1 else ''}"
        for number, verdict in enumerate(answered.score.verdicts, 1):
            if verdict.label == UNSUPPORTED:
                claims, _ = cited_sentences(verdict.about, item.gold["papers"])
                cited = {paper["name"]: paper for claim in claims for paper in claim.papers}
                papers = (f"{name}: {paper['title']}\n{paper['abstract']}" for name, paper in cited.items())
                shown = "\n\n".join(papers).strip()
                yield Report(f"{reply_id}#{number}", item.id, verdict.about, shown, verdict.reason)


def read_checks(path: Path) -> list[Check]:
    """Read people's labels of reports: a CSV file, a workbook, JSON Lines or a JSON array.

    Raises:
        DataError: A row has no id, a label is neither yes nor no, a report occurs twice, or there are no rows.
    """
    checks: dict[str, Check] = {}
    for number, row in labelled_lines(path, "confirmed"):
        try:
            id, confirmed = id_of(row, "a report"), yes_or_no(row, "confirmed")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        if id in checks:
            raise DataError(f"{path}:{number}: report {id!r} occurs twice; expected one label for each report")
        checks[id] = Check(id, str(row.get("summary") or id.rpartition("#")[0] or id), confirmed)
    if not checks:
        raise DataError(f"{path}: contains no rows")
    return list(checks.values())


def adjustment_of(checks: Sequence[Check]) -> Adjustment:
    """Estimate the share of reports that are confirmed.

    Raises:
        UsageError: Labelled reports come from fewer than two summaries, so that the error is unknown.
    """
    labelled = [check for check in checks if check.confirmed is not None]
    scores = [Score(c.id, c.summary, None, "", {"confirmed": float(bool(c.confirmed))}) for c in labelled]
    clusters = by_cluster(scores)
    factor = estimate(mean("confirmed", "confirmed"), clusters)
    if factor is None or factor.low is None or factor.high is None:
        raise UsageError(
            f"{len(labelled)} of {len(checks)} reports have a label, from {clusters.clusters} "
            f"summar{'y' if clusters.clusters == 1 else 'ies'}; label reports of two summaries or more"
        )
    return Adjustment(
        confirmed=sum(bool(check.confirmed) for check in labelled),
        checked=len(labelled),
        unlabelled=len(checks) - len(labelled),
        summaries=clusters.clusters,
        factor=factor,
        error=(factor.high - factor.low) / (2 * NORMAL),
    )
