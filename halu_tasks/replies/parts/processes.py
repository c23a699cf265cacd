"""Running steps in several processes of this machine."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from typing import Any


def run_all(step: Callable[..., None], arguments: Sequence[tuple[Any, ...]], workers: int) -> None:
    """Call a function with each tuple of arguments, in this process if there is only one worker.

    Args:
        step: The function; a module's own, so that other processes can import it.
        arguments: The arguments of each call.
        workers: The number of processes.

    Raises:
        Exception: The first error of a call; calls that have not begun are then left out.
    """
    if min(workers, len(arguments)) <= 1:
        for values in arguments:
            step(*values)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(arguments)), context, _end_with_parent) as pool:
        futures = [pool.submit(step, *values) for values in arguments]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """End this process when its parent is killed, which otherwise leaves it waiting for work (Linux only)."""
    if sys.platform == "linux":
        death_signal = 1
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(death_signal, signal.SIGKILL)
