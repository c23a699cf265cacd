"""Checks of task files: of what they declare, and of what their functions make of the packaged sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import render
from halu_tasks.data.locate import SAMPLE
from halu_tasks.tasks.registry import JUDGED_TAG, TAG, Group, check_tags, registry, task_of
from halu_tasks.tasks.schema import GroupKeys, validated
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import TaskFile, packaged_files, read_task_file


def packaged_faults() -> list[str]:
    """Check the packaged files.

    Returns:
        A line for each file with a fault: the file, the line, the key and what is wrong.
    """
    tasks, groups = registry()
    paths: dict[str, Path] = {}

    def check(path: Path) -> None:
        file = read_task_file(path)
        key = "group" if "group" in file.values else "task"
        name = str(file.values.get(key))
        if name in paths:
            raise file.fault(key, f"{name!r} is also the name in {paths[name]}")
        paths[name] = path
        check_tags(file, {*tasks, *groups})
        if key == "group":
            _check_group(file, tasks, {})
        else:
            task = Task(file).check()
            _check_tag(task)
            check_sample(task, file)

    return _faults(check, packaged_files())


def faults_of(paths: Iterable[Path]) -> list[str]:
    """Check a user's files. Members of a group may be defined in the other files.

    Returns:
        A line for each file with a fault, as in `packaged_faults`.
    """
    tasks, packaged_groups = registry()
    groups: dict[str, TaskFile] = {}
    own: dict[str, Task] = {}

    def check(path: Path) -> None:
        file = read_task_file(path)
        if "group" in file.values:
            groups[str(file.values["group"])] = file
            return
        task = task_of(file)
        if "class" not in file.values:
            raise UsageError(
                f"{path}: class: is missing; include a packaged task, or _task of `halu-tasks show --path`"
            )
        check_sample(task, file)
        own[task.name] = task

    def check_group(path: Path) -> None:
        (file,) = (file for file in groups.values() if file.path == path)
        check_tags(file, {*tasks, *packaged_groups})
        _check_group(file, tasks | own, groups)

    return _faults(check, paths) + _faults(check_group, [file.path for file in groups.values()])


def _faults(check: Callable[[Path], None], paths: Iterable[Path]) -> list[str]:
    faults = []
    for path in paths:
        try:
            check(path)
        except UsageError as error:
            faults.append(str(error))
        except Exception as error:  # whatever the functions of a file raise is its fault
            faults.append(f"{path}: cannot be used ({' '.join(f'{type(error).__name__}: {error}'.split())})")
    return faults


def _check_group(file: TaskFile, tasks: dict[str, Task], groups: dict[str, TaskFile]) -> None:
    validated(GroupKeys, file, file.values)
    packaged = {name: group.file for name, group in registry()[1].items()}
    _ = Group(file, tasks, packaged | groups).keys


def _check_tag(task: Task) -> None:
    """Check that the tag of all packaged tasks runs only those that need no judge.

    Raises:
        UsageError: The task lacks its tag, or has the other one.
    """
    tag, other = (JUDGED_TAG, TAG) if task.judged else (TAG, JUDGED_TAG)
    tags = task.file.values.get("tag") or []
    tags = [tags] if isinstance(tags, str) else tags
    if tag not in tags or other in tags:
        needs = "needs a judge" if task.judged else "needs no judge"
        raise task.file.fault("tag", f"expected {tag!r}, got {tags!r}; the task {needs}")


def check_sample(task: Task, file: TaskFile) -> None:
    """Make items of the packaged sample and check them, if the source has a sample.

    Raises:
        UsageError: A row is refused, the function `cases` fails, or its items are not what the file declares; the
            message names file and key.
    """
    path = SAMPLE / task.benchmark / task.data.file(Options())
    if not path.is_file():
        return
    try:
        rows = list(task.data.rows(path))
    except DataError as error:
        raise file.fault("rows", error) from None
    try:
        items = list(task.data.items(rows, Options()))
    except Exception as error:  # whatever the function raises is a fault of the file that names it
        raise file.fault("cases", f"fails on the sample ({type(error).__name__}: {error})") from None
    if not items:
        raise file.fault("cases", "makes no items of the sample")
    if not all(isinstance(item, Item) for item in items):
        raise file.fault("cases", "returns something other than items (halu_tasks.core.items.Item)")
    for item in items:
        if missing := [name for name in task.prompts.fields if name not in item.fields]:
            raise file.fault("fields", f"the items lack the field {missing[0]!r}; they have {', '.join(item.fields)}")
        try:
            task.answer.check(item)
        except ValueError as error:
            raise file.fault("answer", f"item {item.id!r} of the sample: {error}") from None
    known = {tag for item in items for tag in item.tags}
    for tag, values in (file.values.get("tags") or {}).items():
        if tag not in known:
            reason = f"no item of the sample has the tag {tag!r}; they have {', '.join(sorted(known))}"
            raise file.fault("tags", reason)
        if undeclared := sorted({item.tags[tag] for item in items if tag in item.tags} - set(values)):
            raise file.fault("tags", f"{tag}: an item of the sample has {undeclared[0]!r}, which is not listed")
    for item in (render(item, task.prompts.wording(Options()).prompt) for item in items):
        if (value := _oracle_value(task, item)) is not None and value != 1.0:
            reason = f"the reply for item {item.id!r} of the sample scores {value:g} instead of 1"
            raise file.fault("doc_to_target", reason)


def _oracle_value(task: Task, item: Item) -> float | None:
    """Return the headline figure of the reply that should earn the full score; None if an item has no figure."""
    headline = task.scoring["strict"].metrics[0]
    if task.judged or headline.item is None or math.isinf(headline.range[1]):
        return None
    value = headline.item(task.score("strict", item, Reply(task.oracle(item))))
    return None if math.isnan(value) else value if headline.higher_is_better else 1.0 - value
