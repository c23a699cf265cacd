"""`halu-tasks path`: where the task files and the run configurations are."""

from __future__ import annotations

import argparse

HELP = "print the folder of the task files, for --include_path, or the path of one file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    one = parser.add_mutually_exclusive_group()
    one.add_argument("task", nargs="?", metavar="TASK", help="a task or group whose file to print")
    about = "print the folder of the run configurations, one per published table and harness"
    one.add_argument("--protocols", action="store_true", help=about)


def run(arguments: argparse.Namespace) -> None:
    """Print the path."""
    from halu_tasks.results.published import PROTOCOLS
    from halu_tasks.tasks.listing import path_of
    from halu_tasks.tasks.yaml_files import task_configs

    if arguments.protocols:
        print(PROTOCOLS)
    else:
        print(path_of(arguments.task) if arguments.task else task_configs())
