"""`halu-tasks data describe` of a folder that was built."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from halu_tasks.builders.pipeline import Item

Here = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("place", ["", "dataset"])
def test_a_built_dataset_is_described_by_its_kinds_and_by_the_tasks_that_read_it(
    place: str, here: Here, built: Callable[..., Path], toys: Callable[..., Item]
) -> None:
    folder = built([toys(place, kind="other" if place % 3 else "one") for place in range(9)])
    (build,) = json.loads(here("data", "describe", folder / place, "--json").stdout)
    assert (build["builder"], build["documents"], build["used"], build["items"]) == ("toy", 12, 5, 9)
    assert build["kinds"] == {"other": 6, "one": 3}
    (data,) = build["data"]
    assert (data["data"], data["rows"]) == ("generative_qa.jsonl", 9)
    assert {task["task"]: (task["items"], task["tags"]) for task in data["tasks"]} == {
        "cfaith_gen": (9, {"type": {"AttrErr": 9}}),
        "cfaith_tf": (18, {"type": {"AttrErr": 18}}),
    }


def test_the_text_names_builder_and_kinds(here: Here, built: Callable[..., Path], toys: Callable[..., Item]) -> None:
    result = here("data", "describe", built([toys(0), toys(1)]))
    assert result.returncode == 0, result.stderr
    text = yaml.safe_load(result.stdout)
    assert (text["builder"], text["items"], text["used"], text["kinds"]) == ("toy", 2, 1, {"one": 2})


def test_an_empty_build_has_no_data(here: Here, built: Callable[..., Path]) -> None:
    folder = built([])
    assert yaml.safe_load(here("data", "describe", folder).stdout)["items"] == 0
    assert "options do not apply" in here("data", "describe", folder, "--subset", "single_error").stderr
