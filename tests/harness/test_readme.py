"""The commands that README and docs show for real models: their results can be reported."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {"lm_eval": "lm_eval", "inspect": "inspect_ai", "halu-tasks": "halu_tasks"}
SERVED = ("hf", "vllm", "local-completions", "local-chat-completions", "openai-chat-completions")


def commands(page: Path) -> list[list[str]]:
    """The commands of a page's console blocks, as words."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line) for line in lines if line.startswith(tuple(PROGRAMS))]


def test_each_lm_eval_command_for_a_real_model_keeps_the_replies_that_a_report_reads() -> None:
    shown = [
        (page.name, words)
        for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for words in commands(page)
        if words[0] == "lm_eval" and "--model" in words and words[words.index("--model") + 1] in SERVED
    ]
    assert {"README.md", "running.md"} <= {page for page, _ in shown}
    for page, words in shown:
        assert "--log_samples" in words and "--output_path" in words, (page, words)
        if words[words.index("--model") + 1] != "local-completions":
            assert "--apply_chat_template" in words, (page, words)


@pytest.mark.slow
def test_the_readmes_commands_for_real_models_end_in_a_report(serve: Callable[..., Any], tmp_path: Path) -> None:
    """With a server on loopback in the models' place, and the sample in that of the data."""
    server = serve(lambda request: "Final Verdict: True")
    every = commands(ROOT / "README.md")
    start = next(number for number, words in enumerate(every) if words[:3] == ["lm_eval", "--model", "hf"])
    environment = {"HALU_TASKS_DATA": "sample", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url}
    for words in every[start : start + 3]:
        line = " ".join(words[1:]).replace("--model hf ", "--model local-chat-completions ")
        line = re.sub(r"pretrained=(\S+)", rf"model=\1,base_url={server.url}/chat/completions", line)
        ended = subprocess.run(
            [sys.executable, "-m", PROGRAMS[words[0]], *line.split()],
            capture_output=True, text=True, cwd=tmp_path, timeout=300,
            env=os.environ | environment | {"INSPECT_DISPLAY": "plain"},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
    told = json.loads((tmp_path / "report" / "report.json").read_text())
    assert {entry["model"] for entry in told["entries"]} == {"Qwen/Qwen2.5-0.5B-Instruct", "openai/gpt-4o-mini"}
    assert len(told["results"]) == 10 and not told["skipped"] and told["pairs"]
