"""`halu-tasks list`: every task and group."""

from __future__ import annotations

import argparse
import json

from halu_tasks.cli.tables import table
from halu_tasks.tasks.listing import listing


def run(arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(as_json())
        return
    tasks, groups = listing()
    rows = [
        [task.name, f"{task.size:,}" if task.size else "unknown", task.headline, task.title, task.about]
        for task in tasks
    ]
    print(table(["task", "items", "headline", "source", "asks"], rows, right=(1,)))
    print()
    rows = [[g.name, ", ".join(g.means), ", ".join(g.members)] for g in groups]
    print(table(["group", "mean of", "tasks"], rows))
    print("\nItems are those of the published data. All metrics: halu-tasks show TASK, docs/tasks.md.")


def as_json() -> str:
    """The tasks, with the metrics that their scorers have, and the groups."""
    from halu_tasks.tasks import registry

    tasks, groups = registry()
    listed = {
        "tasks": [
            {
                "name": task.name,
                "version": task.version,
                "about": task.about,
                "items": task.size,
                "headline": task.headline,
                "metrics": {mode: [m.name for m in scoring.metrics] for mode, scoring in task.scoring.items()},
                "source": task.reader.source.homepage,
            }
            for task in tasks.values()
        ],
        "groups": [
            {"name": g.name, "about": g.about, "tasks": list(g.members), "metrics": list(g.means)}
            for g in groups.values()
        ],
    }
    return json.dumps(listed, ensure_ascii=False, indent=2)
