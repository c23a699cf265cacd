"""Data on the Hub: the real clients, `huggingface_hub` and `datasets`, ask a server on loopback."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import CASES
from loopback import Handler, Server

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.options import Options
from halu_tasks.data.hub import HubAddress
from halu_tasks.data.locate import SAMPLE
from halu_tasks.data.rows import json_lines
from halu_tasks.data.sources import SOURCES
from halu_tasks.tasks import build

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_good"
ROWS = [row for _, row in json_lines(SAMPLE / "refact" / "refact_multi_error.jsonl")]
PSILOQA = [row for _, row in json_lines(SAMPLE / "psiloqa" / "psiloqa.jsonl")]
FACTCHD, TRAINING = (
    [row for _, row in json_lines(SAMPLE / name)]
    for name in ("factchd/fact_test_noe.jsonl", "fewshot/factchd/fact_train_noe.jsonl")
)
GATED = ["en_final_data.csv", "ar_final_data.csv", "tr_final_data.csv"]


def parquet(rows: list[dict[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    return buffer.getvalue()


def lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


class Repository(NamedTuple):
    """A dataset on the Hub; a gated one needs the token."""

    files: dict[str, bytes]
    gated: bool = False


RENAMED = [{("frage" if name == "question" else name): value for name, value in row.items()} for row in ROWS]
HUB = {
    "zjunlp/FactCHD": Repository(
        {
            # as published, some ids are numbers
            "fact_test_noe.jsonl": lines(row | {"id": n} if n % 2 else row for n, row in enumerate(FACTCHD)),
            "fact_train_noe.jsonl": lines(row | {"query": f"t {row['query']}"} for row in TRAINING),
        }
    ),
    "sabdalja/HalluVerse3": Repository(
        {name: (SAMPLE / "halluverse25" / name).read_bytes() for name in GATED}, gated=True
    ),
    "user/refact": Repository(
        {
            "README.md": b"---\nlicense: mit\n---\n",
            "data/train-00000-of-00001.parquet": parquet(RENAMED[:3]),
            "data/test-00000-of-00002.parquet": parquet(RENAMED[:20]),
            "data/test-00001-of-00002.parquet": parquet(RENAMED[20:]),
        }
    ),
    "s-nlp/PsiloQA": Repository({"data/test-00000-of-00001.parquet": parquet(PSILOQA)}),
    "user/gated": Repository({"test.jsonl": b'{"a": 1}\n'}, gated=True),
}


class _Handler(Handler):
    """The part of the Hub's interface that the clients use."""

    server: HubServer

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        kind, _, rest = self.path.partition("?")[0].removeprefix("/api").strip("/").partition("/")
        name = "/".join(rest.split("/")[:2])
        repository = HUB.get(name)
        if kind != "datasets" or repository is None:
            return self.send(401, b"Invalid username or password.", X_Error_Code="RepoNotFound")
        files = repository.files
        if "/resolve/" in rest:
            return self._file(repository, rest.partition("/resolve/")[2].partition("/")[2])
        if "/tree/" in rest:
            return self.send(200, _tree(files, rest.partition("/tree/")[2].partition("/")[2]))
        if "/paths-info/" in rest:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            paths = json.loads(body)["paths"] if body.startswith("{") else parse_qs(body)["paths"]
            return self.send(200, [_entry(path, files) for path in paths if path in files])
        if (revision := rest.partition("/revision/")[2]) not in ("", "main", COMMIT, SOURCES["factchd"].revision):
            return self.send(404, f"Invalid rev id: {revision}".encode(), X_Error_Code="RevisionNotFound")
        siblings = [{"rfilename": path} for path in files]
        return self.send(200, {"_id": "1", "id": name, "sha": COMMIT, "siblings": siblings, "private": False})

    do_HEAD = do_POST = do_GET

    def _file(self, repository: Repository, path: str) -> None:
        if repository.gated and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.send(401, b"Access to this dataset is restricted.", X_Error_Code="GatedRepo")
        if path not in repository.files:
            return self.send(404, b"Entry not found", X_Error_Code="EntryNotFound", X_Repo_Commit=COMMIT)
        content = repository.files[path]
        tag = hashlib.sha256(content).hexdigest()
        return self.send(200, content, ETag=f'"{tag}"', X_Repo_Commit=COMMIT)


def _entry(path: str, files: dict[str, bytes]) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(files[path]), "oid": "0" * 40}


def _tree(files: dict[str, bytes], folder: str) -> list[dict[str, Any]]:
    """List what is directly in a folder."""
    prefix = f"{folder}/" if folder else ""
    below = [path.removeprefix(prefix) for path in files if path.startswith(prefix)]
    folders = {prefix + path.partition("/")[0] for path in below if "/" in path}
    return [{"type": "directory", "path": path, "size": 0, "oid": "0" * 40} for path in sorted(folders)] + [
        _entry(prefix + path, files) for path in below if "/" not in path
    ]


class HubServer(Server):
    """A Hub with the datasets of `HUB`; records what was asked, and with which token."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.asked: list[tuple[str, str | None]] = []


ASKED = "items refact_correction --data hf://user/refact"
COMMANDS: dict[str, str] = dict(CASES["commands_of_the_hub"])

SESSION = f"""
import contextlib, io, json, os, sys
from halu_tasks.cli import main
for name, command in json.load(sys.stdin).items():
    os.environ.pop("HF_TOKEN", None)
    if name == "token":
        os.environ["HF_TOKEN"] = {TOKEN!r}
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(command.split())
        except SystemExit as ended:
            status = ended.code
    print(json.dumps([name, status or 0, out.getvalue(), err.getvalue()]))
"""


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def items(self) -> list[dict[str, Any]]:
        assert self.status == 0, self.err
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> str:
        """The only line of an error."""
        assert self.status == 2 and not self.out
        (line,) = [line for line in self.err.splitlines() if line.startswith("halu-tasks: ")]
        return line.removeprefix("halu-tasks: ")


@pytest.fixture(scope="module")
def server() -> Iterator[HubServer]:
    with HubServer() as running:
        yield running


@pytest.fixture(scope="module")
def ran(server: HubServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """All commands, in one process, since the clients read their settings when they are imported."""
    home = tmp_path_factory.mktemp("home")
    settings = {"HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0", "HF_ENDPOINT": server.url, "HF_HOME": str(home)}
    settings |= {"HALU_TASKS_CACHE": str(home / "own"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    session = subprocess.run(
        [sys.executable, "-c", SESSION],
        input=json.dumps(COMMANDS),
        capture_output=True,
        text=True,
        cwd=sys.prefix,
        env={**os.environ, **settings},
        timeout=120,
    )
    assert session.returncode == 0, session.stderr
    return {name: Ran(*rest) for name, *rest in map(json.loads, session.stdout.splitlines())}


# --- pinned sources -----------------------------------------------------------------------------


@pytest.mark.slow
def test_tasks_of_several_languages_read_their_rows_of_one_file(ran: dict[str, Ran], server: HubServer) -> None:
    for name, task in (("psiloqa", "psiloqa_en"), ("psiloqa dataset", "psiloqa_fa")):
        own = [row["id"] for row in PSILOQA if row["lang"] == task[-2:]]
        expected = build(task, Options(data="sample")).items
        assert sorted(item.id for item in expected) == sorted(own)
        assert {(item["id"], item["prompt"], item["target"]) for item in ran[name].items} == {
            (item.id, item.prompt, item.target) for item in expected
        }
    pinned = SOURCES["psiloqa"].revision
    assert any(path.endswith(f"resolve/{pinned}/data/test-00000-of-00001.parquet") for path, _ in server.asked)


@pytest.mark.slow
def test_a_pinned_source_is_fetched_at_its_commit_and_kept_in_the_hubs_cache(
    ran: dict[str, Ran], server: HubServer
) -> None:
    items = ran["factchd"].items
    # items are asked in a drawn order
    ids = {item["id"] for item in items}
    assert ids == {str(n) if n % 2 else row["id"] for n, row in enumerate(FACTCHD)} and len(items) == len(ids)
    assert items == ran["factchd again"].items
    fetched = [path for path, _ in server.asked if path.endswith("fact_test_noe.jsonl")]
    assert set(fetched) == {f"/datasets/zjunlp/FactCHD/resolve/{SOURCES['factchd'].revision}/fact_test_noe.jsonl"}
    assert len(fetched) == 2  # its size and then the file, once


@pytest.mark.slow
def test_the_training_part_is_fetched_only_for_worked_examples(ran: dict[str, Ran], server: HubServer) -> None:
    assert all("#Question#: t " in example["prompt"] for example in ran["training"].items[0]["examples"])
    paths = [path for path, _ in server.asked]
    training = next(at for at, path in enumerate(paths) if path.endswith("fact_train_noe.jsonl"))
    assert any(path.endswith("fact_test_noe.jsonl") for path in paths[:training])


def test_a_gated_source_says_how_to_get_in_and_is_fetched_with_a_token(ran: dict[str, Ran]) -> None:
    refused = ran["no token"]
    *each, last = refused.err.splitlines()
    assert refused.status == 2 and refused.out == "" and last == "halu-tasks: 3 of 3 files failed (above)"
    for name, line in zip(GATED, each, strict=True):
        assert f"/{name} is gated; accept the terms at https://huggingface.co/datasets/sabdalja/HalluVerse3" in line
        assert "set HF_TOKEN" in line and "halu_data (lm-eval" in line
    fetched = ran["token"]
    assert fetched.status == 0 and len(fetched.out.splitlines()) == 3 and TOKEN not in fetched.out + fetched.err
    assert ran["list"].out.count(" cached ") == 3


def test_a_token_is_sent_to_the_hub(ran: dict[str, Ran], server: HubServer) -> None:
    assert {token for path, token in server.asked if "HalluVerse3/resolve" in path} == {None, f"Bearer {TOKEN}"}
    assert {token for path, token in server.asked if "FactCHD" in path} == {None}


# --- the user's datasets ------------------------------------------------------------------------


def test_a_users_dataset_has_the_items_of_its_split(ran: dict[str, Ran]) -> None:
    items = [item["id"] for item in ran["test"].items]
    assert items == [item.id for item in build("refact_correction", Options(data="sample")).shuffled_items]
    swapped = [row["sample_id"] for row in ROWS[:3] if row["error_type"] == "swap"]
    assert [item["id"] for item in ran["file"].items] == swapped


def test_errors_name_splits_columns_and_the_token(ran: dict[str, Ran]) -> None:
    place = f"hf://user/refact@{COMMIT}"
    assert ran["no split"].error == f"{place}: has the splits train, test; choose one with the option data_split"
    wrong = f"{place}: no split 'tset' (did you mean 'test'?); splits: train, test"
    assert ran["other split"].error == wrong
    assert ran["other column"].error.startswith(
        f"{place} (test):1: column 'fragen' (question:fragen) is missing (has 'sample_id', 'frage', "
    )
    assert ran["no columns"].error.startswith(
        f"{place} (test):1: field 'question' is missing (has 'sample_id', 'frage'"
    )
    gated = f"hf://user/gated@{COMMIT} is gated; accept the terms at https://huggingface.co/datasets/user/gated and set"
    assert ran["gated"].error.startswith(f"{gated} HF_TOKEN to a token of that account")
    assert ran["unknown"].error.startswith("hf://user/nothing: no such dataset on the Hub, or no access to it; ")
    assert "HF_TOKEN" in ran["unknown"].error
    assert ran["unknown revision"].error.startswith("hf://user/refact@v9: the dataset has no such revision")


def test_without_a_network_an_address_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # another test may have imported the client before the environment was set
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(DataError, match=r"^hf://user/refact: cannot be downloaded \(HF_HUB_OFFLINE is set\); name a "):
        build("refact_correction", Options(data="hf://user/refact", data_split="test"))


def test_a_folder_of_the_datasets_name_is_not_taken_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "user" / "refact").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^hf://user/refact: the folder \./user/refact would be read in its place"):
        build("refact_correction", Options(data="hf://user/refact", data_split="test"))


def test_a_hub_that_cannot_be_reached_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # nothing listens on the discard port
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(DataError) as raised:
        build("refact_correction", Options(data="hf://user/refact"))
    message = str(raised.value)
    assert message.startswith("hf://user/refact: cannot be downloaded (") and "refused" in message
    assert "halu_data (lm-eval" in message and len(message.splitlines()) == 1


@pytest.mark.parametrize(("text", "parts"), CASES["addresses_are_those_of_the_hub"])
def test_addresses_are_those_of_the_hub(text: str, parts: list[str | None]) -> None:
    assert [*HubAddress.parse(text)] == parts


@pytest.mark.parametrize(
    "text", ["hf://", "hf://name", "hf://user/name@", "hf://user/@main", "hf://../../x", "hf://a/b/../c"]
)
def test_another_address_is_an_error(text: str) -> None:
    with pytest.raises(DataError, match="expected hf://USER/NAME"):
        HubAddress.parse(text)
