"""`halu-tasks items`: what a task asks, to be answered without a harness."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halu_tasks.cli.arguments import (
    add_json_argument,
    add_options,
    add_task_arguments,
    positive_int,
    task_options,
)
from halu_tasks.core.json_lines import json_line

if TYPE_CHECKING:
    from halu_tasks.core.items import Example, Item

HELP = "print the items of a task, for models that run elsewhere"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_task_arguments(parser)
    add_options(parser, "cot", "structured", "prompts")
    parser.add_argument("--limit", type=positive_int, metavar="N", help="only the first N items")
    add_json_argument(parser, "text", "JSON Lines")
    about = "write the items to Parquet files of this new folder instead"
    parser.add_argument("--parquet", type=Path, metavar="FOLDER", help=about)
    about = "the number of items in each of these files (default: %(default)s)"
    parser.add_argument("--shard-size", type=positive_int, default=10_000, metavar="N", help=about)


def run(arguments: argparse.Namespace) -> None:
    """Print the items."""
    from halu_tasks.data.parquet import write_shards
    from halu_tasks.tasks import build, task_named

    shots = task_named(arguments.task).prompts.shots
    built = build(arguments.task, task_options(arguments, fewshot=shots))
    items = islice(built.stream(), arguments.limit)
    if arguments.parquet:
        rows = (_values(item, built.examples) for item in items)
        number = write_shards(arguments.parquet, rows, arguments.shard_size, "items")
        print(f"wrote {number:,} items to {arguments.parquet}")
        return
    show = _json if arguments.json else _text
    for item in items:
        print(show(item, built.examples))


def _json(item: Item, examples: Sequence[Example]) -> str:
    """Format an item as a JSON object."""
    return json_line(_values(item, examples))


def _values(item: Item, examples: Sequence[Example]) -> dict[str, Any]:
    """Return what is asked about an item; examples are what a harness sends as turns before the prompt."""
    values: dict[str, Any] = {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt}
    if examples:
        values["examples"] = [example._asdict() for example in examples]
    return values


def _text(item: Item, examples: Sequence[Example]) -> str:
    """Format an item for people, with a blank line after it."""
    parts = [f"--- id: {item.id}", f"[target]\n{item.target}", f"[system]\n{item.system}"]
    parts += [f"[example]\n{example.prompt}\n[reply]\n{example.reply}" for example in examples]
    return "\n".join([*parts, f"[prompt]\n{item.prompt}"]) + "\n"
