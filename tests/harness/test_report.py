"""`halu-tasks report` on real results of both harnesses: the same figures as they print, apart what does not compare,
named what cannot be read."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from common import Capture, Run, write_rows
from inspect_ai import score as score_again
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries, write_eval_log
from inspect_ai.model import get_model
from loopback import completion
from made_runs import strict_json
from programs import shown_stderr
from shared_runs import asked, asked_lm_eval, mixed_replies

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.inspect_adapter.inspect_scorer import halu_score
from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM
from halu_tasks.results.read import read_results
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.tasks import build, registry
from halu_tasks.tasks.task_registry import HEADLINE

TASKS, GROUPS = registry()
MEMBERS = GROUPS["refact"].members
CORRECTION, INDEPENDENT = "refact_correction", "refact_judgment_independent"


def report(folder: Path, *results: Path, status: int = 0) -> dict[str, Any]:
    """What `halu-tasks report` writes into `folder`, as strict JSON."""
    assert main(["report", *map(str, results), "-o", str(folder)]) == status
    found: dict[str, Any] = strict_json((folder / "report.json").read_text())
    assert {path.name for path in folder.iterdir()} == {"index.html", "report.md", "report.json", "items.parquet"}
    return found


def cells(told: dict[str, Any], *, main_only: bool = True) -> dict[tuple[str, str], dict[str, Any]]:
    """Cells by the titles of their column and the harness that they are from."""
    titles = {own["id"]: own["title"] for own in told["columns"] if own["main"] or not main_only}
    return {
        (titles[own["column"]], own["harness"].split()[0]): own for own in told["results"] if own["column"] in titles
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def predictions(folder: Path) -> Path:
    made = folder / "predictions"
    made.mkdir()
    for task in MEMBERS:
        write_rows(made / f"{task}.jsonl", mixed_replies(task))
    return made


@pytest.fixture(scope="module")
def lm_eval_file(folder: Path, predictions: Path) -> Path:
    return asked_lm_eval(folder / "lm_eval", ["refact"], "halu-replay", model_args={"predictions": str(predictions)})


@pytest.fixture(scope="module")
def inspect_log(folder: Path, predictions: Path) -> Path:
    return asked(folder / "inspect", "refact", "halu/replay", model_args={"predictions": str(predictions)})


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, lm_eval_file: Path, inspect_log: Path) -> Any:
    """The report on the same replies in both harnesses, and its folder."""
    made = tmp_path_factory.mktemp("both")
    return report(made, lm_eval_file.parent, inspect_log), made


@pytest.fixture(scope="module")
def small(folder: Path) -> Path:
    """A log of 16 items, in JSON."""
    return asked(folder / "small", CORRECTION, "halu/oracle", log_format="json")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, lm_eval_file: Path, inspect_log: Path) -> dict[str, Any]:
    """A report on the replies in each harness."""
    results = {"lm-eval": lm_eval_file.parent, "Inspect": inspect_log}
    return {name: report(tmp_path_factory.mktemp("alone"), path) for name, path in results.items()}


# --- the same figures ------------------------------------------------------------------------------


def test_figures_are_those_that_the_harnesses_print(alone: Any, lm_eval_file: Path, inspect_log: Path) -> None:
    found = cells(alone["lm-eval"]) | cells(alone["Inspect"])
    printed = json.loads(lm_eval_file.read_text())["results"]
    logged = read_eval_log(str(inspect_log), header_only=True).results.scores[0].metrics
    for task in MEMBERS:
        for name, figure in found[task, "lm-eval"]["metrics"].items():
            assert printed[task][f"{name},none"] == figure["value"]
            assert printed[task][f"{name}_stderr,none"] == shown_stderr(figure["stderr"])
        for name, figure in found[task, "Inspect"]["metrics"].items():
            for part, end in (("value", ""), ("stderr", "_stderr"), ("low", "_low"), ("high", "_high")):
                own = logged.get(f"{task}.{name}{end}")
                assert figure[part] == (own.value if own else None)
    told = {own["title"]: own["directions"] for own in alone["Inspect"]["columns"]}
    assert all(f"{name},none" in printed[task] for task in MEMBERS for name in told[task])


def test_means_of_groups_are_those_that_the_harnesses_print(alone: Any, lm_eval_file: Path, inspect_log: Path) -> None:
    found = {
        (group["group"], group["metric"], name): own["figure"]
        for name, told in alone.items()
        for group in told["groups"]
        for own in told["group_results"]
        if own["group"] == group["id"]
    }
    in_lm_eval = json.loads(lm_eval_file.read_text())["groups"]
    logged = read_eval_log(str(inspect_log), header_only=True).results.scores[0].metrics
    assert len(found) == 6 and 0 < found["refact", HEADLINE, "Inspect"]["value"] < 1
    for (group, metric, harness), figure in found.items():
        assert figure == found[group, metric, "Inspect"]
        if harness == "lm-eval":
            assert figure["value"] == pytest.approx(in_lm_eval[group][f"{metric},none"], abs=1e-12)
    figure = found["refact", HEADLINE, "Inspect"]
    for part, end in (("value", ""), ("stderr", "_stderr"), ("low", "_low"), ("high", "_high")):
        assert figure[part] == logged[HEADLINE + end].value


@pytest.mark.slow
def test_samples_in_another_order_give_the_same_figures_to_the_last_bit(inspect_log: Path, tmp_path: Path) -> None:
    """As they stand in a log when a server answers them out of order."""
    log = read_eval_log(str(inspect_log))
    log.samples.reverse()
    write_eval_log(log, str(tmp_path / "turned.json"))
    turned, plain = (read_results([str(path)]).runs for path in (tmp_path / "turned.json", inspect_log))
    assert [run.scores for run in turned] == [run.scores for run in plain] and len(plain) == 5


def test_the_table_and_the_markdown_have_what_the_report_has(both: Any) -> None:
    told, made = both
    rows = pq.read_table(made / "items.parquet").to_pylist()
    assert len(rows) == sum(own["n"] for own in told["results"]) == 144
    labels = {own["label"] for own in told["entries"]}
    assert {row["entry"] for row in rows} == labels and {row["task"] for row in rows} == set(MEMBERS)
    given = {row["id"]: row["output"] for row in mixed_replies(CORRECTION)}
    of_task = [row for row in rows if row["task"] == CORRECTION]
    assert all(row["reply"] == given.get(row["id"], "") and row["other_scoring"] == "paper" for row in of_task)
    found = {task: own for (task, _), own in cells(told).items()}
    assert sum(row["answer"] is None for row in of_task) == sum(found[CORRECTION][outcome] for outcome in NO_ANSWER)

    text = (made / "report.md").read_text()
    leaderboard, _, by_tag = text.partition("## By tag")
    board = [line for line in leaderboard.splitlines() if line.startswith("| predictions |")]
    assert "refact_judgment_independent, acc by type" in by_tag.replace("\\", "")
    # one model with the same answers in two harnesses is one result
    assert len(board) == len(labels) == 1 and told["superseded"] == told["pairs"] == []
    assert all(len(own["equal"]) == 1 for own in told["results"]) and "latest of" not in text
    assert text.count(" (the same answers and scores) |") == 5 and "left out" not in (made / "index.html").read_text()
    acc = found[INDEPENDENT]
    figure = acc["metrics"]["acc"]
    shown = f"{figure['value']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"
    assert all(f"{shown}<br>n 64, {acc['unparsed']} unparsed" in line for line in board)
    # the mean of most tasks stands first
    first = told["groups"][0]
    assert (first["title"], first["metric"]) == ("refact", HEADLINE)
    means = [own["figure"]["value"] for own in told["group_results"] if own["group"] == first["id"]]
    assert all(f"| {mean:.3f} [" in line for mean, line in zip(sorted(means)[::-1], board, strict=True))
    # nothing of the sample passes for the benchmark, no mean either
    (head,) = {line for line in leaderboard.splitlines() if line.startswith("| model")}
    assert all("(strict, SAMPLE" in cell for cell in head.strip("| ").split(" | ")[1:])


# --- what stands apart, and what is not read --------------------------------------------------------


@pytest.mark.slow
def test_broken_files_are_named_and_the_rest_is_read(
    lm_eval_file: Path, inspect_log: Path, small: Path, both: Any, tmp_path: Path, capsys: Capture
) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(lm_eval_file.parent, mixed / "whole")
    shutil.copy(inspect_log, mixed)
    date = lm_eval_file.stem.removeprefix("results_")
    half = mixed / "half"
    shutil.copytree(lm_eval_file.parent, half)
    results = json.loads(lm_eval_file.read_text())
    # as of another run, of which the end of some samples, or one of them, was lost
    results["date"] += 1
    (half / lm_eval_file.name).write_text(json.dumps(results))
    samples = half / f"samples_{CORRECTION}_{date}.jsonl"
    samples.write_bytes(samples.read_bytes()[:-100])
    fewer = half / f"samples_{INDEPENDENT}_{date}.jsonl"
    fewer.write_text("".join(fewer.read_text().splitlines(keepends=True)[:-1]))
    (mixed / "cut.eval").write_bytes(inspect_log.read_bytes()[:-1000])
    (mixed / "cut.json").write_text(small.read_text()[:-1000])
    (mixed / "results_cut.json").write_text(lm_eval_file.read_text()[:1000])
    (mixed / "windows.json").write_bytes(b'{"model": "\x93m\x94"}')
    (mixed / "deep.json").write_text("[" * 100_000)
    (mixed / "other.json").write_text('{"not": "ours"}')
    told = report(tmp_path / "report", mixed, status=3)
    said = capsys.readouterr().err
    assert all(f"halu-tasks: not read: {own['source']}: {own['why']}\n" in said for own in told["skipped"])
    why: dict[str, list[str]] = {}
    for own in told["skipped"]:
        why.setdefault(Path(own["source"]).name, []).append(own["why"])
    lost = sorted(why.pop(lm_eval_file.name))
    assert lost[0].startswith(f"{samples}:16: not JSON (") and lost[1].startswith(f"{INDEPENDENT}: ")
    assert "holds 63 of 64 samples" in lost[1]
    assert sorted(why) == ["cut.eval", "cut.json", "deep.json", "results_cut.json", "windows.json"]
    assert "not UTF-8" in why["windows.json"][0]
    text = (tmp_path / "report" / "report.md").read_text()
    assert text.count("\n- ") >= len(told["skipped"]) and "deep.json" in text
    # what was whole is there as if it stood alone; of the later run, three tasks are whole
    assert [own["metrics"] for own in cells(told).values()] == [own["metrics"] for own in cells(both[0]).values()]
    assert sum(len(own["equal"]) for own in told["results"]) == 5 + 3


def test_the_exit_status_says_whether_a_result_is_missing(small: Path, tmp_path: Path) -> None:
    """A copy, or another package's log in a folder, is not missing; whoever names a file expects something of it."""
    good, logs = tmp_path / "good.json", tmp_path / "logs"
    shutil.copy(small, good)
    logs.mkdir()
    shutil.copy(small, logs / "copy.json")
    log = json.loads(small.read_text())
    log["eval"] |= {"task": "other/task", "metadata": {}}
    foreign = logs / "foreign.json"
    foreign.write_text(json.dumps(log))
    told = report(tmp_path / "report", good, logs)
    assert {Path(own["source"]).name: own["lost"] for own in told["skipped"]} == {
        "copy.json": False,
        "foreign.json": False,
    }
    assert report(tmp_path / "report", good, foreign, status=3)["skipped"][0]["lost"]
    bad = tmp_path / "bad.json"
    bad.write_bytes(small.read_bytes()[:-1000])
    told = report(tmp_path / "report", good, bad, status=3)
    assert len(told["results"]) == 1 and told["skipped"][0]["source"] == str(bad)
    other = json.loads(small.read_text())
    other["eval"] |= {"eval_id": "other"}
    (logs / "other.json").write_text(json.dumps(other))
    assert main(["report", "--pairs", str(logs)]) == 0
    shutil.copy(bad, logs)
    assert main(["report", "--pairs", str(logs)]) == 3


@pytest.mark.slow
def test_a_log_that_was_scored_again_with_a_judge_is_of_that_judge(serve: Run, tmp_path: Path) -> None:
    refused = set()

    def judge(request: dict[str, Any]) -> str:
        text = str(request["messages"][-1]["content"])
        if "=====" in text and (not refused or text in refused):
            refused.add(text)
            return "?"
        return json.dumps({"reason": "", "verdict": "conflict"})

    plain = asked(tmp_path, "cfaith_gen", "halu/oracle")
    scorer = halu_score(judge="openai/some", judge_base_url=serve(judge).url, judge_max_failures=0.5)
    again = score_again(read_eval_log(str(plain)), scorer, action="overwrite")
    write_eval_log(again, str(tmp_path / "again.eval"))
    told = report(tmp_path / "report", tmp_path)
    assert [own["why"] for own in told["columns"]] == ["", "is judged by no model, not openai/some"]
    judged, unjudged = told["results"]
    assert (judged["judge"], unjudged["judge"], unjudged["judge_failed"]) == ("openai/some", None, None)
    assert judged["metrics"]["hallucination_rate"]["value"] == 1.0 and judged["judge_failed"] == 1
    assert "hallucination_rate" not in unjudged["metrics"] and told["why"][0]["modes"] is None
    text = (tmp_path / "report" / "report.md").read_text()
    assert "n 36, 0 unparsed<br>1 not judged" in text and "(strict, SAMPLE, judged by openai/some) |" in text
    assert "left out of net, which is -1.0000 to -0.9444 with them" in text and "cfaith_gen: cfaith_gen" not in text
    assert judged["cost"]["judge_input_tokens"] > 0


def test_of_several_replies_to_an_item_the_share_of_the_variance_is_told(tmp_path: Path, capsys: Capture) -> None:
    items, files, draw = build(INDEPENDENT, Options(data="sample")).items, [], random.Random(1)
    # one model answers by chance each time, and the other one repeats its first answer
    fickle = [{"id": i.id, "epoch": e, "output": draw.choice(["True", "False"])} for e in (1, 2) for i in items]
    steady = [{**row, "output": first["output"]} for row, first in zip(fickle, fickle[: len(items)] * 2, strict=True)]
    for name, rows in (("fickle", fickle), ("steady", steady)):
        file = write_rows(tmp_path / f"{name}.jsonl", rows)
        capsys.readouterr()
        assert main(["score", INDEPENDENT, str(file), "--data", "sample", "--model", name, "--json"]) == 0
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(capsys.readouterr().out)
    told = report(tmp_path / "report", *files)
    labels = {entry["id"]: entry["label"] for entry in told["entries"]}
    shares = {labels[result["entry"]]: result["from_replies"] for result in told["results"]}
    text, page = ((tmp_path / "report" / name).read_text() for name in ("report.md", "index.html"))
    assert shares["steady"] == 0.0 and shares["fickle"] > 0.5
    assert text.count("% of the variance from replies") == page.count("% of the variance from replies") == 2
    once = report(tmp_path / "once", asked(tmp_path / "logs", INDEPENDENT))
    assert once["results"][0]["from_replies"] is None
    assert "of the variance from replies" not in (tmp_path / "once" / "report.md").read_text()


def test_the_tokens_of_a_model_that_judges_itself_are_apart_and_have_what_was_cached(
    serve: Run, tmp_path: Path
) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        judged = "=====" in str(request["messages"][-1]["content"])
        content = json.dumps({"reason": "", "verdict": "consistent"}) if judged else "Because."
        sent, cached = (1_000, 700) if judged else (100, 64)
        body = completion({"content": content}, sent, 10)
        return body | {"usage": body["usage"] | {"prompt_tokens_details": {"cached_tokens": cached}}}

    server = serve(answer)
    model = get_model("openai/some", base_url=server.url, api_key="k", responses_api=False, memoize=False)
    asked(tmp_path, "cfaith_gen", model, limit=4, judge="openai/some", judge_base_url=server.url)
    told = report(tmp_path / "report", tmp_path)
    (result,) = told["results"]
    cost = result["cost"]
    assert (cost["calls"], cost["input_tokens"], cost["output_tokens"]) == (4, 400, 40)
    assert (cost["judge_input_tokens"], cost["judge_output_tokens"]) == (4_000, 40)
    assert "| 4,000 |" in (tmp_path / "report" / "report.md").read_text()


def test_the_tokens_of_a_judge_are_in_its_log_and_runs_in_lm_eval_have_no_costs(serve: Run, tmp_path: Path) -> None:
    server = serve(lambda request: json.dumps({"reason": "", "verdict": "consistent"}))
    judge = {"judge": "openai/some", "judge_base_url": server.url}
    log = asked(tmp_path, "cfaith_gen", "halu/oracle", limit=4, **judge)
    asked_lm_eval(tmp_path, ["cfaith_gen"], OracleLM(), {f"halu_{name}": value for name, value in judge.items()})
    told = report(tmp_path / "report", tmp_path)
    costs = {own["harness"].split()[0]: own["cost"] for own in told["results"]}
    assert costs["lm-eval"] is None
    used = sum(summary.model_usage["openai/some"].input_tokens for summary in read_eval_log_sample_summaries(str(log)))
    assert costs["Inspect"]["judge_input_tokens"] == used > 0
    rows = (tmp_path / "report" / "report.md").read_text().partition("## Runs")[2].splitlines()
    (inspect_row,) = (row for row in rows if "| Inspect " in row)
    (lm_eval_row,) = (row for row in rows if "| lm-eval " in row)
    assert f"| {used:,} |" in inspect_row and "not recorded" not in inspect_row and "| not recorded |" in lm_eval_row


@pytest.mark.slow
def test_scored_predictions_of_a_judged_task_are_read_with_the_verdicts_in_their_details(
    serve: Run, tmp_path: Path, capsys: Capture
) -> None:
    server = serve(lambda request: json.dumps({"reason": "", "verdict": "conflict"}))
    items = build("cfaith_gen", Options(data="sample")).items
    file, details, printed = (tmp_path / name for name in ("mine.jsonl", "details.jsonl", "scored.json"))
    write_rows(file, ({"id": item.id, "output": item.target} for item in items))
    command = ["score", "cfaith_gen", str(file), "--data", "sample", "--json"]
    command += ["--judge", "openai/some", "--judge-base-url", server.url]
    for more, told in (([], "score it again with --details"), (["--details", str(details)], "")):
        capsys.readouterr()
        assert main([*command, *more]) == 0
        printed.write_text(capsys.readouterr().out)
        found = read_results([str(printed)])
        assert [own.why for own in found.skipped if told not in own.why or not told] == []
    asked_before = len(server.asked)
    cell = report(tmp_path / "report", printed)["results"][0]
    assert (cell["judge"], cell["n"], cell["judge_failed"]) == ("openai/some", 36, 0)
    assert {name: own["value"] for name, own in cell["metrics"].items()} == json.loads(printed.read_text())["metrics"]
    assert cell["metrics"]["hallucination_rate"]["value"] == 1.0 and len(server.asked) == asked_before
    # details of another scoring are not those of the figures
    details.write_text(details.read_text().replace('"hallucinated": 1.0', '"hallucinated": 0.0', 1))
    (skipped,) = read_results([str(printed)]).skipped
    assert "the figures of the predictions have changed (net is " in skipped.why


# --- compare ----------------------------------------------------------------------------------------


def test_compare_sets_an_lm_eval_folder_against_an_inspect_log_task_by_task(
    lm_eval_file: Path, inspect_log: Path, tmp_path: Path, capsys: Capture
) -> None:
    shutil.copytree(lm_eval_file.parent, tmp_path / "lm_eval")
    shutil.copy(inspect_log, tmp_path)
    # named one by one, or all in one folder
    for paths in ([str(tmp_path / "lm_eval"), str(inspect_log)], [str(tmp_path)]):
        assert main(["report", "--pairs", *paths, "--json"]) == 0
        told = strict_json(capsys.readouterr().out)
        assert [own["task"] for own in told["columns"]] == list(MEMBERS)
        assert {own["settings"]["harness"] for own in told["entries"]} == {"lm-eval", "Inspect"}
        assert [own["value"] for own in told["pairs"]] == [0] * 5
        for task in MEMBERS:
            assert cells(told)[task, "lm-eval"]["metrics"] == cells(told)[task, "Inspect"]["metrics"]
    assert main(["report", "--pairs", str(tmp_path / "lm_eval")]) == 2
    told = "nothing can be compared: each task has only one result; wordings of a task are compared by --prompts"
    assert told in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.json").write_text("{}")
    assert main(["report", "--pairs", str(tmp_path / "empty"), str(tmp_path)]) == 2
    assert "empty: contains no results of this package that can be read" in capsys.readouterr().err
