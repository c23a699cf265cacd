"""A judge's question and its verdict, as text: no model is called here.

What is judged is fenced by a line that the text itself cannot contain, so nothing in it can pass for
an instruction or a verdict.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from halu_tasks.items import Item
from halu_tasks.scorers.answer import Answer, strip_reasoning

CONFLICT, CONSISTENT = "conflict", "consistent"
FAILED = "failed"
"""What stands for a verdict where the judge gave none."""


@dataclass(frozen=True)
class Judging:
    """What a judge is asked about a reply, and how it is read.

    Attributes:
        prompt: the name of the question in `solvers/prompts/judge.yaml`.
        questions: item and reply -> what fills the prompt, once for each question; none where there is nothing to
            judge.
        read: the judge's reply -> its verdict, one of a few labels.
        unjudged: the figure that is looked at where no judge is named.
    """

    prompt: str
    questions: Callable[[Item, str], list[Mapping[str, str]]]
    read: Callable[[str], Answer[str]]
    unjudged: str


_LONGEST = 8_000
"""Characters of a judged text that are shown to the judge; the rest is cut, and the judge is told."""

_VERDICT_KEY = re.compile(
    r"""["'“”*`]*(?:verdict|判定|结论)["'“”*`]*[ \t]*[:：=][ \t]*["'“”*`]*([^\s"'“”*`,，。.}{]{1,40})""", re.I
)
_WORDS = {
    CONFLICT: (
        "conflict",
        "conflicts",
        "conflicting",
        "contradiction",
        "contradicts",
        "冲突",
        "有冲突",
        "存在冲突",
        "矛盾",
        "不一致",
    ),
    CONSISTENT: (
        "consistent",
        "no_conflict",
        "not_conflicting",
        "agreement",
        "一致",
        "不冲突",
        "无冲突",
        "没有冲突",
        "不矛盾",
        "无矛盾",
    ),
}
_LABELS = {word: label for label, words in _WORDS.items() for word in words}


def fence(text: str, longest: int | None = _LONGEST) -> str:
    """`text` between two equal lines that do not occur in it; one of more than `longest` characters is cut, and
    says so.

    The line is a function of the text, so the same text always makes the same prompt.
    """
    if longest is not None and len(text) > longest:
        text = f"{text[:longest]}\n[cut here: {len(text)} characters in all]"
    text = text.encode("utf-8", "replace").decode()
    salt = 0
    while (mark := "=====" + hashlib.sha256(f"{salt}{text}".encode()).hexdigest()[:16]) in text:
        salt += 1
    return f"{mark}\n{text}\n{mark}"


def read_verdict(reply: str) -> Answer[str]:
    """`conflict` or `consistent` from a judge's reply, or unparsed.

    The last JSON object with a `verdict` counts; where there is none that parses, as when the reply was
    cut off, the last `verdict: …`; else a reply that is one such word and nothing more.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    for start in reversed([match.start() for match in re.finditer(r"\{", text)][-50:]):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            continue
        if isinstance(found, dict) and (label := _label(found.get("verdict"))):
            return Answer(label)
    if (stated := _VERDICT_KEY.findall(text)) and (label := _label(stated[-1])):
        return Answer(label)
    if label := _label(text.strip(" \t\r\n*\"'`.。")):
        return Answer(label)
    return Answer(None, "no verdict" if text.strip() else "empty")


def _label(word: object) -> str | None:
    return _LABELS.get(word.strip().lower().replace(" ", "_")) if isinstance(word, str) else None
