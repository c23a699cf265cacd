"""Read ReFACT's tagged answers: the changed spans, and the strings that they replaced."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial

from halu_tasks.text.spans import Span

Alignments = dict[int, tuple[float, list[Span]]]

_TAG = re.compile(r"</?(?:neg|swap)>")
_TAGGED = re.compile(r"<(neg|swap)>(.*?)</\1>", re.DOTALL)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_SPACE = re.compile(r"\s+")
_NO_FIT = "the text between the tags does not occur in order in the correct answer"
_CUT_WORD = 4  # the cost of aligning a segment with the middle of a word, in characters of length difference


# a row is checked before an item is made of it, by the same functions
@lru_cache(maxsize=1)
def tagged_spans(tagged: str) -> tuple[str, list[Span]]:
    """Return an `error_spans` field without `<neg>…</neg>` and `<swap>…</swap>`, and the tagged spans.

    Returns:
        The text without tags, and the spans as code-point offsets [start, end) in it, in order.

    Raises:
        ValueError: A tag is not closed, not opened, nested, or closed by the other tag.
    """
    text, spans, read = "", list[Span](), 0
    for tagged_text in _TAGGED.finditer(tagged):
        text += tagged[read : tagged_text.start()]
        spans.append((len(text), len(text) + len(tagged_text[2])))
        text += tagged_text[2]
        read = tagged_text.end()
    text += tagged[read:]
    if tag := _TAG.search(text):
        raise ValueError(f"{tag[0]} at character {tag.start()} has no partner, or is inside another tag")
    return text, spans


@lru_cache(maxsize=1)
def original_strings(tagged: str, correct_answer: str, *, leftmost: bool = False) -> list[str]:
    """Return the strings of the correct answer that the tagged spans replaced.

    The text between the tags is aligned with the correct answer, ignoring white space. Several alignments may fit,
    since a segment such as "of" occurs often. The alignment is used whose originals differ least in length from their
    spans and which does not cut words.

    Args:
        tagged: The answer with tags.
        correct_answer: The answer before the change.
        leftmost: Use the alignment in which each segment comes as early as possible. The published correction figures
            are based on it. If only white space separates two spans, the first gets an empty original and the second
            gets both.

    Returns:
        One string per span, in order, stripped.

    Raises:
        ValueError: No alignment fits, or a tag is invalid.
    """
    text, spans = tagged_spans(tagged)
    if not spans:
        return []
    edges = [0, *(edge for span in spans for edge in span), len(text)]
    segments = [_SPACE.sub("", text[a:b]) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    lengths = [len(_SPACE.sub("", text[a:b])) for a, b in spans]
    answer, positions = _without_space(correct_answer)
    if not answer.startswith(segments[0]) or not answer.endswith(segments[-1]):
        raise ValueError("the text around the tags does not begin and end as the correct answer does")

    first, last = len(segments[0]), len(answer) - len(segments[-1])
    ends = first, last
    if leftmost:
        gaps = _leftmost_gaps(answer, segments[1:-1], ends)
    else:
        # A place inside a word has no cost if the tag is inside a word, too.
        cuts_word = partial(_cuts_word, correct_answer, positions)
        tags_cut = [text[edge - 1 : edge].isalnum() and text[edge : edge + 1].isalnum() for edge in edges]
        cuts = list(zip(tags_cut[2:-2:2], tags_cut[3:-1:2], strict=True))
        gaps = _closest_gaps(answer, segments[1:-1], cuts, ends, lengths, cuts_word)
    return [correct_answer[positions[a] : positions[b - 1] + 1] if a < b else "" for a, b in gaps]


@lru_cache(maxsize=1)
def _without_space(text: str) -> tuple[str, list[int]]:
    """Return a text without white space, and the position of each of its characters."""
    return "".join(text.split()), [i for i, char in enumerate(text) if not char.isspace()]


def nearest_originals(tagged: str, correct_answer: str) -> list[str]:
    """Return the strings that the spans replaced, as `original_strings`, if the text differs elsewhere, too.

    Rows of `refact_single_error.jsonl` tag one of several changes, so the text between the tags does not align. Words
    and signs are aligned by longest common subsequence, and a span's original is what it is aligned with.

    Raises:
        ValueError: A span is aligned with nothing, or a tag is invalid.
    """
    from rapidfuzz.distance import Indel  # has forty modules, and few rows need it

    text, spans = tagged_spans(tagged)
    ours, theirs = list(_TOKEN.finditer(text)), list(_TOKEN.finditer(correct_answer))
    steps = Indel.opcodes([token[0] for token in ours], [token[0] for token in theirs])
    originals: list[str] = []
    for start, end in spans:
        inside = [number for number, token in enumerate(ours) if token.end() > start and token.start() < end]
        against: list[int] = []
        for step in steps if inside else ():
            first, last = max(step.src_start, inside[0]), min(step.src_end, inside[-1] + 1)
            if step.tag == "equal":
                shift = step.dest_start - step.src_start
                against += range(first + shift, last + shift)
            elif first <= last:
                against += range(step.dest_start, step.dest_end)
        if not against:
            raise ValueError(f"no part of the correct answer corresponds to the span at {start}")
        originals.append(correct_answer[theirs[against[0]].start() : theirs[against[-1]].end()])
    return originals


def _leftmost_gaps(answer: str, segments: list[str], ends: Span) -> list[Span]:
    """Return the gaps between segments if each segment comes as early as possible between `ends`."""
    gaps, (end, last) = list[Span](), ends
    for segment in segments:
        start = answer.find(segment, end, last)
        if start < 0:
            raise ValueError(_NO_FIT)
        gaps.append((end, start))
        end = start + len(segment)
    if end > last:
        raise ValueError(_NO_FIT)
    return [*gaps, (end, last)]


def _closest_gaps(
    answer: str,
    segments: list[str],
    cuts: list[tuple[bool, bool]],
    ends: Span,
    lengths: list[int],
    cuts_word: Callable[[int], bool],
) -> list[Span]:
    """Return the gaps between segments whose lengths differ least in sum from `lengths`.

    Args:
        answer: The correct answer without white space.
        segments: The text between the spans, without white space.
        cuts: For each segment, whether its start and its end are inside words in the tagged text.
        ends: Where the first gap begins and the last gap ends.
        lengths: The lengths of the spans.
        cuts_word: Returns whether a place in the answer is inside a word.
    """
    first, last = ends
    # the cheapest alignment of the segments so far, by where the last one ends: its cost and its gaps
    best: Alignments = {first: (0.0, [])}
    for segment, length, (starts_cut, ends_cut) in zip(segments, lengths[:-1], cuts, strict=True):
        reached: Alignments = {}
        at = answer.find(segment, first, last)
        while at >= 0:
            if extended := _extended(best, at, length):
                cost, gaps = extended
                end = at + len(segment)
                cut = (cuts_word(at) and not starts_cut) + (cuts_word(end) and not ends_cut)
                reached[end] = cost + _CUT_WORD * cut, gaps
            at = answer.find(segment, at + 1, last)
        best = reached
    complete = _extended(best, last, lengths[-1])
    if not complete:
        raise ValueError(_NO_FIT)
    return complete[1]


def _extended(best: Alignments, at: int, length: int) -> tuple[float, list[Span]] | None:
    """Return the cheapest alignment whose next gap, which replaces a span of this length, ends at a place.

    Of several, it is the one with the longest gap that is not shorter than the span, or else with the shortest gap.
    """
    costs = ((cost + abs(at - end - length), at - end < length, end) for end, (cost, _) in best.items() if end <= at)
    cost, _, end = min(costs, key=lambda each: (each[0], each[1], -each[2] if each[1] else each[2]), default=(0, 0, -1))
    return None if end < 0 else (cost, [*best[end][1], (end, at)])


def _cuts_word(text: str, positions: list[int], place: int) -> bool:
    """Return whether a place in the text without white space, whose characters are at these positions, is in a word."""
    if not 0 < place < len(positions):
        return False
    before, after = positions[place - 1], positions[place]
    return after == before + 1 and text[before : after + 1].isalnum()
