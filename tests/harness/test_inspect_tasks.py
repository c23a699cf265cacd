"""The module with a `@task` for each packaged task is what the task files give, and Inspect lists it from source."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import list_tasks
from inspect_ai.util import registry_info

from halu_tasks import inspect_tasks
from halu_tasks.core.errors import UsageError
from halu_tasks.factored import factored_verification
from halu_tasks.task import task as own_task
from halu_tasks.tasks.task_registry import registry

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(inspect.getfile(inspect_tasks))
FIRST = 5000
"""Inspect Evals' register describes an evaluation from so many characters of its file."""


def test_the_module_is_what_the_task_files_give() -> None:
    command = [sys.executable, str(ROOT / "docs" / "make_inspect_tasks.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_inspect_lists_every_task_and_group_from_source() -> None:
    tasks, groups = registry()
    found = list_tasks("inspect_tasks.py", root_dir=SOURCE.parent)
    assert sorted(task.name for task in found) == sorted([*tasks, *groups])
    assert {task.file for task in found} == {"inspect_tasks.py"}


def test_each_task_says_what_it_asks_where_it_is_published_and_where_its_data_are() -> None:
    tasks, groups = registry()
    for name, task in tasks.items():
        function = getattr(inspect_tasks, name)
        assert registry_info(function).name == f"halu_tasks/{name}"
        about, _, details = (function.__doc__ or "").partition("\n")
        assert about.startswith(task.about) and task.data.source.homepage in details
        assert ("a judge is needed" in details) == bool(task.judge_spec)
    for name, group in groups.items():
        described = " ".join((getattr(inspect_tasks, name).__doc__ or "").split())
        assert described.startswith(group.about) and ", ".join(group.members) in described


def test_the_head_of_the_module_names_each_benchmark_and_its_paper() -> None:
    head = ast.get_docstring(ast.parse(SOURCE.read_text("utf-8"))) or ""
    assert len(head) < FIRST
    for task in registry()[0].values():
        assert f"\n{task.data.source.title}: " in head


def test_a_task_about_a_file_says_how_to_name_one() -> None:
    with pytest.raises(UsageError, match="name a task file with -T config="):
        own_task()
    with pytest.raises(UsageError, match="name a file of texts with -T input="):
        factored_verification()
