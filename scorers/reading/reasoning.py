"""Take off what a model thinks before it answers, in the markup of its chat template.

lm-eval's vLLM backend delivers this markup in full and its Hugging Face backend without special tokens; Inspect takes
off what its providers know. What the reasoning says is never read as the answer.
"""

from __future__ import annotations

import re
from functools import lru_cache

from halu_tasks.scorers.reading.lexicon import load

_PARTS = ("opens", "closes", "answers", "ends")
_MARKUPS = load("markups")
_OWN_BEGINS = "|".join(markup["begins"] for markup in _MARKUPS if "begins" in markup)
_BEGINS = rf"(?=[<\[◁](?=[/|｜\w])|\A|{_OWN_BEGINS})"
# what is behind the beginning of a reply that has any, in small letters
HINT = re.compile(f"[<[◁]|{_OWN_BEGINS.lower()}")
_EXPRESSIONS = "|".join(
    f"(?P<{part}{number}>{expression})"
    for number, markup in enumerate(_MARKUPS)
    for part in _PARTS
    if (expression := markup.get(part))
)
TOKEN = re.compile(f"{_BEGINS}(?:{_EXPRESSIONS})", re.IGNORECASE)
# "Thought: … Final Answer: …", as agents write that are prompted like ReAct
REACT = re.compile(r"\s{0,9}Thought:"), re.compile(r"(?m)^[ \t]{0,9}Final Answer:")
# the answer that the reasoning is followed by, in a tag of its own
_ANSWER = re.compile(r"\s*<(answer|response|output|solution|conclusion)>(.*?)(?:</\1>.*)?\Z", re.DOTALL | re.IGNORECASE)

# how far back on its line a quotation may begin, and its marks; JSON escapes those within
_LONGEST_LINE = 2_000
_WORD = re.compile(r"\S")
_MARK = re.compile(r'(?<!\\)"')


def strip_reasoning(reply: str, prompt: str = "") -> str | None:
    """Return the answer of a reply, without the reasoning before it and the markup around it.

    Reasoning is what stands between opening and closing markup, before closing markup whose opening is part of the
    prompt, and before the beginning of the answer. Markup in quotation marks is quoted from another text, and an end of
    a turn that the prompt has is a part of that. Time is linear in the length of the reply.

    Args:
        reply: The reply.
        prompt: What the model was asked.

    Returns:
        The answer; None if reasoning is never closed, since all that follows is reasoning.
    """
    return _split(reply, prompt)[0]


def unopened_reasoning(reply: str) -> str:
    """Return what stands before closing markup that nothing opens: reasoning, or an answer that mentions the markup."""
    return _split(reply)[1]


# several steps of reading one reply ask for it
@lru_cache(maxsize=4)
def _split(reply: str, prompt: str = "") -> tuple[str | None, str]:
    outside: list[str] = []
    unopened = ""
    start, thinking, separated = 0, False, False
    may_have = HINT.search(reply.lower()) or TOKEN.match(reply)
    for token in TOKEN.finditer(reply) if may_have else ():
        part = str(token.lastgroup).rstrip("0123456789")
        if part == "ends":
            if thinking or _is_shown(token, prompt) or _is_quoted(_before(token, start, outside)):
                continue
            outside.append(reply[start : token.start()])
            start = token.end()
            if any(map(str.strip, outside)):
                start = len(reply)
                break
        elif part == "opens":
            if not thinking:
                outside.append(reply[start : token.start()])
            thinking = separated = True
        else:
            if part == "closes" and not thinking:
                if _is_quoted(_before(token, start, outside)):
                    continue
                unopened = "".join([*outside, reply[start : token.start()]])
            if part == "answers" or not thinking:
                outside.clear()
            start, thinking, separated = token.end(), False, True
    if thinking:
        return None, unopened
    text = "".join([*outside, reply[start:]])
    if separated and (tagged := _ANSWER.fullmatch(text)) and text.count(f"<{tagged[1]}>") == 1:
        text = tagged[2]
    opened, answers = REACT
    if opened.match(text) and (answer := max(answers.finditer(text), key=re.Match.start, default=None)):
        text = text[answer.end() :]
    return text, unopened


def _before(token: re.Match[str], start: int, outside: list[str]) -> str:
    last = token.string[max(start, token.start() - _LONGEST_LINE) : token.start()]
    return "".join(piece[-_LONGEST_LINE:] for piece in (*outside[-9:], last))


def _is_shown(token: re.Match[str], prompt: str) -> bool:
    """Return whether the prompt has the markup, and the reply goes on behind it."""
    return token[0] in prompt and bool(_WORD.search(token.string, token.end()))


def _is_quoted(before: str) -> bool:
    """Return whether what follows a text is in quotation marks that its last line opens, as a JSON string."""
    line = before[-_LONGEST_LINE:].rpartition("\n")[2]
    return len(_MARK.findall(line)) % 2 == 1 or line.count("“") > line.count("”") or line.count("`") % 2 == 1
