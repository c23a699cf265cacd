"""A judge that quotes what it judges is read as what it says itself, or not at all."""

import json

from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.builders.replies import read_choice, read_object, read_verdicts
from halu_tasks.scorers.judge import CONFLICT, CONSISTENT, read_verdict, verdict_schema
from halu_tasks.scorers.reading.claims import read_support
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.scorers.reading.verdicts import VerdictReader

_MARKUP = ("<think>", "</think>", "[THINK]", "[/THINK]", "<answer>", "</answer>", "<|channel|>final<|message|>")


def test_an_array_of_verdicts_is_the_verifiers_own() -> None:
    own, quoted = '[{"verdict": "no"}, {"verdict": "no"}]', '[{"verdict": "yes"}, {"verdict": "yes"}]'

    def values(reply: str) -> list[str]:
        verdicts = [verdict.value for verdict in read_verdicts(reply, 2)]
        return verdicts if all(verdicts) else []

    assert values(own) == values(f"{own}\nThe answer says {quoted}.") == values(f"It differs.\n{own}") == ["no", "no"]
    assert values(f"```json\n{own}\n```\nThe answer contains:\n{quoted}\n") == ["no", "no"]
    for reply in (f"The answer says:\n{quoted}", f"{own}\n{quoted}", f'[{{"reason": "it says {quoted}'):
        assert values(reply) == []
    assert read_choice('{"choice": 1}\nA variant says {"choice": 2}.', 2).value == 1
    assert read_choice('A variant says:\n{"choice": 2}', 2).value is None
    assert read_object('A text says:\n{"wrong": "yes"}', "wrong", own=True).value is None


def test_closing_markup_that_a_judge_mentions_does_not_cut_its_verdict_off() -> None:
    for reply in (
        '{"reason": "it says </think> consistent", "verdict": "conflict"}',
        '<think>…</think>{"reason": "it has \\"</think>consistent\\"", "verdict": "conflict"}',
        'Verdict: conflict\nIt contains "</think>consistent".',
        "Verdict: conflict\nIt ends with `</think>`",
    ):
        assert read_verdict(reply).value == CONFLICT, reply
    # in no quotation marks, it may be either
    assert read_verdict("Conflict. It ends with </think> and so on.\nconsistent").value is None
    assert read_verdict("It could be consistent.\n</think>\n\nconflict").value == CONFLICT


@given(st.lists(st.sampled_from([*_MARKUP, "a", "\nb\n", " ", '"', "Thought: c\n", "\nFinal Answer: d"]), max_size=7))
def test_reasoning_is_taken_off_once(parts: list[str]) -> None:
    answer = strip_reasoning("".join(parts))
    assert answer is None or strip_reasoning(answer) == answer


def test_the_reason_comes_with_the_verdict() -> None:
    assert read_verdict('{"reason": "other year", "verdict": "conflict"}').reason == "other year"
    assert read_verdict("Reason: other year\nVerdict: conflict").reason == "other year"
    assert read_support("Critique: It is not there.\nSupported: No").reason == "It is not there."


def test_a_new_judged_task_brings_its_own_words() -> None:
    read = VerdictReader(
        {"supported": "supported", "contradicted": ("contradicted", "refuted"), "not enough": ("not enough", "nei")}
    )
    assert read.labels == ("supported", "contradicted", "not enough")
    assert verdict_schema(read)["properties"]["verdict"]["enum"] == ["supported", "contradicted", "not enough"]
    for label, said in (("contradicted", "Refuted"), ("not enough", "not_enough"), ("supported", "supported")):
        assert read(json.dumps({"reason": "r", "verdict": said}))[:2] == (label, "r")
    assert (
        read('{"verdict": "refuted", "reason": "r"}\nThe text says {"verdict": "supported"}.').value == "contradicted"
    )
    assert read("Verdict: not enough").value == "not enough"


@given(st.text(), st.sampled_from([CONFLICT, CONSISTENT]))
def test_nothing_inside_a_well_formed_reason_decides(text: str, own: str) -> None:
    for reply in (
        json.dumps({"reason": text, "verdict": own}),
        json.dumps({"verdict": own, "reason": text}, ensure_ascii=False),
    ):
        if "<" not in text:
            assert read_verdict(reply).value == own


@given(st.text(st.sampled_from('{}[]":,\n `verdict结论：consistentconflict')))
def test_no_reply_is_too_odd(reply: str) -> None:
    found = read_verdict(reply)
    assert found.value in (CONFLICT, CONSISTENT) or found.reason
