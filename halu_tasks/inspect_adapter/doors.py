"""Registers the tasks and groups of task files that no module declares with `@task`."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

from inspect_ai import Task

from halu_tasks.inspect_adapter.tasks import inspect_group, inspect_languages, inspect_task, named
from halu_tasks.tasks import registry


def register_tasks(declared: Container[str]) -> None:
    """Register tasks and groups, so that `inspect eval halu_tasks/NAME` finds them.

    Args:
        declared: The names that modules declare, which they also run as files.
    """
    tasks, groups = registry()
    doors: dict[str, tuple[Callable[..., Task], str]] = {
        name: (partial(inspect_task, name), task.about) for name, task in tasks.items()
    }
    for name, group in groups.items():
        of_languages = all(len(member.removeprefix(f"{name}_")) == 2 for member in group.members)
        doors[name] = partial(inspect_languages if of_languages else inspect_group, name), group.about
    for name, (create, about) in doors.items():
        if name not in declared:
            register_task(name, create, about)


def register_task(name: str, create: Callable[..., Task], about: str) -> None:
    """Register a task that is made from its name: `inspect eval halu_tasks/NAME` finds it."""

    def door(**options: Any) -> Task:
        return create(**options)

    door.__name__ = door.__qualname__ = name
    door.__doc__ = about
    named(door)
