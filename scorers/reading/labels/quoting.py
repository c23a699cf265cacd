"""Recognise where a judge quotes the judged text, which may contain a verdict that is not the judge's."""

from __future__ import annotations

from halu_tasks.scorers.reading.lexicons import verdict as words

LONGEST_LEAD_IN = 200
"""Longest text that can only announce a verdict, in characters."""


def is_lead_in(text: str) -> bool:
    """Return whether a short text only announces a verdict: "Here is my verdict:"."""
    return len(text) <= LONGEST_LEAD_IN and bool(words.LEAD_IN.fullmatch(text))


def announces(text: str) -> bool:
    """Return whether the last paragraph of the text announces a quotation.

    It does if one of its lines ends in a colon or an opening mark and does not announce the judge's own verdict.
    """
    return any(
        not is_lead_in(line) and (not words.OWN.search(line) or bool(words.REPORTS.search(line)))
        for line in _announcing_lines(text)
    )


def reports(text: str) -> bool:
    """Return whether the last paragraph of the text announces what the judged text says."""
    return any(words.REPORTS.search(line) for line in _announcing_lines(text))


def _announcing_lines(text: str) -> list[str]:
    """Return the lines of the last paragraph that announce what follows, by a colon or an opening mark at their end."""
    stripped = text.rstrip("\n \t`")[-1_000:]
    # After a blank line, only the line before it can announce what follows.
    before_blank_line = "\n\n" in text[len(text.rstrip("\n \t`")) :]
    lines = stripped.rpartition("\n" if before_blank_line else "\n\n")[2].split("\n")
    return [
        line[-LONGEST_LEAD_IN:] for line in lines if line.rstrip(" \t*_`").endswith((":", "：", "“", "「", "『", "→"))
    ]


def quoting(text: str) -> bool:
    """Return whether the text ends inside quotation marks."""
    return text.count('"') % 2 == 1 or sum(map(text.count, words.OPENING)) > sum(map(text.count, words.CLOSING))
