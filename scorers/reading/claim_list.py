"""The claims that a reply lists (Factored Verification, A.1.1): `listed_claims`.

The prompt asks for a line "The claims are:" and a list with dashes; models number, decorate and introduce it.
Where a reply has list marks, only what they mark is a claim, with the lines that go on below; else every line is
one. A claim that is listed twice is one claim. A question claims nothing: it is counted and not checked.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from halu_tasks.scorers.answer import strip_reasoning


class ClaimList(NamedTuple):
    """Claims in order; the number of questions among what was listed; for no claim at all, why."""

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
_BEFORE, _BEHIND = _SPACES + '*_"“', _SPACES + '*_"”'
_AFTER_QUESTION = _BEHIND + "'’)]"


def listed_claims(reply: str) -> ClaimList:
    """Return what a reply lists. Takes time linear in its length."""
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
    found = [claim.lstrip(_BEFORE).rstrip(_BEHIND) for claim in _entries(text)]
    listed = list({claim.casefold(): claim for claim in reversed(found) if re.search(r"\w", claim)}.values())[::-1]
    claims = [claim for claim in listed if not claim.rstrip(_AFTER_QUESTION).endswith(("?", "？", "؟"))]
    reason = "" if claims else "questions only" if listed else "no claims"
    return ClaimList(claims, len(listed) - len(claims), reason)


def _entries(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [bool(_MARK.match(line)) for line in lines]
    if not any(marked):
        return [line for line in lines if not line.rstrip(" *_").endswith(":")] or lines
    if len(lines) == 1:
        # "a list separated by -", taken at its word
        return re.split(r"(?:^|(?<=[.!?;])) *[-–—] +", lines[0].strip())[1:] or [_MARK.sub("", lines[0])]
    entries: list[list[str]] = []
    for line, mark in zip(lines, marked, strict=True):
        if mark:
            entries.append([_MARK.sub("", line, count=1)])
        elif entries and line[:1].isspace():
            # an entry that goes on; what follows a list without being indented is a remark
            entries[-1].append(line.strip())
    return [" ".join(lines) for lines in entries]
