"""Places where the tasks of an executor run, started on this machine, and ways to kill what runs there."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

SLURM = Path(__file__).with_name("slurm.conf")


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
        (folder / "slurm.conf").write_text(SLURM.read_text().format(**where, tasks=tasks))
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


_candidates = iter(range(6500, 10_000))


def free_port() -> int:
    """A port below those that the system gives to connections."""
    for port in _candidates:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no free port")


def run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise OSError(f"{command[0]} ended with {result.returncode}: {' '.join(result.stderr.split())[-300:]}")


Place = Local | Slurm
