"""What a pipeline reads of a model's reply."""

import json

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.builders.replies import (
    read_object,
    read_objects,
    read_texts,
    read_verdict,
    read_verdicts,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(
    st.lists(TEXT, min_size=1, max_size=5),
    st.sampled_from(["{}", "```json\n{}\n```", '<think>["x"]</think> Here: {}.']),
)
def test_texts_come_through_whatever_stands_around(texts: list[str], form: str) -> None:
    reply = form.replace("{}", json.dumps(texts))
    assert read_texts(reply).value == [text.strip() for text in texts]
    assert read_texts(reply, len(texts) + 1).reason == f"{len(texts)} strings instead of {len(texts) + 1}"


NINES = "9" * 5_000
ODD = [
    *("{" * 20_000, "[" * 20_000, f'{{"verdict": {NINES}}}', f"[{NINES}]", f'[{{"verdict": {NINES}}}]', "\0\ud800"),
    *('[{"a": "\\ud800"}]', '[{"a": ["a"]}]', "[null, [[]], {}, NaN, 1e999]"),
]


@given(st.text() | st.sampled_from(ODD))
def test_no_reply_is_too_odd(reply: str) -> None:
    for read in (
        read_texts,
        read_verdict,
        lambda text: read_objects(text, "a"),
        lambda text: read_verdicts(text, 2)[0],
    ):
        found = read(reply)
        assert found.value is not None or found.reason


@pytest.mark.parametrize(("reply", "value", "reason"), CASES["objects"])
def test_objects(reply: str, value: dict[str, str] | None, reason: str) -> None:
    assert read_object(reply, "a", "b")[:2] == (value, reason)


def test_a_list_of_objects_may_be_one_alone() -> None:
    assert read_objects('[{"a": "1"}, {"a": "2"}]', "a").value == [{"a": "1"}, {"a": "2"}]
    assert read_objects('{"a": "1"}', "a").value == [{"a": "1"}]
    assert read_objects('[{"a": "1"}, {"b": "2"}]', "a").value is None


def test_several_verdicts_have_to_be_as_many() -> None:
    assert [v.value for v in read_verdicts('[{"verdict": "yes"}, "no"]', 2)] == ["yes", "no"]
    for reply in ('[{"verdict": "yes"}]', '[{"verdict": "yes"}, {"verdict": "hm"}]'):
        assert [(v.value, v.reason) for v in read_verdicts(reply, 2)] == [(None, "1 verdicts instead of 2")] * 2
    assert [v.value for v in read_verdicts("yes", 1)] == ["yes"]


def test_halves_of_characters_are_no_text() -> None:
    assert read_texts(r'["a\ud83d\ude00", "b"]', 2).value == ["a\U0001f600", "b"]
    found = read_texts(r'["a\ud83d", "b"]', 2)
    assert found.value is None and found.reason == "no JSON array of strings"
