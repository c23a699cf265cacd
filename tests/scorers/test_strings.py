"""Strings read from replies: rules case by case, then agreement with readers, totality and time."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halu_tasks.benchmarks.refact_tags import original_strings, tagged_spans
from halu_tasks.scorers.benchmarks import published
from halu_tasks.scorers.reading.strings import quotations, replacements
from halu_tasks.text.folding import normalise

DATA = Path(os.environ.get("HALU_TASKS_TEST_DATA") or Path(__file__).resolve().parents[2].parent / "shared" / "data")
needs_data = pytest.mark.skipif(not (DATA / "answer_labels").is_dir(), reason="test data is not here")

ANY_TEXT = st.text(st.characters(), max_size=300)
PIECES = st.lists(
    st.sampled_from(
        ["Wrong Entities:", "sentence", "1. ", "- ", "\n", "\n\n", '"', "“", "”", "**", "(", ")", " - ", ": ", "<mask>",
         "->", ", ", "none", "moss",
         "The correct sentence should be:", "\ud800", "\u200f", "é\u0301", "İ", "`", "not", "x. "]
    ),
    max_size=30,
).map("".join)  # fmt: skip


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_heading_at_the_end_of_a_very_long_reply_is_found() -> None:
    assert quotations("I wonder.\n" * 200_000 + "Wrong Entities:\nbasalt", "", "entity").value == ["basalt"]


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
    for answer in (
        quotations(reply, "moss", "entity"),
        quotations(reply, "x. moss", "sentence"),
        replacements(reply, 2),
    ):
        assert (answer.value is None) == bool(answer.reason)
        assert answer.value is None or all(answer.value)
    assert isinstance(normalise(reply), str)
    published.entities(reply), published.sentence(reply), published.replacements(reply)


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=8), min_size=2, max_size=6))
def test_bare_lines_and_numbered_lines_say_the_same(words: list[str]) -> None:
    numbered = "\n".join(f"{number}. “{word}”" for number, word in enumerate(words, 1))
    assert replacements("\n".join(words), len(words)).value == words
    assert replacements(numbered, len(words)).value == words


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
                sums[0] += strings[0] == found
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


def test_published_iou_counts_first_occurrence_with_unstripped_length() -> None:
    assert published.iou("a sea, a Sea", ["sea"], ["SEA "]) == 3 / 4
    assert published.iou("a sea", ["fog"], ["mist"]) == 0.0
    assert published.set_recall(["a", "a", "b"], ["a ", "b"]) == 0.5
