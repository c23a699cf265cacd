"""A reply as plain sentences, without markup: what every reading of a label starts from."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from halu_tasks.scorers.answer import Answer, strip_reasoning

# No real reply is longer; of a longer one (a model caught in a loop) the two ends are read.
_HEAD, _TAIL = 10_000, 30_000
_FEW = 1_500  # sentences at either end that are read; no real reply has more
# No real sentence is longer or says more; the bounds keep the time linear.
_LONGEST, _MOST = 1_000, 20
REACH = 200
"""Characters that are looked at behind a marker."""


_BOX = re.compile(r"\\boxed\s?\{|<(?:final_)?answer>", re.IGNORECASE)
_LATEX = re.compile(r"\\(?:(?:text|math)[a-z]{0,8}|emph|underline|quad)\s?\{?")
_TAG = re.compile(r"<(?P<ends>/)?(?P<name>[a-zA-Z_]{1,20})>")
_UNPAIRED = {"br", "hr", "p", "li", "b", "i", "u"}
_TRADITIONAL = "認擇會錯誤對確實準無沒說問題斷結論為應該屬偽內覺選項這個與"
_SIMPLIFIED = "认择会错误对确实准无没说问题断结论为应该属伪内觉选项这个与"
_PLAIN: dict[int, str] = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, '*_`#~|>$"＊＿＃“”„«»「」『』【】\ufeff'), ""),
    **dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)], ""),  # Unseen.
    **dict.fromkeys(map(ord, "{}[]\u3000"), " "),
    **dict.fromkeys(map(ord, "‘’"), "'"),
    **dict(zip(map(ord, _TRADITIONAL), _SIMPLIFIED, strict=True)),
}
_NAME_PARTS = re.compile("(?<=[A-Za-z])_(?=[A-Za-z])")  # "final_verdict"
_LIST_MARK = re.compile(r"(?m)^[ \t]*(?:[-+•·–—]|\d{1,3}[.)])[ \t]+")
# The point of "A. text" at the start of a line ends no sentence.
_SENTENCE_END = re.compile(r"(?m)\n+|(?<=[.!?;])(?<!^[A-Z]\.)\s+|(?<=。)|(?<=[!?;])(?=[\u3400-\u9fff])")


def read_reply(
    reply: str, read: Callable[[list[str]], Answer[str]], rewrite: Callable[[str], str] = str
) -> Answer[str]:
    """Return what `read` finds in the plain sentences of the reply; no value if it has none.

    Args:
        reply: A model's reply.
        read: Reads plain sentences, at least one.
        rewrite: Prepares the part of the reply that is read, before it is split.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    sentences = _sentences(ends(rewrite(ends(text.strip()))))  # what is written out may be longer
    return read(sentences) if sentences else Answer(None, "empty")


def ends(text: str) -> str:
    """Return the text, or the two ends of one that no real reply is as long as."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def sentences_of(reply: str) -> list[str]:
    """Return the plain sentences of a reply; none of one that never ends its reasoning."""
    return _sentences(ends((strip_reasoning(reply) or "").strip()))


def _sentences(text: str) -> list[str]:
    text = _without_tags(_LATEX.sub(" ", _BOX.sub("\nverdict: ", text)))
    text = _NAME_PARTS.sub(" ", text).translate(_PLAIN)
    parts = _SENTENCE_END.split(_LIST_MARK.sub("", text))
    pieces = (part[start : start + _LONGEST] for part in parts for start in range(0, len(part), _LONGEST))
    sentences = list(filter(None, map(str.strip, pieces)))
    return sentences[:_FEW] + sentences[_FEW:][-_FEW:]


def _without_tags(text: str) -> str:
    """Return the text without its tags; one that is never closed is a word in brackets: "<False>"."""
    closed = {found["name"].lower() for found in _TAG.finditer(text) if found["ends"]}

    def plain(tag: re.Match[str]) -> str:
        markup = tag["ends"] or tag["name"].lower() in closed or tag["name"] in _UNPAIRED
        return " " if markup else f" {tag['name']} "

    return _TAG.sub(plain, text)


def joined(sentences: list[str]) -> list[str]:
    """Return the sentences, each that ends in a colon continued by the next one."""
    return [
        f"{sentence} {following}"[: 2 * REACH] if sentence[-1] == ":" else sentence
        for sentence, following in pairwise([*sentences, ""])
    ]


def matches(pattern: re.Pattern[str], sentence: str) -> Iterable[re.Match[str]]:
    """Return the last matches in the sentence, in order."""
    return deque(pattern.finditer(sentence), maxlen=_MOST)


def behind(found: re.Match[str]) -> str:
    """Return what follows a match, as far as it is looked at."""
    return found.string[found.end() : found.end() + REACH]


def clauses(sentence: str, begins: re.Pattern[str]) -> Iterator[str]:
    """Yield the parts of the sentence; `begins` finds where each but the first begins."""
    cuts = [0, *(found.start() for found in begins.finditer(sentence)), len(sentence)]
    return (sentence[start:end] for start, end in pairwise(cuts))


def past(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    """Return where a match that begins at `start` ends, and `start` if there is none."""
    found = pattern.match(text, start)
    return found.end() if found else start
