"""`halu-tasks path`: where the task files are."""

from __future__ import annotations

import argparse

HELP = "the folder of the task files, for --include_path, or one file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("task", nargs="?", metavar="TASK", help="a task or group whose file to print")


def run(arguments: argparse.Namespace) -> None:
    """Print the path."""
    from halu_tasks.tasks.listing import path_of
    from halu_tasks.tasks.yaml_files import task_configs

    print(path_of(arguments.task) if arguments.task else task_configs())
