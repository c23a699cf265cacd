"""Read one of a task's own labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from halu_tasks.scorers.reading.choices import OPTION_STEPS, OptionVocabulary
from halu_tasks.scorers.reading.clauses import Clause, stated, words_between
from halu_tasks.scorers.reading.lexicon import Token
from halu_tasks.scorers.reading.passage import SPACELESS_LETTER
from halu_tasks.scorers.reading.reply import sentences
from halu_tasks.scorers.reading.sentence import ParsedSentence
from halu_tasks.scorers.reading.steps import LabelReader, ReplyPart, StepResult, inference, statement
from halu_tasks.scorers.reading.types import TYPE_STEPS, TypeVocabulary
from halu_tasks.scorers.reading.vocabulary import LabelMatch, Vocabulary
from halu_tasks.text.folding import SPACELESS, fold

_LETTERS = "ABCDEFGHIJ"
# what a word of the same sentence does to a label ("supported, but not by the first source"), unless it belongs to a
# reason, or another part of the sentence begins in between
_BEGINS = ("conclude", "declare", "turn", "stop")
_QUALIFIES = (
    *("turn", "except", "partly", "negate", "no", "cannot", "hedge", "suppose", "concede", "decline", "retract"),
    *("label", "either", "ask", "modal"),
)
_TAKES_BACK = ("turn", "except", "partly", "concede", "retract", "label", "either")
_REASON = re.compile(r"\s*(?:[:(–—]|,? because\b)\s*\w")
# of a part with these, or another answer, what it says is open
_OPEN = ("partly", "except", "hedge", "modal", "cannot", "decline", "either")
_WORD = re.compile(r"\w+")
_PLACE = re.compile(r"\bzq(\d+)z\b")
# words before a colon in a prompt, where the answer is to stand: at its end, before a gap, or in quotation marks
_WORDS = r"([^\W\d_][^\n:：.?!¿¡;*{}<>\[\]\"“”„«»「」`]{1,58}?)[\s*]*[:：]"
_CUE = re.compile(rf'(?:(?<=["“„「`])|«\s?){_WORDS}(?!\s*\{{)|{_WORDS}[\s*]*(?:\Z|…|\.\.\.|[<\[])')


class OwnLabels(TypeVocabulary):
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
        super().__init__(("labels", "declining"), labels, yes="")
        plain = [_plain(label) for label in labels]
        self._places = {label: f" zq{place}z " for place, label in enumerate(plain)}
        words = sorted((label for label in plain if len(label) > 1), key=len, reverse=True)
        self._long = re.compile("|".join(map(_word, words)) or "(?!)")
        # in small letters, a letter may also be a word
        letters = "|".join(re.escape(label) for label in labels if len(label) == 1) or "(?!)"
        self._letters = re.compile(rf"(?<![\w'’-])(?:{letters})(?![\w'’-])")
        cues = [cue for cue in _cues(prompts) if not _PLACE.search(self.prepare(cue))]
        self._cues = _any_cue(cues)
        self.form = f"a label alone or behind {' or '.join(f'“{cue}:”' for cue in cues or ['Answer'])}"

    def prepare(self, text: str) -> str:
        """Return a sentence in which labels are words of their own ("zq0z")."""
        text = _PLACE.sub(" ", text)
        bare = text.strip(" .:()")
        if len(bare) == 1 and (place := self._places.get(fold(bare))):
            return text.replace(bare, place)
        text = self._letters.sub(lambda match: self._places[fold(match[0])], text)
        return self._long.sub(lambda match: self._places[match[0]], fold(text))

    def scan(self, text: str) -> list[Token]:
        """Find the tokens of a folded sentence, of which labels and cues are some."""
        labels = [Token("label", self.labels[int(place[1])], *place.span()) for place in _PLACE.finditer(text)]
        return sorted([*_with_cues(super().scan(text), text, self._cues), *labels], key=lambda token: token.start)

    @property
    def names_labels(self) -> bool:
        """Whether a reply may name labels: the task's own."""
        return True

    def _match_label(self, sentence: ParsedSentence, start: int = 0) -> LabelMatch | None:
        value = super()._match_label(sentence, start)
        if value is None or value.label not in self.labels:
            return value
        before = takewhile(
            lambda token: token.kind not in _BEGINS, (t for t in sentence.tokens[::-1] if t.end <= start)
        )
        after = takewhile(lambda token: token.kind != "because", sentence.tokens_after(value.end))
        kinds = {token.kind for token in after}
        gives_reason = bool(_REASON.match(sentence.text, value.end))
        if gives_reason:  # which may deny something else: "refuted (it was not 1932)"
            kinds &= {*_TAKES_BACK}
        kinds |= {token.kind for token in before} - {"no"}
        ends = gives_reason or self.ends_clause(sentence, value)
        is_plain = ends and "?" not in sentence.text[value.end :] and not kinds & {*_QUALIFIES}
        return value if is_plain else value._replace(label="")

    def is_answer_at_start(self, sentence: ParsedSentence, value: LabelMatch) -> bool:
        """Return whether a label at the beginning of a sentence stands for itself: only a reason follows."""
        return sentence.kind_after(value.end) == "because" or bool(_REASON.match(sentence.text, value.end))

    def label_of_clauses(self, clauses: list[Clause]) -> str | None:
        """Return None, since a statement declares no label."""
        return None

    def _label_match(self, token: Token, negated: bool, partly: bool) -> LabelMatch:
        return LabelMatch("label", "" if negated or partly else token.label, token.end)

    def other(self, label: str) -> str:
        """Return nothing: a label that is denied says nothing of the others."""
        return ""

    def as_words(self, member: object) -> str:
        """Return a member of a JSON object: a true, a false or a number may be a label."""
        return str(member)


class YesNo(Vocabulary):
    """The words of a user's question that is answered by a yes or a no.

    What it asks is not known, so only a yes or a no is read, and no statement.

    Args:
        yes: The label of a yes.
        no: The label of a no.
        prompts: The texts of the prompt, for its cues.
    """

    def __init__(self, yes: str, no: str, prompts: Iterable[str] = ()) -> None:
        super().__init__(("labels", "declining"), (yes, no), yes=yes)
        self._cues = _any_cue(_cues(prompts))

    judges = False

    def scan(self, text: str) -> list[Token]:
        """Find the tokens of a folded sentence, of which cues are some."""
        return _with_cues(super().scan(text), text, self._cues)

    def is_answer_at_start(self, sentence: ParsedSentence, value: LabelMatch) -> bool:
        """Return whether a yes or a no at the beginning of a sentence is the answer ("No, the year differs.")."""
        return super().is_answer_at_start(sentence, value) and not sentence.asks


def words_of_question(part: ReplyPart) -> StepResult | None:
    """A yes or no that is said in the words of the prompt's question, in their order."""
    vocabulary = part.vocabulary
    parsed_questions = [
        vocabulary.parse(sentence.text) for sentence in sentences(part.reply.prompt) if sentence.text[-1] == "?"
    ]
    questions = [
        words
        for sentence in parsed_questions
        for words, negators in _said([*sentence.clauses])
        if words and not negators
    ]
    sentences_by_label: dict[str, ParsedSentence] = {}
    for sentence in part.sentences if questions else ():
        for words, negators in _said(stated(sentence.clauses)):
            if len(words) > 1 and any(_has_most(question, words) for question in questions):
                sentences_by_label.setdefault(vocabulary.yes_or_other(negators % 2 == 1), sentence)
    return StepResult(*sentences_by_label.popitem()) if len(sentences_by_label) == 1 else None


def _has_most(question: list[str], words: list[str]) -> bool:
    rest = iter(question)  # "Is A larger than B?" is not answered by "B is larger than A."
    return 2 * len(words) >= len(question) and all(word in rest for word in words)


def _said(clauses: Iterable[Clause]) -> Iterator[tuple[list[str], int]]:
    """Yield the words and the number of negators in the parts of clauses between commas, if they are not in doubt."""
    for clause in clauses:
        start = clause.start
        for end in (*(token.start for token in clause.tokens if token.kind == "comma"), clause.end):
            tokens = [token for token in clause.tokens if start <= token.start < end]
            words = words_between(clause._replace(tokens=tokens), start, end)
            if not any(token.kind in _OPEN for token in tokens):
                yield _WORD.findall(words), sum(token.kind in ("no", "negate") for token in tokens)
            start = end


LABEL_STEPS = tuple(step for step in TYPE_STEPS if step not in (statement, inference))
"""How one of a task's own labels is looked for: only a declared one is read."""


def question_of(labels: tuple[str, ...], prompts: Iterable[str] = ()) -> LabelReader:
    """Return the question that is answered by one of a task's own labels.

    A yes or a no, and the letters of options from A on, are read as what they are; other labels must be declared.

    Args:
        labels: The labels.
        prompts: The texts of the prompt, for `OwnLabels`.
    """
    yes_no = {fold(label): label for label in labels}
    if yes_no.keys() == {"yes", "no"}:
        return LabelReader(YesNo(yes_no["yes"], yes_no["no"], prompts), (*LABEL_STEPS, words_of_question))
    if labels == tuple(_LETTERS[: len(labels)]):
        return LabelReader(OptionVocabulary(("judgment", "options"), labels, yes=""), OPTION_STEPS)
    return OwnLabelReader(labels, prompts)


class OwnLabelReader(LabelReader):
    """A question that is answered by one of a task's own labels; the arguments are those of `OwnLabels`.

    Attributes:
        form: How a reply declares a label, for people.
    """

    def __init__(self, labels: tuple[str, ...], prompts: Iterable[str] = ()) -> None:
        vocabulary = OwnLabels(labels, prompts)
        super().__init__(vocabulary, LABEL_STEPS)
        self.form = vocabulary.form


def _cues(prompts: Iterable[str]) -> list[str]:
    cues = {match[1] or match[2] for prompt in prompts for match in _CUE.finditer(prompt)}
    return sorted(cues, key=lambda cue: (-len(cue), cue))


def _any_cue(cues: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(_word(_plain(cue)) for cue in cues) or "(?!)")


def _with_cues(tokens: list[Token], text: str, cue: re.Pattern[str]) -> list[Token]:
    cues = [Token("declare", "", *place.span()) for place in cue.finditer(text)]
    remaining = [token for token in tokens if all(token.end <= each.start or token.start >= each.end for each in cues)]
    return sorted([*remaining, *cues], key=lambda token: token.start) if cues else tokens


def _plain(text: str) -> str:
    return fold(" ".join(sentence.text for sentence in sentences(text)) or text)


def _word(label: str) -> str:
    """Return an expression for a label that is no part of a word, in scripts that have spaces between words."""
    before, after = ("(?!)" if SPACELESS_LETTER.match(end) else rf"[^\W{SPACELESS}]" for end in (label[0], label[-1]))
    return f"(?<!{before}){re.escape(label)}(?!{after})"
