"""`halu-tasks run --dry-run`: what would go wrong is said before anything is run, with what to do."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Patch
from loopback import Rejected

DEAD = "http://127.0.0.1:9/v1"
TASK = ("--tasks", "refact_judgment_independent", "--data", "sample")
Tried = Callable[..., str]


@pytest.fixture
def tried(here: Any, tmp_path: Path, monkeypatch: Patch) -> Tried:
    """`tried(*arguments, status=0)` returns what is printed on the stream for commands or that for errors."""
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret-s3cret")

    def run(*arguments: str | Path, status: int = 0) -> str:
        at = [*arguments, "--"].index("--")
        done = here("run", *arguments[:at], "--dry-run", "-o", tmp_path / "out", *arguments[at:])
        assert done.returncode == status, done.stderr
        assert "s3cret" not in done.stdout + done.stderr and not (tmp_path / "out").exists()
        if status == 0:
            return str(done.stdout)
        # a first retry is said as well, where another test has not just said so
        (told,) = (line for line in done.stderr.splitlines() if "are retried" not in line)
        # only what it would cost
        assert "--tasks" not in done.stdout and "eval-set" not in done.stdout
        return str(told)

    return run


HARNESSES = pytest.mark.parametrize("harness", ["inspect", "lm_eval"])


@HARNESSES
@pytest.mark.parametrize(("reply", "found", "advice"), CASES["a_server_is_asked_one_question"])
def test_a_server_is_asked_one_question(
    serve: Any, tried: Tried, harness: str, reply: Any, found: str, advice: str
) -> None:
    server = serve(lambda request: reply)
    url = DEAD if reply is None else server.url
    arguments = ("openai-api/local/NAME", "--base-url", url, "--harness", harness, *TASK, "--limit", "3")
    told = tried(*arguments, status=0 if reply == "ready" else 2)
    if (harness, reply) == ("inspect", "ready"):
        advice = "inspect eval-set halu_tasks/refact_judgment_independent "
    assert found in told and advice in told
    assert len(server.asked) == (reply is not None) and not server.probed


@pytest.mark.slow
@HARNESSES
@pytest.mark.parametrize("options", [(), ("--fewshot", "1", "--structured", "--system-in-user")])
def test_a_server_is_asked_what_the_run_asks_first(
    serve: Any, here: Any, tmp_path: Path, harness: str, options: tuple[str, ...]
) -> None:
    server = serve(lambda request: "Final Verdict: True")
    served = ("openai-api/local/NAME", "--base-url", server.url, "--harness", harness, *TASK, "--limit", "2", *options)
    given = {"inspect": ("--temperature", "0.5"), "lm_eval": ("--gen_kwargs", "temperature=0.5,do_sample=True")}
    command = ("run", *served, "-o", tmp_path / "out")
    assert here(*command, "--dry-run", "--", *given[harness]).returncode == 0
    (first,) = server.asked
    assert here(*command, "--", *given[harness]).returncode == 0
    # this process knows that the server takes it
    assert server.asked.count(first) == 2 and len(server.asked) == 3 and not server.probed
    assert first["temperature"] == 0.5 and len(first["messages"]) == (3 if options else 2)


def rejecting(field: str) -> Callable[[dict[str, Any]], str]:
    def answer(request: dict[str, Any]) -> str:
        if field in request or (field == "system" and any(turn["role"] == field for turn in request["messages"])):
            raise Rejected(f"'{field}' is not taken")
        return "True"

    return answer


@HARNESSES
@pytest.mark.parametrize("field", ["system", "temperature", "stop", "seed"])
def test_what_a_server_rejects_is_named_with_what_helps(serve: Any, tried: Tried, harness: str, field: str) -> None:
    server = serve(rejecting(field), ready=rejecting(field))
    served = ("openai-api/local/NAME", "--base-url", server.url, "--harness", harness, *TASK)
    # Inspect sends these only if it is told to
    further = {"stop": ("--", "--stop-seqs", "5"), "seed": ("--", "--seed", "5")} if harness == "inspect" else {}
    if field in further:
        tried(*served)
    told = tried(*served, *further.get(field, ()), status=2)
    assert f"Error code: 400 - '{field}' is not taken)" in told
    assert ("rejects the system role of" in told and "add --system-in-user" in told) == (field == "system")
    if field == "system":
        tried(*served, "--system-in-user")
        assert [turn["role"] for turn in server.asked[-1]["messages"]] == ["user"]
    else:
        assert ("such as -- --gen_kwargs" if harness == "lm_eval" else "such as -- --temperature 1") in told


@HARNESSES
def test_a_server_that_rejects_only_the_first_item_is_told_of(
    serve: Any, tried: Tried, harness: str, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(request: dict[str, Any]) -> str:
        raise Rejected("too long for 10 tokens")

    served = ("openai-api/local/NAME", "--base-url", serve(answer).url, "--harness", harness)
    tried(*served, *TASK)
    assert "rejects the first item (BadRequestError: Error code: 400 - too long for 10 tokens)" in caplog.text


@HARNESSES
def test_a_schema_is_left_out_where_the_harness_does_so(serve: Any, tried: Tried, harness: str) -> None:
    server = serve(rejecting("response_format"), ready=rejecting("response_format"))
    served = ("openai-api/local/NAME", "--base-url", server.url, "--harness", harness, *TASK, "--structured")
    told = tried(*served, status=0 if harness == "inspect" else 2)
    assert "response_format" in server.asked[0] and ("'response_format'" in told) == (harness == "lm_eval")


def test_a_method_is_tried_with_what_it_asks_first(serve: Any, tried: Tried) -> None:
    server = serve(lambda request: "Yes")
    served = ("openai-api/local/NAME", "--base-url", server.url, *TASK)
    tried(*served, "--method", "chain_of_thought:system=Think aloud.")
    roles = [turn["role"] for turn in server.asked[-1]["messages"]]
    assert roles == ["system", "system", "user"] and server.asked[-1]["messages"][1]["content"] == "Think aloud."
    tried(*served, "--method", "chain_of_thought:system=Think aloud.", "--system-in-user")
    (turn,) = server.asked[-1]["messages"]
    assert turn["role"] == "user" and turn["content"].startswith("Think aloud.\n\nYou check scientific answers.")


def test_arguments_that_the_harness_does_not_know_are_refused(tried: Tried, serve: Any) -> None:
    served = ("openai-api/local/NAME", "--base-url", serve(lambda request: "True").url, *TASK)
    assert "No such option '--no-such'" in tried(*served, "--", "--no-such", status=2)
    told = tried(*served, "--harness", "lm_eval", "--", "--no-such", status=2)
    assert "unrecognized arguments: --no-such" in told


def test_models_that_answer_are_shown_beside_those_that_do_not(
    serve: Any, here: Any, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.delenv("LOCAL_API_KEY", raising=False)
    good = {"model": "openai-api/local/x", "base_url": serve(lambda request: "True").url}
    weights = {"harness": "lm_eval", "model": "hf", "arguments": {"pretrained": "a/b"}}
    models = {"good": good, "bad": {**good, "base_url": DEAD}, "weights": weights, "embedded": {"model": "halu/oracle"}}
    (tmp_path / "models.yaml").write_text(json.dumps({"models": models}))
    done = here("run", tmp_path / "models.yaml", *TASK, "--dry-run", "-o", tmp_path / "out")
    assert done.returncode == 3 and f"halu-tasks: bad: model openai-api/local/x at {DEAD} cannot" in done.stderr
    *_, first, second, third = done.stdout.splitlines()
    # Inspect's client insists on a key
    assert first.startswith("LOCAL_API_KEY=none inspect eval-set ")
    assert "--model hf " in second and "--model halu/oracle " in third


@pytest.mark.parametrize(("path", "advised"), [("/v1", ""), ("", "/v1")])
def test_a_server_without_the_responses_api_is_named_otherwise(
    serve: Any, tried: Tried, path: str, advised: str
) -> None:
    """Inspect asks `openai/gpt-5…` in that API, which few servers but OpenAI's have."""
    server = serve(lambda request: 500, paths=["/v1/chat/completions"])
    url = server.url.removesuffix("/v1") + path
    told = tried("openai/gpt-5-mine", "--base-url", url, *TASK, status=2)
    assert f"has no Responses API (404 for {path}/responses)" in told
    advice = told.partition("name the model openai-api/local/gpt-5-mine")[2]
    assert advice and (server.url in advice) == bool(advised)


@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_an_address_that_lacks_v1_is_named_with_it(serve: Any, tried: Tried, harness: str) -> None:
    server = serve(lambda request: 500, paths=["/v1/chat/completions"])
    root = server.url.removesuffix("/v1")
    told = tried("openai-api/local/NAME", "--base-url", root, "--harness", harness, *TASK, status=2)
    assert told.strip().endswith(f"/v1: {server.url}")


def test_a_model_without_files_is_one_error(tried: Tried, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (f"hf/{tmp_path}/tinyy", "hf/./tinyy", "hf/models/a/tinyy", "hf/no/such"):
        assert "there is no such folder, and its files cannot be read from the Hub" in tried(name, *TASK, status=2)


@pytest.mark.parametrize("installed", [True, False])
def test_a_model_that_would_be_loaded_is_not_asked(
    tried: Tried, tmp_path: Path, installed: bool, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("halu_tasks.core.errors.find_spec", lambda module: module if installed else None)
    told = tried(f"hf/{tmp_path}", *TASK, status=0 if installed else 2)
    assert ("lm_eval run --model hf " if installed else 'pip install "lm-eval[hf]"') in told


def test_a_missing_key_and_a_judge_that_does_not_answer_are_one_error_each(tried: Tried, monkeypatch: Patch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    judge = ("--judge", "openai-api/local/JUDGE", "--judge-base-url", DEAD)
    assert "No OPENAI_API_KEY" in tried("openai/gpt-4o", "--tasks", "cfaith_tf", "--data", "sample", status=2)
    assert "JUDGE" in tried("halu/oracle", "--tasks", "fave", "--data", "sample", *judge, status=2)


def test_a_judged_task_without_a_judge_is_warned_of(here: Any, tmp_path: Path) -> None:
    done = here("run", "halu/oracle", "--tasks", "fave", "--data", "sample", "--dry-run", "-o", tmp_path / "out")
    assert done.returncode == 0 and "share_cited" in done.stderr and "fave: no judge was named" in done.stderr
