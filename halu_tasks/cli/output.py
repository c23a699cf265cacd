"""What commands print, and the exit status that says how they ended."""

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from halu_tasks.core.credentials import printable
from halu_tasks.text.number_format import NONE

EXIT_PARTIAL = 3
"""The exit status of a command that finished without a part of its input, which a message names."""


class LogLine(logging.Formatter):
    """Formats what is logged as it is printed."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message."""
        return printable(super().format(record))


def say(text: object) -> None:
    """Print what a command says, on standard output."""
    print(printable(str(text)), flush=True)


def warn(message: str) -> None:
    """Print a message on one line on standard error."""
    progress(f"halu-tasks: {' '.join(message.splitlines())}")


def progress(line: str) -> None:
    """Print a line about the progress on standard error."""
    print(printable(line), file=sys.stderr, flush=True)


def pluralize(number: int, one: str, many: str) -> str:
    """Return a number with its noun, such as `1 entry`."""
    return f"{number:,} {one if number == 1 else many}"


def print_json(value: Any) -> None:
    """Print a JSON value on standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def print_record(record: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a record on standard output: as YAML, for people, or as JSON."""
    if as_json:
        print_json(record)
        return
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts of several lines as blocks."""

        def represent_scalar(self, tag: str, value: Any, style: str | None = None) -> Any:
            return super().represent_scalar(tag, value, "|" if "\n" in str(value) else style)

    plain = json.loads(json.dumps(record))
    layout: dict[str, Any] = {"sort_keys": False, "default_flow_style": None, "width": 120}
    print(yaml.dump(plain, Dumper=Dumper, allow_unicode=True, **layout), end="")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Format rows as a table whose columns are separated by two spaces; empty if there are no rows.

    Args:
        rows: The values of each row by heading. Columns of numbers, and of figures as strings, are right-aligned;
            columns without any value are left out.
    """
    from rich.cells import cell_len  # the number of columns in a terminal, such as two for a wide character

    heads = [head for head in (rows[0] if rows else ()) if any(row[head] not in (None, "") for row in rows)]
    columns = []
    for head in heads:
        cells = [head, *(_cell(row[head]) for row in rows)]
        size = max(map(cell_len, cells))
        right = all(cell[:1].isdigit() or cell[:1] in f"+-<{NONE}" for cell in cells[1:])
        pads = [" " * (size - cell_len(cell)) for cell in cells]
        padded = [pad + cell if right else cell + pad for pad, cell in zip(pads, cells, strict=True)]
        columns.append([padded[0], "-" * size, *padded[1:]])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _cell(value: Any) -> str:
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
