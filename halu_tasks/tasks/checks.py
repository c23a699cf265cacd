"""Checks of task files: of what they declare, and of what their functions make of the packaged sample."""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.items import Case, Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import render
from halu_tasks.data.locate import SAMPLE
from halu_tasks.tasks.declarations import Declarations, check_tags, declarations
from halu_tasks.tasks.derived import task_of
from halu_tasks.tasks.groups import group_from
from halu_tasks.tasks.registry import JUDGED_TAG, TAG
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import TaskFile, read_task_file


def packaged_faults() -> list[str]:
    """Check the packaged files.

    Returns:
        A line for each file with a fault: the file, the line, the key and what is wrong.
    """
    packaged = declarations()
    for name, task in packaged.tasks.items():
        with packaged.noting(task.path):
            file = packaged.files[name]
            module = f"halu_tasks.{task.inspect_module}"
            if find_spec(module) is None:
                place = file.place("inspect_module")
                raise UsageError(f"{place}: inspect_module: no module {module}, in which Inspect finds the task")
            _check_tag(task, file)
            check_sample(task, file)
    return packaged.faults


def _check_tag(task: Task, file: TaskFile) -> None:
    """Check that the tag of all packaged tasks runs only those that need no judge.

    Raises:
        UsageError: The task lacks its tag, or has the other one.
    """
    tag, other = (JUDGED_TAG, TAG) if task.judged else (TAG, JUDGED_TAG)
    tags = file.values.get("tag") or []
    tags = [tags] if isinstance(tags, str) else tags
    if tag not in tags or other in tags:
        needs = "needs a judge" if task.judged else "needs no judge"
        raise UsageError(f"{file.place('tag')}: tag: expected {tag!r}, got {tags!r}; the task {needs}")


def faults_of(paths: Iterable[Path]) -> list[str]:
    """Check a user's files. Members of a group may be defined in the other files.

    Returns:
        A line for each file with a fault, as in `packaged_faults`.
    """
    declared = Declarations()
    groups: dict[str, TaskFile] = {}
    for path in paths:
        with declared.noting(path):
            file = read_task_file(path)
            if "group" in file.values:
                groups[str(file.values["group"])] = file
                continue
            task = task_of(file)
            if "class" not in file.values:
                raise UsageError(
                    f"{path}: class: is missing; include a packaged task, or _task of `halu-tasks show --path`"
                )
            check_sample(task, file)
            declared.tasks[task.name] = task
    packaged = declarations() if groups else Declarations()
    packaged_groups = {name: file for name, file in packaged.files.items() if "group" in file.values}
    for file in groups.values():
        with declared.noting(file.path):
            check_tags(file, packaged.files)
            group_from(file, {**packaged.tasks, **declared.tasks}, {**packaged_groups, **groups})
    return declared.faults


def check_sample(task: Task, file: TaskFile) -> None:
    """Make cases of the packaged sample and check them, if the source has a sample.

    Raises:
        UsageError: A row is refused, the function `cases` fails, or its cases are not what the file declares; the
            message names file and key.
    """

    def fault(key: str, reason: object) -> UsageError:
        return UsageError(f"{file.place(key)}: {key}: {' '.join(str(reason).split())}")

    path = SAMPLE / task.reader.source.name / task.reader.file(Options())
    if not path.is_file():
        return
    try:
        rows = list(task.reader.rows(path))
    except DataError as error:
        raise fault("rows", error) from None
    try:
        cases = list(task.cases(rows, Options()))
    except Exception as error:  # whatever the function raises is a fault of the file that names it
        raise fault("cases", f"fails on the sample ({type(error).__name__}: {error})") from None
    if not cases or not all(isinstance(case, Case) for case in cases):
        raise fault(
            "cases",
            "makes no cases of the sample"
            if not cases
            else "returns something other than cases (halu_tasks.core.items.Case)",
        )
    for case in cases:
        if missing := [name for name in task.fields if name not in case.fields]:
            raise fault("fields", f"the cases lack the field {missing[0]!r}; they have {', '.join(case.fields)}")
        try:
            task.answer.check(case)
        except ValueError as error:
            raise fault("answer", f"item {case.id!r} of the sample: {error}") from None
    known = {tag for case in cases for tag in case.tags}
    for tag, values in (task.definition.get("tags") or {}).items():
        if tag not in known:
            raise fault("tags", f"no item of the sample has the tag {tag!r}; they have {', '.join(sorted(known))}")
        if undeclared := sorted({case.tags[tag] for case in cases if tag in case.tags} - set(values)):
            raise fault("tags", f"{tag}: an item of the sample has {undeclared[0]!r}, which is not listed")
    for item in (render(case, task.own_prompt(Options())) for case in cases):
        if (value := _oracle_value(task, item)) is not None and value != 1.0:
            raise fault("doc_to_target", f"the reply for item {item.id!r} of the sample scores {value:g} instead of 1")


def _oracle_value(task: Task, item: Item) -> float | None:
    """Return the headline figure of the reply that should earn the full score; None if an item has no figure."""
    headline = task.scoring["strict"].metrics[0]
    if task.judged or headline.item is None or math.isinf(headline.range[1]):
        return None
    value = headline.item(task.score("strict", item, Reply(task.oracle(item))))
    return None if math.isnan(value) else value if headline.higher_is_better else 1.0 - value
