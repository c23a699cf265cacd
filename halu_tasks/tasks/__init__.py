"""Tasks: what a task file declares, the registry that both harnesses read, and how items are built."""

from halu_tasks.tasks.asking import prompt_of
from halu_tasks.tasks.build import Built, build
from halu_tasks.tasks.derived import TaskReference, task_named, task_of, task_of_file
from halu_tasks.tasks.groups import Group
from halu_tasks.tasks.provenance import Provenance
from halu_tasks.tasks.registry import group_named, prompt_names, registry, source_named, sources, tasks_selected
from halu_tasks.tasks.task import Decoding, Subject, Task, TaskData

__all__ = [
    "Built",
    "Decoding",
    "Group",
    "Provenance",
    "Subject",
    "Task",
    "TaskData",
    "TaskReference",
    "build",
    "group_named",
    "prompt_names",
    "prompt_of",
    "registry",
    "source_named",
    "sources",
    "task_named",
    "task_of",
    "task_of_file",
    "tasks_selected",
]
