"""Remove what a sentence only concedes, and recognise verdicts that hold only under a condition.

Examples of concessions: "It may look like a relation error, but sentence is the best fit", "Although the name
changed, …", "ilişki hatası gibi görünse de …", "قد يبدو خطأ علاقة، لكن …", "पहली नज़र में …, लेकिन …". Concessions are
found in folded sentences (`halu_tasks.text.folding`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from halu_tasks.scorers.reading.lexicons import conditions, languages
from halu_tasks.scorers.reading.steps.declining import stated

Says = Callable[[str], bool]
"""Returns whether a string gives an answer."""

_LONGEST = 600
"""Longest sentence that is divided, in characters; no real sentence is longer."""
_MOST = 12
"""Most sentences of a reply that can leave the verdict open; a longer reply discusses the parts of a text."""


def without_declining(sentences: list[str]) -> list[str]:
    """Return the sentences without the clauses that decline to answer."""
    return [
        rest for sentence in sentences for rest in (stated([sentence]) if len(sentence) <= _LONGEST else [sentence])
    ]


def without_concessions(sentences: list[str], says: Says, decides: Says, declares: re.Pattern[str]) -> list[str]:
    """Return the part of each sentence that gives its answer.

    A sentence that begins with "However" and gives an answer replaces the sentence before it, if that one says that
    something only seems so.

    Args:
        sentences: Folded sentences.
        says: Returns whether a string gives an answer.
        decides: Returns whether a string gives an answer as its choice.
        declares: Matches what introduces an answer that is not taken back.
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
        kept.append(_without_concession(sentence, says, decides, declares))
    return kept


def _without_concession(sentence: str, says: Says, decides: Says, declares: re.Pattern[str]) -> str:
    """Return the part of a sentence that gives its answer, or the whole sentence if nothing is conceded.

    1. The part after "but" or a similar word is used if it gives an answer that is not just called possible. In
       addition, the part before must say that something only seems so, or the part after must decide and the part
       before declare no answer. The last such word is tried first.
    2. In "Although …, …", the part after the comma is used if it gives an answer.
    3. In "…, although …", the part before "although" is used if it gives an answer.
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
    """Return whether a reply calls the text right under one condition, wrong under another, never unconditionally."""
    if len(sentences) > _MOST or not any(map(conditions.CONDITION.search, sentences)):
        return False
    verdicts = [verdict for sentence in stated(sentences) for verdict in _verdicts(sentence)]
    return all(conditional for _, conditional in verdicts) and len({negative for negative, _ in verdicts}) == 2


def _verdicts(sentence: str) -> Iterator[tuple[bool, bool]]:
    """Yield for each verdict in a sentence whether it is the negative one, and whether it depends on a condition."""
    follows_condition = depends = False
    for clause in conditions.CLAUSE.split(sentence):
        depends = depends or bool(conditions.DEPENDS.search(clause))
        has_condition = bool(conditions.CONDITION.search(clause))
        for verdict in conditions.SIDE.finditer(clause):
            yield verdict["bad"] is not None, has_condition or follows_condition or depends
        follows_condition = bool(conditions.OPENS.match(clause))
