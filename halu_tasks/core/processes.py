"""Locks between processes, and ending a process together with those that it has started.

Locks belong to the operating system, on a file or a folder, and need no cleaning up after a process that was killed.
They are held by an open file, and so by each process that inherits it.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from halu_tasks.core.errors import DataError

LOCK = ".lock"
"""The lock of a whole folder."""
GRACE = 30
"""Seconds that a process has to write what is finished, after it was interrupted."""
# seconds between two looks at whether a lock is free
_POLL = 0.1
received: set[int] = set()
"""The signals, besides Ctrl-C, that have asked this process to end."""


# --- locks ----------------------------------------------------------------------------------------


@contextmanager
def lock(path: Path, *, wait: float = math.inf, needed: bool = False) -> Iterator[int]:
    """Hold the lock of a folder or file that exists; yield its descriptor.

    Args:
        path: The folder or file.
        wait: Seconds to wait for another process that holds it.
        needed: Whether a file system that has no locks is an error; otherwise, processes do not see each other there.

    Raises:
        BlockingIOError: Another process still holds it.
        OSError: It cannot be opened, or its holder has removed it.
    """
    import fcntl  # not on Windows

    descriptor, until = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR), time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
            except OSError:
                if needed:
                    raise
                break
            time.sleep(_POLL)
        if not os.path.samestat(os.fstat(descriptor), path.stat()):
            raise FileNotFoundError
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def guard(folder: Path, name: str = LOCK, *, wait: float = 0) -> Iterator[int]:
    """Hold a lock in a folder, which is created, so that no two processes work on the same; yield its descriptor.

    The file names the holder.

    Args:
        folder: The folder.
        name: The name of the lock; the default is the lock of the whole folder.
        wait: Seconds to wait for another process that holds it.

    Raises:
        DataError: Another process still holds it, or the folder cannot be written.
    """
    file = folder / name
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file.touch()
            descriptor = stack.enter_context(lock(file, wait=wait))
            os.truncate(descriptor, 0)
            holder = f"process {os.getpid()} on {os.uname().nodename}, since {time.strftime('%Y-%m-%d %H:%M:%S')}"
            os.pwrite(descriptor, holder.encode(), 0)
        except BlockingIOError:
            busy = f"another process is working on it ({file.read_text(encoding='utf-8')})"
            raise DataError(f"{folder}: {busy}; wait for it to finish, or stop it") from None
        except OSError as error:
            raise DataError(f"{folder}: is not writable ({error.strerror or error}); choose another folder") from None
        yield descriptor


# --- ends -----------------------------------------------------------------------------------------


def interrupt_on_signals() -> None:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that the processes that this one has started end with it.

    An ignored signal stays ignored, as SIGHUP does under `nohup`.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: object) -> None:
    received.add(number)
    # a shell lets what it starts in the background ignore Ctrl-C, but this was meant for it
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def end_when(has_ended: Callable[[], object]) -> None:
    """End this process, with its group if it leads one, once a call returns and it had time to write its results.

    Args:
        has_ended: Waits for the end of another process, in a thread.
    """

    def end() -> None:
        has_ended()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        (os.killpg if os.getpgrp() == os.getpid() else os.kill)(os.getpid(), signal.SIGKILL)

    threading.Thread(target=end, daemon=True).start()
