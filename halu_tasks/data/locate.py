"""Locating data files: those the user named, else those in `HALU_TASKS_DATA`, else those of the pinned source.

A pinned source is downloaded once, verified and cached. The packaged sample is used only when it is asked for by the
word `sample`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from halu_tasks.core.errors import DataError
from halu_tasks.data.cache import HOW_TO_NAME, cached_path, sha256_of, verify
from halu_tasks.data.sources import Source

Kind = Literal["pinned", "extract", "sample", "local"]


SAMPLE = Path(__file__).parent.parent / "sample"


@dataclass(frozen=True)
class Located:
    """A data file.

    Attributes:
        path: The file.
        kind: How far results on it represent the benchmark. `pinned`: the published data, byte for byte if a checksum
            is known; `extract`: only some of the published rows; `sample`: the packaged sample; `local`: any other
            file that the user named.
        sha256: Its checksum, in hex.
    """

    path: Path
    kind: Kind
    sha256: str


def locate(source: Source, name: str, data: str | None = None) -> Located:
    """Locate a data file, downloading it if necessary.

    Args:
        source: The source that publishes it.
        name: Its name in the source.
        data: The user's file or folder, or `sample`; by default, `HALU_TASKS_DATA` or the pinned source.

    Raises:
        DataError: It does not exist and cannot be downloaded, or its checksum is not the published one.
    """
    named = data or os.environ.get("HALU_TASKS_DATA")
    if named == "sample":
        path = SAMPLE / source.name / name
        if not path.is_file():
            raise DataError(f"{source.title}: the packaged sample has no {name}")
        return Located(path, "sample", sha256_of(path))
    if named:
        file = source.file(name)
        path = _named_file(source, name, Path(named).expanduser())
        sha256 = sha256_of(path)
        kind: Kind = "pinned" if sha256 == file.sha256 else "extract" if sha256 in file.extracts else "local"
        return Located(path, kind, sha256)
    path = cached_path(source, name)
    if not path.is_file() or source.file(name).url is None:
        from halu_tasks.data.download import fetch

        fetch(source, name)
    return Located(path, "pinned", verify(source, name, path))


def _named_file(source: Source, name: str, named: Path) -> Path:
    try:
        named.stat()
    except OSError as error:
        # the file does not exist, or no file can have this name
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise DataError(f"{source.title}: data {str(named)!r} {reason}; {HOW_TO_NAME}") from None
    if named.is_file():
        others = [known for file in source.files if file.name != name for known in file.names]
        if any(named.match(known) for known in others):
            raise DataError(f"{named}: this task reads {name}, not {named.name}; name the folder that contains both")
        return named
    if path := in_folder(source, name, named):
        return path
    alternatives = [known for known in source.file(name).names if known != name]
    also = f"; the file may also be named {', '.join(alternatives)}" if alternatives else ""
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
        for known in source.file(name).names:
            # spreadsheet programs leave lock files whose names begin with ~
            matches = [path for path in place.glob(known) if path.is_file() and path.name[0] not in "~."]
            if len(matches) > 1:
                listed = ", ".join(sorted(path.name for path in matches))
                raise DataError(
                    f"{source.title}: {matches[0].parent} contains several files for {name} ({listed}); name one of "
                    "them"
                )
            if matches:
                return matches[0]
    return None


def is_sample(data: str | None) -> bool:
    """Return whether the user asked for the packaged sample."""
    return (data or os.environ.get("HALU_TASKS_DATA")) == "sample"


def find_beside(source: Source, name: str, data: str | None) -> Path | None:
    """Locate an optional data file, as `locate` does.

    Args:
        source: The source that publishes it.
        name: Its name in the source.
        data: The user's folder, or `sample`; by default, `HALU_TASKS_DATA` or the pinned source.

    Returns:
        The file; None for the packaged sample, or if the user's folder does not contain it.
    """
    named = data or os.environ.get("HALU_TASKS_DATA")
    if named is None:
        return locate(source, name).path
    return None if is_sample(data) else in_folder(source, name, Path(named).expanduser())
