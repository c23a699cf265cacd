"""True or false, in English: `true_false`. The rules are in `verdict`."""

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

_FEW = 8
"""Sentences of a reply that gives its verdict in passing; a longer one goes through parts of the text."""


def true_false(reply: str) -> Answer[str]:
    """Return whether the reply calls a text factual ("True") or not ("False"), in English; no value if neither.

    ReFACT's independent judgment: "False" also when it only says that the text contains inaccuracies.
    """
    return TRUTH(reply)


def label(good: bool) -> str:
    """Return the verdict as it is named."""
    return "True" if good else "False"


def read_truth(text: str) -> str | None:
    """Return the verdict that `text` begins with, or None."""
    found = words.VALUE.match(text)
    if found is None and (mark := words.MARK.match(text)):
        return label(mark["true"] is not None)
    if found is None:
        faults = words.CONTAINS.match(text)
        return label(faults["no"] is not None) if faults else None
    if found["false"]:
        return label(found["not"] is not None)
    if words.ECHO.match(text, found.end()):
        return None
    if found["true"].lower() != "true" and words.BUT_FAULTY.search(text, found.end()):
        return "False"
    return label(not found["not"] and not found["part"])


def _alone(text: str) -> str | None:
    """Return the verdict of a line that is nothing but it."""
    if text[-1] == "?":
        return None
    answered = words.ANSWERED.match(text)
    text = text[answered.end() :] if answered else text
    if mark := words.MARK.fullmatch(text):
        return label(mark["true"] is not None)
    bare = words.BARE.fullmatch(text)
    return label(bool(bare["true"] or bare["t"])) if bare else None


def _infer(sentences: list[str]) -> Answer[str]:
    """Return what the sentences say, best behind the last marker of a verdict."""
    whole = _headed(sentences)
    marked = [index for index, sentence in enumerate(sentences) if DECLARED.search(sentence)]
    after = whole[marked[-1] :] if marked else []
    left = stated(whole)
    value = _concluded(stated(after))
    if value is None and not (after and declining(after[0])):
        value = first(step(left) for step in (_concluded, _listed, _misstated, _closing, _agreed))
        if value is None and len(left) <= _FEW:
            value = _at_one(left) or _at_ends(left)
    return inferred(value)


def _headed(sentences: list[str]) -> list[str]:
    """Return the sentences, each heading that speaks of no answer ("Conclusion:") continued by what stands under it."""
    return [long if _heads(plain) else plain for plain, long in zip(sentences, joined(sentences), strict=True)]


def _heads(sentence: str) -> bool:
    declares = DECLARED.search(sentence) and not CONCLUDES.match(sentence)
    return not (declares or words.WHOLE.search(sentence) or words.CLAIM.search(sentence))


def _concluded(sentences: list[str]) -> str | None:
    """Return the last judgment of the whole, best in a sentence that concludes; else a concluding one of a part."""
    pairs = list(pairwise([*sentences, ""]))
    concluding = [pair for pair in pairs if CONCLUDES.match(pair[0]) or words.HEADED.match(pair[0])]
    deciding = [
        pair
        for pair in pairs
        if CONCLUDES.match(pair[0]) or words.HEADED.match(pair[0]) or words.RULING.search(pair[0])
    ]
    steps = ((words.DECIDES, deciding), (words.WHOLE, pairs), (words.CLAIM, concluding))
    for subject, among in steps:
        for sentence, following in reversed(among):
            if (
                subject.search(sentence)
                and not words.REFUSES.match(sentence)
                and (value := _judged(sentence, following))
            ):
                return value
    return None


def _judged(sentence: str, following: str) -> str | None:
    """Return the judgment of a sentence, or that which follows one that ends in a colon."""
    introduces = sentence[-1] == ":"
    return (introduces and read_truth(following[:REACH])) or _judgment(sentence, introduces)


def _judgment(sentence: str, introduces: bool) -> str | None:
    """Return the last judgment among the main clauses of a sentence.

    A sentence that introduces a list calls something right only where it needs no more ("The answer is correct for
    several reasons:").
    """
    labels = {found[0] for found in words.WRITTEN.finditer(sentence)}
    if len(labels) == 1 and not words.PARTLY.search(sentence):
        return labels.pop()
    if words.WOULD.search(sentence):
        return None
    value = None
    for clause in clauses(sentence, words.CLAUSE_END):
        value = _clause_judgment(clause, introduces) or value
    if value is None and (last := words.LAST_WORD.search(sentence)) and not words.SUPPOSED.search(sentence):
        value = label(bool(last["true"]) != bool(last["no"]))
    return value


def _clause_judgment(clause: str, introduces: bool) -> str | None:
    """Return the judgment of one main clause."""
    subject = words.WHOLE.search(clause) or words.CLAIM.search(clause)
    begin = subject.end() if subject else 0
    below = words.SUBORDINATE.search(clause, begin)
    judged = words.JUDGED.search(clause, begin, below.start() if below else len(clause))
    if not judged or words.SUPPOSED.search(clause, 0, judged.start()):
        return None
    if judged["fault"] and words.MINOR.search(clause, 0, judged.start("fault")):
        return None
    if introduces and judged["true"] and not words.PREDICATED.search(clause):
        return None
    if judged["true"] and words.NOT_ALL.search(clause, 0, judged.start("true")):
        return "False"
    good = bool(judged["true"]) and not judged["some"]
    turned = bool(judged["no"]) or bool(words.NONE.search(clause, 0, begin))
    said = label(good != turned and not judged["part"])
    # the whole is wrong where a part of it is, but not right
    of_part = subject and words.PART_OF.search(clause, 0, subject.start())
    return None if said == "True" and of_part else said


def _listed(sentences: list[str]) -> str | None:
    """Return whether the faults that the sentences announce first are none."""
    faults = next(filter(None, map(words.FOUND.search, sentences)), None)
    return label(words.NEGATED.search(faults[0]) is not None) if faults else None


def _closing(sentences: list[str]) -> str | None:
    """Return the label that the last sentence ends in."""
    found = words.CLOSING.search(sentences[-1]) if sentences and not words.OF_A_PART.match(sentences[-1]) else None
    return found and label((found["label"] == "True") != bool(found["no"]))


def _agreed(sentences: list[str]) -> str | None:
    """Return whether the one who answers agrees with the text."""
    for sentence in reversed(sentences):
        if (found := words.AGREES.search(sentence)) and not words.SUPPOSED.search(found["between"]):
            return label((found["yes"] is not None) != (len(words.TURNED.findall(found["between"])) % 2 == 1))
    return None


def _at_one(sentences: list[str]) -> str | None:
    """Return whether the text and what is known are at one, if all sentences that speak of it agree on that."""
    said = set()
    for sentence in sentences:
        if not words.JUDGED_TEXT.search(sentence) or words.WOULD.search(sentence) or words.NEITHER.search(sentence):
            continue
        for found in matches(words.ACCORD, sentence):
            before = sentence[max(found.start() - 80, 0) : found.end()]
            clause = re.split(r"[,;:]|\b(?:but|whether|if|and)\b", before)[-1]
            if not words.ASIDE.search(before):
                said.add((found["yes"] is not None) != (len(words.TURNED.findall(clause)) % 2 == 1))
    return label(said.pop()) if len(said) == 1 else None


def _at_ends(sentences: list[str]) -> str | None:
    """Return what the last or the first sentence begins with ("That's false.", "Not true."), or says of "it"."""
    for sentence in [*sentences[-1:], *sentences[:1]]:
        if words.ASSERTS.search(sentence) or words.ECHOED.search(sentence):
            continue
        if words.ABOUT_IT.match(sentence) and (value := _judgment(sentence, introduces=False)):
            return value
        opener = CONCLUDES.match(sentence)
        sentence = sentence[opener.end() :] or sentence if opener else sentence
        found = words.VALUE.match(sentence[:REACH])
        if not (found and words.NAMES.match(sentence, found.end())) and (value := read_truth(sentence[:REACH])):
            return value
    return None


def _misstated(sentences: list[str]) -> str | None:
    """Return "False" if the answer is said to state something incorrectly."""
    speak = (sentence for sentence in sentences if words.WHOLE.search(sentence) or words.CLAIM.search(sentence))
    return "False" if any(map(words.MISSTATES.search, speak)) else None


SECOND_THOUGHT = SecondThought(words.SECOND_THOUGHT, words.OPENER)
"""How a reply takes back a verdict of true or false, in English or Chinese."""
TRUTH = LabelReader(
    markers={DECLARED: read_truth, words.FIELD: read_truth},
    line=lambda line, _: _alone(line),
    infer=_infer,
    says=words.SAYS,
    reword=reworded,
    second_thought=SECOND_THOUGHT,
    two_sided=True,
)
"""True or false, in English."""
