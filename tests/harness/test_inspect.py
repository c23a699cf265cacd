"""Inspect as a user meets it: its command line, epochs, groups, rescoring, resuming."""

import itertools
import math
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Caplog, Capture, Patch, Run
from inspect_ai import score as inspect_score
from inspect_ai._eval.task import run as task_run
from inspect_ai.log import headline_metric, read_eval_log
from inspect_ai.model import get_model
from inspect_ai.scorer import match
from judges import figures
from loopback import completion
from mock_models import saying
from programs import run

from halu_tasks.core.errors import ArgumentError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.inspect_adapter.inspect_scorer import halu_score
from halu_tasks.results.inspect_logs import read_runs
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.statistics.confidence import with_confidence
from halu_tasks.tasks import build, registry
from halu_tasks.tasks.task_registry import HEADLINE

TASKS, GROUPS = registry()
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=() if task == "factchd" else pytest.mark.slow) for task in TASKS]
)
def test_the_oracle_reaches_the_ceiling(task: str, run_inspect: Run) -> None:
    log = run_inspect(task, "halu/oracle")
    scorer = TASKS[task].scorers["strict"]  # the oracle is sure of its labels
    metrics = with_confidence(scorer.metrics, scorer.facts) if "correct" in scorer.facts else scorer.metrics
    higher_is_better = {metric.name: metric.higher_is_better for metric in metrics}
    for name, value in figures(log).items():
        if not name.endswith(("_stderr", "_low", "_high")) and higher_is_better[name] is not None:
            assert value == float(higher_is_better[name]), name
    headline = log.results.headline
    judged = TASKS[task].judge_spec
    assert headline.metric == (judged.unjudged if judged else TASKS[task].headline)
    values = {sample.scores["halu_score"].value for sample in log.samples}
    assert values == ({"N"} if judged else {"C"})


@pytest.mark.parametrize(
    "group", ["cfaith", *(pytest.param(name, marks=pytest.mark.slow) for name in GROUPS if name != "cfaith")]
)
def test_a_group_asks_every_item_of_every_member_and_reports_the_mean(group: str, run_inspect: Run) -> None:
    log = run_inspect(group, "halu/baseline")
    found = figures(log)
    for metric in GROUPS[group].means:
        names = [f"{name}.{TASKS[name].headline if metric == HEADLINE else metric}" for name in GROUPS[group].members]
        members = list(map(found.get, names))
        if None in members:
            assert metric not in found and any(TASKS[name].judge_spec for name in GROUPS[group].members)
        else:
            assert found[metric] == pytest.approx(sum(members) / len(members))
            # the sample has few items of some classes, for which no interval is given
            known = all(f"{name}_low" in found for name in names)
            assert known == (f"{metric}_low" in found)
            assert known or metric == "f1_macro"
            if known:
                low, high = found[f"{metric}_low"], found[f"{metric}_high"]
                assert low <= found[metric] <= high and low < high
    asked = {sample.metadata["task"] for sample in log.samples}
    assert asked == set(GROUPS[group].members)


def test_a_log_can_be_scored_again_without_the_data(run_inspect: Run, monkeypatch: Patch) -> None:
    log = run_inspect("refact_judgment_comparative", "halu/baseline")
    monkeypatch.setenv("HALU_TASKS_DATA", "/nowhere")
    again = inspect_score(log, halu_score(scoring="strict"), action="overwrite")
    assert figures(again) == figures(log)


def test_probabilities_come_from_the_log_probabilities_of_a_server(serve: Run, run_inspect: Run) -> None:
    hallucinated = {
        item.prompt for item in build("halueval_summarization", Options(data="sample")).items if item.target == "Yes"
    }

    asked: list[Any] = []

    def token(text: str, **others: float) -> dict[str, Any]:
        listed = [{"token": other, "logprob": math.log(p), "bytes": None} for other, p in {text: 1.0, **others}.items()]
        return {**listed[0], "logprob": math.log(others.get(text, 1.0)), "top_logprobs": listed[1:]}

    def reply(request: dict[str, Any]) -> Any:
        asked.append((request.get("logprobs"), request.get("top_logprobs")))
        # always No, but with less certainty where the summary is hallucinated; a word in the reply is no verdict
        sure = 0.6 if request["messages"][-1]["content"] in hallucinated else 0.8
        tokens = [token("Answer"), token(":"), token(" No", **{" No": sure, " Yes": 0.9 - sure, "yes": 0.1})]
        return "Answer: No", tokens

    log = run_inspect("halueval_summarization", "openai/gpt-4o", {"probability": True}, model_base_url=serve(reply).url)
    assert set(asked) == {(True, 20)}
    found = figures(log)
    assert (found["acc"], found["roc_auc"], found["no_probability"]) == (0.5, 1.0, 0.0)
    told = {sample.scores["halu_score"].metadata["halu_tasks"]["facts"]["probability"] for sample in log.samples}
    assert sorted(told) == pytest.approx([0.2, 0.4])


def test_options_show_in_version_and_metadata(run_inspect: Run) -> None:
    options = {"scoring": "paper", "fewshot": 2, "cot": True, "seed": 7}
    log = run_inspect("refact_judgment_comparative", "halu/oracle", options)
    assert log.eval.task_version == "1-A-sample-paper-seed7-cot-2shot"
    assert options.items() <= log.eval.metadata["halu_tasks"][0].items()


@pytest.mark.slow
def test_an_argument_that_a_solver_or_scorer_has_not_is_told_in_one_line(tmp_path: Path) -> None:
    command = (
        "inspect_ai",
        "eval",
        "halu_tasks/halueval_summarization",
        "-T",
        "data=sample",
        "--model",
        "halu/baseline",
    )
    ended = run(*command, "--solver", "halu_tasks/selfcheck_prompt", "-S", "sample=5", folder=tmp_path)
    assert ended.returncode != 0 and "Traceback" not in ended.stderr
    told = "halu-tasks: selfcheck_prompt: unknown argument 'sample' (did you mean 'samples'?); known: samples, "
    assert any(line.startswith(told) for line in ended.stderr.splitlines())
    # which `inspect score` would take for a scorer that cannot be loaded, were they a ValueError
    for wrong, told in (
        ({"scorin": "paper"}, "'scorin' (did you mean 'scoring'?)"),
        ({"scoring": "papre"}, "expected 'strict' or 'paper'"),
    ):
        with pytest.raises(ArgumentError) as raised:
            halu_score(**wrong)
        assert told in str(raised.value) and not isinstance(raised.value, ValueError)


@pytest.mark.slow
def test_the_command_line_overrides_the_papers_decoding(run_inspect: Run) -> None:
    assert run_inspect("cfaith_tf", "halu/oracle").plan.config.max_tokens == 16
    config = run_inspect("cfaith_tf", "halu/oracle", max_tokens=512).plan.config
    assert (config.max_tokens, config.temperature, config.top_p) == (512, 1.0, 0.7)


@pytest.mark.parametrize(("task", "option", "message"), CASES["a_misspelt_option_is_an_error"])
def test_a_misspelt_option_is_an_error(task: str, option: str, message: str, run_inspect: Run) -> None:
    with pytest.raises(UsageError) as raised:
        run_inspect(task, "halu/oracle", {option: "x"})
    assert str(raised.value).startswith(message)


def test_an_option_of_other_tasks_is_warned_of(run_inspect: Run, caplog: Caplog) -> None:
    """So that a file of tasks can be run whole with an option of one of them."""
    log = run_inspect("refact_correction", "halu/oracle", {"both_orders": True})
    assert log.eval.task_version == "2-A-sample"
    assert "refact_correction has no use for both_orders" in caplog.text


def test_unreadable_replies_are_told_by_how_they_ended_in_a_line_of_their_own(
    serve: Run, openai: Run, run_inspect: Run, capsys: Capture
) -> None:
    said = itertools.count()

    def reply(request: dict[str, Any]) -> dict[str, Any]:
        # the first request is asked twice: before the run, to see whether the server takes it
        finish = "length" if next(said) < 5 else "stop"
        return completion({"content": "Perhaps."}, finish_reason=finish)

    log = run_inspect("factchd", openai(serve(reply)), {"fewshot": 2}, limit=10)
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "readable" in line)
    told = (
        "10 of 10 replies (100.0%, 4 cut by the token limit, 6 ended by themselves) contain no readable answer "
        "(unparsed) and count as wrong; look at the replies; for those that were cut, raise the token limit "
        "(--max-tokens N; in halu-tasks run after --); for those that ended by themselves, ask for JSON (-T "
        "structured=true; halu-tasks run --structured)"
    )
    assert line == f"halu-tasks: factchd: {told}"
    # the report says the same of the log, which has why each reply ended
    ((share, meaning),) = read_runs(log.location)[0].reply_warnings
    assert f"{share} {meaning}" == told


def test_an_unknown_embedded_model_says_which_there_are() -> None:
    with pytest.raises(UsageError, match="known: halu/oracle, halu/baseline, halu/replay"):
        get_model("halu/gold")


def in_turn(replies: list[str]) -> Any:
    """A model with these replies in turn."""
    said = itertools.cycle(replies)
    return saying(lambda prompt: next(said))


@pytest.mark.slow
def test_hostile_replies_are_counted_and_survive_the_log(run_inspect: Run) -> None:
    hostile = ["\x00\x07\x1b[31m", "\u202e\u2066Final Verdict: B", "<think>" + "x" * 1000, "A" * 1_000_000, ""]
    log = read_eval_log(run_inspect("refact_judgment_comparative", in_turn(hostile)).location)
    assert len(log.samples) == 32 and figures(log)["empty"] > 0
    assert {"unclosed reasoning", "empty"} <= {sample.scores["halu_score"].explanation for sample in log.samples}


def test_a_reply_without_an_answer_stays_in_the_denominator_of_the_figure_that_the_view_shows(
    run_inspect: Run, caplog: Caplog, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(
        task_run, "update_metrics_display_fn", partial(task_run.update_metrics_display_fn, min_interval=0)
    )
    said = ["Final Verdict: True", "I cannot determine whether this is correct.", "Perhaps.", ""]
    log = run_inspect("refact_judgment_independent", in_turn(said), limit=8, max_connections=1)
    (scores,) = log.results.scores
    assert (scores.scored_samples, scores.unscored_samples) == (8, 0)
    values = [sample.scores["halu_score"].value for sample in log.samples]
    shown = headline_metric(log)
    assert (shown.name, shown.metric.value) == ("acc", values.count("C") / 8) and set(values) == {"C", "I"}
    (run_read,) = read_runs(log.location)
    acc = TASKS["refact_judgment_independent"].headline_metric("strict")
    assert estimates([acc], [answer.score for answer in run_read.answers])["acc"].value == shown.metric.value
    reasons = Counter(sample.scores["halu_score"].reason for sample in log.samples)
    assert reasons == {None: 2, "refusal": 2, "invalid_response_format": 2, "no_response": 2}
    # once, at the end, although figures were shown in between
    assert (told := capsys.readouterr().err).count("contain no readable answer") == 1
    assert "2 of 8 replies (25.0%, 2 ended by themselves) contain no readable answer" in told
    # of a scorer that is added, Inspect's own accuracy is no headline
    again = headline_metric(inspect_score(log, match(), action="append"))
    assert (again.score.scorer, again.name, again.metric.value) == ("halu_score", "acc", shown.metric.value)
    assert "Headline" not in caplog.text


@pytest.mark.slow
def test_none_is_shown_as_an_answer_and_not_as_an_unparsed_reply(run_inspect: Run) -> None:
    said = [
        "There are no hallucinated passages in the answer.",
        "I cannot determine which passages are wrong.",
        "<think>",
    ]
    log = run_inspect("halueval_general_localization", in_turn(said), limit=3, max_connections=1)
    scores = [score for sample in log.samples for score in sample.scores.values()]
    outcomes = {score.metadata["halu_tasks"]["outcome"]: score.answer for score in scores}
    assert outcomes == {"answered": "[]", "abstained": None, "unparsed": None}
    assert figures(log)["abstained"] == figures(log)["unparsed"] == pytest.approx(1 / 3)


def test_the_file_of_a_task_in_a_checkout_is_its_name_elsewhere(tmp_path: Path) -> None:
    command = ["inspect", "eval", "halu_tasks/halluverse.py", "--model", "halu/oracle", "-T", "data=sample"]
    ended = subprocess.run(
        [*command, "--limit", "3", "--display", "plain"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    line = "halu-tasks: halu_tasks/halluverse.py is not in this folder; running halu_tasks/halluverse, "
    assert line in ended.stderr and "halluverse25_en" in ended.stdout
