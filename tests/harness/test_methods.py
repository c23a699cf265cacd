"""`halu-tasks methods`: what is asked, what it costs, and what a second run asks again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log

from halu_tasks.cli import main
from halu_tasks.cli.results.methods import parse_methods
from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.inspect_adapter.methods import Method
from halu_tasks.tasks import build

pytestmark = pytest.mark.slow

TASK = "halueval_summarization"
ITEMS = build(TASK, Options(data="sample")).items
ROOT = Path(__file__).resolve().parents[2]
REASONED = "factored_verification:how=reasoned"


def kind(request: dict[str, Any]) -> str:
    asked = str(request["messages"][-1]["content"])
    return "list" if "The claims are:" in asked else "check" if "Supported:" in asked else "plain"


def reply(request: dict[str, Any]) -> str:
    """Two claims a text; the first of them is supported, and every summary is called right."""
    asked = str(request["messages"][-1]["content"])
    text = asked.rpartition("Text:\n")[2].partition("\n")[2].rpartition("\n")[0].strip()
    first, second = text[:30].replace("\n", " "), text[-30:].replace("\n", " ")
    answers = {"list": f"The claims are:\n- {first} A.\n- {second} B.", "plain": "No"}
    return answers.get(kind(request), f"Reasoning: none.\nSupported: {'Yes' if ' A.' in asked else 'No'}")


@pytest.fixture
def methods(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """`halu-tasks methods` against a server; its exit status and what it wrote on both streams."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "replies"))

    def call(server: Any, *arguments: str, task: str = TASK, data: str = "sample") -> tuple[int, str, str]:
        capsys.readouterr()
        folder = () if "--log-dir" in arguments else ("--log-dir", str(tmp_path / "logs"))
        status = main(
            ["methods", task, *arguments, "--data", data, "--model", "openai/gpt-4o", "--model-base-url", server.url,
             "-M", "responses_api=false", "--display", "none", *folder]
        )  # fmt: skip
        return status, *capsys.readouterr()

    return call


Call = Callable[..., tuple[int, str, str]]


def shown(result: tuple[int, str, str]) -> dict[str, Any]:
    """What `--json` printed, and nothing beside it."""
    assert result[0] == 0, result[2]
    return dict(json.loads(result[1]))


def test_costs_are_what_the_server_saw_and_a_rerun_asks_nothing(methods: Call, serve: Any, tmp_path: Path) -> None:
    server = serve(reply)
    first = shown(methods(server, REASONED, "--json"))
    asked = [kind(request) for request in server.asked]
    assert [own["method"] for own in first["results"]] == ["plain prompt", REASONED]
    costs = [own["cost"] for own in first["results"]]
    assert [cost["calls"] for cost in costs] == [asked.count("plain"), asked.count("list") + asked.count("check")]
    assert asked.count("plain") == asked.count("list") == len(ITEMS)
    for cost in costs:
        # the server says of each call that it took one token in and one out
        assert cost["input_tokens"] == cost["output_tokens"] == cost["calls"] and cost["wall_seconds"] > 0
    # every text has an unsupported claim, so the method calls all hallucinated, and the prompt none
    assert [own["metrics"]["acc"]["value"] for own in first["results"]] == [0.5, 0.5]
    assert first["pairs"][0]["value"] == 0
    again = shown(methods(server, REASONED, "--json"))
    assert len(server.asked) == len(asked)
    assert again["results"] == first["results"]
    # another method beside those that are there: only it is asked, and nothing twice
    third = shown(methods(server, "plain", REASONED, "factored_verification:how=reasoned,threshold=0.9", "--json"))
    assert len(server.asked) == len(asked)
    assert [own["metrics"] for own in third["results"][:2]] == [own["metrics"] for own in first["results"]]
    assert third["results"][2]["method"] == "factored_verification:how=reasoned,threshold=0.9"
    assert third["results"][2]["cost"]["calls"] == 0 < third["results"][2]["cost"]["cached_calls"]
    assert len([*(tmp_path / "logs").glob("*.eval")]) == 3
    # and compare gives of the folder what methods gave
    assert main(["compare", str(tmp_path / "logs"), "--json"]) == 0


def test_a_higher_limit_asks_only_the_rest(methods: Call, serve: Any) -> None:
    server = serve(reply)
    first = shown(methods(server, "plain", "--limit", "10", "--json"))
    assert first["columns"][0]["n"] == len(server.asked) == 10 and first["pairs"] == []
    assert shown(methods(server, "plain", "--json"))["columns"][0]["n"] == len(server.asked) == 52
    prompts = [request["messages"][-1]["content"] for request in server.asked]
    assert len(set(prompts)) == 52
    # a lower one has to do with the log that is there, and then nothing compares
    status, out, err = methods(server, REASONED, "--limit", "10")
    assert status == 2 and out == "" and "10 items, not 52" in err


def test_in_another_folder_the_cache_answers(methods: Call, serve: Any, tmp_path: Path) -> None:
    server = serve(reply)
    shown(methods(server, "plain", "--json"))
    found = shown(methods(server, "plain", "--json", "--log-dir", str(tmp_path / "others")))
    assert len(server.asked) == 52
    assert (found["results"][0]["cost"]["calls"], found["results"][0]["cost"]["cached_calls"]) == (0, 52)


def test_the_table_is_all_that_is_on_standard_output(methods: Call, serve: Any) -> None:
    status, out, _ = methods(serve(reply), REASONED, "--metric", "acc", "--metric", "recall", "--split", "train5")
    assert status == 0
    assert out.startswith(f"{TASK} 1-sample-train5  scoring: strict  data: sample  2 items\n\nmodel  ")
    assert f"gpt-4o ({REASONED})  0.5000" in out and "-1.0000" in out


def test_roles_are_a_methods_and_not_the_plain_prompts(methods: Call, serve: Any) -> None:
    server, checks = serve(reply), serve(reply)
    given = (
        f"model: openai/gpt-4o-mini, base_url: '{checks.url}', temperature: 0.5, model_args: {{responses_api: false}}"
    )
    role = f"verifier={{{given}}}"
    arguments = (REASONED, "--limit", "4", "--model-role", role, "--json")
    found = shown(methods(server, *arguments))
    assert {kind(request) for request in server.asked} == {"plain", "list"}
    assert {kind(request) for request in checks.asked} == {"check"}
    assert {(request["model"], request["temperature"]) for request in checks.asked} == {("gpt-4o-mini", 0.5)}
    assert [own["roles"] for own in found["entries"]] == [{}, {"verifier": "openai/gpt-4o-mini"}]
    assert found["results"][1]["cost"]["calls"] == 4 + len(checks.asked)
    asked = len(server.asked) + len(checks.asked)
    shown(methods(server, *arguments))
    assert len(server.asked) + len(checks.asked) == asked


def test_a_method_that_fails_leaves_the_others(methods: Call, serve: Any, tmp_path: Path) -> None:
    server = serve(reply)
    task = "refact_judgment_independent"
    status, out, err = methods(server, "factored_verification", task=task)
    assert status == 2 and out == ""
    assert "factored_verification ended as error: factored_verification needs the source of each item, and" in err
    assert f"1 of 2 methods failed (above); {tmp_path / 'logs'} keeps what is finished, and the same command" in err
    broken = True

    def partly(request: dict[str, Any]) -> str | int:
        return 400 if broken and kind(request) == "check" else reply(request)

    server = serve(partly)
    # few items: Inspect takes a third of a second to render an error
    again = ("factored_verification:how=reasoned", "factored_verification:how=samples,samples=2", "--limit", "8")
    status, out, err = methods(server, *again, "--log-dir", str(tmp_path / "other"))
    assert status == 2 and err.count("ended as error: BadRequestError('Error code: 400") == 2
    broken = False
    plain = sum(kind(request) == "plain" for request in server.asked)
    found = shown(methods(server, *again, "--log-dir", str(tmp_path / "other"), "--json"))
    assert len(found["results"]) == 3 and sum(kind(request) == "plain" for request in server.asked) == plain == 8


def test_other_data_under_the_same_name_are_refused(methods: Call, serve: Any, tmp_path: Path) -> None:
    server, file = serve(reply), tmp_path / "summarization_data.json"
    text = (SAMPLE / "halueval" / file.name).read_text()
    file.write_text(text)
    shown(methods(server, "plain", "--json", data=str(file)))
    file.write_text(text + "\n")
    status, out, err = methods(server, "plain", data=str(file))
    assert status == 2 and out == "" and "used other data than" in err and "choose another --log-dir" in err


def test_options_of_the_task_and_of_inspect_reach_it(methods: Call, serve: Any, tmp_path: Path) -> None:
    server = serve(reply)
    arguments = ("plain", "--limit", "2", "--scoring", "paper", "-T", "fewshot=2", "--max-connections", "1")
    found = shown(methods(server, *arguments, "--json"))
    assert found["columns"][0]["scoring"] == "paper" and found["results"][0]["version"] == "1-sample-paper-2shot"
    (log,) = (tmp_path / "logs").glob("*.eval")
    header = read_eval_log(str(log), header_only=True)
    assert header.eval.model_generate_config.max_connections == 1 or header.plan.config.max_connections == 1
    assert len(server.asked[0]["messages"]) >= 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["selfcheck_nothing"], "unknown method 'selfcheck_nothing' (did you mean 'selfcheck_"),
        (["asking"], "unknown method 'asking'"),
        (["plain:a=1"], "the plain prompt has no arguments"),
        (["factored_verification:howe=x"], "has no argument 'howe' (did you mean 'how'?); arguments: how, samples"),
        (["selfcheck_prompt:sample=5"], "selfcheck_prompt has no argument 'sample' (did you mean 'samples'?)"),
        (["selfcheck_prompt:samples=many"], "selfcheck_prompt: argument samples='many' is not an integer"),
        (["selfcheck_prompt:cache=1"], "selfcheck_prompt: argument cache=1 is not true or false"),
        (["factored_verification:how=x"], "option how='x' is unknown; choose auto or logprobs"),
        (["factored_verification:samples"], "expected KEY=VALUE, got 'samples'"),
        ([REASONED, "factored_verification:how=reasoned"], "is named twice"),
        (["plain", "-T", "data_file=x"], "-T data_file: unknown option"),
        (["plain", "-T", "probability=maybe"], "option probability: expected true or false, got 'maybe'"),
        (["plain", "--subset", "single_error"], f"task {TASK} has no option --subset"),
        (
            ["plain", "--metric", "accuracy"],
            f"{TASK} has no metric 'accuracy' in strict (did you mean 'auprc'?); metrics: acc, ",
        ),
        (["plain", "--model-role", "verifier=nope/x"], "model nope/x: Model API nope of model 'nope/x' not recognized"),
        (["plain", "--model-role", "verifier"], "--model-role: expected KEY=VALUE, got 'verifier'"),
        (["plain", "-M", "base_url=x"], "model openai/gpt-4o: "),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_asked(
    arguments: list[str], message: str, methods: Call, serve: Any, tmp_path: Path
) -> None:
    server = serve(reply)
    status, out, err = methods(server, *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err
    assert not server.asked and not (tmp_path / "logs").exists()


def test_arguments_of_methods_are_read_as_inspect_reads_them() -> None:
    name = "factored_verification"
    given = f"{name}:how=samples,samples=3,temperature=0.5,cache=false"
    assert parse_methods([given]) == [
        Method("plain", {}),
        Method(name, {"how": "samples", "samples": 3, "temperature": 0.5, "cache": False}),
    ]
    assert parse_methods([name, "plain"]) == [Method("plain", {}), Method(name, {})]
    with pytest.raises(UsageError, match="is named twice"):
        parse_methods(["plain", "plain"])


def test_what_is_done_when_it_is_broken_off_is_not_asked_again(serve: Any, tmp_path: Path) -> None:
    interrupted = threading.Event()

    def held(request: dict[str, Any]) -> Any:
        # the 61st reply waits until the run is interrupted, however slow the machine is
        return reply(request) if len(server.asked) <= 60 or interrupted.wait(600) else 500

    server = serve(held)
    command = [
        sys.executable, "-m", "halu_tasks", "methods", TASK, REASONED, "--data", "sample", "--model", "openai/gpt-4o",
        "--model-base-url", server.url, "-M", "responses_api=false", "--display", "plain", "--max-connections", "1",
        "--log-dir", str(tmp_path / "logs"),
    ]  # fmt: skip
    environment = os.environ | {"OPENAI_API_KEY": "none", "INSPECT_CACHE_DIR": str(tmp_path / "replies")}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as begun:
        while len(server.asked) < 61 and begun.poll() is None:
            time.sleep(0.05)
        begun.send_signal(signal.SIGINT)
        out, err = begun.communicate(timeout=600)
        interrupted.set()
    assert begun.returncode == 130 and out == b"", err.decode()
    assert re.search(rb"interrupted; .* keeps what is finished, and the same command continues from there", err)
    assert len(server.asked) == 61
    whole = subprocess.run([*command, "--json"], cwd=ROOT, env=environment, capture_output=True, timeout=600)
    found = json.loads(whole.stdout)
    assert [own["n"] for own in found["results"]] == [52, 52]
    # one call was under way when it was broken off, and is made again
    prompts = [request["messages"][-1]["content"] for request in server.asked]
    assert len(prompts) - len(set(prompts)) <= 1
