"""What commands print, and the exit status that says how they ended."""

from __future__ import annotations

import json
import sys
from typing import Any

from halu_tasks.core.json_lines import json_line

EXIT_PARTIAL = 3
"""The exit status of a command that finished without a part of its input, which a message names."""


def warn(message: str) -> None:
    """Print a message on one line on standard error."""
    line = " ".join(message.splitlines())
    print(f"halu-tasks: {line.encode(errors='backslashreplace').decode()}", file=sys.stderr)


def progress(line: str) -> None:
    """Print a line about the progress on standard error."""
    print(line, file=sys.stderr, flush=True)


def pluralize(number: int, one: str, many: str) -> str:
    """Return a number with its noun, such as `1 entry`."""
    return f"{number:,} {one if number == 1 else many}"


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a JSON value on standard output."""
    print(json_line(value) if indent is None else json.dumps(value, ensure_ascii=False, indent=indent))
