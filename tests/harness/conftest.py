"""What the harness tests share: runs of both harnesses, and a scripted OpenAI-compatible server."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from common import Patch, Run, write_rows
from filelock import FileLock
from loopback import Handler, Rejected, Server, completion

from halu_tasks.judging.reaching import PROBE

Answer = Callable[[dict[str, Any]], "str | bytes | int | tuple[str, list[dict[str, Any]]] | dict[str, Any] | None"]
"""A request's JSON -> the reply's text, its text and its tokens with their log-probabilities, the whole message (such
as one with tool calls), the whole body (which has the key `object`, or is bytes), an HTTP status to fail with, or None
to close the connection without a reply."""


class ScriptedServer(Server):
    """Chat completions and completions on loopback. `answer` decides, `delay` slows, `asked` records, `headers` are the
    last request's. The short question whether a model is there is answered by `ready`, a text or an HTTP status or
    several of them in turn, or what returns one for a request, and counted in `probed`. With `paths`, any other path is
    not found."""

    def __init__(
        self,
        answer: Answer,
        delay: float = 0.0,
        ready: Any = "ready",
        paths: Any = (),
    ) -> None:
        super().__init__(_Handler)
        self.answer, self.delay, self.ready, self.paths = answer, delay, ready, paths
        self.probed = 0
        self.asked: list[dict[str, Any]] = []
        self.headers: Message = Message()

    @property
    def url(self) -> str:
        return f"{super().url}/v1"


class _Handler(Handler):
    server: ScriptedServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.headers = self.headers
        if self.server.paths and self.path not in self.server.paths:
            self.send(404, {"detail": "Not Found"})
            return
        if str(request.get("messages", [{}])[-1].get("content")).endswith(PROBE):
            self.server.probed += 1
            ready = self.server.ready
            script = ready if callable(ready) else lambda _: ready.pop(0) if isinstance(ready, list) else ready
        else:
            self.server.asked.append(request)
            time.sleep(self.server.delay)
            script = self.server.answer
        try:
            answer: Any = script(request)
        except Exception as error:
            # a script that fails must fail its test: a broken connection would be tried again for ever
            why = str(error) if isinstance(error, Rejected) else f"the script failed: {type(error).__name__}: {error}"
            status = error.status if isinstance(error, Rejected) else 400
            self.send(status, {"error": {"message": why, "type": "invalid_request_error"}})
            return
        if isinstance(answer, int):
            self.send(answer, {"error": {"message": "scripted failure", "type": "server_error"}})
            return
        if answer is None:
            self.close_connection = True
            return
        if isinstance(answer, bytes) or (isinstance(answer, dict) and "object" in answer):
            self.send(200, answer)
            return
        text, tokens = answer if isinstance(answer, tuple) else (answer, [])
        message = text if isinstance(text, dict) else {"content": text}
        logprobs = {"logprobs": {"content": tokens}} if tokens else {}
        self.send(200, completion(message, text=message["content"], **logprobs))


@pytest.fixture(scope="session", autouse=True)
def _log_display() -> None:
    """The display of all runs of Inspect in this process: the first run chooses, and others take 0.2 s to draw a table
    at the end of each run even where none is shown."""
    from inspect_ai._display.core.active import display
    from inspect_ai.util._display import init_display_type

    init_display_type("log")
    display()


@pytest.fixture(autouse=True)
def _keys(monkeypatch: Patch, tmp_path: Path) -> None:
    """A key that a server on loopback takes, and an empty cache of replies."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "replies"))


@pytest.fixture
def serve() -> Iterator[Callable[..., ScriptedServer]]:
    """`serve(answer, delay=0, ready="ready", paths=())` starts a scripted server that ends with the test."""
    started: list[ScriptedServer] = []

    def start(answer: Answer, delay: float = 0.0, **how: Any) -> ScriptedServer:
        started.append(ScriptedServer(answer, delay, **how))
        return started[-1]

    yield start
    for server in started:
        server.__exit__()


@pytest.fixture(scope="session")
def shared_runs(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Any:
    """The logs of one run of all tasks in each harness, made once for all workers."""
    from shared_runs import SharedRuns

    folder = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        folder = folder.parent
    runs, done = SharedRuns(folder / "shared_runs"), folder / "shared_runs.done"
    with FileLock(folder / "shared_runs.lock"):
        if not done.exists():
            # what a worker leaves that failed here would hide the cause from the next one
            shutil.rmtree(folder / "shared_runs", ignore_errors=True)
            runs.make()
            done.touch()
    return runs


@pytest.fixture
def run_lm_eval() -> Run:
    """Run tasks in lm-eval, in this process: packaged ones on the sample, or those of a folder. Returns what
    `simple_evaluate` returns."""

    def run(
        tasks: list[str], model: Any, metadata: dict[str, Any] | None = None, folder: Any = None, **arguments: Any
    ) -> dict[str, Any]:
        import lm_eval
        from lm_eval.tasks import TaskManager

        from halu_tasks import task_configs

        manager = TaskManager(
            include_path=str(folder or next(iter(task_configs.__path__))),
            include_defaults=False,
            metadata=({} if folder else {"halu_data": "sample"}) | (metadata or {}),
        )
        results = lm_eval.simple_evaluate(model=model, tasks=tasks, task_manager=manager, **arguments)
        assert results is not None
        return dict(results)

    return run


@pytest.fixture
def run_inspect(tmp_path: Path) -> Run:
    """Run a task by its registry name in Inspect, in this process; returns the log."""

    def run(task: str, model: Any, task_args: dict[str, Any] | None = None, **arguments: Any) -> Any:
        from inspect_ai import eval

        (log,) = eval(
            f"halu_tasks/{task}",
            model=model,
            task_args={"data": "sample"} | (task_args or {}),
            log_dir=str(tmp_path / "logs"),
            display="log",
            # nobody watches these runs, and keeping events for who might takes a third of their time
            log_realtime=False,
            **arguments,
        )
        return log

    return run


@pytest.fixture
def openai() -> Run:
    """`openai(server)` is an Inspect model at a scripted server; replies are cached for this test only."""

    def model(server: ScriptedServer, name: str = "gpt-4o", **arguments: Any) -> Any:
        from inspect_ai.model import get_model

        return get_model(f"openai/{name}", base_url=server.url, memoize=False, responses_api=False, **arguments)

    return model


@pytest.fixture
def run_method(serve: Callable[..., ScriptedServer], openai: Run, run_inspect: Run) -> Run:
    """`run_method(task, method, answer, **arguments of the method)` runs a task on the sample with a solver of the
    package, against a server that answers by `answer`, the one before where `same_server`. `task_args`, `limit`,
    `temperature` and `model_roles` are the run's. Returns the log."""
    servers: list[ScriptedServer] = []

    def run(task: str, method: str, answer: Answer, same_server: bool = False, **arguments: Any) -> Any:
        from inspect_ai.util import registry_create

        if not same_server:
            servers.append(serve(answer))
        own = {name: arguments.pop(name) for name in ("limit", "temperature", "model_roles") if name in arguments}
        task_args = arguments.pop("task_args", None)
        solver = registry_create("solver", f"halu_tasks/{method}", **arguments)
        return run_inspect(task, openai(servers[-1]), task_args, solver=solver, **own)

    return run


@pytest.fixture
def run_build(serve: Callable[..., ScriptedServer], here: Run, tmp_path: Path) -> Callable[..., tuple[Any, Path]]:
    """`run_build(builder, documents, answer, *arguments)` runs `halu-tasks build` against a scripted server; documents
    are rows, or a path. Returns the JSON it prints (with `fails`, or without `told`, its errors) and its folder."""

    def run(
        builder: str,
        documents: list[dict[str, Any]] | Path,
        answer: Answer,
        *arguments: str,
        out: str = "out",
        fails: bool = False,
        told: bool = True,
        status: int = 0,
    ) -> tuple[Any, Path]:
        source = documents if isinstance(documents, Path) else tmp_path / "documents.jsonl"
        if not isinstance(documents, Path):
            write_rows(source, documents)
        done = here(
            "build", builder, source, "-o", tmp_path / out, "--model", "openai/gpt-4o",
            "--model-base-url", serve(answer).url, "-M", "responses_api=false", "--display", "none", "--json",
            *arguments,
        )  # fmt: skip
        assert done.returncode == (2 if fails else status), done.stderr
        return (json.loads(done.stdout) if told and not fails else done.stderr), tmp_path / out

    return run


@pytest.fixture
def judged_replies(tmp_path: Path) -> Path:
    """Replies to `cfaith_gen`, every third of them right."""
    from judges import third_right, write_replies

    return write_replies(tmp_path / "replies.jsonl", third_right())
