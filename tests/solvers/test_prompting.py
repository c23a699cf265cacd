"""Prompts: what stands in them, what users may put in their place, and what a model is sent."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Example, Item
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import Prompt, fill, messages, prompt_hash
from halu_tasks.tasks import Evaluation, build, registry
from halu_tasks.tasks.prompting import prompts_of

TASKS, _ = registry()
NAME = "refact_judgment_independent"
OWN = TASKS[NAME].prompts.wording(Options()).prompt
WITH_COT = [name for name, task in TASKS.items() if "cot" in task.prompts.wording(Options()).prompt]


def own_prompt(file: str) -> Prompt:
    return prompts_of(TASKS[NAME], Options(prompts=(file,)))[Path(file).stem]


Write = Callable[[object], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A prompt file of the given content (text as it stands, else as YAML); returns its path."""

    def written(content: object) -> str:
        path = tmp_path / "prompts.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
        return str(path)

    return written


# --- fill ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"verdict": "x"}', "{}", "{ a }", "{A}", "{a-b}", "{{", "a}", "{0}", "{a!r}", "{é}"])
def test_braces_that_are_no_placeholder_are_text(text: str) -> None:
    assert fill(text, {"a": "1"}) == text


NAMES = st.sampled_from(["a", "b", "long_name", "_"])
TEXTS = st.text(st.sampled_from("{}ab_ \\g<0>1é\n\u202e") | st.characters(), max_size=12)


PARTS = TEXTS.filter(lambda text: "{" not in text) | NAMES.map(lambda name: f"{{{name}}}")


@given(st.lists(PARTS, max_size=8), st.data())
def test_fill_replaces_placeholders_and_nothing_else(parts: list[str], data: st.DataObject) -> None:
    fields = {name: data.draw(TEXTS) for name in ("a", "b", "long_name", "_")}
    wanted = [fields[part[1:-1]] if part.startswith("{") else part for part in parts]
    assert fill("".join(parts), fields) == "".join(wanted)


# --- the package's prompts ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample() -> dict[str, Evaluation]:
    return {name: build(name, Options(data="sample")) for name in TASKS}


@pytest.mark.parametrize("name", TASKS)
def test_every_prompt_renders_for_every_item_with_its_fields_in_it(name: str, sample: dict[str, Evaluation]) -> None:
    evaluation = sample[name]
    assert len(evaluation.items) >= 3
    cases = list(evaluation.task.items(evaluation.located, evaluation.options))
    assert [case.id for case in cases] == [item.id for item in evaluation.items]
    for case, item in zip(cases, evaluation.items, strict=True):
        # a field may be there for methods that look at more than the prompt shows
        shown = [field for field in case.fields if f"{{{field}}}" in evaluation.prompt["user"]]
        assert shown and all(case.fields[field] in item.prompt for field in shown)
        assert not any(f"{{{field}}}" in item.system + item.prompt for field in case.fields)
        assert item.prompt == item.prompt.strip() and item.system == item.system.strip()


@pytest.mark.parametrize("name", TASKS)
def test_items_asked_alike_have_the_same_answer_and_the_same_source(name: str, sample: dict[str, Evaluation]) -> None:
    """Two rows of one original answer ask it twice; nothing else may look alike."""
    asked: dict[tuple[str, str], Item] = {}
    for item in sample[name].items:
        first = asked.setdefault((item.system, item.prompt), item)
        assert (item.target, item.cluster) == (first.target, first.cluster)


# --- chain of thought -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_COT)
def test_a_chain_of_thought_has_its_own_system_text_and_no_cue_for_the_answer(
    name: str, sample: dict[str, Evaluation]
) -> None:
    reasoned = build(name, Options(data="sample", cot=True, fewshot=1))
    cue = {"Final Verdict:", "Wrong Sentence:", "Wrong Entities:", "Replacements:"}
    for plain, item in zip(sample[name].items, reasoned.items, strict=True):
        question, _, last = plain.prompt.rpartition("\n")
        assert last in cue and item == replace(plain, system=item.system, prompt=question)
        assert "step by step" in item.system
    (example,) = reasoned.examples
    assert not any(example.prompt.endswith(last) for last in cue)
    assert any(f"\n{last} " in example.reply for last in cue)


def test_chain_of_thought_where_there_is_none_is_an_error() -> None:
    without = set(TASKS) - set(WITH_COT)
    assert set(WITH_COT) == {name for name in TASKS if name.startswith("refact")}
    for name in without:
        with pytest.raises(UsageError, match=f"task {name} has no chain-of-thought prompt"):
            build(name, Options(data="sample", cot=True))


# --- a user's prompts -----------------------------------------------------------------------------


def test_a_users_words_reach_the_model_and_mark_the_result(write: Write) -> None:
    file = write({NAME: {"user": "Q: {question} {not a field}\nA: {answer}\nTrue or False?"}})
    own, given = (build(NAME, Options(data="sample", prompts=prompts)) for prompts in ((), (file,)))
    assert given.items[0].prompt.startswith("Q: ") and given.items[0].prompt.endswith("\nTrue or False?")
    assert " {not a field}\nA: " in given.items[0].prompt
    assert given.items[0].system == own.items[0].system
    assert given.prompt_hash != own.prompt_hash
    assert f"prompts_{given.prompt_hash}" in given.version_tags and not any(
        "prompts" in mark for mark in own.version_tags
    )
    assert given.provenance.prompt_hash == given.prompt_hash


def test_a_name_that_is_no_prompt_is_an_error_that_lists_the_names(write: Write) -> None:
    with pytest.raises(UsageError, match=r"unknown prompt 'refact_judgement'.*; known: .*cfaith_choice, "):
        own_prompt(write({"refact_judgement": {"user": "x"}}))


@pytest.mark.parametrize(
    ("content", "reason"), [*CASES["a_malformed_file_is_an_error_of_one_line"], ("[" * 5000, "not YAML")]
)
def test_a_malformed_file_is_an_error_of_one_line(content: str, reason: str, write: Write) -> None:
    file = write(content)
    with pytest.raises(UsageError) as raised:
        own_prompt(file)
    message = str(raised.value)
    assert str(file) in message and reason in message and len(message.splitlines()) == 1


def test_an_emoji_written_as_json_writes_it_is_one_character(write: Write) -> None:
    """A prompt file may be JSON, which YAML includes, and JSON escapes a wide character as two."""
    given = own_prompt(write(json.dumps({NAME: {"user": "😀 {question}"}})))
    assert given["user"] == "😀 {question}"
    assert prompt_hash(given) == prompt_hash({**OWN, "user": "😀 {question}"})


def test_an_unknown_placeholder_in_a_users_prompt_is_told_when_the_items_are_built(write: Write) -> None:
    evaluation = build(NAME, Options(data="sample", prompts=(write({NAME: {"user": "{question} {answer_a}"}}),)))
    with pytest.raises(UsageError, match=r"prompt: \{answer_a\} is not a field; fields: question, answer"):
        _ = evaluation.items


# --- messages -------------------------------------------------------------------------------------


def test_messages_are_system_examples_question() -> None:
    item = Item("i", "c", "t", "S", "Q")
    assert messages(item, [Example("q1", "a1"), Example("q2", "a2")]) == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "q1"},
        {"role": "assistant", "content": "a1"},
        {"role": "user", "content": "q2"},
        {"role": "assistant", "content": "a2"},
        {"role": "user", "content": "Q"},
    ]
    assert messages(replace(item, system="")) == [{"role": "user", "content": "Q"}]
