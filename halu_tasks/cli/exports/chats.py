"""`halu-tasks export chats`: the training part of a benchmark as chats, for tuning a model on it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from halu_tasks.cli.arguments import add_options, given_options, positive_int
from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import atomic_write
from halu_tasks.core.json_lines import json_line
from halu_tasks.core.options import DATA_OPTIONS

TOP = 5
"""The default number of passages, as of the solver (FactCHD, section 5.3.4)."""
HELP = "export the training part of a benchmark as chats, one JSON line each; with --knowledge, after passages"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("task", metavar="TASK", help="a task whose benchmark has a training part (factchd)")
    add_options(parser, *DATA_OPTIONS, "prompts")
    about = "put passages before each question, as the solver with_knowledge does: a file, a folder, or gold"
    parser.add_argument("--knowledge", metavar="PATH|gold", help=about)
    about = f"how many passages --knowledge looks up (default: {TOP})"
    parser.add_argument("--top", type=positive_int, default=TOP, metavar="N", help=about)
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: standard output)")


def run(arguments: argparse.Namespace) -> None:
    """Write the chats."""
    from halu_tasks.tasks import task_named
    from halu_tasks.tasks.asking import training_chats

    task, options = task_named(arguments.task), given_options(arguments)
    if len(options.prompts) > 1:
        raise UsageError(f"--prompts {','.join(options.prompts)}: expected one file, got {len(options.prompts)}")
    if arguments.knowledge is None:
        chats = training_chats(task, options)
    else:
        from halu_tasks.solvers.passages import InformedQuestions

        questions = InformedQuestions(task, arguments.knowledge, arguments.top, next(iter(options.prompts), None))
        chats = training_chats(task, options, questions)
    with _open(arguments.output) as file:
        for chat in chats:
            file.write(json_line(chat) + "\n")


@contextmanager
def _open(output: str | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    with atomic_write(Path(output), "export") as file:
        yield file
