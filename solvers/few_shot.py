"""The solver `few_shot`: worked examples before the question, for any sample."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from inspect_ai.model import ChatMessage
from inspect_ai.solver import Solver, TaskState, solver

from halu_tasks.core.errors import ArgumentError, UsageError
from halu_tasks.core.items import Example
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import turns
from halu_tasks.replies import embedded
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import chat_messages, own_task
from halu_tasks.solvers.sample_fields import (
    SampleFields,
    prompt_solver,
    question_index,
    read_examples,
    text_argument,
)
from halu_tasks.tasks import Task, build


@solver
@checked
def few_shot(
    examples: str | list[dict[str, Any]] | None = None,
    *,
    number: int | None = None,
    template: str | None = None,
    generate: bool = True,
) -> Solver:
    """Show worked examples before the question, each as a user and an assistant message.

    In a chain of solvers, it comes after the one that writes the question.

    Args:
        examples: Examples with `input` and `output`, as a list or a JSON Lines or YAML file. Default: the worked
            examples of the sample's task, if it is a task of this package.
        number: Number of examples to show, from the first. Required for those of a task; default for given ones: all.
        template: Template of an example's question, with other fields than `input` as `{field}`, or a file with it.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    name = "few_shot"
    if number is not None and number < 1:
        raise ArgumentError(f"{name}: argument number={number} is less than 1")
    if examples is None and number is None:
        raise ArgumentError(f"{name} needs 'examples', or 'number' for the examples of a task of this package")
    fields, question = SampleFields(name), text_argument(name, "template", template) or "{input}"
    rows = read_examples(name, examples)
    if number is not None and examples is not None and number > len(rows):
        raise ArgumentError(f"{name}: argument number={number}: there are only {len(rows)} examples")
    given = [fields.example(row, where, question) for where, row in rows[:number]]

    @cache
    def of_task(task_name: str) -> list[Example]:
        return _worked_examples(task_name, number or 0)

    def messages(state: TaskState) -> list[ChatMessage]:
        shown = given if examples is not None else of_task(_task_of(state).name)
        at = question_index(state)
        return [*state.messages[:at], *chat_messages(turns("", "", shown)[:-1]), *state.messages[at:]]

    return prompt_solver(messages, generate)


def _task_of(state: TaskState) -> Task:
    task = own_task(state)
    if task is None:
        raise UsageError(f"sample {state.sample_id!r} is not of a halu_tasks task; give few_shot 'examples'")
    return task


def _worked_examples(task: str, number: int) -> list[Example]:
    """Return the worked examples that a few-shot run of the task shows."""
    built = embedded.loaded(task)
    options = built.options if built else Options()
    return build(built.task if built else task, replace(options, fewshot=number)).examples
