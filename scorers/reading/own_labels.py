"""Read one of a task's own labels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from halu_tasks.scorers.reading.clauses import Clause
from halu_tasks.scorers.reading.languages import LANGUAGES
from halu_tasks.scorers.reading.lexicon import Token
from halu_tasks.scorers.reading.reply import sentences
from halu_tasks.scorers.reading.sentence import ParsedSentence
from halu_tasks.scorers.reading.steps import Question, inference, statement
from halu_tasks.scorers.reading.types import TYPE_STEPS, Types
from halu_tasks.scorers.reading.vocabulary import Value
from halu_tasks.text.folding import fold

_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# what a word of the same sentence does to a label ("supported, but not by the first source"), unless it belongs to a
# reason, or another part of the sentence begins in between
_BEGINS = ("conclude", "declare", "turn", "stop")
_QUALIFIES = (
    *("turn", "except", "partly", "negate", "no", "cannot", "hedge", "suppose", "concede", "decline", "retract"),
    *("label", "either", "ask", "modal"),
)
_PLACE = re.compile(r"\bzq(\d+)z\b")
# words before a colon in a prompt, where the answer is to stand: at its end, before a gap, or in quotation marks
_WORDS = r"([^\W\d_][^\n:：.?!¿¡;*{}<>\[\]\"“”„«»「」`]{1,58}?)[\s*]*[:：]"
_CUE = re.compile(rf'(?:(?<=["“„「`])|«\s?){_WORDS}(?!\s*\{{)|{_WORDS}[\s*]*(?:\Z|…|\.\.\.|[<\[])')


class OwnLabels(Types):
    """A question that is answered by one of a task's own labels.

    Only a declared label is read: one that is the reply, its first or its last line, stands behind a word such as
    "Answer:" or a cue of the prompt, or is a field of a JSON object. A label that its sentence negates or qualifies is
    not read, nor is one that is followed by words of which nothing is known.

    Args:
        labels: The labels.
        prompts: The texts of the prompt, whose cues are the words before a colon at the end ("Verdict:"), before a gap
            ("Verdict: …"), or in quotation marks.
    """

    def __init__(self, labels: tuple[str, ...], prompts: Iterable[str] = ()) -> None:
        super().__init__(("labels", "declining"), ("en", "eu", *LANGUAGES[1:]), labels, yes="")
        plain = [_plain(label) for label in labels]
        self._places = {label: f" zq{place}z " for place, label in enumerate(plain)}
        words = sorted((label for label in plain if len(label) > 1), key=len, reverse=True)
        self._words = re.compile("|".join(map(_word, words)) or "(?!)")
        # in small letters, a letter may also be a word
        letters = "|".join(re.escape(label) for label in labels if len(label) == 1) or "(?!)"
        self._letters = re.compile(rf"(?<![\w'’-])(?:{letters})(?![\w'’-])")
        named = (found[1] or found[2] for prompt in prompts for found in _CUE.finditer(prompt))
        cues = sorted({cue for cue in named if not _PLACE.search(self.prepare(cue))}, key=lambda cue: (-len(cue), cue))
        self._cues = re.compile("|".join(_word(_plain(cue)) for cue in cues) or "(?!)")
        self.form = f"a label alone or behind {' or '.join(f'“{cue}:”' for cue in cues or ['Answer'])}"

    def prepare(self, text: str) -> str:
        """Return a sentence in which labels are words of their own ("zq0z")."""
        alone = text.strip(" .:()")
        if len(alone) == 1 and (place := self._places.get(fold(alone))):
            return text.replace(alone, place)
        text = self._letters.sub(lambda match: self._places[fold(match[0])], text)
        return self._words.sub(lambda match: self._places[match[0]], fold(text))

    def scan(self, text: str) -> list[Token]:
        """Find the tokens of a folded sentence, of which labels and cues are some."""
        labels = [Token("label", self.labels[int(found[1])], *found.span()) for found in _PLACE.finditer(text)]
        cues = [Token("declare", "", *found.span()) for found in self._cues.finditer(text)]
        others = [t for t in super().scan(text) if all(t.end <= cue.start or t.start >= cue.end for cue in cues)]
        return sorted([*others, *labels, *cues], key=lambda token: token.start)

    @property
    def names_labels(self) -> bool:
        """Whether a reply may name labels: the task's own."""
        return True

    def value(self, read: ParsedSentence, start: int = 0) -> Value | None:
        """Return the label that a sentence begins with at `start`, an empty one if the sentence qualifies it."""
        value = super().value(read, start)
        if value is None or value.label not in self.labels:
            return value
        before = takewhile(lambda token: token.kind not in _BEGINS, (t for t in read.tokens[::-1] if t.end <= start))
        behind = takewhile(lambda token: token.kind != "because", read.behind(value.end))
        said = {token.kind for token in behind} | {token.kind for token in before} - {"no"}
        is_plain = self.ends_clause(read, value) and "?" not in read.text[value.end :] and not said & {*_QUALIFIES}
        return value if is_plain else value._replace(label="")

    def begins(self, read: ParsedSentence, value: Value) -> bool:
        """Return whether a label at the beginning of a sentence stands for itself: only a reason follows."""
        return read.next(value.end) == "because"

    def judged(self, found: list[Clause]) -> str | None:
        """Return None: a statement declares no label."""
        return None

    def _labelled(self, token: Token, negated: bool, partly: bool) -> Value:
        return Value("label", "" if negated or partly else token.label, token.end)

    def other(self, label: str) -> str:
        """Return nothing: a label that is denied says nothing of the others."""
        return ""

    def as_words(self, member: object) -> str:
        """Return a member of a JSON object: a true, a false or a number may be a label."""
        return str(member)


LABEL_STEPS = tuple(step for step in TYPE_STEPS if step not in (statement, inference))
"""How one of a task's own labels is looked for: only a declared one is read."""


class LabelQuestion(Question):
    """A question that is answered by one of a task's own labels; the arguments are those of `OwnLabels`.

    Attributes:
        form: How a reply declares a label, for people.
    """

    def __init__(self, labels: tuple[str, ...], prompts: Iterable[str] = ()) -> None:
        vocabulary = OwnLabels(labels, prompts)
        super().__init__(vocabulary, LABEL_STEPS)
        self.form = vocabulary.form


def _plain(text: str) -> str:
    return fold(" ".join(sentence.text for sentence in sentences(text)) or text)


def _word(label: str) -> str:
    """Return an expression for a label that is no part of a word, in scripts that have spaces between words."""
    before, after = (
        "" if _UNSPACED.match(end) else rf"[^\W{_UNSPACED.pattern[1:-1]}]" for end in (label[0], label[-1])
    )
    return f"(?<!{before or '(?!)'}){re.escape(label)}(?!{after or '(?!)'})"
