"""The score of each reply, for people: a JSON Lines file, or a folder of Parquet files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_folder, atomic_write
from halu_tasks.scorers.score import Score

_ROWS = 10_000
"""The number of rows of a row group."""


class DetailsFile:
    """A Parquet file with the scores of replies.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[dict[str, Any]] = []
        self._writer: Any = None

    def add(self, scores: Iterable[tuple[int, int, Score]], *, missing: bool = False) -> None:
        """Add scores.

        Args:
            scores: The place of the item in the data, the epoch, and the score of each reply.
            missing: Whether the items have no reply.
        """
        self._rows += [_row(number, epoch, score, missing) for number, epoch, score in scores]
        if len(self._rows) >= _ROWS:
            self._write()

    def close(self) -> None:
        """Write what is left; without any score, there is no file."""
        if self._rows:
            self._write()
        if self._writer:
            self._writer.close()

    def _write(self) -> None:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.Table.from_pylist(self._rows, schema=_schema())
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema, compression="zstd")
        self._writer.write_table(table)
        self._rows.clear()


def _schema() -> Any:
    import pyarrow

    text = pyarrow.string()
    columns = {
        "item": pyarrow.int64(),
        "epoch": pyarrow.int32(),
        "id": text,
        "answer": text,
        "outcome": text,
        "target": text,
        "scores": text,
        "reason": text,
        "verdicts": text,
    }
    return pyarrow.schema(list(columns.items()))


_JSON = ("answer", "target", "scores", "verdicts")
"""The columns that contain JSON."""


def _row(number: int, epoch: int, score: Score, missing: bool) -> dict[str, Any]:
    return {
        "item": number,
        "epoch": epoch,
        "id": _valid(score.id),
        "answer": json.dumps(score.answer),
        "outcome": score.outcome,
        "target": json.dumps(score.target),
        "scores": json.dumps(dict(score.measurements)),
        "reason": _valid("no prediction" if missing else score.reason),
        "verdicts": json.dumps(score.verdicts_json()),
    }


def _valid(text: str) -> str:
    """Return a text without lone surrogates, which Parquet cannot contain."""
    return text.encode("utf-8", "backslashreplace").decode()


def write_details(files: Sequence[Path], target: str, *, epochs: bool) -> None:
    """Write the details of all parts.

    Args:
        files: The Parquet files of the parts.
        target: The file to write as JSON Lines, in the order of the data; or, if it ends in a slash, the folder, with a
            Parquet file for each part.
        epochs: Whether there are several epochs.

    Raises:
        DataError: The target cannot be written.
    """
    if is_folder(target):
        with atomic_folder(Path(target), "details") as folder:
            for number, path in enumerate(files):
                shutil.copyfile(path, folder / f"part-{number:05d}.parquet")
        return
    with atomic_write(Path(target), "details") as file:
        for row in sorted_rows(files):
            line = {name: row[name] for name in ("id", "answer", "outcome", "target", "scores", "reason")}
            line |= {"epoch": row["epoch"]} if epochs else {}
            line |= {"verdicts": row["verdicts"]} if row["verdicts"] else {}
            file.write(json.dumps(line) + "\n")


def check_writable(target: str) -> None:
    """Raise DataError unless details can be written, before replies are scored and a judge is asked."""
    path = Path(target)
    if is_folder(target):
        if path.exists():
            raise DataError(f"details {target}: exists already; name a new folder")
        return
    partial = path.with_name(path.name + ".part")
    try:
        if path.is_dir():
            raise DataError(f"details {target}: is a folder; write {target}/NAME/ for a new folder of Parquet files")
        if path.is_file() or not path.exists():
            partial.touch()
            partial.unlink()
    except OSError as error:
        raise DataError(f"details {path}: {error.strerror or error}") from None


def is_folder(target: str) -> bool:
    """Return whether details are written as a folder of Parquet files."""
    return target.endswith("/")


def sorted_rows(files: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Read details in the order of the data."""
    if not files:
        return
    import pyarrow
    from pyarrow import parquet

    tables = [parquet.read_table(path) for path in files]
    table = pyarrow.concat_tables(tables).sort_by([("item", "ascending"), ("epoch", "ascending")])
    for batch in table.to_batches(_ROWS):
        for row in batch.to_pylist():
            yield row | {name: json.loads(row[name]) for name in _JSON}
