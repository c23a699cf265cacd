"""Ask for answers as JSON (option `structured`): the schema, the instruction, and replies in that form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import Prompt
from halu_tasks.tasks.task import Decoding, Task

_MORE_TOKENS = 48  # for braces, quotes and a code block

_INSTRUCTION = (
    "Whatever format is asked for above, write your reply as one JSON object and nothing else, with {keys}{answer}."
)


def check_structured(task: Task, options: Options) -> None:
    """Check that `structured` can be combined with the other options.

    Raises:
        UsageError: It cannot.
    """
    if options.scoring == "paper":
        raise UsageError("option structured: scoring=paper reads replies as the authors do, without JSON; use strict")
    if options.probability and "probability" in task.task_options:
        raise UsageError("option structured: an answer that is a probability has no text; leave out one of the two")


def structured_decoding(decoding: Decoding) -> Decoding:
    """Return a decoding with room for the JSON around an answer."""
    return replace(decoding, max_tokens=decoding.max_tokens + _MORE_TOKENS)


def structured_reply(task: Task, options: Options, reply: str) -> str:
    """Return a reply as JSON; where an explanation is asked for, the whole reply is it."""
    explanation = {"explanation": reply} if _explains(task, options) else {}
    return json.dumps({**explanation, "answer": task.answer.json_value(reply)}, ensure_ascii=False)


def _explains(task: Task, options: Options) -> bool:
    return options.cot or task.answer.explains


def structured_prompt(prompt: Prompt, task: Task, options: Options) -> Prompt:
    """Return a prompt that ends with the instruction to answer in JSON."""
    explains = _explains(task, options)
    keys = 'the keys "explanation", which gives your reasons, and "answer", which is ' if explains else ""
    asked = _INSTRUCTION.format(keys=keys or 'the key "answer", which is ', answer=task.answer.json_meaning(options))
    return {**prompt, "user": f"{prompt['user']}\n\n{asked}"}


def response_schema(task: Task, options: Options) -> Mapping[str, Any]:
    """Return the JSON schema of replies."""
    properties = {"explanation": {"type": "string"}} if _explains(task, options) else {}
    properties["answer"] = task.answer.json_schema(options)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
