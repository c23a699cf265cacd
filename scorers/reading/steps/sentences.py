"""Divide a reply into plain sentences without markup, which is the first step of every reader of labels."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.reasoning import strip_reasoning

# No real reply is longer. Of a longer one, from a model in an endless loop, the two ends are read.
_HEAD, _TAIL = 10_000, 30_000
_FEW = 1_500  # sentences that are read at either end; no real reply has more
# Characters of a sentence, and matches in it; no real sentence has more. The limits keep the time linear.
_LONGEST, _MOST = 1_000, 20
REACH = 200
"""Characters that are read after a marker."""

_BOX = re.compile(r"\\boxed\s?\{|<(?:final_)?answer>", re.IGNORECASE)
_LATEX = re.compile(r"\\(?:(?:text|math)[a-z]{0,8}|emph|underline|quad)\s?\{?")
_TAG = re.compile(r"<(?P<ends>/)?(?P<name>[a-zA-Z_]{1,20})>")
_UNPAIRED = {"br", "hr", "p", "li", "b", "i", "u"}
_TRADITIONAL = "認擇會錯誤對確實準無沒說問題斷結論為應該屬偽內覺選項這個與"
_SIMPLIFIED = "认择会错误对确实准无没说问题断结论为应该属伪内觉选项这个与"
_PLAIN: dict[int, str] = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, '*_`#~|>$"＊＿＃“”„«»「」『』【】\ufeff'), ""),
    **dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)], ""),  # Invisible.
    **dict.fromkeys(map(ord, "{}[]\u3000"), " "),
    **dict.fromkeys(map(ord, "‘’"), "'"),
    **dict(zip(map(ord, _TRADITIONAL), _SIMPLIFIED, strict=True)),
}
_NAME_PARTS = re.compile("(?<=[A-Za-z])_(?=[A-Za-z])")  # "final_verdict"
_LIST_MARK = re.compile(r"(?m)^[ \t]*(?:[-+•·–—]|\d{1,3}[.)])[ \t]+")
# The full stop of "A. text" at the start of a line does not end a sentence.
_SENTENCE_END = re.compile(r"(?m)\n+|(?<=[.!?;])(?<!^[A-Z]\.)\s+|(?<=。)|(?<=[!?;])(?=[\u3400-\u9fff])")


def read_reply(
    reply: str, read: Callable[[list[str]], Answer[str]], rewrite: Callable[[str], str] = str
) -> Answer[str]:
    """Return the answer that `read` finds in the plain sentences of a reply; unparsed if it has none.

    Args:
        reply: A model's reply.
        read: Returns the answer in a list of at least one plain sentence.
        rewrite: Changes the part of the reply that is read, before it is divided into sentences.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    sentences = _sentences(ends(rewrite(ends(text.strip()))))  # `rewrite` may lengthen the text
    return read(sentences) if sentences else Answer(None, "empty")


def ends(text: str) -> str:
    """Return the text, or its two ends if it is longer than any real reply."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def sentences_of(reply: str) -> list[str]:
    """Return the plain sentences of a reply; empty if its reasoning is never closed."""
    return _sentences(ends((strip_reasoning(reply) or "").strip()))


def _sentences(text: str) -> list[str]:
    """Return the plain sentences of the text, cut to a limited length; of very many, those at either end."""
    text = _without_tags(_LATEX.sub(" ", _BOX.sub("\nverdict: ", text)))
    text = _NAME_PARTS.sub(" ", text).translate(_PLAIN)
    parts = _SENTENCE_END.split(_LIST_MARK.sub("", text))
    pieces = (part[start : start + _LONGEST] for part in parts for start in range(0, len(part), _LONGEST))
    sentences = list(filter(None, map(str.strip, pieces)))
    return sentences[:_FEW] + sentences[_FEW:][-_FEW:]


def _without_tags(text: str) -> str:
    """Return the text without tags; a tag that is never closed is replaced by its name, as in "<False>"."""
    closed = {tag["name"].lower() for tag in _TAG.finditer(text) if tag["ends"]}

    def replacement(tag: re.Match[str]) -> str:
        is_markup = tag["ends"] or tag["name"].lower() in closed or tag["name"] in _UNPAIRED
        return " " if is_markup else f" {tag['name']} "

    return _TAG.sub(replacement, text)


def joined(sentences: list[str]) -> list[str]:
    """Return the sentences; one that ends in a colon is joined with the next one."""
    return [
        f"{sentence} {following}"[: 2 * REACH] if sentence[-1] == ":" else sentence
        for sentence, following in pairwise([*sentences, ""])
    ]


def matches(pattern: re.Pattern[str], sentence: str) -> Iterable[re.Match[str]]:
    """Return the last matches of a pattern in a sentence, in order."""
    return deque(pattern.finditer(sentence), maxlen=_MOST)


def behind(found: re.Match[str]) -> str:
    """Return the text after a match, at most `REACH` characters."""
    return found.string[found.end() : found.end() + REACH]


def clauses(sentence: str, begins: re.Pattern[str]) -> Iterator[str]:
    """Return the clauses of a sentence; each but the first begins with a match of `begins`."""
    cuts = [0, *(found.start() for found in begins.finditer(sentence)), len(sentence)]
    return (sentence[start:end] for start, end in pairwise(cuts))


def past(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    """Return the end of a match that begins at `start`, or `start` if there is none."""
    match = pattern.match(text, start)
    return match.end() if match else start
