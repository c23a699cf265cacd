"""Read the label that a reply states: the steps that all label readers share.

A reader is a `LabelReader`: the patterns of its question (`lexicons`) and the few rules that are specific to it. It
reads a reply in these steps:

1. Prepare the text and split it into plain sentences (`sentences`). Drop sentences that the pattern `says` does not
   match.
2. If the reply takes back what it said before ("Wait, …"), read it again from there. Keep the label that this part
   states. If it states none, read the whole reply.
3. Drop what is only asked, supposed, defined or conceded (`counted`).
4. Return the last declared label (`declared`): after "Final answer:" and similar markers, or in a first or last line
   that contains only the label.
5. For readers that are `two_sided`: return no label if the reply calls the text right under one condition and wrong
   under another.
6. Otherwise infer the label from what the sentences say about the text (`infer`).
7. A reply without a label abstains if it declines to answer (`declining`). Otherwise it is unparsed.
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
        opens: Matches the start of a sentence that takes back what was said before it.
        drops: Matches the part of that sentence that is removed before it is read.
        most: The maximum number of second thoughts that are read, counted from the end of the reply.
    """

    opens: re.Pattern[str]
    drops: re.Pattern[str]
    most: int = 1

    def parts(self, sentences: list[str]) -> Iterator[list[str]]:
        """Yield the sentences from the last second thought on, then from the one before it, and so on."""
        positions = (index for index in range(len(sentences) - 1, 0, -1) if self.opens.match(sentences[index]))
        for index in islice(positions, self.most):
            # Readers expect sentences that are not empty.
            yield [self.drops.sub("", sentences[index], count=1) or "-", *sentences[index + 1 :]]


class Counted(NamedTuple):
    """The sentences of a reply that are read.

    Attributes:
        sentences: The sentences, without what is only asked, supposed, defined or conceded.
        declined: Whether clauses that decline to answer were dropped; None if they were not searched for.
    """

    sentences: list[str]
    declined: bool | None = None


def _declared_label(declared: Declared, sentences: list[str]) -> Answer[str]:
    return Answer(declared.label)


@dataclass(frozen=True, kw_only=True)
class LabelReader:
    """Read the label that a reply states.

    Attributes:
        markers: Pattern that introduces a label -> function that reads the label from the text after a match.
        line: Reads a first or last line that contains only the label. Takes the line and all sentences.
        infer: Reads the label from what the sentences say about the text. Used if they declare no label.
        prepare: Rewrites the text of the reply before it is split into sentences.
        says: Sentences that do not contain this pattern are dropped.
        reword: Rewrites a sentence in the words that the patterns match.
        letter: Matches a reply of one letter. If its group `yes` matches, the label is `labels[0]`, else `labels[1]`.
        labels: The two labels that a single letter stands for.
        second_thought: How a reply takes back what it said before; None if this is not searched for.
        counted: Drops the sentences and clauses that are not read.
        conditional: Matches the start of a sentence that declares no label because it holds only under a condition.
        settle: Returns the answer for a declared label. Takes the declaration and the sentences that are read.
        two_sided: Whether to return no label if the reply calls the text right under one condition and wrong under
            another.
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
        """Return the label that a reply states; the value is None if it states none."""
        return read_reply(reply, self.read, self.prepare)

    def read(self, sentences: list[str]) -> Answer[str]:
        """Return the label that plain sentences state; the value is None if they state none."""
        sentences = [self.reword(sentence).strip() for sentence in sentences if self.says.search(sentence)]
        sentences = list(filter(None, sentences))
        if not sentences:
            return NO_VERDICT
        if self.letter and len(sentences) == 1 and (letter := self.letter.fullmatch(sentences[0])):
            return Answer(self.labels[0] if letter["yes"] else self.labels[1])
        for part in self.second_thought.parts(sentences) if self.second_thought else ():
            if (answer := self._read_part(part)).value:
                return answer
        return self._read_part(sentences)

    def _read_part(self, sentences: list[str]) -> Answer[str]:
        """Return the label that the sentences declare, or else the label inferred from them."""
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
    """Return the answer for an inferred label; `NO_VERDICT` if the label is None."""
    return Answer(label, inferred=True) if label else NO_VERDICT


def first(labels: Iterable[str | None]) -> str | None:
    """Return the first label that is not None; None if there is no such label."""
    return next(filter(None, labels), None)


def merged(sentences: list[str], merge: Callable[[str, str], str | None]) -> Iterator[str]:
    """Yield the sentences, with pairs of neighbours replaced by one sentence.

    Args:
        sentences: Plain sentences.
        merge: Takes a sentence and the next one. Returns the sentence that replaces both; None to keep them.
    """
    consumed = False
    for sentence, following in pairwise([*sentences, ""]):
        replacement = None if consumed else merge(sentence, following)
        if replacement is not None or not consumed:
            yield sentence if replacement is None else replacement
        consumed = replacement is not None
