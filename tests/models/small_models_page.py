"""The page docs/small-models.md, written from the replies that small_models.py keeps."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from small_models import LICENCES, stored

from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.report.report_columns import best_constant
from halu_tasks.scorers.judge import Verdict
from halu_tasks.scorers.metrics import Estimate, estimates
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks import build
from halu_tasks.tasks.evaluation import Evaluation

Row = Mapping[str, Any]

HEAD = """\
# What small models do

Two instruct models and a base model, small enough for two processor cores, on the tasks of this package. Nothing here
says how good these models are at anything else: the page shows what figures and intervals of real models look like, and
what helps when replies cannot be read. `tests/models/small_models.py` makes the runs and writes this page.
"""
FEWEST = 10
"""The fewest items of a task whose figures are shown: with fewer, an interval says nothing."""


def write_page(path: Path) -> None:
    """Write the page."""
    _, kept = stored()
    rows = scored(kept)
    parts = [HEAD, "\n".join(_models())]
    for title, results in (("Published items", "published"), ("The packaged sample", "sample")):
        parts += [f"## {title}\n", *leaderboard([row for row in rows if row["results"] == results and _is_plain(row)])]
    parts += ["## Replies that cannot be read\n", *_outcomes([row for row in rows if _is_plain(row)])]
    parts += ["## What helps\n", *_helps([row for row in rows if row["results"] == "sample"])]
    parts += ["## Both harnesses\n", _harnesses(rows)]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _is_plain(row: Row) -> bool:
    return row["method"] == "plain prompt" and not row["way"]


@cache
def _evaluation(task: str, results: str) -> Evaluation:
    # lm-eval was asked published items, the interrupted run those of the sample
    return build(task, Options() if results in ("published", "lm_eval") else Options(data="sample"))


@cache
def _items(task: str, results: str) -> dict[str, Any]:
    return {item.id: item for item in _evaluation(task, results).items}


def scored(kept: Iterable[Row]) -> list[Row]:
    """Return the replies that are kept, each with its `score`."""
    return [{**row, "score": _score(row)} for row in kept]


def _score(row: Row) -> ScoredReply:
    # what was structured is of the sample in either harness
    results = "sample" if row["way"] == "structured" else row["results"]
    evaluation = _evaluation(row["task"], results)
    reply = Reply(row["reply"])
    verdicts = [Verdict(label) for label in row.get("verdicts", ())]
    return ReplyScorer.of(evaluation).score(_items(row["task"], results)[row["id"]], reply, verdicts)


def _models() -> Iterator[str]:
    yield "| model | licence |"
    yield "|---|---|"
    for model, licence in LICENCES.items():
        yield f"| `{model}` | {licence} |"
    yield ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _figure(estimate: Estimate | None, n: int) -> str:
    if estimate is None:
        return "undefined"
    interval = "" if estimate.low is None else f" [{estimate.low:.2f}, {estimate.high:.2f}]"
    return f"{estimate.value:.2f}{interval}, n = {n}"


def leaderboard(rows: Sequence[Row]) -> list[str]:
    """Return the headline of each run with its interval, beside the floor on the same items."""
    runs: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        runs[row["task"]][row["model"]].append(row)
    models = sorted({row["model"] for row in rows})
    table = []
    for task, of in sorted(runs.items()):
        results = next(iter(of.values()))[0]["results"]
        task_of, items = _evaluation(task, results).task, _items(task, results)
        if task_of.judge_spec and not any(row["score"].verdicts for row in next(iter(of.values()))):
            continue
        asked = sorted({row["id"] for own in of.values() for row in own})
        if len(asked) < FEWEST:
            continue
        headline = task_of.headline
        metrics = [metric for metric in task_of.scorers["strict"].metrics if metric.name == headline]
        arrow = {True: " ↑", False: " ↓", None: ""}[metrics[0].higher_is_better]
        found = {model: estimates(metrics, [row["score"] for row in own]).get(headline) for model, own in of.items()}
        shown = [_figure(found[model], len(of[model])) if model in of else "" for model in models]
        floor = ""
        if not task_of.judge_spec:
            scores = [task_of.score("strict", items[id], Reply(task_of.prompts.baseline(items[id]))) for id in asked]
            value = estimates(metrics, scores).get(headline)
            constant = best_constant(task_of, "strict", [items[id] for id in asked], metrics[0])
            floors = [each for each in (value and value.value, constant) if each is not None]
            best = max if metrics[0].higher_is_better else min
            floor = f"{best(floors):.2f}" if floors else ""
        table.append([f"`{task}`", f"`{headline}`{arrow}", *shown, floor])
    note = "In square brackets: 95% intervals. The floor is the best figure of one answer to all items."
    note += f" Tasks with fewer than {FEWEST} items are left out.\n"
    return [note, *_table(["task", "metric", *(f"`{model}`" for model in models), "floor"], table)]


def _outcomes(rows: Sequence[Row]) -> list[str]:
    """Return how many replies of each model had which outcome, and the most frequent reasons."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        outcome, reason = row["score"].outcome, row["score"].reason
        counts[row["model"]][f"{outcome}: {reason}" if outcome != "answered" and reason else outcome] += 1
    table = [
        [f"`{model}`", why, f"{n:,}", f"{n / sum(of.values()):.0%}"]
        for model, of in sorted(counts.items())
        for why, n in of.most_common(5)
    ]
    return _table(["model", "outcome", "replies", "share"], table)


def _helps(rows: Sequence[Row]) -> list[str]:
    """Return how many replies to the same items declare an answer, with and without an option."""
    answered: dict[tuple[str, str, str], dict[str, bool]] = defaultdict(dict)
    for row in rows:
        if row["method"] == "plain prompt":
            is_whole = row["way"] != "structured" or _is_json(row["reply"])
            answered[row["model"], row["task"], row["way"]][row["id"]] = row["score"].outcome == "answered" and is_whole
    table = []
    for (model, task, way), of in sorted(answered.items()):
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


def _harnesses(rows: Sequence[Row]) -> str:
    first = {(row["model"], row["task"], row["id"], row["way"]): row for row in rows if row["results"] == "published"}
    both = [
        (row["reply"], other["reply"])
        for row in rows
        if row["results"] == "lm_eval" and (other := first.get((row["model"], row["task"], row["id"], row["way"])))
    ]
    same = sum(one == other for one, other in both)
    return f"{len(both):,} items were asked in both harnesses. {same:,} replies were the same to the last character.\n"
