"""SQLite files that processes share: verdicts, and the costs of judges, which have a limit.

A call begins if the limit leaves room for what all processes have spent and the expected costs of this process's calls
in flight; otherwise it waits for them. The limit is exceeded if calls in flight cost more than expected, and by those
that other processes have in flight.
"""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from filelock import FileLock
from inspect_ai.model import ModelUsage

from halu_tasks.core.errors import BudgetError, JudgeError, UsageError
from halu_tasks.core.options import JUDGE_COST_OPTIONS, Options, Price
from halu_tasks.judging import COSTS
from halu_tasks.scorers.judge import Verdict

logger = logging.getLogger(__name__)

# the environment variable that names the file
_COSTS_VARIABLE = "HALU_TASKS_JUDGE_COSTS"
# input tokens that a provider may add to a prompt and its schema
_OVERHEAD = 64


class VerdictStore:
    """Verdicts with their reasons by key, in an SQLite file that processes may share.

    Raises:
        JudgeError: The file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._warned = path, False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            # SQLite does not wait for other processes to change the journal mode
            with FileLock(f"{path}.lock"):
                if self._db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._db.execute("CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, label TEXT, reason TEXT)")
        except (OSError, sqlite3.Error) as error:
            advice = _if_damaged(path, error) or "name a writable folder with HALU_TASKS_CACHE=PATH"
            raise JudgeError(f"cannot cache verdicts in {path} ({error}); {advice}") from None

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
        """Execute a statement and return the first row; None if there is none, or if the file fails.

        A verdict that was paid for counts whether it can be cached or not.
        """
        try:
            return self._db.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            if not self._warned:
                advice = _if_damaged(self._path, error)
                logger.warning("verdicts are not cached: %s%s", error, f"; {advice}" if advice else "")
            self._warned = True
            return None


def _if_damaged(path: Path, error: Exception) -> str:
    # errors of files and locks, and of a full disk, are OperationalErrors
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, sqlite3.OperationalError):
        return ""
    return f"the file is damaged: move {path.name}* out of {path.parent}, and its verdicts are asked again"


# --- costs ------------------------------------------------------------------------------------------


class Budget:
    """A limit on what calls may cost.

    The file has a row for each budget, so that the costs of a killed process remain. It has no write-ahead log, which
    does not work in folders that machines share.

    Args:
        limit: The most that all calls together may cost, in dollars.
        price: The price of tokens.
        path: The file in which costs are recorded; None for a budget of this object alone.

    Attributes:
        spent: The cost of this object's calls so far.
        calls: The number of these calls.

    Raises:
        BudgetError: The file cannot be opened or written.
    """

    def __init__(self, limit: float, price: Price, path: Path | None = None) -> None:
        self.limit, self.spent, self.calls = limit, 0.0, 0
        self._price, self._path, self._owner = price, path, uuid.uuid4().hex
        self._in_flight, self._stopped = 0, False
        # calls begin in the order in which they came
        self._queue, self._call_ended = anyio.Lock(), anyio.Event()
        try:
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", timeout=60, isolation_level=None, check_same_thread=False)
            # waiting for the disk would hold up all calls; only a power failure can lose a cost
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute("CREATE TABLE IF NOT EXISTS costs (owner TEXT PRIMARY KEY, spent REAL)")
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from None

    def highest_cost(self, prompt: str, max_tokens: int) -> float:
        """Return the highest cost of one attempt to answer a prompt; a token has at least one byte."""
        return self._price.of(len(prompt.encode("utf-8", "replace")) + _OVERHEAD, max_tokens)

    def cost(self, usage: ModelUsage | None, highest: float) -> float:
        """Return the cost of a call; cached input counts in full.

        Args:
            usage: The usage that its server reports.
            highest: The highest possible cost, which counts if the usage is missing or negative.
        """
        if usage is None:
            return highest
        counts = (usage.input_tokens, usage.input_tokens_cache_read, usage.input_tokens_cache_write)
        read, written = [count or 0 for count in counts], usage.output_tokens
        return highest if min(*read, written) < 0 else self._price.of(sum(read), written)

    async def admit(self, expected: Callable[[], float]) -> None:
        """Wait until there is room for a call.

        Args:
            expected: Returns the expected cost of a call, as estimated so far.

        Raises:
            BudgetError: There is no room and no call in flight, or the file cannot be written.
        """
        async with self._queue:
            while not self._stopped:
                if self._record() + (self._in_flight + 1) * expected() <= self.limit:
                    self._in_flight += 1
                    return
                # later calls are refused even if they are cheaper, so that none is in flight when the run stops
                self._stopped = not self._in_flight
                if not self._stopped:
                    self._call_ended = anyio.Event()
                    await self._call_ended.wait()
            raise BudgetError(
                f"judging stopped at judge_max_cost: spent {dollars(self._record())} of {dollars(self.limit)}, and the "
                f"next question is expected to cost {dollars(expected())}"
            )

    def settle(self, cost: float) -> None:
        """Record the cost of an admitted call.

        If the file cannot be written, a warning is logged; the next call is then an error if it still cannot.
        """
        self._in_flight -= 1
        self.spent += cost
        self.calls += 1
        self._call_ended.set()
        try:
            self._record()
        except BudgetError as error:
            logger.warning("%s", error)

    def _record(self) -> float:
        """Record what this budget has spent, and return what all budgets of the file have spent."""
        try:
            self._db.execute("INSERT OR REPLACE INTO costs (owner, spent) VALUES (?, ?)", (self._owner, self.spent))
            return float(self._db.execute("SELECT total(spent) FROM costs").fetchone()[0])
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> BudgetError:
        return BudgetError(
            f"{self._path}: what judges cost cannot be recorded ({error}), so none is asked; make the file writable, "
            "or remove it if it is damaged"
        )


def open_budget(options: Options, model: str, file: Path | None) -> Budget | None:
    """Return the budget of a judge; None if there is no limit.

    Options that are not set are read from the environment: a variable for each of `JUDGE_COST_OPTIONS`, and one for the
    file.

    Args:
        options: The options.
        model: The judge's name.
        file: The file in which costs are recorded; None to read it from the environment.

    Raises:
        UsageError: A variable has no valid value, or the price is not given.
        BudgetError: The file cannot be opened.
    """
    limit, price = (_option_or_variable(options, name) for name in JUDGE_COST_OPTIONS)
    if limit is None:
        return None
    if price is None or not (prices := Price.parse(price)):
        raise UsageError(
            f"the price of {model} is unknown, so judge_max_cost cannot be kept; state what a million input and output "
            "tokens cost in dollars, such as judge_price=2.50/10"
        )
    named = os.environ.get(_COSTS_VARIABLE)
    return Budget(limit, prices, file or (Path(named) if named else None))


def _option_or_variable(options: Options, name: str) -> Any:
    value, text = getattr(options, name), os.environ.get(_variable(name))
    if value is not None or not text:
        return value
    try:
        return Options.settings()[name].parse(text)
    except UsageError as error:
        raise UsageError(f"{_variable(name)}: {error}") from None


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
    costs = {_variable(name): str(options[name]) for name in JUDGE_COST_OPTIONS if name in options}
    return {**costs, _COSTS_VARIABLE: str(folder / COSTS)}


def _variable(option: str) -> str:
    return f"HALU_TASKS_{option.upper()}"


def dollars(amount: float) -> str:
    """Format an amount with four digits after the point, or more if it would be 0."""
    digits = 4 if amount == 0 or amount >= 0.001 else 3 - math.floor(math.log10(amount))
    return f"${amount:.{digits}f}"
