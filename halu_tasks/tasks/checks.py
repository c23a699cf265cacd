"""Checks of task files: of what they declare, and of what their functions make of the packaged sample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import fill, render
from halu_tasks.data.locate import SAMPLE, Located
from halu_tasks.data.sources import OwnSource
from halu_tasks.tasks.build import build
from halu_tasks.tasks.keys import GroupKeys, validated
from halu_tasks.tasks.prompts import PARTS
from halu_tasks.tasks.registry import Group, check_tags, registry, task_of
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import TaskFile, read_task_file

CLASS = "!function halu_tasks.lm_eval_adapter.task.HaluTask"
"""The class of all task files."""


def faults_of(paths: Iterable[Path]) -> list[str]:
    """Check task files and group files. Members of a group may be defined in the other files.

    Returns:
        A line for each file with a fault: the file, the line, the key and what is wrong.
    """
    faults: list[str] = []
    tasks: dict[str, Task] = {}
    groups: dict[str, TaskFile] = {}

    @contextmanager
    def noting(path: Path) -> Iterator[None]:
        try:
            yield
        except UsageError as error:
            faults.append(str(error))
        except Exception as error:  # whatever the functions of a file raise is its fault
            faults.append(f"{path}: cannot be used ({' '.join(f'{type(error).__name__}: {error}'.split())})")

    for path in paths:
        with noting(path):
            file = read_task_file(path)
            key, others = ("group", groups) if "group" in file.values else ("task", tasks)
            if (name := str(file.values.get(key))) in others:
                raise file.fault(key, f"{name!r} is also the name in another of the files")
            if key == "group":
                groups[name] = file
            else:
                tasks[name] = _checked(file)
    packaged_tasks, packaged_groups = registry()
    for file in groups.values():
        with noting(file.path):
            check_tags(file, {*packaged_tasks, *packaged_groups})
            others = {name: group.file for name, group in packaged_groups.items()} | groups
            validated(GroupKeys, file, file.values)
            Group(file, packaged_tasks | tasks, others).check()
    return faults


def _checked(file: TaskFile) -> Task:
    task = task_of(file)
    if "class" not in file.values:
        raise UsageError(f"{file.path}: class: is missing, without which lm-eval does not run it; add class: {CLASS}")
    check_sample(task, file)
    return task


def check_sample(task: Task, file: TaskFile) -> None:
    """Make items of the rows beside the task file, or of the packaged sample if the source has one, and check them.

    Raises:
        UsageError: A row is refused, the function `cases` fails, or its items are not what the file declares; the
            message names file and key.
    """
    sample, of = SAMPLE / task.benchmark / task.data.file(Options()), "the sample"
    data: Path | Located = sample
    if isinstance(task.data.source, OwnSource):
        with _naming(file, "file"):
            data, of = task.data.locate(Options()), "the rows"
        with _naming(file, "examples"):
            evaluation = build(task, Options(fewshot=task.prompts.shots or int(task.data.examples is not None)))
        with _naming(file, "rows"):
            _ = evaluation.items
    elif not sample.is_file():
        return
    with _naming(file, "rows"):
        rows = list(task.rows(data))
    try:
        items = list(task.items(rows, Options()))
    except Exception as error:  # whatever the function raises is a fault of the file that names it
        raise file.fault("cases", f"fails on {of} ({type(error).__name__}: {error})") from None
    if not items:
        raise file.fault("cases", f"makes no items of {of}")
    if not all(isinstance(item, Item) for item in items):
        raise file.fault("cases", "returns something other than items (halu_tasks.core.items.Item)")
    for item in items:
        if missing := [name for name in task.prompts.fields if name not in item.fields]:
            raise file.fault("fields", f"the items lack the field {missing[0]!r}; they have {', '.join(item.fields)}")
        with _naming(file, "answer", f"item {item.id!r} of {of}: "):
            task.rules.answer.check(item)
    known = {tag for item in items for tag in item.tags}
    for tag, values in (file.values.get("tags") or {}).items():
        if tag not in known:
            reason = f"no item of {of} has the tag {tag!r}; they have {', '.join(sorted(known))}"
            raise file.fault("tags", reason)
        if undeclared := sorted({item.tags[tag] for item in items if tag in item.tags} - set(values)):
            raise file.fault("tags", f"{tag}: an item of {of} has {undeclared[0]!r}, which is not listed")
    prompt = task.prompts.wording(Options()).prompt
    for item in items:
        for key, part in PARTS.items():
            with _naming(file, key):
                fill(prompt.get(part, ""), item.fields)
        with _naming(file, "baseline"):
            task.prompts.baseline(item)
        with _naming(file, "doc_to_target"):
            if (value := _oracle_value(task, render(item, prompt))) is not None and value != 1.0:
                raise UsageError(f"the reply for item {item.id!r} of {of} scores {value:g} instead of 1")


@contextmanager
def _naming(file: TaskFile, key: str, about: str = "") -> Iterator[None]:
    """Name the file, a key and what it is about in an error."""
    try:
        yield
    except ValueError as error:
        raise file.fault(key, f"{about}{error}") from None


def _oracle_value(task: Task, item: Item) -> float | None:
    """Return the headline figure of the reply that should earn the full score; None if an item has no figure."""
    headline = task.scoring["strict"].metrics[0]
    if task.judged or headline.item is None or math.isinf(headline.range[1]):
        return None
    value = headline.item(task.score("strict", item, Reply(task.prompts.oracle(item))))
    return None if math.isnan(value) else value if headline.higher_is_better else 1.0 - value
