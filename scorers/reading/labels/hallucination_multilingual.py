"""Whether a reply says that a text hallucinates, in English, Arabic, Turkish or Hindi.

A reply is read as English first (`hallucination`). Where that finds nothing it is folded (`folding`), and
read in steps; a later step is tried only when the earlier ones found nothing.

1. A declared verdict, the last one: the yes or no behind "Answer:", "the answer is", "الإجابة:", "Cevap:",
   "उत्तर:" and the like, or at the end of a sentence ("şehir değiştiği için evet"), and a first or last line that is
   it or begins with it ("No, it is faithful"). A question with a short answer declares what they give together
   ("Halüsinasyon var mı? Yok.", "Sadık mı? Evet."), and so does a field ("Halüsinasyon: yok").
2. What the last concluding sentence says of the text ("Therefore, the sentence contains a hallucination").
3. What the last sentence at all says of it.
4. A first sentence that agrees with the question ("Certainly, the year was changed").

A second thought ("Bir dakika, …", "انتظر، …") begins the reply anew where what follows says anything. Where the
English reader only infers a verdict from a reply in another language, what is read here comes first.

In steps 2 and 3 a hallucination, contradiction or the like is a yes, faithfulness a no, and a negation turns either
round; of several clauses the last one that says so counts. Questions and conditions say nothing. A definition of
hallucination says nothing of the text. "Yes or no" is no verdict, and what a sentence only concedes counts for
nothing (`concession`).
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

_LAST = 40  # characters of the last words, with the marks behind them
_MOST_ANSWERED = 4  # words of an answer that is read so


def hallucinates_multilingual(reply: str) -> Answer[str]:
    """Return whether the reply says that a text hallucinates: "Yes", "No", or no value."""
    english = hallucinates(reply)
    if english.value and not english.inferred:
        return english
    found = MULTILINGUAL(reply)
    text = ends(reply)
    # To the English reader "false" in {"halüsinasyon": false} would be a fault, and so would the name be in
    # {"hallucination": "لا"}.
    english_first = not words.OTHER_LETTERS.search(text) and (found.inferred or not words.PRESENCE.search(fold(text)))
    if english.value:
        return found if found.value and not english_first else english
    return english if english.abstained and not found.value else found


def _prepare(text: str) -> str:
    return words.ASKED.sub("/", fold(text))


def _counted(sentences: list[str]) -> Counted:
    """Return what the sentences say without declining, supposing, defining or conceding it."""
    answered = list(merged(sentences, _question))
    kept = [
        one
        for one in without_declining(answered)
        if not words.BOTH.search(one)
        and not words.DEFINES.match(one)
        and (asserted(one) or not words.SUPPOSED.match(one))
    ]
    return Counted(without_concessions(kept, _says, _decides, words.DECLARES), declined=kept != answered)


def _question(sentence: str, following: str) -> str | None:
    """Return in place of a question and its short answer the verdict that they give."""
    answer = _answer(sentence, following) if sentence[-1] == "?" else None
    return f"verdict: {answer.lower()}" if answer else None


def _answer(question: str, following: str) -> str | None:
    """Return the verdict that the question and what follows it give, or None if that does not answer it."""
    answer = words.WORDS.findall(words.CLAUSE_END.split(following, maxsplit=1)[0])
    if not 0 < len(answer) <= _MOST_ANSWERED:
        return None
    topic = _last_judgement(words.OR_NOT.sub("", question.rstrip("?")))
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
    """Return what the last concluding sentence says of the text, or the last one at all."""
    statements = [kept for one in joined(sentences) if (kept := _asserted(one))]
    if value := first(map(_judgement, filter(CONCLUDES.match, reversed(statements)))) or first(
        map(_judgement, reversed(statements))
    ):
        return inferred(value)
    if statements and words.CERTAINLY.match(statements[0]) and not any(map(_asks, statements)):
        return inferred(YES)
    return NO_VERDICT


def _asserted(sentence: str) -> str:
    """Return what a sentence says of the text at hand, and not of hallucinations or of comparing at large."""
    return "" if words.DEFINES.match(sentence) or words.ADVISES.search(sentence) else asserted(sentence)


def _asks(sentence: str) -> bool:
    return sentence[-1] == "?" or words.OFFERS.search(sentence) is not None


def _says(text: str) -> bool:
    return _decides(text) or _judgement(text) is not None


def _decides(text: str) -> bool:
    return bool(
        _alone(text) or _ending(text) or any(_introduced(behind(found)) for found in matches(words.DECLARES, text))
    )


def _ending(text: str) -> str | None:
    """Return the verdict that a sentence ends in."""
    found = words.AT_END.search(text, max(len(text) - _LAST, 0))
    if found is None or words.OPEN.search(text, max(found.start() - REACH, 0), found.start()):
        return None
    return yes_or_no(found)


def _present(text: str) -> str | None:
    """Return whether the text begins with a yes, a no, or a word for being there or not."""
    begins = words.BEING.match(text)
    return yes_or_no(begins) or _introduced(text)


def _repeated(text: str) -> str | None:
    """Return the verdict that the text begins with, if only by repeating the verb of the question."""
    found = words.REPEATED.match(text)
    if found is None or not words.ENDS.match(text, found.end()):
        return _introduced(text)
    return yes_or_no(found)


def _introduced(text: str) -> str | None:
    """Return the verdict that the text begins with, or None."""
    return yes_or_no(words.VERDICT.match(text, past(words.FILLER, text)))


def _alone(text: str) -> str | None:
    """Return the verdict that a line is, or begins with."""
    if repeated := words.REPEATS.match(text):
        return yes_or_no(repeated)
    found = words.VERDICT.match(text, past(words.FILLER, text))
    if found is None or not (found["yes"] or words.ENDS.match(text, found.end())):
        return None
    return None if words.THEN_OFFERS.match(text, found.end()) else yes_or_no(found)


def _judgement(sentence: str) -> str | None:
    """Return what the last clause that says so makes of the text."""
    if words.SAYS_NOTHING.search(sentence):
        turns = list(TURN.finditer(sentence))
        sentence = sentence[turns[-1].end() :] if turns else ""
    return None if words.SAYS_NOTHING.search(sentence) else _last_judgement(sentence)


def _last_judgement(sentence: str) -> str | None:
    value = None
    for clause in words.CLAUSE_END.split(sentence):
        said = [found.lastgroup for found in words.SAID.finditer(clause)]
        found = next((kind for kind in said if kind != "not"), None)
        if found:
            value = YES if (found == "fault") != (said.count("not") % 2 == 1) else NO
    return YES if value == NO and words.EXCEPT.search(sentence) and words.EVERYTHING.search(sentence) else value


MULTILINGUAL = LabelReader(
    markers={words.DECLARES: _repeated, words.PRESENCE: _present, words.HENCE: _alone, words.WHOLE: _ending},
    line=lambda line, _: _alone(line),
    infer=_infer,
    prepare=_prepare,
    letter=words.LETTER,
    labels=(YES, NO),
    second_thought=SecondThought(words.AGAIN, words.AGAIN),
    counted=_counted,
)
"""Yes or no in a folded reply in English, Arabic, Turkish or Hindi."""
