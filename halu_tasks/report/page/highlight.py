"""Marking gold and predicted spans in a text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from halu_tasks.report.page.escaping import characters, cut_note

KINDS = {
    (True, True): ("both", "found"),
    (True, False): ("gold", "missed"),
    (False, True): ("predicted", "marked wrongly"),
}
"""CSS class and description for screen readers of a segment, by whether it is gold and whether it is predicted."""


def segments(
    text: str, gold: Iterable[Sequence[int]], predicted: Iterable[Sequence[int]]
) -> list[tuple[int, int, bool, bool]]:
    """Split a text at the borders of spans.

    Spans may overlap, touch and repeat; parts outside the text are ignored. Adjacent segments of a kind are merged.

    Args:
        text: The text.
        gold: Gold spans as (start, end).
        predicted: Predicted spans as (start, end).

    Returns:
        Segments as (start, end, is_gold, is_predicted).
    """
    inside = [
        [(max(0, span[0]), min(len(text), span[1])) for span in spans if len(span) == 2] for spans in (gold, predicted)
    ]
    # per border and kind, the number of spans that start there minus the number that end there
    changes: dict[int, list[int]] = {0: [0, 0], len(text): [0, 0]}
    for kind, spans in enumerate(inside):
        for start, end in spans:
            if start < end:
                changes.setdefault(start, [0, 0])[kind] += 1
                changes.setdefault(end, [0, 0])[kind] -= 1
    result: list[tuple[int, int, bool, bool]] = []
    depth = [0, 0]
    borders = sorted(changes)
    for start, end in itertools.pairwise(borders):
        depth = [old + change for old, change in zip(depth, changes[start], strict=True)]
        kinds = depth[0] > 0, depth[1] > 0
        if result and result[-1][2:] == kinds:
            result[-1] = (result[-1][0], end, *kinds)
        else:
            result.append((start, end, *kinds))
    return result


def marked(
    text: str, gold: Sequence[Sequence[int]], predicted: Sequence[Sequence[int]], limit: int, table: str
) -> Markup:
    """Mark gold and predicted spans in a text.

    Marks are inline elements without padding, which preserves ligatures and the order of right-to-left text.

    Args:
        text: The text.
        gold: Gold spans as (start, end).
        predicted: Predicted spans as (start, end).
        limit: The maximum number of characters to show.
        table: The name of the file that contains the full text.
    """
    out: list[Markup] = []
    hidden = 0
    for start, end, is_gold, is_predicted in segments(text, gold, predicted):
        kind = KINDS.get((is_gold, is_predicted))
        if start >= limit:
            hidden += kind is not None
            continue
        shown = characters(text[start : min(end, limit)])
        if kind is None:
            out.append(shown)
        else:
            out.append(
                Markup('<mark class="{}"><span class="vh"> [{}: </span>{}<span class="vh">] </span></mark>').format(
                    *kind, shown
                )
            )
    more = cut_note(len(text) - limit, table)
    if hidden:
        more += Markup(' <span class="cut">with {} of the marks</span>').format(hidden)
    return Markup('<div class="text"><div dir="auto">{}</div>{}</div>').format(Markup("").join(out), more)
