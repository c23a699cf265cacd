"""Read the claims that a reply lists (Factored Verification, A.1.1)."""

from __future__ import annotations

import re

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reading.verdicts import VerdictReader

LISTED = "listed"
_CUE = re.compile(
    r"(?im)^\W{0,4}(?:(?:the|here are (?:all )?the|all|key|main|extracted) )?claims\b[^:\n]{0,60}:[\s*_]*"
)
_LIST_MARK = re.compile(r"^\s*(?:[-+•·–—*]|\(?\d{1,3}[.):]|claim\s?\d{1,3}\s?[:.)-])\s+", re.IGNORECASE)
_NONE = re.compile(
    r"\W*(?:none|n/a|(?:there (?:are|is) )?no (?:factual |verifiable |checkable )?claims?\b.{0,80})\W*",
    re.IGNORECASE | re.DOTALL,
)
_SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))
_LEFT_EDGE, _RIGHT_EDGE = _SPACES + '*_"“', _SPACES + '*_"”'
_AFTER_QUESTION = _RIGHT_EDGE + "'’)]"


class ClaimListReader(VerdictReader):
    """Reads the list of claims that a judge was asked for: its only label is `listed`, its reason a claim a line."""

    def __init__(self) -> None:
        super().__init__({LISTED: LISTED})

    def __call__(self, reply: str) -> Answer[str]:
        """Return `listed` with the claims, which may be none, as the reason; no value if there is no reply."""
        missing = ReplyText(reply).missing
        return missing or Answer(LISTED, "\n".join(listed_claims(reply)[0]))


def listed_claims(reply: str) -> tuple[list[str], int, str]:
    """Read the claims that a reply lists (A.1.1), in time linear in its length.

    Returns:
        The claims, in order; the number of questions in the list; and why there are no claims, empty if there are some.
    """
    reply = ReplyText(reply)
    if reply.missing:
        return [], 0, reply.missing.reason
    text = reply.text.strip()
    if cue := _CUE.search(text):
        text = text[cue.end() :]
    if not text.strip() or _NONE.fullmatch(text[:200]):
        return [], 0, "no claims"
    entries = [claim.lstrip(_LEFT_EDGE).rstrip(_RIGHT_EDGE) for claim in _entries(text)]
    listed = list({claim.casefold(): claim for claim in reversed(entries) if re.search(r"\w", claim)}.values())[::-1]
    claims = [claim for claim in listed if not claim.rstrip(_AFTER_QUESTION).endswith(("?", "？", "؟"))]
    reason = "" if claims else "questions only" if listed else "no claims"
    return claims, len(listed) - len(claims), reason


def _entries(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    is_marked = [bool(_LIST_MARK.match(line)) for line in lines]
    if not any(is_marked):
        return [line for line in lines if not line.rstrip(" *_").endswith(":")] or lines
    if len(lines) == 1:
        # Some replies take the prompt's "a list separated by -" literally and write it on one line.
        return re.split(r"(?:^|(?<=[.!?;])) *[-–—] +", lines[0].strip())[1:] or [_LIST_MARK.sub("", lines[0])]
    entries: list[list[str]] = []
    for line, starts_entry in zip(lines, is_marked, strict=True):
        if starts_entry:
            entries.append([_LIST_MARK.sub("", line, count=1)])
        elif entries and line[:1].isspace():
            # An indented line continues an entry; a line that is not indented is a remark.
            entries[-1].append(line.strip())
    return [" ".join(lines) for lines in entries]
