"""What tests in all folders share: the types of fixtures, and files of rows."""

import json
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


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write a file of JSON Lines, and the folders that it is in; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
