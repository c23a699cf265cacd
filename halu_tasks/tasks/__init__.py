"""Tasks: what a task file declares, the registry that both harnesses read, and how items are built."""

from halu_tasks.tasks.definition import Task
from halu_tasks.tasks.evaluation import Evaluation, build
from halu_tasks.tasks.provenance import RECORD, Provenance, TaskRef
from halu_tasks.tasks.task_registry import get_source, get_task, registry, tasks_selected

__all__ = [
    "RECORD",
    "Evaluation",
    "Provenance",
    "Task",
    "TaskRef",
    "build",
    "get_source",
    "get_task",
    "registry",
    "tasks_selected",
]
