"""The command line `halu-tasks`: commands about tasks, about results, and for building datasets.

A command parses its arguments, calls a function of another package, and prints what it returns.
"""

from __future__ import annotations

import io
import os
import sys

from halu_tasks.cli.parser import build_parser
from halu_tasks.core.errors import HaluTasksError, RunInterrupted


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: The command line without the program; None for that of the process.

    Returns:
        The exit status (docs/running.md, "Exit status").
    """
    status: int | None = None
    if isinstance(sys.stdout, io.TextIOWrapper):
        # items are JSON Lines in any script, whatever the encoding of the terminal
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        try:
            arguments = build_parser().parse_args(argv)
            status = arguments.run(arguments)
        finally:
            # flush here, where an error can be reported; when Python flushes at exit, it is too late
            sys.stdout.flush()
    except BrokenPipeError:
        # the reader of a pipe has closed it, as `| head` does
        _discard_output()
    except KeyboardInterrupt:
        return _report(RunInterrupted("interrupted"), RunInterrupted.exit_status)
    except OSError as error:
        _discard_output()
        return _report(error, 2)
    except HaluTasksError as error:
        return _report(error, error.exit_status)
    return status or 0


def _report(error: Exception, status: int) -> int:
    """Print an error on one line; return the exit status."""
    print(f"halu-tasks: {' '.join(str(error).splitlines())}", file=sys.stderr)
    return status


def _discard_output() -> None:
    """Discard output that cannot be written, so that Python does not try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
