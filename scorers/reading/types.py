"""Read which of several types of errors a reply names."""

from __future__ import annotations

from collections.abc import Iterator

from halu_tasks.scorers.reading.clauses import Clause, stated
from halu_tasks.scorers.reading.lexicon import Token
from halu_tasks.scorers.reading.sentence import ParsedSentence
from halu_tasks.scorers.reading.steps import STEPS, last_word
from halu_tasks.scorers.reading.vocabulary import LabelMatch, Vocabulary

TYPE_STEPS = tuple(step for step in STEPS if step is not last_word)
"""How a type is looked for, in order."""


class TypeVocabulary(Vocabulary):
    """The words of a question whose labels are types that a lexicon names (`label`), or tells by a word (`clue`)."""

    def _label_match(self, token: Token, negated: bool, partly: bool) -> LabelMatch:
        return LabelMatch("label", "" if negated else token.label, token.end)

    def other(self, label: str) -> str:
        """Return the last label, which "no" and "0" stand for."""
        return self.labels[-1]

    def label_of_clauses(self, clauses: list[Clause]) -> str | None:
        """Return the type that the clauses name, if it is one alone."""
        labels = {label for clause in stated(clauses) for label, holds, _ in self._types(clause) if holds}
        return labels.pop() if len(labels) == 1 else None

    def infer(self, sentences: list[ParsedSentence]) -> str | None:
        """Return the type that all sentences name; else the one that clues speak for, that is left, or mentioned."""
        named, mentioned, denied, hinted = set[str](), set[str](), set[str](), set[str]()
        for sentence in sentences:
            clauses = stated(sentence.clauses)
            types = [named_type for clause in clauses for named_type in self._types(clause)]
            named |= {*[label for label, holds, sure in types if holds and sure][-1:]}
            denied |= {label for label, holds, _ in types if not holds}
            mentioned |= {label for label, holds, _ in types if holds}
            hinted |= {label for clause in clauses for label in self._clues(clause)}
        left = set(self.labels[:3]) - denied
        candidates = [named] if named else [hinted, left, mentioned]
        return next((labels.pop() for labels in candidates if len(labels) == 1), None)

    def _types(self, clause: Clause) -> Iterator[tuple[str, bool, bool]]:
        """Yield each type in a clause, whether the clause says that it is the type, and whether this is sure."""
        negated = False
        for tokens in _split_at_commas(clause.tokens):
            kinds = {token.kind for token in tokens}
            several = len({token.label for token in tokens if token.kind == "label"}) > 1
            if several and kinds & {"either", "both"}:
                continue
            for index, token in enumerate(tokens):
                if token.kind in ("negate", "no") and token.label != "after":
                    negated = True
                elif token.kind in ("label", "place"):
                    turned = any(other.label == "after" for other in tokens[index + 1 : index + 3])
                    holds = not negated and not turned and "same" not in kinds
                    is_name = " " in clause.text[token.start : token.end]
                    yield token.label, holds, is_name or bool(kinds & {"strong", "changed", "best"})

    def _clues(self, clause: Clause) -> list[str]:
        segments = [(tokens, {token.kind for token in tokens}) for tokens in _split_at_commas(clause.tokens)]
        if not any("changed" in kinds for _, kinds in segments):
            return []
        changed = [tokens for tokens, kinds in segments if "same" not in kinds]
        return [token.label for tokens in changed for token in tokens if token.kind == "clue"]


def _split_at_commas(tokens: list[Token]) -> list[list[Token]]:
    segments: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "comma":
            segments.append([])
        else:
            segments[-1].append(token)
    return segments
