"""Read true or false from a reply in Chinese: `true_false_zh`. The rules are listed in `verdict`."""

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
    """Return "True" if a reply calls an answer right, "False" if wrong; the value is None if neither.

    Used for C-FAITH's true-or-false format. The reply may be in Chinese or English. Traditional characters are read in
    the same way as simplified ones.
    """
    return read_reply(reply, _read_sentences, _prepare)


def _prepare(text: str) -> str:
    text = text.translate(words.MARKS)
    return words.EITHER.sub(" ", words.FIELD.sub("判断:", text.replace("：", ":").replace("？", "?")))


def _read_sentences(sentences: list[str]) -> Answer[str]:
    is_chinese = any(map(words.CHINESE.search, sentences))
    return (TRUTH_ZH if is_chinese else TRUTH).read(sentences)


def _reword(sentence: str) -> str:
    """Return the sentence with "it is wrong to call the answer X" replaced by "the answer is not X"."""
    return words.MISCALLED.sub(_negate_miscalled, sentence)


def _negate_miscalled(miscalled: re.Match[str]) -> str:
    return (
        f"答案{miscalled['called'].removeprefix('不')}"
        if miscalled["called"][0] == "不"
        else f"答案不{miscalled['called']}"
    )


def _infer(sentences: list[str]) -> Answer[str]:
    return inferred(first(map(_judge_sentence, reversed(stated(sentences)))))


def _read_value(text: str) -> str | None:
    """Return the label that `text` begins with, in Chinese or English, or None."""
    verdict = words.BARE.match(text)
    if verdict is None:
        letter = words.LETTER.match(text)
        return label(letter["true"] is not None) if letter else read_truth(text)
    return label(bool(verdict["true"]) != bool(verdict["no"]) and not words.PART.search(verdict[0]))


def _read_line(text: str) -> str | None:
    """Return the label that a line begins with, or None.

    A line that goes on with "but" or the like ("基本正确,但年份有误,…") also gives None, because its label is inferred
    from the whole line.
    """
    return None if words.TURNS.search(text) else _read_value(text)


def _judge_sentence(sentence: str) -> str | None:
    """Return the last judgment in a Chinese sentence, or None; "partly right" is not right."""
    value = None
    sentence = words.ASKED.sub("", sentence)
    for agrees in matches(words.AGREES, sentence):
        value = label(bool(agrees["yes"]) != bool(agrees["no"]))
    if value:
        return value
    for judged in matches(words.JUDGED, sentence):
        part = words.PART.search(sentence, max(judged.start() - 4, 0), judged.end())
        good = bool(judged["true"]) != bool(judged["no"]) and not part
        value = label(good != bool(words.DOUBTED.search(sentence, max(judged.start() - 30, 0), judged.start())))
    return value


TRUTH_ZH = LabelReader(
    markers={DECLARED: read_truth, FIELD: read_truth, words.DECLARED: _read_value},
    line=lambda line, _: _read_line(line),
    infer=_infer,
    says=SAYS,
    reword=_reword,
    second_thought=SECOND_THOUGHT,
    two_sided=True,
)
"""Reads true or false in Chinese."""
