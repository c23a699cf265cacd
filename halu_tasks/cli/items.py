"""`halu-tasks items`: what a task asks, for anyone who answers it without a harness."""

from __future__ import annotations

import argparse
import json
from itertools import islice
from typing import Any

from halu_tasks.cli import options_of
from halu_tasks.tasks import build, task_named


def run(arguments: argparse.Namespace) -> None:
    shots = task_named(arguments.task).shots
    built = build(arguments.task, options_of(arguments, fewshot=shots))
    # what a harness sends as turns before the prompt
    examples = {"examples": [example._asdict() for example in built.examples]} if built.examples else {}
    for item in islice(built.stream(), arguments.limit):
        shown: dict[str, Any] = {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt}
        shown |= examples
        print(json.dumps(shown, ensure_ascii=False) if arguments.json else _text(shown))


def _text(shown: dict[str, Any]) -> str:
    """An item for people, with a blank line after it."""
    examples = shown.pop("examples", ())
    asked = [f"[example]\n{example['prompt']}\n[reply]\n{example['reply']}" for example in examples]
    told = {name: f"[{name}]\n{text}" for name, text in shown.items()} | {"id": f"--- id: {shown['id']}"}
    return "\n".join([*(told[name] for name in shown if name != "prompt"), *asked, told["prompt"]]) + "\n"
