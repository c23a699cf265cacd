"""Rows that the library `datasets` loads: from the Hub, from folders in the Hub's layout, and from Parquet files.

`datasets` takes seconds to import, so it is imported when rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError, UsageError, did_you_mean
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.options import Options
from halu_tasks.data import hub
from halu_tasks.data.cache import HOW_TO_NAME, sha256_of
from halu_tasks.data.hub import HubAddress
from halu_tasks.data.rows import Row

PARQUET = ".parquet"
_FILE_SPLIT = "rows"
"""The name that the only split of a file gets."""


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Rows of one split.

    Attributes:
        name: How messages and records name it.
        path: What `datasets.load_dataset` loads: a dataset on the Hub, a folder, or a format.
        revision: The commit of a dataset on the Hub.
        config: The configuration, if there are several.
        files: The files, or a pattern of files; None for those that the layout gives.
        split: The split.
        parquet: Whether the files are Parquet files.
        streaming: Whether rows are read from the files as they are needed, instead of from a copy in the cache.
    """

    name: str
    path: str
    split: str
    revision: str | None = None
    config: str | None = None
    files: str | None = None
    parquet: bool = False
    streaming: bool = True

    def __str__(self) -> str:
        return self.name

    def rows(self, *, nulls: bool = False) -> Iterator[tuple[int, Row]]:
        """Read (number from 1, row) of each row.

        Args:
            nulls: Keep the fields of a row that are null; `datasets` adds these where a row lacks a field.

        Raises:
            DataError: The rows cannot be loaded.
        """
        with _one_line(self.name):
            loaded = _load(self)
            labels = _label_names(loaded)
            for number, row in enumerate(loaded, 1):
                kept = row.items() if nulls else [pair for pair in row.items() if pair[1] is not None]
                yield number, {name: _plain(value, labels.get(name)) for name, value in kept}


def file_dataset(path: Path) -> Dataset:
    """Return the rows of a Parquet file."""
    return Dataset(name=str(path), path="parquet", files=str(path), split=_FILE_SPLIT, parquet=True)


def hub_dataset(text: str, options: Options) -> Dataset:
    """Return the rows of a dataset on the Hub, at the commit that its revision stands for now.

    Args:
        text: The address, `hf://USER/NAME@REVISION`.
        options: Options that choose configuration, split and streaming.

    Raises:
        DataError: The dataset does not exist or cannot be accessed.
        UsageError: The split does not exist, or none is named and there are several.
    """
    address = HubAddress.parse(text)
    commit = hub.commit_of(address, HOW_TO_NAME)
    dataset = Dataset(
        name=str(address._replace(revision=commit)),
        path=address.repository,
        revision=commit,
        config=options.data_config,
        files=address.path,
        split=options.data_split or "",
    )
    return replace(_with_split(dataset), streaming=options.data_streaming)


def folder_dataset(folder: Path, options: Options) -> Dataset:
    """Return the rows of a folder in the Hub's layout.

    Raises:
        DataError: The folder contains no dataset.
        UsageError: The split does not exist, or none is named and there are several.
    """
    dataset = Dataset(name=str(folder), path=str(folder), config=options.data_config, split=options.data_split or "")
    return _with_split(dataset)


def is_dataset_folder(folder: Path, options: Options) -> bool:
    """Return whether a folder is to be loaded by its layout: a split is named, or it contains Parquet files."""
    named = bool(options.data_split or options.data_config)
    return named or any(next(folder.glob(pattern), None) for pattern in (f"*{PARQUET}", f"*/*{PARQUET}"))


def checksum(dataset: Dataset) -> str:
    """Compute a checksum of a dataset: of its files, or of the commit on the Hub, which determines them."""
    parts = [dataset.config or "", dataset.split]
    if dataset.revision:
        return stable_hash(dataset.path, dataset.revision, dataset.files or "", *parts)
    with _one_line(dataset.name):
        files = [Path(str(file)) for file in _layout(dataset).data_files[dataset.split]]
    return stable_hash(*(sha256_of(file) for file in files), *parts)


def _with_split(dataset: Dataset) -> Dataset:
    """Return a dataset with its format and its split: the one that is named, or the only one there is.

    Raises:
        UsageError: The split does not exist, or none is named and there are several.
    """
    with _one_line(dataset.name):
        layout = _layout(dataset)
        splits = [str(split) for split in layout.data_files]
    if dataset.split and dataset.split not in splits:
        close = did_you_mean(dataset.split, splits)
        raise UsageError(f"{dataset}: no split {dataset.split!r}{close}; splits: {', '.join(splits)}")
    if not dataset.split and len(splits) > 1:
        raise UsageError(f"{dataset}: has the splits {', '.join(splits)}; choose one with the option data_split")
    split = dataset.split or splits[0]
    config = f"{dataset.config}/" if dataset.config else ""
    parquet = type(layout).__name__ == "ParquetConfig"
    return replace(dataset, name=f"{dataset.name} ({config}{split})", split=split, parquet=parquet)


def _layout(dataset: Dataset) -> Any:
    """Return the configuration that the layout of a dataset gives: its format, and the files of each split."""
    from datasets import load_dataset_builder

    files = _data_files(dataset)
    return load_dataset_builder(dataset.path, dataset.config, revision=dataset.revision, data_files=files).config


def _load(dataset: Dataset) -> Any:
    """Load a dataset."""
    from datasets import disable_progress_bars, load_dataset

    disable_progress_bars()
    return load_dataset(
        dataset.path,
        dataset.config,
        revision=dataset.revision,
        data_files=_data_files(dataset),
        split=dataset.split,
        streaming=dataset.streaming,
        # by default whole row groups are read, several of them ahead, which takes as much memory as all rows
        **({"batch_size": 1_000} if dataset.parquet else {}),
    )


def _data_files(dataset: Dataset) -> Any:
    if dataset.files is None:
        return None
    return {_FILE_SPLIT: dataset.files} if dataset.split == _FILE_SPLIT else dataset.files


def _label_names(loaded: Any) -> dict[str, list[str]]:
    """Return the names of the labels of each column that contains their numbers."""
    columns = loaded.features or {}
    return {name: feature.names for name, feature in columns.items() if getattr(feature, "names", None)}


def _plain(value: Any, names: list[str] | None = None) -> Any:
    """Return a value as JSON has it: a label by its name, objects without their nulls."""
    if names is not None and isinstance(value, int):
        return names[value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    """Turn errors of `datasets` into errors of one line.

    Args:
        name: What is loaded.
    """
    from datasets.exceptions import DatasetsError

    try:
        if name.startswith(hub.SCHEME):
            with hub.hub_errors(HubAddress.parse(name.partition(" ")[0]), HOW_TO_NAME):
                yield
        else:
            yield
    except DataError:
        raise
    except (DatasetsError, ValueError, OSError, TypeError) as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise DataError(f"{name}: cannot be loaded ({' '.join(str(cause).split())})") from None
