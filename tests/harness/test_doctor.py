"""`halu-tasks doctor`: what is found, and what to do, with servers on loopback and without."""

from __future__ import annotations

import json
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from halu_tasks.runs.checks import TESTED, check_version

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
        return done.returncode, {check["name"]: check for check in json.loads(done.stdout)}

    return run


@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
@pytest.mark.parametrize(
    ("ready", "found", "advice"),
    [
        ("ready", "answers", ""),
        (401, "rejects the API key", "set the API key"),
        (404, "was not found", "correct its name"),
        (None, "cannot be reached", "start its server"),
    ],
)
def test_a_server_is_asked_one_question(
    serve: Any, examine: Any, harness: str, ready: Any, found: str, advice: str
) -> None:
    server = serve(lambda request: 500, ready=ready)
    url = DEAD if ready is None else server.url
    status, checks = examine("openai-api/local/NAME", "--base-url", url, "--harness", harness, *TASK)
    assert status == (0 if ready == "ready" else 1)
    assert checks["model"]["state"] == ("failed" if status else "ok")
    assert found in checks["model"]["found"] and advice in checks["model"]["advice"]
    assert server.probed == (ready is not None) and not server.asked


def test_a_key_that_is_not_set_hides_no_wrong_address(
    serve: Any, examine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOCAL_API_KEY")
    server = serve(lambda request: 500, ready=404)
    status, checks = examine("openai-api/local/NAME", "--base-url", server.url, *TASK)
    assert status == 1 and "was not found" in checks["model"]["found"]
    # without an address, a key is needed
    assert "LOCAL_API_KEY" in examine("openai-api/local/NAME", *TASK)[1]["model"]["found"]


@pytest.mark.parametrize(("path", "advised"), [("/v1", ""), ("", "/v1")])
def test_a_server_without_the_responses_api_is_named_otherwise(
    serve: Any, examine: Any, path: str, advised: str
) -> None:
    """Inspect asks `openai/gpt-5…` in that API, which few servers but OpenAI's have."""
    server = serve(lambda request: 500, paths=["/v1/chat/completions"])
    url = server.url.removesuffix("/v1") + path
    status, checks = examine("openai/gpt-5-mine", "--base-url", url, *TASK)
    assert status == 1 and f"has no Responses API (404 for {path}/responses)" in checks["model"]["found"]
    assert "name the model openai-api/local/gpt-5-mine" in checks["model"]["advice"]
    assert (f"{server.url}" in checks["model"]["advice"]) == bool(advised)


@pytest.mark.parametrize("harness", ["inspect", "lm_eval"])
def test_an_address_that_lacks_v1_is_named_with_it(serve: Any, examine: Any, harness: str) -> None:
    server = serve(lambda request: 500, paths=["/v1/chat/completions"])
    root = server.url.removesuffix("/v1")
    _, checks = examine("openai-api/local/NAME", "--base-url", root, "--harness", harness, *TASK)
    assert checks["model"]["state"] == "failed" and checks["model"]["advice"].endswith(f"/v1: {server.url}")


def test_a_folder_that_is_not_there_is_said_to_be_missing(
    here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (f"hf/{tmp_path}/tinyy", "hf/./tinyy", "hf/models/a/tinyy"):
        done = here("doctor", name, *TASK)
        assert done.returncode == 2 and "the folder does not exist; correct the path" in done.stderr


def test_a_hub_that_does_not_answer_is_asked_once(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's own client would try again for half a minute."""
    from huggingface_hub import constants, file_download

    from halu_tasks.runs.models import hub_is_reachable

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(file_download, "get_hf_file_metadata", lambda *_, **__: pytest.fail("asked again"))
    hub_is_reachable.cache_clear()
    try:
        done = here("doctor", "hf/no/such", *TASK)
    finally:
        hub_is_reachable.cache_clear()
    assert done.returncode == 2 and "it cannot be reached" in done.stderr


def test_what_is_missing_is_named_with_what_to_type(examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    status, checks = examine("openai/gpt-4o", *TASK)
    assert status == 1 and "OPENAI_API_KEY" in checks["model"]["found"]


@pytest.mark.parametrize("installed", [True, False])
def test_a_model_that_would_be_loaded_is_not_asked(
    examine: Any, tmp_path: Path, installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from halu_tasks.runs import checks as module

    missing = [] if installed else ["torch"]
    monkeypatch.setattr(module, "missing_modules", lambda extra: missing)
    (tmp_path / "config.json").write_text("{}")
    status, checks = examine(f"hf/{tmp_path}", *TASK)
    if installed:
        assert status == 0 and checks["model"]["found"] == "its weights would be loaded"
        assert checks["chat template"]["state"] == "warning"
    else:
        assert status == 1 and "torch not installed" in checks["model"]["found"]
        assert checks["model"]["advice"] == 'pip install "halu-tasks[hf]"'


def test_without_a_model_the_rest_is_checked(examine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALU_TASKS_NO_AUTOLOAD", "1")
    status, checks = examine("--tasks", "fave,halluverse_m3_en")
    # HalluVerse-M3 has to be downloaded by hand, FAVE cannot be reached without a network
    assert status == 1 and "model" not in checks
    assert checks["tasks in lm-eval"]["state"] == "warning" and "--include_path" in checks["tasks in lm-eval"]["advice"]
    (manual,) = (check for check in checks.values() if "download it manually" in check["advice"])
    assert manual["name"].startswith("data: ") and manual["state"] == "failed"
    assert checks["judge"]["state"] == "warning" and "share_cited" in checks["judge"]["found"]


@pytest.mark.slow
def test_a_judge_that_does_not_answer_is_a_failure(examine: Any) -> None:
    judge = ("--judge", "openai-api/local/JUDGE", "--judge-base-url", DEAD)
    status, checks = examine("halu/oracle", "--tasks", "fave", "--data", "sample", *judge)
    assert status == 1 and checks["judge"]["state"] == "failed" and "JUDGE" in checks["judge"]["found"]


def test_an_unknown_task_is_an_error(here: Any) -> None:
    done = here("doctor", "--tasks", "refact_judgement")
    assert done.returncode == 2 and "did you mean 'refact_judgment'?" in done.stderr


def test_the_tested_versions_are_the_required_and_installed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]
    for name in ("lm-eval", "inspect-ai"):
        assert f"{name}>={TESTED[name][0]}" in project["dependencies"]
        assert check_version(name).state == "ok"
    assert project["requires-python"] == f">={TESTED['python'][0]}"
    monkeypatch.setattr(metadata, "version", lambda name: "9.0.0")
    assert check_version("lm-eval").state == "warning"


def test_the_table_says_what_to_do(here: Any) -> None:
    done = here("doctor", "halu/oracle", "--tasks", "fave", "--data", "sample")
    assert done.returncode == 0 and "--judge MODEL" in done.stdout
