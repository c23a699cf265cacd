"""Prompts as solvers, for any sample: ReFACT's formats (Appendix C), worked examples, and reasoning before the answer.

Each format builds the messages from a sample's metadata and calls the model. The texts come from this package's task
files unless the arguments replace them. docs/solvers.md has an example of each.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from inspect_ai.model import ChatMessage, ChatMessageSystem
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import resource

from halu_tasks.core.errors import ArgumentError, DataError, UsageError
from halu_tasks.core.items import Example
from halu_tasks.core.prompting import Prompt, fill, placeholders, texts, turns, without_cue
from halu_tasks.data.rows import json_lines
from halu_tasks.replies import embedded
from halu_tasks.solvers.model_calls import (
    SampleMetadata,
    chat_messages,
    checked,
    generate_or_refuse,
    last_question,
    without_system_role,
)
from halu_tasks.tasks import Task, get_task

LOCALIZATION = {"entities": "refact_localization_entity", "sentence": "refact_localization_negation"}
"""The task whose texts are the default, by what replies are asked to list."""
MASK = "<mask>"
"""The mask that prompts show."""
NUMBER_OF_MASKS = "number_of_masks"
"""The field with the number of masks, which is counted."""
SYSTEM = (
    "Think step by step: write down your reasoning first. Then end with the answer alone, in the form in which it is "
    "asked for."
)
"""The default text of `chain_of_thought`. Its wording is part of the prompt, so a change of it changes results."""
_FILE_NAME = re.compile(r"\S+\.\w{1,6}", re.ASCII)
_JINJA = re.compile(r"\{\{\s*(\w+)\s*\}\}")

Row = Mapping[str, Any]
Examples = str | list[dict[str, Any]] | None
"""Rows with `output` and other fields, or the path of a JSON Lines file with such rows."""


@solver
@checked
def independent(
    *,
    system: str | None = None,
    template: str | None = None,
    cot: bool = False,
    examples: Examples = None,
    question: str = "question",
    answer: str = "answer",
    generate: bool = True,
) -> Solver:
    """Ask whether an answer is factual, True or False.

    Args:
        system: System text, or a file with it. Default: the system text of `refact_judgment_independent`.
        template: User text with `{question}` and `{answer}`, or a file with it. Default: the user text of the same
            task.
        cot: Whether to ask for reasoning first; ignored if `system` is given.
        examples: Worked examples to show before the question, each with the fields of a sample and `output`, as a list
            or a JSON Lines file.
        question: Metadata key of the question; `input` is the sample's input.
        answer: Metadata key of the answer.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    names = {"question": question, "answer": answer}
    return _format("independent", "refact_judgment_independent", names, system, template, cot, examples, generate)


@solver
@checked
def comparative(
    *,
    system: str | None = None,
    template: str | None = None,
    cot: bool = False,
    examples: Examples = None,
    question: str = "question",
    answer_a: str = "answer_a",
    answer_b: str = "answer_b",
    generate: bool = True,
) -> Solver:
    """Ask which of two answers is factual, A or B.

    Args:
        system: System text, or a file with it. Default: the system text of `refact_judgment_comparative`.
        template: User text with `{question}`, `{answer_a}` and `{answer_b}`, or a file with it. Default: the user text
            of the same task.
        cot: Whether to ask for reasoning first; ignored if `system` is given.
        examples: Worked examples to show before the question, each with the fields of a sample and `output`, as a list
            or a JSON Lines file.
        question: Metadata key of the question; `input` is the sample's input.
        answer_a: Metadata key of the answer shown first.
        answer_b: Metadata key of the answer shown second.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    names = {"question": question, "answer_a": answer_a, "answer_b": answer_b}
    return _format("comparative", "refact_judgment_comparative", names, system, template, cot, examples, generate)


@solver
@checked
def localization(
    *,
    returns: Literal["entities", "sentence"] | None = None,
    system: str | None = None,
    template: str | None = None,
    cot: bool = False,
    examples: Examples = None,
    question: str = "question",
    answer: str = "answer",
    generate: bool = True,
) -> Solver:
    """Ask which passages of an answer are wrong.

    Args:
        returns: What the reply is asked for: `entities`, the wrong entities one per line, or `sentence`, the one
            sentence that is wrong. Default: what the sample's task asks for if it is a task of this package, otherwise
            `entities`.
        system: System text, or a file with it. Default: the system text of `refact_localization_entity` or, for
            `sentence`, of `refact_localization_negation`.
        template: User text with `{question}` and `{answer}`, or a file with it. Default: the user text of the same
            task.
        cot: Whether to ask for reasoning first; ignored if `system` is given.
        examples: Worked examples to show before the question, each with the fields of a sample and `output`, as a list
            or a JSON Lines file.
        question: Metadata key of the question; `input` is the sample's input.
        answer: Metadata key of the answer.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    names = {"question": question, "answer": answer}
    reference = LOCALIZATION[returns or "entities"]
    return _format(
        "localization", reference, names, system, template, cot, examples, generate, own_wording=returns is None
    )


@solver
@checked
def correction(
    *,
    mask: str = MASK,
    system: str | None = None,
    template: str | None = None,
    cot: bool = False,
    examples: Examples = None,
    question: str = "question",
    answer: str = "answer",
    generate: bool = True,
) -> Solver:
    """Ask for the words that masks in an answer replace, one replacement per line.

    Args:
        mask: The mask in the answers of the samples. The model is shown `<mask>`.
        system: System text, or a file with it. Default: the system text of `refact_correction`.
        template: User text with `{question}`, `{answer}` and `{number_of_masks}`, which is counted, or a file with it.
            Default: the user text of the same task.
        cot: Whether to ask for reasoning first; ignored if `system` is given.
        examples: Worked examples to show before the question, each with the fields of a sample and `output`, as a list
            or a JSON Lines file.
        question: Metadata key of the question; `input` is the sample's input.
        answer: Metadata key of the answer with masks.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    if not mask:
        raise ArgumentError("correction: argument mask is empty")
    names = {"question": question, "answer": answer}
    return _format("correction", "refact_correction", names, system, template, cot, examples, generate, mask=mask)


@solver
@checked
def few_shot(examples: Examples = None, *, template: str | None = None, generate: bool = True) -> Solver:
    """Show worked examples before the question, each as a user and an assistant message.

    In a chain of solvers, it comes after the one that writes the question. Tasks of this package have examples of their
    own, which their option `fewshot` shows.

    Args:
        examples: Examples with `input` and `output`, as a list or a JSON Lines file.
        template: Template of an example's question, with other fields than `input` as `{field}`, or a file with it.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    if examples is None:
        raise ArgumentError("few_shot needs 'examples'; the tasks of this package have their own: -T fewshot=N")
    rows = _rows("few_shot", examples)
    question = _text("few_shot", "template", template) or "{input}"
    worked = [
        Example(fill(question, _fields("few_shot", {}, None, [question], where, row)), row["output"])
        for where, row in rows
    ]

    def messages(state: TaskState) -> list[ChatMessage]:
        at = last_question(state.messages)
        return [*state.messages[:at], *chat_messages(turns("", "", worked)[:-1]), *state.messages[at:]]

    return _prompting(messages, generate)


@solver
@checked
def chain_of_thought(*, system: str | None = None, generate: bool = True) -> Solver:
    """Ask for reasoning before the answer, in a system message after the sample's system messages.

    In a chain of solvers, it comes after the one that writes the question.

    Args:
        system: System text, or a file with it. `{field}` stands for a field of the sample's metadata.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    text = _text("chain_of_thought", "system", system) or SYSTEM

    def messages(state: TaskState) -> list[ChatMessage]:
        fields = _fields("chain_of_thought", {}, None, [text], *_sample(state))
        instruction = ChatMessageSystem(content=fill(text, fields))
        before = [message for message in state.messages if message.role == "system"]
        return [*before, instruction, *(message for message in state.messages if message.role != "system")]

    return _prompting(messages, generate)


def _format(
    name: str,
    reference: str,
    keys: Mapping[str, str],
    system: str | None,
    template: str | None,
    cot: bool,
    examples: Examples,
    generate: bool,
    *,
    mask: str | None = None,
    own_wording: bool = True,
) -> Solver:
    """Create the solver of a prompt format.

    A sample of this package whose task has this format is asked with the texts of its run, unless the arguments replace
    them.

    Args:
        name: The name of the solver.
        reference: The packaged task whose texts are the default.
        keys: The metadata key of each field.
        system: System text, or file, that replaces the default.
        template: User text, or file, that replaces the default.
        cot: Whether to use the system text that asks for reasoning, if the system text is the default.
        examples: Worked examples, or a file with them.
        generate: Whether to call the model.
        mask: The mask in the answers, for a format that shows the number of masks.
        own_wording: Whether a sample of this package is asked with the texts of its own task.

    Raises:
        ArgumentError: An argument is invalid.
        DataError: The examples are invalid.
    """
    system, template = _text(name, "system", system), _text(name, "template", template)
    if template is not None and not placeholders(template):
        expected = " or ".join(f"{{{field}}}" for field in keys)
        raise ArgumentError(f"{name}: argument template has no field such as {expected}")
    fields, rows = partial(_fields, name, keys, mask), _rows(name, examples)
    renamed = any(field != key for field, key in keys.items()) or mask not in (None, MASK)
    unchanged = system is None and template is None and not (cot or rows or renamed)
    packaged = get_task(reference).prompts.wordings[0].prompt

    def messages(state: TaskState) -> list[ChatMessage]:
        task = _task_of_format(state, name) if own_wording else None
        if task and unchanged:
            return state.messages
        evaluation = embedded.loaded(task.name) if task else None
        wording = evaluation.prompt if evaluation else packaged
        user = wording["user"] if template is None else template
        prompt = {"system": _system(wording), "user": without_cue(user) if cot else user}
        system_text, question = texts(prompt, fields(prompt.values(), *_sample(state)))
        worked = [
            Example(fill(prompt["user"], fields([prompt["user"]], where, row)), row["output"]) for where, row in rows
        ]
        prompt_messages = chat_messages(turns(system_text, question, worked))
        # the embedded models identify the item by this metadata
        prompt_messages[-1].metadata = state.messages[last_question(state.messages)].metadata
        return prompt_messages

    def _system(wording: Prompt) -> str:
        if system is not None:
            return system
        if cot and "cot" not in wording:
            raise UsageError(f"{name}: the task has no chain-of-thought text; give 'system' instead of cot=True")
        return wording["cot"] if cot else wording.get("system", "")

    return _prompting(messages, generate)


def _prompting(messages: Callable[[TaskState], list[ChatMessage]], then_generate: bool) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        prompt_messages, metadata = messages(state), SampleMetadata.of(state)
        state.messages = (
            without_system_role(prompt_messages) if metadata and metadata.system_in_user else prompt_messages
        )
        return await generate_or_refuse(state, generate) if then_generate else state

    return solve


def _task_of_format(state: TaskState, name: str) -> Task | None:
    metadata = SampleMetadata.of(state)
    task = metadata.benchmark_task if metadata else None
    return task if task and task.prompts.format == name else None


def _sample(state: TaskState) -> tuple[str, Row]:
    metadata = SampleMetadata.of(state)
    return f"sample {state.sample_id!r}", {
        "input": state.input_text,
        **state.metadata,
        **(metadata.fields if metadata else {}),
    }


def _fields(
    solver: str, keys: Mapping[str, str], mask: str | None, templates: Iterable[str], where: str, row: Row
) -> dict[str, str]:
    """Return the fields of a row that templates show.

    Args:
        solver: The name of the solver, for errors.
        keys: The keys of fields with another key than their name.
        mask: The mask in the field `answer`, if the texts show the number of masks.
        templates: The texts.
        where: The place of the row, for errors.
        row: The values.

    Raises:
        UsageError: A field is missing, or its value is not a string or number.
    """
    names = set[str]().union(*map(placeholders, templates))
    if mask is not None:
        names = names - {NUMBER_OF_MASKS} | {"answer"}
    fields = {}
    for name in sorted(names):
        key = keys.get(name, name)
        if (value := row.get(key)) is None:
            raise UsageError(f"{where} lacks {key!r}, which {solver} needs; it has: {', '.join(row) or 'nothing'}")
        if not isinstance(value, str | int | float):
            raise UsageError(f"{where}: {key!r}: expected a string, got {type(value).__name__}")
        fields[name] = str(value)
    if mask is not None:
        number = fields["answer"].count(mask)
        if not number:
            raise UsageError(f"{where}: {keys['answer']!r} has no {mask!r}, which {solver} needs")
        fields |= {"answer": fields["answer"].replace(mask, MASK), NUMBER_OF_MASKS: str(number)}
    return fields


def _text(solver: str, name: str, value: str | None) -> str | None:
    """Return the text of an argument that is a string or the path of a file, as with Inspect's own templates.

    Raises:
        ArgumentError: The value looks like the name of a file that does not exist, or like a Jinja template.
    """
    if not value:
        return value
    text = resource(value).rstrip()
    if text == value and _FILE_NAME.fullmatch(text):
        raise ArgumentError(f"{solver}: argument {name}={value!r}: no such file in {Path.cwd()}")
    if match := _JINJA.search(text):
        raise ArgumentError(f"{solver}: argument {name}: write {{{match[1]}}} instead of {match[0]}")
    return text


def _rows(solver: str, examples: Examples) -> list[tuple[str, Row]]:
    """Read worked examples, each with its place for errors.

    Raises:
        DataError: The file cannot be read, or a row is invalid; the message names the place.
    """
    rows: list[tuple[str, Row]]
    if isinstance(examples, str):
        rows = [(f"{examples}:{number}", row) for number, row in json_lines(Path(examples).expanduser())]
    else:
        rows = [(f"example {number}", row) for number, row in enumerate(examples or [], 1)]
    for where, row in rows:
        if not isinstance(row, Mapping):
            raise DataError(f"{where}: expected a mapping with 'output', got {row!r}")
        if not isinstance(row.get("output"), str):
            raise DataError(f"{where}: output: expected a string, got {row.get('output')!r}")
    return rows
