"""`halu-tasks path`: where the lm-eval YAML files are."""

from __future__ import annotations

import argparse


def run(arguments: argparse.Namespace) -> None:
    from halu_tasks import task_configs

    print(next(iter(task_configs.__path__)))
