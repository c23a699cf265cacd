"""Task files: YAML with `include` and `!function`, as lm-eval reads them.

lm-eval is not imported. The file and line of each key are kept, so that every fault is one line that names them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import halu_tasks.task_configs
from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import open_yaml

Entries = dict[str, tuple[Any, str]]
"""The value of each key of a file, and where it is set, as `path:line`."""


NAMED: set[str] = set()
"""The objects that task files have named in this process, by their names in a log."""


@dataclass(frozen=True)
class FunctionName:
    """The dotted name of an object after `!function`, with the folder of the file that names it."""

    name: str
    folder: Path | None = None

    @property
    def logged(self) -> str:
        """The name in a log: with the folder of the module, unless that is installed."""
        module = self.name.rpartition(".")[0].replace(".", "/")
        is_own = self.folder is not None and (self.folder / f"{module}.py").is_file()
        return f"{self.folder.resolve() / self.name}" if self.folder and is_own else self.name

    def __str__(self) -> str:
        return f"!function {self.name}"

    __repr__ = __str__


@dataclass(frozen=True)
class TaskFile:
    """The keys of a task file and of the files that it includes.

    Attributes:
        path: The file itself.
        values: The value of each key; the file's own keys replace keys of included files.
        places: Where each key is set, as `path:line`.
    """

    path: Path
    values: Mapping[str, Any]
    places: Mapping[str, str]

    @property
    def folder(self) -> Path | None:
        """The folder of the file; None if it is known only by what a log or a program says of it."""
        return self.path.parent if self.path.is_file() else None

    def fault(self, key: str, reason: object) -> UsageError:
        """Return the error for a fault of a key: one line with the file, the line and the key."""
        place = self.places.get(key, str(self.path))
        return UsageError(f"{place}: {key}: {' '.join(str(reason).split())}")


def task_configs() -> Path:
    """Return the folder of the packaged task files."""
    return Path(halu_tasks.task_configs.__path__[0])


def packaged_files() -> list[Path]:
    """Return the packaged task and group files, sorted by path."""
    return sorted(task_configs().glob("**/*.yaml"))


def read_task_file(path: Path, files_read: dict[Path, tuple[Path, Entries]] | None = None) -> TaskFile:
    """Read a task file and the files that it includes.

    Args:
        path: The file.
        files_read: The files that were read before, each with its resolved path and its own entries; those read now
            are added.

    Raises:
        UsageError: The file cannot be read, is not YAML or not a mapping, sets a key twice, or includes a file, such
            as itself, twice (which lm-eval refuses, too). The message names file and line.
    """
    entries = _read(path, set(), {} if files_read is None else files_read)
    values = {key: value for key, (value, _) in entries.items()}
    return TaskFile(path, values, {key: place for key, (_, place) in entries.items()})


def _read(path: Path, seen: set[Path], files_read: dict[Path, tuple[Path, Entries]]) -> Entries:
    if path not in files_read:
        files_read[path] = path.expanduser().resolve(), _own_entries(path)
    resolved, own_entries = files_read[path]
    if resolved in seen:
        raise UsageError(f"{path}: include: the file is included twice; include each file once")
    seen.add(resolved)
    included = Entries()
    names, place = own_entries.get("include", ([], ""))
    for name in names if isinstance(names, list) else [names]:
        if not isinstance(name, str):
            raise UsageError(f"{place}: include: expected the path of a file, got {name!r}")
        if (file := path.parent / Path(name).expanduser()) not in files_read and not file.is_file():
            raise UsageError(f"{place}: include: no such file: {file}")
        included |= _read(file, seen, files_read)
    entries = included | own_entries
    entries.pop("include", None)
    return entries


def _own_entries(path: Path) -> Entries:
    nodes: list[tuple[int, Any, Any]] = []
    with open_yaml(path) as loader:
        function = {"!function": lambda loader, node: FunctionName(str(loader.construct_scalar(node)), path.parent)}
        loader.yaml_constructors = {**loader.yaml_constructors, **function}
        root = loader.get_single_node()
        is_mapping = isinstance(root, yaml.MappingNode)
        for key, value in root.value if is_mapping else ():
            constructed = (loader.construct_object(node, deep=True) for node in (key, value))
            nodes.append((key.start_mark.line + 1, *constructed))
    if not is_mapping:
        raise UsageError(f"{path}: expected a mapping of keys to values")
    entries: Entries = {}
    for line, key, value in nodes:
        if not isinstance(key, str):
            raise UsageError(f"{path}:{line}: the key {key!r} is not a string")
        entries[key] = value, f"{path}:{line}"
    return entries


def load_object(value: Any) -> Any:
    """Import the object that a `!function` names; return any other value, such as one that lm-eval has loaded.

    As in lm-eval, a module in the folder of the file takes precedence over an installed one.

    Raises:
        ValueError: The module or the object cannot be imported.
    """
    if not isinstance(value, FunctionName):
        return value
    loaded = find_object(value)
    NAMED.add(value.logged)
    return loaded


def find_object(value: FunctionName) -> Any:
    """Import the object that a `!function` names, without recording that a task file has named it.

    Raises:
        ValueError: The module or the object cannot be imported.
    """
    module_name, _, name = value.name.rpartition(".")
    if not module_name:
        raise ValueError(f"'{value}' lacks the module; write !function MODULE.NAME")
    try:
        module = _module_in(value.folder, module_name) or importlib.import_module(module_name)
        return getattr(module, name)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"'{value}' cannot be imported ({type(error).__name__}: {reason})") from None


def _module_in(folder: Path | None, name: str) -> Any:
    path = folder / f"{name.replace('.', '/')}.py" if folder else None
    if path is None or not path.is_file():
        return None
    qualified = str(path.resolve().with_suffix(""))  # the name by which lm-eval loads it
    if qualified not in sys.modules:
        spec = importlib.util.spec_from_file_location(qualified, path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[qualified] = module
    return sys.modules[qualified]


def comparable(value: Any) -> Any:
    """Convert a value so that it can be compared between files.

    A function is compared as an object, whether the file names it or lm-eval has loaded it.
    """
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(each) for each in value]
    try:
        return load_object(value)
    except ValueError:
        return value
