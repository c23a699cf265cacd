"""Reading what models reply to pipelines: JSON of an expected shape, or the reason why it could not be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.verdicts import VerdictReader, own_value

_OPENS = {"object": "{", "array": "["}
_MOST_STARTS = 200
"""Maximum number of positions in a reply to try JSON decoding at, counted from the end."""

YES, NO, UNCERTAIN = "yes", "no", "uncertain"
_read = VerdictReader(
    {
        YES: ("yes", "true", "是", "对", "正确", "通过", "符合", "evet", "نعم"),
        NO: ("no", "false", "否", "不是", "不对", "错误", "不正确", "不通过", "不符合", "hayır", "hayir", "لا"),
        UNCERTAIN: ("uncertain", "unsure", "unknown", "不确定", "无法判断", "无法确定", "belirsiz", "غير متأكد"),
    }
)


class Verdict(NamedTuple):
    """A verifier's answer (`yes`, `no` or `uncertain`) and its reason."""

    value: str
    reason: str = ""


def read_object(reply: str, *fields: str) -> Answer[dict[str, str]]:
    """Read the last JSON object that has all `fields` as nonblank strings; other fields are dropped."""
    problem = ""
    for value in _values(reply, "object"):
        if isinstance(value, dict):
            texts = {name: value[name].strip() for name in fields if isinstance(value.get(name), str)}
            if len(texts) == len(fields) and all(texts.values()):
                return Answer(texts)
            missing = next(name for name in fields if not texts.get(name))
            problem = problem or f"no string {missing!r}"
    return Answer(None, problem or _unreadable(reply, "JSON object"))


def read_objects(reply: str, *fields: str) -> Answer[list[dict[str, str]]]:
    """Read the last JSON array of objects that all have `fields` as nonblank strings.

    A single object counts as an array of one.
    """
    problem = ""
    for value in _values(reply, "array"):
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            rows = [
                {name: str(each[name]).strip() for name in fields if isinstance(each.get(name), str)} for each in value
            ]
            if all(len(row) == len(fields) and all(row.values()) for row in rows):
                return Answer(rows)
            problem = problem or f"an object without {' or '.join(fields)}"
    single = read_object(reply, *fields) if not problem else Answer[dict[str, str]](None)
    if single.value:
        return Answer([single.value])
    unread = single.reason if single.reason.startswith("no string") else _unreadable(reply, "JSON array of objects")
    return Answer(None, problem or unread)


def read_texts(reply: str, number: int | None = None) -> Answer[list[str]]:
    """Read the last JSON array of nonblank strings; of exactly `number` of them, if given."""
    problem = ""
    for value in _values(reply, "array"):
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            texts = [text.strip() for text in value]
            if all(texts) and number in (None, len(texts)):
                return Answer(texts)
            problem = problem or (f"{len(texts)} strings instead of {number}" if all(texts) else "a blank string")
    return Answer(None, problem or _unreadable(reply, "JSON array of strings"))


def read_own_object(reply: str, *fields: str) -> Answer[dict[str, str]]:
    """Read the JSON object that is a verifier's whole reply, or its beginning or end, with all `fields` as strings.

    The strings must not be blank. Quoted objects do not count.
    """
    value = own_value(reply, "{")
    if not isinstance(value, dict):
        return Answer(None, _unreadable(reply, "JSON object"))
    texts = {name: value[name].strip() for name in fields if isinstance(value.get(name), str)}
    missing = next((name for name in fields if not texts.get(name)), None)
    return Answer(None, f"no string {missing!r}") if missing else Answer(texts)


def read_verdicts(reply: str, number: int) -> Answer[list[Verdict]]:
    """Read the JSON array of `number` verdicts that is the whole reply, or its beginning or end.

    Each verdict is an object with `verdict` and optionally `reason`.
    """
    value = own_value(reply, "[")
    if isinstance(value, list):
        verdicts = [verdict for each in value if (verdict := _verdict(each))]
        if len(value) == len(verdicts) == number:
            return Answer(verdicts)
        if value:
            return Answer(None, f"{len(verdicts)} verdicts instead of {number}")
    if number == 1 and (single := read_verdict(reply)).value:
        return Answer([single.value])
    return Answer(None, _unreadable(reply, "JSON array of verdicts"))


def read_verdict(reply: str) -> Answer[Verdict]:
    """Read the verdict that a verifier's reply states, and its reason."""
    answer = _read(reply)
    return Answer(Verdict(answer.value, answer.reason)) if answer.value else Answer(None, answer.reason)


def read_choice(reply: str, number: int) -> Answer[int]:
    """Read which of `number` options, counted from 1, a reply chooses.

    This is the field `choice` of a JSON object that is the whole reply, or its beginning or end; otherwise a reply
    that is nothing but a number.
    """
    value = own_value(reply, "{")
    choice = value["choice"] if isinstance(value, dict) and "choice" in value else strip_reasoning(reply) or ""
    text = str(choice)[:100].strip(" \t\r\n*\"'`.。")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        return Answer(None, _unreadable(reply, "choice"))
    return Answer(int(text)) if 1 <= int(text) <= number else Answer(None, "a choice out of range")


def _verdict(value: Any) -> Verdict | None:
    if isinstance(value, str):
        value = {"verdict": value}
    label = _read.label(value.get("verdict")) if isinstance(value, dict) else None
    reason = value.get("reason") if isinstance(value, dict) else ""
    return Verdict(label, reason.strip() if isinstance(reason, str) else "") if label else None


def _values(reply: str, kind: str) -> Iterator[Any]:
    """Yield the JSON values of a reply after its reasoning, last one first; nested values come after all others."""
    text = strip_reasoning(reply)
    if text is None:
        return
    decoder = json.JSONDecoder()
    decoded: list[tuple[int, int, Any]] = []
    for start in [match.start() for match in re.finditer(re.escape(_OPENS[kind]), text)][-_MOST_STARTS:]:
        try:
            value, end = decoder.raw_decode(text, start)
            # escapes can decode to lone surrogates, which are not valid text
            json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            continue
        decoded.append((start, end, value))
    outer: list[tuple[int, int, Any]] = []
    for start, end, value in decoded:
        if not outer or start >= outer[-1][1]:
            outer.append((start, end, value))
    yield from (value for _, _, value in reversed(outer))
    yield from (value for each in reversed(decoded) if each not in outer for value in [each[2]])


def _unreadable(reply: str, expected: str) -> str:
    """Return why nothing could be read from a reply."""
    if not reply.strip():
        return "empty"
    if strip_reasoning(reply) is None:
        return "unclosed reasoning"
    return f"no {expected}"
