"""Executors run every task once, start those again that were killed, and pass errors on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Capture, Patch
from executor_jobs import Writing

from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.executors import get_executor
from halu_tasks.executors.jobs import Executor, run_here
from halu_tasks.executors.ray import run_on_ray
from halu_tasks.executors.slurm import SlurmExecutor

# what stands for a cluster: it starts each task of an array in the background, and lists those that are alive
SBATCH = """#!{python}
import os, pathlib, subprocess, sys
folder = pathlib.Path({folder!r})
options = dict(argument[2:].partition("=")[::2] for argument in sys.argv[1:])
(folder / "options.txt").open("a").write(repr(options) + "\\n")
script = sys.stdin.read()
for rank in options["array"].split(","):
    with open(options["output"].replace("%a", rank), "a") as log:
        task = subprocess.Popen(["sh", "-c", script], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                env={{**os.environ, "SLURM_ARRAY_TASK_ID": rank}}, start_new_session=True)
    (folder / f"pid-{{rank}}").write_text(str(task.pid))
print(f"{{len((folder / 'options.txt').read_text().splitlines())}};cluster")
"""
SQUEUE = """#!{python}
import pathlib
for path in pathlib.Path({folder!r}).glob("pid-*"):
    stat = pathlib.Path("/proc", path.read_text(), "stat")
    if stat.exists() and ") Z" not in stat.read_text():
        print(path.name.removeprefix("pid-"))
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The folder of a stand-in for Slurm, which keeps the options of every `sbatch`."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    for name, script in (("sbatch", SBATCH), ("squeue", SQUEUE)):
        (folder / name).write_text(script.format(python=sys.executable, folder=str(folder)))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    return folder


@pytest.fixture(params=["local", "slurm", pytest.param("ray", marks=pytest.mark.slow)])
def executor(request: pytest.FixtureRequest, monkeypatch: Patch) -> Callable[[int], Executor]:
    """`executor(tasks)` is each executor in turn."""
    if request.param == "local":
        return lambda tasks: partial(run_here, tasks=tasks, attempts=3)
    if request.param == "ray":
        pytest.importorskip("ray")
        # it would write a token into the home folder
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
        return lambda tasks: partial(run_on_ray, tasks=tasks, options={"address": "local", "max_retries": 2})
    request.getfixturevalue("cluster")
    return lambda tasks: SlurmExecutor(tasks, {"partition": "all"}, attempts=3, patience=0.5).run


def written(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.name.isdecimal()}


def starts(folder: Path, rank: int) -> int:
    return len((folder / f"started-{rank}").read_text().split())


@pytest.mark.slow
def test_tasks_that_are_killed_are_started_again_and_finished_ones_are_not(
    executor: Callable[[int], Executor], tmp_path: Path
) -> None:
    lines: list[str] = []
    (tmp_path / "1").write_text("from before")
    executor(3)(Writing(tmp_path, killed=(2, 2)), lines.append)
    assert written(tmp_path) == {"0": "0 of 3", "1": "from before", "2": "2 of 3"}
    assert starts(tmp_path, 0) == 1 and starts(tmp_path, 2) == 3 and not (tmp_path / "started-1").exists()


@pytest.mark.slow
def test_an_error_is_raised_as_it_is_after_the_others_have_ended(
    executor: Callable[[int], Executor], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"^task 0 has no data$"):
        executor(2)(Writing(tmp_path, fails=0, waits=0.5), lambda line: None)
    assert written(tmp_path) == {"1": "1 of 2"} and starts(tmp_path, 0) == 1


@pytest.mark.slow
def test_a_task_that_is_killed_too_often_is_lost(executor: Callable[[int], Executor], tmp_path: Path) -> None:
    with pytest.raises(HaluTasksError, match="task 2 of 2"):
        executor(2)(Writing(tmp_path, killed=(1,) * 9), lambda line: None)
    assert written(tmp_path) == {"0": "0 of 2"} and starts(tmp_path, 1) == 3


def start_local(folder: Path) -> subprocess.Popen[bytes]:
    """A process that runs two slow tasks on this machine."""
    program = (
        "import signal, sys; from pathlib import Path; from executor_jobs import Writing\n"
        # a shell in the background starts its commands without it
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from halu_tasks.executors.jobs import run_here\n"
        f"if __name__ == '__main__': run_here(Writing(Path({str(folder)!r}), held=True), print, tasks=2)"
    )
    (folder / "program.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    process = subprocess.Popen([sys.executable, folder / "program.py"], env=environment, stderr=subprocess.DEVNULL)
    # a task that is interrupted between opening and writing its file leaves it empty
    files = [folder / f"started-{rank}" for rank in (0, 1)]
    while not all(file.exists() and file.read_text() for file in files):
        assert process.poll() is None
        time.sleep(0.05)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_tasks_end_with_the_command(tmp_path: Path, ending: int) -> None:
    process = start_local(tmp_path)
    process.send_signal(ending)
    process.wait(300)
    tasks = [Path("/proc", (tmp_path / f"started-{rank}").read_text().strip()) for rank in (0, 1)]
    until = time.monotonic() + 300
    while any(task.exists() and ") Z" not in (task / "stat").read_text() for task in tasks):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert not written(tmp_path)


@pytest.mark.slow
def test_slurm_gets_its_options_and_the_same_command_waits_for_its_tasks(cluster: Path, tmp_path: Path) -> None:
    job = Writing(tmp_path, held=True)
    config = tmp_path / "slurm.yaml"
    config.write_text("partition: gpu\ntime: 12:00:00\nsetup: [export HALU_SETUP=1]\n")
    executor = get_executor("slurm", 2, config)
    # an earlier command was killed after it had submitted the tasks
    command = (
        "import pathlib; from executor_jobs import Writing; from halu_tasks.executors import get_executor\n"
        f"executor = get_executor('slurm', 2, pathlib.Path({str(config)!r}))\n"
        f"executor(Writing(pathlib.Path({str(tmp_path)!r}), held=True), print)"
    )
    earlier = subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.DEVNULL)
    while not (tmp_path / "executor" / "writing" / "slurm.json").exists():
        assert earlier.poll() is None
        time.sleep(0.05)
    earlier.kill()
    earlier.wait()
    lines: list[str] = []
    with pytest.raises(DataError, match="still works on 2 tasks; wait for it with --executor-tasks 2"):
        get_executor("slurm", 3, config)(job, lines.append)

    def report(line: str) -> None:
        lines.append(line)
        (tmp_path / "go").touch()

    executor(job, report)
    assert written(tmp_path) == {"0": "0 of 2", "1": "1 of 2"}
    assert [starts(tmp_path, rank) for rank in (0, 1)] == [1, 1]
    assert lines[0] == "writing: waits for array 1, which was submitted before"
    (options,) = (cluster / "options.txt").read_text().splitlines()
    assert "'partition': 'gpu'" in options and "'time': '12:00:00'" in options
    assert "'job-name': 'halu-writing'" in options and "'requeue': ''" in options


@pytest.mark.parametrize(("name", "config", "message"), CASES["a_setting_that_is_unknown_is_named_with_its_file"])
def test_a_setting_that_is_unknown_is_named_with_its_file(
    cluster: Path, tmp_path: Path, name: str, config: str, message: str
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(config)
    with pytest.raises(UsageError) as error:
        get_executor(name, 2, file)
    assert str(error.value).startswith(f"{file}: {message}")


def test_what_is_not_installed_is_a_line(here: Any, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = here("build", "haluagent", tmp_path, "-o", tmp_path / "out", "--model", "mockllm/x", "--executor", "slurm")
    assert done.returncode == 2 and "sbatch is not installed here" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command", ["build haluagent {source} --model mockllm/x", "run halu/oracle --tasks cfaith_tf --data sample"]
)
def test_a_cluster_keeps_no_credential(command: str, here: Any, cluster: Path, tmp_path: Path) -> None:
    (source := tmp_path / "documents.jsonl").write_text('{"id": "1", "text": "Some words of a document."}\n')
    secret = ("-M", "api_key=very-secret") if "build" in command else ("--", "-M", "api_key=very-secret")
    given = ("-o", tmp_path / "out", "--executor", "slurm", "--executor-tasks", "2")
    done = here(*command.format(source=source).split(), *given, *secret)
    assert done.returncode == 2 and "set credentials in the environment" in done.stderr
    assert "very-secret" not in done.stderr and not (cluster / "options.txt").exists()
    assert not any(b"very-secret" in path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())


@pytest.mark.slow
def test_what_ray_prints_is_not_on_standard_output(tmp_path: Path, monkeypatch: Patch, capfd: Capture) -> None:
    """The output of workers, and the news that one was killed; standard output may be a command's JSON."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    job = Writing(tmp_path, killed=(0,), waits=3, prints="a line of a worker")
    run_on_ray(job, lambda line: None, tasks=2, options={"address": "local", "max_retries": 2})
    out, err = capfd.readouterr()
    assert out == "" and "a line of a worker" in err and "A worker died" in err


def test_an_unknown_setting_of_ray_is_named(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    file = tmp_path / "ray.yaml"
    file.write_text(json.dumps({"num_cpu": 2}))
    with pytest.raises(UsageError, match="num_cpu") as error:
        get_executor("ray", 2, file)
    assert str(file) in str(error.value)
