"""Tasks: what a task file declares, the registry that both harnesses read, and how items are built."""

from halu_tasks.tasks.build import Evaluation, build
from halu_tasks.tasks.provenance import Provenance, TaskReference
from halu_tasks.tasks.registry import registry, source_named, task_named, tasks_selected
from halu_tasks.tasks.task import Task

__all__ = [
    "Evaluation",
    "Provenance",
    "Task",
    "TaskReference",
    "build",
    "registry",
    "source_named",
    "task_named",
    "tasks_selected",
]
