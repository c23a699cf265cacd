"""Downloads, from a real server on loopback that fails in the ways servers do."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from halu_tasks.core.errors import DataError
from halu_tasks.data.cache import HOW_TO_NAME, cached_path, fetch
from halu_tasks.data.locate import locate
from halu_tasks.data.sources import Source, SourceFile

Cli = Callable[..., subprocess.CompletedProcess[str]]
Act = Callable[[BaseHTTPRequestHandler], None]
BODY = b'{"a": "published"}\n' * 5_000
SUM = hashlib.sha256(BODY).hexdigest()
NAME = "rows.jsonl"


class Server(ThreadingHTTPServer):
    """Does the next of `acts` at each request, the last of them for ever; records what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.acts: list[Act] = []
        self.asked: list[tuple[str, str | None]] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        (self.server.acts.pop(0) if len(self.server.acts) > 1 else self.server.acts[0])(self)

    def log_message(self, format: str, *args: object) -> None:
        pass


def status(code: int, **headers: str) -> Act:
    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in {"Content-Length": "0", **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()

    return act


def body(content: bytes = BODY, *, sent: int | None = None, wait: float = 0.0) -> Act:
    """Serve `content`; of which only the first `sent` bytes before the connection is cut."""

    def act(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(wait)
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:sent])

    return act


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running
        running.shutdown()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, not taken."""
    taken: list[float] = []
    monkeypatch.setattr("halu_tasks.data.cache.time", SimpleNamespace(sleep=taken.append))
    return taken


def source(address: str, sha256: str | None = SUM) -> Source:
    files = (SourceFile(name=NAME, url=f"{address}/x/{NAME}", sha256=sha256),)
    return Source(name="toy", title="Toy", files=files, homepage="https://example.org", revision="rev")


def left_in(folder: Path) -> set[str]:
    """Names of the files under `folder`, locks apart."""
    return {path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


def refused_port() -> int:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return int(closed.getsockname()[1])


# --- what is kept -------------------------------------------------------------------------------


def test_a_download_is_kept_and_not_repeated(server: Server, halu_cache: Path) -> None:
    server.acts = [body()]
    toy = source(server.url)
    found = locate(toy, NAME)
    assert (found.kind, found.sha256, found.content) == ("pinned", SUM, cached_path(toy, NAME))
    assert found.content.read_bytes() == BODY
    assert locate(toy, NAME) == found and fetch(toy, NAME) == found.content
    assert server.paths == [f"/x/{NAME}"]
    assert left_in(halu_cache) == {NAME}


def test_a_redirect_is_followed(server: Server) -> None:
    server.acts = [status(302, Location="/elsewhere"), body()]
    assert fetch(source(server.url), NAME).read_bytes() == BODY
    assert server.paths == [f"/x/{NAME}", "/elsewhere"]


@pytest.mark.parametrize(
    "acts", [[status(500), status(503)], [body(sent=70_000), body(sent=10)]], ids=["errors", "cut connections"]
)
def test_a_server_that_fails_twice_is_asked_a_third_time(acts: list[Act], server: Server, waits: list[float]) -> None:
    server.acts = [*acts, body()]
    assert fetch(source(server.url), NAME).read_bytes() == BODY
    assert len(server.asked) == 3
    assert waits == sorted(waits) and len(waits) == 2


# --- what is not kept ---------------------------------------------------------------------------


def test_another_checksum_is_named_with_both_sums_and_never_used(server: Server, halu_cache: Path) -> None:
    tampered = BODY.replace(b"published", b"tampered!")
    server.acts = [body(tampered)]
    toy = source(server.url)
    for _ in range(2):
        with pytest.raises(DataError) as raised:
            locate(toy, NAME)
        assert SUM in str(raised.value) and hashlib.sha256(tampered).hexdigest() in str(raised.value)
        assert left_in(halu_cache) == set()
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("act", "asked", "reason"),
    [
        (status(502), 3, "502"),
        # without a published sum, only the length can tell
        (body(sent=70_000), 3, ""),
        (status(404), 1, "Client error '404"),
        (status(403), 1, "Client error '403"),
    ],
)
def test_a_file_that_does_not_come_is_named_and_leaves_nothing(
    act: Act, asked: int, reason: str, server: Server, waits: list[float], halu_cache: Path
) -> None:
    server.acts = [act]
    with pytest.raises(DataError) as raised:
        fetch(source(server.url, None), NAME)
    assert len(server.asked) == asked and left_in(halu_cache) == set()
    message = str(raised.value)
    assert f"Toy: cannot download {server.url}/x/{NAME} (" in message and reason in message
    assert "--data PATH" in message and "gated" not in message and len(message.splitlines()) == 1


def test_no_network_says_how_to_do_without(waits: list[float]) -> None:
    with pytest.raises(DataError) as raised:
        locate(source(f"http://127.0.0.1:{refused_port()}"), NAME)
    message = str(raised.value)
    assert "Connection refused" in message and len(message.splitlines()) == 1
    assert HOW_TO_NAME in message


def test_an_address_that_is_none_is_an_error_and_not_tried_again(waits: list[float]) -> None:
    with pytest.raises(DataError, match=r"Toy: cannot download http://host:port/.* \(Invalid port"):
        fetch(source("http://host:port"), NAME)
    assert waits == []


def test_a_cache_that_cannot_be_written_is_named(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    monkeypatch.setenv("HALU_TASKS_CACHE", str(file))
    with pytest.raises(
        DataError, match=rf"Toy: cannot write {file}/.*; name another folder with HALU_TASKS_CACHE=PATH"
    ):
        fetch(source(server.url), NAME)


# --- two at once --------------------------------------------------------------------------------

FETCH = """
import sys
from halu_tasks.data.cache import fetch
from halu_tasks.data.sources import Source, SourceFile
name, url, sha256 = sys.argv[1:]
file = SourceFile(name=name, url=url, sha256=sha256)
print(fetch(Source(name="toy", title="Toy", files=(file,), revision="rev"), name))
"""


@pytest.mark.slow
def test_processes_that_start_at_once_download_once(server: Server) -> None:
    server.acts = [body(wait=1.0)]
    command = [sys.executable, "-c", FETCH, NAME, f"{server.url}/x/{NAME}", SUM]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=sys.prefix) for _ in range(3)]
    printed = {process.communicate(timeout=60)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    assert printed == {f"{cached_path(source(server.url), NAME)}\n"}
    assert len(server.asked) == 1


# --- tokens ------------------------------------------------------------------------------------


def test_a_token_goes_to_the_hub_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    server.acts = [body()]
    fetch(source(server.url), NAME)
    assert server.asked == [(f"/x/{NAME}", None)]
