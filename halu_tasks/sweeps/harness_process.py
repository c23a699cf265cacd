"""The process of a harness, as in `python -m halu_tasks.sweeps.harness_process inspect_ai eval …`.

Interrupted from the keyboard, it ends without a traceback: the process that started it says what was kept.
"""

from __future__ import annotations

import runpy
import signal
import sys

INTERRUPTED = 130
"""The exit status of a process that was interrupted from the keyboard."""


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


if __name__ == "__main__":
    main()
