"""A user's own task file, derived from a packaged one, in both harnesses and in a report over both."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from programs import run as program

from halu_tasks.tasks.yaml_files import task_configs

pytestmark = pytest.mark.slow

OWN = """include: {base}
task: my_refact
doc_to_text: |-
  ZZZ {{{{question}}}}
  {{{{answer}}}}
  Verdict:
generation_kwargs: {{temperature: 0.7, do_sample: true}}
"""
BASE = task_configs() / "refact" / "refact_judgment_independent.yaml"


def run(*words: str | Path, folder: Path) -> None:
    done = program(*words, folder=folder)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", params=[("--include_path", ".", "--tasks", "my_refact"), ("--tasks", "my_refact.yaml")])
def folder(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a derived task was run in both harnesses, by its folder and by its file."""
    folder = tmp_path_factory.mktemp("derived")
    (folder / "my_refact.yaml").write_text(OWN.format(base=BASE))
    told = ("--metadata", '{"halu_data": "sample"}', "--output_path", "results", "--log_samples")
    run("lm_eval", "--model", "halu-oracle", *request.param, *told, folder=folder)
    arguments = ("-T", "config=my_refact.yaml", "-T", "data=sample", "--model", "halu/oracle", "--log-dir", "logs")
    run("inspect_ai", "eval", "halu_tasks/task", *arguments, folder=folder)
    return folder


def in_lm_eval(folder: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(next((folder / "results").rglob("results_*.json")).read_text())
    return found


def in_inspect(folder: Path) -> Any:
    from inspect_ai.log import read_eval_log

    return read_eval_log(str(next((folder / "logs").glob("*.eval"))))


def test_both_ask_what_the_file_says(folder: Path) -> None:
    lines = next((folder / "results").rglob("samples_my_refact_*.jsonl")).read_text().splitlines()
    prompts = [json.loads(line)["doc"]["prompt"] for line in lines]
    log = in_inspect(folder)
    assert sorted(prompts) == sorted(sample.input[-1].text for sample in log.samples)
    assert all(prompt.startswith("ZZZ ") for prompt in prompts)
    asked = in_lm_eval(folder)["configs"]["my_refact"]["generation_kwargs"]
    # what the file does not say stays as in the packaged task
    assert (asked["temperature"], asked["max_gen_toks"], asked["until"]) == (0.7, 1024, [])
    assert (log.plan.config.temperature, log.plan.config.max_tokens) == (0.7, 1024)


def test_the_version_says_what_differs(folder: Path) -> None:
    differs = r"-sample-prompts_[0-9a-f]{8}-own_generation_kwargs"
    assert re.fullmatch(rf"1\.0{differs}", in_lm_eval(folder)["versions"]["my_refact"])
    assert re.fullmatch(rf"1-A{differs}", in_inspect(folder).eval.task_version)
