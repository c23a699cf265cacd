"""`halu-tasks prompts`: the authors' wording of a task, from a file of theirs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "make a task file with a prompt of the authors, from a file of theirs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("task", metavar="TASK", help="a task name from `halu-tasks list`")
    about = "the prompt: a text with {placeholders}, or JSON Lines with `instruction` and `input`"
    parser.add_argument("file", type=Path, metavar="FILE", help=about)
    parser.add_argument("--name", metavar="NAME", help="the name of the new task (default: TASK_authors)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the task file here instead of printing it"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the task file, and say on standard error whether its wording is a published one."""
    from halu_tasks.core.files import atomic_write_text
    from halu_tasks.tasks import task_named
    from halu_tasks.tasks.convert import as_task_file, read_prompt
    from halu_tasks.tasks.published import published_as

    task = task_named(arguments.task)
    prompt = read_prompt(task, arguments.file)
    published = published_as(task.reference, prompt)
    origin = f"the wording of {published.source}" if published else "a wording that is not known as published"
    name = arguments.name or f"{task.name}_authors"
    text = as_task_file(task, prompt, name, f"{task.name} with {origin}")
    if arguments.output:
        atomic_write_text(arguments.output, text)
    else:
        print(text, end="")
    mark = "prompts_paper" if published else "a hash of the prompt"
    print(f"{name}: {origin}; its version shows {mark}", file=sys.stderr)
