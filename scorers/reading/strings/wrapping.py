"""A reply without what is wrapped around its answer: code fences, tags, LaTeX boxes, a second question."""

from __future__ import annotations

import re

from halu_tasks.scorers.reading.strings.sections import Kind
from halu_tasks.scorers.reading.strings.structured import fits

_LONGEST = 100_000
_FENCE = re.compile(r"^[ \t>]*(?:`{3,}|~{3,})[ \t]*\w{0,20}[ \t]*$", re.MULTILINE)
_BREAK = re.compile(r"(?<=[\w.)\"])[ \t]?<br ?/?>[ \t]?(?=[\w\"(])", re.IGNORECASE)
_END = re.compile(r"</s>|<\|[a-z_]{1,30}\|>|<(?:eos|end_of_turn)>")
_BOXED = re.compile(r"\$*\\boxed\{(?:\\text\{)?([^{}\n]{1,500})\}{1,2}\$*")
_TAG = re.compile(r"<([A-Za-z]\w{0,30})>([^<>]{1,5000})</\1>")
_MASK_TAG = re.compile(r"mask_?\d*", re.IGNORECASE)
_CROSS = re.compile(r"^[-*\s\d.]{0,8}[❌✗✘✖]", re.MULTILINE)
_CHECK = re.compile(r"^[-*\s\d.]{0,8}[✅✓✔☑].*\n?", re.MULTILINE)
_ANSWER = re.compile(r"\s*\**(?:answer|output|result|response)\**:\**[ \t]*(?=\S)", re.IGNORECASE)
_QUESTION = re.compile(r"(?<=\n)[ \t]{0,20}(?:#+ *|\*\*)?(?:Task:\s*)?Question(?:\*\*)?:")


def plain_text(text: str, kind: Kind) -> str:
    """Return the reply as plain lines: the content of tags named after what was asked for, of fences and of boxes.

    Where wrong things stand under a cross, lines under a tick are left out. A base model goes on with the next
    question of the prompt's pattern: that part is no answer to this one.
    """
    if len(text) > _LONGEST:
        return text
    if boxed := _BOXED.findall(text):
        return "\n".join(boxed)
    text = _END.sub("", text)
    if "\n" not in text.strip():
        text = text.replace("\\n", "\n")
    text = _ANSWER.sub("", text, count=1) if _ANSWER.match(text) else text
    text = _FENCE.sub("", _BREAK.sub("\n", text))
    text = _untagged(text, kind)
    if kind != "replacement" and _CROSS.search(text):
        text = _CHECK.sub("", text)
    return _first_turn(text)


def _untagged(text: str, kind: Kind) -> str:
    """Return what stands in tags such as <answer> or <wrong_entity>, one a line; the text itself if there are none."""
    tagged = [(_fitting(tag[1], kind), tag[2].strip("\n")) for tag in _TAG.finditer(text)]
    best = max((fit for fit, _ in tagged), default=0)
    found = [content for fit, content in tagged if fit == best]
    if best < 1 or all(content.strip().isdigit() for content in found):
        return text
    return "\n".join(found)


def _fitting(name: str, kind: Kind) -> int:
    if kind == "replacement" and _MASK_TAG.fullmatch(name):
        return 1
    return fits(name, kind)


def _first_turn(text: str) -> str:
    """Return the text before a line "Question:" that follows a short answer."""
    found = _QUESTION.search(text)
    if not found:
        return text
    before = text[: found.start()].strip()
    first = before.split("\n", 1)[0]
    opens = first.endswith(":") or re.match(r"(?:sure|certainly|okay|of course|to |let|i )\b", first, re.IGNORECASE)
    return before if before and not opens else text
