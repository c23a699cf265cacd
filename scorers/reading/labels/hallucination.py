"""Read whether a reply in English says that a text hallucinates: `hallucinates`, for HaluEval's judgements.

"Yes" means that the text hallucinates, "No" that it does not. A reply is read in steps. In each step, the last match
is used. A step is tried only if the steps before it find nothing.

1. A declared verdict: after "#Your Judgement#:", "Final answer:", "I would say", "Therefore," and similar markers,
   after "hence" or in a LaTeX box. A first or last line that begins with Yes or No declares it as well. The word takes
   precedence over what follows it ("Yes, the summary is faithful" is Yes), because the word is what the prompt asks
   for.
2. A field or a question with its answer: "Hallucination: No", "Is it supported by the document? Yes", "Is anything
   made up? Not that I can see". Or the word after a colon at the end of a sentence.
3. What a concluding sentence says ("Overall, the summary is accurate").
4. What a sentence says about the whole ("The summary adds a detail that is not in the document").
5. "Yes" if any part is called unsupported or wrong.

After a second thought ("Wait, …", "Correction: …", "I misread …"), the reply is read again from there, if that part
states a verdict. Yes and no may also be written in German, French, Spanish, Portuguese or Chinese.

In a clause, the first word that calls something faithful or unfaithful is used; each negation before it inverts it
("does not contain anything that is not supported"). If several clauses have such a word, the last clause is used.
"Everything is right except the date" is unfaithful. Clauses under "whether" or "if" and plans ("I need to check for
errors") are ignored, and so are statements about what the reply cannot tell, definitions of hallucination, and
questions without an answer.
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
    """Return "Yes" if the reply says that a text hallucinates, "No" if not; the value is None if neither."""
    return HALLUCINATES(reply)


def yes_or_no(match: re.Match[str] | None) -> str | None:
    """Return "Yes" if the group `yes` of the match is set, else "No"; None if there is no match."""
    return None if match is None else YES if match["yes"] else NO


def _prepare(text: str) -> str:
    return words.ARROW.sub(", hence ", text.replace("_", " "))


def _keep_assertions(sentences: list[str]) -> Counted:
    """Return what the sentences assert, with questions joined to their answers and searches to their results."""
    with_answers = merged(list(merged(sentences, _merge_search)), _merge_question)
    return Counted(list(filter(None, map(asserted, with_answers))), declined=False)


def _merge_search(sentence: str, following: str) -> str | None:
    """Return a sentence about a search joined with "none were found"; None for other sentences."""
    is_search = words.FOUND_NONE.match(following) and words.LOOKED_FOR.search(sentence)
    return f"{sentence} {following}" if is_search else None


def _merge_question(sentence: str, following: str) -> str | None:
    """Return a question joined with its answer, since "Yes" alone would be a verdict; None for other sentences."""
    if sentence[-1] != "?":
        return None
    if short := words.SHORT.match(following):
        return f"{sentence} {yes_or_no(short)}{following[short.end() :]}"
    start = past(words.HEDGED, following)
    return f"{sentence} {following[start:]}" if words.WORD.match(following, start) else None


def asserted(sentence: str) -> str:
    """Return the part of a sentence that is neither a supposition nor a definition; empty if there is none."""
    if words.DEFINES.match(sentence):
        return ""
    if words.SUPPOSES.match(sentence):
        turn = words.TURN.search(sentence)
        return sentence[turn.end() :].strip() if turn else ""
    return sentence


def _infer(sentences: list[str]) -> Answer[str]:
    """Return the verdict in a field, in a conclusion, about the whole, or about any part."""
    statements = [sentence for sentence in sentences if sentence[-1] != "?"]
    joined_statements = joined(statements)
    steps = chain(
        (_read_field(sentence) or _read_ending(sentence) for sentence in reversed(sentences)),
        map(_judge_sentence, filter(CONCLUDES.match, reversed(joined_statements))),
        map(_judge_sentence, filter(_is_about_whole, reversed(joined_statements))),
        (YES for sentence in statements if _judge_sentence(sentence) == YES),
    )
    value = first(steps)
    return DECLINES if value is None and without_declining(sentences) != sentences else inferred(value)


def _is_about_whole(sentence: str) -> bool:
    return bool(words.WHOLE.search(sentence) or words.ALL_GOOD.fullmatch(sentence))


def _read_opening(text: str) -> str | None:
    """Return the verdict of a line that begins with Yes or No, possibly after marks and hedges; or None."""
    if words.OFFERS.match(text):
        return None
    if words.SURELY_NOT.fullmatch(text):
        return NO
    return yes_or_no(words.WORD.match(text, past(words.HEDGED, text)))


def _read_introduced(text: str) -> str | None:
    """Return the verdict after a marker: the word, or else what the rest of the sentence says; or None."""
    return _read_word(text) or _judge_sentence(text)


def _read_word(text: str) -> str | None:
    """Return the yes or no that the text begins with, after "hence" and similar markers; or None."""
    return yes_or_no(words.WORD.match(text, past(words.BEFORE, text)))


def _read_ending(text: str) -> str | None:
    """Return the yes or no that ends a sentence ("There is nothing to check: no"), or None."""
    return yes_or_no(words.AT_END.fullmatch(text))


def _read_field(text: str) -> str | None:
    """Return the verdict of a field or of a question with its answer, or None.

    "Hallucination: No", "Is it supported? Yes".
    """
    field = words.FIELD.match(text)
    topic = field and _judge_sentence(field["topic"])
    if not field or not topic:
        return None
    return topic if field["word"].lower() in ("yes", "true") else {YES: NO, NO: YES}[topic]


def _judge_sentence(sentence: str) -> str | None:
    """Return the verdict of the last clause about faithfulness: "Yes" for unfaithful, "No" for faithful; or None."""
    if words.ALL_GOOD.fullmatch(sentence):
        return NO
    if chinese := list(words.CHINESE.finditer(sentence)):
        return NO if chinese[-1]["no"] or chinese[-1]["same"] else YES
    if (found_none := words.FOUND_NONE.search(sentence)) and words.LOOKED_FOR.search(sentence):
        return YES if words.SUPPORT.search(sentence, 0, found_none.start()) else NO
    if words.WITHIN.search(sentence):
        return NO
    value = _judge_clauses(sentence)
    return YES if value == NO and words.EXCEPT.search(sentence) else value


def _judge_clauses(sentence: str) -> str | None:
    value = None
    for clause in clauses(sentence, words.CLAUSE):
        hypothetical = words.HYPOTHETICAL.search(clause)
        denied = value == YES and words.IS_NOT.fullmatch(clause)
        value = NO if denied else _judge_clause(clause[: hypothetical.start()] if hypothetical else clause) or value
    return value


def _judge_clause(clause: str) -> str | None:
    negations, everything, partly, present = 0, False, False, False
    for token in words.TOKEN.finditer(clause):
        if token["negation"]:
            negations += 1
        elif token["all"]:
            everything = True
        elif token["partly"]:
            partly = True
        elif token["claims"]:
            if negations % 2:
                return NO
        elif token["unfaithful"]:
            return NO if negations % 2 else YES
        elif token["faithful"] or negations or everything:
            return YES if negations % 2 or partly else NO
        else:
            present = True
    # "The document mentions all of it."
    return NO if present and everything else None


HALLUCINATES = LabelReader(
    markers={
        words.CHOSEN: _read_word,
        words.MARKED: _read_introduced,
        words.HENCE: _read_word,
        words.ANSWER_IS: _read_word,
    },
    line=lambda line, _: _read_opening(line),
    infer=_infer,
    prepare=_prepare,
    letter=words.LETTER,
    labels=(YES, NO),
    second_thought=SecondThought(words.AGAIN, words.AGAIN_OPENER, most=5),
    counted=_keep_assertions,
)
"""Reads yes or no in English."""
