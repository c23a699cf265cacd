"""A build that is killed at random moments and resumed writes the same bytes as one that is not."""

import json
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_builders import HaluModel, start_build, write_documents
from test_build import SITES, files_of

DOCUMENTS = 24


@pytest.fixture
def start(serve: Callable[..., Any], tmp_path: Path) -> Callable[..., tuple[Callable[..., Any], HaluModel]]:
    """`start(delay)` gives a way to start builds into a folder, in processes of their own, and the model they ask."""

    def prepared(delay: float) -> tuple[Callable[..., subprocess.Popen[str]], HaluModel]:
        source, model = write_documents(tmp_path, DOCUMENTS), HaluModel(SITES)
        server = serve(model, delay)

        def process(out: str, tasks: int = 1, part_size: int = 8) -> subprocess.Popen[str]:
            own = ("--part-size", part_size, "--max-connections", 4, "--executor-tasks", tasks)
            return start_build(source, server.url, tmp_path / out, *own)

        return process, model

    return prepared


def killed(process: subprocess.Popen[str], seconds: float) -> bool:
    """Whether it had to be killed after so many seconds."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, error = process.communicate(timeout=900)
    assert process.returncode == 0, error
    return dict(json.loads(out))


@pytest.mark.slow
@pytest.mark.parametrize(("kills", "tasks"), [(2, 1), (20, 1), (4, 2)])
def test_killed_and_gone_on_with(start: Any, tmp_path: Path, kills: int, tasks: int) -> None:
    process, model = start(0.05)
    began = time.monotonic()
    told = finished(process("whole"))
    whole, seconds = len(model.asked), time.monotonic() - began
    moments = random.Random(kills)
    done, life = 0, 0
    model.asked.clear()
    while done < kills:
        run = process(f"killed-{life}", tasks)
        # anywhere in it, and in what is left of it
        if killed(run, moments.uniform(0.5, seconds)):
            done += 1
            continue
        # it ended before: once more from the start
        finished(run)
        assert files_of(tmp_path / f"killed-{life}") == files_of(tmp_path / "whole")
        life += 1
        model.asked.clear()
    again = finished(process(f"killed-{life}", tasks))
    assert files_of(tmp_path / f"killed-{life}") == files_of(tmp_path / "whole")
    different = {"folder", "files"}
    assert {k: v for k, v in again.items() if k not in different} == {
        k: v for k, v in told.items() if k not in different
    }
    # a document that is done is not asked about again; some are on their way when it is killed
    assert len(model.asked) <= whole + 12 * 6 * kills * tasks


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_restarted_build_says_how_many_documents_are_kept(start: Any, stop: signal.Signals) -> None:
    process, model = start(0.5)
    run = process("whole", part_size=DOCUMENTS)
    while len(model.asked) < 80:
        time.sleep(0.02)
    run.send_signal(stop)
    _, told = run.communicate(timeout=900)
    assert "part 1 of 1 begins\n" in told
    before = len(model.asked)
    again = process("whole", part_size=DOCUMENTS)
    _, told = again.communicate(timeout=900)
    assert again.returncode == 0, told
    found = re.search(rf"part 1 of 1 begins again; (\d+) of its {DOCUMENTS} documents are finished and kept\n", told)
    kept = int(found[1]) if found else 0
    # a document takes six calls, but one is rejected after its first
    assert 0 <= 6 * (DOCUMENTS - kept) - (len(model.asked) - before) <= 5
    # up to four were in progress; a killed process may not have written what it had just finished
    assert stop == signal.SIGKILL or kept >= 80 // 6 - 4


@pytest.mark.slow
def test_one_of_several_processes_says_that_its_figures_are_its_own(start: Any) -> None:
    process, _ = start(0.0)
    _, told = process("whole", 2, part_size=6).communicate(timeout=900)
    assert re.search(r"; [\d,]+ tokens so far in this task; 1 left for this task, \d+ minutes\n", told), told
