"""A cache of verdicts on disk."""

from __future__ import annotations

import logging
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import JudgeError
from halu_tasks.scorers.judge import Verdict

logger = logging.getLogger(__name__)


class VerdictStore:
    """Verdicts with their reasons by key, in an SQLite file that processes may share.

    Raises:
        JudgeError: The file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._warned = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            _retry_while_locked(self._prepare)
        except (OSError, sqlite3.Error) as error:
            raise JudgeError(
                f"cannot cache verdicts in {path} ({error}); name a writable folder with HALU_TASKS_CACHE=PATH"
            ) from None

    def _prepare(self) -> None:
        if self._db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, label TEXT, reason TEXT)")

    def get(self, key: str) -> Verdict | None:
        """Return the verdict stored under a key; None if there is none or the file cannot be read."""
        row = self._run("SELECT label, reason FROM verdicts WHERE key = ?", key)
        return Verdict(str(row[0]), str(row[1])) if row else None

    def put(self, key: str, verdict: Verdict) -> None:
        """Store a verdict; if the file cannot be written, log a warning once and go on."""
        # a reply may contain lone surrogates, which SQLite cannot store
        reason = verdict.reason.encode("utf-8", "replace").decode()
        self._run("INSERT OR REPLACE INTO verdicts (key, label, reason) VALUES (?, ?, ?)", key, verdict.label, reason)

    def _run(self, statement: str, *values: str) -> Any:
        """Execute a statement and return the first row, or None.

        Also returns None if the file fails, since a verdict that was paid for counts whether it can be cached or not.
        """
        try:
            with self._lock:
                return self._db.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            if not self._warned:
                logger.warning("verdicts are not cached: %s", error)
            self._warned = True
            return None


_LOCK_TIMEOUT = 60.0
"""Seconds to wait for other processes that open the same file for the first time."""


def _retry_while_locked(prepare: Callable[[], None]) -> None:
    """Call `prepare` until no other process has the database locked.

    SQLite itself does not wait to change the journal mode.
    """
    deadline = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            return prepare()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.005, 0.05))
