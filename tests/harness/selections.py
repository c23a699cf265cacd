"""Which of many tasks are run by default."""

from collections.abc import Mapping
from typing import Any

import pytest

from halu_tasks.tasks import Task


def one_of_each(tasks: Mapping[str, Task]) -> list[Any]:
    """The names of tasks as parameters; all but the first of each benchmark are slow."""
    first = {task.benchmark: name for name, task in reversed(tasks.items())}
    return [name if name in first.values() else pytest.param(name, marks=pytest.mark.slow) for name in tasks]
