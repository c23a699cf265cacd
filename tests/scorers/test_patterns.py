"""How lexicons are written: expressions of several lines, and words that are folded."""

import re

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.reading.labels.engine import Counted, LabelReader, SecondThought, inferred, merged
from halu_tasks.scorers.reading.lexicons.languages import CONCLUDES, TURN
from halu_tasks.scorers.reading.patterns import expression, folded, folded_pattern, ignoring_case, pattern
from halu_tasks.text.folding import fold


def test_line_breaks_and_comments_are_no_part_of_an_expression():
    text = r"""
        a b|c
        # "a b" is one word
        |d #e
        # the last
        |\s f
    """
    assert expression(text) == r"a b|c|d #e|\s f"
    assert pattern(text).fullmatch("d #e")
    assert ignoring_case(text).fullmatch("A B")


def test_words_are_folded_and_escapes_are_kept():
    assert folded(r"(?P<Yes>HAYIR|Değil)\S\W") == rf"(?P<Yes>{fold('hayır')}|{fold('değil')})\S\W"
    for word in ("değil", "नहीं", "الإجابة"):
        assert folded_pattern(word).fullmatch(fold(word))
        assert folded(folded(word)) == folded(word)


def test_the_languages_are_taken_together():
    for word in ("but", "لكن", "ama", "लेकिन"):
        assert TURN.match(fold(word))
    for word in ("therefore", "لذلك", "bu nedenle", "इसलिए"):
        assert CONCLUDES.match(fold(word))


def _reader(**more: object) -> LabelReader:
    """Read "good" and "bad" behind "label", or else anywhere."""

    def label(text: str) -> str | None:
        found = re.search("good|bad", text)
        return found[0] if found else None

    defaults = {
        "markers": {re.compile("label:"): label},
        "line": lambda line, sentences: line if line in ("good", "bad") else None,
        "infer": lambda sentences: inferred(label(sentences[-1])),
    }
    return LabelReader(**{**defaults, **more})


def test_a_declared_label_counts_before_what_the_sentences_say():
    read = _reader()
    assert read("It looks bad. label: good. It looks bad.") == Answer("good")
    assert read("It looks good. It looks bad.") == Answer("bad", inferred=True)
    assert read("bad\nIt may look good.") == Answer("bad")
    assert read("...").reason == "no verdict"
    assert read("").reason == "empty"


def test_a_reply_begins_anew_behind_a_second_thought():
    read = _reader(second_thought=SecondThought(re.compile("Wait"), re.compile(r"Wait\W*")))
    assert read("label: good. Wait, label: bad.").value == "bad"
    assert read("label: good. Wait, I am hungry.").value == "good"


def test_a_reply_that_says_nothing_abstains_if_it_declines():
    assert _reader()("I cannot determine whether the answer is correct.").outcome == "abstained"
    assert _reader()("The sky is blue.").outcome == "unparsed"
    dropped = _reader(counted=lambda sentences: Counted([], declined=True))
    assert dropped("label: good").outcome == "abstained"


def test_two_sentences_can_be_merged():
    def answer(sentence: str, following: str) -> str | None:
        return f"{sentence} {following}" if sentence.endswith("?") else None

    assert list(merged(["a?", "b?", "c", "d?"], answer)) == ["a? b?", "c", "d? "]
