"""The labels that a reply declares: behind a marker such as "Final answer:", or in a line of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from halu_tasks.scorers.reading.lexicons import declared as words
from halu_tasks.scorers.reading.steps.sentences import REACH, behind, matches

ReadText = Callable[[str], str | None]
"""Reads the label that a text begins with, if any."""


class Declared(NamedTuple):
    """The position of a sentence and the label that it declares."""

    position: int
    label: str


def last_declared(
    sentences: list[str],
    markers: Mapping[re.Pattern[str], ReadText],
    line: Callable[[str, list[str]], str | None],
    conditional: re.Pattern[str] | None = None,
) -> Declared | None:
    """Return the last label behind a marker or in a first or last line that is nothing else.

    What stands behind "my answer" or "overall answer" counts only if nothing else does.

    Args:
        sentences: The plain sentences of a reply, at least one.
        markers: What introduces a label, and how the label behind it is read.
        line: Reads a whole line, given all sentences.
        conditional: Begins a sentence that declares nothing.
    """
    settled = ["." if conditional and conditional.match(sentence) else sentence for sentence in sentences]
    found = [label for marker, read in markers.items() for label in _introduced(settled, marker, read)]
    for index in (0, len(settled) - 1):
        if label := line(settled[index][:REACH], sentences):
            found.append((True, index, label))
    last = max(found, key=lambda label: label[:2], default=None)
    return Declared(*last[1:]) if last else None


def _introduced(sentences: list[str], marker: re.Pattern[str], read: ReadText) -> Iterator[tuple[bool, int, str]]:
    """Yield the labels behind a marker, each with whether its marker is a strong one and the index of its sentence."""
    for index, (sentence, following) in enumerate(pairwise([*sentences, ""])):
        label: str | None = None
        rest: str | None = None
        strong = False
        for found in matches(marker, sentence):
            if not words.DENIED.search(sentence, max(found.start() - 100, 0), found.start()):
                rest = behind(found)
                if stated := read(rest):
                    label, strong = stated, not words.WEAK.fullmatch(found[0])
        # A marker with nothing behind it, or before a colon, introduces what comes next.
        if label is None and rest is not None and (sentence[-1] == ":" or words.INTRODUCES.fullmatch(rest)):
            label, strong = read(following[:REACH]), True
        if label is not None:
            yield strong, index, label
