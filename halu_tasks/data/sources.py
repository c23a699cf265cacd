"""The published data of the benchmarks, pinned (`sources.yaml`); a task file may also declare its own source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from halu_tasks.core.errors import did_you_mean

_HUB = "https://huggingface.co/datasets/"


class SourceFile(BaseModel):
    """A published file.

    Attributes:
        name: Its name.
        url: The address to download it from, which begins with `hf://` for a file on the Hub; None if there is none.
        sha256: Its checksum, in hex; None if it is not known.
        also: Other names that the file may have in a user's folder; paths and patterns (`*`) are allowed.
        extracts: The checksums of published files that contain only some of its rows.
    """

    model_config = ConfigDict(frozen=True)

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


class Source(BaseModel):
    """A benchmark's published data, as `sources.yaml` and task files declare them.

    Attributes:
        name: The source's name, which its folders have, too.
        title: The benchmark's name.
        files: The published files; in a declaration the files by name, with what differs from the defaults.
        homepage: The address of its repository, or where people find the data.
        licence: The licence of the data.
        revision: The commit that addresses are pinned to; `main` means that there is no pin and files may change.
        address: What comes before the name in the address of a file, with `{revision}`; None if there is none.
        gated: Whether the terms must be accepted on the hub and a token is needed.
        paper: Where the benchmark is published: authors, venue, arXiv number.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    title: str
    files: Annotated[tuple[SourceFile, ...], Field(min_length=1)]
    homepage: str = ""
    licence: str = "not stated"
    revision: str = "main"
    address: str | None = None
    gated: bool = False
    paper: str = ""

    @model_validator(mode="before")
    @classmethod
    def _with_named_files(cls, keys: dict[str, Any]) -> dict[str, Any]:
        """Give each file its name and its address."""
        _check_names(cls, keys)
        if not isinstance(keys.get("files"), dict):
            return keys
        address = keys.get("address")
        base = address and str(address).replace("{revision}", str(keys.get("revision", "main")))
        files = []
        for name, facts in keys["files"].items():
            _check_names(SourceFile, facts or {})
            files.append({"name": name, "url": base and base + name, **(facts or {})})
        return {**keys, "files": files}

    @property
    def hub_dataset(self) -> str | None:
        """The dataset of the Hub that it is, `OWNER/NAME`; None if it is published elsewhere."""
        return self.homepage.removeprefix(_HUB) if self.homepage.startswith(_HUB) else None

    def file(self, name: str) -> SourceFile:
        """Return the published file of this name."""
        return next(file for file in self.files if file.name == name)


def _check_names(model: type[BaseModel], keys: Any) -> None:
    """Raise ValueError unless all keys of a mapping are fields of a model."""
    if not isinstance(keys, dict):
        raise ValueError(f"expected a mapping, got {keys!r}")
    for name in keys:
        if name not in model.model_fields:
            close = did_you_mean(str(name), model.model_fields)
            raise ValueError(f"unknown key {name!r}{close}; known: {', '.join(model.model_fields)}")


_KEYS = yaml.safe_load(Path(__file__).with_name("sources.yaml").read_text(encoding="utf-8"))
SOURCES = {name: Source(name=name, **keys) for name, keys in _KEYS.items()}
