"""Reading what models reply to pipelines: JSON of an expected shape, or the reason why it could not be read."""

import json
import re
from collections.abc import Iterator
from typing import Any

from halu_tasks.builders.pipeline import Fault
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.fields import values
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.verdicts import VerdictReader, own_value

YES, NO, UNCERTAIN = "yes", "no", "uncertain"
UNREADABLE = "unreadable verdict"
"""How the reason of a fault begins if the verifier's reply cannot be read."""
_read = VerdictReader(
    {
        YES: ("yes", "true", "是", "对", "正确", "通过", "符合", "evet", "نعم"),
        NO: ("no", "false", "否", "不是", "不对", "错误", "不正确", "不通过", "不符合", "hayır", "hayir", "لا"),
        UNCERTAIN: ("uncertain", "unsure", "unknown", "不确定", "无法判断", "无法确定", "belirsiz", "غير متأكد"),
    }
)


def read_object(reply: str, *fields: str, own: bool = False) -> Answer[dict[str, str]]:
    """Read the last JSON object that has all `fields` as nonblank strings; other fields are dropped.

    Args:
        reply: The reply.
        fields: Names of the fields.
        own: Only read the object that is the whole reply, or its beginning or end, as a verifier's reply may quote
            others.
    """
    problem = ""
    for value in [own_value(reply, "{")] if own else _values(reply, "{"):
        texts = _strings(value, fields)
        if len(texts) == len(fields):
            return Answer(texts)
        if isinstance(value, dict):
            problem = problem or f"no string {next(name for name in fields if name not in texts)!r}"
    return Answer(None, problem or _unreadable(reply, "JSON object"))


def read_objects(reply: str, *fields: str) -> Answer[list[dict[str, str]]]:
    """Read the last JSON array of objects that all have `fields` as nonblank strings.

    A single object counts as an array of one.
    """
    problem = ""
    for value in _values(reply, "["):
        if value and all(isinstance(each, dict) for each in value):
            rows = [_strings(each, fields) for each in value]
            if all(len(row) == len(fields) for row in rows):
                return Answer(rows)
            problem = problem or f"an object without {' or '.join(fields)}"
    if problem:
        return Answer(None, problem)
    single = read_object(reply, *fields)
    if single.value:
        return Answer([single.value])
    return Answer(None, single.reason.replace("no JSON object", "no JSON array of objects"))


def read_texts(reply: str, number: int | None = None) -> Answer[list[str]]:
    """Read the last JSON array of nonblank strings; of exactly `number` of them, if given."""
    problem = ""
    for value in _values(reply, "["):
        if all(isinstance(text, str) for text in value):
            texts = [text.strip() for text in value]
            if all(texts) and number in (None, len(texts)):
                return Answer(texts)
            problem = problem or (f"{len(texts)} strings instead of {number}" if all(texts) else "a blank string")
    return Answer(None, problem or _unreadable(reply, "JSON array of strings"))


def read_choice(reply: str, number: int) -> Answer[int]:
    """Read which of `number` options, counted from 1, a reply chooses.

    This is the field `choice` of a JSON object that is the whole reply, or its beginning or end; otherwise a reply
    that is nothing but a number.
    """
    value = own_value(reply, "{")
    choice = value["choice"] if isinstance(value, dict) and "choice" in value else ReplyText(reply).text
    text = str(choice)[:100].strip(" \t\r\n*\"'`.。")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        return Answer(None, _unreadable(reply, "choice"))
    return Answer(int(text)) if 1 <= int(text) <= number else Answer(None, "a choice out of range")


def _strings(value: Any, fields: tuple[str, ...]) -> dict[str, str]:
    """Return those fields of an object that are nonblank strings."""
    members = value if isinstance(value, dict) else {}
    texts = {name: members[name].strip() for name in fields if isinstance(members.get(name), str)}
    return {name: text for name, text in texts.items() if text}


def _values(reply: str, opens: str) -> Iterator[Any]:
    """Yield the JSON objects or arrays of a reply after its reasoning, last one first; nested ones after all others."""
    inside: list[Any] = [value.content for value in values(ReplyText(reply).text, opens)][::-1]
    while inside:
        for value in inside:
            if isinstance(value, dict if opens == "{" else list) and _is_text(value):
                yield value
        members = (value.values() if isinstance(value, dict) else value for value in inside)
        inside = [member for each in members for member in each if isinstance(member, dict | list)]


def _is_text(value: Any) -> bool:
    """Whether a value can be written; escapes can decode to lone surrogates."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _unreadable(reply: str, expected: str) -> str:
    """Return why nothing could be read from a reply."""
    missing = ReplyText(reply).missing
    return missing.reason if missing else f"no {expected}"


# --- verdicts -------------------------------------------------------------------------------------


def read_verdict(reply: str) -> Answer[str]:
    """Read the verdict (`yes`, `no` or `uncertain`) that a verifier's reply states; `reason` is the verifier's own."""
    return Answer(*_read(reply)[:2])


def read_verdicts(reply: str, number: int) -> list[Answer[str]]:
    """Read the JSON array of `number` verdicts that is the whole reply, or its beginning or end.

    Each verdict is an object with `verdict` and optionally `reason`. If the array cannot be read, none of the answers
    has a value, and all have the reason.
    """
    value = own_value(reply, "[")
    if isinstance(value, list) and value:
        verdicts = [verdict for each in value if (verdict := _verdict(each)).value]
        if len(value) == len(verdicts) == number:
            return verdicts
        return [Answer(None, f"{len(verdicts)} verdicts instead of {number}")] * number
    if number == 1 and (single := read_verdict(reply)).value:
        return [single]
    return [Answer(None, _unreadable(reply, "JSON array of verdicts"))] * number


def _verdict(value: Any) -> Answer[str]:
    members = value if isinstance(value, dict) else {"verdict": value}
    reason = members.get("reason")
    return Answer(_read.label(members.get("verdict")), reason.strip() if isinstance(reason, str) else "")


def objections(check: str, verdict: Answer[str], denied: str, detail: str, wanted: str = YES) -> tuple[Fault, ...]:
    """Return the fault that a verifier's verdict states; empty if it is the wanted one.

    Args:
        check: Name of the check.
        verdict: The verdict.
        denied: The reason if it is the opposite of what is wanted.
        detail: What was verified.
        wanted: The verdict that passes, `yes` or `no`.
    """
    if verdict.value == wanted:
        return ()
    if verdict.value is None:
        return (Fault(check, f"{UNREADABLE}: {verdict.reason}", detail),)
    reason = UNCERTAIN if verdict.value == UNCERTAIN else denied
    return (Fault(check, reason, f"{detail}\nverifier: {verdict.reason}".lstrip("\n")),)
