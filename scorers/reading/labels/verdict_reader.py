"""One reader for every reply that gives a verdict: a judge's, a critic's, a checker's, a verifier's.

Judges quote what they judge, and what they judge may hold a verdict ("reply with consistent"). So only what the judge
says itself counts:

1. A reply that is, or begins with, one JSON object with a verdict (in a code fence or not, behind a few words such as
   "Here is my verdict:") is that verdict. Text that follows may quote whatever it likes, as long as it does not
   state another verdict of its own.
2. An object at the very end, behind reasons in prose, counts likewise.
3. Else a line that states a verdict, "Verdict: conflict" or "Supported: No, the year differs", or the label alone on
   the first or the last line.

Inside a sentence, in quotation marks, or behind a line that introduces a quotation, nothing counts. Verdicts that
contradict each other, an object that is cut off or damaged, and a word that is no label are no verdict: it is better
to ask again than to guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from halu_tasks.scorers.answer import Answer, strip_reasoning
from halu_tasks.scorers.reading.lexicons import verdict as words
from halu_tasks.scorers.reading.lexicons.verdict import VerdictWords
from halu_tasks.scorers.reading.steps.quoting import LONGEST_LEAD_IN, announces, is_lead_in, quoting, reports

_LONGEST_REASON = 4_000
_MOST = 100
"""Verdicts in a reply; one that states more is caught in a loop."""


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, a name that occurs twice included."""


class _Stated(NamedTuple):
    """A verdict and the reason given for it; no label where what is stated is none."""

    label: str | None
    reason: str = ""
    start: int = 0
    end: int = 0
    damaged: bool = False


@dataclass(frozen=True)
class VerdictReader:
    """Reads replies by a vocabulary; made by `verdict_reader`.

    Attributes:
        vocabulary: label -> the words and phrases for it, in lower case. The first of each is what a judge is asked
            to write.
        names: what the verdict is called in an object or before a colon, in lower case. The first is the name that a
            judge is asked to use.
        reason: the name that the judge is asked to give its reason under.
    """

    vocabulary: Mapping[str, Sequence[str]]
    names: Sequence[str] = words.NAMES
    reason: str = "reason"

    @cached_property
    def words(self) -> VerdictWords:
        """The expressions made of the vocabulary."""
        return VerdictWords(self.vocabulary, self.names, self.reason)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the vocabulary."""
        return tuple(self.vocabulary)

    @property
    def schema(self) -> dict[str, Any]:
        """The object that a judge is asked for, as JSON Schema: first the reason, then the verdict."""
        written = [words[0] for words in self.vocabulary.values()]
        return {
            "type": "object",
            "properties": {
                self.reason: {"type": "string"},
                self.names[0]: {"type": "string", "enum": written},
            },
            "required": [self.reason, self.names[0]],
            "additionalProperties": False,
        }

    def __call__(self, reply: str) -> Answer[str]:
        """Return the label that a reply states, with the judge's reason as its `reason`.

        If it states none, there is no value and `reason` says why. Takes time linear in the length of the reply.
        """
        text = strip_reasoning(reply)
        if text is None:
            return Answer(None, "unclosed reasoning")
        text = text.replace("\r\n", "\n").strip()
        if not text:
            return Answer(None, "empty")
        return self._object_first(text) or self._object_last(text) or self._lines(text)

    def label(self, word: object) -> str | None:
        """Return the label that a word or phrase, as the value of an object's member, stands for."""
        text = str(word) if isinstance(word, str | bool) else ""
        folded = " ".join(text[:200].strip(words.DECORATION).replace("_", " ").lower().split())
        return self.words.by_word.get(folded)

    # --- objects ----------------------------------------------------------------------------------------

    def _object_first(self, text: str) -> Answer[str] | None:
        """Return the verdict of a reply that begins with an object; None for one that does not."""
        start = text.find("{")
        if start < 0 or not is_lead_in(text[: min(start, LONGEST_LEAD_IN + 1)]):
            return None
        parsed = _parse(text, start)
        if parsed is None:
            return self._repaired(text[start:]) or Answer(None, "a JSON object that is damaged or cut off")
        found, end = parsed
        if (stated := self._of_object(found)) is None:
            return Answer(None, "no verdict")
        if stated.label is None:
            return Answer(None, "a verdict that is no label, or several")
        # a list of one object, or a code fence, closes behind it
        closers = words.CLOSERS.match(text, end)
        assert closers
        rest = text[closers.end() :]
        if rest and "\n" not in closers[0] and self._goes_on(rest, stated.label):
            return Answer(None, "contradictory verdicts")
        if rest and self._contradicted(rest, stated.label):
            return Answer(None, "contradictory verdicts")
        return Answer(stated.label, stated.reason)

    def _object_last(self, text: str) -> Answer[str] | None:
        """Return the verdict of a reply that ends in an object on lines of its own, behind prose; None for another."""
        objects = list(self._own_objects(text))
        if not objects:
            return None
        if any(stated.damaged for stated in objects):
            return Answer(None, "a JSON object that is damaged or cut off")
        if len({stated.label for stated in objects}) > 1:
            return Answer(None, "contradictory verdicts")
        last = objects[-1]
        before = text[: objects[0].start].rstrip(" \t\n`")
        before = before.removesuffix("```json").rstrip(" \t\n`")
        closers = words.CLOSERS.match(text, last.end)
        assert closers
        quoted = announces(before) or quoting(before)
        if last.label is None or quoted or closers.end() < len(text) or self._contradicted(before, last.label):
            return Answer(None, "no verdict of its own")
        return Answer(last.label, last.reason or _as_reason(before))

    def _own_objects(self, text: str) -> Iterator[_Stated]:
        """Yield the objects with a verdict that stand on lines of their own, up to one that cannot be parsed."""
        position = number = 0
        while found := words.OBJECT_LINE.search(text, position):
            number += 1
            if number > _MOST:
                yield _Stated(None, start=found.start(), end=len(text), damaged=True)
                return
            parsed = _parse(text, found.end())
            if parsed is None:
                if self.words.named.search(text, found.end()):
                    yield _Stated(None, start=found.start(), end=len(text), damaged=True)
                return
            value, position = parsed
            closers = words.CLOSERS.match(text, position)
            assert closers
            alone = "\n" in closers[0] or closers.end() == len(text)
            if alone and (stated := self._of_object(value)):
                yield stated._replace(start=found.start(), end=position)

    def _of_object(self, found: Any) -> _Stated | None:
        """Return the verdict that an object states; None if it has none."""
        if not isinstance(found, _Pairs):
            return None
        members = [(words.fold_name(name), value) for name, value in found]
        labels = {self.label(value) for name, value in members if name in self.words.folded_names}
        if not labels:
            return None
        given = [
            str(value) for name, value in members if name in (self.reason, *words.REASONS) and isinstance(value, str)
        ]
        return _Stated(labels.pop() if len(labels) == 1 else None, _as_reason(given[0] if given else ""))

    def _repaired(self, text: str) -> Answer[str] | None:
        """Return the verdict of a whole object that is no JSON only because of quotation marks in its reason.

        Neither a brace nor the name of a verdict may stand in the reason: a quotation could bring either.
        """
        body = text.rstrip("` \t\n]")
        if not body.endswith("}"):
            return None
        head, tail = self.words.head.match(body), self.words.tail.search(body, max(len(body) - 300, 0))
        if tail and (begin := self.words.reason_head.match(body)) and begin.end() <= tail.start():
            word, inner = tail[1], body[begin.end() : tail.start()]
        elif head:
            word, inner = head[1], body[head.end() : -1]
        else:
            return None
        label = self.label(word)
        if label is None or "{" in inner or "}" in inner or self.words.named.search(inner):
            return None
        return Answer(label, _as_reason(inner.strip(" \t\n\"'“”")))

    # --- lines ------------------------------------------------------------------------------------------

    def _lines(self, text: str) -> Answer[str]:
        """Return the verdict of a reply that states it in a line."""
        if whole := self.label(text):
            return Answer(whole)
        found = list(self._statements(text, announces))
        first, _, rest = text.partition("\n")
        last = text.rpartition("\n")[2] if rest else ""
        if own := self._sentence(first):
            found.append(_Stated(own, start=0, end=len(first)))
        if own := self.label(last):
            before = text[: -len(last)]
            if not quoting(before) and not announces(before):
                found.append(_Stated(own, start=len(before), end=len(text)))
        labels = {stated.label for stated in found}
        label = labels.pop() if len(labels) == 1 else None
        if label is None:
            return Answer(None, "contradictory verdicts" if labels else "no verdict")
        if self._declared_other(text, label):
            return Answer(None, "contradictory verdicts")
        stated = found[0]
        return Answer(label, _as_reason(f"{text[: stated.start]}\n{text[stated.end :]}"))

    def _sentence(self, line: str) -> str | None:
        """Return the label that the first line of a reply begins with, as in "No, the year differs."."""
        line = line.lstrip(" \t*_`#")
        return self._value(line, free=False) if line[:1] not in "\"'“‘>" else None

    def _statements(self, text: str, quoted: Callable[[str], bool]) -> Iterator[_Stated]:
        """Yield the lines that state a verdict, but for those in quotation marks or behind a text that is `quoted`."""
        position = marks = depth = 0
        for number, line in enumerate(self.words.statement.finditer(text)):
            if number == _MOST:
                yield _Stated(None)
                return
            between = text[position : line.start()]
            position = line.start()
            marks += between.count('"')
            depth += sum(map(between.count, words.OPENING)) - sum(map(between.count, words.CLOSING))
            if marks % 2 or depth > 0 or quoted(text[max(0, line.start() - 1_000) : line.start()]):
                continue
            # a value may stand on the line below its name
            value = text[line.end() : line.end() + 300].lstrip(" \t\n*_`\"“'[(（<")
            begin = line.end() + len(text[line.end() : line.end() + 300]) - len(value)
            if self._echo(value):
                continue
            label = self._value(value, free=True)
            named_is = line["is"] is not None
            if label is None and (named_is or not value):
                continue
            end = text.find("\n", begin)
            yield _Stated(label, start=line.start(), end=len(text) if end < 0 else end)

    def _value(self, text: str, *, free: bool) -> str | None:
        """Return the label that a text begins with, unless the rest of the sentence names another one.

        Without `free` it is followed by a mark or nothing, since a word may be the beginning of any sentence.
        """
        found = self.words.begins.match(text[:300])
        if not found:
            return None
        if not free and re.match(r"[ \t]+\w", text[found.end() :]):
            return None
        label = self.words.by_phrase(found[1])
        rest = text[found.end() : 300]
        stop = words.SENTENCE_END.search(rest)
        rest = rest[: stop.start()] if stop else rest
        others = {self.words.by_phrase(word[0]) for word in self.words.strong.finditer(rest)}
        return label if others <= {label} else None

    def _echo(self, value: str) -> bool:
        """Return whether a value is the form repeated, as "Yes or No"."""
        found = self.words.word.match(value)
        either = words.EITHER.match(value, found.end()) if found else None
        other = self.words.word.match(value, either.end()) if either else None
        return bool(found and other and self.words.by_phrase(found[0]) != self.words.by_phrase(other[0]))

    def _contradicted(self, text: str, label: str) -> bool:
        """Return whether a text beside a verdict states another one of its own. In doubt it does."""
        stated = {one.label for one in self._statements(text, reports)}
        for one in self._own_objects(text):
            before = text[max(0, one.start - 1_000) : one.start]
            if not reports(before) and not quoting(before):
                stated.add(one.label)
        return bool(stated - {label}) or self._declared_other(text, label)

    def _declared_other(self, text: str, label: str) -> bool:
        """Return whether a clause such as "my verdict is …" names another label."""
        for found in self.words.keyed.finditer(text):
            if self.words.by_phrase(found[1]) == label:
                continue
            line = text[max(0, found.start() - 400) : found.start()].rpartition("\n")[2].rstrip("\"'“ ")
            clause = words.SENTENCE_END.split(line)[-1]
            # "mine is" is in what was found, "my verdict is" begins before it
            own = words.OWN.search(f"{clause} {found[0]}")
            reported = own and words.REPORTS.search(clause, own.end())
            if own and not reported and not quoting(line):
                return True
        return False

    def _goes_on(self, rest: str, label: str) -> bool:
        """Return whether the line of an object makes it part of a sentence that names another verdict.

        `{…} is what the text says; mine is …`.
        """
        other = any(self.words.by_phrase(found[1]) != label for found in self.words.keyed.finditer(rest))
        whole = rest.count("{") == rest.count("}") and rest.count('"') % 2 == 0
        if words.SENTENCE_START.match(rest) and whole:
            return False
        strong = any(self.words.by_phrase(found[0]) != label for found in self.words.strong.finditer(rest))
        return other or strong or not whole


def verdict_reader(
    vocabulary: Mapping[str, str | Sequence[str]], *, names: Sequence[str] = words.NAMES, reason: str = "reason"
) -> VerdictReader:
    """Return a reader of verdicts.

    `verdict_reader({"supported": "supported", "contradicted": ("contradicted", "refuted")})`

    Args:
        vocabulary: label -> the words and phrases that stand for it, the one that a judge is asked to write first.
            The label itself always stands for itself.
        names: what the verdict is called, the name that a judge is asked to use first.
        reason: what its reason is called.
    """
    words = {label: (own,) if isinstance(own, str) else tuple(own) for label, own in vocabulary.items()}
    return VerdictReader(words, tuple(names), reason)


def own_value(reply: str, opens: str) -> Any:
    """Return the JSON array (`opens` is "[") or object ("{") that a reply is, begins with or ends in.

    Objects are dictionaries. None if there is none, or if it is damaged, quoted, or one of several that differ.
    """
    text = (strip_reasoning(reply) or "").replace("\r\n", "\n").strip()
    start = text.find(opens)
    if start < 0:
        return None
    if is_lead_in(text[: min(start, LONGEST_LEAD_IN + 1)]):
        parsed = _parse(text, start)
        return (
            _plain(parsed[0]) if parsed and not _values_from(text, opens, parsed[1]) - {_written(parsed[0])} else None
        )
    found = re.compile(rf"(?m)^[ \t]{{0,40}}(?={re.escape(opens)})").search(text)
    before = text[: found.start()].rstrip(" \t\n`").removesuffix("```json") if found else ""
    parsed = _parse(text, found.end()) if found else None
    if not parsed or announces(before) or quoting(before) or not words.CLOSERS.fullmatch(text, parsed[1]):
        return None
    return _plain(parsed[0])


def _values_from(text: str, opens: str, position: int) -> set[str]:
    """Return the values that stand behind `position` on lines of their own and are not announced as quoted."""
    own: set[str] = set()
    lines = re.compile(rf"(?m)^[ \t]{{0,40}}(?={re.escape(opens)})")
    while (found := lines.search(text, position)) and len(own) <= 1:
        parsed = _parse(text, found.end())
        if parsed is None:
            break
        if not reports(text[max(0, found.start() - 1_000) : found.start()]):
            own.add(_written(parsed[0]))
        position = parsed[1]
    return own


def _written(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True, default=str)


def _plain(value: Any) -> Any:
    """Return a parsed value with dictionaries for objects."""
    if isinstance(value, _Pairs):
        return {name: _plain(member) for name, member in value}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _parse(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON value that begins at `start`, and where it ends; None if there is none that Python can parse."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs, strict=False)


def _as_reason(text: str) -> str:
    """Return the words of a reason, without the name before it and the blank lines around it."""
    return words.REASON_NAME.sub("", text.strip()[:_LONGEST_REASON]).strip()
