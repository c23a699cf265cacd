"""Where a judge quotes what it judges, which may hold a verdict that is not the judge's."""

from __future__ import annotations

from halu_tasks.scorers.reading.lexicons import verdict as words

LONGEST_LEAD_IN = 200
"""Characters of the longest text that only announces a verdict."""


def is_lead_in(text: str) -> bool:
    """Return whether all of a short text only announces a verdict: "Here is my verdict:"."""
    return len(text) <= LONGEST_LEAD_IN and bool(words.LEAD_IN.fullmatch(text))


def announces(text: str) -> bool:
    """Return whether the paragraph that a text ends in announces a quotation.

    It does if a line of it ends in a colon or an opening mark and does not announce the judge's own verdict.
    """
    return any(
        not is_lead_in(line) and (not words.OWN.search(line) or bool(words.REPORTS.search(line)))
        for line in _colons(text)
    )


def reports(text: str) -> bool:
    """Return whether the paragraph that a text ends in announces what the judged text says."""
    return any(words.REPORTS.search(line) for line in _colons(text))


def _colons(text: str) -> list[str]:
    """Return the lines of the last paragraph that lead on to what follows."""
    stripped = text.rstrip("\n \t`")[-1_000:]
    # behind a blank line only the line before it can lead on
    apart = "\n\n" in text[len(text.rstrip("\n \t`")) :]
    lines = stripped.rpartition("\n" if apart else "\n\n")[2].split("\n")
    return [
        line[-LONGEST_LEAD_IN:] for line in lines if line.rstrip(" \t*_`").endswith((":", "：", "“", "「", "『", "→"))
    ]


def quoting(text: str) -> bool:
    """Return whether a text ends inside quotation marks."""
    return text.count('"') % 2 == 1 or sum(map(text.count, words.OPENING)) > sum(map(text.count, words.CLOSING))
