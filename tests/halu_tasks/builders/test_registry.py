"""Options of builders as users give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from halu_tasks.builders.registry import pipeline_named
from halu_tasks.cli.arguments import key_values
from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import PROMPTS


def test_norwegian_is_a_language(tmp_path: Path) -> None:
    text = (PROMPTS / "haluagent.yaml").read_text(encoding="utf-8")
    prompts = tmp_path / "norsk.yaml"
    prompts.write_text(text.replace("_en:", "_no:"), encoding="utf-8")
    # `no` is false to YAML, by which options are read
    options = key_values(["language=no"], "-T")
    assert pipeline_named("haluagent", {**options, "prompts": str(prompts)}).language == "no"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("questions", "two", "an integer, got 'two'"),
        ("questions", True, "an integer, got True"),
        ("check_language", "maybe", "true or false, got 'maybe'"),
        ("types", 3, "a list of strings, got 3"),
    ],
)
def test_an_option_of_another_type_is_an_error(name: str, value: Any, expected: str) -> None:
    with pytest.raises(UsageError, match=f"^haluagent: option {name}: expected {expected}$"):
        pipeline_named("haluagent", {name: value})


def test_values_are_converted_where_their_type_is_clear() -> None:
    pipeline = pipeline_named("haluagent", {"types": "EntErr, RelErr", "language": "en", "questions": None})
    assert (pipeline.settings["types"], pipeline.settings["questions"]) == (["EntErr", "RelErr"], 1)
