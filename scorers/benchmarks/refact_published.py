"""How the ReFACT authors' released evaluation reads the replies to the two judgment tasks.

These readings serve mode `paper` only: they are kept with their faults, because the published figures
(ReFACT, Tables 2 and 3) are figures of these readings. They see the raw reply, reasoning included.
Both are written without the lazy regular expressions of the original, which take quadratic time.
"""

from __future__ import annotations

import re
from collections import deque

from halu_tasks.scorers.answer import Answer

_FINAL_VERDICT = re.compile(r"final\s+verdict", re.IGNORECASE)
_TRUE_FALSE = re.compile(r"true|false", re.IGNORECASE)
_AB = re.compile(r"[ab]", re.IGNORECASE)
_AB_OR_LINE_END = re.compile(r"[ab\n]", re.IGNORECASE)
_CORRECT = re.compile(r"correct", re.IGNORECASE)
_ANSWER_AB = re.compile(r"answer\s*([ab])", re.IGNORECASE)
_ENDS_IN_ANSWER = re.compile(r"answer\Z", re.IGNORECASE)


def published_true_false(reply: str) -> Answer[str]:
    """Independent judgment: "True" or "False", or unparsed.

    The first true/false, inside any word, after the first "final verdict"; where that yields nothing,
    the last true/false anywhere. An unparsed reply counts as the wrong label for its item.
    """
    marker = _FINAL_VERDICT.search(reply)
    found = _TRUE_FALSE.search(reply, marker.end()) if marker else None
    if found is None:
        last = deque(_TRUE_FALSE.finditer(reply), maxlen=1)
        if not last:
            return Answer(None, "no true or false")
        found = last[0]
    return Answer("True" if found[0].lower() == "true" else "False")


def published_pick(reply: str) -> Answer[str]:
    """Comparative judgment: "A" or "B", or unparsed.

    The first letter a or b, inside any word, that has "correct" later on its line; when that letter
    begins the word "answer" and a or b comes next, which must also have "correct" later on its own
    line, it is this next letter. Failing both, the first a or b after "final verdict" on its line.
    """
    found = _letter_before_correct(reply) or _letter_after_verdict(reply)
    return Answer(found.upper()) if found else Answer(None, "no letter")


def _letter_before_correct(reply: str) -> str | None:
    """The first a/b with "correct" later on its line; each stretch of the text is looked at once."""
    start = 0
    for correct in _CORRECT.finditer(reply):
        line = reply.rfind("\n", start, correct.start()) + 1 or start
        letter = _AB.search(reply, line, correct.start())
        if letter is None:
            start = correct.end()
            continue
        at = letter.start()
        # "answer", line end, letter: the original begins its match at that "answer" and takes the letter.
        if not reply[max(line - 1, 0) : at].strip():
            before = reply[:at].rstrip()
            if _ENDS_IN_ANSWER.search(before, max(len(before) - 6, 0)):
                return letter[0]
        after = _ANSWER_AB.match(reply, at)
        if after and _correct_on_line(reply, after.end()):
            return after[1]
        return letter[0]
    return None


def _correct_on_line(reply: str, start: int) -> bool:
    """Whether "correct" stands between `start` and the end of its line."""
    end = reply.find("\n", start)
    return _CORRECT.search(reply, start, len(reply) if end < 0 else end) is not None


def _letter_after_verdict(reply: str) -> str | None:
    """The first a/b after a "final verdict" on the line where that marker ends."""
    for marker in _FINAL_VERDICT.finditer(reply):
        letter = _AB_OR_LINE_END.search(reply, marker.end())
        if letter and letter[0] != "\n":
            return letter[0]
    return None
