"""A task of one's own in Inspect, defined by a task file, such as one that includes a packaged file.

    inspect eval halu_tasks/task -T config=my_task.yaml --model openai/gpt-4o-mini

The path is relative to the working directory. docs/task-files.md says what a task file holds.

Arguments:
    config: the task file.
    data, scoring, fewshot, cot, prompts and the task's own options: as of the packaged task.
"""

from typing import Any

from inspect_ai import Task
from inspect_ai import task as inspect_task

from halu_tasks.inspect_adapter.tasks import inspect_config


@inspect_task
def task(config: str, **options: Any) -> Task:
    """The task that a task file defines."""
    return inspect_config(config, **options)
