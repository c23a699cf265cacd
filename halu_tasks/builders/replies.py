"""What a model's reply to a pipeline says: JSON of a stated shape, or nothing and why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.verdict_reader import own_value, verdict_reader

_OPENS = {"object": "{", "array": "["}
_MOST_STARTS = 200
"""Places in a reply at which JSON is looked for."""

YES, NO, UNCERTAIN = "yes", "no", "uncertain"
_read = verdict_reader(
    {
        YES: ("yes", "true", "是", "对", "正确", "通过", "符合", "evet", "نعم"),
        NO: ("no", "false", "否", "不是", "不对", "错误", "不正确", "不通过", "不符合", "hayır", "hayir", "لا"),
        UNCERTAIN: ("uncertain", "unsure", "unknown", "不确定", "无法判断", "无法确定", "belirsiz", "غير متأكد"),
    }
)


class Verdict(NamedTuple):
    """A verifier's answer: `yes`, `no` or `uncertain`, and its reason."""

    value: str
    reason: str = ""


def read_object(reply: str, *fields: str) -> Answer[dict[str, str]]:
    """The last JSON object of a reply that has all `fields`, each a text that is not blank; others are left out."""
    why = ""
    for found in _values(reply, "object"):
        if isinstance(found, dict):
            texts = {name: found[name].strip() for name in fields if isinstance(found.get(name), str)}
            if len(texts) == len(fields) and all(texts.values()):
                return Answer(texts)
            missing = next(name for name in fields if not texts.get(name))
            why = why or f"no text {missing!r}"
    return Answer(None, why or _nothing(reply, "JSON object"))


def read_objects(reply: str, *fields: str) -> Answer[list[dict[str, str]]]:
    """The last JSON array of objects that all have `fields`, each a text that is not blank; an object alone is an array
    of one."""
    why = ""
    for found in _values(reply, "array"):
        if isinstance(found, list) and found and all(isinstance(each, dict) for each in found):
            rows = [
                {name: str(each[name]).strip() for name in fields if isinstance(each.get(name), str)} for each in found
            ]
            if all(len(row) == len(fields) and all(row.values()) for row in rows):
                return Answer(rows)
            why = why or f"an object without {' or '.join(fields)}"
    alone = read_object(reply, *fields) if not why else Answer[dict[str, str]](None)
    told = alone.reason if alone.reason.startswith("no text") else _nothing(reply, "JSON array of objects")
    return Answer([alone.value]) if alone.value else Answer(None, why or told)


def read_texts(reply: str, number: int | None = None) -> Answer[list[str]]:
    """The last JSON array of texts of a reply, none of them blank; of exactly `number`, where one is given."""
    why = ""
    for found in _values(reply, "array"):
        if isinstance(found, list) and all(isinstance(text, str) for text in found):
            texts = [text.strip() for text in found]
            if all(texts) and number in (None, len(texts)):
                return Answer(texts)
            why = why or (f"{len(texts)} texts for {number}" if all(texts) else "a blank text")
    return Answer(None, why or _nothing(reply, "JSON array of texts"))


def read_own_object(reply: str, *fields: str) -> Answer[dict[str, str]]:
    """The JSON object that a verifier's reply is, begins with or ends in, with all `fields`, each a text that is not
    blank. One that is quoted does not count."""
    found = own_value(reply, "{")
    if not isinstance(found, dict):
        return Answer(None, _nothing(reply, "JSON object"))
    texts = {name: found[name].strip() for name in fields if isinstance(found.get(name), str)}
    missing = next((name for name in fields if not texts.get(name)), None)
    return Answer(None, f"no text {missing!r}") if missing else Answer(texts)


def read_verdicts(reply: str, number: int) -> Answer[list[Verdict]]:
    """The JSON array of `number` objects with `verdict` and, optionally, `reason` that a reply is, begins with or ends
    in."""
    found = own_value(reply, "[")
    if isinstance(found, list):
        verdicts = [verdict for each in found if (verdict := _verdict(each))]
        if len(found) == len(verdicts) == number:
            return Answer(verdicts)
        if found:
            return Answer(None, f"{len(verdicts)} verdicts for {number}")
    if number == 1 and (one := read_verdict(reply)).value:
        return Answer([one.value])
    return Answer(None, _nothing(reply, "JSON array of verdicts"))


def read_verdict(reply: str) -> Answer[Verdict]:
    """The verdict that a verifier's reply states, and its reason."""
    found = _read(reply)
    return Answer(Verdict(found.value, found.reason)) if found.value else Answer(None, found.reason)


def read_choice(reply: str, number: int) -> Answer[int]:
    """Which of `number` texts, counted from 1, a reply chooses: the `choice` of the JSON object that it is, begins with
    or ends in, else a reply that is a number and nothing more."""
    found = own_value(reply, "{")
    said = found["choice"] if isinstance(found, dict) and "choice" in found else strip_reasoning(reply) or ""
    text = str(said)[:100].strip(" \t\r\n*\"'`.。")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        return Answer(None, _nothing(reply, "choice"))
    return Answer(int(text)) if 1 <= int(text) <= number else Answer(None, "a choice that there is none of")


def _verdict(found: Any) -> Verdict | None:
    if isinstance(found, str):
        found = {"verdict": found}
    value = _read.label(found.get("verdict")) if isinstance(found, dict) else None
    reason = found.get("reason") if isinstance(found, dict) else ""
    return Verdict(value, reason.strip() if isinstance(reason, str) else "") if value else None


def _values(reply: str, kind: str) -> Iterator[Any]:
    """The JSON values in a reply behind its reasoning, from the last one on; what lies inside another value comes after
    it."""
    text = strip_reasoning(reply)
    if text is None:
        return
    decoder = json.JSONDecoder()
    found: list[tuple[int, int, Any]] = []
    for start in [match.start() for match in re.finditer(re.escape(_OPENS[kind]), text)][-_MOST_STARTS:]:
        try:
            value, end = decoder.raw_decode(text, start)
            # escapes can make halves of characters, which are no text
            json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            continue
        found.append((start, end, value))
    outer: list[tuple[int, int, Any]] = []
    for start, end, value in found:
        if not outer or start >= outer[-1][1]:
            outer.append((start, end, value))
    yield from (value for _, _, value in reversed(outer))
    yield from (value for each in reversed(found) if each not in outer for value in [each[2]])


def _nothing(reply: str, wanted: str) -> str:
    if not reply.strip():
        return "empty"
    if strip_reasoning(reply) is None:
        return "unclosed reasoning"
    return f"no {wanted}"
