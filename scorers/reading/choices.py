"""Read which of several options a reply takes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from halu_tasks.scorers.reading.clauses import Clause, signs, stated, which_state, words_between
from halu_tasks.scorers.reading.lexicon import Token, phrases
from halu_tasks.scorers.reading.sentence import FILLERS, ParsedSentence
from halu_tasks.scorers.reading.steps import STEPS, ReplyPart, StepResult, bare_line
from halu_tasks.scorers.reading.vocabulary import UNDECIDED, LabelMatch, Vocabulary
from halu_tasks.text.folding import normalise

_LETTERS = phrases("letters")
_BEHIND = "|".join(map(re.escape, (*_LETTERS["behind"], *_LETTERS["repeats"])))
# a letter that is not an article; in small letters, behind "answer" or alone behind a colon
_LETTER = (
    r"(?<![A-Za-z\-])([{0}])(?![A-Za-z]|['’][a-z])(?! (?:more|less|better) (?!\w+ly\b)\w+ (?!than\b)[a-z])"
    rf"(?! (?!(?:{_BEHIND})\b)[a-z])"
    r"|(?<=\b[Aa]nswer )([{0}{1}])\b|(?<=\b[Oo]ption )([{0}{1}])\b"
    r"|(?<=[:：] )([{1}])(?=\W*\Z)|(?<=\bis )([{2}])(?=\W*\Z)"
    r"|(?<=\b[{0}] and )([{0}])\b|(?<=\b[{0}] nor )([{0}])\b|(?<=\b[{0}] or )([{0}])\b"
)
_NAMED = re.compile(r"\bzq([a-z])\b")
_ORDINALS = ("first", "second", "former", "latter", "third", "fourth", "1st", "2nd")
_NEGATORS = ("no", "negate", "cannot")
_REPEATS = (*_NEGATORS, "yes", "question")
_PART_ENDS = ("comma", "stop", "turn", "either", "because", "bound", "conclude")
_PRAISE = {*FILLERS, "good", "better"} - {"bound", "turn", "stop", "conclude", "comma"}
_WORD = re.compile(r"\w")
_OPTION = re.compile(r"(?m)^[\s(]*([A-Z])[.):：、]\s*(\S.*)$")
# "A is wrong, while B is right" concedes nothing
_CONTRAST = re.compile(r"\b(?:while|whereas)\s*$")

Places = list[tuple[int, str]]
"""Options, or how they are rated, each behind its place in the sentence."""


class OptionVocabulary(Vocabulary):
    """The words of a question whose labels are the letters of options, which a reply takes, rates or rules out."""

    @cached_property
    def _letters(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        upper = "".join(self.labels)
        letter = _LETTER.replace("{0}", upper).replace("{1}", upper.lower())
        letter = letter.replace("{2}", upper.lower().replace("a", ""))  # "the answer is a" may break off
        return re.compile(rf"\W*([{upper}{upper.lower()}])\W*"), re.compile(letter)

    def prepare(self, text: str) -> str:
        """Return a sentence in which letters of options are words of their own ("zqa")."""
        only, letter = self._letters
        text = _NAMED.sub(" ", text)
        if letter_alone := only.fullmatch(text):
            return f"{text[: letter_alone.start(1)]} zq{letter_alone[1].lower()} {text[letter_alone.end(1) :]}"
        return letter.sub(lambda match: f" zq{next(filter(None, match.groups())).lower()} ", text)

    def scan(self, text: str) -> list[Token]:
        """Find the tokens of a folded sentence."""
        letters = [Token("label", letter[1].upper(), *letter.span()) for letter in _NAMED.finditer(text)]
        tokens = super().scan(text)
        tokens = sorted([*tokens, *letters], key=lambda token: token.start) if letters else tokens
        sentence = ParsedSentence(text, lambda text: tokens)
        return [token for token in tokens if token.kind != "label" or not self._is_ordinal(sentence, token)]

    def _is_ordinal(self, sentence: ParsedSentence, label: Token) -> bool:
        """Return whether "first" is no option: beside letters, before a noun ("the first step"), or "First, we …"."""
        if sentence.text[label.start : label.end].removeprefix("the ") not in _ORDINALS:
            return False
        if not label.start and sentence.text[label.end : label.end + 1] == ",":
            return sentence.kind_after(label.end + 1) != "because"
        is_noun = sentence.text[label.end + 1 : label.end + 2].isalpha() and sentence.kind_after(label.end) in (
            "",
            "part",
        )
        return "zq" in sentence.text or is_noun

    def _match_label(self, sentence: ParsedSentence, start: int = 0) -> LabelMatch | None:
        if sentence.says_nothing(start):
            return None
        negated, position = False, start
        for token in sentence.tokens_after(start):
            if re.search(r"\w", sentence.text[position : token.start]):
                return None
            position = token.end
            if token.kind == "label" and token.label in self.labels:
                return self._with_praise(sentence, self._of_option(sentence, token, negated))
            if token.kind == "no" and self.is_answer_no(sentence, token):
                continue
            if token.kind in ("bad", "worse", "negate", "no", "cannot", "than"):
                negated = not negated  # "no errors in A"
            elif token.kind in ("both", "decline"):
                named = [other.kind for other in sentence.tokens_after(token.end) if other.kind in ("label", "either")]
                together = not named or named[:3] in (["label", "either", "label"], ["label", "label"])
                return LabelMatch("decline", UNDECIDED, token.end) if together else None
            elif token.kind in ("ask", "hedge", "suppose", "concede", "because", "label"):
                return None
        return None

    def _of_option(self, sentence: ParsedSentence, token: Token, negated: bool) -> LabelMatch:
        before_reason = itertools.takewhile(lambda other: other.kind != "because", sentence.tokens_after(token.end))
        behind = list(itertools.islice(before_reason, 8))
        if sentence.text[: token.start].rstrip().endswith("("):  # "(A), (B)"
            behind = [other for other in behind if sentence.text[other.start] not in "()"]
        behind = behind[:3]
        follows = behind[0].kind if behind and behind[0].start <= token.end + 3 else ""
        if part := _repeating_part(sentence, token):
            holds = self._holds_again(sentence, token, part)
            if holds is not None or not negated:  # "B is."
                left = token.label if holds else "" if holds is None else self._sole(set(self.labels) - {token.label})
                return LabelMatch("label", left or "", part[1])
        names_other = any(other.kind == "label" and other.label != token.label for other in behind)
        if behind[1:] and sentence.text[behind[0].start] in "<>=":
            # "[[B>A]]"
            rated = {">": token.label, "<": behind[1].label}
            return LabelMatch("label", rated.get(sentence.text[behind[0].start], UNDECIDED), behind[1].end)
        if names_other and follows in ("either", "comma", "both", "label"):
            is_list = follows == "comma" and behind[1].kind == "label"
            is_list = is_list and (not sentence.has_content(behind[1].end) or _joins(behind[2:3]))
            is_listed = follows != "comma" or is_list
            # "A, B is wrong", "A, not B"
            counts_alone = follows == "comma" and behind[1].kind in ("label", "no", "negate") and not negated
            if is_listed:
                return LabelMatch("several", UNDECIDED, token.end)
            return LabelMatch("label", token.label if counts_alone else "", token.end)
        if negated:
            return LabelMatch("label", self._sole(set(self.labels) - {token.label}) or "", token.end)
        is_wrong = follows == "stop" and len(behind) > 1 and behind[1].kind == "bad"  # "A: incorrect"
        for clause in sentence.clauses:
            if clause.start <= token.start < clause.end:
                later = [other.start for other in clause.tokens if other.kind == "label" and other.start > token.start]
                until = min(later, default=clause.end)
                is_wrong = is_wrong or any(not good for good, sign in signs(clause) if token.start < sign.start < until)
        # the other one can be wrong too: it is inferred, or not
        return LabelMatch("label", "" if is_wrong else token.label, token.end)

    def _holds_again(
        self, sentence: ParsedSentence, label: Token, part: tuple[int, int], above: Sequence[Token] = ()
    ) -> bool | None:
        inside = [token for token in sentence.tokens_after(part[0]) if token.end <= part[1]]
        before = [token for token in sentence.tokens if token.end <= part[0]]
        return _repeated([*above, *before], label, sum(token.kind in _NEGATORS for token in inside))

    def _sole(self, labels: set[str]) -> str | None:
        return next(iter(labels)) if len(labels) == 1 else None

    def label_of_clauses(self, clauses: list[Clause]) -> str | None:
        """Return the option that the clauses take; an empty label if they leave others than those they call wrong."""
        contrasts = [clause for clause in clauses[1:] if _CONTRAST.search(clause.text, 0, clause.start)]
        ratings = [rating for clause in [*stated(clauses), *contrasts] for rating in self._ratings(clause, "")]
        wrong = {label for label, kind in ratings if kind == "wrong"}
        return self._decide(ratings) or ("" if 0 < len(wrong) < len(self.labels) else None)

    def _with_praise(self, sentence: ParsedSentence, option: LabelMatch) -> LabelMatch:
        value, end = option, option.end
        for token in sentence.tokens_after(end):
            if token.kind not in _PRAISE or _WORD.search(sentence.text, end, token.start):
                break
            end = token.end
            if token.kind in ("good", "better"):
                value = value._replace(end=end)
        compares = sentence.kind_after(value.end) in ("label", "than")  # "B beats A"
        return option if compares else value

    def is_answer_at_start(self, sentence: ParsedSentence, value: LabelMatch) -> bool:
        """Return whether an option at the beginning of a sentence is taken, not in a table."""
        return "¦" not in sentence.text and super().is_answer_at_start(sentence, value)

    def infer(self, sentences: list[ParsedSentence]) -> str | None:
        """Return the option taken last, or rated right alone, or left when the others are ruled out.

        What follows the last marker of a verdict counts alone, if it rates any.
        """
        markers = [
            n
            for n, sentence in enumerate(sentences)
            if any(t.kind == "declare" and not t.label for t in sentence.tokens)
        ]
        ratings = self._rate(sentences[markers[-1] :]) if markers else []
        if all(kind == "wrong" for _, kind in ratings):
            ratings = self._rate(sentences)
        if not ratings and len(sentences) == 1:
            clauses = (clause for clause in stated(sentences[0].clauses) if clause.opener != "because")
            tokens = (token for clause in clauses for token in clause.tokens if token.kind == "label")
            named = [token.label for token in tokens if not _repeating_part(sentences[0], token)]
            return self._sole(set(self.labels) & set(named))
        wrong = {label for label, kind in ratings if kind == "wrong"}
        label = self._decide(ratings)
        is_open = wrong and not any(kind == "pick" or (label in wrong and kind != "wrong") for label, kind in ratings)
        return label or (self._sole(set(self.labels) - wrong) if is_open else None)

    def _rate(self, sentences: list[ParsedSentence]) -> list[tuple[str, str]]:
        ratings: list[tuple[str, str]] = []
        subject = ""
        for number, sentence in enumerate(sentences):
            if sentence.text.count("¦") > 1 and not any(token.kind == "label" for token in sentence.tokens):
                continue  # a row of a table says which by its column
            label = next((token for token in sentence.tokens if token.kind == "label"), None)
            part = _repeating_part(sentence, label) if label and number else None
            if label and part == (0, len(sentence.text)):
                holds = self._holds_again(sentence, label, part, sentences[number - 1].tokens)
                ratings += [] if holds is None else [(label.label, "right" if holds else "wrong")]
                continue
            flags = which_state(sentence.clauses)
            statements = [*itertools.compress(sentence.clauses, flags)]
            concludes = any(clause.opener == "conclude" or clause.has("conclude") for clause in statements)
            heading, here, rated_labels = "", False, {label for label, _ in ratings}
            ties = (concludes or number in (0, len(sentences) - 1)) and any(map(self._is_tie, statements))
            if ties:
                ratings.append(("", "pick"))
            for clause, states in zip(sentence.clauses, flags, strict=True):
                named = [token.label for token in clause.tokens if token.kind == "label"]
                if states:
                    rated = self._ratings(clause, subject, here=here)
                    rated = [(label, kind) for label, kind in rated if named or here or label not in rated_labels]
                    if not rated and heading and clause.opener == "stop":
                        rated = [(label, heading) for label in named]
                    if clause.opener == "because":  # a reason rules out, and takes nothing
                        rated = [(label, kind) for label, kind in rated if kind == "wrong"]
                    takes = concludes or (ties and clause.opener == "turn")
                    ratings += [(label, "pick" if takes and kind == "right" else kind) for label, kind in rated]
                goods = {good for good, _ in signs(clause)}
                heading = "" if named or len(goods) != 1 else "right" if goods == {True} else "wrong"
                if named or clause.has("both"):
                    subject = named[-1] if len(set(named)) == 1 else ""
                    here = bool(subject)
        return ratings

    def _decide(self, ratings: list[tuple[str, str]]) -> str | None:
        picks = [label for label, kind in ratings if kind == "pick"]
        if picks:
            return picks[-1]
        right, wrong = ({label for label, kind in ratings if kind == which} for which in ("right", "wrong"))
        return self._sole(right - wrong)

    def _named(self, clause: Clause) -> list[tuple[int, str]]:
        """Return the options that a clause names, each with its place; none if it names all of them together."""
        named = [token for token in clause.tokens if token.kind == "label" and token.label in self.labels]
        together: set[int] = set()
        for token, following in itertools.pairwise(named):
            between = {t.kind for t in clause.tokens if token.end <= t.start < following.start}
            joins = {"either"} <= between <= {"either", "filler", "both", "comma"}
            if joins and not _WORD.search(words_between(clause, token.end, following.start)):
                together |= {token.start, following.start}
        if {token.label for token in named if token.start in together} != set(self.labels):
            together = set()
        return [(token.start, token.label) for token in named if token.start not in together]

    def _is_tie(self, clause: Clause) -> bool:
        """Return whether a clause says the same of several options."""
        names_some = any(token.kind == "label" for token in clause.tokens) and not self._named(clause)
        return sum((clause.has("both"), names_some, clause.has("good", "bad", "better"))) > 1

    def _ratings(self, clause: Clause, subject: str, *, here: bool = False) -> list[tuple[str, str]]:
        """Return the options that a clause rates, each with `pick`, `right` or `wrong`.

        Args:
            clause: The clause.
            subject: The option that was named last, which the clause may be about.
            here: Whether it was named in the same sentence.
        """
        options = self._named(clause)
        if (clause.has("both") and len(options) != 1) or (not options and (not subject or clause.has("label"))):
            return []
        places = [(token.start, "right" if good else "wrong") for good, token in signs(clause)]
        is_whole = not places or clause.has("whole")
        if not (options or is_whole) and _WORD.search(words_between(clause, clause.start, places[0][0])):
            return []  # something else is right or wrong
        negated = _negated(clause)
        ratings = list(_taken(clause, options, places, negated))
        for token in clause.tokens:
            if token.kind in ("better", "worse") and (options or here):
                prefers = (token.kind == "better") != (token.start in negated)
                places.append((token.start, "pick" if prefers else "wrong"))
        than = next((t.start for t in clause.tokens if t.kind == "than" and options and options[0][0] < t.start), None)
        compared = [option for option in options if than is None or option[0] < than]
        compares = than is not None and (clause.has("other") or compared != options)
        if compares and not places and not ratings:
            ratings.append((compared[-1][1], "pick"))
        ratings += self._rated(clause, compared, sorted(places), subject)
        first: dict[str, str] = {}
        for label, kind in ratings:
            first.setdefault(label, kind)
        return list(first.items())

    def _rated(self, clause: Clause, options: Places, rating_places: Places, subject: str) -> Iterator[tuple[str, str]]:
        """Yield the options that the words of a clause rate: those before a word, or else those behind it."""
        last_option = options[-1][0] if options else -1
        another = next((token.start for token in clause.tokens if token.kind == "other"), None)
        picks = [token.start for token in clause.tokens if token.kind == "pick"]
        starts = [place for place, _ in rating_places]
        for number, (place, kind) in enumerate(rating_places):
            begin = starts[number - 1] if number else -1
            until = min([start for start in picks if start > place] + starts[number + 1 :], default=len(clause.text))
            behind = [label for start, label in options if place < start < until]
            if len(rating_places) == len(options) > 1:
                labels = [options[number][1]]
            else:
                labels = [label for start, label in options if begin < start < place]
            if not labels and not behind:
                labels = [label for start, label in options if start < place][-1:]
            if not labels:
                labels = [subject] if subject and (clause.opener in ("stop", "turn") or not behind) else behind
            if another is not None and last_option < another < place:
                labels = [label for label in self.labels if label not in labels] if labels else []
            yield from ((label, kind) for label in labels if label in self.labels)


# --- steps ----------------------------------------------------------------------------------------


def option_text(part: ReplyPart) -> StepResult | None:
    """The text of one option and nothing else, as the prompt has it behind a letter."""
    reply = normalise(part.reply.plain)
    letters = [letter for letter, text in _OPTION.findall(part.reply.prompt) if reply and normalise(text) == reply]
    return StepResult(letters[0], None) if len(letters) == 1 and letters[0] in part.vocabulary.labels else None


_PLACED = STEPS.index(bare_line)
OPTION_STEPS = (*STEPS[:_PLACED], option_text, *STEPS[_PLACED:])
"""How an option is looked for, in order."""


def _repeating_part(sentence: ParsedSentence, label: Token) -> tuple[int, int] | None:
    """Return the part of a sentence that says nothing of an option but that it is, or is not, as was said of another.

    Such as the last one of "A isn't wrong, B is" or "the error is in A, not in B"; None if the part says more.
    """
    ends = [token for token in sentence.tokens if token.kind in _PART_ENDS]
    start = max((token.end for token in ends if token.end <= label.start), default=0)
    end = min((token.start for token in ends if token.start >= label.end), default=len(sentence.text))
    position, repeats = start, False
    for token in itertools.takewhile(lambda token: token.start < end, sentence.tokens_after(start)):
        is_verb = token.kind in _REPEATS or sentence.text[token.start : token.end] in _LETTERS["repeats"]
        if _WORD.search(sentence.text, position, token.start) or not (is_verb or token.kind in {*FILLERS, "label"}):
            return None
        position = token.end
        repeats = repeats or token.kind in _NEGATORS or (is_verb and token.start > label.start)
    return (start, end) if repeats and not _WORD.search(sentence.text, position, end) else None


def _repeated(before: Sequence[Token], label: Token, negators: int) -> bool | None:
    """Return whether a part that says again what is said of another option calls its own right; None if it cannot.

    Args:
        before: The tokens before the part.
        label: Its option.
        negators: The number of negators in it.
    """
    other = next((at for at in range(len(before) - 1, -1, -1) if before[at].kind == "label"), None)
    if other is None or before[other].label == label.label:
        return None
    begins = next((at + 1 for at in range(other, -1, -1) if before[at].kind in _PART_ENDS), 0)
    kinds = {token.kind for token in before[begins:]}
    if kinds.isdisjoint(("good", "better", "pick", "bad", "worse")):
        return None
    return kinds.isdisjoint(("bad", "worse")) == (negators % 2 == 0)


def _joins(tokens: Iterable[Token]) -> bool:
    return any(token.kind in ("comma", "either", "both") for token in tokens)


def _negated(clause: Clause) -> set[int]:
    """Return the places of the words behind an odd number of negators and no option."""
    places, negated = set[int](), False
    for token in clause.tokens:
        if token.kind in ("negate", "no", "cannot"):
            negated = not negated
        elif token.kind == "label":
            negated = False
        elif negated:
            places.add(token.start)
    return places


def _taken(clause: Clause, options: Places, rating_places: Places, negated: set[int]) -> Iterator[tuple[str, str]]:
    """Yield the options that words such as "choose" take, and those that they do not take as `wrong`."""
    for token in clause.tokens:
        if token.kind != "pick":
            continue
        place, label = next(((start, label) for start, label in options if start >= token.end), (-1, ""))
        if not label and options and token.label != "before":
            yield options[-1][1], "wrong" if token.start in negated else "pick"
        # not "the only error is in A"
        elif label and token.label == "before" and any(start > place for start, _ in rating_places):
            continue  # "only B is wrong"
        elif label and not any(token.end <= start < place for start, _ in rating_places):
            denied = any(t.kind in ("negate", "no") and token.end <= t.start < place for t in clause.tokens)
            yield label, "wrong" if (token.start in negated) != denied else "pick"
