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
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.clauses import ASIDES, Clause, clauses, declines, judge, signs, stated
from halu_tasks.scorers.reading.lexicon import LANGUAGES, Lexicon, Token, lexicon
from halu_tasks.scorers.reading.reply import ReplyText, Sentence, sentences
from halu_tasks.text.folding import fold

UNDECIDED = "undecided"
"""What is read of a verdict that decides nothing ("partly true"), which no other part of the reply replaces."""
_NONE = ("", UNDECIDED)
_ANSWERS = ("yes", "no", "good", "bad", "label")
_FILLERS = {
    *("filler", "whole", "conclude", "declare", "comma", "stop", "turn", "field", "bound", "say", "question"),
    *("retract", "strong", "modal", "copula"),
}
_BETWEEN = {*_FILLERS, "either", "changed", "good", "bad", "same", "because", "clue", "yes", "no"}
_DOUBTS = ("negate", "no", "ask", "hedge", "either", "cannot", "decline", "question", "good", "bad", "call")
_ENDS = ("because", "bound", "turn", "comma", "stop")
_START = attrgetter("start")
_WORD, _NO = re.compile(r"\w"), re.compile(r"\bno\b")
_APART = re.compile(r"\s*'?(?:$|[^\w\s'])")
_TITLE = re.compile(r"\s?[:=]")
# "whereas B is not, the final verdict is: A"
_COLON_FOLLOWS = re.compile(r"\s*(?:(?:is|are|would be|will be)\s*)?:")
# no real reply has as many markers or second thoughts; the last ones are tried
_MOST_MARKERS, _MOST_RETRACTIONS = 100, 10
# a longer reply discusses the subject, so that only what it says of the text counts
_SHORT = 6


class Value(NamedTuple):
    """The label that a text begins with: the kind of its word, the label, and where it ends."""

    kind: str
    label: str
    end: int


class Read:
    """A folded sentence of a reply, with its tokens and clauses, which are found when they are first needed.

    Args:
        text: The sentence.
        tokens: Its tokens, from left to right.
        starts_line: Whether it begins a line of the reply.
        is_item: Whether that is an item of a list.
    """

    def __init__(self, text: str, tokens: Iterator[Token], *, starts_line: bool = True, is_item: bool = False) -> None:
        self.text, self.starts_line, self.is_item = text, starts_line, is_item
        self._tokens = tokens

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens."""
        return list(self._tokens)

    @cached_property
    def clauses(self) -> list[Clause]:
        """The clauses."""
        return clauses(self.tokens, self.text)

    @property
    def asks(self) -> bool:
        """Whether the sentence is a question."""
        return self.text.endswith("?")

    def behind(self, place: int) -> Iterator[Token]:
        """Yield the tokens from a place on."""
        tokens = self.tokens
        return map(tokens.__getitem__, range(bisect_left(tokens, place, key=_START), len(tokens)))

    def next(self, place: int) -> str:
        """Return the kind of the token directly behind a place; empty if there is none."""
        token = next(self.behind(place), None)
        return token.kind if token and token.start <= place + 2 else ""

    def goes_on(self, start: int, end: int | None = None) -> bool:
        """Return whether a part of the sentence says anything but words that add nothing."""
        end = len(self.text) if end is None else end
        position = start
        for token in self.behind(start):
            if token.start >= end:
                break
            if token.kind not in _FILLERS or _WORD.search(self.text, position, token.start):
                return True
            position = token.end
        return bool(_WORD.search(self.text, position, end))


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
        reply = ReplyText(reply)
        if reply.missing:
            return Answer(None, reply.missing)
        for value in reply.values:
            if label := self._field(value.content):
                return Answer(label)
        found = self.reads(reply.sentences)
        another = next((index for index, read in enumerate(found) if index and read.text.startswith("question:")), 0)
        if another:  # a base model goes on with the next question
            answer = self._read_part(found[:another])
            if (answer.value and not answer.inferred) or answer.abstained:
                return answer
        return self._read_part(found)

    def reads(self, found: Sequence[Sentence]) -> list[Read]:
        """Return sentences with their tokens and clauses."""
        return [self._of_text(each.text, starts_line=each.starts_line, is_item=each.is_item) for each in found]

    def prepare(self, text: str) -> str:
        """Return a sentence as it is read."""
        return text

    def scan(self, text: str) -> Iterator[Token]:
        """Find the tokens of a folded sentence."""
        known = ("", *self.labels)
        return (token for token in self.lexicon.scan(text) if token.kind != "label" or token.label in known)

    @property
    def names_labels(self) -> bool:
        """Whether a reply may name labels, and not only judge."""
        return not self.lexicon.kinds.isdisjoint(("label", "clue"))

    def _of_text(self, text: str, *, starts_line: bool = True, is_item: bool = False) -> Read:
        folded = fold(self.prepare(text))
        return Read(folded, self.scan(folded), starts_line=starts_line, is_item=is_item)

    def _read_part(self, found: list[Read]) -> Answer[str]:
        """Return the label of sentences; if they take something back, that of what follows."""
        retracts = [index for index, read in enumerate(found) if index and self.retracts(read)]
        for index in reversed(retracts[-_MOST_RETRACTIONS:]):
            begins = Read(found[index].text, iter(found[index].tokens), is_item=found[index].is_item)
            answer = self._read([begins, *found[index + 1 :]])
            if answer.value:
                return answer
        answer = self._read(found)
        # a longer reply that infers a label may also say what cannot be known
        where = found if answer.value is None else [found[0], found[-1]] if answer.inferred else []
        return Answer(None, "declines", abstained=True) if _declined(where) else answer

    def retracts(self, read: Read) -> bool:
        """Return whether a sentence begins with words that take something back."""
        position = 0
        for token in self.lexicon.scan(read.text):  # only the first ones
            is_first = token.kind not in ("comma", "stop", "turn", "no")
            if _WORD.search(_NO.sub("", read.text[position : token.start if is_first else token.end])):
                return False
            if is_first:
                return token.kind == "retract"
            position = token.end
        return False

    def _read(self, found: list[Read]) -> Answer[str]:
        if label := self._each(found) or self._declared(found) or self._alone(found):
            return Answer(None, "no verdict") if label == UNDECIDED else Answer(label)
        label = self.infer(found)
        return Answer(label, inferred=True) if label else Answer(None, "no verdict")

    def _each(self, found: list[Read]) -> str | None:
        """Return the only label that a list with a yes, a no or a sign for each of several labels affirms."""
        if not self.names_labels:
            return None
        tokens = [(token, self._sign(read, token)) for read in found for token in read.tokens]
        kinds = (sign is not None for token, sign in tokens if sign is not None or token.kind in ("label", "clue"))
        sign_first = next(kinds, False)
        marked: dict[str, bool] = {}
        label, before = "", None
        for token, sign in tokens:
            is_label = token.kind == "label" or (token.kind == "clue" and token.label and not sign_first)
            if is_label:
                label = token.label
                if before is not None:
                    marked.setdefault(label, before)
                    before = None
            elif sign is not None and sign_first:
                before = sign
            elif sign is not None and label:
                marked.setdefault(label, sign)
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
        if token.kind in ("yes", "no") and (token.label == "after" or self.is_apart(read, token)):
            return token.kind == "yes"
        return None

    # --- values --------------------------------------------------------------------------------------

    def value(self, read: Read, start: int = 0) -> Value | None:
        """Return the label that a sentence begins with at `start`; None if it begins with something else."""
        negated = partly = False
        fallback: Value | None = None
        position = start
        for token in read.behind(start):
            if _WORD.search(read.text[position : token.start]):
                return fallback
            position = token.end
            if token.kind == "turn":
                negated = False
            if token.kind == "copula":
                if not read.goes_on(token.end):
                    return Value("yes", self._yes_or_other(negated), token.end)
            elif token.kind in _FILLERS or (token.kind == "part" and start):
                continue
            elif token.kind in ("no", "negate", "cannot"):
                if token.kind == "no" and not negated and self.is_apart(read, token):
                    answer = self._unless_either(read, Value("no", self._other(self.yes), token.end))
                    said = self.value(read, token.end) if answer.kind == "no" else None
                    return said if said and said.kind in ("good", "bad") else answer
                negated = True if token.label == "nor" else not negated
            elif token.kind == "partly":
                partly = True
            elif token.kind == "yes" and token.label == "surely":
                fallback = Value("surely", self.yes, token.end)
            elif token.kind in _ANSWERS:
                faults = (t for t in read.behind(token.end) if t.kind == "bad" and t.start <= token.end + 1)
                if token.kind == "good" and any(faults):
                    return None  # "a factual error"
                if token.kind == "yes" and self.yes != "Yes" and read.goes_on(token.end):
                    fallback = None
                    continue
                value = self._labelled(token, negated != self._turned(read, token), partly)
                if token.kind in ("good", "bad") and self._is_mixed(read, token):
                    return value._replace(label=UNDECIDED)
                if value.label == UNDECIDED and read.goes_on(value.end):
                    return value._replace(label="")  # "partly true, but with an error"
                return self._unless_either(read, value)
            else:
                return Value("decline", UNDECIDED, token.end) if token.kind == "decline" else fallback
        return fallback

    def whole_value(self, read: Read, start: int = 0) -> Value | None:
        """Return the label that the rest of a sentence is."""
        value = self.value(read, start)
        return value if value and value.label not in _NONE and not read.goes_on(value.end) else None

    def _turned(self, read: Read, label: Token) -> bool:
        """Return whether a negator behind a label, in the same clause, turns it."""
        for token in read.behind(label.end):
            if token.kind in (*_ENDS, "conclude"):
                return False
            if token.kind == "no" and token.label == "after":
                return True
        return False

    def _is_mixed(self, read: Read, judged: Token) -> bool:
        """Return whether a sentence turns to the opposite ("mostly correct, but contains errors")."""
        turns = [clause for clause in read.clauses if clause.opener == "turn" and clause.start > judged.end]
        words = {label.casefold() for label in self.labels} if turns else set()
        good, is_label = judged.kind == "good", read.text[judged.start : judged.end] in words
        opposites = [token for clause in stated(turns) for says, token in signs(clause) if says != good]
        return any(not is_label or read.text[token.start : token.end] in words for token in opposites)

    def _labelled(self, token: Token, negated: bool, partly: bool) -> Value:
        if token.kind == "yes":
            return Value("yes", self._yes_or_other(negated), token.end)
        if token.kind == "good" and partly:
            return Value(token.kind, UNDECIDED, token.end)
        return Value(token.kind, self._of_good((token.kind == "good") != negated), token.end)

    def is_apart(self, read: Read, token: Token) -> bool:
        """Return whether "no" is an answer: it is the last word, or before a mark or another clause."""
        if token.label == "apart" or not read.text[token.start].isalnum() or _APART.match(read.text, token.end):
            return True
        follows = next(read.behind(token.end), None)
        return follows is not None and follows.start <= token.end + 1 and follows.kind in ("because", "bound")

    def _unless_either(self, read: Read, value: Value) -> Value:
        """Return the value; one without a label if the sentence goes on with "or" and another label, or with "if"."""
        behind = [token for token in islice(read.behind(value.end), 3) if token.start <= value.end + 25]
        follows = read.next(value.end) if behind else ""
        others = [token for token in behind[1:] if token.kind in _ANSWERS]
        open_ended = follows in ("suppose", "ask") or (follows == "either" and others)
        return value._replace(label="") if open_ended else value

    def _other(self, label: str) -> str:
        if not label:
            return ""
        return self.labels[1] if label == self.labels[0] else self.labels[0]

    def _yes_or_other(self, negated: bool) -> str:
        return self._other(self.yes) if negated else self.yes

    def _of_good(self, good: bool) -> str:
        return self.labels[0 if good else 1]

    def _field(self, item: dict[str, object]) -> str | None:
        """Return the label of the last member that is named after the verdict, or of the only member with a label."""
        named, others, reads = None, [], []
        words = {"True": "yes", "False": "no", "1": "yes", "0": "no"}
        for name, member in item.items():
            if not isinstance(member, str | bool | int) or len(str(member)) > 100:
                continue
            read = self._of_text(f"{name}: {words.get(str(member), member)}".replace("_", " "))
            reads.append(read)
            colon = read.text.find(":")
            value = self.value(read, colon)
            decided = value and value.label != UNDECIDED and not read.goes_on(value.end)
            label = self._of_topic(read, colon) or (value.label if value and decided else None)
            kinds = {token.kind for token in read.tokens if token.start < colon}
            if label and kinds & {"declare", "field", "good", "bad", "whole"}:
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
        is_truth = re.search(r"\b(?:true|false)\b", read.text[colon : value.end])
        if value.kind in ("good", "bad") and (topic[0].has("negate", "declare") or not is_truth):
            return None
        return self._of_good((True in said) == (value.kind in ("yes", "good")))

    # --- declared labels -----------------------------------------------------------------------------

    def _declared(self, found: list[Read]) -> str | None:
        """Return the label after the last marker that has one; of a statement after a marker; after a weak marker.

        A conclusion behind it takes precedence over a marker without a label, and over a statement after a marker.
        """
        markers: list[tuple[int, Token]] = []
        for index, token in islice(_markers(found), _MOST_MARKERS):
            if not token.label and (label := self._after_marker(found, index, token)):
                return self._unless_concluded(found[index + 1 :], label)
            markers.append((index, token))
        concluded, conclusion = self._concluded(found)
        for index, token in markers:
            if not token.label and concluded <= index and (label := self._stated_after(found[index], token)):
                return self._unless_concluded(found[index + 1 :], label)
        if label := conclusion or self._topic(found):
            return label
        for index, token in markers:
            if token.label and (label := self._after_marker(found, index, token)):
                return self._unless_concluded(found[index + 1 :], label)
        return None

    def _unless_concluded(self, behind: list[Read], label: str) -> str:
        """Return a declared label; that of a conclusion behind it if it decides nothing."""
        if label != UNDECIDED:
            return label
        last = {token.kind for read in behind[-2:] for token in read.tokens}
        if not last & {"conclude", "pick", "better"}:
            return label
        return self._concluded(behind)[1] or self.infer(behind) or label

    def _concluded(self, found: list[Read]) -> tuple[int, str]:
        """Return the index of the last sentence that concludes with a label, and the label ("Hence it is false.")."""
        for index, read in reversed([*enumerate(found)]):
            for token in reversed(read.tokens):
                if token.kind == "conclude" and not _is_supposed(read, token):
                    value = self.value(read, token.end)
                    states = value and value.kind in ("good", "bad", "label") and value.label not in _NONE
                    if value and states and self.ends_clause(read, value):
                        return index, value.label
                    if value and value.kind == "label" and not value.label:
                        return index, self.judged([clause for clause in read.clauses if clause.end > token.end]) or ""
        return -1, ""

    def ends_clause(self, read: Read, value: Value) -> bool:
        """Return whether nothing else is said of the text in the clause of a label."""
        return read.next(value.end) in _ENDS or not read.goes_on(value.end)

    def _after_marker(self, found: list[Read], index: int, marker: Token) -> str | None:
        read, start = found[index], marker.end
        if not read.goes_on(start):
            if index + 1 == len(found):
                return None
            read, start = found[index + 1], 0
        if value := self.value(read, start):
            return value.label or None
        is_title = not marker.label and read.starts_line and _TITLE.match(read.text, marker.end)
        return UNDECIDED if is_title and any(declines(c) for c in read.clauses if c.end > start) else None

    def _stated_after(self, read: Read, marker: Token) -> str | None:
        rest = [clause for clause in read.clauses if clause.end > marker.end]
        if not read.goes_on(marker.end) or any(clause.opener == "suppose" for clause in rest):
            return None
        is_first = not any(token.end <= marker.start for token in read.tokens)
        is_title = read.starts_line and _TITLE.match(read.text, marker.end) and is_first
        if any(map(declines, rest)):
            return UNDECIDED
        label = self.judged(rest)
        return UNDECIDED if label is None and is_title else label

    def _topic(self, found: list[Read]) -> str | None:
        """Return the label of the last line "topic: yes", or of a last question and its answer."""
        if len(found) > 1 and found[-2].asks and (label := self._answered(found[-2], found[-1])):
            return label
        for read in reversed(found):
            for token in read.tokens[: -_MOST_MARKERS - 1 : -1]:
                if token.kind == "stop" and read.text[token.start] in ":?=¦–" and "?" not in read.text[: token.start]:
                    value = self.value(read, token.end)
                    ends = value and value.label and not read.goes_on(value.end)
                    if ends and (label := self._of_topic(read, token.start)):
                        return label
        return None

    def judged(self, found: list[Clause]) -> str | None:
        """Return the label of what the clauses state; None if they state nothing, empty if it decides nothing."""
        statement = judge(found)
        return None if statement is None else self._of_good(statement.good)

    def _alone(self, found: list[Read]) -> str | None:
        """Return the label of a last or first line that is the label alone, ends in it, or begins with it."""
        if not found:
            return None
        last, first = found[-1], found[0]
        is_only = len(found) == 1
        for read in (last, first):
            value = self.whole_value(read)
            if value and (is_only or (value.kind != "surely" and not read.asks)):
                return value.label
        if not last.asks:
            if value := next(filter(None, (self.whole_value(last, start) for start in _parts(last))), None):
                return value.label
            if label := self._at_end(last):
                return label
        value = self.value(first)
        if value is None or value.kind == "surely" or (value.kind == "yes" and _declined(found)):
            return None
        return value.label if value.label not in _NONE and first.starts_line and self.begins(first, value) else None

    def _at_end(self, last: Read) -> str | None:
        """Return the label of a yes or a no that is the last word ("After a check of the date yes.")."""
        clause = last.clauses[-1] if last.clauses else None
        if clause is None or not clause.tokens or clause.opener in ASIDES:
            return None
        *before, token = clause.tokens
        is_answer = token.kind in ("yes", "no") and token.label != "after" and not last.goes_on(token.end)
        if not is_answer or any(other.kind in _DOUBTS for other in before):
            return None
        return self._yes_or_other(token.kind == "no")

    def begins(self, read: Read, value: Value) -> bool:
        """Return whether a label at the beginning of a sentence stands for itself."""
        goes_on = read.text.endswith(";") or any(token.kind in ("turn", "except") for token in read.tokens)
        if value.kind in ("good", "bad") and goes_on:
            return False
        follows = read.next(value.end)
        if follows and read.text[next(read.behind(value.end)).start] == "?":
            return False
        ends = (*_ENDS, "whole") if value.kind in ("yes", "no") else _ENDS
        return follows in ends or bool(re.match(r"\s*[.!(;]", read.text[value.end :]))

    # --- inferred labels -----------------------------------------------------------------------------

    def infer(self, found: list[Read]) -> str | None:
        """Return the label that follows from what the sentences state of the judged text; None if they differ."""
        said: list[tuple[str, bool]] = []
        opens = False
        for number, read in enumerate(found):
            if number and found[number - 1].asks and (label := self._answered(found[number - 1], read)):
                said.append((label, False))
                continue
            statement = judge(read.clauses)
            if statement is None or (statement.good and read.is_item and not statement.concludes):
                continue
            at_end = number < 2 or number >= len(found) - 2 or statement.concludes
            names_text = any(token.kind == "whole" and token.label for token in read.tokens)
            if len(found) <= _SHORT or (at_end and names_text):
                opens = opens or (number == 0 and names_text)
                said.append((self._of_good(statement.good), statement.concludes))
        concluded = [label for label, concludes in said if concludes]
        if concluded:
            return concluded[-1]
        is_one = len({label for label, _ in said}) == 1
        return said[0][0] if is_one or (opens and len(found) > _SHORT) else None

    def _answered(self, question: Read, answer: Read) -> str | None:
        """Return the label of the answer to a question that the reply itself asks ("Is it faithful? Not quite.")."""
        value = self.value(answer)
        polar = next((token for token in question.tokens if token.kind in ("good", "bad")), None)
        if polar is None or value is None or value.kind not in ("yes", "no", "surely"):
            return None
        negators = sum(token.kind == "negate" and token.end <= polar.start for token in question.tokens)
        good = (polar.kind == "good") == (negators % 2 == 0)
        return self._of_good(good == (value.kind != "no"))


def partly_declines(text: str) -> bool:
    """Return whether a sentence of a reply declines; the reply may still answer in another one."""
    return any(_sentences_decline(text))


def only_declines(text: str) -> bool:
    """Return whether all sentences of a reply decline; False if it has none."""
    found = _sentences_decline(text)
    return next(found, False) and all(found)


def _sentences_decline(text: str) -> Iterator[bool]:
    words = lexicon(*LANGUAGES, *(f"{name}.{language}" for name in ("judgment", "declining") for language in LANGUAGES))
    folded = (fold(sentence.text) for sentence in sentences(text))
    return (any(map(declines, clauses(words.scan(sentence), sentence))) for sentence in folded)


def _declined(found: list[Read]) -> bool:
    """Return whether the author declines, and does not turn from it ("I am not sure, but B is closer")."""
    return any(
        declines(clause) and not any(other.opener == "turn" for other in read.clauses[number + 1 :])
        for read in found
        for number, clause in enumerate(read.clauses)
    )


def _markers(found: list[Read]) -> Iterator[tuple[int, Token]]:
    """Yield the markers of a verdict, the last one first, each with the index of its sentence."""
    for index, read in reversed([*enumerate(found)]):
        for token in reversed(read.tokens):
            if token.kind == "declare" and not _is_supposed(read, token):
                yield index, token


def _is_supposed(read: Read, marker: Token) -> bool:
    """Return whether what follows a marker is conceded, supposed, asked or denied."""
    before = [token for token in read.tokens if token.end <= marker.start]
    openers = {clause.opener for clause in read.clauses if clause.start <= marker.start < clause.end}
    if "suppose" not in openers and _COLON_FOLLOWS.match(read.text, marker.end):
        return False
    return (
        not openers.isdisjoint(ASIDES)
        or any(token.kind == "hedge" for token in before)
        or any(token.kind in ("cannot", "ask", "suppose") for token in before[-3:])
        or (bool(before) and before[-1].kind in ("negate", "no") and marker.start <= before[-1].end + 1)
    )


def _parts(read: Read) -> list[int]:
    """Return where the clauses of a sentence begin and its commas end, the last one first, without its asides."""
    asides = [clause for clause in read.clauses if clause.opener in ASIDES]
    starts = [clause.start for clause in read.clauses if clause.opener not in ASIDES and clause.start]
    commas = [token.end for token in read.tokens if token.kind == "comma"]
    starts += [end for end in commas if not any(clause.start <= end <= clause.end for clause in asides)]
    return sorted(starts, reverse=True)
