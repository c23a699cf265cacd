"""The dataset of a build: `items.jsonl`, with what the pipeline needs, and files in the benchmark's format."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from halu_tasks.builders.pipeline import Item, Pipeline, Row
from halu_tasks.core.errors import DataError
from halu_tasks.core.json_lines import json_line
from halu_tasks.data.rows import json_lines

ITEMS = "items.jsonl"


def items_of(dataset: Path) -> Iterator[Item]:
    """Read the items of a dataset folder.

    Raises:
        DataError: There is no dataset, or a line is invalid.
    """
    path = dataset / ITEMS
    for line, row in json_lines(path):
        if not all(isinstance(row.get(key), str) for key in ("id", "kind", "document")) or not isinstance(
            row.get("row"), dict
        ):
            raise DataError(f"{path}:{line}: expected an object with id, kind, document and row")
        yield Item(row["id"], row["kind"], row["document"], row["row"])


def write_dataset(pipeline: Pipeline, items: Iterable[Item], folder: Path) -> dict[str, int]:
    """Write `items.jsonl` and the files in the benchmark's format into an empty folder.

    Args:
        pipeline: The pipeline whose format is written.
        items: The items; they are written one at a time and not held in memory.
        folder: The folder, created if necessary.

    Returns:
        The number of rows of each file.

    Raises:
        DataError: A file cannot be written.
    """
    counts: dict[str, int] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            writers: dict[str, Callable[[Row], object]] = {}
            for item in items:
                lines: list[tuple[str, Row]] = [(ITEMS, item._asdict()), *pipeline.lines(item)]
                for name, row in lines:
                    if name not in writers:
                        file = stack.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
                        writers[name] = _writer(name, file, row)
                    writers[name](row)
                    counts[name] = counts.get(name, 0) + 1
            if ITEMS not in writers:
                (folder / ITEMS).touch()
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror or error}") from None
    return counts


def _writer(name: str, file: TextIO, first: Row) -> Callable[[Row], object]:
    """Return a function that writes rows to a CSV or JSON Lines file; `first` gives the columns."""
    if name.endswith(".csv"):
        table = csv.DictWriter(file, list(first), lineterminator="\n")
        table.writeheader()
        return table.writerow
    return lambda row: file.write(json_line(row) + "\n")


def rows_of(dataset: Path, items: int) -> dict[str, int]:
    """Count the rows of each file of a dataset; `items` is the number of rows of `items.jsonl`."""
    rows = {ITEMS: items}
    for path in sorted(dataset.iterdir()):
        if path.suffix == ".jsonl" and path.name != ITEMS:
            with path.open("rb") as lines:
                rows[path.name] = sum(1 for _ in lines)
        elif path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as cells:
                rows[path.name] = sum(1 for _ in csv.reader(cells)) - 1
    return rows


def replace_folder(new: Path, place: Path) -> None:
    """Move the folder `new` to `place`, deleting what was there."""
    old = place.with_name(place.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)
