"""The programs of the documentation, each started as a fork of one process that has imported them all.

A start of lm-eval takes 15 seconds and one of Inspect five, nearly all of it for imports and for lm-eval's own task
files. `Preloaded` starts the process and makes a folder of commands for PATH: each connects to it and hands over its
arguments, environment, working directory and standard streams. A child then runs the entry point of the program, and
the command ends with the child's status. Environments that change what is imported get an interpreter of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NoReturn

PROGRAMS = ("halu-tasks", "inspect", "lm_eval", "scout")
MODULES = {"halu_tasks": "halu-tasks", "inspect_ai": "inspect", "lm_eval": "lm_eval"}
"""What `python -m` runs as one of the programs."""
IMPORTED = (
    "halu_tasks.cli", "halu_tasks._registry", "halu_tasks.lm_eval_adapter.models",
    "halu_tasks.results.readers.read",
    "lm_eval.evaluator", "lm_eval.models.api_models", "openai", "datasets", "pandas", "inspect_ai._eval.eval",
    "torch", "transformers", "pytablewriter", "fastapi", "uvicorn", "IPython", "acp",
)  # fmt: skip

CLIENT = """\
#!{python} -SE
import array, json, os, socket, sys
program = os.path.basename(sys.argv[0])
arguments = sys.argv[1:]
if program == "python":
    module = arguments[1] if arguments[:1] == ["-m"] else ""
    if module not in {modules!r}:
        os.execv({python!r}, [{python!r}, *arguments])
    program, arguments = {modules!r}[module], arguments[2:]
if {changing!r} & set(os.environ):
    os.execv({python!r}, [{python!r}, "-c", {own!r}, program, *arguments])
connection = socket.socket(socket.AF_UNIX)
connection.connect({address!r})
request = json.dumps([program, arguments, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(connection, [len(request).to_bytes(8, "big")], [0, 1, 2])
connection.sendall(request)
sys.exit(int(connection.recv(8) or b"70"))
"""
OWN = """\
import sys
from importlib import metadata
program = sys.argv[1]
del sys.argv[1]
(entry,) = metadata.entry_points(group="console_scripts", name=program)
sys.exit(entry.load()())
"""
CHANGING = frozenset({"HALU_TASKS_NO_AUTOLOAD", "PYTHONPATH"})
"""Variables that change what a program imports."""


class Preloaded:
    """The process, and `path`, the folder of its commands."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "bin"
        self.path.mkdir()
        address = str(folder / "socket")
        client = CLIENT.format(python=sys.executable, modules=MODULES, changing=set(CHANGING), own=OWN, address=address)
        for name in (*PROGRAMS, "python"):
            path = self.path / name
            path.write_text(client, encoding="utf-8")
            path.chmod(0o755)
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, __file__, address, str(self.path / "python")],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, cwd=folder, start_new_session=True,
        )  # fmt: skip
        while not Path(address).exists():
            if self._process.poll() is not None:
                self._log.seek(0)
                raise RuntimeError(self._log.read())
            time.sleep(0.1)

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()
        self._log.close()


def _serve(address: str, python: str) -> NoReturn:
    """Import the programs, and fork for each command, until the tests have ended, for whatever reason."""
    import gc
    import signal

    del sys.path[0]
    entries = {entry.name: entry for entry in metadata.entry_points(group="console_scripts") if entry.name in PROGRAMS}
    for entry in entries.values():
        entry.load()
    for module in IMPORTED:
        with contextlib.suppress(ImportError):
            import_module(module)
    _read_task_files_once()
    gc.collect()
    gc.freeze()
    # commands that start programs start them in the same way
    sys.executable = python
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address + ".new")
    listening.listen(64)
    Path(address + ".new").rename(address)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listening.settimeout(5)
    tests = os.getppid()
    while os.getppid() == tests:
        try:
            connection, _ = listening.accept()
        except TimeoutError:
            continue
        if not os.fork():
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child = os.fork()
            if not child:
                _become(connection, entries)
            _, status = os.waitpid(child, 0)
            connection.sendall(str(os.waitstatus_to_exitcode(status) % 256).encode())
            os._exit(0)
        connection.close()
    sys.exit()


def _become(connection: socket.socket, entries: dict[str, Any]) -> NoReturn:
    """Run the program that the connection asks for, in this process."""
    length, streams, _, _ = socket.recv_fds(connection, 8, 3)
    request = b""
    while len(request) < int.from_bytes(length, "big"):
        request += connection.recv(1 << 16)
    connection.close()
    program, arguments, folder, environment = json.loads(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [program, *arguments]
    status = 0
    try:
        status = entries[program].load()() or 0
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    import atexit

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


def _read_task_files_once() -> None:
    """Let lm-eval parse the files of its own tasks once, here, and not in each child."""
    from lm_eval.tasks import _index, manager

    own = Path(str(manager.__file__)).parent
    build = _index.TaskIndex.build
    index = build([own])

    def build_others(paths: Any, **options: Any) -> Any:
        paths = list(paths)
        others = build([path for path in paths if Path(path) != own], **options)
        return (index if own in map(Path, paths) else {}) | others

    _index.TaskIndex.build = staticmethod(build_others)  # type: ignore[method-assign]


if __name__ == "__main__":
    _serve(*sys.argv[1:])
