"""A built dataset as a benchmark of the Hub: Inspect, which runs it there, reads and scores what is written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import DatasetCard

from halu_tasks.builders.card import describe
from halu_tasks.builders.collect import Collection
from halu_tasks.builders.folder import Folder
from halu_tasks.builders.pipeline import Draft

Toys = Callable[..., Draft]
Here = Callable[..., subprocess.CompletedProcess[str]]
Built = Callable[..., Path]
COLLECTED = Collection(licences={"CC BY 4.0": 6}, files={"items.jsonl": 6, "generative_qa.jsonl": 6})


@pytest.fixture
def folder(built: Built, toys: Toys) -> Path:
    """A build with a card."""
    made = built([toys(place) for place in range(6)])
    describe(Folder(made), made / "dataset", COLLECTED)
    return made


@pytest.mark.slow
def test_inspect_runs_the_tasks_as_the_hub_does(
    folder: Path, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    done = here("export", "hub", folder, "-o", out)
    assert done.returncode == 0 and done.stdout == f"{out}/datasets/built/eval.yaml\n"
    assert "lacks cfaith_gen: its replies are not one of a few labels" in done.stderr
    place = out / "datasets" / "built"
    content = yaml.safe_load((place / "eval.yaml").read_text(encoding="utf-8"))
    # what the Hub requires
    assert content["name"] and content["description"] and content["evaluation_framework"] == "inspect-ai"
    card = DatasetCard.load(place / "README.md")
    configs = {own["config_name"]: own["data_files"][0] for own in card.data.to_dict()["configs"]}
    for task in content["tasks"]:
        assert task["split"] == configs[task["config"]]["split"] == "test"
        assert (place / configs[task["config"]]["path"]).is_file()
    assert {"generative_qa", "items", "cfaith_tf"} == configs.keys()
    assert card.text.strip() == DatasetCard.load(folder / "dataset" / "README.md").text.strip()

    from inspect_ai import eval
    from inspect_ai._eval.task import hf
    from inspect_ai.dataset import json_dataset
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def local(path: str, name: str, split: str, sample_fields: Any, **_: Any) -> Any:
        assert (path, split) == ("acme/built", "test")
        return json_dataset(str(place / configs[name]["path"]), sample_fields)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda **_: str(place / "eval.yaml"))
    monkeypatch.setattr(hf, "hf_dataset", local)
    (task,) = hf.task_create_from_hf("hf/acme/built")
    rows = [json.loads(line) for line in (place / "tasks" / "cfaith_tf.jsonl").read_text().splitlines()]
    assert len(rows) == 12 and {row["target"] for row in rows} == {"正确", "错误"}
    asked: list[Any] = []

    def reply(messages: Any, *_: Any) -> Any:
        asked.append(messages)
        row = next(row for row in rows if row["prompt"] == messages[-1].text)
        right = {"正确": "我认为：正确。", "错误": "错误"}[row["target"]]
        # what a reader must not take for the label
        output = ModelOutput.from_content("mockllm", right if len(asked) <= 9 else "不正确")
        # with usage given, no tokenizer is needed
        output.usage = ModelUsage()
        return output

    model = get_model("mockllm/model", custom_outputs=reply)
    (log,) = eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", max_connections=1)
    assert log.status == "success", log.error
    assert log.results and log.results.scores[0].metrics["accuracy"].value == 9 / 12
    assert all([message.role for message in own] == ["system", "user"] for own in asked if rows[0]["system"])
    assert log.plan.steps[-1].params["max_tokens"] == 16


def test_other_files_are_not_replaced(folder: Path, here: Here, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert here("export", "hub", folder, "-o", out).returncode == 0
    assert here("export", "hub", folder / "dataset", "-o", out).returncode == 0
    kept = out / "datasets" / "built" / "generative_qa.jsonl"
    kept.write_text("mine")
    done = here("export", "hub", folder, "-o", out)
    assert done.returncode == 2 and "generative_qa.jsonl: exists and differs" in done.stderr
    assert kept.read_text() == "mine"


def test_a_build_without_a_card_is_named(built: Built, toys: Toys, here: Here, tmp_path: Path) -> None:
    done = here("export", "hub", built([toys(0)]), "-o", tmp_path / "out")
    assert done.returncode == 2 and "has no dataset with a card; make it with: halu-tasks build collect" in done.stderr
