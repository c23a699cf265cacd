"""Read the verdict that a judge, a critic or a verifier states.

Judges quote the texts that they judge, and these may contain a verdict ("reply with consistent"). A verdict therefore
only counts where judges are asked to put it, and if the reply states no other one:

1. a JSON object with the verdict that is the reply, or its first or last lines;
2. otherwise a line that states it ("Verdict: conflict"), or a first or last line that begins with it ("No, the year
   differs.").

What is quoted, or follows a line that introduces a quotation, is left out. A reply has no verdict if it states two
different ones, if its object is damaged, or if the word that it gives is not a label: it is better to ask again than to
guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.fields import JsonValue, values
from halu_tasks.scorers.reading.lines import PAIRS
from halu_tasks.scorers.reading.reasoning import unopened_reasoning
from halu_tasks.scorers.reading.reply import ReplyText, ends

NAMES = ("verdict", "judgement", "judgment", "conclusion", "判定", "结论", "裁定")
"""Names of a verdict whose question does not name it."""
_REASONS = ("reason", "critique", "reasoning", "explanation", "rationale", "理由", "原因", "依据", "说明")
_DECORATION = " \t\r\n*_`\"'“”‘’.。!！?？"
_QUOTATION = re.compile("|".join(f"{pair[0]}[^{pair[1]}]{{0,500}}{pair[1]}" for pair in ('""', *PAIRS)) + "|(?m:^>.*$)")
# pairs whose opening mark does not close a quotation in another language
_OPEN_PAIRS = ("“”", "「」", "『』", "《》")
_LEADS = re.compile(r"(?:(?:my|the|our|final|overall|so|thus|therefore|hence)[ ,:]{1,3}){1,3}", re.IGNORECASE)
# a word of the vocabulary may also begin any other sentence, or only be asked about
_ENDS = r"[ \t]{0,3}(?:$|[\n.,;!:|。，；：！、…()（）\[\]{}–—-]|(?:because|since|as|by|in|from)\b)"
_SENTENCE_END = re.compile(r"[.。！!\n](?:\s|$)|[。！]")
_LONGEST_REASON = 4_000
_REASON_NAME = re.compile(rf"^\W{{0,4}}(?:{'|'.join(_REASONS)})[*_]{{0,4}}\s?[:：][*_]{{0,4}}\s*", re.IGNORECASE)
# "The text ends with:" announces the verdict of another
_REPORTS = re.compile(
    r"\b(?:says?|said|ends|reads|contains?|includes?|asks?|tells?|told|orders?|instructs?|quot\w+|claims|writes|wants|inject\w*)\b"
    r"|写|自称|声称|要求|注入",
    re.IGNORECASE,
)
# "Conflict: no" and "Unsupported? No." deny the label
_DENIED = re.compile(
    r"[*_`\"'”)\]]{0,4}\s?[:：?？=][\s*_`\"'“(\[]{0,4}(?:no|none|nothing|false|否|无|没有)[*_`\"'”)\]]{0,4}(?:[.,;!。，；！]|\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_TAG = re.compile(r"</?(?:answer|output|response|verdict)>", re.IGNORECASE)


class VerdictReader:
    """Read verdicts in the words of a vocabulary.

    Args:
        vocabulary: The words and phrases of each label, beginning with the one that judges are asked to write. The
            label itself is always read as well.
        names: The names of the verdict in an object or before a colon, beginning with the one that judges are asked to
            use. One that ends in "is" needs no colon.
        reason: The name under which judges are asked to give their reason.

    Attributes:
        asked: The word for each label that judges are asked to write.
    """

    def __init__(
        self, vocabulary: Mapping[str, str | Sequence[str]], names: Sequence[str] = NAMES, reason: str = "reason"
    ) -> None:
        words = {label: (phrases,) if isinstance(phrases, str) else phrases for label, phrases in vocabulary.items()}
        self.labels = tuple(words)
        self.names, self.reason = tuple(names), reason
        self.asked = [phrases[0] for phrases in words.values()]
        self._labels = {_plain(phrase): label for label, phrases in words.items() for phrase in (label, *phrases)}

    @cached_property
    def _begins(self) -> re.Pattern[str]:
        signs = "|".join(sign for sign in self._labels if not re.search(r"\w", sign)) or "(?!)"
        after = rf"(?=[*_`\"'”)\]]{{0,4}}{_ENDS})"
        return re.compile(rf"[\s*_`\"'“(\[]{{0,8}}((?:{_any_of(self._labels)}){after}|{signs})", re.IGNORECASE)

    @cached_property
    def _name(self) -> re.Pattern[str]:
        colon = r"\s?(?:\?[:：]?|[:：=]|\bis\b:?|是|为)"
        name = rf"(?:{_any_of(n for n in self.names if not n.endswith(' is'))})[*_`\"'”]{{0,4}}{colon}"
        with_is = "".join(f"|{re.escape(n)}" for n in self.names if n.endswith(" is"))
        return re.compile(rf"(?<![a-z])(?:{name}{with_is})[*_`]{{0,4}}", re.IGNORECASE)

    @cached_property
    def _mentions(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![a-z])(?:{_any_of(self._labels)})(?![a-z])", re.IGNORECASE)

    def __call__(self, reply: str) -> Answer[str]:
        """Return the label that a reply states, with the judge's reason as `reason`.

        If the reply states none, the value is None and `reason` says why. Time is linear in the length of the reply.
        """
        reply = ReplyText(reply)
        if reply.missing:
            return reply.missing
        answer = self._of_text(reply.text)
        # a judge that mentions closing markup has said its verdict before that
        before = answer.value and self._of_text(unopened_reasoning(reply)).value
        return Answer(None, "contradictory verdicts") if before and before != answer.value else answer

    def _of_text(self, text: str) -> Answer[str]:
        text = ends(_TAG.sub("", text.replace("\r\n", "\n")).strip())
        if not text:
            return Answer(None, "empty")
        objects = [*values(text, "{")]
        verdicts = [value for value in objects if self._named(value, self.names) and not _is_reported(text, value)]
        rest = _without(text, objects)
        if "{" in rest and self._name.search(rest.replace('"', "")):
            return self._repaired(text) or Answer(None, "a JSON object that is damaged or cut off")
        prose = _QUOTATION.sub(" ", rest)
        labels = {self._of_object(value) for value in verdicts} | set(self._stated(prose))
        if len(labels) > 1:
            return Answer(None, "contradictory verdicts")
        if verdicts:
            own_verdict = next((value for value in verdicts if is_own(text, value)), None)
            label = self._of_object(verdicts[0])
            if label is None or own_verdict is None:
                return Answer(None, "no verdict of its own" if label else "a verdict that is no label, or several")
            return Answer(label, self._reason(own_verdict) or _clean_reason(text[: own_verdict.start]))
        return self._of_lines(prose)

    def label(self, word: object) -> str | None:
        """Return the label for a word or phrase, such as the value of a field; None if there is none."""
        return self._labels.get(_plain(str(word)[:200])) if isinstance(word, str | bool) else None

    # --- objects ----------------------------------------------------------------------------------------

    def _named(self, value: JsonValue, names: Sequence[str]) -> list[object]:
        members = value.content if isinstance(value.content, dict) else {}
        return [member for name, member in members.items() if _plain(str(name)[:100]) in names]

    def _of_object(self, value: JsonValue) -> str | None:
        labels = {self.label(member) for member in self._named(value, self.names)}
        return labels.pop() if len(labels) == 1 else None

    def _reason(self, value: JsonValue) -> str:
        reasons = self._named(value, (self.reason, *_REASONS))
        return next((_clean_reason(reason) for reason in reasons if isinstance(reason, str)), "")

    def _repaired(self, text: str) -> Answer[str] | None:
        """Return the verdict that ends an object with quotation marks in its reason, if it is the only one."""
        body = text.strip("` \t\n").removeprefix("json").strip()
        tail = re.search(r"[\"“”]([^\"“”{}]{1,40})[\"“”]\s?[:：]\s?[\"“”]([^\"“”{}]{1,60})[\"“”]\s*\}\Z", body)
        if not tail or body[0] != "{" or "{" in body[1:] or _plain(tail[1]) not in self.names:
            return None
        if self._name.search(body[: tail.start()].replace('"', "")) or not (label := self.label(tail[2])):
            return None
        reason = body[1 : tail.start()].partition(":")[2]
        return Answer(label, _clean_reason(reason.strip(' \t\n,，"“”')))

    # --- lines ------------------------------------------------------------------------------------------

    def _stated(self, prose: str) -> list[str]:
        matches = (self._begins.match(prose, name.end()) for name in self._name.finditer(prose))
        return [self._labels[_plain(match[1])] for match in matches if match]

    def _of_lines(self, prose: str) -> Answer[str]:
        lines = [line.strip(" \t*_`#-") for line in prose.split("\n")]
        at_ends = {index for index, line in enumerate(lines) if line}
        at_ends = {min(at_ends, default=0), max(at_ends, default=0)}
        labels: dict[str | None, int] = {}
        quoted = False
        for index, line in enumerate(lines):
            quoted = quoted and bool(line)  # until the end of the paragraph
            titled = line.rstrip(":：") + ":" if _plain(line) in self.names else line
            name = self._name.match(titled) or self._name.match(_LEADS.sub("", titled, count=1))
            if not quoted and (name or index in at_ends):
                value = name.string[name.end() :].strip() if name else line
                following = next((line for line in lines[index + 1 :] if line), "")
                if (label := self.label_at_start(value or following)) or name:
                    labels.setdefault(label, index)
            quoted = quoted or (line.endswith((":", "：")) and not _introduces_own(line) and not name)
        if len(labels) != 1 or None in labels:
            return Answer(None, "contradictory verdicts" if len(labels) > 1 else "no verdict")
        [(label, index)] = labels.items()
        return Answer(label, _clean_reason("\n".join(line for at, line in enumerate(lines) if at != index)))

    def name_places(self, text: str) -> list[tuple[int, int]]:
        """Return where the names of the verdict are in a text, each with the mark behind it."""
        return [name.span() for name in self._name.finditer(text)]

    def label_at_start(self, text: str) -> str | None:
        """Return the label that a text begins with, if its sentence mentions no other one."""
        match = self._begins.match(text)
        if not match or _DENIED.match(text, match.end()):
            return None
        longest = self._mentions.match(text, match.start(1))  # "yes, but" is never read as "yes"
        label = self._labels[_plain(longest[0] if longest else match[1])]
        sentence = _SENTENCE_END.split(text[match.end() : match.end() + 300])[0]
        others = (_plain(other[0]) for other in self._mentions.finditer(sentence))
        # short words such as yes and no also occur in other sentences
        return label if all(self._labels[other] == label or len(other) < 5 for other in others) else None


def own_value(reply: str, opens: str) -> Any:
    """Return the JSON array or object that a reply consists of, begins with or ends in.

    Args:
        reply: A model's reply.
        opens: "[" for an array, "{" for an object.

    Returns:
        The value; None if there is none, or if it is damaged, quoted, or one of several different values.
    """
    text = ReplyText(reply).text.replace("\r\n", "\n").strip()
    every = [*values(text, opens)]
    reported = [value for value in every if not _is_reported(text, value)]
    if opens in _without(text, every) or any(value.content != reported[0].content for value in reported):
        return None
    return next((value.content for value in reported if is_own(text, value)), None)


def is_own(text: str, value: JsonValue) -> bool:
    """Return whether a value is the first or last of a reply, on lines of its own, and not introduced as quoted."""
    before, after = text[: value.start].rstrip(" \t\n`[").removesuffix("```json").rstrip(" \t\n`"), text[value.end :]
    last_line = before.rpartition("\n")[2]
    if _is_open(before) or (before.endswith((":", "：")) and not _introduces_own(last_line)):
        return False
    on_line = text[: value.start].rpartition("\n")[2].strip(" \t`[")
    if on_line and not on_line.endswith((":", "：", ".", "。")):
        return False
    rest = after.lstrip(" \t`]")
    return not rest.strip("\n`] \t") or (rest.startswith("\n") and (not before or before.endswith((":", "："))))


def _is_reported(text: str, value: JsonValue) -> bool:
    """Return whether the sentence that a value is part of reports what the judged text says."""
    before = text[max(value.start - 200, 0) : value.start].rstrip("`[ \t\n").removesuffix("```json").rstrip("` \t\n")
    return not _introduces_own(before)


def _introduces_own(line: str) -> bool:
    return not _REPORTS.search(_SENTENCE_END.split(line[-200:].rstrip())[-1])


def _is_open(text: str) -> bool:
    return text.count('"') % 2 == 1 or any(text.count(pair[0]) > text.count(pair[1]) for pair in _OPEN_PAIRS)


def _without(text: str, objects: Sequence[JsonValue]) -> str:
    ends_of_values = [0, *(value.end for value in objects)]
    starts = [*(value.start for value in objects), len(text)]
    return " ".join(text[end:start] for end, start in zip(ends_of_values, starts, strict=True))


@lru_cache(maxsize=1024)
def _plain(phrase: str) -> str:
    # expressions that ignore case take ı and i as equal
    plain = phrase.strip(_DECORATION).lower().replace("ı", "i")
    return " ".join(re.sub(r"[\s,;:_，；-]+", " ", plain).split())


def _any_of(phrases: Sequence[str] | Any) -> str:
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return "|".join(re.escape(phrase).replace(r"\ ", r"[\s,;:_，；-]{1,3}") for phrase in longest_first)


def _clean_reason(text: str) -> str:
    return _REASON_NAME.sub("", text.strip()[:_LONGEST_REASON]).strip()
