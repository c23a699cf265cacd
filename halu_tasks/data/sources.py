"""The published data of the benchmarks, pinned (`sources.yaml`); a task file may also declare its own source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import unknown
from halu_tasks.core.files import read_yaml

_HUB = "https://huggingface.co/datasets/"


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """A published file.

    Attributes:
        name: Its name.
        url: The address to download it from, which begins with `hf://` for a file on the Hub; None if there is none.
        sha256: Its checksum, in hex; None if it is not known.
        also: Other names that the file may have in a user's folder; paths and patterns (`*`) are allowed.
        extracts: The checksums of published files that contain only some of its rows.
    """

    name: str
    url: str | None = None
    sha256: str | None = None
    also: tuple[str, ...] = ()
    extracts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they are tried; workbooks instead of CSV files come last."""
        names = (self.name, *self.also)
        return (*names, *(f"{name.removesuffix('.csv')}.xlsx" for name in names if name.endswith(".csv")))


@dataclass(frozen=True, kw_only=True)
class Source:
    """A benchmark's published data, as `sources.yaml` and task files declare them.

    Attributes:
        name: The source's name, which its folders have, too.
        title: The benchmark's name.
        files: The published files.
        homepage: The address of its repository, or where people find the data.
        licence: The licence of the data.
        revision: The commit that addresses are pinned to; `main` means that there is no pin and files may change.
        address: What comes before the name in the address of a file, with `{revision}`; None if there is none.
        gated: Whether the terms must be accepted on the hub and a token is needed.
        paper: Where the benchmark is published: authors, venue, arXiv number.
    """

    name: str
    title: str
    files: tuple[SourceFile, ...]
    homepage: str = ""
    licence: str = "not stated"
    revision: str = "main"
    address: str | None = None
    gated: bool = False
    paper: str = ""

    @property
    def hub_dataset(self) -> str | None:
        """The dataset of the Hub that it is, `OWNER/NAME`; None if it is published elsewhere."""
        return self.homepage.removeprefix(_HUB) if self.homepage.startswith(_HUB) else None

    def file(self, name: str) -> SourceFile:
        """Return the published file of this name."""
        return next(file for file in self.files if file.name == name)

    def matching(self, pattern: str) -> list[str]:
        """Return the names of the published files that a name or pattern stands for, in their order."""
        return [file.name for file in self.files if fnmatchcase(file.name, pattern)]


@dataclass(frozen=True, kw_only=True)
class OwnSource(Source):
    """The files of a user's task.

    Attributes:
        folder: The folder of the task file; None if that is not known, as of a task in a log.
    """

    folder: Path | None = None


def with_named_files(keys: Any) -> dict[str, Any]:
    """Return the fields of a source from its declaration, in which files are a mapping of names to what is known.

    Raises:
        ValueError: A key is unknown.
    """
    _check_names(Source, keys)
    named = keys.get("files")
    if not isinstance(named, dict):
        return dict(keys)
    address = keys.get("address")
    base = address and str(address).replace("{revision}", str(keys.get("revision", "main")))
    files = []
    for name, facts in named.items():
        _check_names(SourceFile, facts or {})
        files.append({"name": name, "url": base and base + name, **(facts or {})})
    return {**keys, "files": files}


def _check_names(record: type, keys: Any) -> None:
    if not isinstance(keys, dict):
        raise ValueError(f"expected a mapping, got {keys!r}")
    names = [field.name for field in fields(record)]
    for name in keys:
        if name not in names:
            raise ValueError(unknown("key", name, names))


def _packaged(keys: Mapping[str, Any]) -> Source:
    files = with_named_files(keys)["files"]
    return Source(**{**keys, "files": tuple(SourceFile(**facts) for facts in files)})


_KEYS = read_yaml(Path(__file__).with_name("sources.yaml"))
SOURCES = {name: _packaged({"name": name, **keys}) for name, keys in _KEYS.items()}
