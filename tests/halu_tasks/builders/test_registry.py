"""Options of builders as users give them."""

from __future__ import annotations

from pathlib import Path

from halu_tasks.builders.registry import pipeline_named
from halu_tasks.cli.arguments import key_values
from halu_tasks.prompting import PROMPTS


def test_norwegian_is_a_language(tmp_path: Path) -> None:
    text = (PROMPTS / "haluagent.yaml").read_text(encoding="utf-8")
    prompts = tmp_path / "norsk.yaml"
    prompts.write_text(text.replace("_en:", "_no:"), encoding="utf-8")
    # `no` is false to YAML, by which options are read
    options = key_values(["language=no"], "-T")
    assert pipeline_named("haluagent", {**options, "prompts": str(prompts)}).language == "no"
