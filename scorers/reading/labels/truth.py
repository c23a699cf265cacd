"""Read true or false from a reply in English: `true_false`. The rules are listed in `verdict`."""

from __future__ import annotations

import re
from itertools import pairwise

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.engine import LabelReader, SecondThought, first, inferred
from halu_tasks.scorers.reading.lexicons import truth as words
from halu_tasks.scorers.reading.lexicons.declared import CONCLUDES, DECLARED
from halu_tasks.scorers.reading.steps.declining import declining, stated
from halu_tasks.scorers.reading.steps.rewording import reworded
from halu_tasks.scorers.reading.steps.sentences import REACH, clauses, joined, matches

_MAX_SHORT_REPLY = 8
"""Maximum number of sentences of a reply that may give its verdict in passing; a longer one discusses the parts."""


def true_false(reply: str) -> Answer[str]:
    """Return "True" if a reply in English calls a text factual, "False" if not; the value is None if neither.

    Used for ReFACT's independent judgment. The label is also "False" if the reply only says that the text contains
    inaccuracies.
    """
    return TRUTH(reply)


def label(good: bool) -> str:
    """Return the label of a verdict: "True" or "False"."""
    return "True" if good else "False"


def read_truth(text: str) -> str | None:
    """Return the label that `text` begins with, or None."""
    verdict = words.VALUE.match(text)
    if verdict is None and (mark := words.MARK.match(text)):
        return label(mark["true"] is not None)
    if verdict is None:
        faults = words.CONTAINS.match(text)
        return label(faults["no"] is not None) if faults else None
    if verdict["false"]:
        return label(verdict["not"] is not None)
    if words.ECHO.match(text, verdict.end()):
        return None
    if verdict["true"].lower() != "true" and words.BUT_FAULTY.search(text, verdict.end()):
        return "False"
    return label(not verdict["not"] and not verdict["part"])


def _read_line(text: str) -> str | None:
    """Return the label of a line that contains only the label, or None."""
    if text[-1] == "?":
        return None
    answered = words.ANSWERED.match(text)
    text = text[answered.end() :] if answered else text
    if mark := words.MARK.fullmatch(text):
        return label(mark["true"] is not None)
    bare = words.BARE.fullmatch(text)
    return label(bool(bare["true"] or bare["t"])) if bare else None


def _infer(sentences: list[str]) -> Answer[str]:
    """Return the label that the sentences imply.

    A conclusion after the last marker of a verdict takes precedence. If there is none and the sentence with the marker
    declines to answer, no label is inferred.
    """
    with_headings = _join_headings(sentences)
    marked = [index for index, sentence in enumerate(sentences) if DECLARED.search(sentence)]
    after_marker = with_headings[marked[-1] :] if marked else []
    statements = stated(with_headings)
    value = _read_conclusion(stated(after_marker))
    if value is None and not (after_marker and declining(after_marker[0])):
        value = first(
            step(statements)
            for step in (_read_conclusion, _read_found_faults, _read_misstatement, _read_closing_label, _read_agreement)
        )
        if value is None and len(statements) <= _MAX_SHORT_REPLY:
            value = _read_accord(statements) or _read_openings(statements)
    return inferred(value)


def _join_headings(sentences: list[str]) -> list[str]:
    """Return the sentences, with the text under each heading ("Conclusion:") joined to the heading."""
    return [long if _is_heading(plain) else plain for plain, long in zip(sentences, joined(sentences), strict=True)]


def _is_heading(sentence: str) -> bool:
    """Return whether a sentence may be a heading: it declares no verdict and does not mention the answer."""
    declares = DECLARED.search(sentence) and not CONCLUDES.match(sentence)
    return not (declares or words.WHOLE.search(sentence) or words.CLAIM.search(sentence))


def _read_conclusion(sentences: list[str]) -> str | None:
    """Return the last judgment of the whole answer, or else the last concluding judgment of a part; or None.

    Among the judgments of the whole, those in a sentence that concludes or rules ("I would classify it as False") take
    precedence.
    """
    pairs = list(pairwise([*sentences, ""]))
    concluding = [pair for pair in pairs if CONCLUDES.match(pair[0]) or words.HEADED.match(pair[0])]
    deciding = [
        pair
        for pair in pairs
        if CONCLUDES.match(pair[0]) or words.HEADED.match(pair[0]) or words.RULING.search(pair[0])
    ]
    steps = ((words.DECIDES, deciding), (words.WHOLE, pairs), (words.CLAIM, concluding))
    for subject, candidates in steps:
        for sentence, following in reversed(candidates):
            if (
                subject.search(sentence)
                and not words.REFUSES.match(sentence)
                and (value := _read_judgment(sentence, following))
            ):
                return value
    return None


def _read_judgment(sentence: str, following: str) -> str | None:
    """Return the judgment of a sentence; after a colon, the label that the next sentence begins with comes first."""
    introduces = sentence[-1] == ":"
    return (introduces and read_truth(following[:REACH])) or _judge_sentence(sentence, introduces)


def _judge_sentence(sentence: str, introduces: bool) -> str | None:
    """Return the last judgment among the main clauses of a sentence, or None.

    A sentence that introduces a list calls something right only if it is complete without the list ("The answer is
    correct for several reasons:").

    Args:
        sentence: A plain sentence.
        introduces: Whether the sentence introduces what follows it.
    """
    labels = {written[0] for written in words.WRITTEN.finditer(sentence)}
    if len(labels) == 1 and not words.PARTLY.search(sentence):
        return labels.pop()
    if words.WOULD.search(sentence):
        return None
    value = None
    for clause in clauses(sentence, words.CLAUSE_END):
        value = _judge_clause(clause, introduces) or value
    if value is None and (last := words.LAST_WORD.search(sentence)) and not words.SUPPOSED.search(sentence):
        value = label(bool(last["true"]) != bool(last["no"]))
    return value


def _judge_clause(clause: str, introduces: bool) -> str | None:
    """Return the judgment of a main clause, or None."""
    subject = words.WHOLE.search(clause) or words.CLAIM.search(clause)
    begin = subject.end() if subject else 0
    subordinate = words.SUBORDINATE.search(clause, begin)
    judged = words.JUDGED.search(clause, begin, subordinate.start() if subordinate else len(clause))
    if not judged or words.SUPPOSED.search(clause, 0, judged.start()):
        return None
    if judged["fault"] and words.MINOR.search(clause, 0, judged.start("fault")):
        return None
    if introduces and judged["true"] and not words.PREDICATED.search(clause):
        return None
    if judged["true"] and words.NOT_ALL.search(clause, 0, judged.start("true")):
        return "False"
    good = bool(judged["true"]) and not judged["some"]
    negated = bool(judged["no"]) or bool(words.NONE.search(clause, 0, begin))
    judgment = label(good != negated and not judged["part"])
    # A wrong part makes the whole wrong; a right part does not make it right.
    of_part = subject and words.PART_OF.search(clause, 0, subject.start())
    return None if judgment == "True" and of_part else judgment


def _read_found_faults(sentences: list[str]) -> str | None:
    """Return "True" if the first faults that the sentences report are negated, else "False"; None if there are none."""
    faults = next(filter(None, map(words.FOUND.search, sentences)), None)
    return label(words.NEGATED.search(faults[0]) is not None) if faults else None


def _read_closing_label(sentences: list[str]) -> str | None:
    """Return the label that the last sentence ends in, or None."""
    closing = words.CLOSING.search(sentences[-1]) if sentences and not words.OF_A_PART.match(sentences[-1]) else None
    return closing and label((closing["label"] == "True") != bool(closing["no"]))


def _read_agreement(sentences: list[str]) -> str | None:
    """Return "True" if the author of the reply agrees with the text, "False" if not; None if no sentence says so."""
    for sentence in reversed(sentences):
        if (agrees := words.AGREES.search(sentence)) and not words.SUPPOSED.search(agrees["between"]):
            return label((agrees["yes"] is not None) != (len(words.TURNED.findall(agrees["between"])) % 2 == 1))
    return None


def _read_accord(sentences: list[str]) -> str | None:
    """Return "True" if the text agrees with what is known, "False" if not.

    None if no sentence compares the two, or if such sentences contradict each other.
    """
    labels = set()
    for sentence in sentences:
        if not words.JUDGED_TEXT.search(sentence) or words.WOULD.search(sentence) or words.NEITHER.search(sentence):
            continue
        for accord in matches(words.ACCORD, sentence):
            before = sentence[max(accord.start() - 80, 0) : accord.end()]
            clause = re.split(r"[,;:]|\b(?:but|whether|if|and)\b", before)[-1]
            if not words.ASIDE.search(before):
                labels.add((accord["yes"] is not None) != (len(words.TURNED.findall(clause)) % 2 == 1))
    return label(labels.pop()) if len(labels) == 1 else None


def _read_openings(sentences: list[str]) -> str | None:
    """Return the label that the last or the first sentence begins with, or None.

    "That's false.", "Not true.". If such a sentence is about "it", "this" or "everything", its judgment is returned.
    """
    for sentence in [*sentences[-1:], *sentences[:1]]:
        if words.ASSERTS.search(sentence) or words.ECHOED.search(sentence):
            continue
        if words.ABOUT_IT.match(sentence) and (value := _judge_sentence(sentence, introduces=False)):
            return value
        opener = CONCLUDES.match(sentence)
        sentence = sentence[opener.end() :] or sentence if opener else sentence
        verdict = words.VALUE.match(sentence[:REACH])
        if not (verdict and words.NAMES.match(sentence, verdict.end())) and (value := read_truth(sentence[:REACH])):
            return value
    return None


def _read_misstatement(sentences: list[str]) -> str | None:
    """Return "False" if a sentence says that the answer states something incorrectly, else None."""
    about_answer = (sentence for sentence in sentences if words.WHOLE.search(sentence) or words.CLAIM.search(sentence))
    return "False" if any(map(words.MISSTATES.search, about_answer)) else None


SECOND_THOUGHT = SecondThought(words.SECOND_THOUGHT, words.OPENER)
"""How a reply takes back a verdict of true or false, in English or Chinese."""
TRUTH = LabelReader(
    markers={DECLARED: read_truth, words.FIELD: read_truth},
    line=lambda line, _: _read_line(line),
    infer=_infer,
    says=words.SAYS,
    reword=reworded,
    second_thought=SECOND_THOUGHT,
    two_sided=True,
)
"""Reads true or false in English."""
