"""What every verdict reading starts from: a reply as plain sentences, and the verdicts it declares."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.text.folding import any_of

# No real reply is longer; of a longer one (a model caught in a loop) the two ends are read.
_HEAD, _TAIL = 10_000, 30_000
_FEW = 1_500  # sentences at either end that are read; no real reply has more
# No real sentence is longer or says more; the bounds keep the time linear.
_LONGEST, _MOST = 1_000, 20
REACH = 200
"""Characters that are looked at behind a marker."""

Reader = Callable[[str], str | None]
"""Reads the verdict that a text begins with, if any."""
Declared = tuple[int, str]
"""The index of a sentence and the verdict that it declares."""


# --- plain sentences ----------------------------------------------------------------------------------

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
    """What `read` finds in the plain sentences of the reply; unparsed if it has none. `rewrite` prepares
    the part of the reply that is read, before it is split."""
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning")
    sentences = _sentences(ends(rewrite(ends(text.strip()))))  # what is written out may be longer
    return read(sentences) if sentences else Answer(None, "empty")


def ends(text: str) -> str:
    """The text, or the two ends of one that no real reply is as long as."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def sentences_of(reply: str) -> list[str]:
    """The plain sentences of a reply; none of one that never ends its reasoning."""
    return _sentences(ends((strip_reasoning(reply) or "").strip()))


def _sentences(text: str) -> list[str]:
    text = _without_tags(_LATEX.sub(" ", _BOX.sub("\nverdict: ", text)))
    text = _NAME_PARTS.sub(" ", text).translate(_PLAIN)
    parts = _SENTENCE_END.split(_LIST_MARK.sub("", text))
    pieces = (part[start : start + _LONGEST] for part in parts for start in range(0, len(part), _LONGEST))
    sentences = list(filter(None, map(str.strip, pieces)))
    return sentences[:_FEW] + sentences[_FEW:][-_FEW:]


def _without_tags(text: str) -> str:
    """The text without its tags; one that is never closed is a word in brackets: "<False>"."""
    closed = {found["name"].lower() for found in _TAG.finditer(text) if found["ends"]}

    def plain(tag: re.Match[str]) -> str:
        markup = tag["ends"] or tag["name"].lower() in closed or tag["name"] in _UNPAIRED
        return " " if markup else f" {tag['name']} "

    return _TAG.sub(plain, text)


def joined(sentences: list[str]) -> list[str]:
    """The sentences, each that ends in a colon continued by its next one."""
    return [
        f"{sentence} {following}"[: 2 * REACH] if sentence[-1] == ":" else sentence
        for sentence, following in pairwise([*sentences, ""])
    ]


def matches(pattern: re.Pattern[str], sentence: str) -> Iterable[re.Match[str]]:
    """The last matches in the sentence, in order."""
    return deque(pattern.finditer(sentence), maxlen=_MOST)


def behind(found: re.Match[str]) -> str:
    """What follows a match, as far as it is looked at."""
    return found.string[found.end() : found.end() + REACH]


# --- declared verdicts --------------------------------------------------------------------------------

_LABEL = any_of("answer winner conclusion choice decision judge?ment result rating label classification assessment")
DECLARED = re.compile(
    rf"(?<!this )\bverdict\b"
    rf"|\b(?:final|overall|my)\s(?:{_LABEL}|determination|pick|selection|response|evaluation|call|vote|ruling)\b"
    rf"|^(?:the\s)?{_LABEL}\s?[:=]|^(?:overall\s)?factual\s(?:accuracy|correctness)\s?:",
    re.IGNORECASE,
)
"""The English markers."""
# "I cannot give a final verdict", "nothing that would warrant a verdict of False"
_DENIED = re.compile(
    r"(?:\b(?:not|cannot|unable)\b|n't\b)(?:(?!\b(?:and|so|but)\b)[^,;:])*\Z|(?:不认为|不觉得|不相信|不能说|不能认为)[^,;:。]*\Z"
)
# "The overall answer is factually correct" may speak of the answer that is judged.
_WEAK = re.compile(r"(?:overall|my)\s(?:answer|response)", re.IGNORECASE)
_INTRODUCES = re.compile(
    rf"(?:\W|\b{any_of('is are was should would be must as follows? the that for this answer remains')}\b)*"
)
CONCLUDES = re.compile(
    r"\W*(?:and |so )?(?:therefore|thus|hence|overall|in (?:conclusion|summary|short)"
    r"|to (?:conclude|summari[sz]e)|.{0,20}\bconclude\b"
    r"|(?:based|given|considering|because|since|ultimately|conclusion|consequently|as a result)\b)",
    re.IGNORECASE,
)
"""How a sentence begins that concludes."""


def last_declared(sentences: list[str], markers: Mapping[re.Pattern[str], Reader], line: Reader) -> Declared | None:
    """The last verdict behind a marker or in a first or last line that is nothing else; what stands behind "my
    answer" or "overall answer" only where there is no other.

    Each marker has the reader of what it introduces; `line` reads whole lines.
    """
    found = [verdict for marker, read in markers.items() for verdict in _introduced(sentences, marker, read)]
    for index in (0, len(sentences) - 1):
        if value := line(sentences[index][:REACH]):
            found.append((True, index, value))
    last = max(found, key=lambda verdict: verdict[:2], default=None)
    return last and last[1:]


def _introduced(sentences: list[str], marker: re.Pattern[str], read: Reader) -> Iterator[tuple[bool, int, str]]:
    """What the markers introduce, each with whether its marker is a strong one."""
    for index, (sentence, following) in enumerate(pairwise([*sentences, ""])):
        value: str | None = None
        rest: str | None = None
        strong = False
        for found in matches(marker, sentence):
            if not _DENIED.search(sentence, max(found.start() - 100, 0), found.start()):
                rest = behind(found)
                if said := read(rest):
                    value, strong = said, not _WEAK.fullmatch(found[0])
        # A marker with nothing behind it, or before a colon, introduces what comes next.
        if value is None and rest is not None and (sentence[-1] == ":" or _INTRODUCES.fullmatch(rest)):
            value, strong = read(following[:REACH]), True
        if value is not None:
            yield strong, index, value
