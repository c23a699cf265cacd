"""A report for the tests of the page: so many entries by so many columns, the same in every run."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, get_type_hints

import yaml
from pydantic import TypeAdapter

from halu_tasks.report.page import as_json
from halu_tasks.report.report_records import (
    About,
    Column,
    Condition,
    Floor,
    Mean,
    MeanFigure,
    Pair,
    Place,
    PublishedFigure,
    ReplacedRun,
    ReplyCounts,
    ReplyWarning,
    Report,
    Result,
)
from halu_tasks.results.comparability import Entry
from halu_tasks.results.run import SkippedFile
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.statistics.differences import Difference

Json = Mapping[str, Any]

SAME: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("report_model.yaml").read_text("utf-8"))
"""What is the same in every record of a kind."""


def estimate(value: float, half: float = 0.04, top: float | None = 1.0) -> dict[str, float | None]:
    """A figure with an interval around it."""
    high = value + half if top is None else min(top, value + half)
    return {"value": value, "stderr": half / 1.96, "low": max(0.0, value - half), "high": high}


def model(entries: int = 4, columns: int = 8, items: int = 4, *, apart: bool = True) -> Report:
    """A report with everything that the page can show, as far as there is room for it."""
    return from_json(model_json(entries, columns, items, apart=apart))


def from_json(values: Mapping[str, Any]) -> Report:
    """The report with these JSON values."""
    entries = {row["id"]: made(Entry, row) for row in values["entries"]}
    columns = {row["id"]: _made_column(row, values, entries) for row in values["columns"]}
    means = {row["id"]: _made_mean(row, values, entries, columns) for row in values["groups"]}
    places = columns | means
    pairs = [
        made(Pair, row, difference=made(Difference, row), place=places[row["column"] or row["group"]])
        for row in (
            row
            | {"first": entries[row["first"]], "second": entries[row["second"]]}
            | {"better": entries.get(row["better"] or "")}
            for row in values["pairs"]
        )
    ]
    return Report(
        about=made(About, values),
        notes=values["notes"],
        skipped=[made(SkippedFile, row) for row in values["skipped"]],
        entries=[*entries.values()],
        columns=[*columns.values()],
        means=[*means.values()],
        pairs=pairs,
    )


def made(kind: type[Any], values: Mapping[str, Any], **others: Any) -> Any:
    """A record with those of the values that are its own; others take their place."""
    names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]
    own = {name: value for name, value in values.items() if name in names} | others
    hints = get_type_hints(kind)
    return kind(**{name: value if name in others else _typed(hints[name], value) for name, value in own.items()})


def _typed(hint: Any, value: Any) -> Any:
    return value if hint in (Entry, Entry | None, Place) else TypeAdapter(hint).validate_python(value)


def _of(values: Mapping[str, Any], name: str, place: Json) -> list[dict[str, Any]]:
    """The records of a list that are of a column or group."""
    return [row for row in values[name] if place["id"] in (row.get("column"), row.get("group"))]


def _made_column(row: Json, values: Mapping[str, Any], entries: Mapping[str, Entry]) -> Column:
    results, ranks = {}, {}
    for own in _of(values, "results", row):
        entry = entries[own["entry"]]
        counts = ReplyCounts(outcomes={name: own[name] for name in NO_ANSWER}, judge_failed=own["judge_failed"])
        told = {
            name: [made(kind, one) for one in _of(values, name, row) if one["entry"] == own["entry"]]
            for name, kind in (("warnings", ReplyWarning), ("superseded", ReplacedRun))
        }
        results[entry] = made(Result, own, counts=counts, **told)
        if own["rank"]:
            ranks[entry] = tuple(own["rank"])
    return made(  # type: ignore[no-any-return]
        Column,
        row,
        condition=made(Condition, row),
        results=results,
        ranks=ranks,
        floors=[made(Floor, one) for one in _of(values, "floors", row)],
        published=[made(PublishedFigure, one) for one in _of(values, "published", row)],
        details=next((one for one in values["why"] if one["column"] == row["id"]), None),
    )


def _made_mean(
    row: Json, values: Mapping[str, Any], entries: Mapping[str, Entry], columns: Mapping[str, Column]
) -> Mean:
    rows = {entries[own["entry"]]: own for own in _of(values, "group_results", row)}
    return made(  # type: ignore[no-any-return]
        Mean,
        row,
        columns=[columns[id] for id in row["columns"]],
        figures={entry: made(MeanFigure, own) for entry, own in rows.items()},
        ranks={entry: tuple(own["rank"]) for entry, own in rows.items() if own["rank"]},
        published=[made(PublishedFigure, one) for one in _of(values, "published", row)],
    )


def changed(report: Report, change: Callable[[Column, Entry, Result], Result | None]) -> Report:
    """The report with other results, without those that are None."""
    for column in report.columns:
        results = {entry: change(column, entry, result) for entry, result in column.results.items()}
        column.results = {entry: result for entry, result in results.items() if result}
    return report


def altered(result: Result, **counts: int) -> Result:
    """The result with other numbers of replies without an answer."""
    failed = counts.pop("judge_failed", result.counts.judge_failed)
    return replace(result, counts=ReplyCounts(outcomes={**result.counts.outcomes, **counts}, judge_failed=failed))


def model_json(entries: int = 4, columns: int = 8, items: int = 4, *, apart: bool = True) -> dict[str, Any]:
    """The JSON values of `model`."""
    rng = random.Random(7)
    made = [_column(number, number) for number in range(columns)]
    made += [_column(columns, 0) | SAME["apart"]] if apart else []
    people = [_entry(number) for number in range(entries)]
    skill = [rng.uniform(0.3, 0.95) for _ in people]
    results = [_result(column, i, own, skill[i], rng) for column in made for i, own in enumerate(people)]
    for number, column in enumerate(made):
        ranked = [result for result in results if result["column"] == column["id"]]
        ranked.sort(key=lambda one: one["metrics"][column["headline"]]["value"], reverse=column["higher_is_better"])
        for place, result in enumerate(ranked):
            result["rank"] = _rank(place, entries, decided=number % 3 > 0)
    in_mean = [column["id"] for column in made if column["main"] and column["benchmark"] == "refact"]
    means = [
        {"entry": entry["id"], "group": "g0", "figure": estimate(own, 0.02), "corrected": None}
        | {"rank": _rank(sorted(skill, reverse=True).index(own), entries, decided=True)}
        for entry, own in zip(people, skill, strict=True)
    ]
    floors = [
        {"column": column["id"], "name": name, "metric": column["headline"], "value": value, "headline": True}
        | {"beside_people": value + 0.1 if column["human_ceiling"] else None}
        for column in made
        for name, value in (
            [("marking all", 0.12), ("marking nothing", 0.0)] if column["headline"] == "iou" else [("baseline", 0.5)]
        )
    ]
    figures = [{"group": "g0", "metric": "acc", "model": "GPT-4o", "value": 0.54}]
    figures += [
        {"column": column["id"], "metric": column["headline"], "model": who, "value": value}
        for column in made[:6]
        for who, value in (("GPT-4o", 0.67), ("Llama-3.3-70B", 0.5))
    ]
    pairs = [_pair(column, a, b, rng) for column in made for a, b in combinations(people, 2)]
    pairs += [_pair(made[0], a, b, rng) | {"column": None, "group": "g0"} for a, b in combinations(people, 2)]
    return SAME["report"] | {
        "entries": people,
        "columns": made,
        "groups": [SAME["group"] | {"columns": in_mean}],
        "results": results,
        "group_results": means,
        "floors": floors,
        "published": [SAME["published"] | figure for figure in figures],
        "pairs": pairs,
        "why": [_why(column, people, skill, items, rng) for column in made],
    }


def _rank(place: int, entries: int, *, decided: bool) -> list[int] | None:
    """Ranks next to the place of an entry, counted from 0; decided: no other entry may be the first."""
    low, high = max(1, place, 2 if decided and place else 1), min(entries, place + 2)
    return None if entries < 2 else [1, 1] if decided and not place else [low, high]


def _entry(i: int) -> dict[str, Any]:
    again, which = divmod(i, len(SAME["names"]))
    name = SAME["names"][which]
    label = name + (f" v{again + 1}" if again else "")
    settings, roles = [{"temperature": "0.7"}, {}, {}][i % 3], [{}, {"grader": "openai/gpt-4o"}, {}][i % 3]
    return SAME["entry"] | {"id": f"e{i}", "label": label, "model": label, "settings": settings, "roles": roles}


def _column(number: int, task: int) -> dict[str, Any]:
    again, which = divmod(task, len(SAME["columns"]))
    own = SAME["column"] | SAME["columns"][which]
    benchmark, headline = own["task"].split("_")[0], next(iter(own["directions"]))
    own |= {"id": f"c{number}", "title": own["task"] + (f" {again + 1}" if again else ""), "benchmark": benchmark}
    own |= {"headline": headline, "compared_by": headline, "higher_is_better": own["directions"][headline]}
    return own | {"data_file": f"{benchmark}.jsonl"}


def _result(column: Json, i: int, entry: Json, skill: float, rng: random.Random) -> dict[str, Any]:
    metrics, top = {}, column["range"][1]
    for metric, higher in column["directions"].items():
        value = min(0.99, max(0.01, skill + rng.uniform(-0.08, 0.08)))
        value = rng.uniform(-0.2, 0.2) if metric == "position_bias" else value if higher else 1 - value
        metrics[metric] = estimate(value * (3 if top is None and metric == column["headline"] else 1), top=top)
    judged = {"judge": "openai/gpt-4o"} if column["task"] in ("cfaith_gen", "fave") else {}
    return (
        SAME["result"]
        | judged
        | {
            "entry": entry["id"],
            "column": column["id"],
            "source": f"results/{i}/{column['task']}/results_2026-11-20T10-12-33.json",
            "version": "1.0-sample" if column["data"] == "sample" else "1.0",
            "n": column["n"],
            **{outcome: i % size for outcome, size in zip(NO_ANSWER, (4, 3, 2, 2), strict=True)},
            "judge_failed": i % 3 if judged else None,
            "metrics": metrics,
            "beside_people": _beside(column, metrics[column["headline"]]),
            "from_replies": 0.12 if i % 2 else None,
            "cost": {"calls": 474, "input_tokens": 120345, "usd": 0.123} if i % 2 else None,
        }
    )


def _beside(column: Json, figure: Json) -> dict[str, Any]:
    """A figure beside that of people, if the column has them."""
    people = column["human_ceiling"] or {"estimates": {}}
    own: dict[str, Any] = {
        "value": -0.1,
        "low": -0.14,
        "high": -0.06,
        "p": 0.001,
        "stderr": 0.02,
        "items": 400,
        "clusters": 90,
    }
    own |= {"p_equal": None}
    return {name: {"value": figure, "other": other, "difference": own} for name, other in people["estimates"].items()}


def _pair(column: Json, a: Json, b: Json, rng: random.Random) -> dict[str, Any]:
    value = rng.uniform(-0.3, 0.3)
    p = min(1.0, math.exp(-abs(value) * 30))
    better = (a if (value > 0) == column["higher_is_better"] else b)["id"]
    own = {"column": column["id"], "first": a["id"], "second": b["id"], "metric": column["headline"], "value": value}
    own |= {"low": value - 0.08, "high": value + 0.08, "p": p, "p_adjusted": min(1.0, 6 * p)}
    own |= {"items": column["n"], "clusters": column["clusters"], "better": None if 6 * p > 0.05 else better}
    return SAME["pair"] | own


def _why(
    column: Json, people: list[dict[str, Any]], skill: list[float], items: int, rng: random.Random
) -> dict[str, Any]:
    labels = SAME["labels"].get(column["task"], [])
    judged = column["task"] == "cfaith_gen"

    def figures(own: float, values: Sequence[str]) -> list[Any]:
        return [None if rng.random() < 0.05 else estimate(min(0.98, own + rng.uniform(-0.1, 0.1))) for _ in values]

    ids = [entry["id"] for entry in people]
    counts = {"targets": labels, "answers": [*labels, "unparsed"], "counts": [[410, 85, 3], [120, 377, 6]]}
    changes = {"unanswered_strict": 2, "unanswered_paper": 0, "changed": 81, "n": column["n"]}
    return {
        "column": column["id"],
        "breakdowns": [
            {
                "by": by,
                "metric": column["headline"],
                "values": [{"value": value, "n": 300 + i} for i, value in enumerate(values)],
                "cells": [
                    {"entry": id, "figures": figures(skill[i], values), "corrected": [None] * len(values)}
                    for i, id in enumerate(ids)
                ],
            }
            for by, values in SAME["breakdowns"].items()
        ],
        "confusion": [{"entry": id, **counts} for id in ids if labels],
        "calibration": [
            {"entry": id, "label": "Yes", "bins": [_bin(k / 10, rng) for k in range(10) if (k + i) % 5], "without": 3}
            | {"ece": estimate(0.08, 0.01), "brier": estimate(0.2, 0.02)}
            for i, id in enumerate(ids)
            if labels == ["Yes", "No"]
        ],
        "risk": [
            {"entry": id, "points": _curve(skill[i]), "degrees": 5, "coverage_at_risk": estimate(0.4)}
            | {"aurc": estimate(0.1), "no_confidence": estimate(0.02)}
            for i, id in enumerate(ids)
            if labels == ["Yes", "No"]
        ],
        "modes": None
        if judged
        else [
            {"entry": id, "metric": column["headline"], **changes}
            | {"strict": estimate(skill[i]), "paper": estimate(max(0.0, skill[i] - 0.2))}
            for i, id in enumerate(ids)
        ],
        "modes_missing": "strict and paper are the same here" if judged else "",
        "items": [_item(column, number, ids, rng) for number in range(items)],
    }


def _curve(skill: float) -> list[list[float]]:
    return [[covered, (1 - skill) * covered] for covered in (0.1, 0.4, 0.6, 0.9)]


def _bin(low: float, rng: random.Random) -> dict[str, Any]:
    n, mean = rng.randrange(5, 200), low + 0.05
    share = min(1.0, max(0.0, mean + rng.uniform(-0.2, 0.2)))
    return {"low": low, "high": low + 0.1, "n": n, "mean": mean, "share": share}


def _item(column: Json, number: int, ids: Sequence[str], rng: random.Random) -> dict[str, Any]:
    text = SAME["texts"][number % 2]
    where = column["headline"] == "iou"
    replies = []
    for i, id in enumerate(ids):
        right, start = (i + number) % 3 == 0, rng.randrange(0, 60)
        answer = "A" if right else "B"
        own = {"entry": id, "reply": f"{SAME['sentence'] * 4}Final verdict: {answer}", "answer": answer}
        own["value"] = float(right) if column["higher_is_better"] else float(not right)
        if where:
            # overlapping each other, the gold, and the end of the text
            spans = [[start, start + 20], [start + 10, start + 40], [80, 500]]
            own |= {"answer": ["index of absorption"], "spans": spans, "unplaced": ["index of nothing"] * (i == 0)}
        elif i == 1:
            own |= {"answer": None, "outcome": "abstained"}
        own |= {"cut": 812} if i == 0 else {}
        own |= {"target": "B"} if i == 3 else {}
        own |= {"probability": 0.3} if column["task"] == "halueval_summarization" else {}
        if i == 2:
            own["verdicts"] = [{"label": "conflict", "reason": "It says 1941.", "about": ""}]
            own["other"] = {"scoring": "paper", "answer": "A", "outcome": "answered", "value": 0.0}
        replies.append(SAME["reply"] | own)
    return (
        SAME["item"]
        | ({"text": text, "gold": [[10, 34], [60, 90]]} if where else {})
        | {
            "id": f"{column['task']}_{number}/original",
            "title": f"What is item {number}?",
            "kinds": [["worst"], ["disagreeing"], ["worst", "modes differ"]][number % 3],
            "right": sum(reply["value"] == 1.0 for reply in replies),
            "of": len(ids),
            "prompt": f"Question: what is item {number}?\nAnswer: {text}\nFinal Verdict:",
            "replies": replies,
        }
    )


LOOKED_UP = {"entry", "column", "first", "second", "better", "data", "headline", "metric", "metrics", "group", "run"}
"""Fields by which the page finds things. All other texts may be anything."""


def with_texts(report: Report, text: str) -> Report:
    """The same report with `text` in place of every string that a model, a user or a file may have written."""
    return from_json(_with_texts(as_json(report), text))


def _with_texts(report: Any, text: str, name: str = "", item: bool = False) -> Any:
    if isinstance(report, dict):
        told = name in ("tags", "settings", "roles", "options", "cost")
        # an item's id comes from a file, unlike that of an entry or a column
        return {
            (text if told else key): value
            if (key == "id" and not item) or (key in LOOKED_UP and not told)
            else _with_texts(value, text, key, "prompt" in report or key == "items")
            for key, value in report.items()
            if not told or isinstance(value, str)
        }
    if isinstance(report, list):
        # a group's columns are ids, the report's are records
        return (
            report
            if name == "columns" and isinstance(report[0], str)
            else [_with_texts(value, text, name, item) for value in report]
        )
    return text if isinstance(report, str) else report
