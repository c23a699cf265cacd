"""The gallery: reports made when the site is built, of the packaged sample and of models without weights."""

from __future__ import annotations

import json
import random
from pathlib import Path

from page import Page, listed, printed, sections

from halu_tasks.core.options import Options
from halu_tasks.tasks import build, task_named

FOLDER = "gallery/"
TASKS = (
    "refact_judgment_independent",
    "refact_judgment_comparative",
    "refact_localization_entity",
    "halluverse25_en",
    "halueval_general",
    "cfaith_choice",
)
SHARES = {"model-a": 0.9, "model-b": 0.8, "model-c": 0.7, "model-d": 0.65, "model-e": 0.5}
"""The invented models of the leaderboard, and the share of the items that each answers correctly."""


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
        _report("leaderboard", "A leaderboard", f"{len(SHARES)} invented models on {len(TASKS)} tasks."),
        _report("modes", "Both modes", "The same replies, scored in `strict` and in `paper`."),
    ]
    text = sections(
        "These reports show what a report looks like. They use the [packaged sample](local-data.md) and models without "
        "weights, so their figures say nothing about real models. For a report on real models, see "
        "[A report: two models on ReFACT](report-example.md).",
        listed(reports, ""),
        "[Reports](report.md) explains the parts of a report.",
    )
    (pages / "gallery.md").write_text(Page("gallery.md", "Gallery of reports", "", text).markdown(), encoding="utf-8")


def _report(name: str, title: str, about: str) -> Page:
    return Page(f"{FOLDER}{name}/index.html", title, about, "")


def _leaderboard(work: Path, output: Path) -> None:
    results = work / "leaderboard"
    for model, share in SHARES.items():
        for task in TASKS:
            _score(results, model, task, share)
    _make_report(results, output, "Gallery: five invented models")


def _modes(work: Path, output: Path) -> None:
    results = work / "modes"
    for scoring in ("strict", "paper"):
        for model in ("model-a", "model-c"):
            for task in TASKS[:3]:
                _score(results, model, task, SHARES[model], scoring)
    _make_report(results, output, "Gallery: strict and paper")


def _make_report(results: Path, output: Path, title: str) -> None:
    printed("report", str(results), "-o", str(output), "--title", title)
    # as Markdown, it would be one more page of the site
    (output / "report.md").unlink()


def _score(results: Path, model: str, name: str, share: float, scoring: str = "strict") -> None:
    """Score replies to a task, of which a share is correct and the others are those of the baseline."""
    folder = results / model
    folder.mkdir(parents=True, exist_ok=True)
    task = task_named(name)
    replies = []
    for item in build(task, Options(data="sample")).items:
        right = random.Random(f"{model} {item.id}").random() < share
        replies.append({"id": item.id, "output": (task.prompts.oracle if right else task.prompts.baseline)(item)})
    predictions = folder / f"{name}-replies.jsonl"
    predictions.write_text("\n".join(json.dumps(reply) for reply in replies), encoding="utf-8")
    arguments = ("score", name, str(predictions), "--data", "sample", "--scoring", scoring, "--model", model, "--json")
    (folder / f"{name}-{scoring}.json").write_text(printed(*arguments), encoding="utf-8")
