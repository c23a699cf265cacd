"""Find the JSON objects in a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from halu_tasks.scorers.reading.reasoning import strip_reasoning

_DECODER = json.JSONDecoder()
_MOST = 100
_COMMA = re.compile(r",(?=\s*[}\]])")


def objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a text that are not part of another, at most 100; trailing commas are accepted."""
    return list(_objects(text)) if "{" in text else []


def structured_reply(text: str) -> dict[str, Any]:
    """Return the object of a reply that is one JSON object with the key `answer`; else an empty one."""
    plain = text.strip().removeprefix("```json").strip("`\n ")
    found = objects(plain) if plain[:1] == "{" and plain[-1:] == "}" else []
    return found[0] if len(found) == 1 and "answer" in found[0] else {}


def structured_answer(text: str) -> str:
    """Return the answer of a reply that is one JSON object, if it is a string; else an empty string."""
    answer = structured_reply(strip_reasoning(text) or "").get("answer", "")
    return answer if isinstance(answer, str) else ""


def _objects(text: str) -> Iterator[dict[str, Any]]:
    start = text.find("{")
    for _ in range(_MOST):
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            closing = text.find("}", start)
            try:
                value, end = json.loads(_COMMA.sub("", _quoted(text[start : closing + 1]))), closing + 1
            except (ValueError, RecursionError):
                value, end = None, start + 1
        if isinstance(value, dict):
            yield value
        start = text.find("{", end)


def _quoted(text: str) -> str:
    """Return the text of an object as Python or a model that is not strict writes it, as JSON."""
    if len(text) > 5_000:
        return ""
    text = re.sub(r"[“”„]", '"', text).replace("：", ":").replace("，", ",")
    if "'" in text and '"' not in text:
        text = text.replace("'", '"')
    return re.sub(r":\s*(True|False|None)\b", lambda match: f': "{match[1]}"', text)
