"""A recognisable secret in every place where a user can put one is in no file and no stream of any command.

Arguments of a model of `lm_eval` and `inspect eval` are written by them: lm-eval copies --model_args into its results,
and Inspect logs -M (but `api_key`) and --model-base-url. Of those it is tried that this package copies none of them.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from common import Patch, Run, write_rows
from inspect_ai.log import read_eval_log  # with it, zipfile knows the compression of logs
from programs import LM_EVAL_OF_FEW, run
from scripted_builders import HaluModel, Learning, document

from halu_tasks.core.options import Options
from halu_tasks.tasks import build

SECRET = "s3cr3t-canary-42"
TASK = "cfaith_gen"
ITEMS = build(TASK, Options(data="sample")).items


def with_secret(url: str) -> str:
    return url.replace("http://", f"http://user:{SECRET}@")


@pytest.fixture
def clean(tmp_path: Path, halu_cache: Path) -> Iterator[Callable[..., None]]:
    """`clean(*streams)` looks for the secret in the streams, and in all files below the test's folder and the
    cache, those within logs too; `but` are beginnings of names of files that a harness writes its arguments into."""

    def look(*streams: str, but: tuple[str, ...] = ()) -> None:
        for stream in streams:
            assert SECRET not in stream
        for folder in (tmp_path, halu_cache):
            for path in folder.rglob("*"):
                assert SECRET not in path.name
                if path.is_file() and not path.name.startswith(but or ("\0",)):
                    for name, content in contents(path):
                        assert SECRET.encode() not in content, (path, name)

    yield look


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    yield "", path.read_bytes()
    if path.suffix == ".eval":
        with ZipFile(path) as archive:
            for name in archive.namelist():
                yield name, archive.read(name)


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: Patch) -> None:
    for name in ("LOCAL_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, SECRET)


def verdict(request: dict[str, Any]) -> str:
    return '{"reason": "no", "verdict": "conflict"}'


def inspect(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ("inspect_ai", "eval", f"halu_tasks/{TASK}", "--model", "halu/baseline", "-T", "data=sample")
    return run(*command, "--log-dir", cwd / "logs", *arguments, folder=cwd, **environment)


def replies_of(folder: Path) -> Path:
    return write_rows(folder / "replies.jsonl", ({"id": item.id, "output": item.target} for item in ITEMS))


@pytest.mark.slow
def test_lm_eval_and_what_is_made_of_its_results(
    serve: Run, here: Run, tmp_path: Path, clean: Callable[..., None]
) -> None:
    """The judge's address as metadata; a token and a key in the address as arguments of the model."""
    server, judge = serve(lambda request: "A"), serve(verdict)
    url = f"{server.url}/chat/completions?api_key={SECRET}"
    done = run(
        "--model", "local-chat-completions",
        "--model_args", f"model=m,base_url={url},auth_token={SECRET},num_concurrent=8",
        "--apply_chat_template", "--tasks", TASK, "--output_path", str(tmp_path / "results"), "--log_samples",
        "--metadata",
        json.dumps(
            {
                "halu_data": "sample",
                "halu_judge": "openai-api/local/m",
                "halu_judge_base_url": with_secret(judge.url),
            }
        ),
        code=LM_EVAL_OF_FEW,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "halu" not in "".join(line for line in done.stderr.splitlines() if SECRET in line)
    assert len(judge.asked) > len(ITEMS) // 2
    (file,) = tmp_path.rglob("results_*.json")
    found = json.loads(file.read_text())
    # these two are lm-eval's
    del found["config"]["model_args"]
    found["config"].pop("model_name", None)
    assert SECRET not in json.dumps(found)
    assert found["configs"][TASK]["metadata"]["halu_judge_base_url"] == judge.url
    clean(but=("results_",))
    done = here("report", tmp_path / "results", "-o", tmp_path / "report")
    assert done.returncode == 0
    clean(done.stdout, done.stderr, but=("results_",))


@pytest.mark.slow
def test_inspect_refuses_an_address_that_it_would_log_and_takes_it_from_the_environment(
    serve: Run, here: Run, tmp_path: Path, clean: Callable[..., None]
) -> None:
    judge = serve(verdict)
    named = ("-T", "judge=openai-api/local/m")
    refused = inspect(*named, "-T", f"judge_base_url={with_secret(judge.url)}", cwd=tmp_path)
    assert refused.returncode != 0 and not judge.asked
    assert "set PROVIDER_BASE_URL and PROVIDER_API_KEY in the environment" in " ".join(refused.stderr.split())
    clean(refused.stdout, refused.stderr)

    ran = inspect(*named, cwd=tmp_path, LOCAL_BASE_URL=with_secret(judge.url))
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    (path,) = tmp_path.rglob("*.eval")
    assert read_eval_log(str(path), header_only=True).status == "success" and len(judge.asked) > len(ITEMS) // 2
    done = here("report", tmp_path / "logs", "-o", tmp_path / "report")
    assert done.returncode == 0
    clean(ran.stdout, ran.stderr, done.stdout, done.stderr)


@pytest.mark.parametrize("failure", [401, *(pytest.param(slow, marks=pytest.mark.slow) for slow in (None, 500))])
def test_score_and_the_replies_that_it_keeps(
    failure: int | None, serve: Run, here: Run, tmp_path: Path, clean: Callable[..., None]
) -> None:
    probed = []

    def answer(request: dict[str, Any]) -> Any:
        probed.append(request)
        return verdict(request) if failure is None or len(probed) == 1 else failure

    done = here(
        "score", TASK, replies_of(tmp_path), "--data", "sample", "--judge", "openai-api/local/m", "--judge-base-url",
        with_secret(serve(answer).url), "--details", tmp_path / "details.jsonl", "--json",
    )  # fmt: skip
    assert done.returncode == (2 if failure else 0)
    assert ("verdicts so far are cached" in done.stderr) == bool(failure)
    (tmp_path / "scored.json").write_text(done.stdout)
    clean(done.stdout, done.stderr)
    if not failure:
        shown = here("report", tmp_path / "scored.json", "-o", tmp_path / "report")
        assert shown.returncode == 0
        clean(shown.stdout, shown.stderr)


@pytest.mark.slow
def test_a_misspelt_option_is_told_without_the_credentials_of_its_value(
    here: Run, tmp_path: Path, clean: Callable[..., None]
) -> None:
    url = with_secret("http://127.0.0.1:9/v1")
    done = here("score", TASK, replies_of(tmp_path), "--judge-base-uri", url)
    assert done.returncode == 2 and "'--judge-base-uri' (did you mean" in done.stderr
    done = here("score", TASK, replies_of(tmp_path), "--data", "sample", "--judge", "openai-api/local/m",
                "--judge-base-url", url)  # fmt: skip
    assert done.returncode == 2 and "cannot be reached" in done.stderr
    clean(done.stdout, done.stderr)


@pytest.mark.parametrize("command", ["build", pytest.param("optimize", marks=pytest.mark.slow)])
def test_commands_that_build(command: str, serve: Run, here: Run, tmp_path: Path, clean: Callable[..., None]) -> None:
    source = write_rows(tmp_path / "documents.jsonl", (document(n) for n in range(4 if command == "build" else 20)))
    server = serve(HaluModel() if command == "build" else Learning(best=1, each=10))
    headers = f"default_headers: {{Authorization: Bearer {SECRET}, X-Api-Key: {SECRET}}}"
    role = f"verifier={{model: openai/gpt-4o, base_url: '{server.url}', "
    role += f"model_args: {{responses_api: false, api_key: {SECRET}, {headers}}}}}"
    own = ("--train", "6", "--validation", "10", "--rounds", "1") if command == "optimize" else ()
    given = (
        *(("build", command) if command == "optimize" else ("build",)), "haluagent", source, "-o", tmp_path / "out",
        "--model", "openai/gpt-4o", "-M", "responses_api=false", "-M", f"api_key={SECRET}", "-M",
        headers.replace(": {", "={", 1), "-T", "language=en", "-T", "types=EntErr", "--display", "none", *own,
    )  # fmt: skip
    refused = here(*given, "--model-base-url", with_secret(server.url))
    assert refused.returncode == 2 and "credentials" in refused.stderr
    done = here(*given, "--model-base-url", server.url, "--model-role", role)
    assert done.returncode == 0, done.stderr
    if command == "build":
        written = json.loads((tmp_path / "out" / "build.json").read_text())
        assert written["models"]["model_args"] == {"responses_api": False}
    assert server.headers["X-Api-Key"] == SECRET
    clean(refused.stdout, refused.stderr, done.stdout, done.stderr)


@pytest.mark.slow
def test_methods_and_compare(serve: Run, here: Run, tmp_path: Path, clean: Callable[..., None]) -> None:
    server, judge = serve(lambda request: "答案"), serve(verdict)
    (tmp_path / "wiki.txt").write_text("A passage of knowledge.\n")
    given = (
        "run", "openai/gpt-4o", "--tasks", TASK, "--method", f"with_knowledge:knowledge={tmp_path / 'wiki.txt'}",
        "--data", "sample", "--limit", "4", "--base-url", server.url, "-M", "responses_api=false",
        "-o", tmp_path / "out", "--judge", "openai-api/local/m", "--json",
    )  # fmt: skip
    refused = here(*given, "--judge-base-url", judge.url, "-M", f"api_key={SECRET}")
    assert refused.returncode == 2 and "contains a credential" in refused.stderr
    done = here(*given, "--judge-base-url", judge.url)
    assert done.returncode == 0, done.stderr
    other = here(*given, "--judge-base-url", judge.url, "--scoring", "paper")
    shown = here("report", "--pairs", *(tmp_path / "out").glob("openai*"))
    clean(refused.stdout, refused.stderr, done.stdout, done.stderr, other.stdout, shown.stdout, shown.stderr)


@pytest.mark.slow
def test_what_a_harness_says_is_passed_on_without_credentials(
    here: Run, tmp_path: Path, clean: Callable[..., None]
) -> None:
    """Its own message, its arguments in the files of the run, and a file with a name that a terminal would obey."""
    given = (f"--{with_secret('http://h')}/?key={SECRET}", "--metadata", f"token={SECRET}")
    command = ("run", "halu/oracle", "halu/baseline", "--tasks", "cfaith_choice", "--data", "sample")
    done = here(*command, "-o", tmp_path / "out", "--", *given)
    assert done.returncode == 3 and "No such option" in done.stderr and "http://h/?key=***" in done.stderr
    assert (tmp_path / "out/halu_oracle/command.txt").is_file() and "***" in done.stderr
    clean(done.stdout, done.stderr)
