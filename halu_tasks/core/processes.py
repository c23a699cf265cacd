"""Processes that meet: locks that end with their process, signals that end one, and one that ends with its parent.

Locks are those of the operating system, on a file or a folder: they need no cleaning up after a process that was
killed. They belong to an open file, so that processes to which it is passed on hold them, too.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from halu_tasks.core.errors import DataError

logger = logging.getLogger(__name__)

LOCK = ".lock"
"""The lock of a whole folder."""
GRACE = 10
"""Seconds that a process has to write what is finished, after it was interrupted."""
received: set[int] = set()
"""The signals, besides Ctrl-C, that have asked this process to end."""


# --- locks ----------------------------------------------------------------------------------------


@contextmanager
def lock(path: Path, *, wait: bool = True) -> Iterator[int]:
    """Hold the lock of a folder or file that exists; yield its descriptor.

    Args:
        path: The folder or file.
        wait: Wait for another process that holds it.

    Raises:
        BlockingIOError: Another process holds it, and is not waited for.
        OSError: It cannot be opened, or its holder has removed it.
    """
    # not on Windows
    import fcntl

    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            pass  # on a file system that has no locks, processes do not see each other
        if not os.path.samestat(os.fstat(descriptor), path.stat()):
            raise BlockingIOError(f"{path} was made anew by another process")
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def guard(folder: Path, name: str = LOCK, *, wait: bool = False) -> Iterator[int]:
    """Hold a lock in a folder, which is created, so that no two processes work on the same; yield its descriptor.

    The file names the holder.

    Args:
        folder: The folder.
        name: The name of the lock; the default is that of the whole folder.
        wait: Wait for another process that holds it.

    Raises:
        DataError: Another process holds it and is not waited for, or the folder cannot be written.
    """
    file = folder / name
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file.touch()
            try:
                descriptor = held.enter_context(lock(file, wait=False))
            except BlockingIOError:
                busy = f"{folder}: another process is working on it ({file.read_text(encoding='utf-8').strip()})"
                if not wait:
                    raise DataError(f"{busy}; wait until it has ended, or end it") from None
                logger.warning("%s, and is waited for", busy)
                descriptor = held.enter_context(lock(file))
            os.truncate(descriptor, 0)
            holder = f"process {os.getpid()} on {os.uname().nodename}, since {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
            os.pwrite(descriptor, holder.encode(), 0)
        except OSError as error:
            raise DataError(f"{folder}: is not writable ({error.strerror or error}); choose another folder") from None
        yield descriptor


# --- ends -----------------------------------------------------------------------------------------


def interrupt_on_signals() -> None:
    """Let what ends this process from outside do what Ctrl-C does, so that what it has started ends with it.

    A signal that its starter has it ignore stays ignored, as `nohup` does with SIGHUP.
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
    """End this process, and its group if it leads one, when a call returns, after a while to write what is finished.

    Args:
        has_ended: Waits for the end of another process, in a thread.
    """

    def end() -> None:
        has_ended()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        (os.killpg if os.getpgrp() == os.getpid() else os.kill)(os.getpid(), signal.SIGKILL)

    threading.Thread(target=end, daemon=True).start()
