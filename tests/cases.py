"""The cases of tests in the files `cases.yaml`, by test."""

from pathlib import Path
from typing import Any

import yaml

CASES: dict[str, list[Any]] = {}
for file in Path(__file__).parent.rglob("cases.yaml"):
    read = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert not CASES.keys() & read, f"{file}: a test of the same name has cases elsewhere"
    CASES |= read
