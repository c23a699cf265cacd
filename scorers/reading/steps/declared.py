"""Find the labels that a reply declares: after a marker such as "Final answer:", or on a line of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from halu_tasks.scorers.reading.lexicons import declared as words
from halu_tasks.scorers.reading.steps.sentences import REACH, behind, matches

ReadText = Callable[[str], str | None]
"""Returns the label at the start of a string, or None."""


class Declared(NamedTuple):
    """A declared label.

    Attributes:
        position: The index of the sentence that declares it.
        label: The label.
    """

    position: int
    label: str


def last_declared(
    sentences: list[str],
    markers: Mapping[re.Pattern[str], ReadText],
    line: Callable[[str, list[str]], str | None],
    conditional: re.Pattern[str] | None = None,
) -> Declared | None:
    """Return the last label that is after a marker, or is the whole first or last line; None if there is none.

    A label after "my answer" or "overall answer" is used only if there is no other.

    Args:
        sentences: The plain sentences of a reply, at least one.
        markers: The patterns that introduce a label, each with the function that reads the label after it.
        line: Returns the label that a whole line consists of, or None; its second argument is all sentences.
        conditional: Matches the start of a sentence that declares nothing.
    """
    unconditional = ["." if conditional and conditional.match(sentence) else sentence for sentence in sentences]
    candidates = [label for marker, read in markers.items() for label in _marked_labels(unconditional, marker, read)]
    for index in (0, len(unconditional) - 1):
        if label := line(unconditional[index][:REACH], sentences):
            candidates.append((True, index, label))
    last = max(candidates, key=lambda label: label[:2], default=None)
    return Declared(*last[1:]) if last else None


def _marked_labels(sentences: list[str], marker: re.Pattern[str], read: ReadText) -> Iterator[tuple[bool, int, str]]:
    """Yield for each label after a marker whether the marker is strong, the index of the sentence, and the label."""
    for index, (sentence, following) in enumerate(pairwise([*sentences, ""])):
        label: str | None = None
        text: str | None = None
        is_strong = False
        for match in matches(marker, sentence):
            if not words.DENIED.search(sentence, max(match.start() - 100, 0), match.start()):
                text = behind(match)
                if read_label := read(text):
                    label, is_strong = read_label, not words.WEAK.fullmatch(match[0])
        # A marker with nothing after it, or in a sentence that ends in a colon, introduces the next sentence.
        if label is None and text is not None and (sentence[-1] == ":" or words.INTRODUCES.fullmatch(text)):
            label, is_strong = read(following[:REACH]), True
        if label is not None:
            yield is_strong, index, label
