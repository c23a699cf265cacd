"""Write the page of an example report: the replies to ReFACT that its authors released, of two models.

    python docs/report_example/make.py          writes docs/report-example.md
    python docs/report_example/make.py --check  says whether it is what would be written

The environment variable HALU_TASKS_DATA names the folder with the released data: `refact`, and `refact_outputs` with a
folder of predictions for each model. `page.md.jinja` has the text.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment, StrictUndefined

from halu_tasks.cli import main as halu_tasks
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.text.number_format import format_needed

HERE = Path(__file__).parent
PAGE = HERE.parent / "report-example.md"
MODELS = ("gemma-3-27b-it", "Llama-3.2-3B-Instruct")
TASKS = {
    "independent": "refact_judgment_independent",
    "comparative": "refact_judgment_comparative",
    "negation": "refact_localization_negation",
    "entity": "refact_localization_entity",
    "correction": "refact_correction",
}
TITLE = "ReFACT: the released replies"


def page(data: Path) -> str:
    """Return the page, from the released data in a folder."""
    text = (HERE / "page.md.jinja").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        said = make_report(data)
        report = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
        (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        # the code of the page itself, and what it leaves
        left: dict[str, Any] = {}
        printed = output(lambda: exec(code, left))
        by_order = left["comparative"]["value"].groupby(left["same"]).agg(["size", "mean"])
        shown = facts(report) | {"said": said, "printed": "\n".join(map(str.rstrip, printed.splitlines()))}
        first, second = MODELS
        differences = by_order[first]["mean"] - by_order[second]["mean"]
        shown |= {"by_order": differences.to_dict(), "other_order": by_order[first]["size"][False]}
    whole = next(pair for pair in report["pairs"] if _key(report, pair) == (TASKS["comparative"], "strict"))
    # what the text claims of the figures
    assert all(whole["low"] < difference < whole["high"] for difference in differences)
    assert all(pair["p_adjusted"] < 0.001 for pair in report["pairs"])
    assert report["summary"][0].startswith(f"{first} leads on the mean of refact and all {len(TASKS)} tasks")
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    return environment.from_string(text).render(shown)


def make_report(data: Path) -> str:
    """Score the replies in both modes and write a report, both into the current folder; return what is printed."""
    for model in MODELS:
        Path("results", model).mkdir(parents=True)
        for task in TASKS.values():
            for mode in ("strict", "paper"):
                replies = data / "refact_outputs" / model / f"{task}.jsonl"
                command = ["score", task, str(replies), "--data", str(data / "refact"), "--partial", "--scoring", mode]
                scored = output(lambda command=command, model=model: halu_tasks([*command, "--model", model, "--json"]))
                Path("results", model, f"{task}-{mode}.json").write_text(scored, encoding="utf-8")
    return output(lambda: halu_tasks(["report", "results", "-o", "report", "--title", TITLE]))


def output(run: Any) -> str:
    """Return what a function prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run()
    return printed.getvalue().rstrip("\n")


def facts(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the text names: the differences in both modes, and how many replies the modes read differently."""
    columns = {column["id"]: column for column in report["columns"]}
    labels = {entry["id"]: entry["label"] for entry in report["entries"]}
    pairs = {_key(report, pair): pair for pair in report["pairs"]}
    (comparative,) = (id for id, one in columns.items() if one["main"] and one["task"] == TASKS["comparative"])
    (own,) = (row for row in report["results"] if row["column"] == comparative and labels[row["entry"]] == MODELS[1])
    changed = {
        (columns[details["column"]]["task"], labels[row["entry"]]): row
        for details in report["why"]
        if columns[details["column"]]["main"]
        for row in details["modes"]
    }
    return {
        "rows": [[name, *_cells(pairs, task)] for name, task in {"mean": "refact", **TASKS}.items()],
        "changed": {name: {model: changed[task, model]["changed"] for model in MODELS} for name, task in TASKS.items()},
        "acc": own["metrics"]["acc"]["value"],
        "floor": next(row["value"] for row in report["floors"] if row["column"] == comparative and row["headline"]),
        "without": sum(own[outcome] for outcome in NO_ANSWER),
    }


def _key(report: Mapping[str, Any], pair: Mapping[str, Any]) -> tuple[str, str]:
    """Return the task or group of a difference, and its mode."""
    id = pair["column"] or pair["group"]
    place = next(place for place in (*report["columns"], *report["groups"]) if place["id"] == id)
    return place.get("task") or place["group"], place["scoring"]


def _cells(pairs: Mapping[tuple[str, str], Mapping[str, Any]], name: str) -> Iterator[str]:
    for mode in ("strict", "paper"):
        pair = pairs[name, mode]
        yield f"{pair['value']:.3f} [{pair['low']:.3f}, {pair['high']:.3f}]"
        yield format_needed(*(pair["items_needed"][key] for key in ("items", "low", "high")))
    yield f"{pair['items']:,} ({pair['clusters']:,})"


def main(arguments: list[str]) -> str | None:
    """Run the command, and return what is wrong."""
    if not (data := os.environ.get("HALU_TASKS_DATA")):
        return "HALU_TASKS_DATA: name the folder with the released data"
    written = page(Path(data).resolve())
    if arguments == ["--check"]:
        is_same = PAGE.read_text(encoding="utf-8") == written
        return None if is_same else f"{PAGE}: not what the data give; run {Path(__file__).name} without --check"
    PAGE.write_text(written, encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
