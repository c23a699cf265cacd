"""`halu-tasks data describe` of a folder that was built."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from halu_tasks.builders.pipeline import Draft

Here = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("place", ["", "dataset"])
def test_a_built_dataset_is_described_by_the_tasks_that_read_it(
    place: str, here: Here, built: Callable[..., Path], toys: Callable[..., Draft]
) -> None:
    folder = built([toys(place, kind="other" if place % 3 else "one") for place in range(9)])
    (data,) = json.loads(here("data", "describe", folder / place, "--json").stdout)
    assert (data["data"], data["rows"]) == ("generative_qa.jsonl", 9)
    assert {task["task"]: (task["items"], task["tags"]) for task in data["tasks"]} == {
        "cfaith_gen": (9, {"type": {"AttrErr": 9}}),
        "cfaith_tf": (18, {"type": {"AttrErr": 18}}),
    }
    assert "options do not apply" in here("data", "describe", folder, "--subset", "single_error").stderr
