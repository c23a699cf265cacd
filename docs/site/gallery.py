"""The gallery: reports made when the site is built, of the packaged sample; one is of small real models."""

from __future__ import annotations

import json
import lzma
import random
from collections import defaultdict
from pathlib import Path

from page import Page, listed, printed, sections

from halu_tasks.core.options import Options
from halu_tasks.tasks import build, get_task

FOLDER = "gallery/"
TASKS = (
    "refact_judgment_independent",
    "refact_judgment_comparative",
    "refact_localization_entity",
    "halluverse25_en",
    "halueval_general",
    "cfaith_choice",
)
SHARES = {"model-a": 0.9, "model-b": 0.7}
"""The invented models of the report on both modes, and the share of the items that each answers correctly."""
REPLIES = Path(__file__).parents[2] / "tests" / "models" / "replies.jsonl.xz"
"""The replies of small models; tests/models/small_models.py writes them."""


def write_gallery(pages: Path) -> None:
    """Make the reports, those of the tutorials apart, and the page that leads to them."""
    print("Making the reports of the gallery …", flush=True)
    work = pages.parent / "gallery"
    work.mkdir()
    _leaderboard(work, pages / FOLDER / "leaderboard")
    _modes(work, pages / FOLDER / "modes")
    reports = [
        _report("evaluate-a-model", "Two models, two harnesses", "One model was run in lm-eval, the other in Inspect."),
        _report("score-replies", "Replies from files", "Two models whose replies were scored without a harness."),
        _report("leaderboard", "A leaderboard", f"Two [small models](small-models.md) on {len(TASKS)} tasks."),
        _report("modes", "Both modes", "The same replies, scored in `strict` and in `paper`."),
    ]
    text = sections(
        "These reports show what a report looks like. They use the [packaged sample](local-data.md), so their figures "
        "say nothing about the benchmarks, and all but the leaderboard use models without weights. For a report on "
        "published items, see [two models on ReFACT](findings.md#two-models-five-tasks).",
        listed(reports, ""),
        "[Reports](report.md) explains the parts of a report.",
    )
    (pages / "gallery.md").write_text(Page("gallery.md", "Gallery of reports", "", text).markdown(), encoding="utf-8")


def _report(name: str, title: str, about: str) -> Page:
    return Page(f"{FOLDER}{name}/index.html", title, about, "")


def _leaderboard(work: Path, output: Path) -> None:
    results = work / "leaderboard"
    replies: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    with lzma.open(REPLIES, "rt", encoding="utf-8") as file:
        next(file)  # the licences
        for row in map(json.loads, file):
            if (row["results"], row["way"], row["method"]) == ("sample", "", "plain prompt"):
                replies[row["model"], row["task"]].append({"id": row["id"], "output": row["reply"]})
    models = {model for model, task in replies if task in TASKS}
    models = {model for model in models if all((model, task) in replies for task in TASKS)}
    for model in sorted(models):
        for task in TASKS:
            _score(results, model, task, replies[model, task])
    _make_report(results, output, "Gallery: two small models")


def _modes(work: Path, output: Path) -> None:
    results = work / "modes"
    for scoring in ("strict", "paper"):
        for model, share in SHARES.items():
            for task in TASKS[:3]:
                _score(results, model, task, _invented(model, task, share), scoring)
    _make_report(results, output, "Gallery: strict and paper")


def _make_report(results: Path, output: Path, title: str) -> None:
    printed("report", str(results), "-o", str(output), "--title", title)
    # as Markdown, it would be one more page of the site
    (output / "report.md").unlink()


def _invented(model: str, name: str, share: float) -> list[dict[str, str]]:
    """Return replies to a task, of which a share is correct and the others are those of the baseline."""
    task = get_task(name)
    replies = []
    for item in build(task, Options(data="sample")).items:
        right = random.Random(f"{model} {item.id}").random() < share
        replies.append({"id": item.id, "output": (task.prompts.oracle if right else task.prompts.baseline)(item)})
    return replies


def _score(results: Path, model: str, task: str, replies: list[dict[str, str]], scoring: str = "strict") -> None:
    folder = results / model
    folder.mkdir(parents=True, exist_ok=True)
    predictions = folder / f"{task}-replies.jsonl"
    predictions.write_text("\n".join(json.dumps(reply) for reply in replies), encoding="utf-8")
    arguments = ("score", task, str(predictions), "--data", "sample", "--scoring", scoring, "--model", model, "--json")
    (folder / f"{task}-{scoring}.json").write_text(printed(*arguments), encoding="utf-8")
