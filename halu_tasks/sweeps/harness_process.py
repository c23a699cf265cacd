"""The process of a harness, as in `python -m halu_tasks.sweeps.harness_process inspect_ai eval …`.

Interrupted from the keyboard, it ends without a traceback: the process that started it says what was kept.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

INTERRUPTED = 130
"""The exit status of a process that was interrupted from the keyboard."""
_NOTICE, _PATIENCE = 2, 60
"""Seconds within which a harness must end by itself, and after it was interrupted."""


def main() -> None:
    """Run the module that the first argument names, with the other arguments."""
    del sys.argv[0]
    try:
        block_interrupts(False)
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def block_interrupts(blocked: bool) -> None:
    """Let Ctrl-C wait, here and in a process that is then started, or let it through.

    A process is started with interrupts blocked, and `main` lets them through once it is ready for them.
    """
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK if blocked else signal.SIG_UNBLOCK, {signal.SIGINT})


def end_interrupted(process: subprocess.Popen[bytes]) -> None:
    """Give a harness time to write its logs after the process that started it was interrupted.

    Ctrl-C in a terminal interrupts both; another interrupt, which may be of this process alone, is passed on.
    """
    try:
        process.wait(_PATIENCE if _in_foreground() else _NOTICE)
        return
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        process.send_signal(signal.SIGINT)
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


if __name__ == "__main__":
    main()
