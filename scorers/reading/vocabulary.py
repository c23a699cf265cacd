"""What the words of a reply mean for a question: the labels that they state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from halu_tasks.scorers.reading.clauses import Clause, judge, signs, stated
from halu_tasks.scorers.reading.lexicon import LANGUAGES, Lexicon, Token, lexicon
from halu_tasks.scorers.reading.reply import QUOTED, Sentence
from halu_tasks.scorers.reading.sentence import FILLERS, ParsedSentence
from halu_tasks.text.folding import fold

UNDECIDED = "undecided"
"""What is read of a slot that decides nothing ("partly true"), which no other part of the reply replaces."""
NO_VALUE = ("", UNDECIDED)
"""The labels of values that are none."""
_ANSWERS = ("yes", "no", "good", "bad", "label")
_ENDS = ("because", "bound", "turn", "comma", "stop")
_BESIDE = (",", ";", "¦", "/", "→")
# what ends a part of a sentence; behind dots or a dash, a part may take back what precedes it
_CUT, _SETS_OFF = re.compile(r"\.{2,}|[,:;!。—–]|\Z"), tuple(".—–")
_OF_DENIAL = {*FILLERS, "no", "negate", "good", "bad"}
_MOST_CUTS, _LONGEST_DENIAL = 20, 40
_WORD, _NO = re.compile(r"\w"), re.compile(r"\bno\b")
_AFTER_ANSWER_NO = re.compile(r"\s*'?(?:$|[^\w\s'])")
# how JSON and Python write a yes and a no
_AS_WORDS = {"True": "yes", "False": "no", "1": "yes", "0": "no"}
# a longer reply discusses the subject, so that only what it says of the text counts
_SHORT = 6


class LabelMatch(NamedTuple):
    """The label that a text begins with: the kind of its word, the label, and where it ends."""

    kind: str
    label: str
    end: int


class Vocabulary:
    """The words of a question about a text, whose labels say that it is right or that it is not.

    Args:
        names: The names of its lexicons.
        labels: The labels of a text that is right and of one that is not.
        yes: The label that "yes" stands for.

    Attributes:
        judges: Whether the question is about the correctness of a text, so that words of judgment are answers.
    """

    judges = True

    def __init__(self, names: Sequence[str], labels: tuple[str, ...], yes: str) -> None:
        self.names = names
        self.labels, self.yes = labels, yes

    @cached_property
    def lexicon(self) -> Lexicon:
        """The phrases of the languages and those of the question in each of them."""
        return lexicon(*LANGUAGES, *(f"{name}.{language}" for name in self.names for language in LANGUAGES))

    @cached_property
    def forms(self) -> dict[str, str]:
        """The labels by short replies: the label alone, or behind a marker of a verdict and a colon."""
        words = {label.lower(): label for label in self.labels}
        markers = {marker.rstrip(" :–=") for marker in self.lexicon.literal("declare", "")}
        after_marker = {f"{marker}: {word}": label for marker in markers for word, label in words.items()}
        return {**after_marker, **words}

    def prepare(self, text: str) -> str:
        """Replace what no lexicon can have by words of its own; here, nothing."""
        return text

    def scan(self, text: str) -> list[Token]:
        """Find the tokens of a folded sentence."""
        labels = ("", *self.labels)
        return [token for token in self.lexicon.scan(text) if token.kind != "label" or token.label in labels]

    @property
    def names_labels(self) -> bool:
        """Whether a reply may name labels, and not only judge."""
        return not self.lexicon.kinds.isdisjoint(("label", "clue"))

    def parse(self, text: str, sentence: Sentence | None = None) -> ParsedSentence:
        """Fold a sentence, in which tokens are found when they are needed."""
        folded = fold(self.prepare(text))
        if sentence is None:
            return ParsedSentence(folded, self.scan)
        return ParsedSentence(
            folded, self.scan, starts_line=sentence.starts_line, is_item=sentence.is_item, line=sentence.line
        )

    def as_words(self, member: object) -> str:
        """Return what a member of a JSON object says in words."""
        return _AS_WORDS.get(str(member), str(member))

    @cached_property
    def _takes_back(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, map(fold, self.lexicon.literal("retract", "back")))) or "(?!)")

    @cached_property
    def _may_begin_retraction(self) -> re.Pattern[str]:
        phrases = {fold(phrase) for kind in ("retract", "turn", "no") for phrase in self.lexicon.literal(kind)}
        return re.compile(rf"\W*(?:{'|'.join(map(re.escape, sorted(phrases)))})")

    def retraction(self, sentence: ParsedSentence) -> Token | None:
        """Return the words of a sentence that take something back; some do only at its beginning."""
        position = 0
        begins = self._may_begin_retraction.match(sentence.text)
        for token in self.lexicon.scan(sentence.text) if begins else ():  # only the first ones
            is_first = token.kind not in ("comma", "stop", "turn", "no")
            if _WORD.search(_NO.sub("", sentence.text[position : token.start if is_first else token.end])):
                break
            if token.kind == "retract":
                return token
            if is_first:
                break
            position = token.end
        if not self._takes_back.search(sentence.text):
            return None
        return next((token for token in sentence.tokens if (token.kind, token.label) == ("retract", "back")), None)

    def denial(self, sentence: ParsedSentence) -> tuple[int, int]:
        """Return where words begin and end that take back what precedes them and say nothing else ("B… no, D").

        They begin the sentence, or follow dots or a dash in it. If there are none, both places are 0.
        """
        start, may_deny, place = 0, True, (0, 0)
        for cut in islice(_CUT.finditer(sentence.text), _MOST_CUTS):
            is_title = cut[0] == ":" and not place[1]  # "Not factual: B"
            if may_deny and not is_title and self._denies(sentence.text[start : cut.start()]):
                place = place[0] if place[1] else start, cut.end()
            elif place[1]:
                break
            else:
                may_deny = cut[0][:1] in _SETS_OFF
            start = cut.end()
        return place

    def _denies(self, text: str) -> bool:
        """Return whether a text says no and nothing else, or calls a label wrong if words of judgment are none."""
        if not 0 < len(text.strip()) <= _LONGEST_DENIAL or QUOTED.strip() in text:
            return False
        position, kinds = 0, list[str]()
        for token in self.lexicon.scan(text):
            if _WORD.search(text, position, token.start) or token.label == "count":
                return False
            position = token.end
            kinds.append(token.kind)
        of_denial = _OF_DENIAL if self.names_labels else _OF_DENIAL - {"good", "bad"}
        if _WORD.search(text, position) or not {*kinds} <= of_denial:
            return False
        denies = sum(kind in ("no", "negate") for kind in kinds) % 2 == 1
        return "retract" in kinds or (denies if "bad" not in kinds else not denies)

    def sign(self, sentence: ParsedSentence, token: Token) -> bool | None:
        """Return whether a yes, a no, or a sign affirms; None if the token is none of them."""
        if not sentence.text[token.start].isalnum() and token.kind in ("good", "bad"):
            return token.kind == "good"
        if token.kind in ("yes", "no") and (token.label == "after" or self.is_answer_no(sentence, token)):
            return token.kind == "yes"
        return None

    def value(self, sentence: ParsedSentence, start: int = 0) -> LabelMatch | None:
        """Return what the slot at `start` of a sentence says: the label that it begins with, if that stands alone.

        Every step asks here what a slot says. Beside another label, it is undecided ("True, False"); it has none if an
        "or" joins them, or an "if" follows.

        Returns:
            The value; None if the sentence begins with something else there.
        """
        value = self._match_label(sentence, start)
        if value is None or value.label in NO_VALUE:
            return value
        end, label = value.end, UNDECIDED
        for token in sentence.tokens_after(value.end):
            text = sentence.text[token.start : token.end]
            if _WORD.search(sentence.text, end, token.start):
                break
            if token.kind in _ANSWERS and token.label != "after" and text[0].isalnum():
                other = self._match_label(sentence, token.start)
                differs = other and other.label not in (*NO_VALUE, value.label)
                return value._replace(kind="several", label=label) if differs else value
            if token.kind == "either":
                label = ""
            elif text not in _BESIDE:
                return value._replace(label="") if token.kind in ("suppose", "ask") else value
            end = token.end
        return value

    def _match_label(self, sentence: ParsedSentence, start: int = 0) -> LabelMatch | None:
        if sentence.says_nothing(start):
            return None
        negated = partly = False
        fallback: LabelMatch | None = None
        position = start
        for token in sentence.tokens_after(start):
            if _WORD.search(sentence.text[position : token.start]):
                return fallback
            position = token.end
            if token.kind == "turn":
                negated = False
            if token.kind == "copula":
                if not sentence.has_content(token.end):
                    return LabelMatch("yes", self.yes_or_other(negated), token.end)
            elif token.kind in FILLERS or (token.kind == "part" and start):
                continue
            elif token.kind in ("no", "negate", "cannot"):
                if token.kind == "no" and not negated and self.is_answer_no(sentence, token):
                    judged = self._match_label(sentence, token.end)
                    return (
                        judged
                        if judged and judged.kind in ("good", "bad")
                        else LabelMatch("no", self.no(token), token.end)
                    )
                negated = True if token.label == "nor" else not negated
            elif token.kind == "partly":
                partly = True
            elif token.kind == "yes" and token.label == "surely":
                fallback = LabelMatch("surely", self.yes, token.end)
            elif token.kind in _ANSWERS:
                faults = (t for t in sentence.tokens_after(token.end) if t.kind == "bad" and t.start <= token.end + 1)
                if token.kind == "good" and any(faults):
                    return None  # "a factual error"
                if token.kind == "yes" and self.yes != "Yes" and sentence.has_content(token.end):
                    fallback = None
                    continue
                value = self._label_match(token, negated != self._is_negated_after(sentence, token), partly)
                if token.kind in ("good", "bad") and self._is_mixed(sentence, token):
                    return value._replace(label=UNDECIDED)
                if value.label == UNDECIDED and sentence.has_content(value.end):
                    return value._replace(label="")  # "partly true, but with an error"
                return value
            else:
                return LabelMatch("decline", UNDECIDED, token.end) if token.kind == "decline" else fallback
        return fallback

    def no(self, token: Token) -> str:
        """Return the label of a no; a "none" is not decided where the question is whether a text is right."""
        is_count = token.label == "count" and self.judges and self.yes == self.labels[0]
        return UNDECIDED if is_count else self.other(self.yes)

    def whole_value(self, sentence: ParsedSentence, start: int = 0) -> LabelMatch | None:
        """Return the label that the rest of a sentence is."""
        value = self.value(sentence, start)
        return value if value and value.label not in NO_VALUE and not sentence.has_content(value.end) else None

    def _is_negated_after(self, sentence: ParsedSentence, label: Token) -> bool:
        """Return whether a negator behind a label, in the same clause, turns it."""
        for token in sentence.tokens_after(label.end):
            if token.kind in (*_ENDS, "conclude"):
                return False
            if token.kind == "no" and token.label == "after":
                return True
        return False

    def _is_mixed(self, sentence: ParsedSentence, token: Token) -> bool:
        """Return whether a sentence turns to the opposite ("mostly correct, but contains errors")."""
        turns = [clause for clause in sentence.clauses if clause.opener == "turn" and clause.start > token.end]
        words = {label.casefold() for label in self.labels} if turns else set()
        good, is_label = token.kind == "good", sentence.text[token.start : token.end] in words
        opposites = [opposite for clause in stated(turns) for says, opposite in signs(clause) if says != good]
        return any(not is_label or sentence.text[opposite.start : opposite.end] in words for opposite in opposites)

    def _label_match(self, token: Token, negated: bool, partly: bool) -> LabelMatch:
        if token.kind == "yes":
            return LabelMatch("yes", self.yes_or_other(negated), token.end)
        if token.kind == "good" and partly:
            return LabelMatch(token.kind, UNDECIDED, token.end)
        return LabelMatch(token.kind, self.label_of_polarity((token.kind == "good") != negated), token.end)

    def is_answer_no(self, sentence: ParsedSentence, token: Token) -> bool:
        """Return whether "no" is an answer: it is the last word, or before a mark or another clause."""
        if (
            token.label == "apart"
            or not sentence.text[token.start].isalnum()
            or _AFTER_ANSWER_NO.match(sentence.text, token.end)
        ):
            return True
        follows = next(sentence.tokens_after(token.end), None)
        return follows is not None and follows.start <= token.end + 1 and follows.kind in ("because", "bound")

    def other(self, label: str) -> str:
        """Return the label of a text that does not have this one; empty if it is empty."""
        if not label:
            return ""
        return self.labels[1] if label == self.labels[0] else self.labels[0]

    def yes_or_other(self, negated: bool) -> str:
        """Return the label of a yes, or of a no."""
        return self.other(self.yes) if negated else self.yes

    def label_of_polarity(self, good: bool) -> str:
        """Return the label of a text that is right, or that is not."""
        return self.labels[0 if good else 1]

    def ends_clause(self, sentence: ParsedSentence, value: LabelMatch) -> bool:
        """Return whether nothing else is said of the text in the clause of a label."""
        return sentence.kind_after(value.end) in _ENDS or not sentence.has_content(value.end)

    def label_of_clauses(self, clauses: list[Clause]) -> str | None:
        """Return the label of what the clauses state; None if they state nothing, empty if it decides nothing."""
        statement = judge(clauses)
        return None if statement is None else self.label_of_polarity(statement.good)

    def is_answer_at_start(self, sentence: ParsedSentence, value: LabelMatch) -> bool:
        """Return whether a label at the beginning of a sentence stands for itself."""
        goes_on = sentence.text.endswith(";") or any(token.kind in ("turn", "except") for token in sentence.tokens)
        if value.kind in ("good", "bad") and goes_on:
            return False
        follows = sentence.kind_after(value.end)
        if follows and sentence.text[next(sentence.tokens_after(value.end)).start] == "?":
            return False
        ends = (*_ENDS, "whole") if value.kind in ("yes", "no") else _ENDS
        return follows in ends or bool(re.match(r"\s*[.!(;]", sentence.text[value.end :]))

    def infer(self, sentences: list[ParsedSentence]) -> str | None:
        """Return the label that follows from what the sentences state of the judged text; None if they differ."""
        statements: list[tuple[str, bool]] = []
        opens = False
        for number, sentence in enumerate(sentences):
            if (
                number
                and sentences[number - 1].asks
                and (label := self.label_of_own_question(sentences[number - 1], sentence))
            ):
                statements.append((label, False))
                continue
            is_cue = sentence.text.endswith(":") and any(token.kind == "ask" for token in sentence.tokens)
            statement = None if is_cue else judge(sentence.clauses)
            if statement is None or (statement.good and sentence.is_item and not statement.concludes):
                continue
            at_end = number < 2 or number >= len(sentences) - 2 or statement.concludes
            names_text = any(token.kind == "whole" and token.label for token in sentence.tokens)
            if len(sentences) <= _SHORT or (at_end and names_text):
                opens = opens or (number == 0 and names_text)
                statements.append((self.label_of_polarity(statement.good), statement.concludes))
        conclusions = [label for label, concludes in statements if concludes]
        if conclusions:
            return conclusions[-1]
        is_one = len({label for label, _ in statements}) == 1
        return statements[0][0] if is_one or (opens and len(sentences) > _SHORT) else None

    def label_of_own_question(self, question: ParsedSentence, answer: ParsedSentence) -> str | None:
        """Return the label of the answer to a question that the reply itself asks ("Is it faithful? Not quite.")."""
        value = self.value(answer)
        polar = next((token for token in question.tokens if token.kind in ("good", "bad")), None)
        if polar is None or value is None or value.kind not in ("yes", "no", "surely"):
            return None
        negators = sum(token.kind == "negate" and token.end <= polar.start for token in question.tokens)
        good = (polar.kind == "good") == (negators % 2 == 0)
        return self.label_of_polarity(good == (value.kind != "no"))
