"""`halu-tasks export`: the training part of a benchmark as chats, for anyone who tunes a model on it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from halu_tasks.data.locate import is_sample, locate
from halu_tasks.errors import UsageError
from halu_tasks.files import atomic_write
from halu_tasks.options import Options
from halu_tasks.prompting import messages, render
from halu_tasks.tasks import Task, prompt_of, registry, task_named


def run(arguments: argparse.Namespace) -> None:
    task = task_named(arguments.task)
    options = Options(data=arguments.data, prompts=arguments.prompts)
    chats = training_chats(task, options)
    with _opened(arguments.output) as file:
        for chat in chats:
            file.write(json.dumps(chat, ensure_ascii=False) + "\n")


def training_chats(task: Task, options: Options) -> Iterator[dict[str, list[dict[str, str]]]]:
    """Each row of the training part as the messages that ask it, and the reply that earns the full score.

    Raises:
        UsageError: the benchmark has no training part.
        DataError: it is not where the user says, or has a bad row.
    """
    reader = task.reader
    if reader.training is None:
        able = sorted(known.name for known in registry()[0].values() if known.reader.training)
        raise UsageError(f"{task.name} has no training part; export works for {', '.join(able)}")
    if is_sample(options.data):
        path = reader.fewshot_path(options)
    else:
        path = locate(reader.source, reader.training, options.data).path
    prompt = prompt_of(task, options)
    return _chats(task, path, options, dict(prompt))


def _chats(
    task: Task, path: Path, options: Options, prompt: dict[str, str]
) -> Iterator[dict[str, list[dict[str, str]]]]:
    for case in task.cases(task.reader.rows(path), options):
        item = render(case, prompt)
        yield {"messages": [*messages(item), {"role": "assistant", "content": task.oracle(item)}]}


@contextmanager
def _opened(output: str | None) -> Iterator[TextIO]:
    if output is None:
        yield sys.stdout
        return
    path = Path(output)
    with atomic_write(path, "export") as file:
        yield file
