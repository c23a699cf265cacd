"""Judges that a task file names: no request and no key reaches them unless the user names them too."""

import logging
from pathlib import Path
from typing import Any

import pytest
from common import Caplog, Patch, Run
from judges import by_rule, figures

from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM
from halu_tasks.runs.model_specs import named_model, require_model
from halu_tasks.runs.run_tasks import HARNESSES
from halu_tasks.tasks.yaml_files import task_configs

KEY = "sk-of-the-user-42"
BASE = task_configs() / "cfaith" / "cfaith_gen.yaml"
METADATA = "metadata: {{halu_judge: openai/gpt-4o, halu_judge_base_url: '{url}'}}\n"
SUGGESTION = "suggests judge openai/gpt-4o, judge_base_url {url}; pass --judge openai/gpt-4o "


@pytest.fixture(autouse=True)
def _key(monkeypatch: Patch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def server(serve: Run) -> Any:
    return serve(by_rule)


@pytest.fixture
def file(tmp_path: Path, server: Any) -> Path:
    """A task file that looks harmless, and includes one that is not."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "theirs.yaml").write_text(f"include: {BASE}\n{METADATA.format(url=server.url)}")
    (folder / "mine.yaml").write_text("include: theirs.yaml\ntask: mine\n")
    (folder / "again").mkdir()
    (folder / "again" / "same_name.yaml").write_text("include: ../theirs.yaml\ntask: cfaith_gen\n")
    (folder / "group.yaml").write_text(
        f"group: theirs\ntask:\n  - task: mine\n    {METADATA.format(url=server.url)}"
        "aggregate_metric_list: [{metric: abstained, weight_by_size: false}]\n"
    )
    return folder / "mine.yaml"


@pytest.mark.parametrize(("task", "within"), [("mine", "."), ("theirs", "."), ("{file}", "."), ("cfaith_gen", "again")])
def test_lm_eval_asks_only_whom_the_user_names(
    task: str, within: str, file: Path, server: Any, caplog: Caplog, run_lm_eval: Run
) -> None:
    def run(**metadata: str) -> Any:
        caplog.clear()
        given = {"halu_data": "sample", **metadata}
        with caplog.at_level(logging.WARNING):
            return run_lm_eval([task.format(file=file)], OracleLM(), given, file.parent / within)

    (found,) = (value for name, value in run()["results"].items() if name in ("mine", "cfaith_gen"))
    assert not server.asked and not server.headers.keys()
    assert (
        "hallucination_rate,none" not in found or found["hallucination_rate,none"] != found["hallucination_rate,none"]
    )
    assert SUGGESTION.format(url=server.url) in caplog.text and "no judge was named" in caplog.text

    run(halu_judge="openai/gpt-4o", halu_judge_base_url=server.url)
    assert server.asked and server.headers["Authorization"] == f"Bearer {KEY}"
    assert "suggests" not in caplog.text


def test_inspect_asks_only_whom_the_user_names(file: Path, server: Any, run_inspect: Run, caplog: Caplog) -> None:
    with caplog.at_level(logging.WARNING):
        assert "hallucination_rate" not in figures(run_inspect("task", "halu/oracle", {"config": str(file)}, limit=2))
    assert not server.asked and SUGGESTION.format(url=server.url) in caplog.text
    chosen = {"config": str(file), "judge": "openai/gpt-4o", "judge_base_url": server.url}
    assert figures(run_inspect("task", "halu/oracle", chosen, limit=2))["hallucination_rate"] == 0
    assert server.headers["Authorization"] == f"Bearer {KEY}"


def test_commands_ask_only_whom_the_user_names(
    file: Path, server: Any, here: Run, judged_replies: Path, caplog: Caplog
) -> None:
    told = SUGGESTION.format(url=server.url)
    given = ("score", file, judged_replies, "--data", "sample")
    assert here(*given).returncode == 0 and told in caplog.text
    planned = here("run", "halu/oracle", "--tasks", file, "--data", "sample", "-o", file.parent, "--dry-run")
    assert planned.returncode == 0 and told in planned.stderr and "gpt-4o" not in planned.stdout
    assert not server.asked
    assert here(*given, "--judge", "openai/gpt-4o", "--judge-base-url", server.url).returncode == 0
    assert server.asked


def test_a_key_goes_only_to_its_provider(
    serve: Run, here: Run, judged_replies: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    """As judge and as model in either harness; a server that needs no key gets a placeholder."""
    server = serve(by_rule)
    reached = ("--data", "sample", "--judge", "openai-api/local-two/m", "--judge-base-url", server.url)
    for key in ("none", "sk-of-the-server"):
        if key != "none":
            monkeypatch.setenv("LOCAL_TWO_API_KEY", key)
            monkeypatch.setenv("HALU_TASKS_CACHE", str(tmp_path / key))  # which has no verdicts
        assert here("score", "cfaith_gen", judged_replies, *reached).returncode == 0
        assert server.headers["Authorization"] == f"Bearer {key}"
        for harness in HARNESSES:
            require_model(named_model("openai-api/local-two/m", harness, server.url))
            assert server.headers["Authorization"] == f"Bearer {key}", harness


@pytest.mark.slow
def test_lm_eval_asks_a_model_with_its_key_and_a_judge_with_its_own(
    serve: Run, here: Run, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "sk-of-the-server")
    model, judge = serve(by_rule), serve(by_rule)
    ran = here(
        "run", "openai-api/local/m", "--harness", "lm_eval", "--base-url", model.url, "--tasks", "cfaith_gen",
        "--data", "sample", "--limit", "1", "-o", tmp_path, "--judge", "openai/gpt-4o", "--judge-base-url", judge.url,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert model.headers["Authorization"] == "Bearer sk-of-the-server"
    assert judge.headers["Authorization"] == f"Bearer {KEY}" and judge.asked
    assert "OPENAI_API_KEY=***" in ran.stdout and KEY not in (tmp_path / "openai-api_local_m/command.txt").read_text()
