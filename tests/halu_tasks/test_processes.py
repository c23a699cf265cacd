"""Processes that write the same, or are killed: what others see is whole, and nothing is in the way of the next."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from common import Patch

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_files, atomic_folder, atomic_path
from halu_tasks.core.processes import guard
from halu_tasks.executors.slurm import main as run_slurm_task
from halu_tasks.knowledge import open_knowledge

IMPORTS = (
    "import os, signal, sys, anyio; from pathlib import Path\n"
    "from halu_tasks.core.files import atomic_files, atomic_folder, atomic_path\n"
    "from halu_tasks.core.processes import guard\n"
    "here = Path(sys.argv[1])\ndef die(*args): os.kill(os.getpid(), signal.SIGKILL)\n"
)


class Ran:
    """As a pickle, creates a file when it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.mark,)


def start(folder: Path, program: str) -> subprocess.Popen[str]:
    """Start a program in the folder, which is killed by itself or by the test."""
    return subprocess.Popen(
        [sys.executable, "-c", IMPORTS + program, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def killed(folder: Path, program: str) -> None:
    process = start(folder, program)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, errors


# --- files ----------------------------------------------------------------------------------------


def test_writers_of_one_file_have_files_of_their_own_and_each_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "details.jsonl"
    with atomic_path(path) as first, atomic_path(path) as second:
        first.write_text("first\n" * 1000)
        second.write_text("second\n")
    # the last one that ends
    assert path.read_text() == "first\n" * 1000 and list(tmp_path.iterdir()) == [path]
    with pytest.raises(ZeroDivisionError), atomic_path(path) as third:
        third.write_text("third")
        raise ZeroDivisionError
    assert path.read_text() == "first\n" * 1000 and list(tmp_path.iterdir()) == [path]
    with atomic_folder(tmp_path / "parts") as one, atomic_folder(tmp_path / "parts") as two:
        (one / "a").touch()
        (two / "b").touch()
    assert [each.name for each in (tmp_path / "parts").iterdir()] == ["b"]


def test_many_processes_write_one_file_at_once(tmp_path: Path) -> None:
    writing = "for _ in range(300):\n    with atomic_path(here / 'a') as a: a.write_text('whole')\n"
    writers = [start(tmp_path, writing) for _ in range(6)]
    assert [writer.communicate(timeout=300)[1] for writer in writers] == [""] * len(writers)
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and (tmp_path / "a").read_text() == "whole"


def test_writers_do_not_collide_where_a_file_system_has_no_locks(tmp_path: Path, monkeypatch: Patch) -> None:
    def flock(*args: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    with atomic_path(tmp_path / "a") as first:
        first.write_text("first")
        with atomic_path(tmp_path / "a") as second:
            second.write_text("second")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["first"]


def test_what_killed_writers_have_left_does_not_pile_up(tmp_path: Path) -> None:
    begin = "with atomic_path(here / 'a') as a, atomic_folder(here / 'b'): a.write_text('half'); die()"
    for _ in range(2):
        killed(tmp_path, begin)
    assert len(list(tmp_path.iterdir())) == 2
    with atomic_path(tmp_path / "a") as file, atomic_folder(tmp_path / "b"):
        file.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"] and (tmp_path / "a").read_text() == "whole"


@pytest.mark.parametrize("replaced", range(4))
def test_files_of_one_writing_appear_together_even_if_it_is_killed(tmp_path: Path, replaced: int) -> None:
    """The writer is killed before a file takes its place."""

    def write(content: str) -> None:
        with atomic_files(tmp_path, "index.html") as made:
            for name in ("index.html", "items.parquet", "report.json"):
                (made / name).write_text(content)

    write("1")
    killed(
        tmp_path,
        "with atomic_files(here, 'index.html') as made:\n"
        "    for name in ('index.html', 'items.parquet', 'report.json'): (made / name).write_text('2')\n"
        f"    steps, replace = [*[lambda: None] * {replaced}, die], Path.replace\n"
        "    Path.replace = lambda self, to: (steps.pop(0)(), replace(self, to))\n"
        "die()",
    )
    page = tmp_path / "index.html"
    assert page.exists() is (replaced == 3)
    if page.exists():
        assert {path.read_text() for path in tmp_path.iterdir() if path.is_file()} == {"2"}
    write("3")
    assert {path.read_text() for path in tmp_path.iterdir()} == {"3"}


# --- locks ----------------------------------------------------------------------------------------


def test_a_lock_names_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    holder = start(tmp_path, "with guard(here): print('held', flush=True); sys.stdin.read()")
    assert holder.stdout and holder.stdout.readline() == "held\n"
    told = rf"another process is working on it \(process {holder.pid} on {os.uname().nodename}, since 2\d{{3}}-"
    with pytest.raises(DataError, match=told), guard(tmp_path):
        pass
    holder.kill()
    holder.communicate()
    with guard(tmp_path), pytest.raises(DataError, match=f"process {os.getpid()} on"), guard(tmp_path):
        pass


# --- what is read from folders ----------------------------------------------------------------------


def test_pickles_in_the_index_of_passages_are_not_read(tmp_path: Path, halu_cache: Path) -> None:
    (tmp_path / "facts.jsonl").write_text(json.dumps({"text": "The Rhine flows into the North Sea."}) + "\n")
    open_knowledge(tmp_path / "facts.jsonl")
    arrays = list((halu_cache / "knowledge").rglob("*.npy"))
    hostile = np.empty(1, dtype=object)
    hostile[0] = Ran(tmp_path / "ran")
    for array in arrays:
        np.save(array, hostile, allow_pickle=True)
    with pytest.raises(DataError, match="the index is damaged"):
        open_knowledge(tmp_path / "facts.jsonl")
    assert arrays and not (tmp_path / "ran").exists()


def test_a_job_that_was_changed_after_it_was_submitted_is_not_run(tmp_path: Path, monkeypatch: Patch) -> None:
    job = tmp_path / "job.json"
    job.write_text(json.dumps({"job": "pathlib:Path.touch", "tasks": 1, "fields": [str(tmp_path / "ran")]}))
    monkeypatch.setattr("sys.argv", ["slurm", str(job), "0" * 64, "0"])
    with pytest.raises(DataError, match=r"job\.json: is not the job that was submitted"):
        run_slurm_task()
    assert not (tmp_path / "ran").exists()
