"""The texts of published benchmarks that are available locally; nothing is downloaded for a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from halu_tasks.builders.quality.overlaps import Compared
from halu_tasks.core.errors import DataError
from halu_tasks.core.options import Options
from halu_tasks.data.locate import cached, in_folder
from halu_tasks.data.rows import Row, json_lines
from halu_tasks.tasks import TaskData, registry, source_named

NAMED, _CACHE = "named", "cache"


def at_hand(named: Sequence[Path]) -> tuple[list[Compared], list[str]]:
    """Find published files to compare with.

    Args:
        named: Folders of published files, as in `data=`, and files: published ones with their original names, or any
            JSON Lines files.

    Returns:
        The files found among `named` and in the cache, and the names (source/file) of published files in neither.

    Raises:
        DataError: A path does not exist, a folder contains no published file, or a cached file is not the published
            one.
    """
    published: dict[str, Compared] = {}
    others = []
    for path in named:
        files = _of_folder(path) if path.is_dir() else _of_file(path)
        others += [compared for name, compared in files if name is None]
        published |= {name: compared for name, compared in files if name is not None}
    for name, reader in _readers().items():
        source, file = name.split("/")
        if name not in published and (located := cached(source_named(source), file)):
            published[name] = Compared(source, file, _CACHE, Texts(partial(reader.rows, located)))
    missing = [name for name in _readers() if name not in published]
    return [*(published[name] for name in sorted(published)), *others], missing


class Texts:
    """The strings in all rows, in any field and at any depth.

    Args:
        rows: Reads the rows; called on each iteration.
    """

    def __init__(self, rows: Callable[[], Iterable[Row]]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[str]:
        for row in self._rows():
            yield from _texts(row)


def _json_rows(path: Path) -> Iterator[Row]:
    return (row for _, row in json_lines(path))


@cache
def _readers() -> dict[str, TaskData]:
    """Return the readers of the published files that tasks use, by source/file."""
    readers: dict[str, TaskData] = {}
    for task in registry()[0].values():
        reader = task.data
        choices = {name: Options.of_some_tasks()[name].choices for name in task.task_options}
        variants = [Options(**{name: choice}) for name, values in choices.items() for choice in values]
        files = [reader.file(options) for options in (Options(), *variants)]
        for file in (*files, *([reader.training] if reader.training else [])):
            readers.setdefault(f"{reader.source.name}/{file}", reader)
    return readers


def _of_folder(folder: Path) -> list[tuple[str | None, Compared]]:
    """Return the published files in a folder, by source/file."""
    files: list[tuple[str | None, Compared]] = []
    for name, reader in _readers().items():
        source, file = name.split("/")
        if path := in_folder(source_named(source), file, folder):
            files.append((name, Compared(source, file, NAMED, Texts(partial(reader.rows, path)))))
    if not files:
        raise DataError(f"{folder}: contains no file of a published benchmark; list their names with: halu-tasks data")
    return files


def _of_file(path: Path) -> list[tuple[str | None, Compared]]:
    """Return a file as the published one of this name, or under no name as JSON Lines."""
    if not path.is_file():
        raise DataError(f"{path}: no such file or folder to compare with")
    for name, reader in _readers().items():
        source, file = name.split("/")
        if any(path.match(pattern) for pattern in source_named(source).file(file).names if "*" not in pattern):
            return [(name, Compared(source, file, NAMED, Texts(partial(reader.rows, path))))]
    return [(None, Compared("", path.name, NAMED, Texts(partial(_json_rows, path))))]


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
