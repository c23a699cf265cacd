"""Worked examples of few-shot prompts: which rows they are made of, and their order."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from halu_tasks.data.locate import locate
from halu_tasks.data.rows import Row
from halu_tasks.items import Case, Example
from halu_tasks.options import Options
from halu_tasks.prompting import Prompt, placeholders, render

if TYPE_CHECKING:
    from halu_tasks.tasks.task import Task

logger = logging.getLogger(__name__)


def worked_examples(task: Task, options: Options, prompt: Prompt) -> list[Example]:
    """The worked examples of a task in their order, at most `MOST_EXAMPLES`; with chain of thought each reply
    reasons first. They are made of the training part, without what is also under test, where the benchmark
    has one, and else of the package's own rows; so too where the data that the user named lack it, which a
    warning says.
    """
    cases = task.cases(_example_rows(task, options, prompt), options)
    return [_example(task, case, prompt, options) for case in task.examples(cases, options)[:MOST_EXAMPLES]]


def _example_rows(task: Task, options: Options, prompt: Prompt) -> Iterator[Row]:
    path = task.reader.training_path(options)
    if path is None:
        if task.lacks_training(options):
            logger.warning(OWN_EXAMPLES, task.name, task.reader.training)
        yield from task.reader.fewshot_rows(options)
        return
    located = locate(task.reader.source, task.reader.file(options), options.data)
    shown = {_shown(case, prompt) for case in task.cases(task.reader.rows(located.path), options)}
    for row in task.reader.rows(path):
        if not any(_shown(case, prompt) in shown for case in task.cases([row], options)):
            yield row


def _shown(case: Case, prompt: Prompt) -> tuple[str, ...]:
    """The fields of a case that its question shows."""
    names = placeholders(prompt["user"])
    return tuple(text for name, text in case.fields.items() if name in names)


def _example(task: Task, case: Case, prompt: Prompt, options: Options) -> Example:
    item = render(case, prompt, cot=options.cot)
    reply = task.oracle(item)
    if options.cot:
        cue = item.prompt.rsplit("\n", 1)[-1]
        reply = f"{case.explanation}\n{cue} {reply}"
    return Example(item.prompt, reply)


OWN_EXAMPLES = "%s: the worked examples are the package's own, since the data named have no %s beside them"

MOST_EXAMPLES = 64
"""More worked examples than this are not made: a training part has thousands."""
