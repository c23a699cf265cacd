"""Models that give no answer: told in one line before work begins, and by one line where they stop answering."""

import json
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Cli, write_rows
from programs import run as program
from scripted_builders import HaluModel, document

from halu_tasks.core.options import Options
from halu_tasks.tasks import build

DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "documents.jsonl", (document(n) for n in range(9)))


def model(url: str) -> list[str]:
    # the provider's client tries again by itself, and Inspect does so too
    settings = ["-M", "responses_api=false", "-M", "max_retries=0", "--display", "none"]
    return ["--model", "openai/gpt-4o", "--model-base-url", url, *settings]


def commands(documents: Path, out: Path) -> dict[str, list[Any]]:
    own = ["haluagent", documents, "-o", out, "-T", "language=en", "-T", "types=EntErr"]
    return {
        "build": ["build", *own],
        "optimize": ["build", "optimize", *own, "--train", "2", "--validation", "2"],
    }


@pytest.mark.parametrize("command", ["build", "optimize"])
@pytest.mark.parametrize(("ready", "told"), CASES["a_model_that_gives_no_answer_is_told_before_work_begins"])
@pytest.mark.slow
def test_a_model_that_gives_no_answer_is_told_before_work_begins(
    serve: Any, here: Cli, documents: Path, tmp_path: Path, command: str, ready: int | None, told: str
) -> None:
    server = serve(HaluModel(), ready=ready)
    url = DEAD if ready is None else server.url
    done = here(*commands(documents, tmp_path / "out")[command], *model(url))
    assert done.returncode == 2 and told in done.stderr and "openai/gpt-4o" in done.stderr
    assert done.stderr.count("\n") == 1 and "s3cret" not in done.stderr and not server.asked


@pytest.mark.slow
def test_a_model_of_a_role_is_asked_too(serve: Any, here: Cli, documents: Path, tmp_path: Path) -> None:
    server = serve(HaluModel())
    role = f"verifier={{model: openai/gpt-4, base_url: '{DEAD}', model_args: {{responses_api: false, max_retries: 0}}}}"
    own = commands(documents, tmp_path / "out")["build"]
    done = here(*own, *model(server.url), "--model-role", role)
    assert done.returncode == 2 and f"model openai/gpt-4 at {DEAD} cannot be reached" in done.stderr
    assert server.probed == 1 and not server.asked


@pytest.mark.slow
@pytest.mark.parametrize("ready", [[429], [400, "ready"]])
def test_a_busy_model_and_one_that_refuses_the_limit_are_there(
    serve: Any, here: Cli, documents: Path, tmp_path: Path, ready: list[Any]
) -> None:
    """A limit of tokens that is too small for a model that reasons is refused, and then left out."""
    # rate limits are tried again
    server = serve(HaluModel(), ready=ready * 2)
    done = here(*commands(documents, tmp_path / "out")["build"], *model(server.url), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["documents"] == 9


@pytest.mark.slow
def test_inspect_tells_it_in_one_line(tmp_path: Path) -> None:
    code = "import sys; from inspect_ai._cli.main import main; sys.argv[0] = 'inspect'; main()"
    own = (*model(DEAD), "-T", "data=sample", "--log-dir", tmp_path / "l")
    done = program("eval", "halu_tasks/cfaith_tf", *own, folder=tmp_path, code=code)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith(f"halu-tasks: model openai/gpt-4o at {DEAD} cannot be reached")
    assert not list(tmp_path.glob("l/*")) and not done.stdout.strip()


def test_a_judge_is_asked_only_when_every_id_is_known(serve: Any, here: Cli, tmp_path: Path) -> None:
    judge = serve(lambda request: '{"reason": "so", "verdict": "consistent"}')
    items = build("cfaith_gen", Options(data="sample")).items
    rows = [*({"id": item.id, "output": item.target} for item in items), {"id": "nobody", "output": "x"}]
    path = write_rows(tmp_path / "replies.jsonl", rows)
    given = ("--data", "sample", "--judge", "openai/m", "--judge-base-url", judge.url)
    done = here("score", "cfaith_gen", path, *given)
    assert done.returncode == 2 and "unknown id 'nobody'" in done.stderr and not judge.asked


def test_the_question_is_not_in_the_log_and_costs_no_sample(serve: Any, openai: Any, run_inspect: Any) -> None:
    server = serve(lambda request: "True")
    log = run_inspect("cfaith_tf", openai(server), limit=5)
    # the first item is asked before
    assert not server.probed and len(server.asked) == 6 and server.asked[0] in server.asked[1:]
    # the scripted server tells one token of each reply
    (usage,) = log.stats.model_usage.values()
    assert usage.output_tokens == 5
    for sample in log.samples:
        assert sum(event.event == "model" for event in sample.events) == 1
    # it was asked in this process, and there is no need to ask again
    run_inspect("cfaith_tf", openai(server), limit=5)
    assert len(server.asked) == 11


@pytest.mark.slow
def test_a_server_that_dies_ends_the_build_and_nothing_is_lost(
    serve: Any, here: Cli, documents: Path, tmp_path: Path
) -> None:
    class Dying(HaluModel):
        calls = 0

        def __call__(self, request: dict[str, Any]) -> Any:
            self.calls += 1
            if self.calls > 20:
                server.ready = 503
                return 503
            return super().__call__(request)

    server = serve(Dying())
    own = [*commands(documents, tmp_path / "out")["build"], "--part-size", "3", "--max-connections", "2"]
    done = here(*own, *model(server.url), "--max-retries", "0")
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 2 and "cannot be reached" in last and "the same command continues from there" in last
    # the documents that were not begun did not wait for it too
    assert len(server.asked) < 20 + 9
    finished = {name for name in map(_site, server.asked[:20]) if sum(_site(r) == name for r in server.asked[:20]) == 6}
    assert finished
    server = serve(HaluModel())
    done = here(*own, *model(server.url), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["documents"] == 9
    assert not finished & {_site(request) for request in server.asked}


def _site(request: dict[str, Any]) -> str:
    asked = str(request["messages"][-1]["content"])
    return next(f"Site{n}" for n in range(9) if f"Site{n}" in asked)


@pytest.mark.slow
def test_calls_that_are_tried_again_are_told_of_and_go_on(
    serve: Any, here: Cli, documents: Path, tmp_path: Path
) -> None:
    class Absent(HaluModel):
        calls = 0

        def __call__(self, request: dict[str, Any]) -> Any:
            self.calls += 1
            return 503 if self.calls == 1 else super().__call__(request)

    server = serve(Absent())
    done = here(*commands(documents, tmp_path / "out")["build"], *model(server.url), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["documents"] == 9
    (line,) = [line for line in done.stderr.splitlines() if "are retried" in line]
    assert line.startswith("halu-tasks: calls to gpt-4o fail (HTTP 503)")


@pytest.mark.slow
def test_retries_are_bounded_by_the_options(serve: Any, here: Cli, documents: Path, tmp_path: Path) -> None:
    server = serve(lambda request: 503)
    own = [*commands(documents, tmp_path / "out")["build"], *model(server.url), "--part-size", "9"]
    assert here(*own, "--max-retries", "0").returncode == 2
    once = len(server.asked)
    assert here(*own, "--max-retries", "1").returncode == 2 and len(server.asked) == 3 * once
