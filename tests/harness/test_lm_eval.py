"""lm-evaluation-harness as a user meets it: its own command line, its options, its logs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from common import Caplog, Capture, Cli, Run, write_rows
from programs import IS_LM_EVAL_0_5, LM_EVAL_OF_FEW
from programs import run as program
from shared_runs import asked_lm_eval, mixed_replies

from halu_tasks.cli import main
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.lm_eval_models import BaselineLM, OracleLM, ReplayLM
from halu_tasks.tasks import build, registry
from halu_tasks.tasks.task_registry import HEADLINE

TASKS, GROUPS = registry()


@pytest.mark.slow
def test_the_literal_command_prints_the_tasks_and_says_what_they_ran_on(tmp_path: Path) -> None:
    run = program(
        "lm_eval", "--model", "halu-oracle", "--tasks", "refact_judgment,cfaith_gen", "--log_samples",
        "--output_path", tmp_path, "--metadata", '{"halu_data": "sample"}',
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    for name in ("refact_judgment_independent", "refact_judgment_comparative", "cfaith_gen", "closer_to_correct"):
        assert name in run.stdout
    assert run.stdout.count("1.0-sample") == 3
    assert "no judge was named" in run.stderr
    assert "overrides existing task" not in run.stderr and "Duplicate" not in run.stderr


@pytest.mark.slow
def test_ls_lists_every_task_and_group_and_validate_passes() -> None:
    names = [*TASKS, *GROUPS]
    listed = program("ls", "tasks", code=LM_EVAL_OF_FEW).stdout
    for name in names:
        assert f"|{name} " in listed or f"|{name}|" in listed, name
    assert "|arc_easy" in listed
    assert program("validate", "--tasks", ",".join(names), code=LM_EVAL_OF_FEW).returncode == 0


@pytest.mark.parametrize(
    "group", [pytest.param(name, marks=[] if name in ("refact", "cfaith") else [pytest.mark.slow]) for name in GROUPS]
)
def test_a_group_is_the_unweighted_mean_of_its_members(group: str, run_lm_eval: Run) -> None:
    results = run_lm_eval([group], BaselineLM())["results"]
    is_judged = any(TASKS[member].judge_spec for member in GROUPS[group].members)
    for metric in GROUPS[group].means:
        members = [results[member].get(f"{metric},none", math.nan) for member in GROUPS[group].members]
        mean = results[group].get(f"{metric},none", math.nan)
        if metric == HEADLINE:
            assert members == [results[member][f"{TASKS[member].headline},none"] for member in GROUPS[group].members]
        # without a judge there is no rate, and then neither has the group one: no mean of two passes for three
        assert mean == pytest.approx(sum(members) / len(members)) or (is_judged and math.isnan(mean))


def test_versions_name_what_sets_a_run_apart(run_lm_eval: Run) -> None:
    metadata = {"halu_scoring": "paper", "halu_subset": "single_error", "halu_both_orders": True}
    results = run_lm_eval(["refact_judgment_comparative"], OracleLM(), metadata)
    assert results["versions"]["refact_judgment_comparative"] == "1.0-sample-paper-single_error-both_orders"
    own = results["results"]["refact_judgment_comparative"]
    assert own["acc_consistent,none"] == 1.0 and own["flip_rate,none"] == 0.0
    assert own["sample_len"] == 2 * 52


@pytest.mark.slow
def test_a_version_knows_examples_that_the_command_line_asks_for(
    run_lm_eval: Run, tmp_path: Path, caplog: Caplog
) -> None:
    row = {"query": "Q?", "response": "R.", "label": "FACTUAL", "reason": "FACTUAL.One.", "category": "Reasoning"}
    rows = ({**row, "id": str(number), "query": f"Q{number}?"} for number in range(3))
    data = {"halu_data": str(write_rows(tmp_path / "test.jsonl", rows))}
    assert run_lm_eval(["factchd"], BaselineLM(), data)["versions"]["factchd"] == "1.0-local"
    shown = run_lm_eval(["factchd"], BaselineLM(), data, num_fewshot=2)
    assert shown["versions"]["factchd"] == "1.0-local-own_examples"
    assert run_lm_eval(["factchd_4shot"], BaselineLM(), data)["versions"]["factchd_4shot"] == "1.0-local-own_examples"
    assert "worked examples are made of the package's own rows" in caplog.text
    run_lm_eval(["factchd"], BaselineLM(), {**data, "halu_part": "summarization"})
    assert "factchd has no use for halu_part" in caplog.text


def test_predict_only_keeps_replies_and_scores_nothing(run_lm_eval: Run) -> None:
    results = run_lm_eval(["refact_correction"], OracleLM(), predict_only=True)
    assert results["results"]["refact_correction"]["bypass,none"] == 999
    evaluation = build("refact_correction", Options(data="sample"))
    replies = {sample["doc"]["id"]: sample["resps"] for sample in results["samples"]["refact_correction"]}
    assert replies == {item.id: [[item.target]] for item in evaluation.items}


@pytest.mark.parametrize("predict_only", [False, True])
def test_logs_of_samples_are_scored_as_predictions(predict_only: bool, here: Cli, tmp_path: Path) -> None:
    tasks, replies = ["refact_localization_entity", "refact_judgment_comparative"], tmp_path / "replies"
    for task in tasks:
        write_rows(replies / f"{task}.jsonl", mixed_replies(task))
    asked_lm_eval(tmp_path / "results", tasks, ReplayLM(str(replies)), predict_only=predict_only)
    for task in tasks:
        (log,) = (tmp_path / "results").rglob(f"samples_{task}_*.jsonl")
        files = (replies / f"{task}.jsonl", log, log.parent)
        given, *logged = (json.loads(here("score", task, file, *_AS_JSON).stdout)["metrics"] for file in files)
        assert logged == [given, given] and 0 < given["acc"] < 1
    groups = [
        json.loads(here("score", "refact", each, "--partial", *_AS_JSON).stdout) for each in (log.parent, replies)
    ]
    assert groups[0]["tasks"].keys() == {*tasks} and groups[0]["group"] == groups[1]["group"]


def test_likelihoods_in_a_log_are_probabilities(here: Cli, tmp_path: Path) -> None:
    task = "refact_judgment_independent"
    asked_lm_eval(tmp_path, [task], OracleLM(), {"halu_probability": True}, predict_only=True)
    metrics = json.loads(here("score", task, tmp_path, *_AS_JSON).stdout)["metrics"]
    assert metrics["roc_auc"] == metrics["acc"] == 1.0 and metrics["unparsed"] == 0.0


def test_a_report_of_replies_without_scores_says_what_scores_them(here: Cli, tmp_path: Path) -> None:
    asked_lm_eval(tmp_path, ["refact_correction"], OracleLM(), predict_only=True)
    told = here("report", tmp_path, "-o", tmp_path / "report").stderr
    assert "they are made by: halu-tasks score refact_correction samples_refact_correction_" in told


_AS_JSON = ("--data", "sample", "--json")


class Watch(OracleLM):
    """Remembers what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        self.seen.extend(request.args for request in requests)
        return super().generate_until(requests, disable_tqdm)


@pytest.mark.slow
def test_a_cached_run_gives_the_same_figures(run_lm_eval: Run, tmp_path: Path) -> None:
    model, cache = Watch(), str(tmp_path / "cache")
    first, second = (run_lm_eval(["refact_localization_entity"], model, use_cache=cache) for _ in range(2))
    assert first["results"] == second["results"] and len(model.seen) == 16


@pytest.mark.slow
def test_gen_kwargs_override_the_papers_decoding(run_lm_eval: Run) -> None:
    model = Watch()
    run_lm_eval(["cfaith_tf"], model)
    assert model.seen[-1][1] == {"until": [], "max_gen_toks": 16, "do_sample": True, "temperature": 1.0, "top_p": 0.7}
    run_lm_eval(["cfaith_tf"], model, gen_kwargs={"max_gen_toks": 512})
    assert model.seen[-1][1]["max_gen_toks"] == 512 and model.seen[-1][1]["temperature"] == 1.0


@pytest.mark.slow
def test_cached_requests_do_not_hide_other_options(run_lm_eval: Run) -> None:
    plain, reasoning = Watch(), Watch()
    for model, metadata in ((plain, {}), (reasoning, {"halu_cot": True})):
        run_lm_eval(["refact_judgment_comparative"], model, metadata, cache_requests=True)
    assert "step by step" not in plain.seen[0][0] and "step by step" in reasoning.seen[0][0]


def test_mistakes_are_one_clear_line_before_anything_runs(run_lm_eval: Run) -> None:
    with pytest.raises(UsageError, match=r"unknown metadata key 'halu_scorings' \(did you mean 'halu_scoring'\?\); "):
        run_lm_eval(["refact_correction"], OracleLM(), {"halu_scorings": "paper"})
    with pytest.raises(UsageError, match="predictions=FILE"):
        ReplayLM()


def test_what_only_lm_eval_0_5_offers_is_refused_where_it_would_be_ignored(run_lm_eval: Run) -> None:
    if not IS_LM_EVAL_0_5:
        pytest.skip("lm-eval 0.4 has neither")
    with pytest.raises(UsageError, match="refact_correction has its own prompts; leave out @mcqa"):
        run_lm_eval(["refact_correction@mcqa"], OracleLM())
    with pytest.raises(UsageError, match="leave out --repeats; Inspect scores several"):
        run_lm_eval(["refact_correction"], OracleLM(), repeats=2)


def test_a_version_that_was_not_tried_is_named_at_the_start_and_after_an_error() -> None:
    code = """
import importlib.metadata, sys
importlib.metadata.version, sys.argv[0] = lambda name: "9.9", "lm_eval"
import halu_tasks.lm_eval_adapter
raise AttributeError("gone")
"""
    first, *_, error, last = program(code=code).stderr.splitlines()
    untried = "lm-eval 9.9 has not been tried with halu-tasks, which was tried with 0.4.13 and "
    assert first.startswith(untried) and error == "AttributeError: gone"
    assert last.startswith(f"halu-tasks: the error above may come from this: {untried}")


def test_replay_gives_an_empty_reply_where_the_file_has_none(run_lm_eval: Run, tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"id": next(_ids("refact_judgment_independent")), "output": "hm"}) + "\n")
    found = run_lm_eval(["refact_judgment_independent"], ReplayLM(str(path)))["results"]["refact_judgment_independent"]
    assert found["empty,none"] == 63 / 64 and found["acc,none"] == 0.0
    path.write_text("")
    with pytest.raises(DataError, match="contains no predictions"):
        run_lm_eval(["refact_judgment_independent"], ReplayLM(str(path)))


def test_a_strange_model_prompt_is_an_error_not_a_wrong_answer() -> None:
    from halu_tasks.replies.embedded import EmbeddedModel

    with pytest.raises(UsageError, match="was asked something else"):
        EmbeddedModel("oracle").reply("refact_correction", "nobody")


def test_replay_holds_a_file_to_what_score_holds_it_to(run_lm_eval: Run, tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"id": "nobody", "output": "A"}) + "\n")
    with pytest.raises(DataError, match="unknown id 'nobody'"):
        run_lm_eval(["refact_judgment_independent"], ReplayLM(str(path)))
    path.write_text(json.dumps({"id": next(_ids("refact_correction")), "output": "A"}) + "\n")
    with pytest.raises(UsageError, match="name a folder"):
        run_lm_eval(["refact_correction", "refact_localization_entity"], ReplayLM(str(path)))
    # a cache would lose the targets of replies
    with pytest.raises(UsageError, match="leave out --use_cache"):
        run_lm_eval(["refact_correction"], ReplayLM(str(path)), use_cache=str(tmp_path / "cache"))


def _ids(task: str) -> Any:
    return (item.id for item in build(task, Options(data="sample")).items)


def test_a_forgotten_prefix_is_pointed_out(run_lm_eval: Run, caplog: Caplog) -> None:
    run_lm_eval(["refact_correction"], OracleLM(), {"scoring": "paper"})
    assert "did you mean halu_scoring?" in caplog.text


def test_a_replayed_reply_and_a_missing_probability_give_what_score_gives(
    run_lm_eval: Run, run_inspect: Run, tmp_path: Path, capsys: Capture
) -> None:
    items = build("halluverse25_binary_en", Options(data="sample")).items
    rows = [{"id": item.id, "output": "Yes"} for item in items[:5]]
    rows += [{"id": item.id, "output": "hm", "probability": 0.1 * (i % 9)} for i, item in enumerate(items[5:])]
    path = write_rows(tmp_path / "predictions.jsonl", rows)
    assert main(["score", "halluverse25_binary_en", str(path), "--data", "sample", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)["metrics"]
    assert scored["no_probability"] == pytest.approx(5 / 46) and scored["unparsed"] == pytest.approx(41 / 46)
    run = run_lm_eval(["halluverse25_binary_en"], ReplayLM(str(path)), {"halu_probability": True})
    found = run["results"]["halluverse25_binary_en"]
    assert {name: found[f"{name},none"] for name in scored} == scored
    log = run_inspect("halluverse25_binary_en", "halu/replay", {"probability": True}, model_args={"predictions": path})
    assert {name: log.results.scores[0].metrics[name].value for name in scored} == scored


def test_probabilities_come_from_the_likelihoods_of_the_two_choices(run_lm_eval: Run, tmp_path: Path) -> None:
    first, *others = build("halueval_summarization", Options(data="sample")).items
    sure = {"Yes": 0.9, "No": 0.4}
    rows = [{"id": item.id, "output": item.target, "probability": sure[item.target]} for item in others]
    # a right summary that is called hallucinated with more certainty than any other
    rows.append({"id": first.id, "output": "Yes", "probability": 0.95})
    predictions = write_rows(tmp_path / "predictions.jsonl", rows)
    run = run_lm_eval(["halueval_summarization"], ReplayLM(str(predictions)), {"halu_probability": True})
    found = run["results"]["halueval_summarization"]
    assert run["versions"]["halueval_summarization"] == "1.0-sample-probability"
    # 26 rows, so 52 items and 26 * 26 pairs
    assert found["acc,none"] == pytest.approx(51 / 52) and found["roc_auc,none"] == pytest.approx(25 / 26)
    assert found["no_probability,none"] == found["unparsed,none"] == 0.0
