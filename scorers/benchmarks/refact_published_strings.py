"""ReFACT localization and correction as the authors' released evaluation computes them (mode `paper`).

Extraction and metrics behind Table 2's "Negation Loc.", "Entity Loc." and "Entity Cor." columns, with
their faults: lines that keep a trailing space and so never match, numbering removed in the middle of a
decimal number, only the first occurrence of a string located, and that one in the lower-cased text.
The patterns are the released ones rewritten so that they run in time linear in the reply; they match
the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from halu_tasks.text.spans import Span, char_counts

_ENTITY_LABEL = re.compile(r"(?:entity|entities)\s*+:", re.IGNORECASE)
_SENTENCE_LABEL = re.compile(r"(?:sentence)++\s*+:?", re.IGNORECASE)
_REPLACEMENT_LABEL = re.compile(r"replacements?+\s*+:?", re.IGNORECASE)
# The look-behind keeps a long run of digits from being tried again at each of its digits.
_NUMBERING = re.compile(r"(?<!\d)\d++\s*+\.++\s*+")


def _after_last_colon_line(reply: str) -> str:
    """The text after the last line that ends in a colon; all of it when the reply opens with one."""
    return reply if reply.startswith(":\n") else reply.rsplit(":\n", 1)[-1]


def entities(reply: str) -> list[str]:
    """The predicted entities, raw: one per line, with any leading or trailing space they came with."""
    label = _ENTITY_LABEL.search(reply)
    text = reply[label.end() :].strip() if label else _after_last_colon_line(reply)
    return [line for line in _NUMBERING.sub("", text).split("\n") if line not in ("", " ")]


def sentence(reply: str) -> str:
    """The predicted sentence: one string without newlines, possibly empty."""
    label = _SENTENCE_LABEL.search(reply)
    text = reply[label.end() :] if label else _after_last_colon_line(reply)
    return text.strip().replace("\n", "").strip()


def replacements(reply: str) -> list[str]:
    """The predicted replacements: stripped lines that are not empty, as many as there are."""
    if label := _REPLACEMENT_LABEL.search(reply):
        reply = reply[label.end() :]
    lines = (line.strip() for line in _NUMBERING.sub("", reply).split("\n"))
    return [line for line in lines if line]


def set_recall(gold: Sequence[str], predicted: Iterable[str]) -> float:
    """Share (0 to 1) of the different gold strings that were predicted exactly.

    The published accuracy of entity localization, and of correction (there it is called exact match,
    though neither order nor completeness counts). `gold` holds at least one string.
    """
    wanted = set(gold)
    return len(wanted.intersection(predicted)) / len(wanted)


def sentence_match(gold: str, predicted: str) -> float:
    """1.0 when the predicted sentence equals the gold one character by character, else 0.0."""
    return float(gold == predicted)


def _first_occurrences(text: str, strings: Iterable[str]) -> list[Span]:
    lowered = text.lower()
    spans = []
    for string in set(strings):
        start = lowered.find(string.strip().lower())
        if start >= 0:
            spans.append((start, start + len(string)))
    return spans


def iou(text: str, gold: Iterable[str], predicted: Iterable[str]) -> float:
    """Published IoU (0 to 1) over characters of `text`, for gold and predicted strings alike.

    A string stands at the first place where it occurs, case ignored and stripped, and covers as many
    characters as it has unstripped. One that does not occur counts for nothing. Empty union: 0.0.
    """
    counts = char_counts(_first_occurrences(text, gold), _first_occurrences(text, predicted))
    return counts.intersection / counts.union if counts.union else 0.0
