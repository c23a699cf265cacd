"""`halu-tasks report --pairs` on real logs: what it computes, and what it refuses."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import shared_runs
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.util import registry_create
from mock_models import saying

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.report.board import board
from halu_tasks.report.write import compare, write_report
from halu_tasks.results.inspect_logs import read_runs
from halu_tasks.results.published import published
from halu_tasks.results.read import read_results
from halu_tasks.tasks import build

pytestmark = pytest.mark.slow

TASK = "halueval_summarization"
ITEMS = build(TASK, Options(data="sample")).items
Run = Callable[..., str]


def asked(folder: Path, task: str = TASK, **others: Any) -> str:
    """The path of the log of a run."""
    return str(shared_runs.asked(folder, task, **others))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def baseline(folder: Path) -> str:
    return asked(folder / "baseline")


@pytest.fixture(scope="module")
def oracle(folder: Path) -> str:
    return asked(folder / "oracle", model="halu/oracle")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`halu-tasks report --pairs`; its output where it ends well."""

    def call(*arguments: str | Path) -> str:
        capsys.readouterr()
        assert main(["report", "--pairs", *map(str, arguments)]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return call


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Run:
    """`halu-tasks report --pairs`; the one line that it refuses with."""

    def call(*arguments: str | Path) -> str:
        capsys.readouterr()
        assert main(["report", "--pairs", *map(str, arguments)]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and err.startswith("halu-tasks: ")
        return err

    return call


# --- what is computed ------------------------------------------------------------------------------


def test_the_tables(baseline: str, oracle: str, run: Run) -> None:
    out = run(baseline, oracle, "--metric", "acc", "--metric", "roc_auc")
    rows = [line.replace("\\", "").strip("| ").split(" | ") for line in out.splitlines() if line.startswith("| ")]
    # a baseline has no probabilities, and so no ROC-AUC
    figures = [row[3:7] for row in rows if row[:2] == [TASK, "halu-baseline"]]
    assert figures == [["0.500 [0.430, 0.570]", "–", "52", "0"]]
    (pair,) = (row for row in rows if row[:4] == [TASK, "acc", "halu-baseline", "halu-oracle"])
    assert pair[4].startswith("-0.500 [") and pair[6:8] == ["halu-oracle", "52 (26)"]


def test_what_papers_print_is_of_their_data(baseline: str, oracle: str) -> None:
    runs = [*read_runs(baseline), *read_runs(oracle)]
    # on the packaged sample, nothing published is of the same items
    assert not any(column.published for column in compare({"a": runs}).columns)
    pinned = [replace(own, provenance=replace(own.provenance, data="pinned")) for own in runs]
    figures = [(figure.model, figure.value) for figure in published(TASK) if figure.metric == "acc"]
    (column,) = compare({"a": pinned}).columns
    found = [(figure.model, figure.value) for figure in column.published if figure.metric == "acc"]
    assert found == figures and len(figures) > 2


def test_a_folder_is_read_with_the_plain_prompt_first_and_then_by_time(tmp_path: Path, run: Run) -> None:
    solver = registry_create("solver", "halu_tasks/factored_verification", how="reasoned")
    method = asked(tmp_path, model=saying(lambda text: ""), solver=solver)
    plain = asked(tmp_path, model="halu/oracle")
    (tmp_path / "logs.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("no log")
    deeper = tmp_path / "deeper"
    deeper.mkdir()
    moved = shutil.move(plain, deeper)
    assert [own["source"] for own in json.loads(run(tmp_path, "--json"))["results"]] == [str(moved), method]


def test_epochs_compare_with_as_many(tmp_path: Path, baseline: str, run: Run, refused: Run) -> None:
    thrice = [asked(tmp_path / model, model=f"halu/{model}", epochs=3) for model in ("baseline", "oracle")]
    shown = json.loads(run(*thrice, "--json"))
    assert shown["columns"][0]["n"] == 3 * 52 and shown["pairs"][0]["value"] == -0.5
    # three equal replies are no more evidence than one
    once = json.loads(run(baseline, asked(tmp_path, model="halu/oracle"), "--json"))
    ends = [[own["pairs"][0][end] for end in ("low", "high")] for own in (shown, once)]
    assert ends[0] == pytest.approx(ends[1])
    assert "answers each item 3 times, not 1; run both with the same --epochs" in refused(baseline, thrice[0])


def test_where_the_system_text_stands_is_another_question(tmp_path: Path) -> None:
    for in_user in (False, True):
        asked(tmp_path / str(in_user), model=saying(lambda text: "Yes"), system_in_user=in_user)
    columns = board(read_results([str(tmp_path)]).runs).columns
    assert [column.why for column in columns] == ["", "has system_in_user True, not False"]
    assert columns[1].first.version == f"{columns[0].first.version}-system_in_user"


# --- what is refused -------------------------------------------------------------------------------


def test_other_tasks_data_scoring_and_items_are_refused(tmp_path: Path, baseline: str, refused: Run, run: Run) -> None:
    def why(log: str) -> str:
        told = refused(baseline, log)
        assert told.startswith("halu-tasks: nothing can be compared: ")
        return told

    other = asked(tmp_path / "task", "refact_judgment_independent")
    assert f"it is of the task refact_judgment_independent, which has other items than {TASK}" in why(other)
    file = tmp_path / "summarization_data.json"
    file.write_text((SAMPLE / "halueval" / file.name).read_text() + "\n")
    own = asked(tmp_path / "data", data=str(file))
    assert "uses other data, summarization_data.json (local, sha256 " in why(own)
    paper = asked(tmp_path / "paper", scoring="paper")
    told = why(paper)
    assert "it uses paper scoring, not strict; score it again: inspect score" in told
    first, last = (
        asked(tmp_path / at, sample_id=[ITEMS[n].id for n in own]) for at, own in (("a", (0, 1)), ("b", (2, 3)))
    )
    told = refused(first, last)
    assert "it has none of the same items; the runs differ in their items: 2 only in the first run" in told


def test_runs_with_different_limits_compare_on_the_items_that_both_have(
    tmp_path: Path, baseline: str, run: Run
) -> None:
    limited = asked(tmp_path, model="halu/oracle", limit=10)
    told = json.loads(run(baseline, limited, "--json"))
    (pair,), (column,) = told["pairs"], told["columns"]
    assert (pair["items"], pair["value"], column["n"]) == (10, -0.5, 52)
    assert column["notes"] == [
        "figures are of 52 items for halu-baseline and 10 items for halu-oracle; two entries are compared on the items "
        "that both answered"
    ]


def test_a_question_asked_in_another_order_is_told(tmp_path: Path, run: Run) -> None:
    logs = [asked(tmp_path / str(seed), "refact_judgment_comparative", seed=seed) for seed in (0, 7)]
    options = [Options(data="sample", seed=seed) for seed in (0, 7)]
    first, other = (build("refact_judgment_comparative", own).items for own in options)
    turned = sum(one.target != two.target for one, two in zip(first, other, strict=True))
    note = f"the answers of {turned} items were in a different order than for"
    assert turned > 5 and note in run(*logs)


def test_an_unfinished_log_is_refused_and_says_how_to_finish(
    tmp_path: Path, baseline: str, refused: Run, serve: Any, openai: Any
) -> None:
    answered: list[int] = []

    def reply(request: dict[str, Any]) -> str | int:
        answered.append(1)
        return "No" if len(answered) < 5 else 401

    log = asked(tmp_path / "broken", model=openai(serve(reply)))
    told = refused(baseline, log)
    assert f"{log}: the run is unfinished (error: " in told and "Error code: 401 - scripted failure" in told
    assert f"inspect eval-retry {log} --log-dir {tmp_path / 'broken'}" in told


def test_a_log_that_was_continued_is_not_called_unfinished(tmp_path: Path, baseline: str, oracle: str) -> None:
    """`inspect eval-retry` keeps the task's id, and `inspect log recover` writes to another file."""
    log = read_eval_log(baseline)
    log.status = "cancelled"
    for name in ("a.eval", "a-recovered.eval"):
        write_eval_log(log, str(tmp_path / name))
    last = read_results([str(tmp_path)]).skipped
    assert {Path(one.source).name: one.lost for one in last} == {"a.eval": False, "a-recovered.eval": True}
    (why,) = (one.why for one in last if one.lost)
    assert f"inspect eval-retry {tmp_path}/a-recovered.eval --log-dir {tmp_path}" in why
    # in a folder of `halu-tasks run`, that command goes on, with its checks and limits
    logs = tmp_path / "model" / "logs"
    logs.mkdir(parents=True)
    for name in ("settings.json", "command.txt"):
        (logs.parent / name).write_text("{}")
    for name in ("a.eval", "a-recovered.eval"):
        shutil.copy(tmp_path / name, logs)
    lost, *_ = (one for one in read_results([str(logs.parent)]).skipped if one.lost)
    assert lost.why == "the run is unfinished (cancelled); the same halu-tasks run command continues it"
    # of the two logs of one run, one is missing from the report
    write_report([str(logs.parent), oracle], tmp_path / "report", "T", lambda line: None)
    page, text = ((tmp_path / "report" / name).read_text() for name in ("index.html", "report.md"))
    assert "1 file not read." in page and "model/logs/a-recovered.eval: the run is unf" in text.replace("\\", "")
    assert text.count(".eval: ") == 1
    shutil.rmtree(logs)
    shutil.copy(baseline, tmp_path / "finished.eval")
    results = read_results([str(tmp_path)])
    assert len(results.runs) == 1 and len(results.skipped) == 2
    for one in results.skipped:
        assert not one.lost and one.why == f"the run was continued in {tmp_path / 'finished.eval'}"


def test_a_log_without_scores_says_how_to_score_it(tmp_path: Path, baseline: str, refused: Run) -> None:
    told = refused(baseline, asked(tmp_path, model="halu/oracle", score=False))
    assert "has no score of this package; score it with: inspect score" in told


def test_one_log_one_named_twice_and_an_unknown_metric_are_refused(baseline: str, oracle: str, refused: Run) -> None:
    assert "comparing needs at least two results" in refused(baseline)
    assert "comparing needs at least two results" in refused(baseline, baseline)
    assert "is named twice" in refused(baseline, Path(baseline).parent)
    told = refused(baseline, oracle, "--metric", "accuracy")
    assert f"{TASK} has no metric 'accuracy' in strict" in told and "; metrics: acc, " in told


def test_tasks_that_ask_the_same_items_in_other_ways_compare(tmp_path: Path, baseline: str, run: Run) -> None:
    """As in Table 1 of Factored Verification: at once, after reasoning, claim by claim."""
    others = [asked(tmp_path / kind, f"{TASK}_{kind}", model="halu/oracle") for kind in ("cot", "claims")]
    told = json.loads(run(baseline, *others, "--json"))
    assert {entry["settings"]["task"] for entry in told["entries"]} == {TASK, f"{TASK}_cot", f"{TASK}_claims"}
    assert [pair["value"] for pair in told["pairs"]].count(-0.5) == 2
