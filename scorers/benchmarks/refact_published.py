"""The readings of the two judgment tasks in the ReFACT authors' released evaluation.

They are used only in `paper` and keep the faults of the original, because the published figures (ReFACT, Tables 2
and 3) were computed with them. They read the raw reply, including its reasoning. The lazy regular expressions of the
original, which take quadratic time, are replaced by searches that find the same matches.
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
    """Read an independent judgment: "True" or "False", or unparsed.

    This is the first true or false, even within a word, after the first "final verdict"; failing that, the last true or
    false anywhere. The published figures count an unparsed reply as the wrong label.
    """
    marker = _FINAL_VERDICT.search(reply)
    match = _TRUE_FALSE.search(reply, marker.end()) if marker else None
    if match is None:
        last = deque(_TRUE_FALSE.finditer(reply), maxlen=1)
        if not last:
            return Answer(None, "no true or false")
        match = last[0]
    return Answer("True" if match[0].lower() == "true" else "False")


def published_pick(reply: str) -> Answer[str]:
    """Read a comparative judgment: "A" or "B", or unparsed.

    This is the first letter a or b, even within a word, that is followed by "correct" on the same line. If this letter
    begins the word "answer" and a or b follows, which is also followed by "correct" on its line, it is that second
    letter. Without such a letter, it is the first a or b after "final verdict" on the same line.
    """
    letter = _letter_before_correct(reply) or _letter_after_verdict(reply)
    return Answer(letter.upper()) if letter else Answer(None, "no letter")


def _letter_before_correct(reply: str) -> str | None:
    """Find the first a or b that is followed by "correct" on its line, in linear time."""
    start = 0
    for correct in _CORRECT.finditer(reply):
        line = reply.rfind("\n", start, correct.start()) + 1 or start
        letter = _AB.search(reply, line, correct.start())
        if letter is None:
            start = correct.end()
            continue
        at = letter.start()
        # "answer", line end, letter: the original starts its match at that "answer" and takes the letter
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
    """Return whether "correct" occurs between `start` and the end of its line."""
    end = reply.find("\n", start)
    return _CORRECT.search(reply, start, len(reply) if end < 0 else end) is not None


def _letter_after_verdict(reply: str) -> str | None:
    """Find the first a or b after "final verdict" on the line where that marker ends."""
    for marker in _FINAL_VERDICT.finditer(reply):
        letter = _AB_OR_LINE_END.search(reply, marker.end())
        if letter and letter[0] != "\n":
            return letter[0]
    return None
