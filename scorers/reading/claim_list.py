"""Read the claims that a reply lists (Factored Verification, A.1.1): `listed_claims`.

The prompt asks for a line "The claims are:" and a list with dashes; models number the list, add markup and introduce
it. If a reply has list marks, each marked line is a claim, together with the indented lines below it. Otherwise every
line is a claim. A claim that is listed twice counts once. A question is not a claim: it is counted, but not checked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from halu_tasks.scorers.reading.reasoning import strip_reasoning


class ClaimList(NamedTuple):
    """The claims of a reply.

    Attributes:
        claims: The claims, in order.
        questions: The number of questions in the list.
        reason: Why there are no claims; empty if there are some.
    """

    claims: list[str]
    questions: int = 0
    reason: str = ""


_CUE = re.compile(
    r"(?im)^\W{0,4}(?:(?:the|here are (?:all )?the|all|key|main|extracted) )?claims\b[^:\n]{0,60}:[\s*_]*"
)
_MARK = re.compile(r"^\s*(?:[-+•·–—*]|\(?\d{1,3}[.):]|claim\s?\d{1,3}\s?[:.)-])\s+", re.IGNORECASE)
_NONE = re.compile(
    r"\W*(?:none|n/a|(?:there (?:are|is) )?no (?:factual |verifiable |checkable )?claims?\b.{0,80})\W*",
    re.IGNORECASE | re.DOTALL,
)
_SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))
_LEFT_EDGE, _RIGHT_EDGE = _SPACES + '*_"“', _SPACES + '*_"”'
_AFTER_QUESTION = _RIGHT_EDGE + "'’)]"


def listed_claims(reply: str) -> ClaimList:
    """Return the claims that a reply lists, in time linear in its length."""
    text = strip_reasoning(reply)
    if text is None:
        return ClaimList([], reason="unclosed reasoning")
    text = text.strip()
    if not text:
        return ClaimList([], reason="empty")
    if cue := _CUE.search(text):
        text = text[cue.end() :]
    if not text.strip() or _NONE.fullmatch(text[:200]):
        return ClaimList([], reason="no claims")
    entries = [claim.lstrip(_LEFT_EDGE).rstrip(_RIGHT_EDGE) for claim in _entries(text)]
    listed = list({claim.casefold(): claim for claim in reversed(entries) if re.search(r"\w", claim)}.values())[::-1]
    claims = [claim for claim in listed if not claim.rstrip(_AFTER_QUESTION).endswith(("?", "？", "؟"))]
    reason = "" if claims else "questions only" if listed else "no claims"
    return ClaimList(claims, len(listed) - len(claims), reason)


def _entries(text: str) -> list[str]:
    """Return the entries of the list in a text, or all lines but headings if it has no list marks."""
    lines = [line for line in text.splitlines() if line.strip()]
    is_marked = [bool(_MARK.match(line)) for line in lines]
    if not any(is_marked):
        return [line for line in lines if not line.rstrip(" *_").endswith(":")] or lines
    if len(lines) == 1:
        # Some replies take the prompt's "a list separated by -" literally and write it on one line.
        return re.split(r"(?:^|(?<=[.!?;])) *[-–—] +", lines[0].strip())[1:] or [_MARK.sub("", lines[0])]
    entries: list[list[str]] = []
    for line, starts_entry in zip(lines, is_marked, strict=True):
        if starts_entry:
            entries.append([_MARK.sub("", line, count=1)])
        elif entries and line[:1].isspace():
            # An indented line continues an entry; a line that is not indented is a remark.
            entries[-1].append(line.strip())
    return [" ".join(lines) for lines in entries]
