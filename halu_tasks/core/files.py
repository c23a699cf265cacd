"""Files: JSON Lines, files that other processes see as they were or complete, and YAML within limits."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from itertools import cycle, repeat
from pathlib import Path
from typing import Any, TextIO

import yaml

from halu_tasks.core.errors import HaluTasksError, UsageError, file_errors
from halu_tasks.core.limits import exceeded, limit
from halu_tasks.core.processes import lock

_URL_SIGNS = re.compile(r"[#?%\x00-\x1f\x7f\ud800-\udfff]|::")


def create_folder(path: Path, what: str = "") -> None:
    """Create a folder that the user named with `-o`, or one in it, with the folders above it.

    Args:
        path: The folder.
        what: What it is for, for the error message, such as "report".

    Raises:
        DataError: It cannot be created.
    """
    with file_errors(f"{what} {path}".strip(), "; choose another folder with -o"):
        path.mkdir(parents=True, exist_ok=True)


def visible_files(folder: Path) -> list[Path]:
    """Return the files of a folder and of the folders in it, sorted by name, without hidden files and folders."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [folder / name for name in names if "/." not in f"/{name}"]


@contextmanager
def _temporary_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder next to a path, and remove the folders that killed processes have left there."""
    beginning = f".{path.name}.{os.uname().nodename}."
    for left in path.parent.glob(f"{escape(beginning)}*.part"):
        with suppress(OSError), lock(left, wait=0, needed=True):
            shutil.rmtree(left, ignore_errors=True)
    with ExitStack() as stack:
        while True:
            place = Path(tempfile.mkdtemp(".part", beginning, path.parent))
            with suppress(BlockingIOError, FileNotFoundError):  # another writer took it for a killed one's
                stack.enter_context(lock(place, wait=0))
                break
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


@contextmanager
def path_without_url_signs(path: Path) -> Iterator[Path]:
    """Yield the absolute path, or a link to it if it has characters with a meaning in a URL.

    Inspect turns paths into URLs, of which it reads `#` and `?` as ends, `%20` as a space and a line feed as nothing.
    """
    path = path.absolute()
    if not _URL_SIGNS.search(str(path)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="halu-tasks-") as folder:
        link = Path(folder, _URL_SIGNS.sub("-", path.name))
        link.symlink_to(path)
        yield link


@contextmanager
def atomic_path(path: Path, what: str = "") -> Iterator[Path]:
    """Yield a temporary path that replaces `path` when the block ends, and is removed if the block fails.

    Anything but a regular file, such as `/dev/stdout`, is written directly. Several processes may write the same file;
    the last one that ends does.

    Args:
        path: The file to write.
        what: What the file contains, for the error message, such as "details".

    Raises:
        DataError: The file cannot be written.
    """
    with file_errors(f"{what} {path}".strip()):
        if path.exists() and not path.is_file() and not path.is_dir():
            yield path
            return
        with _temporary_folder(path) as place:
            yield place / path.name
            (place / path.name).replace(path)


@contextmanager
def atomic_files(folder: Path, main: str, what: str = "") -> Iterator[Path]:
    """Yield a temporary folder whose files and folders replace those in `folder` when the block ends.

    While the main file is there, the others are of the same writing: it is removed before the others are replaced, and
    comes last.

    Args:
        folder: The folder of the files, which exists.
        main: The name of the main file.
        what: What the files are, for the error message.

    Raises:
        DataError: A file cannot be written.
    """
    with file_errors(f"{what} {folder}".strip()), _temporary_folder(folder / main) as place:
        yield place
        with lock(folder):
            (folder / main).unlink(missing_ok=True)
            for file in sorted(place.iterdir(), key=lambda file: (file.name == main, file.name)):
                if file.is_dir():
                    shutil.rmtree(folder / file.name, ignore_errors=True)
                file.replace(folder / file.name)


@contextmanager
def atomic_write(path: Path, what: str = "") -> Iterator[TextIO]:
    """Open a text file that replaces `path` when the block ends, as `atomic_path` does.

    Raises:
        DataError: The file cannot be written.
    """
    with atomic_path(path, what) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def atomic_folder(path: Path, what: str = "") -> Iterator[Path]:
    """Yield a new folder that becomes `path` when the block ends, and is removed if the block fails.

    Several processes may write the same folder; the first one that ends does.

    Args:
        path: The folder to write.
        what: What the folder contains, for the error message.

    Raises:
        DataError: The folder cannot be written.
    """
    with file_errors(f"{what} {path}".strip()):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _temporary_folder(path) as place:
            partial = place / path.name
            partial.mkdir()
            yield partial
            try:
                partial.replace(path)
            except OSError:
                if not path.is_dir():
                    raise


def atomic_write_text(path: Path, text: str, what: str = "") -> None:
    """Write a text file that replaces `path`.

    Raises:
        DataError: The file cannot be written.
    """
    with atomic_write(path, what) as file:
        file.write(text)


_PACKAGE = str(Path(__file__).parent.parent) + os.sep
_DATE = "tag:yaml.org,2002:timestamp"
_NOT_JSON = {f"tag:yaml.org,2002:{name}" for name in ("binary", "omap", "pairs", "set")}
_LINE_SEPARATORS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def json_line(value: Any, *, allow_nan: bool = True) -> str:
    r"""Format a value as a JSON document on one line, without the line feed.

    Characters outside ASCII are written as such, except those at which `str.splitlines` and other readers would break
    the line: U+0085, U+2028 and U+2029 are escaped. (`json.dumps` escapes control characters such as `\n` itself.)

    Args:
        value: The value.
        allow_nan: Whether to write NaN and infinity, which are not JSON.

    Raises:
        ValueError: The value contains NaN or infinity, and must not.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=allow_nan).translate(_LINE_SEPARATORS)


def row_writer(name: str, file: TextIO, columns: Iterable[str]) -> Callable[[Mapping[str, Any]], object]:
    """Return a function that writes rows to an open file: JSON Lines, or CSV if its name ends in `.csv`."""
    if not name.endswith(".csv"):
        return lambda row: file.write(json_line(row) + "\n")
    names = list(columns)
    plain = csv.DictWriter(file, names, lineterminator="\n")
    quoted = csv.DictWriter(file, names, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writeheader()
    # before Python 3.13, a carriage return alone does not make the writer quote a cell, without which none reads it
    return lambda row: (quoted if any("\r" in str(cell) for cell in row.values()) else plain).writerow(row)


@contextmanager
def open_yaml(path: Path, base: str = "SafeLoader") -> Iterator[Any]:
    """Open a YAML file; yield a loader of PyYAML.

    Args:
        path: The file.
        base: The name of the loader's class.

    Raises:
        UsageError: The file cannot be read, is not YAML, or exceeds a limit; the message names file and line.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            if len(text := file.read((most := limit("max_text")) + 1)) > most:
                raise exceeded("max_text", path)
        yield yaml_loader(text, path, base)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except HaluTasksError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UsageError(f"{path}{f':{mark.line + 1}' if mark else ''}: not YAML ({reason})") from None


def yaml_loader(text: str, place: object, base: str = "SafeLoader") -> Any:
    """Return a loader of PyYAML for a text, which is checked first: loaders call themselves for each level of nesting.

    Args:
        text: The text.
        place: Where it is from, for error messages.
        base: The name of the loader's class.

    Raises:
        LimitError: It is nested too deeply, or its aliases stand for too many values.
        UsageError: A mapping has a key twice, of which PyYAML takes the last one.
    """
    # libyaml, which is much faster, refuses the surrogate pairs of JSON
    libyaml = yaml.__with_libyaml__ and "\\ud" not in text.lower()
    kind = getattr(yaml, f"C{base}" if libyaml else base)
    if str(place).startswith(_PACKAGE):  # ours are neither large nor deep, and are many
        return kind(text)
    deepest, most = limit("max_depth"), limit("max_values")
    size, sizes, opened = 0, dict[str | None, int](), list[tuple[str | None, int]]()
    within: list[tuple[set[str], Iterator[bool]]] = []  # the keys of what is open, and whether the next node is one
    for event in yaml.parse(text, Loader=kind):
        if isinstance(event, yaml.NodeEvent) and within and next(within[-1][1]) and isinstance(event, yaml.ScalarEvent):
            if event.value in within[-1][0]:
                assert event.start_mark
                raise UsageError(f"{place}:{event.start_mark.line + 1}: {event.value}: the key is set twice")
            within[-1][0].update({event.value} - {"<<"})
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            within.pop()
            sizes[anchor] = size - before
        elif isinstance(event, yaml.AliasEvent):
            size += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.NodeEvent):
            size += 1
            sizes[event.anchor] = 1
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append((event.anchor, size))
                within.append(
                    (set(), cycle((True, False)) if isinstance(event, yaml.MappingStartEvent) else repeat(False))
                )
                sizes[event.anchor] = most  # an alias that is part of what it stands for has no end
        if len(opened) > deepest or size > most:
            name = "max_depth" if len(opened) > deepest else "max_values"
            assert event.start_mark
            raise exceeded(name, f"{place}:{event.start_mark.line + 1}")
    return kind(text)


def read_yaml(path: Path, *, as_written: bool = False) -> Any:
    """Read a YAML file of settings with the values of JSON; dates stay text.

    Args:
        path: The file.
        as_written: Whether values stay the strings that they are written as.

    Raises:
        UsageError: As in `open_yaml`.
    """
    with open_yaml(path, "BaseLoader" if as_written else "SafeLoader") as loader:
        constructors = loader.yaml_constructors
        loader.yaml_constructors = {tag: constructors[tag] for tag in constructors if tag not in _NOT_JSON}
        if not as_written:
            loader.yaml_constructors[_DATE] = constructors["tag:yaml.org,2002:str"]
        return loader.get_single_data()
