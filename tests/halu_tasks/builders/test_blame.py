"""Which prompt of a builder is blamed for a failure, on which its optimization rests; and HaluAgent's other wording."""

import json
from pathlib import Path

import pytest
from cases import CASES

from halu_tasks.builders.pipeline import Draft, Fault, pipeline_named, pipelines
from halu_tasks.builders.pipelines.haluagent import HaluAgent
from halu_tasks.core.prompting import PLACEHOLDER, PROMPTS, read_prompts


@pytest.mark.parametrize(("builder", "kind", "check", "reason", "prompts"), CASES["a_failure_is_blamed_on_prompts"])
def test_a_failure_is_blamed_on_prompts(builder: str, kind: str, check: str, reason: str, prompts: list[str]) -> None:
    pipeline = pipeline_named(builder, {})
    failure = Fault(check, reason)
    assert check in pipeline.checks
    draft = Draft(id="1", kind=kind, document="d", checks=(check,), faults=(failure,))
    assert list(pipeline.blamed(failure, draft)) == prompts
    assert set(prompts) <= set(pipeline.generating)


def test_every_builder_can_be_optimized() -> None:
    for name, cls in pipelines().items():
        assert cls.generating and set(cls.generating) <= set(cls.prompts_used), name


@pytest.mark.parametrize("language", ["en", "zh"])
def test_prompts_with_examples_end_with_what_they_are_about(language: str) -> None:
    plain = pipeline_named("haluagent", {"language": language})
    pipeline = pipeline_named("haluagent", {"language": language, "examples": True})
    assert pipeline.settings["prompt_hash"] != plain.settings["prompt_hash"]
    changed = {name for name, text in pipeline.texts.items() if text != plain.texts[name]}
    assert changed == set(pipeline.texts) - {"types", "check_types", "choice"}
    for name in changed:
        text = pipeline.texts[name]
        assert set(PLACEHOLDER.findall(text)) == set(PLACEHOLDER.findall(plain.texts[name])), name
        example, end = ("Output: ", "Output:") if language == "en" else ("输出：[", "输出：")
        assert text.index(example) < text.rindex("{") and text.endswith(end), name


def test_a_users_prompts_take_the_place_of_both_wordings(tmp_path: Path) -> None:
    packaged = read_prompts(PROMPTS / "haluagent.yaml")
    own = tmp_path / "own.yaml"
    question = "Mine: {document} {number} {type} {definition}"
    own.write_text(f"haluagent_question_en:\n  user: '{question}'\n")
    for examples in (False, True):
        options = {"language": "en", "prompts": str(own), "examples": examples}
        assert pipeline_named("haluagent", options).texts["question"] == question
    french = tmp_path / "french.yaml"
    lines = [
        f"{name.removesuffix('_en')}_fr:\n  user: |-\n" + "".join(f"    {line}\n" for line in text["user"].split("\n"))
        for name, text in packaged.items()
        if name.endswith("_en") and "with_examples" not in name
    ]
    french.write_text("".join(lines))
    assert pipeline_named("haluagent", {"language": "fr", "prompts": str(french)}).texts["question"]


def test_definitions_of_types_may_be_rewritten_but_keep_their_names(tmp_path: Path) -> None:
    packaged = pipeline_named("haluagent", {"language": "en"})
    text = packaged.texts["types"]
    longer = text.replace("of something wrong.", "of something wrong.\n  Example 1: it happened in 1921, not in 1912.")
    assert longer != text and not packaged.unusable("types", longer)
    assert packaged.unusable("types", text.replace("SpaErr", "Space")) == "leaves out or renames SpaErr"
    assert packaged.unusable("types", text.replace("relation error:", "link:")) == "leaves out or renames RelErr"
    own = tmp_path / "own.yaml"
    own.write_text(json.dumps({"haluagent_types_en": {"user": longer}}))
    rewritten = pipeline_named("haluagent", {"language": "en", "prompts": str(own)})
    assert isinstance(rewritten, HaluAgent) and rewritten.kinds["SpaErr"][1].endswith("1921, not in 1912.")
    # what is checked remains
    assert rewritten.texts["check_types"] == text
