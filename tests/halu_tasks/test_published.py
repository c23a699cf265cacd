"""The papers' figures: complete, in our terms, and as consistent as their notes say."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.builders.pipeline import pipelines
from halu_tasks.cli import main
from halu_tasks.results.published import Published, published
from halu_tasks.tasks import registry

TASKS, GROUPS = registry()
FIGURES = published()

BEYOND_THE_REGISTRY = {
    # a task of summaries, and SelfCheckGPT's score, which ranks answers that the task has judged
    ("fave", "hallucinations_per_summary"): (0.0, math.inf),
    ("fave", "hallucinations_per_summary_adjusted"): (0.0, math.inf),
    ("fave", "summaries_with_any"): (0.0, 1.0),
    ("refact_judgment_independent", "roc_auc"): (0.0, 1.0),
    ("refact_judgment_independent", "auprc"): (0.0, 1.0),
}
"""Quantities of methods and tasks that the registry may lack, with their ranges."""

OF_ANNOTATORS = {"valid", "agreement", "alpha", "cohen", "fleiss"}
"""The figures of `halu-tasks label import`; a paper may have them for each kind of item or check."""

LEFT_OUT = {
    ("cfaith", "counts"): "numbers of items",
    ("factchd", "test_counts"): "numbers of items",
    ("factchd", "train_counts"): "numbers of items",
    ("halluverse25", "class_counts_derived"): "numbers of items",
    ("factscore", "from_the_labels"): "recomputed from the labels; tests/halu_tasks/test_factscore.py has them",
    ("halluverse25", "table4_failed_gpt_4o"): "counts of what Table 3 has as shares; compared below",
}
"""Numbers of the reference tables that are no figures of ours, and why."""

PAPERS = {
    "refact": "ReFACT",
    "cfaith": "C-FAITH",
    "factchd": "FactCHD",
    "halluverse25": "HalluVerse25",
    "factored_verification": "Factored Verification",
    "mushroom": "Mu-SHROOM",
    "halluqa": "HalluQA",
    "factscore": "FActScore",
}
"""The papers by the name of their reference table; other tables are of benchmarks that the package does not have."""

OF_THE_PAPERS_ALONE = {"Factored Verification": {0.599}}
"""What the reference tables lack, besides figures about construction."""

ROUNDED = 0.01 + 1e-9
"""How far a figure of two digits may lie from what others of two digits give."""


def figure(task: str, metric: str, model: str, method: str, **others: str | None) -> Published:
    (found,) = found_as(task=task, metric=metric, model=model, method=method, **others)
    return found


def found_as(**wanted: str | None) -> list[Published]:
    return [f for f in FIGURES if all(getattr(f, name) == value for name, value in wanted.items())]


# --- nothing is missed ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference(shared_data: Path) -> dict[str, dict[str, Any]]:
    folder = shared_data.parent / "reference"
    if not folder.is_dir():
        pytest.skip(f"no reference tables in {folder}")
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def numbers(tree: Any, *path: Any) -> Iterator[tuple[tuple[Any, ...], float]]:
    """All numbers of a JSON value with where they stand."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from numbers(value, *path, key)
    elif isinstance(tree, int | float):
        yield path, float(tree)


def test_every_number_of_the_reference_tables_is_here_and_no_other(reference: dict[str, dict[str, Any]]) -> None:
    papers = {figure.source.partition(",")[0] for figure in FIGURES}
    assert papers == {*PAPERS.values()}
    for name, paper in PAPERS.items():
        of_paper = [f for f in FIGURES if f.source.startswith(f"{paper},") and f.task not in pipelines()]
        values = {round(figure.value, 6) for figure in of_paper}
        found = [(path, number) for path, number in numbers(reference[name]) if (name, path[0]) not in LEFT_OUT]
        printed = {number for path, number in found if path[-1] != "rank"}
        # shares are here what are percentages there
        missing = {number for number in printed if not {round(number, 6), round(number / 100, 6)} & values}
        known = {round(number / unit, 6) for number in printed for unit in (1, 100)}
        assert missing == set() and values - known <= OF_THE_PAPERS_ALONE.get(paper, set()), paper


def test_both_rankings_of_the_shared_task_are_here(reference: dict[str, dict[str, Any]]) -> None:
    """A system of the second ranking that is not in the first has a method of its own."""
    figures: dict[tuple[str, str, str], dict[str, float]] = {}
    for f in FIGURES:
        figures.setdefault((f.task, f.model, f.method), {})[f.metric] = f.value
    found = 0
    for language, rankings in reference["mushroom"]["results"].items():
        for row in [*rankings["ranked_by_iou"], *rankings["ranked_by_cor"]]:
            systems = [figures.get((f"mushroom_{language}", row["name"], f"submission{by}")) for by in ("", "_by_cor")]
            found += {"iou": row["iou"], "cor": row["cor"]} in systems
    assert found == 848


# --- in our terms ---------------------------------------------------------------------------------


def test_every_quantity_is_one_that_the_package_prints() -> None:
    for f in FIGURES:
        if builder := pipelines().get(f.task):
            assert f.metric.partition("_")[0] in {"overall", *OF_ANNOTATORS, *builder.checks}
            low, high = 0.0, 1.0
        elif (f.task, f.metric) in BEYOND_THE_REGISTRY:
            low, high = BEYOND_THE_REGISTRY[f.task, f.metric]
        else:
            for mode in ("strict", "paper") if f.scoring == "both" else (f.scoring,):
                of = [GROUPS[f.task].metric(n, mode) for n in GROUPS[f.task].means] if f.task in GROUPS else []
                (metric,) = (m for m in of or TASKS[f.task].scorers[mode].metrics if m.name == f.metric)
            low, high = metric.range
        assert low <= f.value <= high, f


def test_methods_are_those_that_are_explained() -> None:
    explained = re.findall(r"^ +`(\w+)`: ", Published.__doc__ or "", re.M)
    assert sorted(explained) == sorted({f.method for f in FIGURES})
    assert {f.scoring for f in FIGURES} <= {"paper", "strict", "both"}


def test_no_figure_is_there_twice() -> None:
    exact = Counter((f.task, f.metric, f.model, f.method, f.critic, f.judge, f.source) for f in FIGURES)
    assert set(exact.values()) == {1}


def test_notes_and_sources_are_plain_lines() -> None:
    for f in FIGURES:
        assert re.fullmatch(r"[\w -]+, ((Table|section) [\d.]+|\w+\.md)", f.source)
        assert all(line == line.strip() and line.endswith((".", ")")) for line in f.note.splitlines())


# --- what can be computed holds, or a note says that it does not ----------------------------------


def test_average_accuracy_of_refact_is_the_mean_of_its_tasks() -> None:
    averages = found_as(task="refact")
    assert len(averages) == 9
    for average in averages:
        model = {"model": average.model, "method": "prompt"}
        parts = [
            figure(task, "em" if task == "refact_correction" else "acc", **model).value
            for task in GROUPS["refact"].members
        ]
        assert average.value == pytest.approx(sum(parts) / 5, abs=ROUNDED), average


def test_adjusted_hallucinations_are_two_thirds_of_the_reported() -> None:
    adjusted = found_as(metric="hallucinations_per_summary_adjusted")
    assert len(adjusted) == 8
    for f in adjusted:
        reported = figure(f.task, "hallucinations_per_summary", f.model, f.method, source=f.source).value
        assert f.value == pytest.approx(reported * 2 / 3, abs=ROUNDED), f


# --- asking for them ------------------------------------------------------------------------------


def test_a_group_has_its_own_figures_and_those_of_its_members() -> None:
    assert {f.task for f in published("refact")} == {"refact", *GROUPS["refact"].members}
    assert {f.task for f in published("refact_judgment")} == set(GROUPS["refact_judgment"].members)
    assert published("fave") == found_as(task="fave") != []
    assert published("halueval_general") == []


def test_the_command_prints_them_with_their_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--published", "factchd"]) == 0
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["model", "method", "metric", "value", "scoring", "source", "notes"] and set(rule) == {
        "-",
        " ",
    }
    (row,) = (row for row in rows if re.match(r"Alpaca-7B +prompt +expmatch ", row))
    assert re.fullmatch(r"Alpaca-7B +prompt +expmatch +0\.1366 +paper +FactCHD, Table 3 +1", row)
    assert any(row.startswith("1: The patterns give 0.1547, ") for row in rows)


def test_the_command_as_json_is_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--published", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"published": [asdict(f) for f in FIGURES]}
