"""Read FactCHD's label from a reply: FACTUAL or NON-FACTUAL, with the explanation.

The label is read from the text as it is, with its capitals and marks. A reply without a label is read as true or false
(`truth`).
"""

from __future__ import annotations

import re
from itertools import islice

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.truth import SECOND_THOUGHT, TRUTH
from halu_tasks.scorers.reading.lexicons import factchd as words
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.steps.concession import left_open
from halu_tasks.scorers.reading.steps.sentences import ends, sentences_of

FACTUAL, NON_FACTUAL = LABELS = ("FACTUAL", "NON-FACTUAL")
BEHIND_LABEL = " .,;:'\"\n"
"""The characters that may separate a label from its explanation."""


def read(reply: str) -> tuple[Answer[str], str]:
    """Return the label of a reply and its explanation, which is the reply without reasoning blocks and label.

    The first of these labels that the reply has is returned:

    1. The label that a list of both labels marks, or that the reply chooses by its place in the question ("FACTUAL or
       NON-FACTUAL? I'd say the latter.").
    2. The label to which the reply corrects itself ("Wait, …").
    3. The last label after "final verdict" or "verdict".
    4. The label that the reply begins with, also after "Output:", "Response:", "FACTS:" and marks.
    5. The last label that is stated anywhere, in capitals or by a word such as "is".
    6. The verdict in other words ("The answer is incorrect").

    "Not factual" is NON-FACTUAL. "FACTUAL or NON-FACTUAL" is not a label, and neither is a label of a part of the
    answer or of what the answer might have said. A reply that calls the answer right under one condition and wrong
    under another has no label. A reply without a label abstains if it declines to give one.
    """
    text = strip_reasoning(reply)
    if text is None:
        return Answer(None, "unclosed reasoning"), ""
    text = ends(text.strip("\ufeff \t\r\n"))
    if not text:
        return Answer(None, "empty"), ""
    opening, explanation = at_start(text)
    sentences = sentences_of(text)
    if left_open(sentences):
        return Answer(None, "left open"), explanation
    label = _read_marked(text) or _read_correction(sentences)
    if label is None:
        stated, declared = _find_stated(text)
        label = declared or opening or stated
    answer = Answer(label) if label else _read_other_words(text)
    return answer, explanation


def _read_marked(text: str) -> str | None:
    """Return the label that a list of both labels marks, or that is chosen by its place in the question; or None."""
    marks = list(islice(words.MARKED.finditer(text), 3))
    ticked = {bool(mark["n"] or mark["m"]): bool(mark["before"] or mark["behind"]) for mark in marks}
    if len(marks) == len(ticked) == 2 and ticked[True] != ticked[False]:
        return NON_FACTUAL if ticked[True] else FACTUAL
    if (place := words.BY_PLACE.search(text)) is not None:
        return NON_FACTUAL if bool(place["non"]) == bool(place["first"]) else FACTUAL
    return None


def _read_correction(sentences: list[str]) -> str | None:
    """Return the label to which the reply corrects itself, or None."""
    correction = "\n".join(next(SECOND_THOUGHT.parts(sentences), []))
    stated, declared = _find_stated(correction)
    return declared or at_start(correction)[0] or stated


def _read_other_words(text: str) -> Answer[str]:
    """Return the label of a text that gives its verdict without the words of the labels."""
    sentences = sentences_of(text)
    if not sentences:
        return Answer(None, "no label")
    answer = TRUTH.read(sentences)
    if answer.abstained:
        return answer
    if words.EITHER.search(text):
        return Answer(None, "no label")
    truth = answer.value or _read_support(sentences[0]) or _read_support(sentences[-1])
    return Answer(FACTUAL if truth == "True" else NON_FACTUAL, inferred=True) if truth else Answer(None, "no label")


def _read_support(sentence: str) -> str | None:
    """Return "True" or "False" for a sentence about support ("The claim is supported by the data."), or None."""
    supported = words.SUPPORTED.search(sentence)
    return supported and ("True" if bool(supported["good"]) != bool(supported["not"]) else "False")


def at_start(text: str) -> tuple[str | None, str]:
    """Return the label that a text begins with and the rest of the text; None and the whole text if there is none."""
    prefix = words.PREFIX.match(text)
    start = prefix.end() if prefix else 0
    label = words.AT_START.match(text, start)
    if not label or words.EITHER.match(text, label.start("non") if label["non"] else label.start("word")):
        return None, text
    after = text[label.end() : label.end() + 60]
    is_upper = label["word"].isupper()
    if words.ANSWERED_NO.match(after):
        return None, text
    if label["word"].lower() == "facts" and not (is_upper and "facts" in text[:start].lower()):
        return None, text
    if not is_upper and after[:1].isspace() and words.QUALIFIES.match(after):
        return None, text
    rest = text[label.end() :].lstrip(BEHIND_LABEL + "*_`)]}>-–—#\t\r")
    return NON_FACTUAL if label["non"] else FACTUAL, rest


def _find_stated(text: str) -> tuple[str | None, str | None]:
    """Return the last label that a text states, and the last one after a marker such as "final verdict"."""
    stated: str | None = None
    declared: str | None = None
    labels = list(words.ANYWHERE.finditer(text))
    either_spans = [match.span() for match in words.EITHER.finditer(text)] if len(labels) > 1 else []
    position = 0
    for label in labels:
        while position < len(either_spans) and either_spans[position][1] <= label.start():
            position += 1
        if position < len(either_spans) and either_spans[position][0] <= label.start():
            continue
        before = text[max(label.start() - 120, 0) : label.start()]
        after = text[label.end() : label.end() + 60]
        non = words.NON_BEFORE.search(before)
        if not non and before[-1:].isalnum():
            continue
        before = before[: non.start()] if non else before
        negative = non is not None
        is_upper = label[0].isupper()
        negated = bool(words.NEGATED.search(before)) != bool(words.ANSWERED_NO.match(after))
        if (not is_upper and words.QUALIFIES.match(after)) or words.NOT_CHOSEN.search(before):
            continue
        if not (is_upper or negative or negated or words.STATED.search(before) or _is_own_line(before, after)):
            continue
        would_make = words.WOULD_MAKE.search(before)
        if _is_aside(before, after) or (would_make and (stated or not would_make["which"])):
            continue
        stated = FACTUAL if negative == negated else NON_FACTUAL
        if words.DECLARED.search(before):
            declared = stated
    return stated, declared


def _is_aside(before: str, after: str) -> bool:
    """Return whether a label makes no statement about the given answer.

    Such a label states a purpose or another person's view, or is about a supposed answer or a part of the answer.

    Args:
        before: The text before the label.
        after: The text after the label.
    """
    if words.PURPOSE.search(before) or words.IN_A_VIEW.search(before):
        return True
    if words.ATTRIBUTE.search(before) and words.ATTRIBUTED.match(after):
        return True
    sentence = before[max(before.rfind(mark) for mark in ".;\n") + 1 :]
    supposed = words.SUPPOSED.search(sentence)
    rest = re.split(r"[.;\n]", after, maxsplit=1)[0]
    if supposed and (words.CONDITION.search(sentence) or words.CONDITION.search(rest)):
        return True
    clause = sentence[max((boundary.end() for boundary in words.CLAUSE.finditer(sentence)), default=0) :]
    return words.PART.search(clause) is not None


def _is_own_line(before: str, after: str) -> bool:
    """Return whether the label between `before` and `after` is alone on its line."""
    line_before, line_after = before.rpartition("\n")[2], after.partition("\n")[0]
    return not re.search(r"\w", line_before + line_after)
