"""What is scored, divided into parts, and the folder in which the parts are kept until all are finished."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks import __version__
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.options import Options
from halu_tasks.data.shards import Shard
from halu_tasks.judging.shared_budget import FILE_NAME
from halu_tasks.replies.parts.items import ItemStore
from halu_tasks.replies.predictions import DEFAULT_FIELDS, Fields
from halu_tasks.tasks import Built, build

RECORDS = "records.parquet"
"""The file of a part, and of a table with the items that have no reply."""
_PLAN = "plan.json"
MOST_PARTS = 64
"""The number of parts that files are divided into, at most, unless another number is asked for."""


@dataclass(frozen=True, kw_only=True)
class ScorePlan:
    """What is scored, and in how many parts.

    Attributes:
        task: The task's name, or the path of a task file.
        options: The task's options.
        version: The task's version.
        data: The checksum of the task's data.
        shards: The files with the replies.
        fields: The names of their fields.
        partial: Whether items without a reply are left out.
        details: Where the score of each reply is written at the end, if it is.
        parts: The number of parts.
        package: The version of this package.
    """

    task: str
    options: Options
    version: str
    data: str
    shards: tuple[Shard, ...]
    fields: Fields = DEFAULT_FIELDS
    partial: bool = False
    details: str | None = None
    parts: int = 1
    package: str = __version__

    @property
    def results(self) -> Path | None:
        """The folder of the results, if they are written."""
        return Path(self.details).parent if self.details else None

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON values; `from_json` restores it."""
        return {**vars(self), "options": self.options.changed()}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> ScorePlan:
        """Restore a plan."""
        options, shards, fields = Options(**record["options"]), record["shards"], Fields(*record["fields"])
        return cls(**{**record, "options": options, "shards": tuple(Shard(*s) for s in shards), "fields": fields})

    def of_part(self, rank: int) -> tuple[tuple[int, Shard], ...]:
        """Return the files of a part, each with its number."""
        return tuple(enumerate(self.shards))[rank :: self.parts]


class Work(NamedTuple):
    """The folder of a run.

    Attributes:
        folder: The folder.
    """

    folder: Path

    @property
    def items(self) -> Path:
        """The folder of the items."""
        return self.folder / "items"

    def part(self, rank: int) -> Path:
        """The folder of a part; it exists once the part is finished."""
        return self.folder / "parts" / f"{rank:05d}"

    def records(self, parts: int) -> list[Path]:
        """The records of the finished parts; a part without any has no file."""
        paths = (self.part(rank) / RECORDS for rank in range(parts))
        return [path for path in paths if path.exists()]

    def table(self, number: int) -> Path:
        """The folder of a table of sums by cluster; it exists once the table is finished."""
        return self.folder / "tables" / f"{number:05d}"

    @property
    def judge_costs(self) -> Path:
        """The file in which the costs of judges are recorded, if they are limited."""
        return self.folder / FILE_NAME

    def plan(self) -> ScorePlan:
        """Read the plan.

        Raises:
            DataError: The folder has none.
        """
        plan = self._read_plan()
        if plan is None:
            raise DataError(f"{self.folder}: contains no plan of halu-tasks score")
        return plan

    def start(self, plan: ScorePlan) -> ScorePlan:
        """Write the plan, or continue with the one that the folder has.

        The number of parts stays as it was. Files that have changed are scored again.

        Returns:
            The plan to follow.

        Raises:
            UsageError: The folder is of other replies, another task or other options.
            DataError: The folder cannot be written.
        """
        before = self._read_plan()
        if before is not None:
            plan = _continued(self.folder, before, plan)
        self.folder.mkdir(parents=True, exist_ok=True)
        atomic_write_text(self.folder / _PLAN, json.dumps(plan.as_json(), indent=1) + "\n", "plan")
        return plan

    def _read_plan(self) -> ScorePlan | None:
        path = self.folder / _PLAN
        if not path.is_file():
            return None
        try:
            return ScorePlan.from_json(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError, HaluTasksError):
            raise DataError(
                f"{path}: damaged, or written by another version of this package; use another folder"
            ) from None


def _continued(folder: Path, before: ScorePlan, plan: ScorePlan) -> ScorePlan:
    """Return the plan of a folder with the current versions of its files."""

    def comparable(plan: ScorePlan) -> dict[str, Any]:
        addresses = [shard.address for shard in plan.shards]
        return {**vars(plan), "options": plan.options.without_costs(), "shards": addresses, "parts": 0}

    old = comparable(before)
    for name, value in comparable(plan).items():
        if value != old[name]:
            raise UsageError(f"{folder}: continues another run, whose {name} differ; use another folder")
    return replace(plan, parts=before.parts)


class ScoreRun(NamedTuple):
    """A plan with what its parts need.

    Attributes:
        work: The folder.
        plan: The plan.
        built: The task.
        items: The items.
    """

    work: Work
    plan: ScorePlan
    built: Built
    items: ItemStore


@lru_cache(1)
def open_run(folder: Path) -> ScoreRun:
    """Open a run; once in each process, as long as its plan does not change.

    Raises:
        DataError: The folder has no plan, or the task's data have changed.
    """
    work = Work(folder)
    plan = work.plan()
    built = build(plan.task, plan.options)
    if built.located.sha256 != plan.data:
        raise DataError(f"{built.located}: changed while its replies were being scored; start again in another folder")
    return ScoreRun(work, plan, built, ItemStore(work.items))
