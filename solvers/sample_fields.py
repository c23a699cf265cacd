"""Reading the fields of samples, and the templates and examples that users give as arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from inspect_ai.model import ChatMessage, ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState
from inspect_ai.util import resource

from halu_tasks.core.errors import ArgumentError, DataError, UsageError
from halu_tasks.core.items import Example
from halu_tasks.core.prompting import fill, placeholders
from halu_tasks.data.rows import json_lines

MASK = "<mask>"
"""The mask that prompts show."""
NUMBER_OF_MASKS = "number_of_masks"
"""The field with the number of masks, which is counted."""
_FILE_NAME = re.compile(r"\S+\.\w{1,6}", re.ASCII)
_JINJA = re.compile(r"\{\{\s*(\w+)\s*\}\}")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class SampleFields:
    """Reads the fields that a prompt shows.

    Attributes:
        solver: The name of the solver, for errors.
        names: The metadata keys of fields with another key than their name.
        mask: The mask in the field `answer`, if the prompt shows the number of masks.
    """

    solver: str
    names: Mapping[str, str] = field(default_factory=dict)
    mask: str | None = None

    def of_sample(self, state: TaskState, prompt: Mapping[str, str]) -> dict[str, str]:
        """Read the fields that a prompt shows from a sample's metadata; `input` is the sample's input.

        Args:
            state: The sample.
            prompt: The texts of the prompt.

        Raises:
            UsageError: A field is missing, or its value is not a string or number.
        """
        return self._read(
            state.metadata, prompt, f"sample {state.sample_id!r}: metadata", lambda: {"input": state.input_text}
        )

    def example(self, row: Row, where: str, template: str) -> Example:
        """Make a worked example from a row: the template filled with its fields, and its `output`.

        Args:
            row: The fields and the output.
            where: The place of the row, for errors.
            template: The template of the question.

        Raises:
            UsageError: A field is missing, or its value is not a string or number.
        """
        fields = self._read(row, {"user": template}, where, dict)
        return Example(fill(template, fields), row["output"])

    def _read(
        self, metadata: Row, prompt: Mapping[str, str], where: str, others: Callable[[], dict[str, str]]
    ) -> dict[str, str]:
        names = set[str]().union(*(placeholders(text) for text in prompt.values()))
        if self.mask is not None:
            names = names - {NUMBER_OF_MASKS} | {"answer"}
        fields = {name: self._text(metadata, name, where, others) for name in sorted(names)}
        if self.mask is not None:
            number = fields["answer"].count(self.mask)
            if not number:
                key = self.names.get("answer", "answer")
                raise UsageError(f"{where}: {key!r} has no {self.mask!r}, which {self.solver} needs")
            fields |= {"answer": fields["answer"].replace(self.mask, MASK), NUMBER_OF_MASKS: str(number)}
        return fields

    def _text(self, metadata: Row, name: str, where: str, others: Callable[[], dict[str, str]]) -> str:
        key = self.names.get(name, name)
        value = metadata.get(key)
        if value is None:
            value = others().get(key)
        if value is None:
            present = ", ".join(metadata) or "nothing"
            raise UsageError(f"{where} lacks {key!r}, which {self.solver} needs; it has: {present}")
        if not isinstance(value, str | int | float):
            raise UsageError(f"{where}: {key!r}: expected a string, got {type(value).__name__}")
        return str(value)


def text_argument(solver: str, name: str, value: str | None) -> str | None:
    """Return the text of an argument that is a string or the path of a file, as with Inspect's own templates.

    Args:
        solver: The name of the solver, for errors.
        name: The name of the argument.
        value: The argument.

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


def read_examples(solver: str, examples: str | list[dict[str, Any]] | None) -> list[tuple[str, Row]]:
    """Read worked examples.

    Args:
        solver: The name of the solver, for errors.
        examples: Rows with `output` and other fields, or the path of a JSON Lines or YAML file with such rows.

    Returns:
        The place of each row, for errors, and the row.

    Raises:
        DataError: The file cannot be read, or a row is invalid; the message names the place.
        ArgumentError: The argument is neither a path nor a list.
    """
    if isinstance(examples, str):
        rows = list(_rows_of_file(Path(examples).expanduser()))
    elif examples is None or isinstance(examples, list):
        rows = [(f"example {number}", row) for number, row in enumerate(examples or [], 1)]
    else:
        raise ArgumentError(f"{solver}: argument examples: expected a file or a list, got {examples!r}")
    for where, row in rows:
        if not isinstance(row, Mapping):
            raise DataError(f"{where}: expected a mapping with 'output', got {row!r}")
        if not isinstance(row.get("output"), str):
            raise DataError(f"{where}: output: expected a string, got {row.get('output')!r}")
    return rows


def _rows_of_file(path: Path) -> Iterable[tuple[str, Row]]:
    if path.suffix.lower() not in (".yaml", ".yml", ".json"):
        return [(f"{path}:{number}", row) for number, row in json_lines(path)]
    try:
        rows = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: not a YAML file ({' '.join(str(error).split())})") from None
    if not isinstance(rows, list):
        raise DataError(f"{path}: expected a list of examples")
    return [(f"{path}: example {number}", row) for number, row in enumerate(rows, 1)]


def question_index(state: TaskState) -> int:
    """Return the index of the last user message.

    Raises:
        UsageError: The sample has no user message.
    """
    for index in reversed(range(len(state.messages))):
        if isinstance(state.messages[index], ChatMessageUser):
            return index
    raise UsageError(f"sample {state.sample_id!r} has no user message")


def prompt_solver(messages: Callable[[TaskState], list[ChatMessage]], then_generate: bool) -> Solver:
    """Create a solver that sets a sample's messages and, if `then_generate` is true, calls the model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.messages = messages(state)
        return await generate(state) if then_generate else state

    return solve
