"""Rewrite verdicts of true or false into the words that the readers know.

- A statement that a label would be wrong negates the label: "It would be a mistake to label this True" becomes "the
  answer is not True".
- "anything but" becomes "not", and a sentence that is only "Hallucination" or "Fabricated" becomes "False".
- A verdict in another language is translated if it is at the start of a sentence, after its marker or after "is":
  "Respuesta final: Falso" becomes "final verdict: False".
- The question repeated ("True or False?") is removed.
"""

from __future__ import annotations

import re

from halu_tasks.scorers.reading.lexicons import rewording as words


def reworded(sentence: str) -> str:
    """Return a sentence with its verdict in the words that the readers know."""
    if words.ALL_OF_IT.fullmatch(sentence):
        return "False"
    sentence = words.QUESTION.sub("", sentence)
    sentence = words.ANYTHING_BUT.sub("not", sentence)
    if words.CALL_HINT.search(sentence):
        sentence = words.NOT_TO_CALL.sub(_negate_label, sentence)
    for pattern, opening in ((words.IS_ABROAD, "The answer is"), (words.ABROAD, "final verdict:")):
        if match := pattern.match(sentence):
            is_negated = bool(match["no"]) or bool(match.groupdict().get("not"))
            label = bool(match["true"]) != is_negated
            return f"{opening} {label}{sentence[match.end() :]}"
    return sentence


def _negate_label(match: re.Match[str]) -> str:
    """Return the negation of the label that a match says would be wrong."""
    label = next(filter(None, match.groups()))
    return f"the answer is not {label}"
