"""Your own task in Inspect, defined by a task file, such as one that includes a packaged file.

    inspect eval halu_tasks/task -T config=my_task.yaml --model openai/gpt-4o-mini

The path is relative to the working directory. `docs/task-files.md` describes task files.

Arguments:
    config: The task file.
    data, scoring, fewshot, cot, prompts, and the task's own options: As for the packaged task.
"""

from typing import Any

from inspect_ai import Task
from inspect_ai import task as inspect_task

from halu_tasks.core.errors import UsageError
from halu_tasks.inspect_adapter.task_factories import inspect_task as task_of


@inspect_task
def task(config: str | None = None, **options: Any) -> Task:
    """Run the task that a task file defines."""
    if config is None:
        raise UsageError("halu_tasks/task: name a task file with -T config=FILE.yaml")
    return task_of(config, **options)
