"""Remove what is wrapped around the answer of a reply: code fences, tags, LaTeX boxes, a second question."""

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
    """Return a reply as plain lines: the content of boxes, of fences and of tags named after what was asked for.

    If the reply marks some lines with a cross, lines with a tick are removed, since they are right. A base model may
    continue with the next question of the prompt's pattern; that part is removed, too.

    Args:
        text: A reply without reasoning.
        kind: What was asked for.
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
    text = _tag_contents(text, kind)
    if kind != "replacement" and _CROSS.search(text):
        text = _CHECK.sub("", text)
    return _first_turn(text)


def _tag_contents(text: str, kind: Kind) -> str:
    """Return the contents of tags such as <answer> or <wrong_entity>, one per line, or the text if there are none."""
    tagged = [(_fit_of_tag(tag[1], kind), tag[2].strip("\n")) for tag in _TAG.finditer(text)]
    best = max((fit for fit, _ in tagged), default=0)
    contents = [content for fit, content in tagged if fit == best]
    if best < 1 or all(content.strip().isdigit() for content in contents):
        return text
    return "\n".join(contents)


def _fit_of_tag(name: str, kind: Kind) -> int:
    """Return how well the name of a tag fits what was asked for, as `fits` does."""
    if kind == "replacement" and _MASK_TAG.fullmatch(name):
        return 1
    return fits(name, kind)


def _first_turn(text: str) -> str:
    """Return the text before a line "Question:", or all of it if there is no such line or no answer before it."""
    question = _QUESTION.search(text)
    if not question:
        return text
    before = text[: question.start()].strip()
    first = before.split("\n", 1)[0]
    is_introduction = first.endswith(":") or re.match(
        r"(?:sure|certainly|okay|of course|to |let|i )\b", first, re.IGNORECASE
    )
    return before if before and not is_introduction else text
