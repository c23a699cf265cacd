"""Find the JSON values in a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import yaml

from halu_tasks.core.files import yaml_loader

_MOST = 100
_COMMA = re.compile(r",(?=\s*[}\]])")
# what may stand on the line before a list or an object that is not JSON, and after it
_OPENING = re.compile(r"(?:[^\n\[{]{0,80}[:=])?[ \t`*_>-]*")
_BEHIND = r"[ \t`*_.,;]*(?:\n|\Z)"
_CLOSING = re.compile(rf"[\]}}](?={_BEHIND})")
_DELIMITER = re.compile(r"(?:(?<=[\[{,:])|(?<=[\[{,:]\s))“|”(?=\s?[\]},:])")
_ENDS_LINE = re.compile(_BEHIND)
_MOST_LENIENT, _LONGEST_LENIENT = 20, 20_000


class JsonValue(NamedTuple):
    """A JSON value in a text, and its place."""

    content: Any
    start: int
    end: int


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; one that is given twice with different values is None."""
    members: dict[str, Any] = {}
    for name, value in pairs:
        members[name] = value if members.get(name, value) == value else None
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_members, strict=False)


def structured_reply(text: str) -> dict[str, Any]:
    """Return the object of a reply that is one JSON object with the key `answer`; else an empty one."""
    plain = text.strip().removeprefix("```json").strip("`\n ")
    objects = [*values(plain, "{")] if plain[:1] == "{" and plain[-1:] == "}" else []
    return objects[0].content if len(objects) == 1 and "answer" in objects[0].content else {}


def structured_answer(text: str) -> str:
    """Return the answer of a reply that is one JSON object, if it is a string; else an empty string."""
    answer = structured_reply(text).get("answer", "")
    return answer if isinstance(answer, str) else ""


def values(text: str, opens: str = "[{") -> Iterator[JsonValue]:
    """Yield the objects ("{") or arrays ("[") of a text that are not part of another, at most 100.

    Trailing commas are accepted. What begins a line, or stands behind its heading, and ends one may also be written as
    in Python or YAML.
    """
    opening = re.compile(f"[{re.escape(opens)}]")
    opening_match = opening.search(text)
    tries = _MOST_LENIENT
    for _ in range(_MOST):
        if opening_match is None:
            return
        start = opening_match.start()
        value: Any = None
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
            closing = text.find("}" if text[start] == "{" else "]", start)
            try:
                value = _DECODER.decode(_COMMA.sub("", _quoted(text[start : closing + 1])))
                end = closing + 1
            except (ValueError, RecursionError):
                if tries and _begins_line(text, start):
                    tries -= 1
                    value, end = _lenient(text, start)
        # a set of Python is a list, which may not be asked for
        if isinstance(value, (dict if opens == "{" else list if opens == "[" else (dict, list))):
            yield JsonValue(value, start, end)
        opening_match = opening.search(text, end)


def stands_alone(text: str, value: JsonValue) -> bool:
    """Return whether a value begins a line, or stands behind its heading, and ends one."""
    return bool(_ENDS_LINE.match(text, value.end) and _begins_line(text, value.start))


def _begins_line(text: str, start: int) -> bool:
    return bool(_OPENING.fullmatch(text, text.rfind("\n", 0, start) + 1, start))


def _lenient(text: str, start: int) -> tuple[Any, int]:
    """Return the list or object at a place as Python or YAML writes it, and its end; None if there is none."""
    for closing in islice(_CLOSING.finditer(text, start, start + _LONGEST_LENIENT), 10):
        source = text[start : closing.end()]
        if "&" in source and "*" in source:  # YAML would repeat what is between them
            break
        source = _DELIMITER.sub('"', source)
        if source[0] == "{" and ":" not in source:
            source = f"[{source[1:-1]}]"
        try:
            return yaml_loader(source, "reply", "BaseLoader").get_single_data(), closing.end()
        except (yaml.YAMLError, RecursionError, ValueError):
            continue
    return None, start + 1


def _quoted(text: str) -> str:
    """Return the text of an object as Python or a model that is not strict writes it, as JSON."""
    if len(text) > 5_000:
        return ""
    text = re.sub(r"[“”„]", '"', text).replace("：", ":").replace("，", ",")
    if "'" in text and '"' not in text:
        text = text.replace("'", '"')
    return re.sub(r":\s*(True|False|None)\b", lambda match: f': "{match[1]}"', text)
