"""`halu-tasks items`: what a task asks, for anyone who answers it without a harness."""

from __future__ import annotations

import argparse
import json
from itertools import islice

from halu_tasks.options import Options
from halu_tasks.tasks import build


def run(arguments: argparse.Namespace) -> None:
    built = build(
        arguments.task,
        Options(
            data=arguments.data,
            subset=arguments.subset,
            both_orders=arguments.both_orders,
            with_zero=arguments.with_zero,
            seed=arguments.seed,
            cot=arguments.cot,
            prompts=arguments.prompts,
        ),
    )
    for item in islice(built.stream(), arguments.limit):
        shown = {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt}
        if arguments.json:
            print(json.dumps(shown, ensure_ascii=False))
        else:
            print(
                "\n".join(
                    f"--- {name}: {text}" if name == "id" else f"[{name}]\n{text}" for name, text in shown.items()
                )
            )
            print()
