"""Writing a report as Markdown: the leaderboard, results apart, pairs, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from halu_tasks.report.cells import Cell, Head, leaderboard
from halu_tasks.report.records import EntryPair, Report, ReportColumn
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.text.figures import NONE, escaped, format_estimate, format_needed, format_p_value, table

PAIRS_HEAD = (
    *("task", "first", "second", "first − second (this pair alone)", "adjusted p (all pairs)"),
    *("better by adjusted p", "items (clusters)", "items needed"),
)


def markdown(report: Report) -> str:
    """Format a report for an issue or a README."""
    parts = [f"# {escaped(report.about.title)}", f"{report.about.package}, {report.about.created[:10]}"]
    parts += [escaped(sentence) for sentence in report.summary]
    remarks = report.remarks
    parts += _listed("Skipped", (f"{one.source}: {one.why}" for one in remarks.skipped))
    parts += _listed("Replaced by later runs", (f"{one.source}: {one.why}" for one in remarks.superseded))
    parts += _listed("Notes", remarks.notes)
    parts += _listed("Warnings", (warning.text for warning in remarks.warnings))
    for main, heading in ((True, "Leaderboard"), (False, "Shown apart")):
        if columns := [column for column in report.columns if column.main == main]:
            parts += [f"## {heading}", *_leaderboard(report, columns, main=main)]
    parts += ["## Pairs", _pairs(report), report.comparison.rule] if report.comparison.pairs else []
    return "\n\n".join(parts) + "\n"


def _listed(title: str, lines: Iterable[str]) -> list[str]:
    items = "\n".join(f"- {escaped(line)}" for line in lines)
    return [f"{title}:\n\n{items}"] if items else []


def _leaderboard(report: Report, columns: Sequence[ReportColumn], *, main: bool) -> Iterator[str]:
    groups = [group for group in report.groups if group.main == main]
    board = leaderboard(report, report.heads(groups, columns))
    rows = [
        [escaped(row.label), *(_cell(cell, head) for cell, head in zip(row.cells, board.heads, strict=True))]
        for row in board.rows
        if row.kind == "entry"
    ]
    yield table(["model", *(_title(report, head) for head in board.heads)], rows)
    ranked = any(cell and cell.rank for row in board.rows for cell in row.cells)
    notes = _titles_by((note, column.title) for column in columns for note in column.notes)
    corrected = [group for group in groups if group.compared_by != group.metric]
    yield (
        "Figures have 95% confidence intervals, computed over clusters of items. "
        f"{'# is the range of ranks that are compatible with the data (95% confidence for all ranges). ' * ranked}"
        "n is the number of items. Replies without an answer (unparsed, abstained, empty) count as wrong. "
        f"{' '.join(f'{escaped(titles)}: {escaped(note)}.' for note, titles in notes.items())}"
        f"{''.join(f' {escaped(group.title)}: {escaped(group.about)}.' for group in corrected)}"
    ).strip()
    if not main:
        reasons = _titles_by((column.why, column.title) for column in columns)
        yield "\n".join(f"- {escaped(titles)}: {escaped(why)}" for why, titles in reasons.items())


def _titles_by(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Join the titles that a text is about, so that each text stands once."""
    groups: dict[str, str] = {}
    for text, title in pairs:
        groups[text] = f"{groups[text]}, {title}" if text in groups else title
    return groups


def _title(report: Report, head: Head) -> str:
    place = head.place
    marks = [] if place.data == "pinned" else [place.data.upper()]
    if isinstance(place, ReportColumn):
        marks += [mark for mark in place.condition.marks if mark not in (place.data, place.scoring)]
    n, of = report.items_answered(place)
    marks += [f"{n:,} of {of:,} items"] if n < of else []
    return f"{escaped(place.title)} {escaped(place.metric)} ({escaped(', '.join([place.scoring, *marks]))})"


def _cell(cell: Cell | None, head: Head) -> str:
    if cell is None:
        return NONE if head.is_mean else ""
    lines = [format_estimate(cell.figure)]
    lines += [f"corrected {format_estimate(cell.corrected)}"] if cell.corrected else []
    if cell.rank:
        low, high = cell.rank
        lines.append(f"#{low}" if low == high else f"#{low}–{high}")
    return "<br>".join([*lines, *_counts(cell, head.place if isinstance(head.place, ReportColumn) else None)])


def _counts(cell: Cell, column: ReportColumn | None) -> list[str]:
    """Return the number of replies and of those without an answer, or their shares in a mean."""
    if cell.result is None or column is None:
        shares = ", ".join(f"{share:.0%} {kind}" for kind, share in cell.missing.items())
        return [shares] if shares else []
    replies = cell.result.replies
    of = f" of {column.size.of:,}" if replies.n < column.size.of else ""
    unanswered = {outcome: getattr(replies, outcome) for outcome in NO_ANSWER}
    counts = [f"{count:,} {outcome}" for outcome, count in unanswered.items() if count or outcome == "unparsed"]
    judged = [] if replies.judge_failed is None else [f"{replies.judge_failed:,} not judged"]
    return [", ".join([f"n {replies.n:,}{of}", *counts]), *judged]


def _pairs(report: Report) -> str:
    titles = {column.id: escaped(column.title) for column in report.columns}
    titles |= {group.id: escaped(f"{group.title} {group.compared_by} (mean)") for group in report.groups}
    labels = {id: escaped(label) for id, label in report.labels.items()}
    return table(PAIRS_HEAD, [_pair_row(pair, titles[pair.place], labels) for pair in report.comparison.pairs])


def _pair_row(pair: EntryPair, title: str, labels: Mapping[str, str]) -> list[str]:
    difference, needed = pair.difference, pair.items_needed
    return [
        title,
        labels[pair.first],
        labels[pair.second],
        format_estimate(difference),
        format_p_value(pair.p_adjusted),
        labels[pair.better] if pair.better else "equal" if pair.equal else "open",
        f"{difference.items:,} ({difference.clusters:,})",
        format_needed(needed.items, needed.low, needed.high) if needed else f"{NONE} ({pair.not_estimated})",
    ]
