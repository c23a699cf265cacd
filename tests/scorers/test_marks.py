"""Spans by offsets, tags and records (`marks.yaml`), degrees, categories, and gold by several people."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score

from halu_tasks.core.items import Item
from halu_tasks.scorers.annotators import annotators_alpha, pooled, with_marks
from halu_tasks.scorers.benchmarks.labels import verdict_scorer
from halu_tasks.scorers.benchmarks.span_scorers import (
    average_precision,
    correlation,
    mushroom_scorer,
    read_marks,
    soft_iou,
)
from halu_tasks.scorers.benchmarks.string_scorers import iou_scorer
from halu_tasks.scorers.gold import LabelAnnotation, LabelGold, SpanAnnotation, SpanGold
from halu_tasks.scorers.kinds import Label, Spans
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.statistics.agreement import krippendorff_alpha
from halu_tasks.text.marks import Mark, marks_of, match_quote, parse_tags, trimmed

TABLE = yaml.safe_load(Path(__file__).with_name("marks.yaml").read_text("utf-8"))
TEXT = TABLE["text"]
NAMES = {"number": "number", "name": "name"}
KIND = Spans(NAMES, degrees=True)
DEGREES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=30)


def item(*marks: Mark, text: str = TEXT, kind: Spans = KIND) -> Item:
    return with_marks(Item("1", "1", "", gold=SpanGold(text=text)), marks, kind)


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["reply"][:40])
def test_marks_of_a_reply(case: dict[str, Any]) -> None:
    read = read_marks(case["reply"], TEXT, [(4, 8), (40, 43)], "passage", [*NAMES], records=True)
    assert read.answer.value == case.get("strings")
    assert read.answer.reason == case.get("reason", "")
    assert [list(span) for spans in read.spans.values() for span in spans if span] == case.get("spans", [])
    assert read.extra == case.get("outside", 0)
    if "degrees" in case:
        assert [mark.prob for mark in read.soft] == case["degrees"]
    if "categories" in case:
        assert [mark.category for mark in read.hard] == case["categories"]


@pytest.mark.parametrize("marked", ["a [HAL]b", "a b[/HAL]", "[HAL]a <mark>b[/HAL]</mark>"])
def test_tags_that_do_not_match_are_a_fault(marked: str) -> None:
    with pytest.raises(ValueError, match="tag"):
        parse_tags(marked)


def test_white_space_at_the_ends_does_not_count_and_inside_does() -> None:
    assert trimmed(TEXT, [Mark(3, 8), Mark(8, 17), Mark(23, 24)]) == [Mark(4, 16)]


SHIP = "The harbour 🚢 is run by the city of Malmø since 1931, not 931.\nThe end."


@pytest.mark.parametrize(
    ("start", "end", "quote", "at"),
    [
        (48, 52, "1931", (48, 52)),
        (49, 53, "1931", (48, 52)),  # UTF-16 code units
        (59, 62, "931", (58, 61)),
        (48, 52, "", (48, 52)),
        (48, 52, " 1931 ", (48, 52)),
        (50, 54, "1931", None),
        (58, 71, "931.\\nThe end.", (58, 71)),
    ],
)
def test_what_a_record_quotes_says_the_units_of_its_offsets(
    start: int, end: int, quote: str, at: tuple[int, int] | None
) -> None:
    mark = match_quote(SHIP, Mark(start, end), quote)
    assert (mark and mark[:2]) == at
    reply = f'[{{"start": {start}, "end": {end}, "text": {json.dumps(quote)}}}]'
    if at and quote:
        assert read_marks(reply, SHIP, [], "passage").hard == [Mark(*at)]


@pytest.mark.parametrize(
    "value",
    [
        [[4, 8, "name"]],
        [{"start": 4, "end": 8, "labels": ["name"]}],
        [{"start_offset": 4, "end_offset": 8, "label": "name", "id": 3}],
        [{"start": 4, "end": 8, "label": "name", "score": 1.0}],
    ],
)
def test_marks_in_the_shapes_of_annotation_tools(value: Any) -> None:
    assert marks_of(value) == [Mark(4, 8, category="name")]
    assert read_marks(json.dumps(value), TEXT, [], "passage", ["name"], records=True).hard == marks_of(value)


def test_a_mark_of_several_categories_has_none_of_them() -> None:
    assert marks_of([{"start": 4, "end": 8, "labels": ["name", "number"]}]) == [Mark(4, 8)]


@pytest.mark.parametrize(
    ("reply", "gold"), [("Don't go!", "Don’t go"), ("Zu\u0308rich", "ZÜRICH"), ("１９３１", "1931")]
)
def test_a_string_that_is_a_gold_one_is_placed_where_that_is(reply: str, gold: str) -> None:
    text = f"He said: {gold}, and went."
    one = item(Mark(9, 9 + len(gold)), text=text, kind=Spans())
    scorer = iou_scorer()
    figures = estimates(scorer.metrics, [scorer.score(one, reply, None)])
    assert {name: figures[name].value for name in ("iou", "exact", "unplaced")} == {"iou": 1, "exact": 1, "unplaced": 0}


@given(st.text(st.sampled_from("ab \n.-"), max_size=30), st.data())
def test_the_gold_reply_has_the_full_score(text: str, data: st.DataObject) -> None:
    ends = st.integers(0, len(text))
    marks = data.draw(
        st.lists(
            st.builds(
                lambda a, b, prob, name: Mark(min(a, b), max(a, b), prob, name),
                ends, ends, st.sampled_from([0.2, 0.6, 1.0]), st.sampled_from(["name", "number", ""]),
            ),
            max_size=4,
        )
    )  # fmt: skip
    for kind in (KIND, Spans(NAMES), Spans({}, degrees=True), Spans()):
        own = [mark if kind.categories else mark._replace(category="") for mark in marks]
        gold = item(*own, text=text, kind=kind)
        scorer = iou_scorer(**kind.scorer_arguments())
        scorers = [scorer, mushroom_scorer()] if kind.degrees else [scorer]
        for each in scorers:
            score = each.score(gold, gold.target, None)
            figures = estimates([metric for metric in each.metrics if metric.higher_is_better], [score])
            assert {name: figure.value for name, figure in figures.items() if figure.value < 1 - 1e-9} == {}


@given(DEGREES, st.data())
def test_correlation_is_spearmans(gold: list[float], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.9]), min_size=len(gold), max_size=len(gold)))
    one, two = np.array(gold), np.array(other)
    if len({*gold}) > 1 and len({*other}) > 1:
        assert correlation(one, two) == pytest.approx(spearmanr(gold, other).correlation, abs=1e-12)
    assert correlation(one, one) == pytest.approx(1.0)
    assert soft_iou(one, one) == 1.0


def test_marking_everything_where_nothing_is_wrong_has_a_correlation_only_as_published() -> None:
    nothing, everything = np.zeros(5), np.ones(5)
    assert correlation(nothing, everything) == 0.0
    assert correlation(nothing, everything, published=True) == 1.0
    assert soft_iou(nothing, everything) == 0.0


@given(DEGREES, st.data())
def test_average_precision_is_scikit_learns(gold: list[float], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.9, 1.0]), min_size=len(gold), max_size=len(gold)))
    extra = data.draw(st.integers(0, 3))
    one, two = np.array(gold), np.array(other)
    if (positive := one > 0.5).any():
        padded = average_precision_score([*positive, *[False] * extra], [*other, *[1.0] * extra])
        assert average_precision(one, two, extra) == pytest.approx(padded, abs=1e-12)
        assert average_precision(one, two, published=True) == pytest.approx(average_precision_score(positive, other))
        assert average_precision(one, one) == 1.0
    else:
        assert average_precision(one, two, extra) == float(not extra and max(other) < 0.5)
        assert average_precision(one, two, published=True) == 0.0


@pytest.mark.parametrize("end", ["1000000000060", "9" * 400])
def test_offsets_far_beyond_the_text_score_nothing(end: str) -> None:
    gold = item(Mark(4, 8), kind=Spans({}, degrees=True))
    score = iou_scorer(degrees=True).score(gold, f'[{{"start": 60, "end": {end}}}]', None)
    assert [score.facts[name] for name in ("iou", "soft_iou", "ap")] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)


def test_recall_by_category_and_balanced_accuracy() -> None:
    scorer = iou_scorer(categories=NAMES)
    wrong, right = item(Mark(4, 8, category="name"), Mark(40, 43, category="number"), kind=Spans(NAMES)), item()
    replies = [(wrong, '[{"text": "film", "category": "number"}]'), (wrong, ""), (right, "[]"), (right, "film")]
    figures = estimates(scorer.metrics, [scorer.score(gold, reply, None) for gold, reply in replies])
    values = {name: figure.value for name, figure in figures.items()}
    assert (values["recall_name"], values["recall_number"], values["category_acc"]) == (0.5, 0.0, 0.0)
    assert values["balanced_acc"] == 0.5  # one of two, in each of both classes; the unread reply is a miss
    only_wrong = [scorer.score(gold, reply, None) for gold, reply in replies[:2]]
    assert "balanced_acc" not in estimates(scorer.metrics, only_wrong)


def test_balanced_accuracy_of_labels_counts_unread_replies_as_misses() -> None:
    scorer = verdict_scorer("true_false", ["True", "False"])
    replies = {"True": ["True", "no idea"], "False": ["False", "False", "False", "True"]}
    scores = [scorer.score(Item("1", "1", target), reply, None) for target, own in replies.items() for reply in own]
    assert estimates(scorer.metrics, scores)["balanced_acc"].value == (1 / 2 + 3 / 4) / 2


LABEL = Label(("bad", "unsure", "good"), lambda reply: None)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(("pool", "target"), [("any", "bad"), ("all", "good"), ("majority", "unsure")])
def test_pooled_labels(pool: str, target: str) -> None:
    records = [LabelAnnotation("a", label) for label in ("good", "unsure", "bad", "unsure", "good")]
    assert pooled(Item("1", "1", "", gold=LabelGold(pool=pool)), records, LABEL).target == target


@pytest.mark.parametrize(("pool", "spans", "categories"), CASES["pooled_spans"])
def test_pooled_spans(pool: str, spans: list[list[int]], categories: list[str]) -> None:
    people = {
        "a": [Mark(0, 3, category="name")],
        "b": [Mark(1, 2, category="name"), Mark(2, 4, category="number")],
        "c": [Mark(2, 5, category="number"), Mark(6, 7, category="name")],
    }
    records = [SpanAnnotation(by, tuple(marks)) for by, marks in people.items()]
    gold = pooled(Item("1", "1", "", gold=SpanGold(text="abcdefg", pool=pool)), records, Spans(NAMES)).gold
    assert ([*map(list, gold.spans)], gold.categories) == (spans, categories)
    soft = pooled(
        Item("1", "1", "", gold=SpanGold(text="abcdefg", pool="soft")), records, Spans(degrees=True, categories=NAMES)
    )
    assert math.fsum(mark.prob * (mark.end - mark.start) for mark in soft.gold.degrees or ()) == pytest.approx(10 / 3)


def test_alpha_of_annotators_is_that_of_their_labels_and_characters() -> None:
    labels: dict[str, list[str | None]] = {
        "a": ["bad", "good", "good", "bad"],
        "b": ["bad", "good", "bad", None],
        "c": ["good", "good", "bad", "bad"],
    }
    items = []
    for n in range(4):
        records = [LabelAnnotation(by, own[n] or "") for by, own in labels.items()]
        items.append(Item(str(n), str(n), "", gold=LabelGold(pool="any", annotators=records)))
    expected = krippendorff_alpha([*labels.values()])
    found = annotators_alpha(items, LABEL)
    assert expected and found and found.value == pytest.approx(expected.value)
    marks = {"a": [Mark(0, 2)], "b": [Mark(1, 3)], "c": []}
    given = [SpanAnnotation(by, tuple(own)) for by, own in marks.items()]
    spans = Item("1", "1", "", gold=SpanGold(text="abcd", pool="any", annotators=given))
    characters = [
        ["x" if any(m.start <= at < m.end for m in own) else "-" for at in range(4)] for own in marks.values()
    ]
    alpha, same = annotators_alpha([spans], Spans()), krippendorff_alpha(characters)
    assert alpha and same and alpha.value == pytest.approx(same.value)


def test_white_space_at_the_ends_of_marks_is_no_disagreement() -> None:
    people = {"a": Mark(2, 4), "b": Mark(1, 5)}
    records = [SpanAnnotation(by, (mark,)) for by, mark in people.items()]
    gold = SpanGold(text="a bc d", pool="majority", annotators=records)
    alpha = annotators_alpha([Item("1", "1", "", gold=gold)], Spans())
    assert alpha and alpha.value == 1.0
