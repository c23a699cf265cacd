"""What a reply says only in passing: what a sentence concedes, and what holds under a condition only.

"It may look like a relation error, but sentence is the best fit", "Although the name changed, …",
"ilişki hatası gibi görünse de …", "قد يبدو خطأ علاقة، لكن …", "पहली नज़र में …, लेकिन …". Sentences with concessions are
read folded (`folding`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from halu_tasks.scorers.reading.lexicons import conditions, languages
from halu_tasks.scorers.reading.steps.declining import stated

Says = Callable[[str], bool]
"""Whether a text gives an answer."""

_LONGEST = 600
"""Characters of a sentence that is divided; no real one is longer."""
_MOST = 12
"""Sentences of a reply that leaves the verdict open; a longer one discusses the parts of a text."""


def without_declining(sentences: list[str]) -> list[str]:
    """Return the sentences without the clauses that decline to answer."""
    return [kept for one in sentences for kept in (stated([one]) if len(one) <= _LONGEST else [one])]


def without_concessions(sentences: list[str], says: Says, decides: Says, declares: re.Pattern[str]) -> list[str]:
    """Return of each sentence the part that chooses.

    A sentence that begins with "However" and chooses takes back the one before it, if something only seems so in that.

    Args:
        sentences: Folded sentences.
        says: Whether a text gives an answer.
        decides: Whether a text gives an answer as its choice.
        declares: Introduces an answer that is not taken back.
    """
    kept: list[str] = []
    for sentence in sentences:
        turn = languages.TURN.match(sentence)
        if (
            turn
            and kept
            and len(kept[-1]) <= _LONGEST
            and languages.SEEMS.search(kept[-1])
            and says(sentence[turn.end() :])
        ):
            kept.pop()
        kept.append(_chosen(sentence, says, decides, declares))
    return kept


def _chosen(sentence: str, says: Says, decides: Says, declares: re.Pattern[str]) -> str:
    """Return the part of the sentence that chooses; all of it where nothing is conceded.

    What stands behind "but" and the like counts, if it says an answer that is no mere possibility, and if what stands
    before only seems so or the part behind decides; else what stands before "although" or behind its comma. What
    stands before and declares an answer is not taken back, unless it only seems so.
    """
    if len(sentence) > _LONGEST:
        return sentence
    for turn in reversed([*languages.TURN.finditer(sentence)]):
        before, after = sentence[: turn.start()], sentence[turn.end() :].lstrip(" ,;:")
        if not before.strip(" ,;") or not says(after) or languages.POSSIBLE.search(after):
            continue
        if languages.SEEMS.search(sentence, 0, turn.end()) or (decides(after) and not declares.search(before)):
            return after
    leading = languages.LEADING.match(sentence)
    if leading and says(after := sentence[leading.end() :].lstrip()):
        return after
    trailing = languages.TRAILING.search(sentence)
    if trailing and says(before := sentence[: trailing.start()]):
        return before
    return sentence


def left_open(sentences: list[str]) -> bool:
    """Return whether a reply calls the text right under one condition, wrong under another, and neither without one."""
    if len(sentences) > _MOST or not any(map(conditions.CONDITION.search, sentences)):
        return False
    sides = [side for sentence in stated(sentences) for side in _sides(sentence)]
    return all(conditional for _, conditional in sides) and len({bad for bad, _ in sides}) == 2


def _sides(sentence: str) -> Iterator[tuple[bool, bool]]:
    """Yield for each side that a sentence names whether it is the wrong one, and whether it is named conditionally."""
    under = depends = False
    for clause in conditions.CLAUSE.split(sentence):
        depends = depends or bool(conditions.DEPENDS.search(clause))
        here = bool(conditions.CONDITION.search(clause))
        for found in conditions.SIDE.finditer(clause):
            yield found["bad"] is not None, here or under or depends
        under = bool(conditions.OPENS.match(clause))
