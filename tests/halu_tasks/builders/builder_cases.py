"""The cases of tests in `cases.yaml`, by test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

CASES: dict[str, list[list[Any]]] = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
