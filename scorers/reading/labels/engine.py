"""The steps in which every reply to a question for a label is read.

A reader is a `LabelReader`: the words of its question (`lexicons`) and the few rules that are its own. It follows a
reply through these steps:

1. The text is prepared and split into plain sentences (`sentences`); those that say nothing are dropped.
2. Behind a second thought ("Wait, …") the reply is read anew, if what follows says anything.
3. What is asked, supposed, defined or only conceded is dropped (`counted`).
4. The last declared label is the answer (`declared`): behind "Final answer:" and the like, or in a first or last line
   that is nothing else.
5. A reply that calls the text right under one condition and wrong under another gives no label, where the question is
   whether it is right.
6. What the sentences say of the text decides (`infer`).
7. A reply that says nothing of it abstains if it declines to answer (`declining`), and is unparsed if it does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.steps.concession import left_open
from halu_tasks.scorers.reading.steps.declared import Declared, ReadText, last_declared
from halu_tasks.scorers.reading.steps.declining import declining
from halu_tasks.scorers.reading.steps.sentences import read_reply

NO_VERDICT: Answer[str] = Answer(None, "no verdict")
DECLINES: Answer[str] = Answer(None, "declines", abstained=True)
_WORD = re.compile(r"\w")


@dataclass(frozen=True)
class SecondThought:
    """How a reply takes back what it said before.

    Attributes:
        opens: Begins a sentence that does.
        drops: What of that sentence is no part of what is said instead.
        most: How many second thoughts of one reply are looked at, the last ones.
    """

    opens: re.Pattern[str]
    drops: re.Pattern[str]
    most: int = 1

    def parts(self, sentences: list[str]) -> Iterator[list[str]]:
        """Yield what the reply says from its last second thought on, then from the one before it."""
        found = (index for index in range(len(sentences) - 1, 0, -1) if self.opens.match(sentences[index]))
        for index in islice(found, self.most):
            yield [self.drops.sub("", sentences[index], count=1) or "-", *sentences[index + 1 :]]


class Counted(NamedTuple):
    """The sentences of a reply that count.

    Attributes:
        sentences: The sentences, without what is only asked, supposed or conceded.
        declined: Whether clauses were dropped that decline to answer; None if there was no search for them.
    """

    sentences: list[str]
    declined: bool | None = None


def _declared_label(declared: Declared, sentences: list[str]) -> Answer[str]:
    return Answer(declared.label)


@dataclass(frozen=True, kw_only=True)
class LabelReader:
    """Reads the label that a reply states.

    Attributes:
        markers: What introduces a label, and how the label behind it is read.
        line: Reads a first or last line that is nothing but the label; it is given the line and all sentences.
        infer: Reads what the sentences say of the text, where they declare no label.
        prepare: Rewrites the text of the reply before it is split.
        says: Found in every sentence that says anything.
        reword: Rewrites a sentence to the words that are read.
        letter: A reply of one letter; the label of its group `yes` is `labels[0]`, else it is `labels[1]`.
        labels: The labels that letters stand for.
        second_thought: How a reply takes back what it said.
        counted: Drops what does not count of the sentences.
        conditional: Begins a sentence that declares nothing, since it holds under a condition.
        settle: The answer that a declaration gives, with the sentences around it.
        two_sided: Whether a reply may call the text right under one condition and wrong under another.
    """

    markers: Mapping[re.Pattern[str], ReadText]
    line: Callable[[str, list[str]], str | None]
    infer: Callable[[list[str]], Answer[str]]
    prepare: Callable[[str], str] = str
    says: re.Pattern[str] = _WORD
    reword: Callable[[str], str] = str
    letter: re.Pattern[str] | None = None
    labels: tuple[str, str] = ("", "")
    second_thought: SecondThought | None = None
    counted: Callable[[list[str]], Counted] = Counted
    conditional: re.Pattern[str] | None = None
    settle: Callable[[Declared, list[str]], Answer[str]] = _declared_label
    two_sided: bool = False

    def __call__(self, reply: str) -> Answer[str]:
        """Return the label that a reply states; no value if it states none."""
        return read_reply(reply, self.read, self.prepare)

    def read(self, sentences: list[str]) -> Answer[str]:
        """Return the label that plain sentences state."""
        sentences = [self.reword(sentence).strip() for sentence in sentences if self.says.search(sentence)]
        sentences = list(filter(None, sentences))
        if not sentences:
            return NO_VERDICT
        if self.letter and len(sentences) == 1 and (letter := self.letter.fullmatch(sentences[0])):
            return Answer(self.labels[0] if letter["yes"] else self.labels[1])
        for part in self.second_thought.parts(sentences) if self.second_thought else ():
            if (answer := self._weigh(part)).value:
                return answer
        return self._weigh(sentences)

    def _weigh(self, sentences: list[str]) -> Answer[str]:
        """Return the label that the sentences declare, or else the one that they give in other words."""
        counted, declined = self.counted(sentences)
        declared = last_declared(counted, self.markers, self.line, self.conditional) if counted else None
        if declared:
            answer = self.settle(declared, counted)
        elif self.two_sided and left_open(counted):
            return Answer(None, "left open")
        else:
            answer = self.infer(counted) if counted else NO_VERDICT
        if answer.value is None and (any(map(declining, sentences)) if declined is None else declined):
            return DECLINES
        return answer


def inferred(label: str | None) -> Answer[str]:
    """Return the answer of a reply that declares none."""
    return Answer(label, inferred=True) if label else NO_VERDICT


def first(labels: Iterable[str | None]) -> str | None:
    """Return the first of the labels that is one."""
    return next(filter(None, labels), None)


def merged(sentences: list[str], merge: Callable[[str, str], str | None]) -> Iterator[str]:
    """Yield the sentences, one in place of two where `merge` makes one of a sentence and the next."""
    taken = False
    for sentence, following in pairwise([*sentences, ""]):
        one = None if taken else merge(sentence, following)
        if one is not None or not taken:
            yield sentence if one is None else one
        taken = one is not None
