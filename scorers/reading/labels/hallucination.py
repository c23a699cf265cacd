"""Whether a reply says that a text hallucinates: `hallucinates`, for HaluEval's judgements, in English.

"Yes" is that it does, "No" that it does not. A reply is read in steps; in each the last finding wins, and a
later step is tried only when the earlier ones found nothing.

1. A declared verdict: what stands behind "#Your Judgement#:", "Final answer:", "I would say", "Therefore," and
   the like, behind a "hence" or in a LaTeX box, and a first or last line that begins with Yes or No. The word wins
   over what follows it ("Yes, the summary is faithful" is Yes): it is what was asked for.
2. A field or a question with its answer: "Hallucination: No", "Is it supported by the document? Yes", "Is anything
   made up? Not that I can see"; or the word behind a colon that ends a sentence.
3. What a concluding sentence says ("Overall, the summary is accurate").
4. What a sentence says of the whole ("The summary adds a detail that is not in the document").
5. Any part that is called unsupported or wrong.

A second thought ("Wait, …", "Correction: …", "I misread …") begins the reply anew where what follows says anything.
A word for yes or no may also be German, French, Spanish, Portuguese or Chinese.

In a clause the first word that calls something faithful or unfaithful counts, turned round by each negation
before it ("does not contain anything that is not supported"); of several clauses the last counts. "Everything is
right except the date" is unfaithful. What is said under "whether", "if", or as a plan ("I need to check for errors")
counts for nothing, nor does what a reply cannot tell, a definition of hallucination, or a question without its answer.
"""

from __future__ import annotations

import re
from itertools import chain

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.engine import (
    DECLINES,
    Counted,
    LabelReader,
    SecondThought,
    first,
    inferred,
    merged,
)
from halu_tasks.scorers.reading.lexicons import hallucination as words
from halu_tasks.scorers.reading.lexicons.declared import CONCLUDES
from halu_tasks.scorers.reading.steps.concession import without_declining
from halu_tasks.scorers.reading.steps.sentences import clauses, joined, past

YES, NO = "Yes", "No"


def hallucinates(reply: str) -> Answer[str]:
    """Return whether the reply says that a text hallucinates: "Yes", "No", or no value."""
    return HALLUCINATES(reply)


def yes_or_no(found: re.Match[str] | None) -> str | None:
    """Return the label of a match with a group `yes`; None if there is no match."""
    return None if found is None else YES if found["yes"] else NO


def _prepare(text: str) -> str:
    return words.ARROW.sub(", hence ", text.replace("_", " "))


def _counted(sentences: list[str]) -> Counted:
    """Return what the sentences assert, questions with their answers and searches with what they found."""
    answered = merged(list(merged(sentences, _search)), _question)
    return Counted(list(filter(None, map(asserted, answered))), declined=False)


def _search(sentence: str, following: str) -> str | None:
    """Return as one sentence what was looked for and "none were found"."""
    found_none = words.FOUND_NONE.match(following) and words.LOOKED_FOR.search(sentence)
    return f"{sentence} {following}" if found_none else None


def _question(sentence: str, following: str) -> str | None:
    """Return as one sentence a question and its answer: alone, "Yes" would be a judgement."""
    if sentence[-1] != "?":
        return None
    if short := words.SHORT.match(following):
        return f"{sentence} {yes_or_no(short)}{following[short.end() :]}"
    start = past(words.HEDGED, following)
    return f"{sentence} {following[start:]}" if words.WORD.match(following, start) else None


def asserted(sentence: str) -> str:
    """Return what a sentence does not only suppose or define; empty if that is all of it."""
    if words.DEFINES.match(sentence):
        return ""
    if words.SUPPOSES.match(sentence):
        turn = words.TURN.search(sentence)
        return sentence[turn.end() :].strip() if turn else ""
    return sentence


def _infer(sentences: list[str]) -> Answer[str]:
    """Return what the sentences say: in a field, in conclusion, of the whole, or of any part."""
    statements = [sentence for sentence in sentences if sentence[-1] != "?"]
    whole = joined(statements)
    steps = chain(
        (_field(sentence) or _ending(sentence) for sentence in reversed(sentences)),
        map(_judgement, filter(CONCLUDES.match, reversed(whole))),
        map(_judgement, filter(_speaks_of_the_whole, reversed(whole))),
        (YES for sentence in statements if _judgement(sentence) == YES),
    )
    value = first(steps)
    return DECLINES if value is None and without_declining(sentences) != sentences else inferred(value)


def _speaks_of_the_whole(sentence: str) -> bool:
    return bool(words.WHOLE.search(sentence) or words.ALL_GOOD.fullmatch(sentence))


def _opening(text: str) -> str | None:
    """Return the verdict of a line that begins with Yes or No, marks and hedges apart."""
    if words.OFFERS.match(text):
        return None
    if words.SURELY_NOT.fullmatch(text):
        return NO
    return yes_or_no(words.WORD.match(text, past(words.HEDGED, text)))


def _introduced(text: str) -> str | None:
    """Return the verdict that a marker introduces: the word, or what the rest of the sentence says."""
    return _concluded(text) or _judgement(text)


def _concluded(text: str) -> str | None:
    """Return the word behind "hence" and the like."""
    return yes_or_no(words.WORD.match(text, past(words.BEFORE, text)))


def _ending(text: str) -> str | None:
    """Return the word that ends a sentence: "There is nothing to check: no"."""
    return yes_or_no(words.AT_END.fullmatch(text))


def _field(text: str) -> str | None:
    """Return what a field or question and its answer say: "Hallucination: No", "Is it supported? Yes"."""
    found = words.FIELD.match(text)
    topic = found and _judgement(found["topic"])
    if not found or not topic:
        return None
    return topic if found["word"].lower() in ("yes", "true") else {YES: NO, NO: YES}[topic]


def _judgement(sentence: str) -> str | None:
    """Return what the last clause that says anything about faithfulness says: Yes for unfaithful, No for faithful."""
    if words.ALL_GOOD.fullmatch(sentence):
        return NO
    if chinese := list(words.CHINESE.finditer(sentence)):
        return NO if chinese[-1]["no"] or chinese[-1]["same"] else YES
    if (nothing := words.FOUND_NONE.search(sentence)) and words.LOOKED_FOR.search(sentence):
        return YES if words.SUPPORT.search(sentence, 0, nothing.start()) else NO
    if words.WITHIN.search(sentence):
        return NO
    value = _last_judgement(sentence)
    return YES if value == NO and words.EXCEPT.search(sentence) else value


def _last_judgement(sentence: str) -> str | None:
    value = None
    for clause in clauses(sentence, words.CLAUSE):
        supposed = words.HYPOTHETICAL.search(clause)
        denied = value == YES and words.IS_NOT.fullmatch(clause)
        value = NO if denied else _clause_judgement(clause[: supposed.start()] if supposed else clause) or value
    return value


def _clause_judgement(clause: str) -> str | None:
    negations, everything, partly, present = 0, False, False, False
    for found in words.TOKEN.finditer(clause):
        if found["negation"]:
            negations += 1
        elif found["all"]:
            everything = True
        elif found["partly"]:
            partly = True
        elif found["claims"]:
            if negations % 2:
                return NO
        elif found["unfaithful"]:
            return NO if negations % 2 else YES
        elif found["faithful"] or negations or everything:
            return YES if negations % 2 or partly else NO
        else:
            present = True
    # "The document mentions all of it."
    return NO if present and everything else None


HALLUCINATES = LabelReader(
    markers={
        words.CHOSEN: _concluded,
        words.MARKED: _introduced,
        words.HENCE: _concluded,
        words.ANSWER_IS: _concluded,
    },
    line=lambda line, _: _opening(line),
    infer=_infer,
    prepare=_prepare,
    letter=words.LETTER,
    labels=(YES, NO),
    second_thought=SecondThought(words.AGAIN, words.AGAIN_OPENER, most=5),
    counted=_counted,
)
"""Yes or no, in English."""
