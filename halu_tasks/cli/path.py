"""`halu-tasks path`: where the task files are."""

from __future__ import annotations

import argparse

from halu_tasks.tasks.listing import path_of
from halu_tasks.tasks.yaml_files import task_configs


def run(arguments: argparse.Namespace) -> None:
    print(path_of(arguments.task) if arguments.task else task_configs())
