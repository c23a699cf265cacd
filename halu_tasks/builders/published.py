"""The texts of the published benchmarks, as far as they are at hand: nothing is fetched for a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from halu_tasks.builders.overlaps import Compared
from halu_tasks.data import cached_path, in_folder, json_lines, verify
from halu_tasks.errors import DataError
from halu_tasks.options import Options
from halu_tasks.sources import SOURCES
from halu_tasks.tasks import Reader, registry

NAMED, _CACHE = "named", "cache"


def at_hand(named: Sequence[Path]) -> tuple[list[Compared], list[str]]:
    """The files of benchmarks to compare with, and the published files that are neither in what the user named nor in
    the cache, as source/file.

    Args:
        named: folders of published files, as `data=` takes them, and files: published ones by their names, or any of
            JSON Lines.

    Raises:
        DataError: nothing is there, a folder has no published file, or a cached file is not the published one.
    """
    found: dict[str, Compared] = {}
    others = []
    for path in named:
        own = _of_folder(path) if path.is_dir() else _of_file(path)
        others += [compared for name, compared in own if name is None]
        found |= {name: compared for name, compared in own if name is not None}
    for name, reader in _readers().items():
        source, file = name.split("/")
        path = cached_path(SOURCES[source], file)
        if name not in found and path.is_file():
            verify(SOURCES[source], file, path)
            found[name] = Compared(source, file, _CACHE, Texts(path, reader))
    return [*(found[name] for name in sorted(found)), *others], [name for name in _readers() if name not in found]


class Texts:
    """The texts of all rows of a file, in any field, however deep; read anew each time."""

    def __init__(self, path: Path, reader: Reader | None) -> None:
        self.path, self.reader = path, reader

    def __iter__(self) -> Iterator[str]:
        rows = self.reader.rows(self.path) if self.reader else (row for _, row in json_lines(self.path))
        for row in rows:
            yield from _texts(row)


@cache
def _readers() -> dict[str, Reader]:
    """By source/file: how each published file that a task reads is read."""
    found: dict[str, Reader] = {}
    for task in registry()[0].values():
        reader = task.reader
        choices = {name: Options.of_some_tasks()[name].metadata["choices"] for name in task.own_options}
        variants = [Options(**{name: choice}) for name, own in choices.items() for choice in own]
        files = [reader.file(options) for options in (Options(), *variants)]
        for file in (*files, *([reader.training] if reader.training else [])):
            found.setdefault(f"{reader.source.name}/{file}", reader)
    return found


def _of_folder(folder: Path) -> list[tuple[str | None, Compared]]:
    found: list[tuple[str | None, Compared]] = []
    for name, reader in _readers().items():
        source, file = name.split("/")
        if path := in_folder(SOURCES[source], file, folder):
            found.append((name, Compared(source, file, NAMED, Texts(path, reader))))
    if not found:
        raise DataError(f"{folder}: holds no file of a published benchmark; `halu-tasks data` lists their names")
    return found


def _of_file(path: Path) -> list[tuple[str | None, Compared]]:
    if not path.is_file():
        raise DataError(f"{path}: there is no such file or folder to compare with")
    for name, reader in _readers().items():
        source, file = name.split("/")
        if any(path.match(known) for known in SOURCES[source].file(file).names if "*" not in known):
            return [(name, Compared(source, file, NAMED, Texts(path, reader)))]
    return [(None, Compared("", path.name, NAMED, Texts(path, None)))]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
