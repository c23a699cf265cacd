"""The training part of a benchmark as chats, for tuning a model on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import Prompt, messages, render
from halu_tasks.data.locate import Located, is_sample, locate
from halu_tasks.tasks.build import prompt_of
from halu_tasks.tasks.registry import registry
from halu_tasks.tasks.task import Task

Chat = dict[str, list[dict[str, str]]]
"""`messages`, each with `role` and `content`, as chat models are tuned on."""


def training_chats(
    task: Task, options: Options, question: Callable[[Item], str] = lambda item: item.prompt
) -> Iterator[Chat]:
    """Return each row of the training part as a chat that ends with a reply that scores full marks.

    Args:
        task: The task.
        options: Its options, of which `data` and `prompts` are used.
        question: Returns the user text of an item; by default its prompt.

    Raises:
        UsageError: The benchmark has no training part.
        DataError: The training part is missing or has an invalid row.
    """
    reader = task.reader
    if reader.training is None:
        able = sorted(other.name for other in registry()[0].values() if other.reader.training)
        raise UsageError(f"{task.name} has no training part; tasks with one: {', '.join(able)}")
    if is_sample(options.data):
        data: Located | Path = reader.fewshot_path(options)
    else:
        data = locate(reader.source, reader.training, options)
    # look for the prompt now, so that a missing one is an error before the first chat is read
    return _chats(task, data, options, prompt_of(task, options), question)


def _chats(
    task: Task, data: Located | Path, options: Options, prompt: Prompt, question: Callable[[Item], str]
) -> Iterator[Chat]:
    for case in task.cases(task.reader.rows(data), options):
        item = render(case, prompt)
        asked = messages(replace(item, prompt=question(item)))
        yield {"messages": [*asked, {"role": "assistant", "content": task.oracle(item)}]}
