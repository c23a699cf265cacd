"""The prompts of a task: its wordings, their placeholders, and fixed replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import JinjaText, render_jinja
from halu_tasks.tasks.definition.keys import KEYS, TaskKeys
from halu_tasks.tasks.task import Wording
from halu_tasks.tasks.yaml_files import FunctionName

_PARTS = {"description": "system", "doc_to_text": "user", "chain_of_thought": "cot"}
"""The keys of a prompt in task files, and the parts of a `Prompt` that they give."""


def read_wordings(keys: TaskKeys, fields: Sequence[str], options: Sequence[str]) -> tuple[Wording, ...]:
    """Read the prompts of a task, the usual one first.

    Args:
        keys: The keys of the task file.
        fields: The fields that placeholders may name.
        options: The task's options, which `wordings` may depend on.
    """
    prompt = {
        part: _template(keys, name, part, keys.file.values[name], fields)
        for name, part in _PARTS.items()
        if keys.file.values.get(name) is not None
    }
    if "user" not in prompt:
        keys.fail("doc_to_text", f"is missing ({KEYS['doc_to_text']})")
    entries = keys.entries("wordings", "a list", required=False)
    return (Wording({}, prompt), *(_wording(keys, entry, prompt, fields, options) for entry in entries))


def _wording(
    keys: TaskKeys, entry: Any, usual: Mapping[str, str], fields: Sequence[str], options: Sequence[str]
) -> Wording:
    """Read an entry of `wordings`, which changes parts of the usual prompt under the options in `when`."""
    if not isinstance(entry, dict) or not isinstance(when := entry.get("when"), dict):
        keys.fail("wordings", f"expected a mapping with 'when' and {', '.join(_PARTS)}, got {entry!r}")
    if not when:
        keys.fail("wordings", "when: lacks an option")
    for name, value in when.items():
        if name not in options:
            keys.fail("wordings", f"when: {name!r} is not among the task_options")
        _check_option(keys, name, value)
    if unknown := sorted(set(entry) - {"when", *_PARTS}):
        keys.fail("wordings", f"unknown key {unknown[0]!r}; known: when, {', '.join(_PARTS)}")
    changes = {
        part: _template(keys, "wordings", part, entry[name], fields)
        for name, part in _PARTS.items()
        if entry.get(name) is not None
    }
    return Wording(when, {**usual, **changes})


def _check_option(keys: TaskKeys, name: str, value: Any) -> None:
    try:
        Options(**{name: value})
    except UsageError as error:
        keys.fail("wordings", error)


def _template(keys: TaskKeys, key: str, part: str, text: Any, fields: Sequence[str]) -> JinjaText:
    """Check a part of a prompt: a template over the fields of a case.

    Args:
        keys: The keys of the task file.
        key: The key that the template stands under.
        part: `system`, `user` or `cot`; a user text may not be empty or end in white space.
        text: The template.
        fields: The fields that placeholders may name.
    """
    if not isinstance(text, str) or isinstance(text, FunctionName):
        keys.fail(key, f"expected a string, a template over the fields, got {text!r}")
    if part == "user" and (not text.strip() or text != text.rstrip()):
        keys.fail(key, "is empty or ends in white space")
    check_placeholders(keys, key, text, fields)
    return JinjaText(text)


def check_placeholders(keys: TaskKeys, key: str, text: str, known: Sequence[str], expected: str = "a field") -> None:
    """Refuse a template with a placeholder that has no value.

    Args:
        keys: The keys of the task file.
        key: The key that the template stands under.
        text: The template.
        known: The names that placeholders may have.
        expected: What these are, with the article.
    """
    try:
        unknown = sorted(JinjaText(text).placeholders() - set(known))
    except ValueError as error:
        keys.fail(key, error)
    if unknown:
        close = did_you_mean(unknown[0], known)
        plural = f"{expected.partition(' ')[2]}s"
        keys.fail(key, f"{{{{{unknown[0]}}}}} is not {expected}{close}; {plural}: {', '.join(known) or 'none'}")


def read_reply(keys: TaskKeys, key: str, default: str) -> Callable[[Item], str]:
    """Read a reply that is made from an item: a template over its target, or a function of the item.

    Only the target and the gold of an item may be used, since items of logs have no fields.

    Args:
        keys: The keys of the task file.
        key: `doc_to_target` or `baseline`.
        default: The template if the key is absent.
    """
    value = keys.file.values.get(key, default)
    if isinstance(value, FunctionName) or callable(value):
        function: Callable[[Item], str] = keys.function(key, None)
        return function
    if not isinstance(value, str):
        keys.fail(key, f"expected a string (quoted) or !function MODULE.NAME, got {value!r}")
    check_placeholders(keys, key, value, ("target",))
    if value == "{{target}}":
        return lambda item: item.target
    return lambda item: render_jinja(value, {"target": item.target})
