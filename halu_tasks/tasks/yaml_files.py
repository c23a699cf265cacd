"""Read task files: YAML with `include` and `!function`, as lm-eval reads them, but without importing lm-eval.

The file and line of each key are kept for error messages.
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

from halu_tasks.core.errors import UsageError

_Base: type[Any] = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


@dataclass(frozen=True)
class FunctionName:
    """The dotted name of an object after `!function`, with the folder of the file that names it."""

    name: str
    folder: Path | None = None

    def __str__(self) -> str:
        return f"!function {self.name}"

    __repr__ = __str__


@dataclass(frozen=True)
class TaskFile:
    """The keys of a task file and of the files that it includes.

    Attributes:
        path: The file itself.
        values: The value of each key; the file's own keys replace those of included files.
        places: Where each key is set, as `path:line`.
    """

    path: Path
    values: Mapping[str, Any]
    places: Mapping[str, str]

    def fault(self, key: str, reason: object) -> UsageError:
        """Return the error for a fault of a key: one line with the file, the line and the key."""
        place = self.places.get(key, str(self.path))
        return UsageError(f"{place}: {key}: {' '.join(str(reason).split())}")


def task_configs() -> Path:
    """Return the folder of the packaged task files."""
    from halu_tasks import task_configs

    return Path(task_configs.__path__[0])


def packaged_files() -> list[Path]:
    """Return the packaged task and group files, sorted by path."""
    return sorted(task_configs().glob("**/*.yaml"))


def read_task_file(path: Path) -> TaskFile:
    """Read a task file and the files that it includes.

    Raises:
        UsageError: The file cannot be read, is not YAML or not a mapping, sets a key twice, or includes a file, such
            as itself, twice (which lm-eval refuses, too). The message names file and line.
    """
    values, places = _read(path, set())
    return TaskFile(path, values, places)


def _read(path: Path, seen: set[Path]) -> tuple[dict[str, Any], dict[str, str]]:
    resolved = path.expanduser().resolve()
    if resolved in seen:
        raise UsageError(f"{path}: include: the file is included twice; include each file once")
    seen.add(resolved)
    values, places = _mapping(path)
    included_values: dict[str, Any] = {}
    included_places: dict[str, str] = {}
    names = values.pop("include", [])
    for name in names if isinstance(names, list) else [names]:
        if not isinstance(name, str):
            raise UsageError(f"{places['include']}: include: expected the path of a file, got {name!r}")
        included = path.parent / Path(name).expanduser()
        if not included.is_file():
            raise UsageError(f"{places['include']}: include: no such file: {included}")
        more_values, more_places = _read(included, seen)
        included_values |= more_values
        included_places |= more_places
    return included_values | values, included_places | places


def _mapping(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Read the keys that one file sets, and where it sets them."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    loader = _loader(path.parent)(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise UsageError(f"{path}: expected a mapping of keys to values")
        values: dict[str, Any] = {}
        places: dict[str, str] = {}
        for key_node, value_node in root.value:
            place = f"{path}:{key_node.start_mark.line + 1}"
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise UsageError(f"{place}: the key {key!r} is not a string")
            if key in values:
                raise UsageError(f"{place}: {key}: the key is set twice")
            values[key] = loader.construct_object(value_node, deep=True)
            places[key] = place
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{path}{line}: not YAML ({error.problem})") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    finally:
        loader.dispose()
    return values, places


def _loader(folder: Path) -> type[Any]:
    loader = type("Loader", (_Base,), {})
    yaml.add_constructor(
        "!function", lambda loader, node: FunctionName(str(loader.construct_scalar(node)), folder), Loader=loader
    )
    return loader


def load_object(value: Any) -> Any:
    """Return the object that a `!function` names, or any other value, such as one that lm-eval has loaded, as it is.

    As in lm-eval, a module in the folder of the file takes precedence over an installed one.

    Raises:
        ValueError: The module or the object cannot be imported.
    """
    if not isinstance(value, FunctionName):
        return value
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
    """Return a value as it can be compared between files.

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
