"""Which type of error a reply names: entity, relation, sentence or none, in English, Arabic, Turkish or Hindi.

HalluVerse25's classification. A reply is folded first (`folding`), and then read in steps; a later step is
tried only when the earlier ones found nothing.

1. A declared verdict, the last one: what stands behind "Answer:", "the error is", "نوع الخطأ:", "Hata türü:",
   "त्रुटि का प्रकार:" and the like, and a first or last line that is nothing but the type or explains it.
2. The type that the last conclusion names ("Therefore …", "لذلك …", "Bu nedenle …", "इसलिए …"), at the start of a
   sentence or behind a comma.
3. The one type that is called the best or right choice ("relation fits better", "الجملة هي الأنسب").
4. The one type that is called an error, a hallucination or a class ("relation error", "خطأ في العلاقة",
   "varlık hatası", "संबंध त्रुटि").
5. The one type that is named at all, in what is no question.
6. The type at the place that the reply gives ("the second option"), in the order in which it lists the types or, if
   it lists none, in the order of the question.

A list that says yes or no of each type ("Entity: No / Relation: Yes", "entity ❌ relation ✅", "Did the entity
change? No. Did the relation change? Yes.") declares the one with a yes. What a sentence only concedes counts for
nothing (`concession`). A negated type ("not an entity error",
"ليس خطأ كيان", "varlık hatası değil", "इकाई त्रुटि नहीं") or an unchanged one is not named, nor are the entities that a
relation is between. Several types in one step are no verdict. "The edited sentence" is no type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.engine import Counted, LabelReader
from halu_tasks.scorers.reading.lexicons import error_type as words
from halu_tasks.scorers.reading.lexicons.languages import CONCLUDES
from halu_tasks.scorers.reading.steps.concession import without_concessions, without_declining
from halu_tasks.scorers.reading.steps.declared import Declared
from halu_tasks.scorers.reading.steps.sentences import joined, matches, past
from halu_tasks.text.folding import fold

ENTITY, RELATION, SENTENCE, NONE = TYPES = words.TYPES
_SEVERAL = "several"
_LONGEST_QUESTION = 120


class _Mark(NamedTuple):
    """A yes or no that a list gives for a type, and where it stands."""

    kind: str
    yes: bool
    start: int
    end: int


def _asked(text: str) -> Iterator[_Mark]:
    """Yield the questions about one type that are answered by yes or no."""
    start = 0
    for found in words.ANSWERED.finditer(text):
        question = words.BOUNDARY.split(text[max(start, found.start() - _LONGEST_QUESTION) : found.start()])[-1]
        kinds = {kind for kind, names in words.ASKED.items() if names.search(question)}
        if len(kinds) > 1:
            kinds.discard(SENTENCE)
        start = found.end()
        if len(kinds) == 1:
            yield _Mark(kinds.pop(), found["yes"] is not None, found.start() - len(question), start)


def _with_verdict(text: str) -> str:
    """Return the text with a list that says yes or no of each type turned into the verdict that the list gives."""
    behind, before = [*words.MARK_BEHIND.finditer(text)], [*words.MARK_BEFORE.finditer(text)]
    marks = before if before and (not behind or before[0].start() < behind[0].start()) else behind
    asked = [*_asked(text)]
    # A question about one type alone may be about the sentence that is judged.
    if len({mark.kind for mark in asked}) > 1:
        found = asked
    else:
        found = [
            _Mark(_marked(mark), bool(mark["check"] or mark.groupdict().get("yes")), mark.start(), mark.end())
            for mark in marks
        ]
    if not found:
        return text
    said = {mark.kind: mark.yes for mark in found}
    kinds = [kind for kind, yes in said.items() if yes]
    verdict = ", ".join(kinds) or (NONE if len(said) == 3 else "")
    starts, ends = [0, *(mark.end for mark in found)], [*(mark.start for mark in found), len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return "\n".join(parts[:-1]) + (f"\nverdict: {verdict}\n" if verdict else "\n") + parts[-1]


def _marked(mark: re.Match[str]) -> str:
    return next(kind for kind in (ENTITY, RELATION, SENTENCE) if mark[kind])


def error_type(reply: str) -> Answer[str]:
    """Return the type of error that the reply names: one of `TYPES`, or no value."""
    return ERROR_TYPE(reply)


def _prepare(text: str) -> str:
    if chinese := words.CHINESE.fullmatch(text):
        return _marked(chinese)
    return _with_verdict(words.GLOSS.sub(_without_gloss, words.TAG.sub(r" \1\2 ", fold(text))))


def _without_gloss(found: re.Match[str]) -> str:
    """Return nothing for a word in parentheses that repeats the type before it: "العلاقة (Relation)"."""
    before = found.string[max(found.start() - 40, 0) : found.start()]
    return "" if words.ENDS_IN[_marked(found)].search(before) else found[0]


def _counted(sentences: list[str]) -> Counted:
    """Return what the sentences say without declining or conceding it."""
    kept = without_declining(sentences)
    return Counted(without_concessions(kept, _says, _decides, words.DECIDED), declined=kept != sentences)


def _settle(declared: Declared, sentences: list[str]) -> Answer[str]:
    return _answer({declared.label}, sentences)


def _infer(sentences: list[str]) -> Answer[str]:
    answer = _answer(_inferred(joined(sentences)), sentences)
    return answer._replace(inferred=answer.value is not None)


def _answer(kinds: set[str], sentences: list[str]) -> Answer[str]:
    """Return the one type of those named, or else the one that the reply names by its place in a list."""
    if len(kinds) == 1 and _SEVERAL not in kinds:
        return Answer(kinds.pop())
    if place := _by_place(sentences):
        return Answer(place, inferred=True)
    return Answer(None, "several types" if kinds else "no verdict")


def _inferred(sentences: list[str]) -> set[str]:
    """Return the types that the last conclusion names, or those called right, or called errors, or named at all."""
    statements = [sentence for sentence in sentences if sentence[-1] != "?"]
    if any(map(_says, statements)):
        sentences = statements
    for sentence in reversed(sentences):
        if CONCLUDES.match(sentence) and (kinds := {kind for kind, _ in _named(sentence)}):
            return kinds
        hence = words.HENCE.split(sentence)[-1]
        if hence != sentence and len(kinds := {kind for kind, _ in _named(hence)}) == 1:
            return kinds
    named = [pair for sentence in sentences for pair in _named(sentence)]
    if right := {kind for sentence in sentences for kind in _best(sentence)}:
        return right
    errors = {kind for kind, called in named if called}
    # "there is no error" may be said of a part
    return errors - {NONE} or errors or {kind for kind, _ in named}


def _by_place(sentences: list[str]) -> str | None:
    """Return the type that the reply names by its place in the list: "the second option"."""
    if any(map(words.COUNTED_SENTENCE.search, sentences)):
        return None
    for sentence in reversed(sentences):
        places = {place for place, nth in words.ORDINALS for found in nth.finditer(sentence) if not _denied(found)}
        if places:
            break
    else:
        return None
    listed: list[str] = []
    for sentence in sentences:
        for found in words.ONE_TYPE.finditer(sentence):
            kind = _marked(found)
            if kind not in listed and not (kind == SENTENCE and words.DESCRIBED.match(sentence, found.end())):
                listed.append(kind)
    if len(listed) < 2:
        listed = [ENTITY, RELATION, SENTENCE]  # as the question lists them
    place = places.pop()
    return listed[place] if not places and place < len(listed) else None


def _denied(found: re.Match[str]) -> bool:
    before = found.string[max(found.start() - 30, 0) : found.start()]
    return bool(words.NEGATED.search(before) or words.NEGATED_AFTER.match(found.string, found.end()))


def _says(text: str) -> bool:
    return any(True for _ in _named(text))


def _decides(text: str) -> bool:
    return any(called for _, called in _named(text)) or any(True for _ in _best(text)) or _introduced(text) is not None


def _best(sentence: str) -> Iterator[str]:
    """Yield the types that the sentence calls the right choice."""
    for found in matches(words.TYPE, sentence):
        if not found[NONE] and _stands(found) and words.CHOSEN.match(sentence, found.end()):
            yield _kind(found)


def _line(text: str, sentences: list[str]) -> str | None:
    """Return the type that a line is or explains; None if several lines open with a type, since they discuss them."""
    kind = _explained(text)
    return kind if kind and {one for one in map(_explained, sentences) if one} == {kind} else None


def _explained(text: str) -> str | None:
    found = words.TYPE.match(text, past(words.FILLER, text))
    if not found or text.endswith("?") or not words.EXPLAINED.fullmatch(text, found.end()):
        return None
    return _introduced(text)


def _introduced(text: str) -> str | None:
    """Return the type that the text begins with, `_SEVERAL` for a list of them, or None."""
    found = words.TYPE.match(text, past(words.FILLER, text))
    if found is None or not _stands(found, introduced=True):
        return None
    kind = _kind(found)
    following = words.TYPE.match(text, past(words.AND, text, found.end()))
    if following and words.KEY.match(text, following.end()):  # "label: relation, entity: Paris"
        return kind
    if following and _kind(following) != kind and _stands(following, introduced=True):
        return _SEVERAL
    return kind


def _kind(found: re.Match[str]) -> str:
    return next(kind for kind in TYPES if found[kind])


def _stands(found: re.Match[str], *, introduced: bool = False) -> bool:
    """Return whether the match names a type: not negated, and no sentence that the reply speaks of."""
    text = found.string
    before = text[max(found.start() - 30, 0) : found.start()]
    if words.NEGATED_AFTER.match(text, found.end()):
        return False
    if found[NONE]:
        return True
    if words.NEGATED.search(before):
        return False
    if words.SEVERAL_ENTITIES.match(found[0]) and (
        words.BETWEEN.search(before) or words.BETWEEN_AFTER.match(text, found.end())
    ):
        return False
    if not found[SENTENCE] or found["after"]:
        return True
    if found["before"]:
        return not words.WHICH.match(text, found.end())
    return not words.DESCRIBED.match(text, found.end()) and bool(introduced or not words.DETERMINED.search(before))


def _named(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield the types that the sentence names, the last one first, and whether each is called an error."""
    if not words.ANY_NAME.search(sentence):  # the whole expression takes ten times as long
        return
    found = [*matches(words.TYPE, sentence)]
    called = [bool(one["before"] or one["after"] or one[NONE]) for one in found]
    joined_by = [
        sentence[one.end() : other.start()] if words.AND.fullmatch(sentence, one.end(), other.start()) else None
        for one, other in pairwise(found)
    ]
    # in "an entity or relation error" both are called so, and in "an entity error or a relation"
    for at in reversed(range(len(joined_by))):
        called[at] = called[at] or (joined_by[at] is not None and called[at + 1])
    for at, by in enumerate(joined_by):
        called[at + 1] = called[at + 1] or (by is not None and called[at] and words.OR.search(by) is not None)
    denied = _denied_together(found, joined_by)
    for one, so, no in zip(reversed(found), reversed(called), reversed(denied), strict=True):
        if not no and _stands(one):
            yield _kind(one), so


def _denied_together(found: list[re.Match[str]], joined_by: list[str | None]) -> list[bool]:
    """Return whether each match is denied with one that it is joined to: "not an entity or a relation".

    In Turkish and Hindi, where the denial stands behind the last, all that are joined to it are.
    """
    denied = [bool(words.NEGATED.search(one.string, max(one.start() - 30, 0), one.start())) for one in found]
    for at, by in enumerate(joined_by):
        denied[at + 1] = denied[at + 1] or (denied[at] and by is not None and words.OR.search(by) is not None)
    behind = [bool(words.NEGATED_AFTER.match(one.string, one.end())) for one in found]
    for at in reversed(range(len(joined_by))):
        by = joined_by[at]
        behind[at] = behind[at] or (behind[at + 1] and by is not None and re.search(r"\w", by) is not None)
    return [not one[NONE] and (before or after) for one, before, after in zip(found, denied, behind, strict=True)]


ERROR_TYPE = LabelReader(
    markers={words.DECLARES: _introduced},
    line=_line,
    infer=_infer,
    prepare=_prepare,
    counted=_counted,
    settle=_settle,
)
"""The type of error that a folded reply names."""
