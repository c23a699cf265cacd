"""Worked examples of few-shot prompts: which rows they are made of, and their order."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from halu_tasks.core.items import Case, Example
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import Prompt, placeholders, render
from halu_tasks.data.locate import locate
from halu_tasks.data.rows import Row
from halu_tasks.tasks.structured import structured_reply

if TYPE_CHECKING:
    from halu_tasks.tasks.task import Task

logger = logging.getLogger(__name__)


def worked_examples(task: Task, options: Options, prompt: Prompt) -> list[Example]:
    """Make the worked examples of a task, in order, at most `MOST_EXAMPLES`.

    They are made of the benchmark's training part, without what is also under test. If there is none, they are made of
    the package's own rows; a warning says so if it is the user's data that lack the training part. With chain of
    thought each reply reasons first.

    Args:
        task: The task.
        options: The options of the run.
        prompt: The prompt that asks the task.
    """
    cases = task.cases(_example_rows(task, options, prompt), options)
    return [_example(task, case, prompt, options) for case in task.examples(cases, options)[:MOST_EXAMPLES]]


def _example_rows(task: Task, options: Options, prompt: Prompt) -> Iterator[Row]:
    training = task.reader.training_data(options)
    if training is None:
        if task.lacks_training(options):
            logger.warning(OWN_EXAMPLES, task.name, task.reader.training)
        yield from task.reader.fewshot_rows(options)
        return
    located = locate(task.reader.source, task.reader.file(options), options)
    tested = {_shown_fields(case, prompt) for case in task.cases(task.reader.rows(located), options)}
    for row in task.reader.rows(training):
        if not any(_shown_fields(case, prompt) in tested for case in task.cases([row], options)):
            yield row


def _shown_fields(case: Case, prompt: Prompt) -> tuple[str, ...]:
    """Return the fields of a case that its question shows."""
    names = placeholders(prompt["user"])
    return tuple(text for name, text in case.fields.items() if name in names)


def _example(task: Task, case: Case, prompt: Prompt, options: Options) -> Example:
    item = render(case, prompt, cot=options.cot)
    reply = task.oracle(item)
    if options.cot:
        cue = item.prompt.rsplit("\n", 1)[-1]
        reply = f"{case.explanation}\n{cue} {reply}"
    if options.structured:
        reply = structured_reply(task, options, reply)
    return Example(item.prompt, reply)


OWN_EXAMPLES = "%s: worked examples are made of the package's own rows, since the folder of the data has no %s"

MOST_EXAMPLES = 64
"""No more worked examples are made than this, since a training part has thousands of rows."""
