"""`halu-tasks list`: every task and group."""

from __future__ import annotations

import argparse

from halu_tasks.cli.arguments import add_json_argument
from halu_tasks.cli.output import print_json
from halu_tasks.cli.tables import table

HELP = "list tasks and groups, with items, metrics and sources"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_json_argument(parser, "tables")


def run(arguments: argparse.Namespace) -> None:
    """Print the tasks and groups."""
    from halu_tasks.tasks.listing import listing

    if arguments.json:
        _print_json()
        return
    tasks, groups = listing()
    rows = [
        [task.name, f"{task.size:,}" if task.size else "unknown", task.headline, task.title, task.about]
        for task in tasks
    ]
    print(table(["task", "items", "headline", "source", "asks"], rows, right=(1,)))
    print()
    rows = [[group.name, ", ".join(group.means), ", ".join(group.members)] for group in groups]
    print(table(["group", "mean of", "tasks"], rows))
    print("\nItems are those of the published data. All metrics: halu-tasks show TASK, docs/tasks.md.")


def _print_json() -> None:
    """Print the tasks with the metrics that their scorers have, and the groups."""
    from halu_tasks.tasks import registry

    tasks, groups = registry()
    print_json(
        {
            "tasks": [
                {
                    "name": task.name,
                    "version": task.version,
                    "about": task.about,
                    "items": task.data.size,
                    "headline": task.headline,
                    "metrics": {
                        mode: [metric.name for metric in scoring.metrics] for mode, scoring in task.scoring.items()
                    },
                    "source": task.data.source.homepage,
                }
                for task in tasks.values()
            ],
            "groups": [
                {"name": group.name, "about": group.about, "tasks": list(group.members), "metrics": list(group.means)}
                for group in groups.values()
            ],
        }
    )
