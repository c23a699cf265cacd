"""Downloads, from a real server on loopback that fails in the ways servers do."""

import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import CASES
from common import Patch
from loopback import Handler, Server

from halu_tasks.core.errors import DataError
from halu_tasks.data.cache import HOW_TO_NAME, cached_path, fetch
from halu_tasks.data.locate import locate
from halu_tasks.data.sources import Source, SourceFile

BODY = b'{"a": "published"}\n' * 5_000
SUM = hashlib.sha256(BODY).hexdigest()
NAME = "rows.jsonl"
# nothing listens on the discard port
UNUSED = "http://127.0.0.1:9"


class Failing(Server):
    """Answers with `status` and, if it is 200, with `body`, of which it sends only `sent` bytes."""

    status, body, sent, wait = 200, BODY, len(BODY), 0.0

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.asked: list[tuple[str, str | None]] = []


class _Handler(Handler):
    protocol_version = "HTTP/1.0"
    server: Failing

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        time.sleep(self.server.wait)
        content = self.server.body if self.server.status == 200 else b""
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.sent])


@pytest.fixture
def server() -> Iterator[Failing]:
    with Failing() as running:
        yield running


def source(address: str, sha256: str | None = SUM) -> Source:
    files = (SourceFile(name=NAME, url=f"{address}/x/{NAME}", sha256=sha256),)
    return Source(name="toy", title="Toy", files=files, homepage="https://example.org", revision="rev")


def left_in(folder: Path) -> set[str]:
    """Names of the files under `folder`, locks apart."""
    return {path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


def test_a_download_is_kept_not_repeated_and_asked_for_without_a_token(
    server: Failing, halu_cache: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    toy = source(server.url)
    found = locate(toy, NAME)
    assert (found.kind, found.sha256, found.content) == ("pinned", SUM, cached_path(toy, NAME))
    assert cached_path(toy, NAME).read_bytes() == BODY
    assert locate(toy, NAME) == found and fetch(toy, NAME) == found.content
    assert server.asked == [(f"/x/{NAME}", None)] and left_in(halu_cache) == {NAME}


def test_another_checksum_is_named_with_both_sums_and_never_used(server: Failing, halu_cache: Path) -> None:
    server.body = BODY.replace(b"published", b"tampered!")
    for _ in range(2):
        with pytest.raises(DataError) as raised:
            locate(source(server.url), NAME)
        assert SUM in str(raised.value) and hashlib.sha256(server.body).hexdigest() in str(raised.value)
        assert left_in(halu_cache) == set()


@pytest.mark.parametrize(("status", "sent", "reason"), CASES["a_file_that_does_not_come_is_named_and_leaves_nothing"])
def test_a_file_that_does_not_come_is_named_and_leaves_nothing(
    status: int, sent: int, reason: str, server: Failing, halu_cache: Path
) -> None:
    server.status, server.sent = status, sent
    with pytest.raises(DataError) as raised:
        fetch(source(server.url, None), NAME)
    message = str(raised.value)
    assert left_in(halu_cache) == set() and len(message.splitlines()) == 1
    assert f"Toy: cannot download {server.url}/x/{NAME} (" in message and reason in message and HOW_TO_NAME in message


@pytest.mark.parametrize(("address", "reason"), [(UNUSED, "Connection refused"), ("http://host:port", "Invalid port")])
def test_an_address_that_does_not_answer_is_an_error_of_one_line(address: str, reason: str) -> None:
    with pytest.raises(DataError, match=rf"^Toy: cannot download {address}/x/.*{reason}.*; name a local copy.*$"):
        locate(source(address), NAME)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: Patch) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    monkeypatch.setenv("HALU_TASKS_CACHE", str(file))
    expected = rf"Toy: cannot write {file}/.*; name another folder with HALU_TASKS_CACHE=PATH"
    with pytest.raises(DataError, match=expected):
        fetch(source(UNUSED), NAME)


FETCH = """
import sys
from halu_tasks.data.cache import fetch
from halu_tasks.data.sources import Source, SourceFile
name, url, sha256 = sys.argv[1:]
file = SourceFile(name=name, url=url, sha256=sha256)
print(fetch(Source(name="toy", title="Toy", files=(file,), revision="rev"), name))
"""


@pytest.mark.slow
def test_processes_that_start_at_once_download_once(server: Failing) -> None:
    server.wait = 1.0
    command = [sys.executable, "-c", FETCH, NAME, f"{server.url}/x/{NAME}", SUM]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=sys.prefix) for _ in range(3)]
    printed = {process.communicate(timeout=60)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0, 0]
    assert printed == {f"{cached_path(source(server.url), NAME)}\n"}
    assert len(server.asked) == 1
