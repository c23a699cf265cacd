"""Read which of several options a reply takes."""

from __future__ import annotations

import re

from halu_tasks.scorers.reading.clauses import ASIDES, Clause, signs, stated
from halu_tasks.scorers.reading.lexicon import Token
from halu_tasks.scorers.reading.question import UNDECIDED, Question, Read, Value

# "A" before a word in lower case is an article, unless the word is one of these
_VERBS = (
    "is was has had are and or but because since as contains gets says states claims seems looks over vs wins to for in it "
    "on being correctly wrongly incorrectly does doesn't isn't makes matches would should must can the which with describes "
    "mentions gives then here by holds names dates puts trips misstates more from than itself alone only better fits not also "
    "correct rather instead while though although provides explains appears beats at incorrect wrong factual false true less "
    "wasn't won't cannot can't could might may sounds agrees conflicts contradicts mixes confuses lists uses gave did didn't "
)
_LETTER = re.compile(
    rf"(?<![A-Za-z'’\-])(?:(?<=\()|(?<=\b)|(?<![A-Za-z]))([A-D])(?![A-Za-z'’])(?! (?!(?:{'|'.join(_VERBS.split())})\b)[a-z])"
    r"|(?<=\banswer )([A-Da-d])\b|(?<=\boption )([A-Da-d])\b|(?<=\bAnswer )([A-Da-d])\b|(?<=\bOption )([A-Da-d])\b"
)
_ALONE = re.compile(r"\W*([a-dA-D])\W*")


class OptionQuestion(Question):
    """A question whose labels are the letters of options, which a reply takes, rates or rules out."""

    def prepare(self, text: str) -> str:
        """Return a sentence in which letters of options are words of their own ("zqa")."""
        if alone := _ALONE.fullmatch(text):
            return f"zq{alone[1].lower()}"
        return _LETTER.sub(lambda match: f" zq{next(filter(None, match.groups())).lower()} ", text)

    def value(self, read: Read, start: int = 0) -> Value | None:
        """Return the option that a sentence begins with at `start`, or rules all others out for."""
        negated, position = False, start
        for token in read.tokens:
            if token.start < start:
                continue
            if re.search(r"\w", read.text[position : token.start]):
                return None
            position = token.end
            if token.kind == "label" and token.label in self.labels:
                return self._of_option(read, token, negated)
            if token.kind in ("negate", "no", "cannot", "bad", "than", "worse"):
                negated = not negated
            elif token.kind == "both" or token.kind == "decline":
                return Value("label", UNDECIDED, token.end)
            elif token.kind in ("ask", "hedge", "suppose", "because", "label"):
                return None
        return None

    def _of_option(self, read: Read, token: Token, negated: bool) -> Value | None:
        behind = [other for other in read.tokens if other.start >= token.end]
        if behind and behind[0].start <= token.end + 3 and behind[0].kind in ("either", "comma", "both") and any(
            other.kind == "label" and other.label != token.label for other in behind[1:3]
        ):
            return Value("label", "", token.end)
        if behind and behind[0].kind == "suppose":
            return Value("label", "", token.end)
        for clause in read.clauses:
            if clause.start <= token.start < clause.end:
                rated = self._ratings(clause, token.label)
                wrong = {label for label, kind in rated if kind == "wrong"}
                negated = negated or token.label in wrong
        label = self._only(set(self.labels) - {token.label}) if negated else token.label
        return Value("label", label or "", token.end)

    def _only(self, labels: set[str]) -> str | None:
        return next(iter(labels)) if len(labels) == 1 else None

    def judged(self, found: list[Clause]) -> str | None:
        """Return the option that the clauses take."""
        return self._decide([rating for clause in stated(found) for rating in self._ratings(clause, "")])

    def infer(self, found: list[Read]) -> str | None:
        """Return the option taken last, or rated right alone, or left when the others are ruled out."""
        ratings: list[tuple[str, str]] = []
        subject = ""
        for read in found:
            clauses = stated(read.clauses)
            for clause in clauses:
                ratings += self._ratings(clause, subject)
            named = [token.label for token in read.tokens if token.kind == "label"]
            subject = named[-1] if named else subject
        return self._decide(ratings)

    def _decide(self, ratings: list[tuple[str, str]]) -> str | None:
        picks = [label for label, kind in ratings if kind == "pick"]
        if picks:
            return picks[-1]
        right = {label for label, kind in ratings if kind == "right"}
        wrong = {label for label, kind in ratings if kind == "wrong"}
        return self._only(right) or self._only(right - wrong) or (self._only(set(self.labels) - wrong) if wrong else None)

    def _ratings(self, clause: Clause, subject: str) -> list[tuple[str, str]]:
        """Return the options that a clause rates, each with `pick`, `right` or `wrong`."""
        tokens = clause.tokens
        labels = [(token.start, token.label) for token in tokens if token.kind == "label" and token.label in self.labels]
        if not labels and not (subject and clause.has("whole", "good", "bad")):
            return []
        found: list[tuple[str, str]] = []
        than = next((t.start for t in tokens if t.kind == "than" and any(start < t.start for start, _ in labels)), None)
        judged = [(token.start, "right" if good else "wrong") for good, token in signs(clause)]
        negated = False
        for token in tokens:
            if token.kind in ("negate", "no", "cannot"):
                negated = not negated
            elif token.kind in ("better", "worse"):
                judged.append((token.start, "pick" if (token.kind == "better") != negated else "wrong"))
            elif token.kind == "pick":
                label = next((label for start, label in labels if start >= token.end), None)
                if label:
                    found.append((label, "wrong" if negated else "pick"))
        if clause.has("both") and len(labels) != 1:
            return []
        for place, kind in judged:
            near = [label for start, label in labels if start < place and (than is None or start < than)]
            behind = [label for start, label in labels if start > place and (than is None or start < than)]
            label = near[-1] if near else behind[0] if behind else subject
            if label in self.labels:
                found.append((label, kind))
        denied = {label for label, kind in found if kind == "wrong"}
        return [(label, kind) for label, kind in found if kind == "wrong" or label not in denied]
