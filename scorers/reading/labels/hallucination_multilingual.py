"""Read whether a reply in English, Arabic, Turkish or Hindi says that a text hallucinates.

A reply is read as English first (`hallucination`). If the English reader finds nothing, the reply is folded
(`folding`) and read in these steps. A step is tried only if the steps before it find nothing.

1. The last declared verdict: the yes or no after "Answer:", "the answer is", "الإجابة:", "Cevap:", "उत्तर:" and similar
   markers, or at the end of a sentence ("şehir değiştiği için evet"). A first or last line that is yes or no, or begins
   with it ("No, it is faithful"), declares it as well. A question with a short answer declares the verdict that both
   give together ("Halüsinasyon var mı? Yok.", "Sadık mı? Evet."), and so does a field ("Halüsinasyon: yok").
2. What the last concluding sentence says about the text ("Therefore, the sentence contains a hallucination").
3. What the last sentence that says something about the text says.
4. "Yes" if the first sentence agrees with the question ("Certainly, the year was changed").

After a second thought ("Bir dakika, …", "انتظر، …"), the reply is read again from there, if that part states a
verdict. If the English reader only infers a verdict from a reply in another language, the verdict that is read here
takes precedence.

In steps 2 and 3, a hallucination, contradiction or the like is a yes and faithfulness is a no; a negation inverts
both. If several clauses give a verdict, the last one is used. Questions, conditions and definitions of hallucination
are ignored. "Yes or no" is not a verdict, and what a sentence only concedes is ignored (`concession`).
"""

from __future__ import annotations

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.engine import (
    NO_VERDICT,
    Counted,
    LabelReader,
    SecondThought,
    first,
    inferred,
    merged,
)
from halu_tasks.scorers.reading.labels.hallucination import NO, YES, asserted, hallucinates, yes_or_no
from halu_tasks.scorers.reading.lexicons import hallucination_multilingual as words
from halu_tasks.scorers.reading.lexicons.languages import CONCLUDES, TURN
from halu_tasks.scorers.reading.steps.concession import without_concessions, without_declining
from halu_tasks.scorers.reading.steps.sentences import REACH, behind, ends, joined, matches, past
from halu_tasks.text.folding import fold

_ENDING_LENGTH = 40  # characters at the end of a sentence that are searched for its last words and marks
_MAX_ANSWER_WORDS = 4  # longer sentences are not read as the answer to a question


def hallucinates_multilingual(reply: str) -> Answer[str]:
    """Return "Yes" if the reply says that a text hallucinates, "No" if not; the value is None if neither."""
    english = hallucinates(reply)
    if english.value and not english.inferred:
        return english
    multilingual = MULTILINGUAL(reply)
    text = ends(reply)
    # The English reader would take "false" in {"halüsinasyon": false} for a fault, and likewise the name in
    # {"hallucination": "لا"}.
    english_first = not words.OTHER_LETTERS.search(text) and (
        multilingual.inferred or not words.PRESENCE.search(fold(text))
    )
    if english.value:
        return multilingual if multilingual.value and not english_first else english
    return english if english.abstained and not multilingual.value else multilingual


def _prepare(text: str) -> str:
    return words.ASKED.sub("/", fold(text))


def _keep_assertions(sentences: list[str]) -> Counted:
    """Return the sentences without what declines to answer, supposes, defines or concedes."""
    with_answers = list(merged(sentences, _merge_question))
    assertions = [
        sentence
        for sentence in without_declining(with_answers)
        if not words.BOTH.search(sentence)
        and not words.DEFINES.match(sentence)
        and (asserted(sentence) or not words.SUPPOSED.match(sentence))
    ]
    return Counted(
        without_concessions(assertions, _states_verdict, _declares_verdict, words.DECLARES),
        declined=assertions != with_answers,
    )


def _merge_question(sentence: str, following: str) -> str | None:
    """Return the verdict that a question and its short answer give together, as a sentence; None if there is none."""
    verdict = _read_question(sentence, following) if sentence[-1] == "?" else None
    return f"verdict: {verdict.lower()}" if verdict else None


def _read_question(question: str, following: str) -> str | None:
    """Return the verdict that a question and the next sentence give together; None if that does not answer it."""
    answer = words.WORDS.findall(words.CLAUSE_END.split(following, maxsplit=1)[0])
    if not 0 < len(answer) <= _MAX_ANSWER_WORDS:
        return None
    topic = _judge_clauses(words.OR_NOT.sub("", question.rstrip("?")))
    if any(map(words.DENIED.fullmatch, answer)):
        agrees = False
    elif words.AGREED.fullmatch(answer[0]) or answer[0] in words.WORDS.findall(question):
        agrees = True
    else:
        return None
    if topic is None and not words.VERDICT.fullmatch(answer[0]):
        return None
    return YES if agrees == (topic != NO) else NO


def _infer(sentences: list[str]) -> Answer[str]:
    """Return the verdict of the last concluding sentence, or else of the last sentence that gives one."""
    statements = [statement for sentence in joined(sentences) if (statement := _keep_specific(sentence))]
    if value := first(map(_judge_sentence, filter(CONCLUDES.match, reversed(statements)))) or first(
        map(_judge_sentence, reversed(statements))
    ):
        return inferred(value)
    if statements and words.CERTAINLY.match(statements[0]) and not any(map(_asks_or_offers, statements)):
        return inferred(YES)
    return NO_VERDICT


def _keep_specific(sentence: str) -> str:
    """Return what a sentence asserts about the given text; empty if it defines hallucination or only gives advice."""
    return "" if words.DEFINES.match(sentence) or words.ADVISES.search(sentence) else asserted(sentence)


def _asks_or_offers(sentence: str) -> bool:
    return sentence[-1] == "?" or words.OFFERS.search(sentence) is not None


def _states_verdict(text: str) -> bool:
    return _declares_verdict(text) or _judge_sentence(text) is not None


def _declares_verdict(text: str) -> bool:
    return bool(
        _read_line(text)
        or _read_ending(text)
        or any(_read_introduced(behind(marker)) for marker in matches(words.DECLARES, text))
    )


def _read_ending(text: str) -> str | None:
    """Return the yes or no that a sentence ends in, or None."""
    ending = words.AT_END.search(text, max(len(text) - _ENDING_LENGTH, 0))
    if ending is None or words.OPEN.search(text, max(ending.start() - REACH, 0), ending.start()):
        return None
    return yes_or_no(ending)


def _read_presence(text: str) -> str | None:
    """Return "Yes" or "No" if the text begins with a yes, a no, or a word for "present" or "absent"; or None."""
    presence = words.BEING.match(text)
    return yes_or_no(presence) or _read_introduced(text)


def _read_repeated_verb(text: str) -> str | None:
    """Return the verdict that the text begins with, which may be the verb of the question repeated; or None."""
    verb = words.REPEATED.match(text)
    if verb is None or not words.ENDS.match(text, verb.end()):
        return _read_introduced(text)
    return yes_or_no(verb)


def _read_introduced(text: str) -> str | None:
    """Return the verdict that the text begins with, or None."""
    return yes_or_no(words.VERDICT.match(text, past(words.FILLER, text)))


def _read_line(text: str) -> str | None:
    """Return the verdict that a line consists of or begins with, or None."""
    if verb := words.REPEATS.match(text):
        return yes_or_no(verb)
    verdict = words.VERDICT.match(text, past(words.FILLER, text))
    if verdict is None or not (verdict["yes"] or words.ENDS.match(text, verdict.end())):
        return None
    return None if words.THEN_OFFERS.match(text, verdict.end()) else yes_or_no(verdict)


def _judge_sentence(sentence: str) -> str | None:
    """Return the verdict of the last clause about the text, or None."""
    if words.SAYS_NOTHING.search(sentence):
        turns = list(TURN.finditer(sentence))
        sentence = sentence[turns[-1].end() :] if turns else ""
    return None if words.SAYS_NOTHING.search(sentence) else _judge_clauses(sentence)


def _judge_clauses(sentence: str) -> str | None:
    value = None
    for clause in words.CLAUSE_END.split(sentence):
        kinds = [match.lastgroup for match in words.SAID.finditer(clause)]
        judged = next((kind for kind in kinds if kind != "not"), None)
        if judged:
            value = YES if (judged == "fault") != (kinds.count("not") % 2 == 1) else NO
    return YES if value == NO and words.EXCEPT.search(sentence) and words.EVERYTHING.search(sentence) else value


MULTILINGUAL = LabelReader(
    markers={
        words.DECLARES: _read_repeated_verb,
        words.PRESENCE: _read_presence,
        words.HENCE: _read_line,
        words.WHOLE: _read_ending,
    },
    line=lambda line, _: _read_line(line),
    infer=_infer,
    prepare=_prepare,
    letter=words.LETTER,
    labels=(YES, NO),
    second_thought=SecondThought(words.AGAIN, words.AGAIN),
    counted=_keep_assertions,
)
"""Reads yes or no in a folded reply in English, Arabic, Turkish or Hindi."""
