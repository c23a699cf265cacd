"""Writing a report as Markdown: the leaderboard, results apart, pairwise comparisons and skipped files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from halu_tasks.report.model.report import (
    FREQUENT,
    GroupResult,
    PairDifference,
    Report,
    ReportColumn,
    ReportGroup,
    Result,
    Size,
    Superseded,
    Wordings,
    missing_shares,
)
from halu_tasks.results.run import Skipped
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.text.figures import NONE, format_estimate, format_needed, format_p_value
from halu_tasks.text.markdown import escaped, table

PAIRS_HEAD = (
    *("task", "first", "second", "first − second (this pair alone)", "adjusted p (all pairs)"),
    *("better by adjusted p", "only first / second right", "McNemar p (this pair alone)", "items needed"),
)


def markdown(report: Report) -> str:
    """Format a report for an issue or a README."""
    parts = [f"# {escaped(report.title)}", f"{report.package}, {report.created[:10]}"]
    parts += [escaped(sentence) for sentence in report.summary]
    parts += _not_shown("Skipped", report.skipped)
    parts += _not_shown("Replaced by later runs", report.superseded)
    if report.notes:
        parts.append("Notes:\n\n" + "\n".join(f"- {escaped(note)}" for note in report.notes))
    if report.warnings:
        parts.append("Warnings:\n\n" + "\n".join(f"- {escaped(warning.text)}" for warning in report.warnings))
    for main, heading in ((True, "Leaderboard"), (False, "Shown apart")):
        columns = [column for column in report.columns if column.main == main]
        if columns:
            parts += [f"## {heading}", *_leaderboard(report, columns, main=main)]
    if report.pairs:
        parts += ["## Pairs", _pairs(report), report.rule]
    if report.wordings:
        parts += ["## Wordings", *(_wordings(report, spread) for spread in report.wordings)]
    return "\n\n".join(parts) + "\n"


def _not_shown(title: str, sources: Sequence[Skipped | Superseded]) -> Iterator[str]:
    if sources:
        yield f"{title}:\n\n" + "\n".join(f"- {escaped(one.source)}: {escaped(one.why)}" for one in sources)


def _leaderboard(report: Report, columns: Sequence[ReportColumn], *, main: bool) -> Iterator[str]:
    results = {(result.entry, result.column): result for result in report.results}
    groups = [group for group in report.groups if group.main == main]
    means = {(mean.entry, mean.group): mean for mean in report.group_results}
    entries = [entry for entry in report.entries if any((entry.id, column.id) in results for column in columns)]
    heads = report.heads(groups, columns)
    first = heads[0]

    def sort_key(entry: str) -> float:
        """Sort entries by their first figure, best first."""
        mean, result = means.get((entry, first.id)), results.get((entry, first.id))
        figure = mean.figure if mean else result.metrics.get(first.compared_by) if result else None
        return math.inf if figure is None else -figure.value if first.higher_is_better else figure.value

    head = ["model", *(_head_of(place, report.size(place)) for place in heads)]
    rows = [
        [
            escaped(entry.label),
            *(
                _cell(results.get((entry.id, head.id)), head)
                if isinstance(head, ReportColumn)
                else _mean_cell(means.get((entry.id, head.id)), missing_shares(report.results_of(entry.id, head)))
                for head in heads
            ),
        ]
        for entry in sorted(entries, key=lambda entry: sort_key(entry.id))
    ]
    yield table(head, rows)
    ids = {column.id for column in columns}
    ranked = any(result.rank for result in report.results if result.column in ids)
    by_note = _titles_by((note, column.title) for column in columns for note in column.notes)
    notes = " ".join(f"{escaped(', '.join(titles))}: {escaped(note)}." for note, titles in by_note.items())
    corrected = [group for group in groups if group.compared_by != group.metric]
    notes += "".join(f" {escaped(group.title)}: {escaped(group.about)}." for group in corrected)
    yield (
        "Figures have 95% confidence intervals, computed over clusters of items. "
        f"{'# is the range of ranks that are compatible with the data (95% confidence for all ranges). ' * ranked}"
        "n is the number of items. Replies without an answer (unparsed, abstained, empty) count as wrong. "
        f"{notes}"
    ).strip()
    if not main:
        by_reason = _titles_by((column.why, column.title) for column in columns)
        yield "\n".join(f"- {escaped(', '.join(titles))}: {escaped(why)}" for why, titles in by_reason.items())


def _titles_by(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Group titles by the text about them, so that each text stands once."""
    groups: dict[str, list[str]] = {}
    for text, title in pairs:
        groups.setdefault(text, []).append(title)
    return groups


def _head_of(place: ReportGroup | ReportColumn, size: Size) -> str:
    part = [str(size)] if size.partial else []
    if isinstance(place, ReportGroup):
        return _head(place.title, place.metric, place.scoring, place.data, part)
    marks = [mark for mark in place.marks if mark not in (place.data, place.scoring)]
    return _head(place.title, place.headline, place.scoring, place.data, [*marks, *part])


def _head(title: str, metric: str, scoring: str, data: str, marks: Sequence[str] = ()) -> str:
    conditions = [scoring, *([] if data == "pinned" else [data.upper()]), *marks]
    return f"{escaped(title)} {escaped(metric)} ({escaped(', '.join(conditions))})"


def _headline(result: Result | None, column: ReportColumn) -> Estimate | None:
    return result.metrics.get(column.headline) if result else None


def _cell(result: Result | None, column: ReportColumn) -> str:
    if result is None:
        return ""
    lines = [format_estimate(_headline(result, column))]
    if corrected := result.metrics.get(f"{column.headline}_ppi"):
        lines.append(f"corrected {format_estimate(corrected)}")
    lines += _rank(result.rank)
    of = f" of {column.of:,}" if result.n < column.of else ""
    unanswered = {outcome: getattr(result, outcome) for outcome in NO_ANSWER}
    counts = [f"{count:,} {outcome}" for outcome, count in unanswered.items() if count or outcome == "unparsed"]
    lines.append(", ".join([f"n {result.n:,}{of}", *counts]))
    if result.judge_failed is not None:
        lines.append(f"{result.judge_failed:,} not judged")
    return "<br>".join(lines)


def _mean_cell(mean: GroupResult | None, missing: Mapping[str, float]) -> str:
    if mean is None:
        return NONE
    corrected = [f"corrected {format_estimate(mean.corrected)}"] if mean.corrected else []
    shares = ", ".join(f"{share:.0%} {kind}" for kind, share in missing.items() if share > FREQUENT)
    return "<br>".join([format_estimate(mean.figure), *corrected, *_rank(mean.rank), *([shares] if shares else [])])


def _rank(rank: tuple[int, int] | None) -> list[str]:
    if rank is None:
        return []
    low, high = rank
    return [f"#{low}" if low == high else f"#{low}–{high}"]


def _pairs(report: Report) -> str:
    labels = {entry.id: escaped(entry.label) for entry in report.entries}
    titles = {column.id: escaped(column.title) for column in report.columns}
    titles |= {group.id: escaped(f"{group.title} {group.compared_by} (mean)") for group in report.groups}
    rows = [_pair_row(pair, titles[pair.column or pair.group or ""], labels) for pair in report.pairs]
    return table(PAIRS_HEAD, rows)


def _wordings(report: Report, spread: Wordings) -> str:
    labels = {entry.id: escaped(entry.label) for entry in report.entries}
    head = ["model", "mean (error over items)", "SD over wordings", "range", *map(escaped, spread.labels)]
    rows = [
        [
            labels[row.entry],
            format_estimate(row.mean),
            f"{row.sd:.3f}",
            f"{row.lowest:.3f}–{row.highest:.3f}",
            *map(format_estimate, row.figures),
        ]
        for row in spread.rows
    ]
    return f"{escaped(spread.task)} {escaped(spread.metric)}:\n\n{table(head, rows)}"


def _pair_row(pair: PairDifference, title: str, labels: Mapping[str, str]) -> list[str]:
    test = pair.mcnemar
    return [
        title,
        labels[pair.first],
        labels[pair.second],
        format_estimate(pair),
        format_p_value(pair.p_adjusted),
        labels[pair.better] if pair.better else "equal" if pair.equal else "open",
        f"{test.only_first:,} / {test.only_second:,}" if test else NONE,
        format_p_value(test.p) if test else NONE,
        format_needed(needed.items, needed.low, needed.high)
        if (needed := pair.items_needed)
        else f"{NONE} ({pair.not_estimated})",
    ]
