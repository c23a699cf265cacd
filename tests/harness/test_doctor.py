"""`halu-tasks doctor`: what is found, and what to do, with servers on loopback and without."""

from __future__ import annotations

import json
import os
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.doctor.checks import TESTED, check_version

DEAD = "http://127.0.0.1:9/v1"
TASK = ("--tasks", "refact_judgment_independent", "--data", "sample")


@pytest.fixture
def examine(here: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`examine(*arguments)` returns the exit status, and the checks by name."""
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret-s3cret")

    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        done = here("doctor", *arguments, "--json")
        assert "s3cret" not in done.stdout
        return done.returncode, {check["name"]: check for check in map(_fields, json.loads(done.stdout))}

    return run


def _fields(check: Any) -> dict[str, str]:
    return check if isinstance(check, dict) else dict(zip(("name", "state", "found", "advice"), check, strict=True))


@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_a_server_that_answers_is_ok(serve: Any, examine: Any, harness: str) -> None:
    server = serve(lambda request: 500)
    status, checks = examine("openai-api/local/NAME", "--base-url", server.url, "--harness", harness, *TASK)
    assert status == 0 and checks["answer"]["state"] == checks["packages"]["state"] == "ok"
    # the scripted replies carry no log-probabilities
    assert checks["log-probabilities"]["state"] == "warning"
    assert server.probed == (2 if harness == "inspect" else 1) and not server.asked
    assert checks["chat template"]["state"] == "not checked"


@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
@pytest.mark.parametrize(("ready", "found"), [(401, "rejects the API key"), (404, "was not found")])
def test_a_server_that_refuses_is_a_failure(serve: Any, examine: Any, harness: str, ready: int, found: str) -> None:
    server = serve(lambda request: 500, ready=ready)
    status, checks = examine("openai-api/local/NAME", "--base-url", server.url, "--harness", harness, *TASK)
    assert status == 1 and checks["answer"]["state"] == "failed"
    assert found in checks["answer"]["found"] and checks["answer"]["advice"]
    assert checks["token limit"]["state"] == "not checked"


def test_a_server_that_is_not_there_is_a_failure(examine: Any) -> None:
    status, checks = examine("openai-api/local/NAME", "--base-url", DEAD, "--harness", "lm_eval", *TASK)
    assert status == 1 and f"at {DEAD}/chat/completions cannot be reached" in checks["answer"]["found"]


def test_a_key_that_is_not_set_hides_no_wrong_address(
    serve: Any, examine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOCAL_API_KEY")
    server = serve(lambda request: 500, ready=404)
    status, checks = examine("openai-api/local/NAME", "--base-url", server.url, *TASK)
    assert status == 1 and "was not found" in checks["answer"]["found"]
    assert checks["API key"]["state"] == "ok" and "'none' is sent" in checks["API key"]["found"]
    # without an address, a key is needed
    assert examine("openai-api/local/NAME", *TASK)[1]["API key"]["state"] == "failed"


@pytest.mark.parametrize(("path", "advised"), [("/v1", ""), ("", "/v1")])
def test_a_server_without_the_responses_api_is_named_otherwise(
    serve: Any, examine: Any, path: str, advised: str
) -> None:
    """Inspect asks `openai/gpt-5…` in that API, which few servers but OpenAI's have."""
    server = serve(lambda request: 500, paths=["/v1/chat/completions"])
    url = server.url.removesuffix("/v1") + path
    status, checks = examine("openai/gpt-5-mine", "--base-url", url, *TASK)
    assert status == 1 and f"has no Responses API (404 for {path}/responses)" in checks["answer"]["found"]
    assert "name the model openai-api/local/gpt-5-mine" in checks["answer"]["advice"]
    assert (f"{server.url}" in checks["answer"]["advice"]) == bool(advised)
    assert examine("openai-api/local/gpt-5-mine", "--base-url", server.url, *TASK)[0] == 0


@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_an_address_that_lacks_v1_is_named_with_it(serve: Any, examine: Any, harness: str) -> None:
    server = serve(lambda request: 500, paths=["/v1/chat/completions"])
    root = server.url.removesuffix("/v1")
    _, checks = examine("openai-api/local/NAME", "--base-url", root, "--harness", harness, *TASK)
    assert checks["answer"]["state"] == "failed" and checks["answer"]["advice"].endswith(f"/v1: {server.url}")


def test_a_misspelt_provider_is_corrected(examine: Any) -> None:
    assert "did you mean 'openai'?" in examine("opnai/gpt-4o", *TASK)[1]["packages"]["found"]


def test_a_folder_that_is_not_there_is_said_to_be_missing(
    examine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (f"hf/{tmp_path}/tinyy", "hf/./tinyy", "hf/models/a/tinyy"):
        status, checks = examine(name, *TASK)
        assert status == 1 and checks["model files"]["found"].endswith("the folder does not exist")
        assert checks["chat template"]["state"] == "not checked"


def test_a_hub_that_does_not_answer_is_asked_once(examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's own client would try again for half a minute."""
    from huggingface_hub import constants, file_download

    from halu_tasks.runs import model_files

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(file_download, "get_hf_file_metadata", lambda *_, **__: pytest.fail("asked again"))
    model_files.hub_is_reachable.cache_clear()
    try:
        _, checks = examine("hf/no/such", *TASK)
    finally:
        model_files.hub_is_reachable.cache_clear()
    assert checks["model files"]["state"] == "failed" and "it cannot be reached" in checks["model files"]["found"]


def test_log_probabilities_that_come_are_ok(serve: Any, examine: Any) -> None:
    tokens = [{"token": "ready", "logprob": -0.1, "bytes": None, "top_logprobs": []}]
    server = serve(lambda request: 500, ready=["ready", ("ready", tokens)])
    _, checks = examine("openai-api/local/NAME", "--base-url", server.url, *TASK)
    assert checks["log-probabilities"]["state"] == "ok"


@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_a_model_that_reasons_needs_a_higher_limit(serve: Any, examine: Any, harness: str) -> None:
    server = serve(lambda request: 500, ready="<think>The user wants a word.</think>ready")
    status, checks = examine("openai-api/local/NAME", "--base-url", server.url, "--harness", harness, *TASK)
    assert status == 0 and checks["token limit"]["state"] == "warning"
    assert "--max-tokens 8192" in checks["token limit"]["advice"]


def test_what_is_missing_is_named_with_what_to_type(examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from halu_tasks.doctor import model as providers

    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr(providers, "find_spec", lambda module: None)
    status, checks = examine("openai/gpt-4o", *TASK)
    assert status == 1
    assert (
        checks["packages"]["state"] == "failed" and checks["packages"]["advice"] == 'pip install "halu-tasks[openai]"'
    )
    assert checks["API key"]["found"] == "OPENAI_API_KEY is not set"
    assert checks["answer"]["state"] == "not checked" and "packages, API key" in checks["answer"]["found"]


def test_without_a_model_the_rest_is_checked(examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALU_TASKS_NO_AUTOLOAD", "1")
    status, checks = examine("--tasks", "fave,halluverse_m3_en")
    # HalluVerse-M3 has to be downloaded by hand, FAVE cannot be reached without a network
    assert status == 1 and checks["model"]["state"] == "not checked"
    assert checks["tasks in lm-eval"]["state"] == "warning" and "--include_path" in checks["tasks in lm-eval"]["advice"]
    assert checks["data: halluverse_m3"]["state"] == "failed"
    assert "download it manually" in checks["data: halluverse_m3"]["advice"]
    assert checks["judge"]["state"] == "warning" and "share_cited" in checks["judge"]["found"]


@pytest.mark.slow
def test_a_judge_that_does_not_answer_is_a_failure(examine: Any) -> None:
    judge = ("--judge", "openai-api/local/JUDGE", "--judge-base-url", DEAD)
    status, checks = examine("halu/oracle", "--tasks", "fave", "--data", "sample", *judge)
    assert status == 1 and checks["judge"]["state"] == "failed" and "JUDGE" in checks["judge"]["found"]


def test_a_model_that_would_be_loaded_is_not_asked(
    examine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from halu_tasks.doctor import model as providers

    # it is not asked where torch is installed, either
    monkeypatch.setattr(providers, "find_spec", lambda module: module)
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 512}))
    status, checks = examine(f"hf/{tmp_path}", *TASK)
    assert checks["answer"] == {
        "name": "answer", "state": "not checked", "found": "the weights would be loaded",
        "advice": "try it with --limit 1",
    }  # fmt: skip
    assert checks["chat template"]["state"] == "warning"
    assert status == 1 and checks["token limit"]["state"] == "failed" and "512" in checks["token limit"]["found"]


def test_prompts_must_fit_into_the_context_together_with_replies(examine: Any, tmp_path: Path) -> None:
    states = {}
    for length in (1_000, 1_400, 100_000):
        (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": length}))
        _, checks = examine(f"hf/{tmp_path}", "--tasks", "factchd_4shot", "--data", "sample")
        states[length] = checks["token limit"]["state"]
        assert "1,024" in checks["token limit"]["found"]
    assert states == {1_000: "failed", 1_400: "warning", 100_000: "ok"}


def test_an_unknown_task_is_an_error(here: Any) -> None:
    done = here("doctor", "--tasks", "refact_judgement")
    assert done.returncode == 2 and "did you mean 'refact_judgment'?" in done.stderr


def test_a_cache_that_cannot_be_written_is_a_failure(examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALU_TASKS_CACHE", "/proc/none")
    status, checks = examine("halu/oracle", *TASK)
    assert status == 1 and checks["cache folder"]["state"] == "failed"


def test_the_tested_versions_are_the_required_and_installed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]
    for name in ("lm-eval", "inspect-ai"):
        assert f"{name}>={TESTED[name][0]}" in project["dependencies"]
        assert check_version(name).state == "ok"
    assert project["requires-python"] == f">={TESTED['python'][0]}"
    monkeypatch.setattr(metadata, "version", lambda name: "9.0.0")
    assert check_version("lm-eval").state == "warning"
    monkeypatch.setattr(metadata, "version", lambda name: "0.3.9")
    assert check_version("lm-eval").state == "failed"


def test_the_table_says_what_to_do(here: Any) -> None:
    os.environ.pop("HALU_TASKS_NO_AUTOLOAD", None)
    done = here("doctor", "halu/oracle", "--tasks", "fave", "--data", "sample")
    assert done.returncode == 0 and "--judge MODEL" in done.stdout
    assert "1 warning" in done.stdout.splitlines()[-1]
