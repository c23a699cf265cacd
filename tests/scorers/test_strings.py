"""Strings read from replies: rules case by case, then agreement with readers, totality and time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks import refact_published_strings as published
from halu_tasks.scorers.reading.strings.strings import entities, normalise, replacements, sentence
from halu_tasks.scorers.reading.strings.tags import original_strings, tagged_spans

DATA = Path(os.environ.get("HALU_TASKS_TEST_DATA") or Path(__file__).resolve().parents[2].parent / "shared" / "data")
needs_data = pytest.mark.skipif(not (DATA / "answer_labels").is_dir(), reason="test data is not here")

ANY_TEXT = st.text(st.characters(), max_size=300)
PIECES = st.lists(
    st.sampled_from(
        [
            "Wrong Entities:",
            "sentence",
            "1. ",
            "- ",
            "\n",
            "\n\n",
            '"',
            "“",
            "”",
            "**",
            "(",
            ")",
            " - ",
            ": ",
            "<mask>",
            "->",
            ", ",
            "none",
            "The correct sentence should be:",
            "moss",
            "\ud800",
            "\u200f",
            "é\u0301",
            "İ",
            "`",
            "not",
            "x. ",
        ]
    ),
    max_size=30,
).map("".join)


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("basalt\nOrinoco \n\n", ["basalt", "Orinoco"]),
        ("basalt\n\nbasalt", ["basalt", "basalt"]),
        ("1. basalt\n2) the Orinoco.\n(3) 40 km", ["basalt", "the Orinoco", "40 km"]),
        ("* “basalt”\n• **Orinoco**\n– `40 km`", ["basalt", "Orinoco", "40 km"]),
        ("Here are the wrong entities:\n\nbasalt\nOrinoco", ["basalt", "Orinoco"]),
        ("**Wrong Entities:** basalt, Orinoco", ["basalt", "Orinoco"]),
        ("Wrong Entity 1: basalt\nWrong Entity 2: Orinoco", ["basalt", "Orinoco"]),
        ("## Wrong entities\n\n- basalt", ["basalt"]),
        ("basalt, Orinoco and 1,200 km", ["basalt", "Orinoco and 1,200 km"]),
        ("basalt, marble, and Orinoco.", ["basalt", "marble", "Orinoco"]),
        ("basalt (dark, heavy), Orinoco", ["basalt (dark, heavy)", "Orinoco"]),
        ("玄武岩、奥里诺科河。", ["玄武岩", "奥里诺科河"]),
        ("بازلت، أورينوكو", ["بازلت", "أورينوكو"]),
        ("The rock is basalt, which forms under the sea", ["The rock is basalt, which forms under the sea"]),
        ("- basalt: the cliffs there are made of chalk, as every visitor sees", ["basalt"]),
        ("- basalt - it should be chalk\n- Orinoco – that river is elsewhere", ["basalt", "Orinoco"]),
        ("- basalt (the cliffs are made of chalk)\n- lime (slaked)", ["basalt", "lime (slaked)"]),
        ("basalt (should be chalk)", ["basalt"]),
        ("cliffs (white and tall and old)", ["cliffs (white and tall and old)"]),
        ('1. "basalt" is wrong, as the cliffs are chalk.\n2. "Orinoco" (wrong river)', ["basalt", "Orinoco"]),
        ('1. The answer mentions "basalt cliffs" where only chalk is found.', ["basalt cliffs"]),
        ("1. **Basalt**: no such rock is there\n   - a note inside the list\n2. **Orinoco**", ["Basalt", "Orinoco"]),
        ("The wrong entities are:\nbasalt\n\nThis is because the cliffs are made of chalk.", ["basalt"]),
        ("The wrong entities are:\n- basalt\n\nCorrected entities:\n- chalk", ["basalt"]),
        ("The wrong entities are:\n- basalt\n\nAnother wrong entity is:\n- Orinoco", ["basalt", "Orinoco"]),
        ("Analysis:\n- chalk is right\n\nSo the wrong entities are:\nbasalt", ["basalt"]),
        ("Wrong entities:\n- chalk\nWait.\n\nWrong entities:\n- basalt", ["basalt"]),
        ("1. basalt\n\nCorrected: chalk\n\n2. Orinoco", ["basalt", "Orinoco"]),
        ("Wrong entities:\n\nRocks:\n- basalt\n\nRivers:\n- Orinoco", ["basalt", "Orinoco"]),
        ("<think>chalk?\nmarble?</think>basalt", ["basalt"]),
        ("6'2\"", ["6'2\""]),
        ("n!\nwow!", ["n!", "wow"]),
        (".5 mm", [".5 mm"]),
    ],
)
def test_entities(reply: str, expected: list[str]) -> None:
    assert entities(reply) == Answer(expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Rivers flow uphill at night.\n", ["Rivers flow uphill at night."]),
        ('"Rivers flow uphill at night."', ["Rivers flow uphill at night."]),
        ("Wrong Sentence: «Rivers flow uphill.»", ["Rivers flow uphill."]),
        (
            'The wrong sentence is:\n\n"Rivers flow uphill."\n\nThe correct sentence is:\n\n"They do not."',
            ["Rivers flow uphill."],
        ),
        (
            'The wrong sentence is "Rivers like ours flow uphill." because water falls.',
            ["Rivers like ours flow uphill."],
        ),
        ('"Rivers like "ours" flow uphill."', ['Rivers like "ours" flow uphill.']),
        ('"Up the creek" is what rivers are called.', ['"Up the creek" is what rivers are called.']),
        ('It is called a "river."', ['It is called a "river."']),
        ("Rivers flow uphill.\n\nThis sentence is wrong because water falls.", ["Rivers flow uphill."]),
        ("Rivers flow uphill.\n\n**Explanation:**\n\nWater falls.", ["Rivers flow uphill."]),
        (
            "The whole answer is:\nWater. Rivers flow uphill.\n\nThe wrong sentence is: Rivers flow uphill.",
            ["Rivers flow uphill."],
        ),
        ("**Rivers flow uphill.**", ["Rivers flow uphill."]),
        ("> Rivers do **not** flow.", ["Rivers do **not** flow."]),
        ("Wrong sentences:\n1. Rivers flow uphill.\n2. Lakes boil.", ["Rivers flow uphill.", "Lakes boil."]),
        ("None of these rivers flow.", ["None of these rivers flow."]),
        (
            "The statement is a problem: rivers flow, and uphill: never.",
            ["The statement is a problem: rivers flow, and uphill: never."],
        ),
    ],
)
def test_sentence(reply: str, expected: list[str]) -> None:
    assert sentence(reply) == Answer(expected)


@pytest.mark.parametrize(
    ("reply", "masks", "expected"),
    [
        ("chalk\nThames", 2, ["chalk", "Thames"]),
        ("1. chalk\n2. Thames\n3. Severn", 2, ["chalk", "Thames", "Severn"]),
        (
            "It was the chalk of the cliffs that gave the island its old name.\nchalk",
            2,
            ["It was the chalk of the cliffs that gave the island its old name", "chalk"],
        ),
        ("Replacements: chalk", 1, ["chalk"]),
        ("2 Replacements:\nchalk\nThames", 2, ["chalk", "Thames"]),
        ("chalk, Thames", 2, ["chalk", "Thames"]),
        ("chalk, Thames", 1, ["chalk, Thames"]),
        ("chalk / lime", 1, ["chalk / lime"]),
        (
            "Here are the replacements for the <mask> tags:\n\n- <mask> -> <chalk>\n- <mask>: Thames",
            2,
            ["chalk", "Thames"],
        ),
        ('- <mask> should be replaced with "chalk"\n- Mask 2: Thames', 2, ["chalk", "Thames"]),
        ("1. <mask>", 1, ["<mask>"]),
        ("1. 40\n2. 10:1\n3. 8.5e3", 3, ["40", "10:1", "8.5e3"]),
        ("The cliffs are made of <mask> and stand at the <mask>.\nReplacements:\nchalk\nsea", 2, ["chalk", "sea"]),
        ("none", 1, ["none"]),
    ],
)
def test_replacements(reply: str, masks: int, expected: list[str]) -> None:
    assert replacements(reply, masks) == Answer(expected)


@pytest.mark.parametrize(
    ("parse", "reply", "reason"),
    [
        (entities, "", "empty reply"),
        (entities, " \n\u200f", "empty reply"),
        (entities, "<think>basalt", "reasoning never ends"),
        (entities, "Wrong entities:\n1.\n2.", "no string found"),
        (entities, "moss\n" * 100_000, "too long, and no heading near its end"),
    ],
)
def test_no_string(parse: Callable[[str], Answer[list[str]]], reply: str, reason: str) -> None:
    assert parse(reply) == Answer(None, reason)


@pytest.mark.parametrize("parse", [entities, sentence])
@pytest.mark.parametrize(
    "reply",
    [
        "None",
        "None.",
        "N/A",
        "Nothing.",
        "(none)",
        "[]",
        "(empty)",
        "(no output as per the analysis)",
        "The answer: none",
        "None. The answer describes it accurately.",
        "There are no factually wrong entities in this answer.",
        "There are no errors in the answer.",
        "The answer is factually correct.",
        "The answer does not contain any incorrect statements.",
        "The answer contains no factual errors.",
        "I found no incorrect sentence in the answer you gave me.",
        "I could not find any wrong sentence.",
        "No wrong entities were found.",
        "None of the entities in the answer are factually wrong.",
        "All entities in the answer are correct.",
        "Nothing in the answer is wrong.",
        "There is no contradiction.",
        "There isn't any mistake in the answer.",
        "لا شيء",
        "لا يوجد خطأ في الإجابة.",
        "لا توجد أخطاء",
        "Hiçbiri",
        "Yanlış varlık yok.",
        "Cevapta herhangi bir hata bulunmuyor.",
        "कोई नहीं",
        "इसमें कोई त्रुटि नहीं है।",
        "没有错误。",
        "无",
    ],
)
def test_none_is_an_answer(parse: Callable[[str], Answer[list[str]]], reply: str) -> None:
    assert parse(reply) == Answer([])


@pytest.mark.parametrize(
    ("parse", "reply"),
    [
        (entities, "empty space"),
        (entities, "no air\nzero gravity"),
        (entities, "nothing but a vacuum"),
        (entities, "the null hypothesis"),
        (sentence, "Nothing would happen."),
        (sentence, "None of these outcomes are desirable."),
        (sentence, "In those collisions, none of the energy is converted into mass."),
        (sentence, "If your speed is constant then there will be no change in the rotation when you walk."),
        (sentence, "I cannot answer this specifically but I did take a course on cellular biomechanics."),
        (sentence, "There is no problem with that."),
    ],
)
def test_strings_that_only_sound_like_none_are_strings(parse: Callable[[str], Answer[list[str]]], reply: str) -> None:
    assert parse(reply).value == reply.split("\n")


@pytest.mark.parametrize(
    ("parse", "reply"),
    [
        (entities, "I cannot determine which entities are wrong."),
        (entities, "I'm sorry, but I cannot help with that request."),
        (sentence, "I cannot determine which sentence is wrong."),
        (sentence, "I am unable to identify the wrong sentence without more context."),
        (lambda reply: replacements(reply, 2), "I cannot determine the replacements without more context."),
    ],
)
def test_a_reply_that_declines_abstains(parse: Callable[[str], Answer[list[str]]], reply: str) -> None:
    assert parse(reply) == Answer(None, "declines", abstained=True)


@pytest.mark.parametrize(
    ("parse", "reply", "expected"),
    [
        (entities, "A. basalt\nB. Orinoco", ["basalt", "Orinoco"]),
        (entities, "I. basalt\nII. Orinoco\nIII. 40 km", ["basalt", "Orinoco", "40 km"]),
        (entities, "Wrong entities:\n\nA) basalt\n\nB) Orinoco", ["basalt", "Orinoco"]),
        (entities, "i. basalt\nii. Orinoco", ["basalt", "Orinoco"]),
        (entities, 'I. "basalt" - no such rock is there\n   - a note\nII. "Orinoco"', ["basalt", "Orinoco"]),
        # names, not marks
        (entities, "E. coli\nC. elegans", ["E. coli", "C. elegans"]),
        (entities, "A. thaliana", ["A. thaliana"]),
        (entities, "Y. pestis\nspores", ["Y. pestis", "spores"]),
        (sentence, "A. Rivers flow uphill.\nB. Lakes boil.", ["Rivers flow uphill.", "Lakes boil."]),
        (entities, "<basalt> <Orinoco>", ["basalt", "Orinoco"]),
        (entities, "<basalt>\n<Orinoco>", ["basalt", "Orinoco"]),
        (lambda reply: replacements(reply, 2), "Replacements: <chalk> <Thames>", ["chalk", "Thames"]),
        (lambda reply: replacements(reply, 2), "<chalk>, <Thames>", ["chalk", "Thames"]),
        (lambda reply: replacements(reply, 2), "<mask> <mask>", ["<mask>", "<mask>"]),
    ],
)
def test_marks_and_brackets_are_no_part_of_a_string(
    parse: Callable[[str], Answer[list[str]]], reply: str, expected: list[str]
) -> None:
    assert parse(reply) == Answer(expected)


@pytest.mark.parametrize(
    "reply",
    [
        'The sentence "Water is wet in all cases" is correct, but "Rivers flow uphill at night." is wrong.',
        '"Rivers flow uphill at night." is incorrect, while "Water is wet in all cases." is correct.',
        'Both "Water is wet in all cases." and "Rivers flow uphill at night." sound odd. The wrong sentence is: '
        "Rivers flow uphill at night.",
        'I looked at "Water is wet in all cases." first. The incorrect sentence is "Rivers flow uphill at night."',
        'Of the two sentences "Water is wet in all cases." is right and "Rivers flow uphill at night." isn\'t.',
    ],
)
def test_of_two_quoted_sentences_the_one_called_wrong_counts(reply: str) -> None:
    assert sentence(reply).value == ["Rivers flow uphill at night."]


def test_a_place_for_replacements_that_is_left_empty_gives_none() -> None:
    copied = "The cliffs are made of chalk, and from the sea they look white in any weather."
    assert replacements(f"{copied}\n2 Replacements:\n", 1) == Answer(None, "no string found")


def test_answer_copied_instead_of_filled_in_is_no_replacement() -> None:
    copied = "The cliffs are made of <mask>, and from the sea they look white in any weather."
    assert replacements(copied, 1) == Answer(None, "no string found")


def test_quotes_of_a_copied_answer_are_no_replacements() -> None:
    copied = (
        'The cliffs are made of <mask>, which should not be called "rock" or "stone" but in poems, instead of "it".'
    )
    assert replacements(copied, 3) == Answer(None, "no string found")


def test_an_opinion_in_the_text_stays_in_its_sentence() -> None:
    assert sentence("I think it is wrong to call chalk a rock.").value == ["I think it is wrong to call chalk a rock."]


def test_heading_at_the_end_of_a_very_long_reply_is_found() -> None:
    assert entities("I wonder.\n" * 200_000 + "Wrong Entities:\nbasalt").value == ["basalt"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("  The  Sea. ", "the sea"), ("ﬁre", "FIRE"), ("“sea”", "sea"), ("Ｈ２Ｏ", "h2o"), ("STRASSE", "straße")],
)
def test_normalise_makes_equal(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [("50%", "50"), ("-5", "5"), ("$5", "5"), ("a b", "ab"), ("C++", "C")])
def test_normalise_keeps_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_normalise_keeps_punctuation_that_stands_alone() -> None:
    assert normalise(" ?! ") == "?!"


@given(ANY_TEXT | PIECES)
@example("()")
def test_total(reply: str) -> None:
    for answer in (entities(reply), sentence(reply), replacements(reply, 2)):
        assert (answer.value is None) == bool(answer.reason)
        assert answer.value is None or all(answer.value)
    assert isinstance(normalise(reply), str)
    published.entities(reply), published.sentence(reply), published.replacements(reply)


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=8), min_size=2, max_size=6))
def test_bare_lines_and_numbered_lines_say_the_same(words: list[str]) -> None:
    numbered = "\n".join(f"{number}. “{word}”" for number, word in enumerate(words, 1))
    assert replacements("\n".join(words), len(words)).value == words
    assert replacements(numbered, len(words)).value == words


def read(task: str, row: dict[str, Any]) -> list[str]:
    if task == "refact_localization_entity":
        return entities(row["output"]).value or []
    if task == "refact_localization_negation":
        return sentence(row["output"]).value or []
    gold = {other["sample_id"]: other for other in rows(DATA / "refact" / "refact_multi_error.jsonl")}
    masks = len(tagged_spans(gold[row["id"]]["error_spans"])[1])
    return replacements(row["output"], masks).value or []


@needs_data
@pytest.mark.parametrize("task", ["refact_localization_entity", "refact_localization_negation", "refact_correction"])
def test_agrees_with_readers(task: str) -> None:
    labels = [row for row in rows(DATA / "answer_labels" / f"{task}.jsonl") if row["sure"]]
    assert [row["id"] for row in labels if read(task, row) != row["strings"]] == []


PUBLISHED = {
    "gemma-3-27b-it": (0.622, 0.678, 0.458, 0.351, 0.250),
    "Llama-3.2-3B-Instruct": (0.023, 0.023, 0.041, 0.097, 0.017),
}


@needs_data
@pytest.mark.parametrize("model", sorted(PUBLISHED))
def test_published_figures(model: str) -> None:
    """The rows that have an output are the denominator: 527, 452 and 467."""
    gold = {row["sample_id"]: row for row in rows(DATA / "refact" / "refact_multi_error.jsonl")}
    sums = [0.0] * 5
    sizes = []
    for task in ("refact_localization_negation", "refact_localization_entity", "refact_correction"):
        outputs = rows(DATA / "refact_outputs" / model / f"{task}.jsonl")
        sizes.append(len(outputs))
        for output in outputs:
            row = gold[output["id"]]
            text, spans = tagged_spans(row["error_spans"])
            strings = [text[start:end] for start, end in spans]
            if task == "refact_localization_negation":
                found = published.sentence(output["output"])
                sums[0] += published.sentence_match(strings[0], found)
                sums[1] += published.iou(text, strings, [found])
            elif task == "refact_localization_entity":
                listed = published.entities(output["output"])
                sums[2] += published.set_recall(strings, listed)
                sums[3] += published.iou(text, strings, listed)
            else:
                originals = original_strings(row["error_spans"], row["correct_answer"], leftmost=True)
                sums[4] += published.set_recall(originals, published.replacements(output["output"]))
    negation, entity, correction = sizes
    denominators = (negation, negation, entity, entity, correction)
    figures = tuple(round(total / n, 3) for total, n in zip(sums, denominators, strict=True))
    assert sizes == [527, 452, 467]
    assert figures == PUBLISHED[model]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Wrong Entities: basalt \nlime", ["basalt ", "lime"]),
        ("Here:\nbasalt\n\nlime", ["basalt", "lime"]),
        ("1. basalt\n2. 8.5 km", ["basalt", "5 km"]),
        (":\nbasalt", [":", "basalt"]),
    ],
)
def test_published_entities(reply: str, expected: list[str]) -> None:
    assert published.entities(reply) == expected


def test_published_sentence_and_replacements() -> None:
    assert published.sentence("The wrong sentence is: It\nrains.") == "is: Itrains."
    assert published.sentence("I think:\n It rains. \n") == "It rains."
    assert published.replacements("text Replacements:\n1. a \n\n b") == ["a", "b"]


def test_published_iou_counts_first_occurrence_with_unstripped_length() -> None:
    assert published.iou("a sea, a Sea", ["sea"], ["SEA "]) == 3 / 4
    assert published.iou("a sea", ["fog"], ["mist"]) == 0.0
    assert published.set_recall(["a", "a", "b"], ["a ", "b"]) == 0.5
