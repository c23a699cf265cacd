"""The command of a harness that runs a model on tasks, and the process that it runs in.

`python -P -m halu_tasks.runs.child_process PIPE FILE inspect_ai eval …` is the process. It ends when the parent closes
its end of the pipe, and so also when the parent is killed. The traceback of an error goes into the file, and one line
to standard error.
"""

import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from halu_tasks.core.credentials import printable
from halu_tasks.core.errors import HaluTasksError, RunInterrupted
from halu_tasks.core.processes import end_when, interrupt_on_signals, received

_NOTICE, _PATIENCE = 2, 60
"""Seconds within which a harness must end by itself, and after it was interrupted."""
_MODULES = {"inspect": "inspect_ai", "lm_eval": "lm_eval"}


def shell_line(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Return a command as a shell takes it, without credentials.

    Args:
        command: The words of the command.
        environment: The variables that are set for it.
    """
    variables = [f"{name}={shlex.quote(value)}" for name, value in (environment or {}).items()]
    return printable(" ".join([*variables, shlex.join(command)]))


def flags(options: Mapping[str, Any], *, dashes: bool) -> Iterator[str]:
    """Return options of a command; a switch that is off is left out.

    Args:
        options: The options by name.
        dashes: Whether names have dashes instead of underscores.
    """
    for name, value in options.items():
        flag = "--" + (name.replace("_", "-") if dashes else name)
        if value is True:
            yield flag
        elif value is not False and value is not None:
            yield from (flag, as_yaml(value))


def repeated(flag: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Return `flag NAME=VALUE` for each value, as Inspect reads it, which makes dates of texts such as 2024-05-13."""
    for name, value in values.items():
        is_date = isinstance(value, str) and re.match(r"\d{4}-\d\d?-\d\d?(?!\w)", value)
        yield from (flag, f"{name}={json.dumps(value) if is_date else as_yaml(value)}")


def as_yaml(value: Any) -> str:
    """Return a value as both harnesses read one: lists of plain strings with commas, other structures as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return ",".join(value)
    return json.dumps(value)


def run_harness(
    command: Sequence[str], environment: Mapping[str, str], output: Path, held: int, *, to_terminal: bool
) -> int:
    """Run the command of a harness in the installation of this package; return its exit status.

    It ends with this process. If this process is interrupted, it has time to write its logs.

    Args:
        command: The words of the command, the first of which is `inspect` or `lm_eval`.
        environment: The variables that are set for it.
        output: The file to which its output is added; if that is on the terminal, only the traceback of an error.
        held: The descriptor of a lock, which it holds, too.
        to_terminal: Whether it writes to the terminal.
    """
    pipe, ours = os.pipe()
    with os.fdopen(pipe), os.fdopen(ours, "w"), output.open("ab") as file:
        # with -P, a checkout in the current folder does not hide the installation, whose tasks the harness looks for
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(pipe), str(output), _MODULES[command[0]], *command[1:]],
            stdout=None if to_terminal else file,
            stderr=None if to_terminal else subprocess.STDOUT,
            env={**os.environ, **environment},
            pass_fds=(pipe, held),
        )
        try:
            return process.wait()
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> None:
    """Give a harness time to write its logs after the process that started it was interrupted.

    Ctrl-C in a terminal interrupts both; another interrupt, which may be of this process alone, is passed on.
    """
    try:
        process.wait(_PATIENCE if _in_foreground() and not received else _NOTICE)
        return
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        process.terminate()
    try:
        process.wait(_PATIENCE)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        process.kill()
        process.wait()


def _in_foreground() -> bool:
    """Return whether Ctrl-C of a terminal reaches this process and those that it has started."""
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _error_line(error: Exception) -> str:
    from halu_tasks.judging.reaching import describe_error  # takes seconds to import

    return f"halu-tasks: {error}" if isinstance(error, HaluTasksError) else printable(describe_error(error))


def main() -> None:
    """Run the module that the third argument names, with the other arguments."""
    pipe, output = int(sys.argv[1]), Path(sys.argv[2])
    del sys.argv[:3]
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # started in the background, where Ctrl-C is not meant for it; but a harness that ignores it, as event loops do
        # then, would not write what is finished when it is interrupted
        os.setpgrp()
        signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt_on_signals()
    # the end of the pipe is the only thing that can be read from it
    end_when(partial(os.read, pipe, 1))
    try:
        if sys.argv[0] == _MODULES["lm_eval"]:
            from halu_tasks.lm_eval_adapter.refusals import keep_going, keep_replies_as_json  # import lm-eval

            keep_replies_as_json()
            keep_going()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except KeyboardInterrupt:
        sys.exit(RunInterrupted.exit_status)
    except Exception as error:
        with output.open("a", encoding="utf-8") as file:
            traceback.print_exc(file=file)
        sys.exit(_error_line(error))


if __name__ == "__main__":
    main()
