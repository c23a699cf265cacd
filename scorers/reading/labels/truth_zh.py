"""True or false, in Chinese: `true_false_zh`. The rules are in `verdict`."""

from __future__ import annotations

import re

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.engine import LabelReader, first, inferred
from halu_tasks.scorers.reading.labels.truth import SECOND_THOUGHT, TRUTH, label, read_truth
from halu_tasks.scorers.reading.lexicons import truth_zh as words
from halu_tasks.scorers.reading.lexicons.declared import DECLARED
from halu_tasks.scorers.reading.lexicons.truth import FIELD, SAYS
from halu_tasks.scorers.reading.steps.declining import stated
from halu_tasks.scorers.reading.steps.sentences import matches, read_reply


def true_false_zh(reply: str) -> Answer[str]:
    """Return whether the reply calls an answer right ("True") or wrong ("False"), in Chinese or English.

    C-FAITH's true-or-false format. Traditional characters are read like simplified ones.
    """
    return read_reply(reply, _read_sentences, _prepare)


def _prepare(text: str) -> str:
    text = text.translate(words.MARKS)
    return words.EITHER.sub(" ", words.FIELD.sub("判断:", text.replace("：", ":").replace("？", "?")))


def _read_sentences(sentences: list[str]) -> Answer[str]:
    chinese = any(map(words.CHINESE.search, sentences))
    return (TRUTH_ZH if chinese else TRUTH).read(sentences)


def _reword(sentence: str) -> str:
    """Return the sentence with what it would be wrong to call the answer as what the answer is not."""
    return words.MISCALLED.sub(_not_so, sentence)


def _not_so(found: re.Match[str]) -> str:
    return f"答案{found['called'].removeprefix('不')}" if found["called"][0] == "不" else f"答案不{found['called']}"


def _infer(sentences: list[str]) -> Answer[str]:
    return inferred(first(map(_judgment, reversed(stated(sentences)))))


def _read(text: str) -> str | None:
    """Return the verdict that `text` begins with, in Chinese or English, or None."""
    found = words.BARE.match(text)
    if found is None:
        letter = words.LETTER.match(text)
        return label(letter["true"] is not None) if letter else read_truth(text)
    return label(bool(found["true"]) != bool(found["no"]) and not words.PART.search(found[0]))


def _line(text: str) -> str | None:
    """Return the verdict of a line; one that turns to something else is read to its end ("基本正确,但年份有误,…")."""
    return None if words.TURNS.search(text) else _read(text)


def _judgment(sentence: str) -> str | None:
    """Return the last judgment in a Chinese sentence; "partly right" is not right."""
    value = None
    sentence = words.ASKED.sub("", sentence)
    for found in matches(words.AGREES, sentence):
        value = label(bool(found["yes"]) != bool(found["no"]))
    if value:
        return value
    for found in matches(words.JUDGED, sentence):
        part = words.PART.search(sentence, max(found.start() - 4, 0), found.end())
        good = bool(found["true"]) != bool(found["no"]) and not part
        value = label(good != bool(words.DOUBTED.search(sentence, max(found.start() - 30, 0), found.start())))
    return value


TRUTH_ZH = LabelReader(
    markers={DECLARED: read_truth, FIELD: read_truth, words.DECLARED: _read},
    line=lambda line, _: _line(line),
    infer=_infer,
    says=SAYS,
    reword=_reword,
    second_thought=SECOND_THOUGHT,
    two_sided=True,
)
"""True or false, in Chinese."""
