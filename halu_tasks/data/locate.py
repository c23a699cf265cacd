"""Locating data: what the user named, else what `HALU_TASKS_DATA` names, else the pinned source.

A pinned source is downloaded once, verified and cached. The packaged sample is used only when it is asked for by the
word `sample`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from halu_tasks.core.errors import DataError, UsageError, file_errors
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cached_file, fetch, sha256_of
from halu_tasks.data.hub import HOW_TO_NAME, SCHEME, Dataset, named_dataset, parquet_file
from halu_tasks.data.sources import OwnSource, Source

DataKind = Literal["pinned", "extract", "sample", "local", "own"]
PARQUET = ".parquet"
SAMPLE = Path(__file__).parent.parent / "sample"
NO_OPTIONS = Options()


@dataclass(frozen=True)
class LocatedData:
    """Data that a task reads.

    Attributes:
        content: The file, or the dataset.
        kind: How far results on it represent the benchmark. `pinned`: the published data, byte for byte if a checksum
            is known; `extract`: only some of the published rows; `sample`: the packaged sample; `local`: any other
            data that the user named.
        sha256: Its checksum, in hex.
        columns: The columns that the user named, by field.
        files: The files, if they are several, or a user's.
        joined: The file whose rows complete these, if there is one.
    """

    content: Path | Dataset
    kind: DataKind
    sha256: str
    columns: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    joined: Path | None = None

    def __str__(self) -> str:
        return str(self.content)

    @property
    def name(self) -> str:
        """The name that results record: a file's name, or the address or name of a dataset."""
        of_hub = isinstance(self.content, Dataset) and self.content.revision
        return self.content.name if of_hub else Path(self.content.name).name


def locate(source: Source, name: str, options: Options = NO_OPTIONS) -> LocatedData:
    """Locate the data of a task, downloading a published file if necessary.

    Args:
        source: The source that publishes it.
        name: The name of its file in the source.
        options: The options that say which data the user wants; by default, `HALU_TASKS_DATA` or the pinned source.

    Raises:
        DataError: It does not exist and cannot be downloaded, or its checksum is not the published one.
        UsageError: An option does not apply to the data.
    """
    named = named_data(options)
    if not named or named == "sample":
        _check_unset(options, "data_split", "data_config", "columns")
        path = in_folder(source, name, SAMPLE / source.name) if named else fetch(source, name)
        if path is None:
            raise DataError(f"{source.title}: the packaged sample has no {name}")
        return LocatedData(path, "sample" if named else "pinned", sha256_of(path))
    if named.startswith(SCHEME):
        return _user_dataset(named_dataset(named, options), options)
    path = Path(named).expanduser()
    with file_errors(f"{source.title}: data {str(path)!r}", f"; {HOW_TO_NAME}"):
        path.stat()
    if path.is_dir() and not in_folder(source, name, path):
        has_parquet = any(next(path.glob(pattern), None) for pattern in (f"*{PARQUET}", f"*/*{PARQUET}"))
        if options.data_split or options.data_config or has_parquet:
            return _user_dataset(named_dataset(str(path), options), options)
    _check_unset(options, "data_split", "data_config")
    return _user_file(source, name, _named_file(source, name, path), options)


def locate_parts(source: Source, pattern: str, options: Options = NO_OPTIONS) -> LocatedData:
    """Locate the files of a source that a pattern stands for, in the order of the source, as `locate` does one.

    The files that a user's folder or the sample has are read, and one of them may be named alone.

    Raises:
        DataError: There is none, or one cannot be downloaded or has another checksum than the published one.
        UsageError: An option does not apply to the data.
    """
    names, named = source.matching(pattern), named_data(options)
    if len(names) == 1 or (named and named.startswith(SCHEME)):
        return locate(source, names[0], options)
    if named:
        path = SAMPLE / source.name if named == "sample" else Path(named).expanduser()
        there = [name for name in names if path.match(name) or (path.is_dir() and in_folder(source, name, path))]
        names = there or names[:1]
    parts = [locate(source, name, options) for name in names]
    kinds = {part.kind for part in parts}
    kind: DataKind = "local" if len(kinds) > 1 else kinds.pop()
    if kind == "pinned" and names != source.matching(pattern):
        kind = "extract"
    if len(parts) == 1:
        return replace(parts[0], kind=kind)
    files = tuple(part.content for part in parts if isinstance(part.content, Path))
    columns = parts[0].columns
    return LocatedData(files[0].parent / pattern, kind, stable_hash(*(part.sha256 for part in parts)), columns, files)


def with_joined(located: LocatedData, other: LocatedData) -> LocatedData:
    """Add the file whose rows complete located rows."""
    assert isinstance(other.content, Path)
    kind: DataKind = located.kind if located.kind == other.kind else "local"
    return replace(located, kind=kind, sha256=stable_hash(located.sha256, other.sha256), joined=other.content)


def locate_own(source: OwnSource, names: Sequence[str], options: Options = NO_OPTIONS) -> LocatedData:
    """Locate the rows of a user's task: next to the task file, or where the option `data` says.

    Args:
        source: The folder of the task file.
        names: The names of the files, or patterns; files that match one are in the order of their names.
        options: The options that say which data the user wants.

    Raises:
        DataError: A file does not exist.
        UsageError: An option does not apply to the data.
    """
    if options.data and options.data.startswith(SCHEME):
        return _user_dataset(named_dataset(options.data, options), options)
    if options.data is None and source.folder is None:
        raise DataError(f"{source.title}: its rows are beside its task file, which is not known here; name the data")
    if options.data == "sample":
        raise DataError(f"{source.title}: has no packaged sample; leave the option data out, or name a file")
    _check_unset(options, "data_split", "data_config")
    path = Path(options.data or str(source.folder)).expanduser()
    files = {path: None}
    if path.is_dir():
        files = dict.fromkeys(file for name in names for file in _matching(path, name))
        path /= ", ".join(names)
    hashes = [*map(sha256_of, files)]
    sha256 = hashes[0] if len(hashes) == 1 else stable_hash(*hashes)
    kind: DataKind = "local" if options.data else "own"
    return LocatedData(path, kind, _with_columns(sha256, options), options.column_names, tuple(files))


def _matching(folder: Path, name: str) -> list[Path]:
    if (folder / name).is_file():
        return [folder / name]
    try:
        files = sorted(path for path in folder.glob(name) if path.is_file() and path.name[0] not in "~.")
    except (ValueError, NotImplementedError, IndexError):  # not a pattern, such as an absolute path
        files = []
    if not files:
        raise DataError(f"{folder}/{name}: {'no file of this folder matches' if '*' in name else 'no such file'}")
    return files


def _user_file(source: Source, name: str, path: Path, options: Options) -> LocatedData:
    if path.suffix == PARQUET:
        return _user_dataset(parquet_file(path), options)
    sha256, file = sha256_of(path), source.file(name)
    kind: DataKind = "pinned" if sha256 == file.sha256 else "extract" if sha256 in file.extracts else "local"
    return LocatedData(path, kind, _with_columns(sha256, options), options.column_names)


def _user_dataset(dataset: Dataset, options: Options) -> LocatedData:
    """Locate a dataset. Its checksum is made of its files or, on the Hub, of the commit, which determines them."""
    parts = [dataset.config or "", dataset.split]
    if dataset.revision:
        sha256 = stable_hash(dataset.path, dataset.revision, dataset.files or "", *parts)
    elif dataset.files:
        sha256 = sha256_of(Path(dataset.files))
    else:
        sha256 = stable_hash(*(sha256_of(Path(file)) for file in dataset.layout[dataset.split]), *parts)
    return LocatedData(dataset, "local", _with_columns(sha256, options), options.column_names)


def _with_columns(sha256: str, options: Options) -> str:
    return stable_hash(sha256, *sorted(options.columns)) if options.columns else sha256


def _check_unset(options: Options, *names: str) -> None:
    for name in names:
        if name in options.changed():
            kinds = " or a folder in its layout" if name != "columns" else ", a folder or a file of your own"
            raise UsageError(f"option {name}: only for a dataset of the Hub (hf://USER/NAME){kinds}")


def _named_file(source: Source, name: str, named: Path) -> Path:
    if named.is_file():
        other_names = [other for file in source.files if file.name != name for other in file.names]
        if any(named.match(other) for other in other_names):
            raise DataError(f"{named}: this task reads {name}, not {named.name}; name the folder that contains both")
        return named
    if path := in_folder(source, name, named):
        return path
    alternatives = [other for other in source.file(name).names if other != name]
    also = f"; the file may also be named {', '.join(alternatives)}" if alternatives else ""
    if any(path.suffix in (".csv", ".json", ".jsonl") for path in named.iterdir()):
        also += "; if it is a dataset in the Hub's layout, name its split with the option data_split"
    raise DataError(f"{source.title}: {named} contains neither {name} nor {source.name}/{name}{also}")


def in_folder(source: Source, name: str, folder: Path) -> Path | None:
    """Look for a data file in a folder.

    Args:
        source: The source that publishes it.
        name: Its name in the source; alternative names are tried, too.
        folder: A folder of the benchmark's files, or a folder of such folders.

    Returns:
        The file, or None if the folder does not contain it.

    Raises:
        DataError: Several files match.
    """
    for place in (folder, folder / source.name):
        for pattern in source.file(name).names:
            # spreadsheet programs leave lock files whose names begin with ~
            matches = [path for path in place.glob(pattern) if path.is_file() and path.name[0] not in "~."]
            if len(matches) > 1:
                listed = ", ".join(sorted(path.name for path in matches))
                raise DataError(
                    f"{source.title}: {matches[0].parent} contains several files for {name} ({listed}); name one of "
                    "them"
                )
            if matches:
                return matches[0]
    return None


def named_data(options: Options) -> str | None:
    """Return the data that the user named, with an option or in the environment."""
    return options.data or os.environ.get("HALU_TASKS_DATA")


def find_beside(source: Source, name: str, options: Options, *, fetch: bool = True) -> LocatedData | None:
    """Locate an optional data file, as `locate` does.

    Args:
        source: The source that publishes it.
        name: Its name in the source.
        options: The options that say which data the user wants.
        fetch: Download a published file if necessary.

    Returns:
        The file; None for the packaged sample, if the user's data are no folder that contains it, or if it would have
        to be downloaded without `fetch`.
    """
    named = named_data(options)
    if not named:
        return locate(source, name) if fetch or cached_file(source, name) else None
    if named == "sample" or named.startswith(SCHEME):
        return None
    path = in_folder(source, name, Path(named).expanduser())
    return None if path is None else _user_file(source, name, path, options)
