"""Read a prompt from a file of the authors, and write it as a task file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import PLACEHOLDER, Prompt
from halu_tasks.tasks.published import prompts_for
from halu_tasks.tasks.task import Task

_HEADING = re.compile(r"^[ \t]*(system|user)(?:[ \t]+(?:prompt|message|text))?[ \t]*:?[ \t]*$", re.IGNORECASE | re.M)
_LABEL = re.compile(r"\s*Prompt:\s*")
_JINJA = re.compile(r"\{(?=[{%#])")


def read_prompt(task: Task, path: Path) -> Prompt:
    """Read the prompt of a task from a file of its authors.

    Args:
        task: A packaged task.
        path: JSON Lines whose rows have `instruction` and `input`, or a text. The text is a user text, or has a
            system and a user text below lines with these words. Its placeholders are `{name}`; a user text without
            any is an instruction and precedes the fields of the package's prompt.

    Returns:
        The system and the user text, with the task's fields as placeholders in Jinja.

    Raises:
        UsageError: The file cannot be read, or lacks a field or has one that the task does not.
    """
    try:
        text = path.expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if path.suffix in (".json", ".jsonl"):
        system, user = _of_rows(task, path, text)
    else:
        system, user = _sections(path, text)
    renamed = {name: own for published in prompts_for(task.name) for name, own in published.fields.items()}
    return {"system": _template(task, path, system, renamed), "user": _with_fields(task, path, user, renamed)}


def _sections(path: Path, text: str) -> tuple[str, str]:
    """Return the system and the user text of a file."""
    before, *parts = _HEADING.split(text)
    if not parts:
        return "", _LABEL.sub("", text, count=1) if _LABEL.match(text) else text
    if before.strip():
        raise UsageError(f"{path}:1: there is text before the line {parts[0]!r}; remove it")
    names = [name.lower() for name in parts[::2]]
    if sorted(names) not in (["system", "user"], ["user"]):
        raise UsageError(f"{path}: expected the lines 'System Prompt' and 'User Prompt' once each, got {names}")
    sections = dict(zip(names, parts[1::2], strict=True))
    return sections.get("system", "").strip(), sections["user"]


def _of_rows(task: Task, path: Path, text: str) -> tuple[str, str]:
    """Return the instruction of all rows, and the form of the first row's input."""
    rows = list(_rows(path, text))
    instructions = {row["instruction"] for row in rows}
    if len(instructions) != 1:
        raise UsageError(f"{path}: expected one 'instruction' for all rows, got {len(instructions)}")
    (item,) = task.data.items(rows[:1], Options())
    user = rows[0]["input"]
    for name in task.prompts.fields:
        if user.count(item.fields.get(name, "\0")) != 1:
            raise UsageError(f"{path}:1: expected the field {name!r} once in 'input'")
        user = user.replace(item.fields[name], f"{{{name}}}")
    return instructions.pop(), user


def _rows(path: Path, text: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in ("instruction", "input")):
            raise UsageError(f"{path}:{number}: expected a JSON object with the strings 'instruction' and 'input'")
        yield row


def _template(task: Task, path: Path, text: str, renamed: dict[str, str]) -> str:
    """Return a text as a template of a task file."""

    def placeholder(match: re.Match[str]) -> str:
        name = renamed.get(match[1], match[1])
        if name not in task.prompts.fields:
            close = did_you_mean(name, task.prompts.fields)
            raise UsageError(f"{path}: {{{match[1]}}} is not a field{close}; fields: {', '.join(task.prompts.fields)}")
        return f"{{{{{name}}}}}"

    return PLACEHOLDER.sub(placeholder, _JINJA.sub("{{ '{' }}", text)).strip()


def _with_fields(task: Task, path: Path, text: str, renamed: dict[str, str]) -> str:
    """Return the user text as a template; one without placeholders is an instruction before the package's fields."""
    template = _template(task, path, text, renamed)
    if not template:
        raise UsageError(f"{path}: the user text is empty")
    if PLACEHOLDER.search(text):
        return template
    packaged = task.prompts.wording(Options()).prompt
    if "system" not in packaged:
        fields = ", ".join(f"{{{name}}}" for name in task.prompts.fields)
        raise UsageError(f"{path}: the text has no placeholder; {task.name} has the fields {fields}")
    return f"{template}\n\n{packaged['user']}"


def as_task_file(task: Task, prompt: Prompt, name: str, comment: str) -> str:
    """Return the text of a task file that asks a task with another prompt.

    Args:
        task: The packaged task.
        prompt: The system and the user text, as templates.
        name: The name of the new task.
        comment: The first line.
    """
    values = {
        "include": str(task.file.path),
        "task": name,
        "description": prompt["system"],
        "doc_to_text": prompt["user"],
    }
    body = "".join(
        f"{key}: {_block(value)}\n" if key in ("description", "doc_to_text") and value else _plain(key, value)
        for key, value in values.items()
    )
    return f"# {comment}\n{body}"


def _block(text: str) -> str:
    """Return a string as a YAML block that is indented by two."""
    return "|2-\n" + "\n".join(f"  {line}" if line else "" for line in text.splitlines())


def _plain(key: str, value: str) -> str:
    return str(yaml.safe_dump({key: value}, allow_unicode=True, width=10_000))
