"""Settings: what users can set, as it is declared, and the one check of what they give.

Settings are the fields of a dataclass or the parameters of a function. `Annotated` adds to a type what it cannot say:

    fewshot: Annotated[int, Ge(0), "N", Help("number of worked examples before the question")] = 0

pydantic checks values: it reads types, the choices of a `Literal`, and the limits of `annotated_types`. A string is the
placeholder of a value in the help of commands or, with dashes, a flag.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from halu_tasks.core.errors import UsageError, unknown


@dataclass(frozen=True)
class Help:
    """What a setting does, for the help of commands and the documentation."""

    text: str


Count = Annotated[int, Ge(1), "N"]
Natural = Annotated[int, Ge(0), "N"]
Share = Annotated[float, Ge(0), Le(1), "SHARE"]
_LIMITS = {"ge": "{:g} or more", "gt": "more than {:g}", "le": "{:g} or less", "lt": "less than {:g}"}


@dataclass(frozen=True)
class Setting:
    """A setting.

    Attributes:
        name: Its name.
        annotation: The type of its values, with what `Annotated` adds.
        default: Its default; `inspect.Parameter.empty` if it has none.
    """

    name: str
    annotation: Any
    default: Any

    @cached_property
    def _parts(self) -> tuple[Any, tuple[Any, ...]]:
        """The type without `None`, and what `Annotated` adds to it."""
        annotation, extras = self.annotation, tuple[Any, ...]()
        while True:
            if get_origin(annotation) is Annotated:
                annotation, *added = get_args(annotation)
                extras += tuple(added)
                continue
            members = [one for one in get_args(annotation) if one is not NoneType]
            if get_origin(annotation) not in (Union, UnionType) or len(members) > 1:
                return annotation, extras
            annotation = members[0]

    @property
    def type(self) -> Any:
        """The type of its values, without `None`."""
        return self._parts[0]

    @property
    def extras(self) -> tuple[Any, ...]:
        """What `Annotated` adds to the type."""
        return self._parts[1]

    @property
    def about(self) -> str:
        """What it does."""
        return next((extra.text for extra in self.extras if isinstance(extra, Help)), "")

    @property
    def words(self) -> tuple[str, ...]:
        """Its placeholder and flags, as far as they are not the usual ones."""
        return tuple(extra for extra in self.extras if isinstance(extra, str))

    @property
    def is_any_text(self) -> bool:
        """Whether every string is a valid value."""
        return self.type is str and all(isinstance(extra, str | Help) for extra in self.extras)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of a `Literal`; empty for other types."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def limits(self) -> str:
        """The limits of a number in words; empty if there are none."""
        ends = {
            name: end for extra in self.extras for name in _LIMITS if (end := getattr(extra, name, None)) is not None
        }
        finite = {name: end for name, end in ends.items() if math.isfinite(end)}
        if finite.keys() == {"ge", "le"}:
            return "{ge:g} to {le:g}".format_map(finite)
        return " and ".join(_LIMITS[name].format(end) for name, end in finite.items())

    @property
    def flag(self) -> str:
        """The option on the command line of `halu-tasks`."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: Any, *, strict: bool = True) -> Any:
        """Return a value in its type: a float of an integer, a tuple of a list or of a string with commas.

        Args:
            value: The value.
            strict: Whether nothing else is converted; otherwise all that pydantic does, such as a path of a string.

        Raises:
            UsageError: It is not valid; the message says what is expected.
        """
        if get_origin(self.type) is tuple and isinstance(value, str | list):
            # harnesses pass a list, or a string if it has one element
            value = tuple(map(str.strip, value.split(",")) if isinstance(value, str) else value)
        return self._validated("validate_python", value, strict)

    def parse(self, text: str) -> Any:
        """Read a value from a string, in which commas separate the elements of a list.

        Raises:
            UsageError: It is not a valid value.
        """
        return self.check(text) if get_origin(self.type) is tuple else self._validated("validate_strings", text, False)

    def version_tag(self, value: Any) -> str:
        """Format a value for a version: a switch by its name, a choice as it is, a number after its name."""
        return self.name if value is True else str(value) if isinstance(value, str) else f"{self.name}{value:g}"

    def _validated(self, how: Literal["validate_python", "validate_strings"], value: Any, strict: bool) -> Any:
        try:
            return getattr(_adapter(self.annotation), how)(value, strict=strict)
        except PydanticUserError:
            if strict or how == "validate_strings":
                raise
            return value  # the annotation of a user's function says nothing to pydantic
        except ValidationError as error:
            raise UsageError(": ".join(filter(None, first_fault(error, self)))) from None


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation, config=ConfigDict(arbitrary_types_allowed=True))


@cache
def settings_of(declared: Callable[..., Any], *, strict: bool = True) -> Mapping[str, Setting]:
    """Return the settings that a dataclass or a function declares, by name.

    Args:
        declared: The dataclass or function.
        strict: Whether types have to exist; in a user's function, some are only imported for type checkers.
    """
    try:
        hints = get_type_hints(declared, include_extras=True)
    except (NameError, TypeError):
        if strict:
            raise
        hints = {}
    named = (each for each in inspect.signature(declared).parameters.values() if each.kind not in _ANY)
    return {each.name: Setting(each.name, hints.get(each.name, Any), each.default) for each in named}


_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def checked_settings(
    declared: Callable[..., Any], user_values: Mapping[str, Any], what: str = "option", *, strict: bool = True
) -> dict[str, Any]:
    """Return a user's values of settings, checked and converted.

    Args:
        declared: The dataclass or the function that declares the settings.
        user_values: The values by name.
        what: What messages call a setting.
        strict: As in `settings_of` and `Setting.check`.

    Raises:
        UsageError: There is no such setting, or its value is not valid.
    """
    settings, values = settings_of(declared, strict=strict), dict(user_values)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in inspect.signature(declared).parameters.values())
    if not takes_any and (unknown_names := [name for name in user_values if name not in settings]):
        raise UsageError(unknown(what, unknown_names[0], settings))
    for name in [name for name in user_values if name in settings]:
        try:
            values[name] = settings[name].check(values[name], strict=strict)
        except UsageError as error:
            raise UsageError(f"{what} {name}: {error}") from None
    return values


# --- errors ---------------------------------------------------------------------------------------


class KeyFault(ValueError):
    """A fault that shows only together with other keys: the key, and what is wrong with it."""


_EXPECTED = {
    "too_short": "{min_length} or more entries",
    "too_long": "{max_length} or fewer entries",
    "sequence_str": "a list",
    "callable_type": "a function",
}
_WORDS = {
    "a tuple": "a list",
    "an instance of Sequence": "a list",
    "a dictionary": "a mapping",
    "a integer": "an integer",
    "a boolean": "true or false",
}
_PYDANTIC = re.compile("|".join(_WORDS))


def first_fault(error: ValidationError, setting: Setting | None = None) -> tuple[str, str]:
    """Return the key of the first fault that pydantic reports, empty for a value alone, and what is wrong in one line.

    Args:
        error: The error.
        setting: The setting whose value is at fault; None for keys of a file.
    """
    faults = error.errors(include_url=False)
    if setting and get_origin(setting.type) in (Union, UnionType):
        # what got furthest, without the member that it is of; or all members
        furthest = max(faults, key=lambda fault: len(fault["loc"]))
        if len(furthest["loc"]) == 1:
            expected = " or ".join(dict.fromkeys(map(_expected, faults)))
            return "", f"expected {expected}, got {furthest['input']!r:.200}"
        faults = [{**furthest, "loc": furthest["loc"][1:]}]
    first = faults[0]
    key, *path = first["loc"] if first["loc"] and isinstance(first["loc"][0], str) else ("", *first["loc"])
    if first["type"] == "missing":
        reason = "is missing"
    elif first["type"] == "value_error":
        fault = first["ctx"]["error"]
        key, reason = fault.args if isinstance(fault, KeyFault) else (key, str(fault))
    else:
        in_words = first["type"] in ("string_type", "literal_error")
        quote = " (quote True, False, Yes and No)" if in_words and isinstance(first["input"], bool) else ""
        expected = _expected(first, setting)
        reason = f"expected {expected}, got {first['input']!r:.200}{quote}"
    place = "".join(f"{f'entry {part + 1}' if isinstance(part, int) else part}: " for part in path if part != "[key]")
    return str(key), f"{place}{reason}"


def _expected(fault: Mapping[str, Any], setting: Setting | None = None) -> str:
    """Describe in this package's words what pydantic expects; for a setting, with all its limits."""
    limits = fault.get("ctx", {})
    for name in _LIMITS.keys() & limits.keys():
        if math.isinf(limits[name]):
            return "a finite number"
        return setting.limits if setting else _LIMITS[name].format(limits[name])
    if form := _EXPECTED.get(fault["type"]):
        return form.format_map(limits)
    expected = re.sub(r"Input should be|valid | or instance of \w+|, unable to parse.*", "", fault["msg"]).strip()
    return _PYDANTIC.sub(lambda match: _WORDS[match[0]], expected)
