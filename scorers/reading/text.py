"""Divide a reply into plain sentences, which is the first step of every reader of labels."""

from __future__ import annotations

import re
from typing import NamedTuple

# No real reply is longer. Of a longer one, from a model in an endless loop, the two ends are read.
_HEAD, _TAIL = 5_000, 20_000
_MOST, _LONGEST = 3_000, 1_000  # sentences, and characters of one
_BOX = re.compile(r"\\boxed\s?\{|\\(?:(?:text|math)[a-z]{0,8}|emph|underline|quad)\s?\{?|\\[()\[\]]")
_ANSWER_TAG = re.compile(r"<(?:final_)?(?:answer|verdict|label|judge?ment)>", re.IGNORECASE)
# it begins with a set of characters, which are looked for faster than what may precede them
_TAG = re.compile(
    r"[<>/](?:(?<=<)/?(?:br|hr|p|li|ul|ol|b|i|u|em|strong|div|span|code|pre|reasoning|answer|verdict|label)(?: ?/)?>"
    r"|(?<! .)[<>/]?(?=\w)|(?<=<)(?=\w{1,12}>)|(?<=\w>))"
)
_PLAIN = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, '*`#~$"＊＿＃“”„«»「」『』【】{}[]\ufeff\u3000'), " "),
    **dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFE0F], ""),  # invisible
    **dict.fromkeys(map(ord, "‘’ʼ"), "'"),
    ord("_"): " ",
    **dict(zip(map(ord, "認擇會錯誤對確實準無沒說問題斷結論為應該屬偽內覺選項這個與發現實據證爲"),
               "认择会错误对确实准无没说问题断结论为应该属伪内觉选项这个与发现实据证为", strict=True)),
}  # fmt: skip
_TICKED, _UNTICKED = re.compile(r"\[[xX✓✔]\]"), re.compile(r"(?m)^[ \t*-]*\[ ?\].*$|\[ ?\][^\[\n]*")
_LIST_MARK = re.compile(r"[ \t]*(?:[-+•·–—>]+|\d{1,3}[.)])[ \t]+")
_GLUED = re.compile(r"[。!?;](?=[\u3400-\u9fff])")
_END = re.compile(r" (?<=[.!?;。] )(?<!^[A-Z]\. )")


class Sentence(NamedTuple):
    """A plain sentence of a reply.

    Attributes:
        text: The sentence without markup.
        starts_line: Whether it begins a line.
        is_item: Whether its line is an item of a list or a row of a table.
    """

    text: str
    starts_line: bool
    is_item: bool


def ends(text: str) -> str:
    """Return the text, or its two ends if it is longer than any real reply."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def sentences(text: str) -> list[Sentence]:
    """Return the plain sentences of a reply without reasoning; of very many, those at either end.

    One that ends in a colon includes the next one, unless that is an item of a list.
    """
    if _TICKED.search(text):
        text = _TICKED.sub("✔ ", _UNTICKED.sub("", text))
    text = _TAG.sub(" ", _ANSWER_TAG.sub("\nverdict: ", _BOX.sub(" ", ends(text))))
    found: list[Sentence] = []
    for line in filter(str.strip, text.split("\n")):
        line = line.translate(_PLAIN)
        mark = _LIST_MARK.match(line)
        is_item = bool(mark) or "|" in line
        line = line[mark.end() if mark else 0 :].strip(" |").replace("|", " ¦ ").replace(" - ", " – ")
        line = " ".join(line.replace("->", "→").replace("=>", "→").split())
        whole = _END.split(line if line.isascii() else _GLUED.sub(r"\g<0> ", line))
        parts = (part[at : at + _LONGEST].strip() for part in whole for at in range(0, len(part), _LONGEST))
        found += [Sentence(part, number == 0, is_item) for number, part in enumerate(filter(None, parts))]
    joined: list[Sentence] = []
    for sentence in found[: _MOST // 2] + found[_MOST // 2 :][-_MOST // 2 :]:
        before = joined[-1] if joined else None
        if before and before.text.endswith(":") and not sentence.is_item and len(before.text) < _LONGEST:
            joined[-1] = before._replace(text=f"{before.text} {sentence.text}")
        else:
            joined.append(sentence)
    return joined
