"""What tests in all folders share: the types of fixtures, files of rows, and what stands fenced in a prompt."""

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Cli = Callable[..., subprocess.CompletedProcess[str]]
Capture = pytest.CaptureFixture[str]
Caplog = pytest.LogCaptureFixture
Patch = pytest.MonkeyPatch

FENCED = re.compile(r"^(=====\w+)\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)
"""A text between two equal lines, as prompts show texts of users and models."""


def fenced(prompt: str) -> list[str]:
    """What stands between equal lines in a prompt."""
    return [text for _, text in FENCED.findall(prompt)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write a file of JSON Lines, and the folders that it is in; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
