"""Replies as the authors of the benchmarks read them, in `paper`.

The functions keep the faults of the released evaluators, because the published figures were computed with them: they
read the raw reply, including its reasoning. Regular expressions that take quadratic time there are replaced by searches
that find the same matches. Where authors released no evaluator, a reply has to be the answer and nothing else.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.questions import FACTUAL, NO, NON_FACTUAL, YES
from halu_tasks.text.spans import Span, char_counts

# --- ReFACT, judgment (Tables 2 and 3) -------------------------------------------------------------------

_FINAL_VERDICT = re.compile(r"final\s+verdict", re.IGNORECASE)
_TRUE_FALSE = re.compile(r"true|false", re.IGNORECASE)
_AB_OR_ANSWER_AB = re.compile(r"(?=answer\s*([ab])|)([ab])", re.IGNORECASE)
_AB_AFTER_VERDICT = re.compile(r"final\s+verdict[^ab\n]*([ab])", re.IGNORECASE)
_CORRECT = re.compile(r"correct", re.IGNORECASE)


def published_true_false(reply: str) -> Answer[str]:
    """Read an independent judgment: "True" or "False", or unparsed.

    This is the first true or false, even within a word, after the first "final verdict"; failing that, the last true or
    false anywhere. The published figures count an unparsed reply as the wrong label.
    """
    marker = _FINAL_VERDICT.search(reply)
    words = _TRUE_FALSE.findall(reply, marker.end())[:1] if marker else []
    words = words or _TRUE_FALSE.findall(reply)
    return Answer(words[-1].capitalize()) if words else Answer(None, "no true or false")


def published_pick(reply: str) -> Answer[str]:
    """Read a comparative judgment: "A" or "B", or unparsed.

    This is the first letter a or b, even within a word, that is followed by "correct" on the same line. If this letter
    begins the word "answer" and a or b follows, which is also followed by "correct" on its line, it is that second
    letter. Without such a letter, it is the first a or b after "final verdict" on the same line.
    """
    letter = _letter_before_correct(reply)
    if letter is None and (declared := _AB_AFTER_VERDICT.search(reply)):
        letter = declared[1]
    return Answer(letter.upper()) if letter else Answer(None, "no letter")


def _letter_before_correct(reply: str) -> str | None:
    corrects = [match.start() for match in _CORRECT.finditer(reply)]

    def is_before_correct(at: int) -> bool:
        after = bisect_left(corrects, at)
        return after < len(corrects) and reply.find("\n", at, corrects[after]) < 0

    for match in _AB_OR_ANSWER_AB.finditer(reply):
        if match[1] and is_before_correct(match.end(1)):
            return match[1]
        if is_before_correct(match.end(2)):
            return match[2]
    return None


# --- ReFACT, localization and correction (Table 2: Negation Loc., Entity Loc. and Entity Cor.) -------------
#
# Lines keep a trailing space and then never match, numbering is removed within decimal numbers, and only the first
# occurrence of a string is located, in the lower-cased text.

_ENTITY_LABEL = re.compile(r"(?:entity|entities)\s*+:", re.IGNORECASE)
_SENTENCE_LABEL = re.compile(r"(?:sentence)++\s*+:?", re.IGNORECASE)
_REPLACEMENT_LABEL = re.compile(r"replacements?+\s*+:?", re.IGNORECASE)
# without the look-behind, a long run of digits would be tried again at each of its digits
_NUMBERING = re.compile(r"(?<!\d)\d++\s*+\.++\s*+")


def _after_last_colon_line(reply: str) -> str:
    return reply if reply.startswith(":\n") else reply.rsplit(":\n", 1)[-1]


def entities(reply: str) -> list[str]:
    """Extract the predicted entities, one per line, with their leading and trailing spaces."""
    label = _ENTITY_LABEL.search(reply)
    text = reply[label.end() :].strip() if label else _after_last_colon_line(reply)
    return [line for line in _NUMBERING.sub("", text).split("\n") if line not in ("", " ")]


def sentence(reply: str) -> str:
    """Extract the predicted sentence, a string without newlines that may be empty."""
    label = _SENTENCE_LABEL.search(reply)
    text = reply[label.end() :] if label else _after_last_colon_line(reply)
    return text.strip().replace("\n", "").strip()


def replacements(reply: str) -> list[str]:
    """Extract the predicted replacements, all lines that are not blank, without surrounding white space."""
    if label := _REPLACEMENT_LABEL.search(reply):
        reply = reply[label.end() :]
    lines = (line.strip() for line in _NUMBERING.sub("", reply).split("\n"))
    return [line for line in lines if line]


def set_recall(gold: Sequence[str], predicted: Iterable[str]) -> float:
    """Compute the share (0 to 1) of the distinct gold strings that were predicted exactly.

    This is the published accuracy of entity localization, and of correction, where it is called exact match although
    neither order nor completeness matters. `gold` has at least one string.
    """
    distinct = set(gold)
    return len(distinct.intersection(predicted)) / len(distinct)


def _first_occurrences(text: str, strings: Iterable[str]) -> list[Span]:
    lowered = text.lower()
    spans = []
    for string in set(strings):
        start = lowered.find(string.strip().lower())
        if start >= 0:
            spans.append((start, start + len(string)))
    return spans


def iou(text: str, gold: Iterable[str], predicted: Iterable[str]) -> float:
    """Compute the published intersection over union (0 to 1) of characters of `text`.

    Gold and predicted strings are located alike, at the first place where the stripped string occurs in any case, and
    cover as many characters as the unstripped string has. Strings that do not occur are ignored. The IoU of an empty
    union is 0.
    """
    counts = char_counts(_first_occurrences(text, gold), _first_occurrences(text, predicted))
    return counts.intersection / counts.union if counts.union else 0.0


# --- HaluEval ----------------------------------------------------------------------------------------------

CUE = "#Your Judgement#"
"""The heading of the judgement after a chain of thought."""


def published_reasoned_judgement(reply: str) -> Answer[str]:
    """Read the judgement after the last cue as the authors' evaluator does (`paper`)."""
    return published_judgement(reply.rpartition(CUE)[2])


def published_judgement(reply: str) -> Answer[str]:
    """Read Yes or No as the authors' evaluator does (`paper`); its result "failed!" is unparsed."""
    text = reply.replace(".", "")
    words = [word for word in (YES, NO) if word in text]
    return Answer(words[0]) if len(words) == 1 else Answer(None, "both Yes and No" if words else "neither Yes nor No")


# --- FactCHD -----------------------------------------------------------------------------------------------

_PUNCTUATION = re.compile(r"[!\"#$%&()*+,\-./:;<=>?@\[\]\\^`{|}~_']")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def published_label(text: str) -> str | None:
    """Return the label that a cleaned text begins with, by the authors' normalisation."""
    plain = " ".join(_ARTICLE.sub(" ", _PUNCTUATION.sub(" ", text.lower())).split())
    if plain.startswith("non factual"):
        return NON_FACTUAL
    return FACTUAL if plain.startswith("factual") else None


def published_clean(text: str) -> str:
    """Return a text without the prefixes that the authors' evaluator removes."""
    text = text.strip().removeprefix("Output:").removeprefix("Response:")
    if text.startswith("FACTS:"):
        label = NON_FACTUAL if "NON-FACTS" in text else FACTUAL
        text = f"{label}.{text.removeprefix('FACTS:')}"
    return text


def published_explanation(text: str) -> str:
    """Return a cleaned text without its label if that is written in one case throughout, else from its first letter."""
    text = text.strip()
    label = next(filter(text.startswith, ("non-factual", NON_FACTUAL, "factual", FACTUAL)), "")
    first_letter = next((at for at, char in enumerate(text) if char.isalpha()), 0)
    return text[len(label) or first_letter :].lstrip(" .,;:'\"\n")


# --- without a released evaluator ----------------------------------------------------------------------------


def letter_alone(reply: str) -> Answer[str]:
    """Read a reply that is one of the letters A to D and nothing else (`paper`)."""
    letter = reply.strip()
    return Answer(letter) if letter in ("A", "B", "C", "D") else Answer(None, "not a letter alone")


def published_choice(reply: str) -> Answer[str]:
    """Read a reply that is a letter alone, or one after "Answer: " at its start (`paper`, HalluQA's evaluator)."""
    letter = reply.strip().removeprefix("Answer: ")
    return Answer(letter) if letter in ("A", "B", "C", "D", "E") else Answer(None, "not a letter alone")


def truth_word_alone(reply: str) -> Answer[str]:
    """Read a reply that is 正确 (True) or 错误 (False) and nothing else (`paper`)."""
    word = {"正确": "True", "错误": "False"}.get(reply.strip())
    return Answer(word, "" if word else "not one of the two words alone")


def yes_no_alone(reply: str) -> Answer[str]:
    """Read a reply that is yes or no and nothing else, in any case, with or without a full stop (HalluVerse25)."""
    word = reply.strip().removesuffix(".").capitalize()
    return Answer(word) if word in (YES, NO) else Answer(None, "not yes or no alone")
