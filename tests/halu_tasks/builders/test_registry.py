"""Options of builders as users give them."""

from pathlib import Path
from typing import Any

import pytest
from cases import CASES

from halu_tasks.builders.drafting import build_task
from halu_tasks.builders.pipeline import pipeline_named, pipelines
from halu_tasks.cli import main
from halu_tasks.cli.command import key_values
from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import PROMPTS
from halu_tasks.core.settings import settings_of


def test_norwegian_is_a_language(tmp_path: Path) -> None:
    text = (PROMPTS / "haluagent.yaml").read_text(encoding="utf-8")
    prompts = tmp_path / "norsk.yaml"
    prompts.write_text(text.replace("_en:", "_no:"), encoding="utf-8")
    # `no` is false to YAML, by which options are read
    options = key_values(["language=no"], "-T")
    assert pipeline_named("haluagent", {**options, "prompts": str(prompts)}).language == "no"


@pytest.mark.parametrize(("name", "value", "expected"), CASES["an_option_of_another_type_is_an_error"])
def test_an_option_of_another_type_is_an_error(name: str, value: Any, expected: str) -> None:
    with pytest.raises(UsageError, match=f"^haluagent: option {name}: expected {expected}$"):
        pipeline_named("haluagent", {name: value})


def test_values_are_converted_where_their_type_is_clear() -> None:
    pipeline = pipeline_named("haluagent", {"types": "EntErr, RelErr", "language": "en", "questions": None})
    assert (pipeline.settings["types"], pipeline.settings["questions"]) == (["EntErr", "RelErr"], 1)


def test_options_are_listed_before_anything_else_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "options", "factchd_pipeline"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0].startswith("factchd_pipeline: ")
    assert "  -T generator_temperature=1: temperature of the generator's calls; default: the paper's" in listed
    assert len(listed) == 1 + len(settings_of(pipelines()["factchd_pipeline"]))


def test_a_task_without_documents_says_how_to_name_them() -> None:
    with pytest.raises(UsageError, match=r"haluagent makes items of documents; name .* with -T documents="):
        build_task("haluagent")
