"""Builds that are killed at random moments, on each executor, compared with an undisturbed one.

    python tests/benchmark_executors.py [20000] [--kills 10] [--executors local,slurm,ray] [--tasks 4] [--seed 0]

The server answers at once, and counts what it is asked. A build is killed at random numbers of calls: one of its
workers, the command itself (which is then given again), or the node (Slurm: slurmd with all that runs on it; Ray: the
raylet of a machine; local: everything). Prints, for each executor, the time, the calls, how many of them were repeated,
and whether dataset and rejects are byte by byte those of the undisturbed build. Slurm and Ray are started on this
machine for it (Slurm: as root, with Debian's slurm-wlm and munge); where one does not start, the reason is printed
instead.

One document in ten takes all six calls of HaluAgent with one type; the others end after the first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import ThreadingHTTPServer
from multiprocessing import Process, Queue
from pathlib import Path
from typing import ClassVar

from benchmark_build import Handler, answer, write_documents

SLURM = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmUser=root
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={tasks} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class Counting(Handler):
    """Answers at once, and counts requests and those that it has answered before."""

    seen: ClassVar[set[bytes]] = set()
    calls: ClassVar[int] = 0

    def do_GET(self) -> None:
        body = json.dumps([Counting.calls, Counting.calls - len(Counting.seen)]).encode()
        if self.path == "/reset":
            Counting.seen, Counting.calls = set(), 0
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reply(self, asked: str) -> str:
        if "Reply with the one word" in asked:
            return "ready"
        Counting.calls += 1
        Counting.seen.add(hashlib.sha256(asked.encode()).digest())
        if "You write questions" in asked and not re.search(r"Town\d*0x", asked):
            return "no question"
        return answer(asked)


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: connections end when a client is killed."""


def serve(ports: Queue[int]) -> None:
    server = Server(("127.0.0.1", 0), Counting)
    ports.put(server.server_address[1])
    server.serve_forever()


def counts(port: int, path: str = "/") -> tuple[int, int]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as reply:
        calls, repeated = json.loads(reply.read())
    return calls, repeated


def processes(pattern: str) -> list[int]:
    """The processes whose command line matches."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and int(folder.name) != os.getpid():
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if re.search(pattern, command):
                    found.append(int(folder.name))
    return found


def parent(process: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def kill(chosen: list[int]) -> None:
    for process in chosen:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


class Local:
    """This machine."""

    name = "local"
    config: ClassVar[dict[str, object]] = {"attempts": 100}

    def workers(self, command: int) -> list[int]:
        return [process for process in processes("multiprocessing.spawn.*spawn_main") if parent(process) == command]

    def kill_node(self, command: int) -> None:
        workers = self.workers(command)
        kill([command, *workers])


class Slurm:
    """A Slurm of one node, started in a folder."""

    name = "slurm"
    config: ClassVar[dict[str, object]] = {"partition": "all", "attempts": 100}

    def __init__(self, folder: Path, tasks: int) -> None:
        self.folder = folder
        folder.mkdir()
        if missing := [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name)]:
            raise OSError(f"{missing[0]} is not installed (apt-get install slurm-wlm munge)")
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        where = {"folder": folder, "host": socket.gethostname(), "port": free_port(), "node_port": free_port()}
        (folder / "slurm.conf").write_text(SLURM.format(**where, tasks=tasks))
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        files = {"key-file": key} | {f"{name}-file": folder / f"munge.{name}" for name in ("pid", "log", "seed")}
        run("munged", "--force", f"--socket={folder}/munge.socket", *(f"--{k}={v}" for k, v in files.items()))
        run("slurmctld")
        run("slurmd")
        until = time.monotonic() + 30
        while "idle" not in (state := subprocess.run(["sinfo", "-h"], capture_output=True, text=True).stdout):
            if time.monotonic() > until:
                raise OSError(f"no idle node after 30 seconds: {state}")
            time.sleep(0.5)

    def workers(self, command: int) -> list[int]:
        return processes(r"python\S* -m halu_tasks.executors.slurm ")

    def kill_node(self, command: int) -> None:
        kill([int((self.folder / "slurmd.pid").read_text()), *processes("^slurmstepd"), *self.workers(command)])
        time.sleep(3)
        run("slurmd")

    def close(self) -> None:
        subprocess.run(["scancel", "--user=root"], capture_output=True)
        for name in ("slurmd", "slurmctld", "munge"):
            with suppress(OSError, ValueError):
                kill([int((self.folder / f"{name}.pid").read_text())])


class Ray:
    """A Ray of two nodes on this machine: one that runs nothing, and one for the tasks."""

    name = "ray"
    config: ClassVar[dict[str, object]] = {"max_retries": 100}

    def __init__(self, folder: Path, tasks: int) -> None:
        self.ray = str(Path(sys.executable).with_name("ray"))
        if not Path(self.ray).exists():
            raise OSError("it is not installed (halu-tasks[cluster])")
        self.tasks, self.port = tasks, free_port()
        os.environ |= {"RAY_ADDRESS": f"127.0.0.1:{self.port}", "RAY_AUTH_MODE": "disabled"}
        common = ["--disable-usage-stats", "--object-store-memory=100000000", "--node-ip-address=127.0.0.1"]
        # the path of a socket in it may not be long
        self.folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
        head = [f"--port={self.port}", "--num-cpus=0", "--include-dashboard=false", f"--temp-dir={self.folder}"]
        run(self.ray, "start", "--head", *common, *head)
        self.common = common
        self.start_node()

    def start_node(self) -> None:
        before = set(self.raylets())
        run(self.ray, "start", f"--address=127.0.0.1:{self.port}", *self.common, f"--num-cpus={self.tasks}")
        self.node = [process for process in self.raylets() if process not in before]

    def raylets(self) -> list[int]:
        return processes(r"raylet/raylet --raylet_socket_name")

    def workers(self, command: int) -> list[int]:
        return processes(r"^ray::_attempt")

    def kill_node(self, command: int) -> None:
        kill([*self.node, *self.workers(command)])
        time.sleep(3)
        self.start_node()

    def close(self) -> None:
        kill(processes(f"{self.folder}|127.0.0.1:{self.port}"))
        shutil.rmtree(self.folder, ignore_errors=True)


_candidates = iter(range(6500, 10_000))


def free_port() -> int:
    """A port below those that the system and Ray give to connections."""
    for port in _candidates:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no free port")


def run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise OSError(f"{command[0]} ended with {result.returncode}: {' '.join(result.stderr.split())[-300:]}")


def start(documents: Path, out: Path, port: int, part_size: int, *more: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "halu_tasks", "build", "haluagent", documents, "-o", out, "--model", "openai/gpt-4o",
        "--model-base-url", f"http://127.0.0.1:{port}/v1", "-M", "responses_api=false", "-T", "language=en",
        "-T", "types=EntErr", "--display", "none", "--part-size", str(part_size), *more,
    ]  # fmt: skip
    with out.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, start_new_session=True)


def files_of(out: Path) -> dict[str, bytes]:
    paths = [*(out / "dataset").iterdir(), out / "rejects.jsonl"]
    return {path.name: path.read_bytes() for path in paths}


@contextmanager
def server() -> Iterator[int]:
    ports: Queue[int] = Queue()
    process = Process(target=serve, args=(ports,), daemon=True)
    process.start()
    try:
        yield ports.get()
    finally:
        process.terminate()


def disturbed(
    place: Local | Slurm | Ray, documents: Path, out: Path, port: int, options: argparse.Namespace, total: int
) -> str:
    """Build, with kills; return what to print."""
    moments = random.Random(f"{place.name} {options.seed}")
    config = out.with_suffix(".yaml")
    config.write_text(json.dumps(place.config))
    more = ["--executor", place.name, "--tasks", str(options.tasks), "--executor-config", str(config)]
    kinds = [("worker", "controller", "node")[number % 3] for number in range(options.kills)]
    moments.shuffle(kinds)
    counts(port, "/reset")
    began = time.monotonic()
    process, runs, kills = start(documents, out, port, options.part_size, *more), 1, Counter[str]()
    # moments of the work, not of the clock: a task takes seconds to start, on which most kills would fall otherwise
    marks = sorted(moments.sample(range(1, total), options.kills))
    while (status := process.poll()) != 0:
        if status is not None:
            process, runs = start(documents, out, port, options.part_size, *more), runs + 1
        time.sleep(0.05)
        if not marks or counts(port)[0] < marks[0] or not (workers := place.workers(process.pid)):
            continue
        marks.pop(0)
        kind = kinds.pop()
        kills[kind] += 1
        if kind == "worker":
            kill([moments.choice(workers)])
        elif kind == "controller":
            kill([process.pid])
        else:
            place.kill_node(process.pid)
    calls, repeated = counts(port)
    killed = ", ".join(f"{number} {kind}" for kind, number in sorted(kills.items()))
    left = len(place.workers(process.pid))
    return (
        f"{time.monotonic() - began:7.0f} s, killed: {killed}; {runs} commands; {calls:,} calls, {repeated:,} of them "
        f"repeated; {left} processes left"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("documents", type=int, nargs="?", default=20_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--executors", default="local,slurm,ray")
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--part-size", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    os.environ |= {"OPENAI_API_KEY": "none", "XDG_DATA_HOME": str(folder / "data")}
    print(f"in {folder}", flush=True)
    with server() as port, ExitStack() as stack:
        documents = folder / "documents.jsonl"
        write_documents(documents, options.documents)
        began = time.monotonic()
        tasks = ["--tasks", str(options.tasks)]
        assert start(documents, folder / "undisturbed", port, options.part_size, *tasks).wait() == 0
        seconds = time.monotonic() - began
        calls, repeated = counts(port)
        print(f"undisturbed: {seconds:.0f} s, {calls:,} calls, {repeated:,} repeated", flush=True)
        for name in options.executors.split(","):
            try:
                place = {"local": lambda: Local(), "slurm": lambda: Slurm(folder / "slurm", options.tasks),
                         "ray": lambda: Ray(folder / "ray", options.tasks)}[name]()  # fmt: skip
            except OSError as error:
                print(f"{name:5}: skipped, since {error}", flush=True)
                continue
            if not isinstance(place, Local):
                stack.callback(place.close)
            line = disturbed(place, documents, folder / f"out-{name}", port, options, calls)
            same = files_of(folder / f"out-{name}") == files_of(folder / "undisturbed")
            print(f"{name:5}: {line}; {'identical' if same else 'DIFFERENT'}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
