"""The same replies give the same numbers, and the same items the same prompts, wherever they are run."""

import json
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Run, write_rows
from item_values import check_items
from judges import figures
from mock_models import saying
from programs import shown_stderr
from shared_runs import ChatReplayLM, mixed_replies

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.tasks import build, registry
from halu_tasks.tasks.prompting import worked_examples

TASKS = registry()[0]


class Keeper(ChatReplayLM):
    """An lm-eval model that keeps what it is asked."""

    def __init__(self, predictions: Path) -> None:
        self.asked: dict[str, str] = {}
        super().__init__(str(predictions))

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        self.asked |= {request.doc["id"]: request.args[0] for request in requests}
        return super().generate_until(requests, disable_tqdm)


class WithoutSystemRole(Keeper):
    """Its chat template has no system role: lm-eval's classes for weights then leave the system text out."""

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return super().apply_chat_template([turn for turn in chat_history if turn["role"] != "system"])


def check_accs(accs: set[float | None], n: int, *, judged: bool) -> None:
    """Assert that items have a value unless they are judged, and of more than a few items every one."""
    assert accs == {None} if judged else None not in accs and ({0, 1} <= accs or n < 9)


def check_figures(scored: dict[str, Any], in_lm_eval: dict[str, Any], log: Any) -> None:
    """Assert that both harnesses report what `score` does: values, intervals and errors."""
    # without a judge, a judged task may have the shares of replies without an answer alone
    assert len(set(scored["metrics"].values())) > 1 or scored["metrics"].keys() <= {*NO_ANSWER}
    in_inspect = figures(log)
    for name, value in scored["metrics"].items():
        assert in_lm_eval[f"{name},none"] == in_inspect[name] == value, name
        if name in scored["intervals"]:
            assert [in_inspect[f"{name}_low"], in_inspect[f"{name}_high"]] == scored["intervals"][name]
            assert in_lm_eval[f"{name}_stderr,none"] == shown_stderr(in_inspect[f"{name}_stderr"])


def turns_in(log: Any) -> dict[str, list[dict[str, str]]]:
    return {
        str(sample.id): [{"role": message.role, "content": message.text} for message in sample.input]
        for sample in log.samples
    }


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_with_examples_the_same_bytes_are_asked_and_the_same_replies_give_the_same_numbers_everywhere(
    task: str, tmp_path: Path, capsys: Capture, run_lm_eval: Run, run_inspect: Run
) -> None:
    """A run of each harness serves both: runs are what takes the time here."""
    rows = mixed_replies(task)
    predictions = write_rows(tmp_path / "predictions.jsonl", rows)

    assert main(["score", task, str(predictions), "--data", "sample", "--scoring", "paper", "--json"]) in (0, 3)
    scored = json.loads(capsys.readouterr().out)
    assert scored["missing"] > 0 or len(rows) < 8
    evaluation = build(task, Options(data="sample"))
    assert scored["n"] == len(evaluation.items)
    # a new benchmark may have no worked examples
    fewshot = min(2, len(worked_examples(evaluation.task, evaluation.options, evaluation.prompt)))
    keeper = Keeper(predictions)
    chat = {"num_fewshot": fewshot, "apply_chat_template": True, "fewshot_as_multiturn": True}
    run = run_lm_eval([task], keeper, {"halu_scoring": "paper"}, **chat)
    options = {"scoring": "paper", "fewshot": fewshot}
    log = run_inspect(task, "halu/replay", options, model_args={"predictions": str(predictions)})
    check_figures(scored, run["results"][task], log)
    accs = set(check_items(evaluation.task, log, run, "paper"))
    check_accs(accs, scored["n"], judged=bool(evaluation.task.judge_spec))

    turns = turns_in(log)
    assert {id: json.loads(asked.partition("\n")[0]) for id, asked in keeper.asked.items()} == turns
    assert all(len(own) >= 1 + 2 * fewshot for own in turns.values())


def test_no_examples_can_be_asked_for_where_a_task_has_four(run_lm_eval: Run, run_inspect: Run, tmp_path: Path) -> None:
    predictions = write_rows(tmp_path / "predictions.jsonl", mixed_replies("factchd_4shot"))
    keeper = Keeper(predictions)
    run_lm_eval(["factchd_4shot"], keeper, num_fewshot=0, apply_chat_template=True, limit=2)
    log = run_inspect("factchd_4shot", "halu/oracle", {"fewshot": 0}, limit=2)
    in_lm_eval = [json.loads(asked.partition("\n")[0]) for asked in keeper.asked.values()]
    assert [[turn["role"] for turn in turns] for turns in in_lm_eval] == [["system", "user"]] * 2
    assert [[message.role for message in sample.input] for sample in log.samples] == [["system", "user"]] * 2


def test_where_a_chat_template_has_no_system_role_its_text_stands_before_the_first_user_turn(
    run_lm_eval: Run, run_inspect: Run, tmp_path: Path
) -> None:
    def rendered(said: list[Any], tools: list[Any]) -> str:
        if said[0].role == "system":
            raise ValueError("System role not supported")
        return said[0].text

    task, evaluation = "refact_correction", build("refact_correction", Options(data="sample", fewshot=1))
    for name in (task, "cfaith_choice"):
        write_rows(tmp_path / f"{name}.jsonl", mixed_replies(name))
    keeper = WithoutSystemRole(tmp_path)
    chat = {"num_fewshot": 1, "apply_chat_template": True, "fewshot_as_multiturn": True}
    run = run_lm_eval([task, "cfaith_choice"], keeper, **chat)
    weights = saying(lambda prompt: "hm")
    weights.api.hf_chat = rendered  # as of Inspect's provider of weights
    log = run_inspect(task, weights, {"fewshot": 1})

    turns, (example,), version = turns_in(log), evaluation.examples, evaluation.task.version
    assert {id: json.loads(asked.partition("\n")[0]) for id, asked in keeper.asked.items() if id in turns} == turns
    for item in evaluation.items:
        assert [*turns[item.id][0].values()] == ["user", f"{item.system}\n\n{example.prompt}"]
        assert [turn["content"] for turn in turns[item.id][1:]] == [example.reply, item.prompt]
    # a task without a system text is asked as ever
    assert run["versions"] == {task: f"{version}.0-sample-system_in_user", "cfaith_choice": "1.0-sample"}
    assert log.eval.task_version == f"{version}-A-sample-system_in_user-1shot"
    (record,) = log.eval.metadata["halu_tasks"]
    assert record["system_in_user"] and run["configs"][task]["metadata"]["halu_tasks"]["system_in_user"]
    assert "system_in_user" not in run["configs"]["cfaith_choice"]["metadata"]["halu_tasks"]


def test_the_system_text_of_lm_eval_itself_is_not_lost_either(run_lm_eval: Run, tmp_path: Path) -> None:
    task = "cfaith_choice"
    keeper = WithoutSystemRole(write_rows(tmp_path / "predictions.jsonl", mixed_replies(task)))
    run_lm_eval([task], keeper, apply_chat_template=True, system_instruction="Be brief.")
    assert all("Be brief.\\n\\n" in asked for asked in keeper.asked.values())


def test_without_a_chat_template_the_system_text_stands_above_the_prompt(run_lm_eval: Run, tmp_path: Path) -> None:
    evaluation = build("refact_correction", Options(data="sample", fewshot=1))
    one = tmp_path / "predictions.jsonl"
    one.write_text(json.dumps({"id": evaluation.items[0].id, "output": "hm"}) + "\n")
    keeper = Keeper(one)
    run_lm_eval(["refact_correction"], keeper, num_fewshot=1)
    ((example),) = evaluation.examples
    for item in evaluation.items:
        shown = f"{item.system}\n\n{example.prompt} {example.reply}\n\n{item.prompt}"
        assert keeper.asked[item.id] == shown


@pytest.mark.parametrize("task", TASKS)
def test_all_tasks_ask_the_same_bytes_and_give_the_same_numbers_everywhere(
    task: str, shared_runs: Any, here: Run
) -> None:
    predictions = shared_runs.predictions / f"{task}.jsonl"
    scored = json.loads(here("score", task, predictions, "--data", "sample", "--json").stdout)
    assert scored["missing"] > 0 or scored["n"] < 9
    log, rows = shared_runs.log(task), shared_runs.samples(task)
    results = shared_runs.results()
    assert results["versions"][task] == f"{float(TASKS[task].version)}-sample"
    assert scored["n"] == len(rows) == len(log.samples)
    check_figures(scored, results["results"][task], log)
    accs = set(check_items(TASKS[task], log, {"samples": {task: rows}}))
    check_accs(accs, scored["n"], judged=bool(TASKS[task].judge_spec))
    asked = {row["doc"]["id"]: row["arguments"]["gen_args_0"]["arg_0"].partition("\n")[0] for row in rows}
    assert {id: json.loads(turns) for id, turns in asked.items()} == turns_in(log)
