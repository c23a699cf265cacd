"""Read the type of error that a reply names: entity, relation, sentence or none.

This is HalluVerse25's classification. Replies may be in English, Arabic, Turkish or Hindi. A reply is folded first
(`folding`) and then read in steps. A step is tried only if the steps before it find nothing.

1. The last declared verdict: the type after "Answer:", "the error is", "نوع الخطأ:", "Hata türü:", "त्रुटि का प्रकार:"
   and similar markers, or a first or last line that contains only the type or explains it.
2. The type that the last conclusion names ("Therefore …", "لذلك …", "Bu nedenle …", "इसलिए …"), at the start of a
   sentence or after a comma.
3. The only type that is called the best or right choice ("relation fits better", "الجملة هي الأنسب").
4. The only type that is called an error, a hallucination or a class ("relation error", "خطأ في العلاقة",
   "varlık hatası", "संबंध त्रुटि").
5. The only type that is named at all outside questions.
6. The type at the place that the reply gives ("the second option"). The place refers to the order in which the reply
   lists the types or, if it lists none, to their order in the question.

A list with a yes or no for each type ("Entity: No / Relation: Yes", "entity ❌ relation ✅", "Did the entity change?
No. Did the relation change? Yes.") declares the type with a yes. What a sentence only concedes is ignored
(`concession`).
A type that is negated ("not an entity error", "ليس خطأ كيان", "varlık hatası değil", "इकाई त्रुटि नहीं") or unchanged is
not read as named, and neither are the entities that a relation is between. A step that finds several types gives no
verdict. "The edited sentence" is not read as a type.
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
_MAX_QUESTION_LENGTH = 120


class _Mark(NamedTuple):
    """The yes or no that a list gives for a type, and its position in the text."""

    kind: str
    yes: bool
    start: int
    end: int


def _find_answered_questions(text: str) -> Iterator[_Mark]:
    """Yield the questions about a single type that are answered by yes or no."""
    start = 0
    for answer in words.ANSWERED.finditer(text):
        question = words.BOUNDARY.split(text[max(start, answer.start() - _MAX_QUESTION_LENGTH) : answer.start()])[-1]
        kinds = {kind for kind, names in words.ASKED.items() if names.search(question)}
        if len(kinds) > 1:
            kinds.discard(SENTENCE)
        start = answer.end()
        if len(kinds) == 1:
            yield _Mark(kinds.pop(), answer["yes"] is not None, answer.start() - len(question), start)


def _replace_list(text: str) -> str:
    """Return the text with a list that gives a yes or no for each type replaced by the verdict that it declares."""
    behind, before = [*words.MARK_BEHIND.finditer(text)], [*words.MARK_BEFORE.finditer(text)]
    matched = before if before and (not behind or before[0].start() < behind[0].start()) else behind
    questions = [*_find_answered_questions(text)]
    # Questions about only one type may be about the sentence that is judged.
    if len({mark.kind for mark in questions}) > 1:
        marks = questions
    else:
        marks = [
            _Mark(_marked_type(mark), bool(mark["check"] or mark.groupdict().get("yes")), mark.start(), mark.end())
            for mark in matched
        ]
    if not marks:
        return text
    answers = {mark.kind: mark.yes for mark in marks}
    kinds = [kind for kind, yes in answers.items() if yes]
    verdict = ", ".join(kinds) or (NONE if len(answers) == 3 else "")
    starts, ends = [0, *(mark.end for mark in marks)], [*(mark.start for mark in marks), len(text)]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return "\n".join(parts[:-1]) + (f"\nverdict: {verdict}\n" if verdict else "\n") + parts[-1]


def _marked_type(match: re.Match[str]) -> str:
    return next(kind for kind in (ENTITY, RELATION, SENTENCE) if match[kind])


def error_type(reply: str) -> Answer[str]:
    """Return the type of error that the reply names, one of `TYPES`; the value is None if it names none."""
    return ERROR_TYPE(reply)


def _prepare(text: str) -> str:
    if chinese := words.CHINESE.fullmatch(text):
        return _marked_type(chinese)
    return _replace_list(words.GLOSS.sub(_drop_gloss, words.TAG.sub(r" \1\2 ", fold(text))))


def _drop_gloss(gloss: re.Match[str]) -> str:
    """Return "" for a word in parentheses that repeats the type before it ("العلاقة (Relation)"), else the match."""
    before = gloss.string[max(gloss.start() - 40, 0) : gloss.start()]
    return "" if words.ENDS_IN[_marked_type(gloss)].search(before) else gloss[0]


def _keep_assertions(sentences: list[str]) -> Counted:
    """Return the sentences without what declines to answer or is only conceded."""
    assertions = without_declining(sentences)
    return Counted(
        without_concessions(assertions, _names_type, _chooses_type, words.DECIDED), declined=assertions != sentences
    )


def _settle(declared: Declared, sentences: list[str]) -> Answer[str]:
    return _single_type({declared.label}, sentences)


def _infer(sentences: list[str]) -> Answer[str]:
    answer = _single_type(_infer_types(joined(sentences)), sentences)
    return answer._replace(inferred=answer.value is not None)


def _single_type(kinds: set[str], sentences: list[str]) -> Answer[str]:
    """Return the type if `kinds` has exactly one, or else the type that the reply gives by its place in a list."""
    if len(kinds) == 1 and _SEVERAL not in kinds:
        return Answer(kinds.pop())
    if kind_at_place := _read_place(sentences):
        return Answer(kind_at_place, inferred=True)
    return Answer(None, "several types" if kinds else "no verdict")


def _infer_types(sentences: list[str]) -> set[str]:
    """Return the types that the last conclusion names, or are called right, or are called errors, or are named."""
    statements = [sentence for sentence in sentences if sentence[-1] != "?"]
    if any(map(_names_type, statements)):
        sentences = statements
    for sentence in reversed(sentences):
        if CONCLUDES.match(sentence) and (kinds := {kind for kind, _ in _find_types(sentence)}):
            return kinds
        conclusion = words.HENCE.split(sentence)[-1]
        if conclusion != sentence and len(kinds := {kind for kind, _ in _find_types(conclusion)}) == 1:
            return kinds
    named = [pair for sentence in sentences for pair in _find_types(sentence)]
    if right := {kind for sentence in sentences for kind in _find_best(sentence)}:
        return right
    errors = {kind for kind, called_error in named if called_error}
    # "There is no error" may be about a part only.
    return errors - {NONE} or errors or {kind for kind, _ in named}


def _read_place(sentences: list[str]) -> str | None:
    """Return the type that the reply gives by its place in the list ("the second option"), or None."""
    if any(map(words.COUNTED_SENTENCE.search, sentences)):
        return None
    for sentence in reversed(sentences):
        places = {
            place for place, ordinal in words.ORDINALS for match in ordinal.finditer(sentence) if not _is_negated(match)
        }
        if places:
            break
    else:
        return None
    listed: list[str] = []
    for sentence in sentences:
        for match in words.ONE_TYPE.finditer(sentence):
            kind = _marked_type(match)
            if kind not in listed and not (kind == SENTENCE and words.DESCRIBED.match(sentence, match.end())):
                listed.append(kind)
    if len(listed) < 2:
        listed = [ENTITY, RELATION, SENTENCE]  # the order of the question
    place = places.pop()
    return listed[place] if not places and place < len(listed) else None


def _is_negated(match: re.Match[str]) -> bool:
    before = match.string[max(match.start() - 30, 0) : match.start()]
    return bool(words.NEGATED.search(before) or words.NEGATED_AFTER.match(match.string, match.end()))


def _names_type(text: str) -> bool:
    return any(True for _ in _find_types(text))


def _chooses_type(text: str) -> bool:
    return (
        any(called_error for _, called_error in _find_types(text))
        or any(True for _ in _find_best(text))
        or _read_introduced(text) is not None
    )


def _find_best(sentence: str) -> Iterator[str]:
    """Yield the types that the sentence calls the right choice."""
    for match in matches(words.TYPE, sentence):
        if not match[NONE] and _is_named(match) and words.CHOSEN.match(sentence, match.end()):
            yield _matched_type(match)


def _read_line(text: str, sentences: list[str]) -> str | None:
    """Return the type that a line consists of or explains.

    None if it has none, or if several lines begin with different types, because such lines discuss the types.
    """
    kind = _read_explained(text)
    return kind if kind and {other for other in map(_read_explained, sentences) if other} == {kind} else None


def _read_explained(text: str) -> str | None:
    match = words.TYPE.match(text, past(words.FILLER, text))
    if not match or text.endswith("?") or not words.EXPLAINED.fullmatch(text, match.end()):
        return None
    return _read_introduced(text)


def _read_introduced(text: str) -> str | None:
    """Return the type that the text begins with; `_SEVERAL` for a list of types; None if it begins with none."""
    match = words.TYPE.match(text, past(words.FILLER, text))
    if match is None or not _is_named(match, introduced=True):
        return None
    kind = _matched_type(match)
    following = words.TYPE.match(text, past(words.AND, text, match.end()))
    if following and words.KEY.match(text, following.end()):  # "label: relation, entity: Paris"
        return kind
    if following and _matched_type(following) != kind and _is_named(following, introduced=True):
        return _SEVERAL
    return kind


def _matched_type(match: re.Match[str]) -> str:
    return next(kind for kind in TYPES if match[kind])


def _is_named(match: re.Match[str], *, introduced: bool = False) -> bool:
    """Return whether a match names a type.

    It does not if it is negated, or if it is an entity or a sentence that the reply is about.

    Args:
        match: A match of `words.TYPE`.
        introduced: Whether the match follows a marker or begins a line.
    """
    text = match.string
    before = text[max(match.start() - 30, 0) : match.start()]
    if words.NEGATED_AFTER.match(text, match.end()):
        return False
    if match[NONE]:
        return True
    if words.NEGATED.search(before):
        return False
    if words.SEVERAL_ENTITIES.match(match[0]) and (
        words.BETWEEN.search(before) or words.BETWEEN_AFTER.match(text, match.end())
    ):
        return False
    if not match[SENTENCE] or match["after"]:
        return True
    if match["before"]:
        return not words.WHICH.match(text, match.end())
    return not words.DESCRIBED.match(text, match.end()) and bool(introduced or not words.DETERMINED.search(before))


def _find_types(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield the types that the sentence names, in reverse order, and whether each is called an error."""
    if not words.ANY_NAME.search(sentence):  # matching `words.TYPE` takes ten times as long
        return
    type_matches = [*matches(words.TYPE, sentence)]
    called_error = [bool(match["before"] or match["after"] or match[NONE]) for match in type_matches]
    joined_by = [
        sentence[one.end() : other.start()] if words.AND.fullmatch(sentence, one.end(), other.start()) else None
        for one, other in pairwise(type_matches)
    ]
    # Both types are called errors in "an entity or relation error", and in "an entity error or a relation".
    for index in reversed(range(len(joined_by))):
        called_error[index] = called_error[index] or (joined_by[index] is not None and called_error[index + 1])
    for index, conjunction in enumerate(joined_by):
        called_error[index + 1] = called_error[index + 1] or (
            conjunction is not None and called_error[index] and words.OR.search(conjunction) is not None
        )
    negated = _find_negated(type_matches, joined_by)
    for match, is_error, is_negated in zip(
        reversed(type_matches), reversed(called_error), reversed(negated), strict=True
    ):
        if not is_negated and _is_named(match):
            yield _matched_type(match), is_error


def _find_negated(type_matches: list[re.Match[str]], joined_by: list[str | None]) -> list[bool]:
    """Return whether each match is negated, itself or with one that it is joined to: "not an entity or a relation".

    In Turkish and Hindi the negation follows the last type and applies to all types that a word joins to it.

    Args:
        type_matches: The matches of `words.TYPE` in a sentence.
        joined_by: The text between each match and the next one if it joins them, else None.
    """
    before = [bool(words.NEGATED.search(one.string, max(one.start() - 30, 0), one.start())) for one in type_matches]
    for index, conjunction in enumerate(joined_by):
        before[index + 1] = before[index + 1] or (
            before[index] and conjunction is not None and words.OR.search(conjunction) is not None
        )
    after = [bool(words.NEGATED_AFTER.match(one.string, one.end())) for one in type_matches]
    for index in reversed(range(len(joined_by))):
        conjunction = joined_by[index]
        after[index] = after[index] or (
            after[index + 1] and conjunction is not None and re.search(r"\w", conjunction) is not None
        )
    return [
        not match[NONE] and (negated_before or negated_after)
        for match, negated_before, negated_after in zip(type_matches, before, after, strict=True)
    ]


ERROR_TYPE = LabelReader(
    markers={words.DECLARES: _read_introduced},
    line=_read_line,
    infer=_infer,
    prepare=_prepare,
    counted=_keep_assertions,
    settle=_settle,
)
"""Reads the type of error that a folded reply names."""
