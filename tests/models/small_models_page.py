"""The page docs/small-models.md, written from the runs of small_models.py."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from small_models import LICENCES, agreement, rows_of, steps

Row = Mapping[str, Any]

HEAD = """\
# What small models do

Two instruct models and a base model, small enough for two processor cores, on the tasks of this package. Nothing here
says how good these models are at anything else: the page shows what figures and intervals of real models look like, and
what helps when replies cannot be read. `python tests/models/small_models.py run FOLDER` makes the runs
(`.ci/whole models`), and `… page FOLDER docs/small-models.md` this page.
"""


def write_page(folder: Path, path: Path) -> None:
    """Write the page.

    Args:
        folder: The folder of the runs.
        path: The page.
    """
    sample, published = rows_of(folder, "sample"), rows_of(folder, "published")
    parts = [HEAD, "\n".join(_models())]
    for title, results in (
        ("Published items", "published"),
        ("The packaged sample", "sample"),
    ):
        report = folder / results / "report" / "report.json"
        if report.exists():
            parts += [f"## {title}\n", *_leaderboard(json.loads(report.read_text()))]
    parts += ["## Replies that cannot be read\n", *_outcomes([*published, *sample])]
    parts += ["## What helps\n", *_helps(sample)]
    parts += ["## Both harnesses\n", _harnesses(agreement(folder))]
    parts += ["## Time\n", *_times(folder)]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _models() -> Iterator[str]:
    yield "| model | licence |"
    yield "|---|---|"
    for model, licence in LICENCES.items():
        yield f"| `{model}` | {licence} |"
    yield ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _figure(metric: Mapping[str, float | None]) -> str:
    if metric["value"] is None:
        return "undefined"
    interval = "" if metric.get("low") is None else f" [{metric['low']:.2f}, {metric['high']:.2f}]"
    return f"{metric['value']:.2f}{interval}"


def _leaderboard(report: Mapping[str, Any]) -> list[str]:
    """Return the headline of each run with its interval, beside the floor."""
    entries = {entry["id"]: entry for entry in report["entries"]}
    results = {(one["column"], one["entry"]): one for one in report["results"]}
    plain = [id for id, entry in entries.items() if entry["method"] == "plain prompt"]
    floors = {one["column"]: one["value"] for one in report["floors"] if one["headline"] and one["name"] == "baseline"}
    rows = []
    for column in report["columns"]:
        cells = [results.get((column["id"], id)) for id in plain]
        if not column["main"] or not any(cells):
            continue
        metric = column["headline"]
        arrow = {True: " ↑", False: " ↓", None: ""}[column["higher_is_better"]]
        shown = [f"{_figure(cell['metrics'][metric])}, n = {cell['n']}" if cell else "" for cell in cells]
        floor = f"{floors[column['id']]:.2f}" if column["id"] in floors else ""
        rows.append([f"`{column['title']}`", f"`{metric}`{arrow}", *shown, floor])
    head = ["task", "metric", *(f"`{entries[id]['label']}`" for id in plain), "floor"]
    note = "In square brackets: 95% intervals. The floor is what one answer to all items reaches.\n"
    return [note, *_table(head, rows)]


def _outcomes(rows: Sequence[Row]) -> list[str]:
    """Return how many replies of each model had which outcome, and the most frequent reasons."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["method"] == "plain prompt" and not row["way"]:
            is_known = row["outcome"] != "answered" and row["reason"]
            counts[row["model"]][f"{row['outcome']}: {row['reason']}" if is_known else row["outcome"]] += 1
    table = [
        [f"`{model}`", why, f"{n:,}", f"{n / sum(of.values()):.0%}"]
        for model, of in counts.items()
        for why, n in of.most_common(12)
    ]
    return _table(["model", "outcome", "replies", "share"], table)


def _helps(rows: Sequence[Row]) -> list[str]:
    """Return how many replies to the same items declare an answer, with and without an option."""
    answered: dict[tuple[str, str, str], dict[str, bool]] = defaultdict(dict)
    for row in rows:
        if row["method"] == "plain prompt":
            is_whole = row["way"] != "structured" or _is_json(row["reply"])
            answered[row["model"], row["task"], row["way"]][row["id"]] = row["outcome"] == "answered" and is_whole
    table = []
    for (model, task, way), of in answered.items():
        plain = answered.get((model, task, ""))
        if plain and way and way != "probability":
            shared = of.keys() & plain.keys()
            before, after = (sum(one[id] for id in shared) for one in (plain, of))
            table.append([f"`{model}`", f"`{task}`", way, f"{before} of {len(shared)}", f"{after} of {len(shared)}"])
    return _table(["model", "task", "option", "declared without", "declared with"], table)


def _is_json(reply: str) -> bool:
    """Return whether a reply is whole JSON: one that was cut off within is no help, even if something can be read."""
    try:
        json.loads(reply)
    except ValueError:
        return False
    return True


def _harnesses(counts: Counter[str]) -> str:
    same = counts["the same prompt"]
    return (
        f"{same:,} items were asked in both harnesses with the same prompt. {counts['the same reply']:,} replies were "
        f"the same to the last character, and {counts['the same reply and score']:,} of these have the same answer and "
        "score.\n"
    )


def _times(folder: Path) -> list[str]:
    """Return how long each step took."""
    records = [json.loads(path.read_text()) for path in sorted((folder / "steps").glob("*.json"))]
    rows = [
        [f"`{record['step']['model']}`", record["step"]["name"], f"{record['seconds'] / 60:.0f} min"]
        for record in records
    ]
    done = {(record["step"]["model"], record["step"]["name"]) for record in records}
    missing = [f"{step.name} of `{step.model}`" for step in steps(0) if (step.model, step.name) not in done]
    left = [f"Steps that were not run for this page: {', '.join(missing)}.\n"] if missing else []
    note = "These are orders of magnitude: other work shared the processor.\n"
    return [note, *_table(["model", "step", "time"], rows), *left]
