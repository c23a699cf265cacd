"""The registry: every task and group of the packaged task files."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from types import ModuleType

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.data.sources import SOURCES, Source
from halu_tasks.tasks.declarations import declarations
from halu_tasks.tasks.groups import Group
from halu_tasks.tasks.listing import in_order
from halu_tasks.tasks.task import Task

logger = logging.getLogger(__name__)


@cache
def registry() -> tuple[dict[str, Task], dict[str, Group]]:
    """Return all packaged tasks and groups by name.

    The tasks of a benchmark are in the order in which its groups list them. A file with a fault is named in a warning
    and left out, so that one benchmark's fault does not affect the others.
    """
    declared = declarations()
    for fault in declared.faults:
        logger.warning("%s", fault)
    sources = {name: task.benchmark for name, task in declared.tasks.items()}
    names = in_order(sources, [group.members for group in declared.groups.values()])
    questions: dict[str, dict[str, None]] = {}
    for task in declared.tasks.values():
        questions.setdefault(task.benchmark, {}).update(dict.fromkeys(task.questions))
    tasks = {name: replace(declared.tasks[name], questions=tuple(questions[sources[name]])) for name in names}
    groups = {
        name: replace(group, tasks=tuple(tasks[member] for member in group.members))
        for name, group in declared.groups.items()
    }
    return tasks, groups


def group_named(name: str) -> Group:
    """Return the packaged group of that name.

    Raises:
        UsageError: There is none, or one of its members has a fault.
    """
    groups = registry()[1]
    if name not in groups:
        raise UsageError(f"unknown group {name!r}{did_you_mean(name, groups)}; halu-tasks check lists faults of files")
    return groups[name]


TAG, JUDGED_TAG = "halu_tasks", "halu_tasks_judged"
"""The tags of the packaged tasks that need no judge, and of those that do."""


def tasks_selected(names: Iterable[str]) -> list[Task]:
    """Return the packaged tasks that some names of tasks, groups and the package's tags stand for, each once.

    Raises:
        UsageError: A name is unknown.
    """
    tasks, groups = registry()
    selected: dict[str, Task] = {}
    for name in map(str.strip, names):
        if name in (TAG, JUDGED_TAG):
            chosen = [task for task in tasks.values() if (task.judged is not None) == (name == JUDGED_TAG)]
        elif name in groups:
            chosen = list(groups[name].tasks)
        elif name in tasks:
            chosen = [tasks[name]]
        else:
            known = [*tasks, *groups, TAG, JUDGED_TAG]
            raise UsageError(f"unknown task {name!r}{did_you_mean(name, known)}; halu-tasks list shows all")
        selected |= {task.name: task for task in chosen}
    return list(selected.values())


def sources() -> dict[str, Source]:
    """Return the sources of all packaged tasks, and those without a task, by name."""
    return {**SOURCES, **{task.reader.source.name: task.reader.source for task in registry()[0].values()}}


def source_named(name: str) -> Source:
    """Return the source of that name.

    Raises:
        UsageError: There is none; the message lists the sources.
    """
    known = sources()
    if name not in known:
        raise UsageError(f"unknown source {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
    return known[name]


def prompt_names() -> set[str]:
    """Return the names under which a user's prompt file may give prompts of the packaged tasks."""
    return {task.name + wording.suffix for task in registry()[0].values() for wording in task.wordings}


def imported(name: str, attributes: Sequence[str] = ()) -> ModuleType | None:
    """Import a module of tasks.

    Args:
        name: The module's name.
        attributes: What the module must have.

    Returns:
        The module. If it cannot be imported, None; a warning says so, and the other benchmarks are not affected.
    """
    try:
        module = importlib.import_module(name)
        for attribute in attributes:
            getattr(module, attribute)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        logger.warning("%s cannot be imported, its tasks are missing (%s)", name, reason)
        return None
    return module
