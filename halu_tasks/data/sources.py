"""The published data of the benchmarks, pinned (`sources.yaml`); a task file may also declare its own source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

_HUB = "https://huggingface.co/datasets/"


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Source:
    """A benchmark's published data.

    Attributes:
        name: The source's name, which its folders have, too.
        title: The benchmark's name.
        files: The published files.
        homepage: The address of its repository, or where people find the data.
        licence: The licence of the data.
        revision: The commit that addresses are pinned to; `main` means that there is no pin and files may change.
        gated: Whether the terms must be accepted on the hub and a token is needed.
        paper: Where the benchmark is published: authors, venue, arXiv number.
    """

    name: str
    title: str
    files: tuple[SourceFile, ...]
    homepage: str = ""
    licence: str = "not stated"
    revision: str = "main"
    gated: bool = False
    paper: str = ""

    @property
    def hub_dataset(self) -> str | None:
        """The dataset of the Hub that it is, `OWNER/NAME`; None if it is published elsewhere."""
        return self.homepage.removeprefix(_HUB) if self.homepage.startswith(_HUB) else None

    def file(self, name: str) -> SourceFile:
        """Return the published file of this name."""
        return next(file for file in self.files if file.name == name)

    @classmethod
    def from_keys(
        cls, name: str, *, files: Mapping[str, Mapping[str, Any] | None], address: str | None = None, **keys: Any
    ) -> Source:
        """Declare a source as `sources.yaml` and task files do.

        Args:
            name: The source's name.
            files: The files by name, each with some of the attributes of `SourceFile`.
            address: What comes before the name in the address of a file, with `{revision}`; None if there is none.
            **keys: Further attributes.
        """
        source = cls(name, files=(), **keys)
        base = address and address.replace("{revision}", source.revision)
        published = []
        for file, facts in files.items():
            given: dict[str, Any] = {key: fact for key, fact in (facts or {}).items() if fact is not None}
            given |= {key: tuple(given[key]) for key in ("also", "extracts") if key in given}
            published.append(SourceFile(file, **{"url": base and base + file, **given}))
        return replace(source, files=tuple(published))


_KEYS = yaml.safe_load(Path(__file__).with_name("sources.yaml").read_text(encoding="utf-8"))
SOURCES = {name: Source.from_keys(name, **keys) for name, keys in _KEYS.items()}
