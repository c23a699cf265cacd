"""Find the JSON values in a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from halu_tasks.scorers.reading.reasoning import strip_reasoning

_MOST = 100
_COMMA = re.compile(r",(?=\s*[}\]])")


class JsonValue(NamedTuple):
    """A JSON value in a text, and its place."""

    content: Any
    start: int
    end: int


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; one that is given twice with different values is None."""
    members = dict(pairs)
    return {name: members[name] if all(members[n] == v for n, v in pairs if n == name) else None for name in members}


_DECODER = json.JSONDecoder(object_pairs_hook=_members, strict=False)


def structured_reply(text: str) -> dict[str, Any]:
    """Return the object of a reply that is one JSON object with the key `answer`; else an empty one."""
    plain = text.strip().removeprefix("```json").strip("`\n ")
    found = [*values(plain, "{")] if plain[:1] == "{" and plain[-1:] == "}" else []
    return found[0].content if len(found) == 1 and "answer" in found[0].content else {}


def structured_answer(text: str) -> str:
    """Return the answer of a reply that is one JSON object, if it is a string; else an empty string."""
    answer = structured_reply(strip_reasoning(text) or "").get("answer", "")
    return answer if isinstance(answer, str) else ""


def values(text: str, opens: str) -> Iterator[JsonValue]:
    """Yield the objects ("{") or arrays ("[") of a text that are not part of another, at most 100.

    Trailing commas are accepted.
    """
    start = text.find(opens)
    for _ in range(_MOST):
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            closing = text.find("}" if opens == "{" else "]", start)
            try:
                value, end = _DECODER.decode(_COMMA.sub("", _quoted(text[start : closing + 1]))), closing + 1
            except (ValueError, RecursionError):
                value, end = None, start + 1
        if isinstance(value, dict | list):
            yield JsonValue(value, start, end)
        start = text.find(opens, end)


def _quoted(text: str) -> str:
    """Return the text of an object as Python or a model that is not strict writes it, as JSON."""
    if len(text) > 5_000:
        return ""
    text = re.sub(r"[“”„]", '"', text).replace("：", ":").replace("，", ",")
    if "'" in text and '"' not in text:
        text = text.replace("'", '"')
    return re.sub(r":\s*(True|False|None)\b", lambda match: f': "{match[1]}"', text)
