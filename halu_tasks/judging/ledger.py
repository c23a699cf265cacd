"""What calls of judges have cost, in an SQLite file that the processes of a command share.

The most that a call can cost is reserved before it is made. If its process is killed, the reservation stays, and counts
as spent. Only for the question whether to wait for a call does it matter whether its process still runs: a process with
calls on their way increases a number in the file every few seconds.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import BudgetError
from halu_tasks.core.options import JUDGE_COST_OPTIONS

logger = logging.getLogger(__name__)

FILE_NAME = "judge_costs.sqlite3"
"""The file in the folder of a command's results."""
FILE_VARIABLE = "HALU_TASKS_JUDGE_COSTS"
"""The environment variable that names the file."""

_BEAT = 5.0
"""Seconds between two signs of life of a process with calls on their way."""
_PATIENCE = 30.0
"""Seconds without a sign of life after which a process has ended."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS spent (dollars REAL NOT NULL);
CREATE TABLE IF NOT EXISTS reserved (id INTEGER PRIMARY KEY, owner TEXT, dollars REAL NOT NULL);
CREATE TABLE IF NOT EXISTS owners (id TEXT PRIMARY KEY, beats INTEGER NOT NULL);
INSERT INTO spent SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM spent);
"""


class Costs(NamedTuple):
    """What calls have cost.

    Attributes:
        spent: Dollars that finished calls have cost.
        reserved: Dollars that are reserved for calls on their way, or for calls whose process has ended.
    """

    spent: float
    reserved: float

    @property
    def most(self) -> float:
        """The most that all calls can have cost."""
        return self.spent + self.reserved


class Ledger:
    """Records what calls cost; several processes may use one file.

    The file has no write-ahead log, which machines that share a folder could not use.

    Args:
        path: The file; None to keep the record in memory.

    Raises:
        BudgetError: The file cannot be opened.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._owner = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._open: set[int] = set()
        self._beating = False
        self._beats: dict[str, tuple[int | None, float]] = {}
        with self._reporting():
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", timeout=60, isolation_level=None, check_same_thread=False)
            with self._transaction() as db:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    db.execute(statement)

    def reserve(self, dollars: float, limit: float) -> int | None:
        """Reserve an amount for a call.

        Args:
            dollars: The amount.
            limit: The most that all calls may cost.

        Returns:
            The number of the reservation; None if there is no room for it.

        Raises:
            BudgetError: The file cannot be written.
        """
        with self._reporting(), self._transaction() as db:
            if _costs(db).most + dollars > limit:
                return None
            row = db.execute("INSERT INTO reserved (owner, dollars) VALUES (?, ?)", (self._owner, dollars))
            number = int(row.lastrowid or 0)
            self._open.add(number)
        if self._path and not self._beating:
            self._beating = True
            threading.Thread(target=self._beat, daemon=True).start()
        return number

    def settle(self, number: int, dollars: float) -> None:
        """Replace a reservation by what the call cost.

        If the file cannot be written, a warning is logged, and the reservation stays.

        Args:
            number: The number of the reservation.
            dollars: What the call cost.
        """
        self._open.discard(number)
        try:
            with self._transaction() as db:
                db.execute("DELETE FROM reserved WHERE id = ?", (number,))
                db.execute("UPDATE spent SET dollars = dollars + ?", (dollars,))
        except sqlite3.Error as error:
            logger.warning("%s: %s; the most that a call of the judge can cost counts as spent", self._path, error)

    def costs(self) -> Costs:
        """Return what calls have cost.

        Raises:
            BudgetError: The file cannot be read.
        """
        with self._reporting(), self._transaction() as db:
            return _costs(db)

    def awaits_calls(self) -> bool:
        """Return whether calls are on their way, in this process or in another one that still runs.

        Raises:
            BudgetError: The file cannot be read or written.
        """
        with self._reporting(), self._transaction() as db:
            others = db.execute(
                "SELECT DISTINCT owner, beats FROM reserved LEFT JOIN owners ON owner = owners.id WHERE owner <> ?",
                (self._owner,),
            ).fetchall()
            ended = [owner for owner, beats in others if self._has_ended(owner, beats)]
            for owner in ended:
                # nobody has to wait for these again
                db.execute("UPDATE reserved SET owner = NULL WHERE owner = ?", (owner,))
                db.execute("DELETE FROM owners WHERE id = ?", (owner,))
            return bool(self._open) or len(ended) < len(others)

    def _has_ended(self, owner: str, beats: int | None) -> bool:
        """Return whether a process has given no sign of life for a while."""
        now = time.monotonic()
        last, since = self._beats.get(owner, (None, now))
        if owner not in self._beats or last != beats:
            self._beats[owner] = beats, now
            return False
        return now - since > _PATIENCE

    def _beat(self) -> None:
        """Give signs of life while calls are on their way."""
        while True:
            if self._open:
                try:
                    with self._transaction() as db:
                        db.execute(
                            "INSERT INTO owners VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET beats = beats + 1",
                            (self._owner,),
                        )
                except sqlite3.Error as error:
                    logger.debug("%s: %s", self._path, error)
            time.sleep(_BEAT)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise BudgetError(
                f"{self._path}: what judges cost cannot be recorded ({error}), so none is asked; make the file "
                "writable, or remove it if it is damaged"
            ) from None


def _costs(db: sqlite3.Connection) -> Costs:
    return Costs(*db.execute("SELECT (SELECT dollars FROM spent), (SELECT total(dollars) FROM reserved)").fetchone())


def variable_of(option: str) -> str:
    """Return the environment variable that stands for one of `JUDGE_COST_OPTIONS`."""
    return f"HALU_TASKS_{option.upper()}"


def budget_variables(options: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Return the environment variables by which all processes of a command share one budget for judges.

    Args:
        options: Options of tasks that are not at their default, by name.
        folder: The folder of the command's results, which gets the file.

    Returns:
        The variables; none if `options` has no `judge_max_cost`.
    """
    if "judge_max_cost" not in options:
        return {}
    costs = {variable_of(name): str(options[name]) for name in JUDGE_COST_OPTIONS if name in options}
    return {**costs, FILE_VARIABLE: str(folder / FILE_NAME)}
