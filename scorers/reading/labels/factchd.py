"""Whether a reply calls an answer FACTUAL or NON-FACTUAL, and how it explains that: FactCHD's label.

The label is read in the text itself, with its capitals and marks; a reply without one is read as true or false
(`truth`).
"""

from __future__ import annotations

import re
from itertools import islice

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.reading.labels.truth import SECOND_THOUGHT, TRUTH
from halu_tasks.scorers.reading.lexicons import factchd as words
from halu_tasks.scorers.reading.steps.concession import left_open
from halu_tasks.scorers.reading.steps.sentences import ends, sentences_of

FACTUAL, NON_FACTUAL = LABELS = ("FACTUAL", "NON-FACTUAL")
BEHIND_LABEL = " .,;:'\"\n"
"""What may stand between a label and its explanation."""


def read(reply: str) -> tuple[Answer[str], str]:
    """Return the label of a reply and its explanation, which is the reply without reasoning blocks and label.

    A label behind "final verdict" or "verdict" counts first, the last of them; then the label that the reply
    begins with, also behind "Output:", "Response:", "FACTS:" and marks; then the last label that is stated
    anywhere, in capitals or by a word such as "is". "Not factual" is NON-FACTUAL, and "FACTUAL or NON-FACTUAL"
    no label; nor is what is said of a part of the answer or of what it might have said. A reply without a label
    counts by its verdict in other words ("The answer is incorrect"), and abstains if it declines to give one.
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
    label = _chosen(text) or _corrected(sentences)
    if label is None:
        stated, declared = _anywhere(text)
        label = declared or opening or stated
    answer = Answer(label) if label else _in_other_words(text)
    return answer, explanation


def _chosen(text: str) -> str | None:
    """Return the label that a list marks as the one of both, or that is chosen by its place in the question."""
    marked = list(islice(words.MARKED.finditer(text), 3))
    said = {bool(found["n"] or found["m"]): bool(found["before"] or found["behind"]) for found in marked}
    if len(marked) == len(said) == 2 and said[True] != said[False]:
        return NON_FACTUAL if said[True] else FACTUAL
    if (place := words.BY_PLACE.search(text)) is not None:
        return NON_FACTUAL if bool(place["non"]) == bool(place["first"]) else FACTUAL
    return None


def _corrected(sentences: list[str]) -> str | None:
    """Return the label that the reply corrects itself to."""
    later = "\n".join(next(SECOND_THOUGHT.parts(sentences), []))
    stated, declared = _anywhere(later)
    return declared or at_start(later)[0] or stated


def _in_other_words(text: str) -> Answer[str]:
    """Return the label of a text that gives its verdict without the words of the labels."""
    sentences = sentences_of(text)
    if not sentences:
        return Answer(None, "no label")
    answer = TRUTH.read(sentences)
    if answer.abstained:
        return answer
    if words.EITHER.search(text):
        return Answer(None, "no label")
    said = answer.value or _supported(sentences[0]) or _supported(sentences[-1])
    return Answer(FACTUAL if said == "True" else NON_FACTUAL, inferred=True) if said else Answer(None, "no label")


def _supported(sentence: str) -> str | None:
    """Return the verdict of a sentence that tells of support ("The claim is supported by the data.")."""
    supported = words.SUPPORTED.search(sentence)
    return supported and ("True" if bool(supported["good"]) != bool(supported["not"]) else "False")


def at_start(text: str) -> tuple[str | None, str]:
    """Return the label that a text begins with, and what follows it; None and the whole text where it does not."""
    prefix = words.PREFIX.match(text)
    start = prefix.end() if prefix else 0
    found = words.AT_START.match(text, start)
    if not found or words.EITHER.match(text, found.start("non") if found["non"] else found.start("word")):
        return None, text
    behind = text[found.end() : found.end() + 60]
    shouted = found["word"].isupper()
    if words.ANSWERED_NO.match(behind):
        return None, text
    if found["word"].lower() == "facts" and not (shouted and "facts" in text[:start].lower()):
        return None, text
    if not shouted and behind[:1].isspace() and words.QUALIFIES.match(behind):
        return None, text
    rest = text[found.end() :].lstrip(BEHIND_LABEL + "*_`)]}>-–—#\t\r")
    return NON_FACTUAL if found["non"] else FACTUAL, rest


def _anywhere(text: str) -> tuple[str | None, str | None]:
    """Return the last label stated in a text, and the last that stands behind a final verdict."""
    stated: str | None = None
    declared: str | None = None
    labels = list(words.ANYWHERE.finditer(text))
    skipped = [match.span() for match in words.EITHER.finditer(text)] if len(labels) > 1 else []
    at = 0
    for found in labels:
        while at < len(skipped) and skipped[at][1] <= found.start():
            at += 1
        if at < len(skipped) and skipped[at][0] <= found.start():
            continue
        before = text[max(found.start() - 120, 0) : found.start()]
        behind = text[found.end() : found.end() + 60]
        non = words.NON_BEFORE.search(before)
        if not non and before[-1:].isalnum():
            continue
        before = before[: non.start()] if non else before
        negative = non is not None
        shouted = found[0].isupper()
        negated = bool(words.NEGATED.search(before)) != bool(words.ANSWERED_NO.match(behind))
        if (not shouted and words.QUALIFIES.match(behind)) or words.NOT_CHOSEN.search(before):
            continue
        if not (shouted or negative or negated or words.STATED.search(before) or _alone(before, behind)):
            continue
        made = words.WOULD_MAKE.search(before)
        if _is_aside(before, behind) or (made and (stated or not made["which"])):
            continue
        stated = FACTUAL if negative == negated else NON_FACTUAL
        if words.DECLARED.search(before):
            declared = stated
    return stated, declared


def _is_aside(before: str, behind: str) -> bool:
    """Return whether the label between these says nothing of the answer as it stands."""
    if words.PURPOSE.search(before) or words.IN_A_VIEW.search(before):
        return True
    if words.ATTRIBUTE.search(before) and words.ATTRIBUTED.match(behind):
        return True
    sentence = before[max(before.rfind(mark) for mark in ".;\n") + 1 :]
    supposed = words.SUPPOSED.search(sentence)
    rest = re.split(r"[.;\n]", behind, maxsplit=1)[0]
    if supposed and (words.CONDITION.search(sentence) or words.CONDITION.search(rest)):
        return True
    clause = sentence[max((found.end() for found in words.CLAUSE.finditer(sentence)), default=0) :]
    return words.PART.search(clause) is not None


def _alone(before: str, behind: str) -> bool:
    """Return whether the word between these is a line of its own."""
    line_before, line_behind = before.rpartition("\n")[2], behind.partition("\n")[0]
    return not re.search(r"\w", line_before + line_behind)
