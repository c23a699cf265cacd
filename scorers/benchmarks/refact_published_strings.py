"""ReFACT localization and correction as computed by the authors' released evaluation (mode `paper`).

These are the extraction and the metrics behind the columns "Negation Loc.", "Entity Loc." and "Entity Cor." of Table 2,
with their faults: lines keep a trailing space and then never match, numbering is removed within decimal numbers, and
only the first occurrence of a string is located, in the lower-cased text. The regular expressions match the same text
as the released ones, but in time linear in the length of the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from halu_tasks.text.spans import Span, char_counts

_ENTITY_LABEL = re.compile(r"(?:entity|entities)\s*+:", re.IGNORECASE)
_SENTENCE_LABEL = re.compile(r"(?:sentence)++\s*+:?", re.IGNORECASE)
_REPLACEMENT_LABEL = re.compile(r"replacements?+\s*+:?", re.IGNORECASE)
# without the look-behind, a long run of digits would be tried again at each of its digits
_NUMBERING = re.compile(r"(?<!\d)\d++\s*+\.++\s*+")


def _after_last_colon_line(reply: str) -> str:
    """Return the text after the last line that ends in a colon; all of it if the reply begins with one."""
    return reply if reply.startswith(":\n") else reply.rsplit(":\n", 1)[-1]


def entities(reply: str) -> list[str]:
    """Extract the predicted entities, one per line, with their leading and trailing spaces."""
    label = _ENTITY_LABEL.search(reply)
    text = reply[label.end() :].strip() if label else _after_last_colon_line(reply)
    return [line for line in _NUMBERING.sub("", text).split("\n") if line not in ("", " ")]


def sentence(reply: str) -> str:
    """Extract the predicted sentence, a string without newlines that may be empty."""
    label = _SENTENCE_LABEL.search(reply)
    text = reply[label.end() :] if label else _after_last_colon_line(reply)
    return text.strip().replace("\n", "").strip()


def replacements(reply: str) -> list[str]:
    """Extract the predicted replacements, all lines that are not blank, without surrounding white space."""
    if label := _REPLACEMENT_LABEL.search(reply):
        reply = reply[label.end() :]
    lines = (line.strip() for line in _NUMBERING.sub("", reply).split("\n"))
    return [line for line in lines if line]


def set_recall(gold: Sequence[str], predicted: Iterable[str]) -> float:
    """Compute the share (0 to 1) of the distinct gold strings that were predicted exactly.

    This is the published accuracy of entity localization, and of correction, where it is called exact match although
    neither order nor completeness matters. `gold` has at least one string.
    """
    distinct = set(gold)
    return len(distinct.intersection(predicted)) / len(distinct)


def sentence_match(gold: str, predicted: str) -> float:
    """Return 1.0 if the predicted sentence is exactly the gold one, otherwise 0.0."""
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
    """Compute the published intersection over union (0 to 1) of characters of `text`.

    Gold and predicted strings are located alike, at the first place where the stripped string occurs in any case, and
    cover as many characters as the unstripped string has. Strings that do not occur are ignored. The IoU of an empty
    union is 0.
    """
    counts = char_counts(_first_occurrences(text, gold), _first_occurrences(text, predicted))
    return counts.intersection / counts.union if counts.union else 0.0
