"""Gold and predicted spans, drawn in the text that they are of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from halu_tasks.report.texts import characters, cut_note

KINDS = {
    (True, True): ("both", "found"),
    (True, False): ("gold", "missed"),
    (False, True): ("predicted", "marked wrongly"),
}
"""Of a segment, whether it is gold and whether predicted: its class, and the words for who does not see the mark."""


def segments(
    text: str, gold: Iterable[Sequence[int]], predicted: Iterable[Sequence[int]]
) -> list[tuple[int, int, bool, bool]]:
    """The text cut at every border of a span: start, end, whether it is gold, whether it is predicted.

    Spans may overlap, touch and repeat; what lies outside the text is left out. Neighbours of one kind are one segment.
    """
    inside = [
        [(max(0, span[0]), min(len(text), span[1])) for span in spans if len(span) == 2] for spans in (gold, predicted)
    ]
    # per border, how many spans of either kind begin less how many end there
    changes: dict[int, list[int]] = {0: [0, 0], len(text): [0, 0]}
    for kind, spans in enumerate(inside):
        for start, end in spans:
            if start < end:
                changes.setdefault(start, [0, 0])[kind] += 1
                changes.setdefault(end, [0, 0])[kind] -= 1
    found: list[tuple[int, int, bool, bool]] = []
    depth = [0, 0]
    borders = sorted(changes)
    for start, end in itertools.pairwise(borders):
        depth = [old + change for old, change in zip(depth, changes[start], strict=True)]
        kinds = depth[0] > 0, depth[1] > 0
        if found and found[-1][2:] == kinds:
            found[-1] = (found[-1][0], end, *kinds)
        else:
            found.append((start, end, *kinds))
    return found


def marked(
    text: str, gold: Sequence[Sequence[int]], predicted: Sequence[Sequence[int]], limit: int, table: str
) -> Markup:
    """The text with both kinds of spans marked, up to `limit` characters.

    Marks lie in the line as plain inline elements without padding, so that letters that join go on joining and
    the order of a right-to-left line is that of the text without marks.
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
        more += Markup(' <span class="cut">{} of the marks lie there</span>').format(hidden)
    return Markup('<div class="text"><div dir="auto">{}</div>{}</div>').format(Markup("").join(out), more)
