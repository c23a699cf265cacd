"""`halu-tasks plan`, and `--margin`: from assumptions and from scored predictions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import write_rows
from statsmodels.stats.power import TTestPower

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.tasks import build

TRUTH = "refact_judgment_independent"
Printed = Callable[..., dict[str, Any]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    def call(*arguments: str) -> dict[str, Any]:
        assert main([*arguments, "--json"]) == 0
        return dict(json.loads(capsys.readouterr().out))

    return call


@pytest.fixture
def pilots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Two results on the sample: one always right, the other on all but every fourth item."""
    evaluation = build(TRUTH, Options(data="sample"))
    paths = []
    for name, wrong in (("right", 0), ("other", 4)):
        rows = [
            {
                "id": item.id,
                "output": "No idea" if wrong and number % wrong == 0 else evaluation.task.prompts.oracle(item),
            }
            for number, item in enumerate(evaluation.items)
        ]
        predictions = write_rows(tmp_path / f"{name}.jsonl", rows)
        capsys.readouterr()
        main(["score", TRUTH, str(predictions), "--data", "sample", "--json", "--model", name])
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(capsys.readouterr().out)
    return [str(path) for path in paths]


def test_more_than_two_results_are_told_to_be_named_one_by_one(pilots: list[str], capsys: Any) -> None:
    folder = Path(pilots[0]).parent
    (folder / "third.jsonl").write_text((folder / "other.jsonl").read_text().replace("No idea", ""))
    main(["score", TRUTH, str(folder / "third.jsonl"), "--data", "sample", "--json", "--model", "third"])
    (folder / "third.json").write_text(capsys.readouterr().out)
    assert main(["plan", str(folder), "--difference", "0.1"]) == 2
    told = capsys.readouterr().err
    assert (
        f"a plan takes one result of one task, or two; {folder} has 3; name the file of each, such as {folder}/" in told
    )


def test_a_plan_from_assumptions_is_that_of_a_t_test(printed: Printed) -> None:
    found = printed("plan", "--share", "0.7", "--difference", "0.05", "--correlation", "0.5039526307")
    (needed,) = found["plan"]["needed"]
    known = TTestPower().solve_power(0.05 / 0.1975**0.5, alpha=0.05, power=0.8)
    assert needed["items"] == needed["calls"] == pytest.approx(known, abs=1) and found["pilot"] is None


def test_a_plan_for_a_report_is_at_the_level_that_the_report_leaves_to_a_pair(printed: Printed) -> None:
    """Five models on five tasks and their mean have 60 differences."""
    given = ("plan", "--share", "0.7", "--difference", "0.05", "--correlation", "0.5039526307")
    found = printed(*given, "--models", "5", "--tasks", "5")["plan"]
    known = TTestPower().solve_power(0.05 / 0.1975**0.5, alpha=0.05 / 60, power=0.8)
    assert found["comparisons"] == 60 and found["needed"][0]["items"] == pytest.approx(known, abs=1)


def test_each_look_has_its_items_and_its_bound(printed: Printed) -> None:
    given = ("plan", "--share", "0.7", "--difference", "0.05", "--correlation", "0.5", "--calls", "500")
    once, often = printed(*given)["plan"], printed(*given, "--looks", "5")["plan"]
    looks = often["needed"][0]["looks"]
    bounds = [look["p_adjusted"] for look in looks]
    assert bounds == pytest.approx([5.1e-6, 0.00126, 0.00845, 0.0226, 0.0413], rel=0.01)
    assert looks[-1]["items"] == often["needed"][0]["items"] == pytest.approx(1.028 * once["needed"][0]["items"], abs=2)
    assert looks[0]["items"] == pytest.approx(looks[-1]["items"] / 5, abs=1)
    assert often["bought"][0]["smallest"] == pytest.approx(1.014 * once["bought"][0]["smallest"], rel=0.001)
    assert "looks" not in once["needed"][0]


def test_a_run_that_detects_no_possible_difference_says_so(
    printed: Printed, capsys: pytest.CaptureFixture[str]
) -> None:
    """With four items, a test has a power of 0.8 only for a difference of 1.38 of shares."""
    given = ["plan", "--share", "0.7", "--correlation", "0", "--json", "--calls"]
    assert main([*given, "4"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["plan"]["bought"][0]["smallest"] is None
    assert "4 items (epochs: 1) detect no difference that two models can have" in told.err
    assert printed(*given[:-2], "--calls", "400")["plan"]["bought"][0]["smallest"] < 0.1


def test_a_budget_is_spent_on_items_first(printed: Printed) -> None:
    given = ("plan", "--share", "0.7", "--correlation", "0.4", "--within", "0.05", "--calls", "900", "--items", "300")
    found = printed(*given)["plan"]
    assert (found["bought"][0]["items"], found["bought"][0]["epochs"], found["needed"]) == (300, 3, [])
    errors = [bought["stderr"] for bought in found["bought"]]
    assert errors == sorted(errors)


def test_a_pilot_gives_the_error_of_its_difference(printed: Printed, pilots: list[str]) -> None:
    compared = printed("report", "--pairs", *pilots)["pairs"][0]
    found = printed("plan", *pilots, "--difference", "0.1")
    assert found["pilot"]["stderr"] == pytest.approx(compared["stderr"]) and found["pilot"]["within"] is None
    assert found["pilot"]["value"] == pytest.approx(compared["value"]) and len(found["plan"]["needed"]) == 1


def test_items_needed_in_a_report_are_those_of_a_plan_for_as_many_models(printed: Printed, pilots: list[str]) -> None:
    third = Path(pilots[1]).with_name("third.json")
    third.write_text(Path(pilots[1]).read_text().replace('"other"', '"third"'))
    needed = []
    for models, paths in ((2, pilots), (3, [*pilots, str(third)])):
        pair = next(pair for pair in printed("report", "--pairs", *paths)["pairs"] if pair["value"])
        given = ("plan", *pilots, "--difference", str(pair["value"]), "--models", str(models))
        needed.append(pair["items_needed"]["items"])
        assert needed[-1] == pytest.approx(printed(*given)["plan"]["needed"][0]["items"], abs=3)
    assert needed[1] > 1.2 * needed[0]


def test_a_margin_calls_runs_equal_only_if_the_items_show_it(printed: Printed, pilots: list[str]) -> None:
    for margin, equal in (("0.5", True), ("0.1", False)):
        found = printed("report", "--pairs", *pilots, "--margin", margin)
        (pair,) = found["pairs"]
        assert (found["margin"], pair["better"], pair["equal"]) == (float(margin), pair["first"], equal)
    assert printed("report", "--pairs", *pilots)["pairs"][0]["p_equal_adjusted"] is None


def test_a_report_with_a_margin(pilots: list[str], tmp_path: Path) -> None:
    assert main(["report", *pilots, "-o", str(tmp_path / "report"), "--margin", "0.5"]) == 0
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    (pair,) = report["pairs"]
    assert report["margin"] == 0.5 and pair["equal"] and pair["p_equal_adjusted"] < 0.05 and "“equal”" in report["rule"]
    assert pair["items_needed"]["low"] <= pair["items_needed"]["items"] <= pair["items_needed"]["high"]
    assert f"{pair['items_needed']['items']:,} [" in (tmp_path / "report" / "report.md").read_text()


def test_a_pilot_that_cannot_be_read_is_warned_of(pilots: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(pilots[0]).parent
    broken = folder / "broken.json"
    broken.write_text(Path(pilots[0]).read_text().replace(TRUTH, "no_such_task"))
    assert main(["plan", pilots[0], pilots[1], str(broken), "--difference", "0.1"]) == 0
    assert f"not read: {broken}: " in capsys.readouterr().err


def test_one_pilot_needs_a_correlation(pilots: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", pilots[1]]) == 0
    assert "within: null" in capsys.readouterr().out
    assert main(["plan", pilots[1], "--difference", "0.1"]) == 2
    assert "a pilot of one run needs --correlation" in capsys.readouterr().err
    assert main(["plan", pilots[1], "--difference", "0.1", "--correlation", "0"]) == 0
