"""Read the label that a reply states, step by step.

A question is a vocabulary and a list of steps. Each step looks for a label in one way; the first that finds one decides
what is read, and the answer names it. A slot that holds no label, or several, decides nothing, and no later step
replaces that: it is better to read none than the opposite of what was said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from halu_tasks.scorers.answer import ABSTAINED, Answer
from halu_tasks.scorers.reading.clauses import ASIDES, declines, signs, split_clauses
from halu_tasks.scorers.reading.lexicon import LANGUAGES, Token, lexicon
from halu_tasks.scorers.reading.reply import ReplyText, sentences
from halu_tasks.scorers.reading.sentence import FILLERS, ParsedSentence
from halu_tasks.scorers.reading.vocabulary import NO_VALUE, UNDECIDED, Vocabulary
from halu_tasks.text.folding import fold

_BETWEEN = {*FILLERS, "either", "changed", "good", "bad", "same", "because", "clue", "yes", "no"}
_FAMILY = {"yes": "answer", "no": "answer", "good": "judgment", "bad": "judgment", "label": "label"}
_LISTED = {*FILLERS, "yes", "no", "good", "bad", "label", "either", "both"}
_DOUBTS = ("negate", "no", "ask", "hedge", "either", "cannot", "decline", "question", "good", "bad", "call")
_TITLE = re.compile(r"\s?[:=]")
# "whereas B is not, the final verdict is: A"
_COLON_FOLLOWS = re.compile(r"\s*(?:(?:is|are|would be|will be)\s*)?:")
# words between a label and its sign that a lexicon does not know
_UNKNOWN, _MOST_UNKNOWN = re.compile(r"\w+"), 3
# no real reply has as many markers or second thoughts; the last ones are tried
_MOST_MARKERS, _MOST_RETRACTIONS = 100, 10
_LONGEST_VALUE, _LONGEST_TOPIC, _LONGEST_FORM = 100, 60, 60


class StepResult(NamedTuple):
    """A label that a step has found, and the sentence that it stands on; None if that is no sentence."""

    label: str
    sentence: ParsedSentence | None


class ReplyPart:
    """The sentences of a reply, or of the part of it that counts.

    Args:
        vocabulary: The words of the question.
        sentences: The sentences.
        reply: The reply.
        values: The JSON objects in it.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        sentences: list[ParsedSentence],
        reply: ReplyText,
        values: Sequence[dict[str, object]] = (),
    ) -> None:
        self.vocabulary, self.sentences, self.reply, self.values = vocabulary, sentences, reply, values

    @cached_property
    def markers(self) -> list[tuple[int, Token]]:
        """The markers of a verdict, the last one first, each with the index of its sentence."""
        return [*islice(_markers(self.sentences), _MOST_MARKERS)]

    @cached_property
    def heads(self) -> dict[str, bool]:
        """The labels that lines begin with, or marks follow, each with whether it is a title or alone on its line."""
        heads: dict[str, bool] = {}
        for sentence in self.sentences if self.vocabulary.names_labels else ():
            for token in (token for token in sentence.tokens if token.kind == "label"):
                is_title = _is_title(sentence, token)
                if is_title or (sentence.starts_line and not sentence.has_content(0, token.start)):
                    stands_out = is_title or self.vocabulary.whole_value(sentence) is not None
                    heads[token.label] = heads.get(token.label, False) or stands_out
        return heads

    @property
    def goes_through(self) -> bool:
        """Whether the reply repeats or discusses labels one by one, so that none is the answer by its place."""
        return len(self.heads) > 1

    @cached_property
    def concluded(self) -> tuple[int, str]:
        """The index of the last sentence that concludes with a label, and the label ("Hence it is false.")."""
        vocabulary = self.vocabulary
        for index, sentence in reversed([*enumerate(self.sentences)]):
            for token in reversed(sentence.tokens):
                if token.kind == "conclude" and not _is_supposed(sentence, token):
                    value = vocabulary.value(sentence, token.end)
                    states = value and value.kind in ("good", "bad", "label") and value.label not in NO_VALUE
                    if value and states and vocabulary.ends_clause(sentence, value):
                        return index, value.label
                    if value and value.kind == "label" and not value.label:
                        behind = [clause for clause in sentence.clauses if clause.end > token.end]
                        return index, vocabulary.label_of_clauses(behind) or ""
        return -1, ""


Step = Callable[[ReplyPart], StepResult | None]
"""Looks for a label in one way."""


class LabelReader:
    """A question that is answered by a label.

    Args:
        vocabulary: Its words.
        steps: How a label is looked for, in order; by default `STEPS`.
    """

    def __init__(self, vocabulary: Vocabulary, steps: Sequence[Step] = ()) -> None:
        self.vocabulary, self.steps = vocabulary, tuple(steps) or STEPS

    def __call__(self, reply: str) -> Answer[str]:
        """Return the label that a reply states; the value is None if it states none."""
        reply = ReplyText(reply)
        if reply.missing:
            return reply.missing
        text = reply.text.strip()
        if len(text) <= _LONGEST_FORM and (label := self.vocabulary.forms.get(text.strip("*_`\"' .!").lower())):
            start = reply.find(text, reply.text_start)
            return Answer(label, step="form", place=(start, start + len(text)))
        parsed = [self.vocabulary.parse(sentence.text, sentence) for sentence in reply.sentences]
        objects = [value.content for value in reply.values]
        next_question = next(
            (at for at, sentence in enumerate(parsed) if at and sentence.text.startswith("question:")), 0
        )
        if next_question:  # a base model goes on with the next question
            answer = self._read_sentences(parsed[:next_question], reply, objects)
            if (answer.value and not answer.inferred) or answer.outcome == ABSTAINED:
                return answer
        return self._read_sentences(parsed, reply, objects)

    def _read_sentences(
        self, parsed: list[ParsedSentence], reply: ReplyText, objects: Sequence[dict[str, object]]
    ) -> Answer[str]:
        """Return the label of sentences, or of what follows if they take something back."""
        vocabulary = self.vocabulary
        for at, rest, before in [*islice(self._retractions(parsed), _MOST_RETRACTIONS)]:
            answer = self._try_steps(ReplyPart(vocabulary, [rest, *parsed[at + 1 :]], reply))
            # a "no" also answers, confirms or goes on; it takes back another label that was declared
            if answer.value and (before is None or self._declares_other(answer, [*parsed[:at], before], reply)):
                return answer
        answer = self._try_steps(ReplyPart(vocabulary, parsed, reply, objects))
        # a longer reply that infers a label may also say what cannot be known
        declining = parsed if answer.value is None else [parsed[0], parsed[-1]] if answer.inferred and parsed else []
        return Answer(None, "declines", ABSTAINED) if _declined(declining) else answer

    def _retractions(self, parsed: list[ParsedSentence]) -> Iterator[tuple[int, ParsedSentence, ParsedSentence | None]]:
        """Yield the sentences that take something back, the last one first.

        Yields:
            The index of the sentence; what it says behind the words that take something back; if they only deny, also
            what it says before them.
        """
        for at in range(len(parsed) - 1, -1, -1):
            sentence = parsed[at]
            if at and (token := self.vocabulary.retraction(sentence)):
                yield at, sentence.part(token.end if token.label else 0), None
                continue
            start, end = (0, 0) if sentence.is_item else self.vocabulary.denial(sentence)
            if end and (start or (at and not parsed[at - 1].asks)):
                yield at, sentence.part(end), sentence.part(0, start)

    def _declares_other(self, answer: Answer[str], parsed: list[ParsedSentence], reply: ReplyText) -> bool:
        before = self._try_steps(ReplyPart(self.vocabulary, parsed, reply))
        return bool(before.value) and not before.inferred and before.value != answer.value

    def _try_steps(self, part: ReplyPart) -> Answer[str]:
        for step in self.steps:
            if (result := step(part)) and result.label:
                if result.label == UNDECIDED:
                    break
                line = result.sentence.line.strip() if result.sentence else ""
                start = part.reply.find(line, part.reply.text_start) if line else -1
                place = None if start < 0 else (start, start + len(line))
                return Answer(result.label, inferred=step is inference, step=step.__name__, place=place)
        return Answer(None, "no verdict")


# --- steps ----------------------------------------------------------------------------------------


def field(part: ReplyPart) -> StepResult | None:
    """A field of a JSON object that is named after the verdict, or the only one of an object that has a label."""
    for item in part.values:
        if label := _of_fields(part.vocabulary, item):
            return StepResult(label, None)
    return None


def checklist(part: ReplyPart) -> StepResult | None:
    """A list that says yes or no to each of several labels, and yes to one."""
    if any(token.kind == "declare" for sentence in reversed(part.sentences) for token in sentence.tokens):
        return None  # with a marker, a list is no answer
    return only_affirmed(part.vocabulary, part.sentences)


def marker(part: ReplyPart) -> StepResult | None:
    """The label after the last marker of a verdict that has one ("Final verdict: False")."""
    # most replies end with theirs, so that the sentences before it need not be looked at
    for at, token in islice(_markers(part.sentences), _MOST_MARKERS):
        if not token.label and (result := _behind_marker(part, at, token)):
            result = StepResult(UNDECIDED, result.sentence) if _is_contradicted(part, at, token, result) else result
            return result if result.label != UNDECIDED else _decided_later(part, at) or result
    return None


def statement(part: ReplyPart) -> StepResult | None:
    """What is stated after a marker ("Verdict: the answer contains an error"), unless a conclusion follows it."""
    concluded, _ = part.concluded
    for at, token in part.markers:
        if (
            not token.label
            and concluded <= at
            and (label := _stated_behind(part.vocabulary, part.sentences[at], token))
        ):
            return StepResult(label, part.sentences[at])
    return None


def conclusion(part: ReplyPart) -> StepResult | None:
    """A conclusion that states the label ("Hence it is false.")."""
    at, label = part.concluded
    return StepResult(label, part.sentences[at]) if label else None


def topic(part: ReplyPart) -> StepResult | None:
    """The last line "topic: yes", or a last question and its answer."""
    vocabulary, parsed = part.vocabulary, part.sentences
    if len(parsed) > 1 and parsed[-2].asks and (label := vocabulary.label_of_own_question(parsed[-2], parsed[-1])):
        return StepResult(label, parsed[-1])
    for sentence in reversed(parsed):
        for token in sentence.tokens[: -_MOST_MARKERS - 1 : -1]:
            if (
                token.kind == "stop"
                and sentence.text[token.start] in ":?=¦–"
                and "?" not in sentence.text[: token.start]
            ):
                value = vocabulary.value(sentence, token.end)
                ends = value and value.label and not sentence.has_content(value.end)
                if ends and (label := _of_topic(vocabulary, sentence, token.start)):
                    return StepResult(label, sentence)
    return None


def weak_marker(part: ReplyPart) -> StepResult | None:
    """The label after a word that may also introduce something else ("Answer: no")."""
    for at, token in part.markers:
        if token.label and (result := _behind_marker(part, at, token)):
            return result
    return None


def bare_line(part: ReplyPart) -> StepResult | None:
    """A last or first line that is the label alone."""
    if not part.sentences:
        return None
    last, first = part.sentences[-1], part.sentences[0]
    if last.is_item and first.is_item:
        listed = {value.label for sentence in part.sentences if (value := part.vocabulary.whole_value(sentence))}
        if len(listed) > 1:
            return StepResult(UNDECIDED, last)
    for sentence in (last, first):
        value = part.vocabulary.whole_value(sentence)
        if sentence is last and value and value.kind in ("yes", "no") and _answers_another(part):
            continue
        if value and value.kind == "label" and sum(part.heads.values()) > 1:
            return None
        if value and (len(part.sentences) == 1 or (value.kind != "surely" and not sentence.asks)):
            return StepResult(value.label, sentence)
    return None


def last_clause(part: ReplyPart) -> StepResult | None:
    """A last line that ends in the label ("…, hence True")."""
    if part.goes_through or not part.sentences or (last := part.sentences[-1]).asks:
        return None
    begun = part.vocabulary.value(last)
    kinds = {token.kind for token in last.tokens}
    rates_labels = "label" in kinds and not kinds.isdisjoint(("good", "bad"))  # "A, B and D are incorrect"
    if begun and (begun.kind, begun.label) == ("several", UNDECIDED) and kinds <= _LISTED and not rates_labels:
        return StepResult(UNDECIDED, last)  # "Yes, No"
    values = (part.vocabulary.whole_value(last, start) for start in _parts(last))
    value = next(filter(None, values), None)
    return StepResult(value.label, last) if value else None


def last_word(part: ReplyPart) -> StepResult | None:
    """A yes or a no that is the last word ("After a check of the date yes.")."""
    last = part.sentences[-1] if part.sentences and not part.goes_through else None
    clause = last.clauses[-1] if last and not last.asks and last.clauses else None
    if last is None or clause is None or not clause.tokens or clause.opener in ASIDES:
        return None
    if _answers_another(part):
        return None
    *before, token = clause.tokens
    is_answer = token.kind in ("yes", "no") and token.label != "after" and not last.has_content(token.end)
    if not is_answer or last.says_nothing(token.start) or any(other.kind in _DOUBTS for other in before):
        return None
    return StepResult(part.vocabulary.no(token) if token.kind == "no" else part.vocabulary.yes, last)


def first_word(part: ReplyPart) -> StepResult | None:
    """A first line that begins with the label ("No, the year differs.")."""
    if part.goes_through or not part.sentences:
        return None
    first = part.sentences[0]
    value = part.vocabulary.value(first)
    if value is None or value.kind == "surely" or (value.kind == "yes" and _declined(part.sentences)):
        return None
    if value.kind in ("good", "bad") and any(declines(clause) for clause in first.clauses if clause.end > value.end):
        return StepResult(UNDECIDED, first)  # "Hallucination: unclear"
    if value.kind in ("yes", "no"):
        beside = [clause for clause in first.clauses if clause.opener == "bound" and clause.start >= value.end]
        if part.vocabulary.label_of_clauses(beside) not in (None, value.label, *NO_VALUE):
            return StepResult(UNDECIDED, first)  # "Yes, the summary is faithful", of whether it hallucinates
    begins = value.label not in NO_VALUE and first.starts_line and part.vocabulary.is_answer_at_start(first, value)
    return StepResult(value.label, first) if begins else None


def inference(part: ReplyPart) -> StepResult | None:
    """What the sentences state of the judged text, if all of them say the same; in a long reply, the first one."""
    label = part.vocabulary.infer([sentence for sentence in part.sentences if not sentence.only_mentions])
    return StepResult(label, None) if label else None


STEPS: tuple[Step, ...] = (
    *(field, marker, checklist, statement, conclusion, topic, weak_marker),
    *(bare_line, last_clause, last_word, first_word, inference),
)
"""How a label is looked for, in order."""


# --- what steps share -----------------------------------------------------------------------------


def only_affirmed(vocabulary: Vocabulary, parsed: Sequence[ParsedSentence]) -> StepResult | None:
    """Return the only label that a list affirms with a yes or a sign, of several with a yes, a no or a sign each."""
    if not vocabulary.names_labels:
        return None
    tokens = [(token, vocabulary.sign(sentence, token), sentence) for sentence in parsed for token in sentence.tokens]
    kinds = (sign is not None for token, sign, _ in tokens if sign is not None or token.kind in ("label", "clue"))
    sign_first = next(kinds, False)
    affirms: dict[str, tuple[bool, ParsedSentence]] = {}
    label, before, end, current = "", None, 0, None
    for token, sign, sentence in tokens:
        if current is not sentence:
            current, end = sentence, 0
        if len(_UNKNOWN.findall(sentence.text, end, token.start)) > _MOST_UNKNOWN:
            label = ""  # the sentence is about something else
        end = token.end
        is_label = token.kind == "label" or (token.kind == "clue" and token.label and not sign_first)
        if is_label:
            label = token.label
            if before is not None:
                affirms.setdefault(label, (before, sentence))
                before = None
        elif sign is not None and sign_first:
            before = sign
        elif sign is not None and label:
            affirms.setdefault(label, (sign, sentence))
            label = ""
        elif token.kind not in _BETWEEN:
            label = ""
    results = [StepResult(label, sentence) for label, (holds, sentence) in affirms.items() if holds]
    return results[0] if len(affirms) > 1 == len(results) else None


def _of_fields(vocabulary: Vocabulary, item: dict[str, object]) -> str | None:
    """Return the label of the last member that is named after the verdict, or of the only member with a label."""
    named, other_labels, parsed = None, [], []
    for name, content in item.items():
        member = "none" if content in (None, []) and _names_fault(vocabulary, name) else content
        if not isinstance(member, str | bool | int) or len(str(member)) > _LONGEST_VALUE:
            continue
        sentence = vocabulary.parse(f"{name}: {vocabulary.as_words(member)}".replace("_", " "))
        parsed.append(sentence)
        colon = sentence.text.find(":")
        value = vocabulary.value(sentence, colon)
        decided = value and value.label != UNDECIDED and not sentence.has_content(value.end)
        label = _of_topic(vocabulary, sentence, colon) or (value.label if value and decided else None)
        kinds = {token.kind for token in sentence.tokens if token.start < colon}
        if value and label and value.kind == "label" and kinds & {"bad", "worse"}:
            # {"wrong": "A"}
            label = vocabulary.other(label) if len(vocabulary.labels) == 2 else None
        is_flag = isinstance(member, bool) and not vocabulary.judges
        if label and (is_flag or kinds & {"declare", "field", "good", "bad", "whole"}):
            named = label
        elif label:
            other_labels.append(label)
    each = only_affirmed(vocabulary, parsed)
    return (each and each.label) or named or (other_labels[0] if len(item) == len(other_labels) == 1 else None)


def _names_fault(vocabulary: Vocabulary, name: str) -> bool:
    return any(token.kind == "bad" for token in vocabulary.parse(name.replace("_", " ")).tokens)


def _of_topic(vocabulary: Vocabulary, sentence: ParsedSentence, colon: int) -> str | None:
    """Return the label of "topic: yes" or "topic? No", if the topic has words of judgment."""
    titles = [clause for clause in sentence.clauses if clause.end == colon <= _LONGEST_TOPIC and not clause.opener]
    polarities = {good for clause in titles for good, _ in signs(clause)}
    value = vocabulary.value(sentence, colon)
    if len(polarities) != 1 or value is None or value.kind not in ("yes", "no", "good", "bad"):
        return None
    is_truth = re.search(r"\b(?:true|false)\b", sentence.text[colon : value.end])
    if value.kind in ("good", "bad") and (titles[0].has("negate", "declare") or not is_truth):
        return None
    return vocabulary.label_of_polarity((True in polarities) == (value.kind in ("yes", "good")))


def _answers_another(part: ReplyPart) -> bool:
    """Return whether the last sentence answers a question of the reply's own that judges nothing."""
    question = part.sentences[-2] if len(part.sentences) > 1 and part.sentences[-2].asks else None
    return question is not None and not any(token.kind in ("good", "bad", "label") for token in question.tokens)


def _behind_marker(part: ReplyPart, at: int, marker: Token) -> StepResult | None:
    sentence, start = part.sentences[at], marker.end
    if not sentence.has_content(start):
        if at + 1 == len(part.sentences):
            return None
        sentence, start = part.sentences[at + 1], 0
    if value := part.vocabulary.value(sentence, start):
        index = at + (sentence is not part.sentences[at])
        below = part.sentences[index + 1] if index + 1 < len(part.sentences) else None
        is_own = below is not None and not below.asks and not any(token.kind == "declare" for token in below.tokens)
        other = part.vocabulary.whole_value(below) if below and is_own and not sentence.has_content(value.end) else None
        if other and _FAMILY.get(other.kind) == _FAMILY.get(value.kind) and other.label != value.label:
            return StepResult(UNDECIDED, sentence)  # two verdicts on two lines
        label = UNDECIDED if sentence.text[value.end :].lstrip().startswith("?") else value.label
        return StepResult(label, sentence) if label else None
    is_title = not marker.label and sentence.starts_line and _TITLE.match(sentence.text, marker.end)
    declined = is_title and any(declines(clause) for clause in sentence.clauses if clause.end > start)
    return StepResult(UNDECIDED, sentence) if declined else None


def _decided_later(part: ReplyPart, at: int) -> StepResult | None:
    """Return what the end of a reply decides ("Both are right. Therefore, I choose B.")."""
    rest = part.sentences[at + 1 :]
    if not any(token.kind in ("conclude", "pick") for sentence in rest[-2:] for token in sentence.tokens):
        return None
    if part.concluded[0] > at:
        return conclusion(part)
    label = part.vocabulary.infer(rest)
    return StepResult(label, rest[-1]) if label else None


def _is_contradicted(part: ReplyPart, at: int, marker: Token, result: StepResult) -> bool:
    """Return whether one of the two sentences above gives another label behind the same marker."""
    if marker is not part.sentences[at].tokens[0]:
        return False  # "On a second look, final verdict: …"
    word, first = _word(part, at, marker), max(at - 2, 0)
    above = part.sentences[first:at]
    for number, token in _markers(above) if any(word in sentence.text for sentence in above) else ():
        if not token.label and _word(part, first + number, token) == word:
            other = _behind_marker(part, first + number, token)
            return bool(other and other.label not in (*NO_VALUE, result.label))
    return False


def _word(part: ReplyPart, at: int, token: Token) -> str:
    return part.sentences[at].text[token.start : token.end]


def _stated_behind(vocabulary: Vocabulary, sentence: ParsedSentence, marker: Token) -> str | None:
    rest = [clause for clause in sentence.clauses if clause.end > marker.end]
    if not sentence.has_content(marker.end) or any(clause.opener == "suppose" for clause in rest):
        return None
    is_first = not any(token.end <= marker.start for token in sentence.tokens)
    is_title = sentence.starts_line and _TITLE.match(sentence.text, marker.end) and is_first
    if any(map(declines, rest)):
        return UNDECIDED
    label = vocabulary.label_of_clauses(rest)
    return UNDECIDED if label is None and is_title else label


def _markers(parsed: Sequence[ParsedSentence]) -> Iterator[tuple[int, Token]]:
    for index, sentence in reversed([*enumerate(parsed)]):
        for token in reversed(sentence.tokens):
            if token.kind == "declare" and not _is_supposed(sentence, token):
                yield index, token


def _is_title(sentence: ParsedSentence, label: Token) -> bool:
    """Return whether a mark follows a label ("A: …"), or what rates it and no more ("A ✔")."""
    follows = next(sentence.tokens_after(label.end), None)
    if follows is None or follows.start > label.end + 2 or sentence.text[follows.start] in "();":
        return False
    if follows.kind not in ("good", "bad", "yes", "no"):
        return follows.kind == "stop"
    is_sign = not sentence.text[follows.start].isalnum()
    return follows.label != "after" and (is_sign or not sentence.has_content(follows.end))


def _is_supposed(sentence: ParsedSentence, marker: Token) -> bool:
    """Return whether what follows a marker is conceded, supposed, asked or denied."""
    if marker is sentence.tokens[0] and "suppose" not in {token.kind for token in sentence.tokens}:
        return False
    before = [token for token in sentence.tokens if token.end <= marker.start]
    if sentence.says_nothing(marker.start):
        return True
    if before and before[-1].kind == "bad" and before[-1].end + 1 == marker.start:
        return True  # "Incorrect answer: B"
    openers = {clause.opener for clause in sentence.clauses if clause.start <= marker.start < clause.end}
    if "suppose" not in openers and _COLON_FOLLOWS.match(sentence.text, marker.end):
        return False
    return (
        not openers.isdisjoint(ASIDES)
        or any(token.kind == "hedge" for token in before)
        or any(token.kind in ("cannot", "ask", "suppose") for token in before[-3:])
        or (bool(before) and before[-1].kind in ("negate", "no") and marker.start <= before[-1].end + 1)
    )


def _parts(sentence: ParsedSentence) -> list[int]:
    """Return where clauses of a sentence begin and its commas end, the last one first, without asides and reasons."""
    asides = [clause for clause in sentence.clauses if clause.opener in ASIDES or clause.has("ask")]
    counted = (clause for clause in sentence.clauses if clause.opener != "because" and clause not in asides)
    starts = [clause.start for clause in counted if clause.start]
    commas = [token.end for token in sentence.tokens if token.kind == "comma"]
    starts += [end for end in commas if not any(clause.start <= end <= clause.end for clause in asides)]
    return sorted(starts, reverse=True)


# --- replies that decline -------------------------------------------------------------------------


def partly_declines(text: str) -> bool:
    """Return whether a sentence of a reply declines; the reply may still answer in another one."""
    return any(_sentences_decline(text))


def only_declines(text: str) -> bool:
    """Return whether all sentences of a reply decline; False if it has none."""
    declining = _sentences_decline(text)
    return next(declining, False) and all(declining)


def _sentences_decline(text: str) -> Iterator[bool]:
    words = lexicon(*LANGUAGES, *(f"{name}.{language}" for name in ("judgment", "declining") for language in LANGUAGES))
    folded = (fold(sentence.text) for sentence in sentences(text))
    return (any(map(declines, split_clauses(words.scan(sentence), sentence))) for sentence in folded)


def _declined(parsed: Sequence[ParsedSentence]) -> bool:
    """Return whether the author declines, and does not turn from it ("I am not sure, but B is closer")."""
    return any(
        declines(clause) and not any(other.opener == "turn" for other in sentence.clauses[number + 1 :])
        for sentence in parsed
        for number, clause in enumerate(sentence.clauses)
    )
