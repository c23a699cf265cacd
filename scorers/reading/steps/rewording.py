"""Verdicts of true or false in other words, rewritten to the words that the readers know.

- What it would be wrong to call the text: "It would be a mistake to label this True" is "the answer is not True".
- A verdict word of another language at the start of a sentence, behind its marker or behind "is": "Respuesta final:
  Falso" is "final verdict: False".
- The question repeated ("True or False?") is dropped.
"""

from __future__ import annotations

import re

from halu_tasks.scorers.reading.lexicons import rewording as words


def reworded(sentence: str) -> str:
    """Return the sentence with what it says of the verdict in words that the readers know."""
    if words.ALL_OF_IT.fullmatch(sentence):
        return "False"
    sentence = words.QUESTION.sub("", sentence)
    sentence = words.ANYTHING_BUT.sub("not", sentence)
    if words.CALL_HINT.search(sentence):
        sentence = words.NOT_TO_CALL.sub(_not_so, sentence)
    for pattern, opening in ((words.IS_ABROAD, "The answer is"), (words.ABROAD, "final verdict:")):
        if found := pattern.match(sentence):
            denied = bool(found["no"]) or bool(found.groupdict().get("not"))
            good = bool(found["true"]) != denied
            return f"{opening} {good}{sentence[found.end() :]}"
    return sentence


def _not_so(found: re.Match[str]) -> str:
    called = next(filter(None, found.groups()))
    return f"the answer is not {called}"
