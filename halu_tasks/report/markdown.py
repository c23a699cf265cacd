"""Writing a report as Markdown: the leaderboard, results apart, pairwise comparisons and skipped files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.text.markdown import escaped, table


def markdown(report: Mapping[str, Any]) -> str:
    """Format a report from `assemble` for an issue or a README."""
    labels = {entry["id"]: entry["label"] for entry in report["entries"]}
    parts = [f"# {escaped(report['title'])}", f"{report['package']}, {report['created'][:10]}"]
    parts += list(_skipped(report))
    if report["warnings"]:
        parts.append("Warnings:\n\n" + "\n".join(f"- {escaped(row['text'])}" for row in report["warnings"]))
    for main, heading in ((True, "Leaderboard"), (False, "Shown apart")):
        columns = [column for column in report["columns"] if column["main"] == main]
        if columns:
            parts += [f"## {heading}", *_board(report, columns, labels, main=main)]
    if report["pairs"]:
        parts += ["## Pairs", _pairs(report, labels)]
    return "\n\n".join(parts) + "\n"


def _skipped(report: Mapping[str, Any]) -> Iterator[str]:
    for title, key in (("Skipped", "skipped"), ("Replaced by later runs", "superseded")):
        if report[key]:
            yield f"{title}:\n\n" + "\n".join(
                f"- {escaped(row['source'])}: {escaped(row['why'])}" for row in report[key]
            )


def _board(
    report: Mapping[str, Any], columns: Sequence[Mapping[str, Any]], labels: Mapping[str, str], *, main: bool
) -> Iterator[str]:
    cells = {(cell["entry"], cell["column"]): cell for cell in report["results"]}
    groups = [group for group in report["groups"] if group["main"] == main]
    means = {(row["entry"], row["group"]): row["figure"] for row in report["group_results"]}
    shown = [entry for entry in labels if any((entry, column["id"]) in cells for column in columns)]

    def first_figure(entry: str) -> float:
        """Sort entries by their first figure, best first."""
        cell = cells.get((entry, columns[0]["id"]))
        figure = means.get((entry, groups[0]["id"])) if groups else cell and cell["metrics"].get(columns[0]["headline"])
        higher = groups[0]["higher_is_better"] if groups else columns[0]["higher_is_better"]
        return math.inf if figure is None else -figure["value"] if higher else figure["value"]

    means_of = [_head({**group, "headline": group["metric"], "marks": []}) for group in groups]
    head = ["model", *means_of, *(_head(column) for column in columns)]
    rows = [
        [
            escaped(labels[entry]),
            *(_figure(means.get((entry, group["id"]))) for group in groups),
            *(_cell(cells.get((entry, column["id"])), column) for column in columns),
        ]
        for entry in sorted(shown, key=first_figure)
    ]
    yield table(head, rows)
    ranked = any(cells[key]["rank"] for key in cells if key[1] in {column["id"] for column in columns})
    yield (
        "Figures have 95% intervals over clusters of items; "
        f"{'#: the 95% confidence set of the rank; ' * ranked}n: the number of items asked. Replies without an answer "
        "(unparsed, abstained, empty) count as wrong. "
        + " ".join(f"{escaped(column['title'])}: {escaped(note)}." for column in columns for note in column["notes"])
    ).strip()
    if not main:
        yield "\n".join(f"- {escaped(column['title'])}: {escaped(column['why'])}" for column in columns)


def _head(column: Mapping[str, Any]) -> str:
    others = [mark for mark in column["marks"] if mark not in (column["data"], column["scoring"])]
    conditions = [column["scoring"], *([] if column["data"] == "pinned" else [column["data"].upper()]), *others]
    return f"{escaped(column['title'])} {escaped(column['headline'])} ({escaped(', '.join(conditions))})"


def _cell(cell: Mapping[str, Any] | None, column: Mapping[str, Any]) -> str:
    if cell is None:
        return ""
    lines = [_figure(cell["metrics"].get(column["headline"]))]
    if cell["rank"]:
        low, high = cell["rank"]
        lines.append(f"#{low}" if low == high else f"#{low}–{high}")
    of = f" of {column['of']:,}" if cell["n"] < column["of"] else ""
    counts = [f"{cell[name]:,} {name}" for name in NO_ANSWER if cell[name] or name == "unparsed"]
    lines.append(", ".join([f"n {cell['n']:,}{of}", *counts]))
    if cell["judge_failed"] is not None:
        lines.append(f"{cell['judge_failed']:,} not judged")
    return "<br>".join(lines)


def _figure(figure: Mapping[str, Any] | None) -> str:
    if figure is None:
        return "–"
    interval = "" if figure["low"] is None else f" [{figure['low']:.3f}, {figure['high']:.3f}]"
    return f"{figure['value']:.3f}{interval}"


def _pairs(report: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    titles = {column["id"]: column["title"] for column in report["columns"]}
    head = ["task", "first", "second", "first − second", "p (Holm)", "better", "only first / second right"]
    head += ["McNemar p (Holm)", "items needed"]
    rows = []
    for pair in report["pairs"]:
        test = pair["mcnemar"]
        rows.append(
            [
                escaped(titles[pair["column"]]),
                escaped(labels[pair["first"]]),
                escaped(labels[pair["second"]]),
                _figure(pair),
                _p(pair["p_holm"]),
                escaped(labels[pair["better"]]) if pair["better"] else "open",
                f"{test['only_first']:,} / {test['only_second']:,}" if test else "–",
                _p(test["p_holm"]) if test else "–",
                f"{pair['items_needed']:,}" if pair["items_needed"] else "–",
            ]
        )
    return table(head, rows)


def _p(value: float | None) -> str:
    return "–" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"
