"""A report for the tests of the page: so many entries by so many columns, the same in every run."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import combinations, permutations
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from halu_tasks.report.records import Report
from halu_tasks.report.summary import summary

ARABIC = "تقع مدينة القاهرة على نهر النيل، وهي عاصمة مصر منذ عام 969. بناها جوهر الصقلي في عهد المعز لدين الله."
ENGLISH = (
    "Light bends towards the normal when it enters glass because its speed falls there. The ratio of the speeds "
    "is called the index of absorption, and Snell's law relates the angles."
)
NAMES = ["gemma-3-27b-it", "Qwen/Qwen3-8B", "gpt-4o-mini", "مُحاكي اللغة", "模型七号", "llama-3.3-70b-instruct", "phi-5"]
TASKS = [
    ("refact_judgment_comparative", "refact", "acc"),
    ("refact_localization_entity", "refact", "iou"),
    ("halueval_summarization", "halueval", "acc"),
    ("cfaith_gen", "cfaith", "hallucination_rate"),
    ("halluverse25_ar", "halluverse25", "acc"),
    ("refact_correction", "refact", "em_mask"),
    ("fave", "fave", "hallucinations_per_summary"),
    ("refact_judgment_independent", "refact", "acc"),
]
SENTENCE = (
    "The reply goes through the passage sentence by sentence and finds that the second of them is not borne out. "
)


def estimate(value: float, half: float = 0.04, top: float | None = 1.0) -> dict[str, float | None]:
    """A figure with an interval around it."""
    high = value + half if top is None else min(top, value + half)
    return {"value": value, "stderr": half / 1.96, "low": max(0.0, value - half), "high": high}


def model(entries: int = 4, columns: int = 8, items: int = 4, *, apart: bool = True) -> Report:
    """A report with everything that the page can show, as far as there is room for it."""
    return from_json(model_json(entries, columns, items, apart=apart))


def from_json(values: Mapping[str, Any]) -> Report:
    """The report with these JSON values; a missing or unknown key is an error."""
    report: Report = _typed(Report, values)
    return report


def _typed(kind: Any, value: Any) -> Any:
    """JSON values as what a record's annotation says."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is UnionType:
        kinds = [one for one in arguments if (get_origin(one) in (Sequence, tuple)) == isinstance(value, list)]
        return None if value is None else _typed(kinds[0], value)
    if origin is Sequence:
        return [_typed(arguments[0], one) for one in value]
    if origin is Mapping:
        return {name: _typed(arguments[1], one) for name, one in value.items()}
    if origin is tuple:
        return tuple(value)
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        kinds = get_type_hints(kind)
        inside = {key for name in parts(kind) for key in _keys(kinds[name])}
        made = {name: _typed(kinds[name], {key: value[key] for key in _keys(kinds[name])}) for name in parts(kind)}
        made |= {name: _typed(kinds.get(name), one) for name, one in value.items() if name not in inside}
        return kind(**made)
    return value


def parts(record: Any) -> list[str]:
    """The fields of a record whose own fields are keys of the record."""
    return [one.name for one in fields(record) if one.metadata.get("part")] if is_dataclass(record) else []


def _keys(part: Any) -> Sequence[str]:
    return part._fields if hasattr(part, "_fields") else ("title", "created", "package", "table")


def altered(record: Any, **changes: Any) -> Any:
    """The record with other values, of its own fields or of those of its parts."""
    if isinstance(record, dict):
        return record | changes
    for name in parts(record):
        part = getattr(record, name)
        inside = {key: changes.pop(key) for key in _keys(part) if key in changes}
        changes |= {name: part._replace(**inside)} if inside else {}
    return record._replace(**changes) if hasattr(record, "_replace") else replace(record, **changes)


def model_json(entries: int = 4, columns: int = 8, items: int = 4, *, apart: bool = True) -> dict[str, Any]:
    """The JSON values of `model`."""
    rng = random.Random(7)
    made = [_column(i, TASKS[i % len(TASKS)], i // len(TASKS)) for i in range(columns)]
    if apart:
        made.append(
            _column(columns, TASKS[0], 0)
            | {"main": False, "why": "uses paper scoring, not strict; 100 of 2,002 items", "scoring": "paper", "n": 100}
        )
    people = [
        {
            "id": f"e{i}",
            "label": NAMES[i % len(NAMES)] + (f" v{i // len(NAMES) + 1}" if i >= len(NAMES) else ""),
            "model": NAMES[i % len(NAMES)],
            "method": "plain prompt",
            "harness": "lm-eval" if i % 2 else "Inspect",
            "settings": {"temperature": "0.7"} if i % 3 == 0 else {},
            "roles": {"grader": "openai/gpt-4o"} if i % 3 == 1 else {},
        }
        for i in range(entries)
    ]
    skill = [rng.uniform(0.3, 0.95) for _ in people]
    results = []
    for column in made:
        top = column["range"][1]
        for i, entry in enumerate(people):
            metrics = {}
            for metric in column["directions"]:
                value = min(0.99, max(0.01, skill[i] + rng.uniform(-0.08, 0.08)))
                value = value if column["directions"][metric] else 1 - value
                if metric == "position_bias":
                    value = rng.uniform(-0.2, 0.2)
                metrics[metric] = estimate(value * (3 if top is None and metric == column["headline"] else 1), top=top)
            judge = "openai/gpt-4o" if column["task"] in ("cfaith_gen", "fave") else None
            results.append(
                {
                    "entry": entry["id"],
                    "column": column["id"],
                    "source": f"results/{i}/{column['task']}/results_2026-11-20T10-12-33.json",
                    "harness": "lm-eval 0.4.13",
                    "created": "2026-11-20T10:12:33+00:00",
                    "version": "1.0-sample" if column["data"] == "sample" else "1.0",
                    "settings": {"temperature": "0", "max_tokens": "1024"},
                    "method": "plain prompt",
                    "judge": judge,
                    "n": column["n"],
                    "unparsed": i % 4,
                    "abstained": i % 3,
                    "empty": i % 2,
                    "judge_failed": i % 3 if judge else None,
                    "metrics": metrics,
                    "rank": None,
                    "cost": {"calls": 474, "input_tokens": 120345, "usd": 0.123} if i % 2 else None,
                }
            )
    for number, column in enumerate(made):
        ranked = [result for result in results if result["column"] == column["id"]]
        up = column["higher_is_better"]
        ranked.sort(key=lambda one: one["metrics"][column["headline"]]["value"], reverse=up)
        for place, result in enumerate(ranked):
            result["rank"] = _rank(place, entries, decided=number % 3 > 0)
    groups = [
        {
            "id": "g0",
            "title": "refact acc",
            "group": "refact",
            "metric": "acc",
            "compared_by": "acc",
            "scoring": "strict",
            "data": "pinned",
            "main": True,
            "columns": [c["id"] for c in made if c["main"] and c["benchmark"] == "refact"],
            "about": "mean of the five tasks' accuracy",
            "higher_is_better": True,
        }
    ]
    values = {
        "title": "Hallucination in eight tasks",
        "created": "2026-11-21T14:03:00+00:00",
        "package": "halu-tasks 0.1.0",
        "summary": [],
        "notes": ["a/model (Inspect) and model (lm-eval) may be the same model"],
        "entries": people,
        "columns": made,
        "groups": groups,
        "results": results,
        "group_results": [
            {"entry": entry["id"], "group": "g0", "figure": estimate(skill[i], 0.02), "corrected": None}
            | {"rank": _rank(sorted(skill, reverse=True).index(skill[i]), entries, decided=True)}
            for i, entry in enumerate(people)
        ],
        "floors": [
            {"column": c["id"], "name": name, "metric": c["headline"], "value": value, "headline": True}
            for c in made
            for name, value in (
                [("marking all", 0.12), ("marking nothing", 0.0)] if c["headline"] == "iou" else [("baseline", 0.5)]
            )
        ],
        "published": [
            {
                "column": c["id"],
                "group": None,
                "model": who,
                "method": "prompt",
                "metric": c["headline"],
                "value": value,
            }
            | {"scoring": "paper", "source": "ReFACT, Table 2", "note": "as printed", "headline": True}
            for c in made[:6]
            for who, value in (("GPT-4o", 0.67), ("Llama-3.3-70B", 0.5))
        ]
        + [
            {"column": None, "group": "g0", "model": "GPT-4o", "method": "prompt", "metric": "acc", "value": 0.54}
            | {"scoring": "paper", "source": "ReFACT, Table 2", "note": "", "headline": True}
        ],
        "rule": "“Better”, “open” and ranks come from one analysis of the 54 differences between models.",
        "margin": None,
        "pairs": [_pair(c, a, b, rng) for c in made for a, b in combinations(people, 2)]
        + [_pair(made[0], a, b, rng) | {"column": None, "group": "g0"} for a, b in combinations(people, 2)],
        "wins": [
            {"first": a["id"], "second": b["id"], "better": 3 if a["id"] < b["id"] else 1}
            | {"worse": 1 if a["id"] < b["id"] else 3, "equal": 0, "open": columns - 4}
            for a, b in permutations(people, 2)
        ],
        "skipped": [
            {"source": "results/notes.json", "why": "no result of lm-eval or Inspect", "lost": False, "run": ""},
            {
                "source": "results/broken.eval",
                "why": "the log has status error: ran out of budget",
                "lost": True,
                "run": "",
            },
        ],
        "warnings": [
            {
                "entry": "e0",
                "column": "c0",
                "share": "30 of 64 replies (46.9%)",
                "meaning": "could not be read",
                "text": "model, task: 30 of 64 replies could not be read",
            }
        ],
        "superseded": [
            {
                "entry": "e0",
                "column": "c0",
                "source": "results/0/old.json",
                "created": "2026-11-18T09:00:00+00:00",
                "why": "an older run of the same entry and task",
            }
        ],
        "why": [_why(c, people, skill, items, rng) for c in made],
        "table": "items.parquet",
    }
    return values | {"summary": summary(from_json(values))}


def _rank(place: int, entries: int, *, decided: bool) -> list[int] | None:
    """Ranks next to the place of an entry, counted from 0; decided: no other entry may be the first."""
    low, high = max(1, place, 2 if decided and place else 1), min(entries, place + 2)
    return None if entries < 2 else [1, 1] if decided and not place else [low, high]


def _column(number: int, task: tuple[str, str, str], again: int) -> dict[str, Any]:
    name, benchmark, headline = task
    more = {
        "refact_judgment_comparative": ["f1_macro", "position_bias"],
        "refact_localization_entity": ["acc", "char_f1", "unplaced"],
        "cfaith_gen": ["hallucination_rate_FactFab", "hallucination_rate_Outdated", "closer_to_correct"],
        "halueval_summarization": ["precision", "recall", "f1", "roc_auc", "brier", "ece"],
    }.get(name, ["f1"])
    lower = {"hallucination_rate", "hallucinations_per_summary"}
    directions: dict[str, bool | None] = dict.fromkeys([headline, *more], True)
    directions |= {m: False for m in directions if m.startswith(tuple(lower)) or m in ("unplaced", "brier", "ece")}
    directions |= {m: None for m in directions if m == "position_bias"}
    sample = name == "halluverse25_ar"
    return {
        "id": f"c{number}",
        "title": name + (f" {again + 1}" if again else ""),
        "task": name,
        "benchmark": benchmark,
        "about": "Is this scientific answer factual?",
        "main": True,
        "why": "",
        "notes": ["for a model, the answers of 12 items were in a different order"] if number == 1 else [],
        "scoring": "strict",
        "data": "sample" if sample else "local" if name == "fave" else "pinned",
        "data_file": f"{benchmark}.jsonl",
        "data_sha256": "9f" * 32,
        "prompt_hash": None if number == 5 else "55c82b29",
        "version": "1",
        "marks": ["sample"] if sample else [],
        "fewshot": 0,
        "options": {"subset": "multi_error"} if benchmark == "refact" else {},
        "epochs": 1,
        "n": 23 if sample else 2002,
        "of": 23 if sample else 2002,
        "clusters": 21 if sample else 890,
        "headline": headline,
        "compared_by": headline,
        "higher_is_better": headline not in lower,
        "range": [0.0, None if headline == "hallucinations_per_summary" else 1.0],
        "directions": directions,
    }


def _pair(column: Mapping[str, Any], a: Mapping[str, Any], b: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    value = rng.uniform(-0.3, 0.3)
    p = min(1.0, math.exp(-abs(value) * 30))
    return {
        "column": column["id"],
        "group": None,
        "first": a["id"],
        "second": b["id"],
        "metric": column["headline"],
        "value": value,
        "low": value - 0.08,
        "high": value + 0.08,
        "p": p,
        "p_adjusted": min(1.0, 6 * p),
        "items": column["n"],
        "clusters": column["clusters"],
        "better": None if 6 * p > 0.05 else a["id"] if (value > 0) == column["higher_is_better"] else b["id"],
        "items_needed": {"items": 310, "clusters": 103, "low": 140, "high": None},
        "not_estimated": "",
        "p_equal": None,
        "p_equal_adjusted": None,
        "stderr": 0.04,
        "equal": False,
    }


def _why(
    column: Mapping[str, Any], people: list[dict[str, Any]], skill: list[float], items: int, rng: random.Random
) -> dict[str, Any]:
    labels = {"refact_judgment_comparative": ["A", "B"], "halueval_summarization": ["Yes", "No"]}.get(column["task"])
    bins = [(i / 10, (i + 1) / 10) for i in range(10)]
    return {
        "column": column["id"],
        "breakdowns": [
            {
                "by": by,
                "metric": column["headline"],
                "values": [{"value": value, "n": 300 + i} for i, value in enumerate(values)],
                "cells": [
                    {
                        "entry": entry["id"],
                        "figures": [
                            None if rng.random() < 0.05 else estimate(min(0.98, skill[i] + rng.uniform(-0.1, 0.1)))
                            for _ in values
                        ],
                    }
                    for i, entry in enumerate(people)
                ],
            }
            for by, values in (("type", ["neg", "swap", "虚构事实"]), ("length", ["≤ 500", "501–1,000", "> 1,000"]))
        ],
        "confusion": [
            {
                "entry": entry["id"],
                "targets": labels,
                "answers": [*labels, "unparsed"],
                "counts": [[410, 85, 3], [120, 377, 6]],
            }
            for entry in people
            if labels
        ],
        "calibration": [
            {
                "entry": entry["id"],
                "label": "Yes",
                "bins": [
                    {
                        "low": low,
                        "high": high,
                        "n": 0 if k == 4 else rng.randrange(5, 200),
                        "mean": (low + high) / 2,
                        "share": min(1.0, max(0.0, (low + high) / 2 + rng.uniform(-0.2, 0.2))),
                    }
                    for k, (low, high) in enumerate(bins)
                ],
                "without": 3,
                "ece": estimate(0.08, 0.01),
                "brier": estimate(0.2, 0.02),
            }
            for entry in people
            if column["task"] == "halueval_summarization"
        ],
        "modes": None
        if column["task"] == "cfaith_gen"
        else [
            {
                "entry": entry["id"],
                "metric": column["headline"],
                "strict": estimate(skill[i]),
                "paper": estimate(max(0.0, skill[i] - 0.2)),
                "unanswered_strict": 2,
                "unanswered_paper": 0,
                "changed": 81,
                "n": column["n"],
            }
            for i, entry in enumerate(people)
        ],
        "modes_missing": "strict and paper are the same here" if column["task"] == "cfaith_gen" else "",
        "items": [_item(column, number, people, rng) for number in range(items)],
    }


def _item(column: Mapping[str, Any], number: int, people: list[dict[str, Any]], rng: random.Random) -> dict[str, Any]:
    text = ARABIC if number % 2 else ENGLISH
    where = column["headline"] == "iou"
    replies = []
    for i, entry in enumerate(people):
        right = (i + number) % 3 == 0
        start = rng.randrange(0, 60)
        replies.append(
            {
                "entry": entry["id"],
                "reply": SENTENCE * 4 + ("Final verdict: A" if right else "Final verdict: B"),
                "cut": 0 if i else 812,
                "target": "B" if i == 3 else None,
                "answer": ["index of absorption"] if where else None if i == 1 else "A" if right else "B",
                "value": float(right) if column["higher_is_better"] else float(not right),
                "outcome": "abstained" if i == 1 and not where else "answered",
                "reason": "last explicit verdict",
                "verdicts": [{"label": "conflict", "reason": "It says 1941.", "about": ""}] if i == 2 else [],
                "verdicts_left_out": 0,
                # overlapping each other, the gold, and the end of the text
                "spans": [[start, start + 20], [start + 10, start + 40], [80, 500]] if where else None,
                "unplaced": ["index of nothing"] if where and i == 0 else [],
                "probability": 0.3 if column["task"] == "halueval_summarization" else None,
                "other": {"scoring": "paper", "answer": "A", "outcome": "answered", "value": 0.0} if i == 2 else None,
            }
        )
    return {
        "id": f"{column['task']}_{number}/original",
        "title": f"What is item {number}?",
        "kinds": [["worst"], ["disagreeing"], ["worst", "modes differ"]][number % 3],
        "right": sum(reply["value"] == 1.0 for reply in replies),
        "prompt": f"Question: what is item {number}?\nAnswer: {text}\nFinal Verdict:",
        "system": "You check scientific answers.",
        "cut": 0,
        "target": "A",
        "tags": {"type": "neg", "length": "≤ 500"},
        "text": text if where else None,
        "gold": [[10, 34], [60, 90]] if where else [],
        "replies": replies,
    }


LOOKED_UP = {"entry", "column", "first", "second", "better", "data", "headline", "metric", "metrics", "group"}
"""Fields by which the page finds things. All other texts may be anything."""


def with_texts(report: Report, text: str) -> Report:
    """The same report with `text` in place of every string that a model, a user or a file may have written."""
    return from_json(_with_texts(report.as_json(), text))


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
