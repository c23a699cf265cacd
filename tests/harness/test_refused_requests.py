"""Requests that a server refuses or filters: an outcome of its own, in both harnesses, that costs no other reply."""

import json
from pathlib import Path
from typing import Any

import pytest
from common import Patch
from judges import figures, questions, verdict
from loopback import Rejected, completion
from shared_runs import asked

from halu_tasks.cli import main
from halu_tasks.core.errors import ModelError
from halu_tasks.core.options import Options
from halu_tasks.results.read import read_results
from halu_tasks.tasks import build

TASK = "refact_judgment_independent"
RIGHT = {item.prompt: item.target for item in build(TASK, Options(data="sample")).items}
LONG = sorted(RIGHT, key=len)[-2:]
"""The prompts that the server refuses."""


def filtered(request: dict[str, Any]) -> dict[str, Any]:
    return completion({"content": "Final Verdict: True, and"}, finish_reason="content_filter")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harness", "status", "said"),
    [("inspect", 400, "too long"), ("lm_eval", 400, "too long"), ("lm_eval", 403, "stopped by the content filter")],
)
def test_the_other_replies_are_reported_and_nothing_is_asked_twice(
    serve: Any, here: Any, tmp_path: Path, harness: str, status: int, said: str
) -> None:
    def by_length(request: dict[str, Any]) -> str:
        """Answer rightly, and refuse the two longest prompts."""
        prompt = request["messages"][-1]["content"]
        if prompt in LONG:
            raise Rejected(said, status)
        return f"Final Verdict: {RIGHT[prompt]}"

    server = serve(by_length)
    command = ["run", "openai-api/local/NAME", "--base-url", server.url, "--harness", harness, "--tasks", TASK]
    command += ["--data", "sample", "-o", tmp_path / "out"]
    done = here(*command)
    assert done.returncode == 0 and "the same command continues" not in done.stderr, done.stderr
    ids = sorted(item.id for item in build(TASK, Options(data="sample")).items if item.prompt in LONG)
    (line,) = (line for line in done.stderr.splitlines() if "failed" in line)
    assert "2 of 64 requests (3.1%) failed (" in line and said in line and all(id in line for id in ids)
    (run,) = read_results([str(tmp_path / "out")]).runs
    assert sorted(answer.item.id for answer in run.answers if answer.score.outcome == "failed") == ids
    assert run.figures["acc"].value == 62 / 64 and run.figures["failed"].value == 2 / 64
    assert run.figures["unparsed"].value == run.figures["empty"].value == 0
    times = len(server.asked)
    # the first item's request is also made before the run
    assert here(*command).returncode == 0 and len(server.asked) == times == 65
    content = json.loads((tmp_path / "out" / "report" / "report.json").read_text())
    assert content["results"][0]["failed"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_what_a_filter_left_of_a_reply_is_not_read(serve: Any, here: Any, tmp_path: Path, harness: str) -> None:
    served = ("openai-api/local/NAME", "--base-url", serve(filtered).url, "--harness", harness)
    done = here("run", *served, "--tasks", TASK, "--data", "sample", "--limit", "4", "-o", tmp_path / "out")
    assert done.returncode == 0 and "4 of 4 requests (100.0%) failed (content_filter)" in done.stderr, done.stderr


def test_a_judge_is_not_asked_about_a_refusal(serve: Any, run_inspect: Any, openai: Any) -> None:
    judge = serve(lambda request: verdict("consistent"))
    options = {"judge": "openai/gpt-4o", "judge_base_url": judge.url}
    log = run_inspect("fave", openai(serve(filtered)), options, limit=3)
    assert log.status == "success" and figures(log)["failed"] == 1 and figures(log)["acc"] == 0
    assert questions(judge) == 0


@pytest.mark.parametrize("answer", [filtered, lambda request: 400])
def test_a_method_does_not_read_a_refusal(run_method: Any, answer: Any) -> None:
    log = run_method("halueval_summarization", "self_consistency", answer, limit=2, samples=2)
    assert log.status == "success" and figures(log)["failed"] == 1 and figures(log)["acc"] == 0


SAID = [
    (403, "Your input was flagged, and this model requires moderation", True),
    (403, "The key has no access to this model", False),
    (500, "the request exceeds the available context size", True),
    (500, "out of memory", False),
]


@pytest.mark.parametrize(("status", "said", "refused"), SAID)
def test_a_status_of_several_meanings_is_a_refusal_where_the_server_says_so(
    status: int, said: str, refused: bool, serve: Any, run_inspect: Any, openai: Any, monkeypatch: Patch
) -> None:
    # Inspect tries again after a 500, and nobody need wait seconds for that here
    monkeypatch.setattr("tenacity.wait_exponential_jitter.__call__", lambda *_: 0.0)

    def answer(request: dict[str, Any]) -> str:
        raise Rejected(said, status)

    def asked() -> Any:
        return run_inspect(TASK, openai(serve(answer)), limit=2, max_retries=1)

    if refused:
        log = asked()
        assert log.status == "success" and figures(log)["failed"] == 1
        assert all(said in sample.scores["halu_score"].explanation for sample in log.samples)
    else:
        with pytest.raises(ModelError, match=said):
            asked()


def test_another_error_still_ends_the_run(serve: Any, run_inspect: Any, openai: Any) -> None:
    replies = iter(["True"])  # to the request that is made before the run
    assert run_inspect(TASK, openai(serve(lambda request: next(replies, 401))), limit=2).status == "error"


def test_samples_that_ended_in_an_error_are_failed_requests(tmp_path: Path, serve: Any, openai: Any) -> None:
    """Inspect leaves them out of its own figures."""
    replies = iter(["No"] * 5)  # the first to the request that is made before the run
    server = serve(lambda request: next(replies, 401))
    log = asked(tmp_path, "halueval_summarization", model=openai(server), fail_on_error=False, limit=10)
    (run,) = read_results([str(log)]).runs
    assert len(run.scores) == 10 and run.figures["failed"].value == 0.6
    assert all("401" in score.reason for score in run.scores if score.outcome == "failed")


def test_a_reducer_of_epochs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from inspect_ai import Epochs, eval

    task = f"halu_tasks/{TASK}"
    arguments: dict[str, Any] = {"model": "halu/oracle", "task_args": {"data": "sample"}, "display": "log", "limit": 1}
    (log,) = eval(task, epochs=Epochs(2, "mean"), log_dir=str(tmp_path / "logs"), **arguments)
    assert log.status == "success" and figures(log)["acc"] == 1
    with pytest.raises(ValueError, match="leave out --epochs-reducer mode,max"):
        eval(task, epochs=Epochs(2, ["mode", "max"]), log_dir=str(tmp_path / "logs"), **arguments)
    assert main(["report", str(tmp_path / "logs"), "-o", str(tmp_path / "report")]) == 0
