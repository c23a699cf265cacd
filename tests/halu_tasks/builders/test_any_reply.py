"""Whatever models reply, no pipeline raises, each draft is accounted for, and kept rows are what the tasks read."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from common import fenced
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_pipelines import ScriptedModel, drafted

from halu_tasks.benchmarks import factchd, halluverse25
from halu_tasks.benchmarks.refact import check_correctable, originals_of
from halu_tasks.benchmarks.refact_tags import tagged_spans
from halu_tasks.builders.documents import Document, one_line
from halu_tasks.builders.pipeline import Draft, pipeline_named
from halu_tasks.scorers.benchmarks.explanations import explanation_of, label_of
from halu_tasks.text.sentences import sentences

WORDS = [
    *("RNA", "RNA", "tRNA", "cell", "Cell", "10", "10.5", "1,000", "cafe\u0301", "café", "地球", "太阳", "👍", "👍🏽"),
    *("👩\u200d🔬", "خلية", "الخلية", "C++", "O₂", "a", "it", "the", "<b>", "</b>", "<neg", "<swap", "<", "&", "“air”"),
    *("it's", "İstanbul", "ß", "\u202eabc", "====", "[]", "{}", '"', "\\", "-", "•", "1.", ",", ";", ":"),
]
ANY = st.text(st.characters(), max_size=30)  # halves of characters too
SENTENCE = st.builds(
    lambda words, end: " ".join(words) + end,
    st.lists(st.sampled_from(WORDS), min_size=3, max_size=8),
    st.sampled_from("..?!。؟"),
)
SPACE = st.sampled_from([" ", "\n", "\r\n", "\n\n- ", "\u3000", "\u2028"])
TEXT = st.lists(st.builds(str.__add__, SENTENCE, SPACE), min_size=2, max_size=6).map("".join)
ODD = ["", "<think>", "yes", "[[[[", "{" * 50, '["a\\ud800"]', '{"query": "\\ud800", "response": "a"}', "null", "[[]]",
       '{"edited": {"a": 1}}', '{"explanation": "FACTUAL. </think> 1873. One. Two."}', "a" * 9_000]  # fmt: skip
ODD += [json.dumps({"verdict": verdict}) for verdict in ("yes", "no", "uncertain", "perhaps", None)]
VERDICTS = {"verdict": "yes"}, {"verdict": "no"}, {"verdict": "uncertain"}
TRIPLES = [["Rope Hill", "river", "Varn"], ["Varn", "mouth", "Lake Oss"]]

Replies = Mapping[str, Callable[[list[str], Callable[[list[Any]], Any]], Any]]
"""Replies that follow the format, made of what a prompt has fenced and of a function that chooses."""

REPLIES: dict[str, Replies] = {
    "refact_pipeline": {
        "facts": lambda shown, one: [one(sentences(shown[1])) for _ in range(2)],
        "negate": lambda shown, one: {"sentence": shown[2].replace(one(shown[2].split()), one(WORDS))},
        "phrase": lambda shown, one: [one(shown[1].split()), one(WORDS), "RNA"],
        "mentions": lambda shown, one: [one(shown[-2].split() or ["it"])],
        "replace": lambda shown, one: [f"{one(WORDS)} {phrase.casefold()}" for phrase in json.loads(shown[-1])],
        "equivalent": lambda shown, one: [one(list(VERDICTS)) for _ in json.loads(shown[0])],
        "convincing": lambda shown, one: one([1, {"choice": 2}, 3]),
        "verify": lambda shown, one: [VERDICTS[0], VERDICTS[0], one(list(VERDICTS))],
    },
    "halluverse25_pipeline": {
        "extract": lambda shown, one: [*sentences(shown[0])[:4], one(sentences(shown[0]))],
        **dict.fromkeys(
            ("entity", "relation", "sentence"),
            lambda shown, one: {"edited": one([shown[0].replace(one(shown[0].split()), "Szada"), "She swam to Oss."])},
        ),
        "verify": lambda shown, one: {
            "wrong": one(["yes", "yes", "no"]), "fluent": "yes", "type": one(["entity", "relation", "sentence"])
        },
    },
    "factchd_pipeline": {
        "query": lambda shown, one: {"query": f"What of {one(WORDS)}, Rope Hill?", "response": f"{one(WORDS)} is."},
        "response": lambda shown, one: {"response": f"{one(WORDS)} it is not."},
        "explanation": lambda shown, one: {"explanation": f"One. {shown[0][:40]} is so. {one(['FACTUAL', 'It is'])}."},
        "check_label": lambda shown, one: one(list(VERDICTS)),
        **dict.fromkeys(("check_pattern", "check_explanation"), lambda shown, one: one([VERDICTS[0], *VERDICTS])),
    },
    "haluagent": {
        "question": lambda shown, one: [
            {"question": one(WORDS), "answer": "It is.", "support": one(sentences(shown[0]))}
        ],
        "hallucinate": lambda shown, one: [one(WORDS), one(WORDS), "it is"],
        "label": lambda shown, one: [one(["EntErr", "RelErr", "entity error", "x"]) for _ in range(3)],
        "check_answer": lambda shown, one: [VERDICTS[0]],
        **{name: lambda shown, one: [one(list(VERDICTS)) for _ in range(3)]
           for name in ("check_hallucination", "check_label")},
    },
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "refact_pipeline": {"nli_model": "judge", "min_chars": 0, "min_score": 0, "candidates": 2},
    "halluverse25_pipeline": {"min_sentences": 1},
    "haluagent": {"language": "en"},
}
FIELDS = st.sampled_from(["vanilla", "multi_hop", "comparison", "set_operation", TRIPLES, [["r", "x"]], [1], None, 3])


def check_refact(row: dict[str, Any], draft: Draft, text: str) -> None:
    check_correctable(row)
    stripped, spans = tagged_spans(row["error_spans"])
    assert stripped == row["confabulated_answer"] != row["correct_answer"] == text
    edges = [0, *(edge for span in spans for edge in span), len(stripped)]
    between = [stripped[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    end = len(text) - len(between[-1])
    originals = originals_of(row) if draft.kind == "swap" else [text[len(between[0]) : end]]
    assert between[0] + "".join(map(str.__add__, originals, between[1:])) == text
    for (start, end), original in zip(spans, originals, strict=True):
        assert original.casefold() != stripped[start:end].casefold()


def check_halluverse25(row: dict[str, Any], draft: Draft, text: str) -> None:
    halluverse25.type_of(row)
    assert row["orig_sentence"] in one_line(text) and row["final_label"] == draft.kind


def check_factchd(row: dict[str, Any], draft: Draft, text: str) -> None:
    factchd.check_row(row)
    assert label_of(row["reason"]) == row["label"] and explanation_of(row["reason"])


CHECKS = {
    "refact_multi_error.jsonl": check_refact, "refact_single_error.jsonl": lambda row, *_: check_correctable(row),
    "en_final_data.csv": check_halluverse25, "fact_test_noe.jsonl": check_factchd,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", REPLIES)
@given(TEXT, st.dictionaries(st.sampled_from(["pattern", "triples", "title"]), FIELDS), ANY, st.integers())
@settings(max_examples=100)
def test_drafts_are_accounted_for_and_kept_rows_are_read(
    name: str, text: str, fields: dict[str, Any], odd: str, seed: int
) -> None:
    pipeline = pipeline_named(name, {**OPTIONS.get(name, {}), "check_language": False})
    text = f"Twenty letters of RNA stand in this cell. It was so in 1873. {text}"
    document = Document("1", text, {**fields, "question": "Why?"})

    def reply(prompt_name: str, prompt: str, draw: int) -> Any:
        key = f"{seed}{prompt}{draw}".encode("utf-8", "surrogatepass")
        numbers = iter(hashlib.sha512(key).digest())
        if next(numbers) < 20:
            return [odd, *ODD][next(numbers) % (len(ODD) + 1)]
        return REPLIES[name][prompt_name](fenced(prompt), lambda choices: choices[next(numbers) % len(choices)])

    replies = {each: lambda prompt, draw, each=each: reply(each, prompt, draw) for each in REPLIES[name]}
    drafts = drafted(pipeline, document, ScriptedModel(pipeline, replies))
    assert drafts == drafted(pipeline, document, ScriptedModel(pipeline, replies))
    assert len({draft.id for draft in drafts}) == len(drafts) > 0
    for draft in drafts:
        assert {fault.check for fault in draft.faults} <= set(draft.checks) <= set(pipeline.checks)
        assert all(0 < len(fault.reason) < 80 and "\n" not in fault.reason for fault in draft.faults)
        assert draft.row or draft.faults
        json.dumps([draft.row, draft.faults], ensure_ascii=False).encode()
        for file, row in pipeline.lines(draft) if draft.row else ():
            CHECKS.get(file, lambda *_: None)(row, draft, text)
