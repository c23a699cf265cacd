"""The keys of task files, and typed access to their values with errors that name the file, the line and the key."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.tasks.yaml_files import FunctionName, TaskFile, load_object

KEYS = {
    "task": "name of the task",
    "reference_task": "the packaged task that the definition comes from",
    "about": "one line for listings",
    "items": "number of items in the published data",
    "source": "where the data come from",
    "file": "the file of the source",
    "training_file": "the file of its training part",
    "rows": "fields, check and format of a row",
    "cases": "function from rows to cases",
    "cases_arguments": "arguments of that function",
    "fields": "fields of a case that prompts may show",
    "description": "system text",
    "doc_to_text": "prompt",
    "doc_to_target": "the reply that earns the full score",
    "doc_to_choice": "two answers to weigh by their probabilities, the one looked for first",
    "chain_of_thought": "system text that asks for reasoning first",
    "wordings": "other prompts, used if an option changes the question",
    "prompt_format": "solver of the same prompt format",
    "generation_kwargs": "decoding",
    "answer": "kind of answer, its labels and its reading",
    "scorer": "scorers by mode, with their arguments",
    "judge": "what a judge is asked about a reply",
    "tags": "values of the tags by which metrics are split",
    "metric_list": "metrics, the headline first",
    "task_options": "options that change what is asked",
    "method_input": "fields that detection methods look at",
    "baseline": "a reply made without knowing the answer",
    "num_fewshot": "default number of worked examples",
    "order_examples": "function that orders worked examples",
    "inspect_module": "module with the task for Inspect",
    "metadata": "version",
}
"""The keys that define a task, with what each is for."""

_LM_EVAL_KEYS = ("tag", "task_alias", "class", "output_type", "include", "group", "task_list")
"""Keys of lm-eval that a task file may have and that do not change how the task is asked or scored."""

_REPLACED_KEYS = {
    "dataset_path": "source",
    "dataset_name": "file",
    "process_docs": "cases",
    "process_results": "scorer",
    "filter_list": "answer and scorer",
    "repeats": "the method self_consistency",
    "fewshot_config": "order_examples",
    "fewshot_split": "training_file",
    "test_split": "file",
}
"""Keys of lm-eval that would have no effect, and the keys that do the same here."""


@dataclass(frozen=True)
class TaskKeys:
    """Typed access to the keys of a task file. A key that is null counts as absent.

    Every method raises UsageError if a value is missing or of the wrong type.
    """

    file: TaskFile

    def fail(self, key: str, reason: object) -> NoReturn:
        """Raise UsageError: one line with the file, the line, the key and the reason."""
        raise UsageError(f"{self.file.place(key)}: {key}: {reason}")

    def check_names(self) -> None:
        """Refuse keys that are unknown or would have no effect."""
        for key in self.file.values:
            if key in _REPLACED_KEYS:
                self.fail(key, f"has no effect on a task of halu-tasks; use {_REPLACED_KEYS[key]}")
            if key not in KEYS and key not in _LM_EVAL_KEYS:
                self.fail(key, f"unknown key{did_you_mean(key, KEYS)}; known: {', '.join(KEYS)}")
        if (output_type := self.file.values.get("output_type")) not in (None, "generate_until"):
            reason = f"expected generate_until, got {output_type!r}; to weigh labels, use the option probability"
            self.fail("output_type", reason)

    def required(self, key: str) -> Any:
        """Return the value of a key of any type."""
        if (value := self.file.values.get(key)) is None:
            self.fail(key, f"is missing ({KEYS[key]})")
        return value

    def string(self, key: str) -> str:
        """Return the string of a required key."""
        self.required(key)
        return self.optional_string(key) or ""

    def optional_string(self, key: str) -> str | None:
        """Return the string of a key, or None if it is absent."""
        value = self.file.values.get(key)
        if isinstance(value, FunctionName):
            self.fail(key, f"expected a string, got !function {value}")
        if value is not None and not isinstance(value, str):
            self.fail(key, f"expected a string, got {value!r}")
        return value

    def count(self, key: str) -> int | None:
        """Return the non-negative integer of a key, or None if it is absent."""
        value = self.file.values.get(key)
        if value is None:
            return None
        if not is_integer(value):
            self.fail(key, f"expected an integer, got {value!r}")
        if value < 0:
            self.fail(key, f"expected an integer of at least 0, got {value}")
        return value

    def entries(self, key: str, expected: str, *, required: bool = True) -> list[Any]:
        """Return the list of a key; empty if the key is optional and absent."""
        value = self.required(key) if required else self.file.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fail(key, f"expected {expected}, got {value!r}")
        return value

    def strings(self, key: str, *, required: bool = True) -> tuple[str, ...]:
        """Return the list of strings of a key; empty if the key is optional and absent."""
        return self.as_strings(key, self.entries(key, "a list of strings", required=required))

    def as_strings(self, key: str, values: object) -> tuple[str, ...]:
        """Return `values`, which stand under a key, if they are a list of strings."""
        if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
            self.fail(key, f"expected a list of strings, got {values!r} (quote True, False, Yes and No)")
        return tuple(values)

    def mapping(self, key: str, known: Collection[str] = (), *, required: bool = True) -> dict[str, Any]:
        """Return the mapping of a key; empty if the key is optional and absent.

        Args:
            key: The key.
            known: The names that the mapping may have; any if empty.
            required: Whether the key must be there.
        """
        value = self.required(key) if required else self.file.values.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fail(key, f"expected a mapping, got {value!r}")
        for name in value:
            if not isinstance(name, str):
                self.fail(key, f"the key {name!r} is not a string (quote True, False, Yes and No)")
            if known and name not in known:
                self.fail(key, f"unknown key {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
        return value

    def load(self, key: str, value: object) -> Any:
        """Return the object that a `!function` under a key names, or any other value as it is."""
        try:
            return load_object(value)
        except ValueError as error:
            self.fail(key, error)

    def function(self, key: str, *arguments: Any, **named: Any) -> Any:
        """Return the function of a key, which must take these arguments."""
        function = self.load(key, self.required(key))
        self.check_signature(key, function, *arguments, **named)
        return function

    def check_signature(self, key: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        """Refuse an object that cannot be called with these arguments."""
        if not callable(function):
            self.fail(key, f"expected !function MODULE.NAME, got {function!r}")
        try:
            signature = inspect.signature(function)
        except ValueError:  # some built-in functions have no signature
            return
        try:
            signature.bind(*arguments, **named)
        except TypeError as error:
            self.fail(key, f"{getattr(function, '__name__', function)}{signature}: {error}")


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer and not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def named_in(name: object, known: Collection[str]) -> bool:
    """Whether a value of a task file is one of the known names; values that cannot be hashed are not."""
    return isinstance(name, str) and name in known


def version_number(value: object) -> int:
    """Return the version of a task or group as an integer.

    Raises:
        ValueError: It is not a number, or not a plausible one.
    """
    if not is_number(value) or not 0 <= value < 1e6:
        raise ValueError(f"version: expected a number, got {value!r}")
    return int(value)
