"""Read the verdict that a reply states, whether it is a judge's, a critic's, a checker's or a verifier's.

Judges quote the texts that they judge, and these may contain a verdict ("reply with consistent"). Therefore only what
the judge itself says is read:

1. If the reply is or begins with one JSON object that has a verdict, this verdict is returned. The object may be in a
   code fence and may follow a few words such as "Here is my verdict:". Text after the object may quote anything, as
   long as it does not state a different verdict of the judge's own.
2. An object at the very end, after reasons in prose, is read in the same way.
3. Otherwise, the verdict is read from a line that states it ("Verdict: conflict", "Supported: No, the year differs"),
   from the beginning of the first line ("No, the year differs."), or from a last line that is the label alone.

Labels inside a sentence, in quotation marks, or after a line that introduces a quotation are ignored. A reply has no
verdict if its verdicts contradict each other, its object is truncated or damaged, or the word that it gives is not a
label: it is better to ask again than to guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.quoting import LONGEST_LEAD_IN, announces, is_lead_in, quoting, reports
from halu_tasks.scorers.reading.lexicons import verdict as words
from halu_tasks.scorers.reading.lexicons.verdict import VerdictWords
from halu_tasks.scorers.reading.reasoning import strip_reasoning

_MAX_REASON_LENGTH = 4_000
_MAX_VERDICTS = 100
"""Maximum number of verdicts in a reply; a model that states more is caught in a loop."""


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object as pairs of name and value, so that duplicate names are kept."""


class _Statement(NamedTuple):
    """A verdict that a reply states.

    Attributes:
        label: The label; None if what is stated is not a label.
        reason: The reason that is given for the verdict; empty if there is none.
        start: Where the statement starts in the text.
        end: Where the statement ends in the text.
        damaged: Whether the statement is an object that cannot be parsed, or one of too many objects.
    """

    label: str | None
    reason: str = ""
    start: int = 0
    end: int = 0
    damaged: bool = False


@dataclass(frozen=True)
class VerdictReader:
    """Read verdicts in the words of a vocabulary. Created by `verdict_reader`.

    Attributes:
        vocabulary: Label -> the words and phrases for it, in lower case. Judges are asked to write the first one.
        names: The names of the verdict in an object or before a colon, in lower case. Judges are asked to use the first
            one.
        reason: The name under which judges are asked to give their reason.
    """

    vocabulary: Mapping[str, Sequence[str]]
    names: Sequence[str] = words.NAMES
    reason: str = "reason"

    @cached_property
    def words(self) -> VerdictWords:
        """The patterns that are built from the vocabulary."""
        return VerdictWords(self.vocabulary, self.names, self.reason)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the vocabulary."""
        return tuple(self.vocabulary)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the object that a judge is asked for: first the reason, then the verdict."""
        allowed = [phrases[0] for phrases in self.vocabulary.values()]
        return {
            "type": "object",
            "properties": {
                self.reason: {"type": "string"},
                self.names[0]: {"type": "string", "enum": allowed},
            },
            "required": [self.reason, self.names[0]],
            "additionalProperties": False,
        }

    def __call__(self, reply: str) -> Answer[str]:
        """Return the label that a reply states, with the judge's reason as `reason`.

        If the reply states none, the value is None and `reason` says why. Time is linear in the length of the reply.
        """
        text = strip_reasoning(reply)
        if text is None:
            return Answer(None, "unclosed reasoning")
        text = text.replace("\r\n", "\n").strip()
        if not text:
            return Answer(None, "empty")
        return self._read_leading_object(text) or self._read_trailing_object(text) or self._read_lines(text)

    def label(self, word: object) -> str | None:
        """Return the label for a word or phrase, such as the value of a member of an object; None if there is none."""
        text = str(word) if isinstance(word, str | bool) else ""
        folded = " ".join(text[:200].strip(words.DECORATION).replace("_", " ").lower().split())
        return self.words.by_word.get(folded)

    # --- objects ----------------------------------------------------------------------------------------

    def _read_leading_object(self, text: str) -> Answer[str] | None:
        """Return the verdict of a reply that begins with an object; None if the reply does not begin with one."""
        start = text.find("{")
        if start < 0 or not is_lead_in(text[: min(start, LONGEST_LEAD_IN + 1)]):
            return None
        parsed = _parse_json(text, start)
        if parsed is None:
            return self._repair_object(text[start:]) or Answer(None, "a JSON object that is damaged or cut off")
        value, end = parsed
        if (statement := self._read_object(value)) is None:
            return Answer(None, "no verdict")
        if statement.label is None:
            return Answer(None, "a verdict that is no label, or several")
        # The closing bracket of a list with one object, or a code fence, may follow the object.
        closers = words.CLOSERS.match(text, end)
        assert closers
        rest = text[closers.end() :]
        if rest and "\n" not in closers[0] and self._continues_with_other(rest, statement.label):
            return Answer(None, "contradictory verdicts")
        if rest and self._states_other(rest, statement.label):
            return Answer(None, "contradictory verdicts")
        return Answer(statement.label, statement.reason)

    def _read_trailing_object(self, text: str) -> Answer[str] | None:
        """Return the verdict of a reply that ends in an object on lines of its own, after prose; else None."""
        objects = list(self._find_objects(text))
        if not objects:
            return None
        if any(statement.damaged for statement in objects):
            return Answer(None, "a JSON object that is damaged or cut off")
        if len({statement.label for statement in objects}) > 1:
            return Answer(None, "contradictory verdicts")
        last = objects[-1]
        before = text[: objects[0].start].rstrip(" \t\n`")
        before = before.removesuffix("```json").rstrip(" \t\n`")
        closers = words.CLOSERS.match(text, last.end)
        assert closers
        quoted = announces(before) or quoting(before)
        if last.label is None or quoted or closers.end() < len(text) or self._states_other(before, last.label):
            return Answer(None, "no verdict of its own")
        return Answer(last.label, last.reason or _clean_reason(before))

    def _find_objects(self, text: str) -> Iterator[_Statement]:
        """Yield the verdicts of the objects on lines of their own, up to the first object that cannot be parsed."""
        position = number = 0
        while opening := words.OBJECT_LINE.search(text, position):
            number += 1
            if number > _MAX_VERDICTS:
                yield _Statement(None, start=opening.start(), end=len(text), damaged=True)
                return
            parsed = _parse_json(text, opening.end())
            if parsed is None:
                if self.words.named.search(text, opening.end()):
                    yield _Statement(None, start=opening.start(), end=len(text), damaged=True)
                return
            value, position = parsed
            closers = words.CLOSERS.match(text, position)
            assert closers
            ends_line = "\n" in closers[0] or closers.end() == len(text)
            if ends_line and (statement := self._read_object(value)):
                yield statement._replace(start=opening.start(), end=position)

    def _read_object(self, parsed: Any) -> _Statement | None:
        """Return the verdict that a parsed JSON value states; None if it is not an object or has no verdict."""
        if not isinstance(parsed, _Pairs):
            return None
        members = [(words.fold_name(name), value) for name, value in parsed]
        labels = {self.label(value) for name, value in members if name in self.words.folded_names}
        if not labels:
            return None
        reasons = [
            str(value) for name, value in members if name in (self.reason, *words.REASONS) and isinstance(value, str)
        ]
        return _Statement(labels.pop() if len(labels) == 1 else None, _clean_reason(reasons[0] if reasons else ""))

    def _repair_object(self, text: str) -> Answer[str] | None:
        """Return the verdict of a complete object that is invalid only because of quotation marks in its reason.

        None if the reason contains a brace or the name of a verdict, because these may come from a quotation.
        """
        body = text.rstrip("` \t\n]")
        if not body.endswith("}"):
            return None
        head, tail = self.words.head.match(body), self.words.tail.search(body, max(len(body) - 300, 0))
        if tail and (begin := self.words.reason_head.match(body)) and begin.end() <= tail.start():
            word, reason = tail[1], body[begin.end() : tail.start()]
        elif head:
            word, reason = head[1], body[head.end() : -1]
        else:
            return None
        label = self.label(word)
        if label is None or "{" in reason or "}" in reason or self.words.named.search(reason):
            return None
        return Answer(label, _clean_reason(reason.strip(" \t\n\"'“”")))

    # --- lines ------------------------------------------------------------------------------------------

    def _read_lines(self, text: str) -> Answer[str]:
        """Return the verdict of a reply that states it in a line."""
        if whole := self.label(text):
            return Answer(whole)
        statements = list(self._find_statements(text, announces))
        first, _, rest = text.partition("\n")
        last = text.rpartition("\n")[2] if rest else ""
        if line_label := self._read_first_line(first):
            statements.append(_Statement(line_label, start=0, end=len(first)))
        if line_label := self.label(last):
            before = text[: -len(last)]
            if not quoting(before) and not announces(before):
                statements.append(_Statement(line_label, start=len(before), end=len(text)))
        labels = {statement.label for statement in statements}
        label = labels.pop() if len(labels) == 1 else None
        if label is None:
            return Answer(None, "contradictory verdicts" if labels else "no verdict")
        if self._declares_other(text, label):
            return Answer(None, "contradictory verdicts")
        statement = statements[0]
        return Answer(label, _clean_reason(f"{text[: statement.start]}\n{text[statement.end :]}"))

    def _read_first_line(self, line: str) -> str | None:
        """Return the label that the first line of a reply begins with ("No, the year differs."), or None."""
        line = line.lstrip(" \t*_`#")
        return self._read_value(line, free=False) if line[:1] not in "\"'“‘>" else None

    def _find_statements(self, text: str, introduces_quote: Callable[[str], bool]) -> Iterator[_Statement]:
        """Yield the verdicts that lines state, except quoted ones.

        Args:
            text: The text of a reply.
            introduces_quote: Whether the text before a line introduces a quotation. Such a line is skipped, as is a
                line in quotation marks.
        """
        position = marks = depth = 0
        for number, line in enumerate(self.words.statement.finditer(text)):
            if number == _MAX_VERDICTS:
                yield _Statement(None)
                return
            between = text[position : line.start()]
            position = line.start()
            marks += between.count('"')
            depth += sum(map(between.count, words.OPENING)) - sum(map(between.count, words.CLOSING))
            if marks % 2 or depth > 0 or introduces_quote(text[max(0, line.start() - 1_000) : line.start()]):
                continue
            # The value may be on the line below its name.
            value = text[line.end() : line.end() + 300].lstrip(" \t\n*_`\"“'[(（<")
            begin = line.end() + len(text[line.end() : line.end() + 300]) - len(value)
            if self._repeats_choices(value):
                continue
            label = self._read_value(value, free=True)
            name_has_is = line["is"] is not None
            if label is None and (name_has_is or not value):
                continue
            end = text.find("\n", begin)
            yield _Statement(label, start=line.start(), end=len(text) if end < 0 else end)

    def _read_value(self, text: str, *, free: bool) -> str | None:
        """Return the label that a text begins with, or None.

        None if the rest of the sentence names another label.

        Args:
            text: The text, from the value on.
            free: Whether a word may follow the label. If not, a mark or the end must follow, since a word of the
                vocabulary may also begin any other sentence.
        """
        phrase = self.words.begins.match(text[:300])
        if not phrase:
            return None
        if not free and re.match(r"[ \t]+\w", text[phrase.end() :]):
            return None
        label = self.words.by_phrase(phrase[1])
        rest = text[phrase.end() : 300]
        stop = words.SENTENCE_END.search(rest)
        rest = rest[: stop.start()] if stop else rest
        others = {self.words.by_phrase(word[0]) for word in self.words.strong.finditer(rest)}
        return label if others <= {label} else None

    def _repeats_choices(self, value: str) -> bool:
        """Return whether a value only repeats the choices of the prompt ("Yes or No")."""
        phrase = self.words.word.match(value)
        either = words.EITHER.match(value, phrase.end()) if phrase else None
        other = self.words.word.match(value, either.end()) if either else None
        return bool(phrase and other and self.words.by_phrase(phrase[0]) != self.words.by_phrase(other[0]))

    def _states_other(self, text: str, label: str) -> bool:
        """Return whether the text around a verdict states another verdict of the judge's own, or possibly does."""
        labels = {statement.label for statement in self._find_statements(text, reports)}
        for statement in self._find_objects(text):
            before = text[max(0, statement.start - 1_000) : statement.start]
            if not reports(before) and not quoting(before):
                labels.add(statement.label)
        return bool(labels - {label}) or self._declares_other(text, label)

    def _declares_other(self, text: str, label: str) -> bool:
        """Return whether a clause such as "my verdict is …" names another label."""
        for declaration in self.words.keyed.finditer(text):
            if self.words.by_phrase(declaration[1]) == label:
                continue
            line = text[max(0, declaration.start() - 400) : declaration.start()].rpartition("\n")[2].rstrip("\"'“ ")
            clause = words.SENTENCE_END.split(line)[-1]
            # "mine is" is part of the match, "my verdict is" begins before it.
            own = words.OWN.search(f"{clause} {declaration[0]}")
            reported = own and words.REPORTS.search(clause, own.end())
            if own and not reported and not quoting(line):
                return True
        return False

    def _continues_with_other(self, rest: str, label: str) -> bool:
        """Return whether an object is part of a sentence that names another verdict.

        `{…} is what the text says; mine is …`. Unbalanced braces or quotation marks count as another verdict.

        Args:
            rest: The text after the object, which continues its line.
            label: The label of the object.
        """
        other = any(self.words.by_phrase(named[1]) != label for named in self.words.keyed.finditer(rest))
        balanced = rest.count("{") == rest.count("}") and rest.count('"') % 2 == 0
        if words.SENTENCE_START.match(rest) and balanced:
            return False
        strong = any(self.words.by_phrase(named[0]) != label for named in self.words.strong.finditer(rest))
        return other or strong or not balanced


def verdict_reader(
    vocabulary: Mapping[str, str | Sequence[str]], *, names: Sequence[str] = words.NAMES, reason: str = "reason"
) -> VerdictReader:
    """Return a reader of verdicts.

    `verdict_reader({"supported": "supported", "contradicted": ("contradicted", "refuted")})`

    Args:
        vocabulary: Label -> the words and phrases for it, beginning with the one that judges are asked to write. The
            label itself is always read as well.
        names: The names of the verdict, beginning with the one that judges are asked to use.
        reason: The name under which judges are asked to give their reason.
    """
    words = {label: (phrases,) if isinstance(phrases, str) else tuple(phrases) for label, phrases in vocabulary.items()}
    return VerdictReader(words, tuple(names), reason)


def own_value(reply: str, opens: str) -> Any:
    """Return the JSON array or object that a reply consists of, begins with or ends in.

    Args:
        reply: A model's reply.
        opens: "[" for an array, "{" for an object.

    Returns:
        The parsed value, with objects as dictionaries. None if there is no such value, or if it is damaged, quoted, or
        one of several different values.
    """
    text = (strip_reasoning(reply) or "").replace("\r\n", "\n").strip()
    start = text.find(opens)
    if start < 0:
        return None
    if is_lead_in(text[: min(start, LONGEST_LEAD_IN + 1)]):
        parsed = _parse_json(text, start)
        return (
            _to_dicts(parsed[0])
            if parsed and not _find_values(text, opens, parsed[1]) - {_serialize(parsed[0])}
            else None
        )
    line = re.compile(rf"(?m)^[ \t]{{0,40}}(?={re.escape(opens)})").search(text)
    before = text[: line.start()].rstrip(" \t\n`").removesuffix("```json") if line else ""
    parsed = _parse_json(text, line.end()) if line else None
    if not parsed or announces(before) or quoting(before) or not words.CLOSERS.fullmatch(text, parsed[1]):
        return None
    return _to_dicts(parsed[0])


def _find_values(text: str, opens: str, position: int) -> set[str]:
    """Return the serialized JSON values that begin a line and are not introduced as quotations.

    The search stops at a value that cannot be parsed, or when two different values are found.

    Args:
        text: The text of a reply.
        opens: "[" for arrays, "{" for objects.
        position: Where to start in `text`.
    """
    values: set[str] = set()
    lines = re.compile(rf"(?m)^[ \t]{{0,40}}(?={re.escape(opens)})")
    while (line := lines.search(text, position)) and len(values) <= 1:
        parsed = _parse_json(text, line.end())
        if parsed is None:
            break
        if not reports(text[max(0, line.start() - 1_000) : line.start()]):
            values.add(_serialize(parsed[0]))
        position = parsed[1]
    return values


def _serialize(value: Any) -> str:
    return json.dumps(_to_dicts(value), sort_keys=True, default=str)


def _to_dicts(value: Any) -> Any:
    """Return a parsed value with its objects as dictionaries."""
    if isinstance(value, _Pairs):
        return {name: _to_dicts(member) for name, member in value}
    return [_to_dicts(element) for element in value] if isinstance(value, list) else value


def _parse_json(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON value that begins at `start` and its end; None if it cannot be parsed."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


_DECODER = json.JSONDecoder(object_pairs_hook=_Pairs, strict=False)


def _clean_reason(text: str) -> str:
    """Return the text of a reason, without the name before it and the whitespace around it."""
    return words.REASON_NAME.sub("", text.strip()[:_MAX_REASON_LENGTH]).strip()
