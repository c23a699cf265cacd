"""Scoring the replies to several tasks: those of a group, with its means, or of a folder of task files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import create_folder
from halu_tasks.core.options import Options
from halu_tasks.replies.predictions import named_as
from halu_tasks.replies.score_file import ScoredFile, score_file
from halu_tasks.scorers.metrics import Estimate, as_json
from halu_tasks.tasks.registry import Group, group_at, tasks_at


class ScoredTasks(NamedTuple):
    """The scored replies to several tasks.

    Attributes:
        tasks: The figures of each task by its name.
        group: The group; None if the tasks are those of a folder.
        means: The group's means by metric, without those that are not defined for every task.
        lacking: A line that names the tasks without replies; empty if there are none.
    """

    tasks: Mapping[str, ScoredFile]
    group: Group | None
    means: Mapping[str, Estimate]
    lacking: str

    def as_json(self) -> dict[str, Any]:
        """Convert the figures to JSON values."""
        tasks = {"tasks": {name: scored.as_json() for name, scored in self.tasks.items()}}
        group = self.group
        return tasks | ({"group": {"name": group.name, **as_json(self.means)}} if group else {})


def score_tasks(
    name: str,
    options: Options,
    predictions: Sequence[str],
    *,
    partial: bool = False,
    details: str | None = None,
    folder: Path | None = None,
    **settings: Any,
) -> ScoredTasks:
    """Score predictions for each task of a group or a folder, whose scores all have to fit into memory for the means.

    Args:
        name: The group's name, the path of its file, or a folder of task files.
        options: The options, of which each task has those that it knows.
        predictions: Folders in which each task has a file or a folder with its name, or these.
        partial: Leave out tasks without one, and score only the items in the files.
        details: The folder to write each item's score to, in a file for each task.
        folder: Where finished parts are kept, in a folder for each task.
        **settings: Further arguments of `score_file`.

    Raises:
        UsageError: No task has an option, or as in `score_file`.
        DataError: A task has no file, or as in `score_file`.
        JudgeError: As in `score_file`.
    """
    tasks, group = tasks_at([name]), group_at(name)
    if unused := options.unused({option for task, _ in tasks.values() for option in task.prompts.task_options}):
        raise UsageError(f"none of the tasks has the option {Options.specs()[unused[0]].flag}")
    files = {task: named_as(task, predictions) for task in tasks}
    missing = [task for task, paths in files.items() if not paths]
    lacking = ""
    if missing:
        lacking = (
            f"{', '.join(predictions)}: no replies to {', '.join(missing)}; expected files such as {missing[0]}.jsonl"
        )
        if not partial or len(missing) == len(files):
            raise DataError(lacking)
    if details:
        create_folder(Path(details), "details")
    scored = {}
    for task, (definition, file) in tasks.items():
        if not files[task]:
            continue
        scored[task] = score_file(
            str(file or task),
            options.for_tasks(definition.prompts.task_options),
            files[task],
            partial=partial,
            details=str(Path(details, f"{task}.jsonl")) if details else None,
            folder=folder / task if folder else None,
            keep=group is not None,
            **settings,
        )
    scores = {task: one.scores for task, one in scored.items()}
    return ScoredTasks(scored, group, group.figures(options.scoring, scores) if group else {}, lacking)
