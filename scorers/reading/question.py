"""Read the label that a reply states.

All questions are read in the same order. The first of these that a reply has is its label:

1. a field of a JSON object that is named after the verdict;
2. a list that says yes or no to each of several labels, and yes to one;
3. the last declared verdict ("Final verdict: False"), or a conclusion that states the label ("Hence it is false.");
4. a last line that is the label alone, or ends in it ("…, hence True"), or a first line that begins with it;
5. a sentence that concludes in other words ("Hence it contains errors.");
6. the sentences that speak for or against the judged text, if all of them say the same; in a long reply, the first one.

A reply that takes back what it said ("Wait, …") is read from there on, if this part has a label. Labels of steps 5 and
6 are inferred. A reply without a label abstains if it declines to answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.clauses import ASIDES, Clause, clauses, declines, judge, signs
from halu_tasks.scorers.reading.fields import objects
from halu_tasks.scorers.reading.lexicon import Lexicon, Token, lexicon
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.text import joined, sentences
from halu_tasks.text.folding import fold

_WORD = re.compile(r"\w")
_APART = re.compile(r"\s*'?(?:$|[^\w\s'])")
_LEADING = ("comma", "stop", "turn", "no")
_FILLERS = (
    "filler",
    "whole",
    "conclude",
    "declare",
    "comma",
    "stop",
    "turn",
    "field",
    "bound",
    "say",
    "question",
    "retract",
    "strong",
)
_BETWEEN = (*_FILLERS, "copula", "either", "changed", "good", "bad", "same", "because", "clue", "yes", "no")
_DOUBTS = ("negate", "no", "ask", "hedge", "either", "cannot", "decline", "question", "good", "bad", "call")
_TITLE = re.compile(r"\s?[:=]")
UNDECIDED = "undecided"
_MOST_MARKERS = 100
_COLON_FOLLOWS = re.compile(r"\s*(?:(?:is|are|would be|will be)\s*)?:")  # "whereas B is not, the final verdict is: A"
"""Markers of a reply, and words of a sentence, that are tried from the end; no real reply has as many."""
_MOST_RETRACTIONS = 10
_SHORT = 6
"""Sentences of a reply that does not discuss the subject at length; in longer ones only those on the text count."""
_NONE = ("", UNDECIDED)


class Value(NamedTuple):
    """The label that a text begins with: the kind of its word, the label, and where it ends."""

    kind: str
    label: str
    end: int


class Read(NamedTuple):
    """A sentence of a reply and its clauses."""

    text: str
    tokens: list[Token]
    clauses: list[Clause]
    starts_line: bool
    ends_line: bool
    is_item: bool


class Question:
    """A question about a text that a label answers.

    Args:
        names: The names of its lexicons.
        languages: The languages of its lexicons.
        labels: The label of a text that is right, and that of one that is not.
        yes: The label that "yes" stands for.
    """

    def __init__(self, names: Sequence[str], languages: Sequence[str], labels: tuple[str, ...], yes: str) -> None:
        self.names, self.languages = names, languages
        self.labels, self.yes = labels, yes

    @cached_property
    def lexicon(self) -> Lexicon:
        """The phrases of the languages and those of the question in each of them."""
        return lexicon(*self.languages, *(f"{name}.{language}" for name in self.names for language in self.languages))

    def __call__(self, reply: str) -> Answer[str]:
        """Return the label that a reply states; the value is None if it states none."""
        text = strip_reasoning(reply)
        if text is None:
            return Answer(None, "unclosed reasoning")
        if not text.strip():
            return Answer(None, "empty")
        for item in objects(text):
            if label := self._field(item):
                return Answer(label)
        found = self.sentences(text)
        another = next((index for index, read in enumerate(found) if index and read.text.startswith("question:")), 0)
        if another:  # a base model goes on with the next question
            answer = self._read_part(found[:another])
            if (answer.value and not answer.inferred) or answer.abstained:
                return answer
        return self._read_part(found)

    def sentences(self, text: str) -> list[Read]:
        """Return the sentences of a reply without reasoning, with their clauses."""
        found = []
        for sentence in joined(sentences(text)):
            folded = fold(self.prepare(sentence.text))
            tokens = self._scan(folded)
            found.append(Read(folded, tokens, clauses(tokens, folded), *sentence[1:]))
        return found

    def _scan(self, folded: str) -> list[Token]:
        known = ("", *self.labels)
        return [token for token in self.lexicon.scan(folded) if token.kind != "label" or token.label in known]

    def _read_part(self, found: list[Read]) -> Answer[str]:
        """Return the label of sentences; if they take something back, that of what follows."""
        retracts = [index for index, read in enumerate(found) if index and self.retracts(read)]
        for index in reversed(retracts[-_MOST_RETRACTIONS:]):
            answer = self._read([found[index]._replace(starts_line=True), *found[index + 1 :]])
            if answer.value:
                return answer
        answer = self._read(found)
        if answer.value is None and any(declines(clause) for read in found for clause in read.clauses):
            return Answer(None, "declines", abstained=True)
        return answer

    def retracts(self, read: Read) -> bool:
        """Return whether a sentence begins with words that take something back."""
        first = next((token for token in read.tokens if token.kind not in _LEADING), None)
        if first is None or first.kind != "retract":
            return False
        return not _WORD.search(re.sub(r"\bno\b", "", read.text[: first.start]))

    def prepare(self, text: str) -> str:
        """Return a sentence as it is read."""
        return text

    def _read(self, found: list[Read]) -> Answer[str]:
        if label := self._each(found) or self._declared(found) or self._alone(found):
            return Answer(None if label == UNDECIDED else label, "" if label != UNDECIDED else "no verdict")
        label = self.infer(found)
        return Answer(label, inferred=True) if label else Answer(None, "no verdict")

    def _each(self, found: list[Read]) -> str | None:
        """Return the only label that a list with a yes, a no or a sign for each of several labels affirms."""
        marked: dict[str, bool] = {}
        marks = [
            self._sign(read, token) is not None
            for read in found
            for token in read.tokens
            if token.kind in ("label", "clue") or self._sign(read, token) is not None
        ]
        first_is_sign = bool(marks) and marks[0]
        label, sign = "", None
        for read in found:
            for token in read.tokens:
                holds = self._sign(read, token)
                if token.kind == "label" or (token.kind == "clue" and token.label and not first_is_sign):
                    label = token.label
                    if first_is_sign and sign is not None:
                        marked.setdefault(label, sign)
                        sign = None
                elif holds is not None:
                    if first_is_sign:
                        sign = holds
                    elif label:
                        marked.setdefault(label, holds)
                        label = ""
                elif token.kind not in _BETWEEN:
                    label = ""
        affirmed = [label for label, holds in marked.items() if holds]
        if len(marked) < 2 or not affirmed:
            return None
        return affirmed[0] if len(affirmed) == 1 else UNDECIDED

    def _sign(self, read: Read, token: Token) -> bool | None:
        """Return whether a yes, a no, or a sign affirms; None if the token is none of them."""
        if not read.text[token.start].isalnum() and token.kind in ("good", "bad"):
            return token.kind == "good"
        if token.kind in ("yes", "no") and (token.label == "after" or self._is_apart(read, token)):
            return token.kind == "yes"
        return None

    # --- values --------------------------------------------------------------------------------------

    def value(self, read: Read, start: int = 0) -> Value | None:
        """Return the label that a sentence begins with at `start`; None if it begins with something else."""
        negated = partly = False
        fallback: Value | None = None
        position = start
        for token in read.tokens:
            if token.start < start:
                continue
            if _WORD.search(read.text[position : token.start]):
                return fallback
            position = token.end
            if token.kind == "turn":
                negated = False
            if token.kind in _FILLERS or token.kind == "modal" or (token.kind == "part" and start):
                continue
            if token.kind in ("no", "negate", "cannot"):
                if token.kind == "no" and not negated and self._is_apart(read, token):
                    answer = self._unless_either(read, Value("no", self._other(self.yes), token.end))
                    said = self.value(read, token.end) if answer.kind == "no" else None
                    return said if said and said.kind in ("good", "bad") else answer
                negated = True if token.label == "nor" else not negated
            elif token.kind == "copula":
                if not self._goes_on(read, token.end):
                    return Value("yes", self._other(self.yes) if negated else self.yes, token.end)
            elif token.kind == "partly":
                partly = True
            elif token.kind == "yes" and token.label == "surely":
                fallback = Value("surely", self.yes, token.end)
            elif token.kind in ("yes", "good", "bad", "label"):
                if token.kind == "good" and any(
                    other.kind == "bad" and token.end <= other.start <= token.end + 1 for other in read.tokens
                ):
                    return None
                if token.kind == "yes" and self.yes != "Yes" and self._goes_on(read, token.end):
                    fallback = None
                    continue
                value = self._labelled(token, negated != self._turned(read, token), partly)
                if value.label == UNDECIDED and self._goes_on(read, value.end):
                    return value._replace(label="")  # "partly true, but with an error"
                return self._unless_either(read, value)
            elif token.kind == "decline":
                return Value("decline", UNDECIDED, token.end)
            else:
                return fallback
        return fallback

    def _turned(self, read: Read, label: Token) -> bool:
        """Return whether a negator behind a label, in the same clause, turns it."""
        for token in read.tokens:
            if token.start >= label.end:
                if token.kind in ("comma", "stop", "turn", "because", "bound", "conclude"):
                    return False
                if token.kind == "no" and token.label == "after":
                    return True
        return False

    def _labelled(self, token: Token, negated: bool, partly: bool) -> Value:
        if token.kind == "yes":
            return Value("yes", self._other(self.yes) if negated else self.yes, token.end)
        if token.kind == "good" and partly:
            return Value(token.kind, UNDECIDED, token.end)
        return Value(token.kind, self.labels[0 if (token.kind == "good") != negated else 1], token.end)

    def _is_apart(self, read: Read, token: Token) -> bool:
        """Return whether "no" is an answer: it is the last word, or before a mark or another clause."""
        if token.label == "apart" or not read.text[token.start].isalnum():
            return True
        if _APART.match(read.text, token.end):
            return True
        following = next((other for other in read.tokens if other.start >= token.end), None)
        return following is not None and following.start <= token.end + 1 and following.kind in ("because", "bound")

    def _unless_either(self, read: Read, value: Value) -> Value:
        """Return the value; one without a label if the sentence goes on with "or" and another label, or with "if"."""
        behind = [token for token in read.tokens if value.end <= token.start <= value.end + 25]
        if behind and behind[0].start <= value.end + 2:
            if behind[0].kind in ("suppose", "ask"):
                return value._replace(label="")
            others = [token for token in behind[1:3] if token.kind in ("yes", "no", "good", "bad", "label")]
            if behind[0].kind == "either" and others:
                return value._replace(label="")
        return value

    def _other(self, label: str) -> str:
        if not label:
            return ""
        return self.labels[1] if label == self.labels[0] else self.labels[0]

    def _field(self, item: dict[str, object]) -> str | None:
        """Return the label of the last member that is named after the verdict, or of the only member with a label."""
        named, others, reads = None, [], []
        for name, value in item.items():
            if not isinstance(value, str | bool | int) or len(str(value)) > 100:
                continue
            text = f"{name}: { {'True': 'yes', 'False': 'no', '1': 'yes', '0': 'no'}.get(str(value), value) }".replace(
                "_", " "
            )
            folded = fold(self.prepare(text))
            tokens = self._scan(folded)
            read = Read(folded, tokens, clauses(tokens, folded), True, True, False)
            reads.append(read)
            colon = folded.find(":")
            value = self.value(read, colon)
            label = self._of_topic(read, colon) or (
                value.label if value and value.label != UNDECIDED and not self._goes_on(read, value.end) else None
            )
            if label and any(
                token.start < colon and token.kind in ("declare", "field", "good", "bad", "whole") for token in tokens
            ):
                named = label
            elif label:
                others.append(label)
        each = self._each(reads)
        return (each if each != UNDECIDED else None) or named or (others[0] if len(item) == len(others) == 1 else None)

    def _of_topic(self, read: Read, colon: int) -> str | None:
        """Return the label of "topic: yes" or "topic? No", if the topic has words of judgment."""
        topic = [clause for clause in read.clauses if clause.end == colon <= 60 and not clause.opener]
        said = {good for clause in topic for good, _ in signs(clause)}
        value = self.value(read, colon)
        if len(said) != 1 or value is None or value.kind not in ("yes", "no", "good", "bad"):
            return None
        word = read.text[colon : value.end]
        if value.kind in ("good", "bad") and (topic[0].opener or topic[0].has("negate", "declare")):
            return None
        affirms = value.kind == "yes" if value.kind in ("yes", "no") else value.kind == "good"
        if value.kind in ("good", "bad") and not re.search(r"\b(?:true|false)\b", word):
            return None
        return self.labels[0 if said == {True} else 1] if affirms else self.labels[1 if said == {True} else 0]

    # --- declared labels -----------------------------------------------------------------------------

    def _declared(self, found: list[Read]) -> str | None:
        """Return the label after the last marker that has one; of a statement after a marker; after a weak marker.

        A conclusion behind it takes precedence over a marker without a label, and over a statement after a marker.
        """
        markers = [
            (index, token)
            for index, read in enumerate(found)
            for token in read.tokens
            if token.kind == "declare" and not self._is_supposed(read, token)
        ][: -_MOST_MARKERS - 1 : -1]
        strong = [(index, token) for index, token in markers if not token.label]
        concluded, conclusion = self._concluded(found)
        for index, token in strong:
            if label := self._after_marker(found, index, token):
                return self._unless_concluded(found, index, label)
        for index, token in strong:
            if concluded <= index and (label := self._stated_after(found, index, token)):
                return self._unless_concluded(found, index, label)
        if label := conclusion or self._topic(found):
            return label
        for index, token in markers:
            if token.label and (label := self._after_marker(found, index, token)):
                return self._unless_concluded(found, index, label)
        return None

    def _unless_concluded(self, found: list[Read], index: int, label: str) -> str | None:
        """Return a declared label; that of a conclusion behind it if it decides nothing."""
        behind = found[index + 1 :]
        if label != UNDECIDED or not any(token.kind == "conclude" for read in behind[-2:] for token in read.tokens):
            return label
        return self._concluded(behind)[1] or self.infer(behind) or label

    def _concluded(self, found: list[Read]) -> tuple[int, str]:
        """Return the index of the last sentence that concludes with a label, and the label ("Hence it is false.")."""
        for index in range(len(found) - 1, -1, -1):
            read = found[index]
            for token in reversed(read.tokens):
                if token.kind == "conclude" and not self._is_supposed(read, token):
                    value = self.value(read, token.end)
                    if (
                        value
                        and value.kind in ("good", "bad", "label")
                        and value.label not in _NONE
                        and self._ends_here(read, value)
                    ):
                        return index, value.label
        return -1, ""

    def _ends_here(self, read: Read, value: Value) -> bool:
        """Return whether nothing else is said of the text in the clause of a label."""
        behind = next((token for token in read.tokens if token.start >= value.end), None)
        near = (
            behind is not None
            and behind.start <= value.end + 2
            and behind.kind in ("because", "bound", "turn", "comma", "stop")
        )
        return near or not self._goes_on(read, value.end)

    def _is_supposed(self, read: Read, marker: Token) -> bool:
        before = [token for token in read.tokens if token.end <= marker.start]
        openers = {clause.opener for clause in read.clauses if clause.start <= marker.start < clause.end}
        if "suppose" not in openers and _COLON_FOLLOWS.match(read.text, marker.end):
            return False
        return (
            bool(openers & set(ASIDES))
            or any(token.kind == "hedge" for token in before)
            or any(token.kind in ("cannot", "ask", "suppose") for token in before[-3:])
            or (bool(before) and before[-1].kind in ("negate", "no") and marker.start <= before[-1].end + 1)
        )

    def _after_marker(self, found: list[Read], index: int, marker: Token) -> str | None:
        read, start = found[index], marker.end
        if self._only_fillers(read, start):
            if index + 1 == len(found):
                return None
            read, start = found[index + 1], 0
        value = self.value(read, start)
        if value:
            return value.label or None
        is_title = not marker.label and read.starts_line and _TITLE.match(read.text, marker.end)
        if is_title and any(declines(clause) for clause in read.clauses if clause.end > start):
            return UNDECIDED
        return None

    def _stated_after(self, found: list[Read], index: int, marker: Token) -> str | None:
        read = found[index]
        if self._only_fillers(read, marker.end):
            return None
        rest = [clause for clause in read.clauses if clause.end > marker.end]
        if any(clause.opener == "suppose" for clause in rest):
            return None
        if any(map(declines, rest)):
            return UNDECIDED
        before = any(token.end <= marker.start for token in read.tokens)
        label = self.judged(rest)
        is_title = read.starts_line and _TITLE.match(read.text, marker.end) and not before
        return UNDECIDED if label is None and is_title else label

    def _only_fillers(self, read: Read, start: int, end: int | None = None) -> bool:
        end = len(read.text) if end is None else end
        fillers = [token for token in read.tokens if start <= token.start < end]
        ends = [start, *(token.end for token in fillers)]
        return all(token.kind in (*_FILLERS, "modal", "copula") for token in fillers) and not any(
            _WORD.search(read.text[begin:until])
            for begin, until in zip(ends, [*(token.start for token in fillers), end], strict=True)
        )

    def _topic(self, found: list[Read]) -> str | None:
        """Return the label of the last line "topic: yes", or of a last question and its answer."""
        if len(found) > 1 and found[-2].text.endswith("?") and (label := self._answered(found[-2], found[-1])):
            return label
        for read in reversed(found):
            for token in read.tokens[: -_MOST_MARKERS - 1 : -1]:
                if token.kind == "stop" and read.text[token.start] in ":?=¦–" and "?" not in read.text[: token.start]:
                    value = self.value(read, token.end)
                    if (
                        value
                        and value.label
                        and not self._goes_on(read, value.end)
                        and (label := self._of_topic(read, token.start))
                    ):
                        return label
        return None

    def judged(self, found: list[Clause]) -> str | None:
        """Return the label of what the clauses state; None if they state none."""
        statement = judge(found)
        return None if statement is None else self.labels[0 if statement.good else 1]

    def _alone(self, found: list[Read]) -> str | None:
        """Return the label of a last or first line that is the label alone, ends in it, or begins with it."""
        if not found:
            return None
        last, first = found[-1], found[0]
        for read in (last, first):
            if (
                (value := self.value(read))
                and value.label not in _NONE
                and not self._goes_on(read, value.end)
                and not (value.kind == "surely" and len(found) > 1)
                and (len(found) == 1 or not read.text.endswith("?"))
            ):
                return value.label
        starts = [clause.start for clause in last.clauses if clause.opener not in ASIDES and clause.start]
        asides = [clause for clause in last.clauses if clause.opener in ASIDES]
        starts += [
            token.end
            for token in last.tokens
            if token.kind == "comma" and not any(clause.start <= token.end <= clause.end for clause in asides)
        ]
        for start in sorted(starts, reverse=True):
            value = self.value(last, start)
            if (
                value
                and value.label not in _NONE
                and not self._goes_on(last, value.end)
                and not last.text.endswith("?")
            ):
                return value.label
        if label := self._at_end(last):
            return label
        value = self.value(first)
        declined = any(declines(clause) for read in found for clause in read.clauses)
        if value and (value.kind == "surely" or (value.kind == "yes" and declined)):
            return None
        if value and value.label not in _NONE and first.starts_line and self._begins(first, value):
            return value.label
        return None

    def _at_end(self, last: Read) -> str | None:
        """Return the label of a yes or a no that is the last word ("After a check of the date yes.")."""
        clause = last.clauses[-1] if last.clauses else None
        if clause is None or not clause.tokens or clause.opener in ASIDES:
            return None
        *before, token = clause.tokens
        if (
            token.kind not in ("yes", "no")
            or token.label == "after"
            or self._goes_on(last, token.end)
            or last.text.endswith("?")
        ):
            return None
        if any(other.kind in _DOUBTS for other in before):
            return None
        return self.yes if token.kind == "yes" else self._other(self.yes)

    def _goes_on(self, read: Read, end: int) -> bool:
        """Return whether a sentence says more behind a label."""
        return not self._only_fillers(read, end)

    def _begins(self, read: Read, value: Value) -> bool:
        behind = next((token for token in read.tokens if token.start >= value.end), None)
        near = behind is not None and behind.start <= value.end + 2
        takes_back = read.text.endswith(";") or any(token.kind in ("turn", "except") for token in read.tokens)
        if value.kind in ("good", "bad") and takes_back:
            return False
        if near and behind is not None and read.text[behind.start] == "?":
            return False
        kinds = ("comma", "stop", "because", "bound", "turn", *(("whole",) if value.kind in ("yes", "no") else ()))
        return (near and behind is not None and behind.kind in kinds) or bool(
            re.match(r"\s*[.!(;]", read.text[value.end :])
        )

    def infer(self, found: list[Read]) -> str | None:
        """Return the label that follows from what the sentences state of the judged text; None if they differ."""
        said = []
        opens = False
        for number, read in enumerate(found):
            if number and found[number - 1].text.endswith("?") and (label := self._answered(found[number - 1], read)):
                said.append((label, False))
                continue
            statement = judge(read.clauses)
            # a long reply discusses the subject: only what it says of the text at its ends, or in a conclusion, counts
            at_end = number < 2 or number >= len(found) - 2 or (statement and statement.concludes)
            names_text = any(token.kind == "whole" and token.label for token in read.tokens)
            about_text = len(found) <= _SHORT or (at_end and names_text)
            if statement and about_text and not (statement.good and read.is_item):
                opens = opens or (not said and number == 0 and names_text)
                said.append((self.labels[0 if statement.good else 1], statement.concludes))
        concluded = [label for label, concludes in said if concludes]
        if concluded:
            return concluded[-1]
        labels = {label for label, _ in said}
        if len(labels) == 1 or (opens and len(found) > _SHORT):
            return said[0][0]
        return None

    def _answered(self, question: Read, answer: Read) -> str | None:
        """Return the label of the answer to a question that the reply itself asks ("Is it faithful? Not quite.")."""
        value = self.value(answer)
        polar = next((token for token in question.tokens if token.kind in ("good", "bad")), None)
        turns = sum(token.kind == "negate" for token in question.tokens if polar and token.end <= polar.start)
        said = [(polar.kind == "good") != (turns % 2 == 1)] if polar else []
        if not said or value is None or value.kind not in ("yes", "no", "surely"):
            return None
        good = said.pop() == (value.kind != "no")
        return self.labels[0 if good else 1]
