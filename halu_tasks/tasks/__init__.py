"""Tasks: what a task file declares, the registry that both harnesses read, and how items are built."""

from halu_tasks.tasks.build import Evaluation, build
from halu_tasks.tasks.provenance import Provenance, TaskReference
from halu_tasks.tasks.registry import (
    Group,
    group_named,
    prompt_names,
    registry,
    source_named,
    sources,
    task_named,
    task_of,
    task_of_file,
    tasks_selected,
)
from halu_tasks.tasks.task import Task

__all__ = [
    "Evaluation",
    "Group",
    "Provenance",
    "Task",
    "TaskReference",
    "build",
    "group_named",
    "prompt_names",
    "registry",
    "source_named",
    "sources",
    "task_named",
    "task_of",
    "task_of_file",
    "tasks_selected",
]
