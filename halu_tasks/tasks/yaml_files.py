"""Task files: YAML with `include` and `!function`, as lm-eval reads them, and the types of their values.

lm-eval is not imported. The file and line of each key are kept, so that every fault is one line that names them.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import JinjaText

Mode = Literal["strict", "paper"]
OPTIONS = tuple(option.name for option in fields(Options))
Entries = dict[str, tuple[Any, str]]
"""The value of each key of a file, and where it is set, as `path:line`."""
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
    entries = _read(path, set())
    values = {key: value for key, (value, _) in entries.items()}
    return TaskFile(path, values, {key: place for key, (_, place) in entries.items()})


def _read(path: Path, seen: set[Path]) -> Entries:
    resolved = path.expanduser().resolve()
    if resolved in seen:
        raise UsageError(f"{path}: include: the file is included twice; include each file once")
    seen.add(resolved)
    own, included = _own_entries(path), Entries()
    names, place = own.pop("include", ([], ""))
    for name in names if isinstance(names, list) else [names]:
        if not isinstance(name, str):
            raise UsageError(f"{place}: include: expected the path of a file, got {name!r}")
        if not (file := path.parent / Path(name).expanduser()).is_file():
            raise UsageError(f"{place}: include: no such file: {file}")
        included |= _read(file, seen)
    return included | own


def _own_entries(path: Path) -> Entries:
    """Read what one file sets itself."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    nodes: list[tuple[int, Any, Any]] = []
    try:
        loader = _loader(path.parent)(text)
        root = loader.get_single_node()
        is_mapping = isinstance(root, yaml.MappingNode)
        for key, value in root.value if is_mapping else ():
            constructed = (loader.construct_object(node, deep=True) for node in (key, value))
            nodes.append((key.start_mark.line + 1, *constructed))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        raise UsageError(f"{path}{f':{mark.line + 1}' if mark else ''}: not YAML ({reason})") from None
    if not is_mapping:
        raise UsageError(f"{path}: expected a mapping of keys to values")
    entries: Entries = {}
    for line, key, value in nodes:
        if not isinstance(key, str):
            raise UsageError(f"{path}:{line}: the key {key!r} is not a string")
        if key in entries:
            raise UsageError(f"{path}:{line}: {key}: the key is set twice")
        entries[key] = value, f"{path}:{line}"
    return entries


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


# --- values ---------------------------------------------------------------------------------------


class Keys(BaseModel):
    """A mapping of a task file, or some of its keys. A key that is null counts as absent."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, defer_build=True)

    @classmethod
    def names(cls) -> dict[str, str]:
        """Return the keys as files spell them, with what each is for."""
        return {field.alias or name: field.description or "" for name, field in cls.model_fields.items()}

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        known = cls.names()
        for name in values:
            if name not in known and cls.model_config.get("extra") != "allow":
                raise ValueError(f"unknown key {name!r}{did_you_mean(str(name), known)}; known: {', '.join(known)}")
        return {name: value for name, value in values.items() if value is not None}


class KeyFault(ValueError):
    """A fault that shows only together with other keys: the key, and what is wrong with it."""


Model = TypeVar("Model", bound=Keys)


def validated(model: type[Model], file: TaskFile, values: Mapping[str, Any]) -> Model:
    """Check values of a file.

    Args:
        model: The keys.
        file: The file, for error messages.
        values: The values of the keys.

    Raises:
        UsageError: A value is wrong; the message is one line with the file, the line and the key.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        key, reason = _first(error)
        missing = f"{reason} ({model.names()[key]})" if reason == "is missing" and key in model.names() else reason
        raise file.fault(key, missing) from None


def reason_of(error: ValidationError) -> ValueError:
    """Return an error within a value as the error of that value."""
    return ValueError(": ".join(filter(None, _first(error))))


_WORDS = {"a tuple": "a list", "a dictionary": "a mapping", "a integer": "an integer", "a boolean": "true or false"}
_PYDANTIC = re.compile("|".join(_WORDS))


def _first(error: ValidationError) -> tuple[str, str]:
    """Return the key that is at fault, and what is wrong with it in one line."""
    first = error.errors()[0]
    key, *path = first["loc"] or ("",)
    given = first.get("input")
    if first["type"] == "missing":
        reason = "is missing"
    elif first["type"] == "value_error":
        fault = first["ctx"]["error"]
        key, reason = fault.args if isinstance(fault, KeyFault) else (key, str(fault))
    else:
        expected = re.sub(r"Input should be|valid | or instance of \w+", "", first["msg"]).strip()
        expected = "expected " + _PYDANTIC.sub(lambda match: _WORDS[match[0]], expected)
        quote = " (quote True, False, Yes and No)" if isinstance(given, bool) else ""
        reason = f"{expected}, got {given!r:.200}{quote}"
    place = "".join(f"{f'entry {part + 1}' if isinstance(part, int) else part}: " for part in path if part != "[key]")
    return str(key), f"{place}{reason}"


# --- types of values ------------------------------------------------------------------------------


def one_of(what: str, known: Collection[str]) -> AfterValidator:
    """Return a check that a string is one of some names."""

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"unknown {what} {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
        return name

    return AfterValidator(check)


def check_signature(function: Any, *arguments: Any, **named: Any) -> None:
    """Raise ValueError unless an object can be called with these arguments."""
    if not callable(function):
        raise ValueError(f"expected !function MODULE.NAME, got {function!r}")
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions have no signature
        return
    try:
        signature.bind(*arguments, **named)
    except TypeError as error:
        raise ValueError(f"{getattr(function, '__name__', function)}{signature}: {error}") from None


def takes(*arguments: Any) -> AfterValidator:
    """Return a check that an object can be called with these arguments."""

    def check(function: Any) -> Any:
        check_signature(function, *arguments)
        return function

    return AfterValidator(check)


def check_placeholders(text: str, known: Collection[str], expected: str = "a field") -> str:
    """Return a template, unless one of its placeholders has no value.

    Args:
        text: The template.
        known: The names that placeholders may have.
        expected: What these are, with the article.

    Raises:
        ValueError: There is such a placeholder.
    """
    if unknown := sorted(JinjaText(text).placeholders() - set(known)):
        close, plural = did_you_mean(unknown[0], known), f"{expected.partition(' ')[2]}s"
        raise ValueError(f"{{{{{unknown[0]}}}}} is not {expected}{close}; {plural}: {', '.join(known) or 'none'}")
    return text


Strings = tuple[StrictStr, ...]
Count = Annotated[StrictInt, Field(ge=0)]
Template = Annotated[StrictStr, AfterValidator(JinjaText)]
Function = Annotated[Callable[..., Any], BeforeValidator(load_object)]
OptionName = Annotated[StrictStr, one_of("option", OPTIONS)]


class Metadata(Keys):
    """The key `metadata`, to which lm-eval adds keys of its own."""

    model_config = ConfigDict(extra="allow")
    version: Annotated[StrictFloat, Field(ge=0, lt=1e6)] | None = None
    about: StrictStr | None = None


class Naming(Keys):
    """What a task is called, and its version."""

    task: StrictStr = Field(description="name of the task")
    reference_task: StrictStr = Field(description="the packaged task that the definition comes from")
    about: StrictStr = Field(description="one line for listings")
    metadata: Metadata = Field(Metadata(), description="version")


class MeanKeys(Keys):
    """An entry of `aggregate_metric_list`."""

    metric: StrictStr
    weight_by_size: Literal[False]


class GroupKeys(Keys):
    """The keys of a group file; lm-eval knows more."""

    model_config = ConfigDict(extra="allow")
    group: StrictStr
    task: Annotated[Strings, Field(min_length=1)]
    means: Annotated[tuple[MeanKeys, ...], Field(min_length=1)] = Field(alias="aggregate_metric_list")
    metadata: Metadata

    @model_validator(mode="after")
    def _check(self) -> GroupKeys:
        if self.metadata.about is None:
            raise KeyFault("metadata", "about: is missing")
        return self
