"""The types of the values in task files, and of what all task and group files have: names, versions, means."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal, TypeVar

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

from halu_tasks.core.errors import did_you_mean, unknown
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import JinjaText, placeholders
from halu_tasks.core.settings import KeyFault, first_fault
from halu_tasks.tasks.yaml_files import TaskFile, load_object

Mode = Literal["strict", "paper"]
OPTIONS = tuple(Options.settings())


class Keys(BaseModel):
    """A mapping of a task file, or some of its keys. A key that is null counts as absent."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True, defer_build=True)

    @classmethod
    def names(cls) -> list[str]:
        """Return the keys as files spell them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        names = cls.names()
        for name in values:
            if name not in names and cls.model_config.get("extra") != "allow":
                raise ValueError(unknown("key", name, names))
        return {name: value for name, value in values.items() if value is not None}


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
        raise file.fault(*first_fault(error)) from None


def reason_of(error: ValidationError) -> ValueError:
    """Return an error within a value as the error of that value."""
    return ValueError(": ".join(filter(None, first_fault(error))))


# --- types of values ------------------------------------------------------------------------------


def one_of(what: str, names: Collection[str]) -> AfterValidator:
    """Return a check that a string is one of some names."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(unknown(what, name, names))
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


def check_placeholders(text: str, names: Collection[str], expected: str = "a field") -> str:
    """Return a template, unless one of its placeholders has no value.

    Args:
        text: The template.
        names: The names that placeholders may have.
        expected: What these are, with the article.

    Raises:
        ValueError: There is such a placeholder.
    """
    if unknown := sorted(placeholders(JinjaText(text)) - set(names)):
        close, plural = did_you_mean(unknown[0], names), f"{expected.partition(' ')[2]}s"
        raise ValueError(f"{{{{{unknown[0]}}}}} is not {expected}{close}; {plural}: {', '.join(names) or 'none'}")
    return text


StringTuple = tuple[StrictStr, ...]
NonNegative = Annotated[StrictInt, Field(ge=0)]
Template = Annotated[StrictStr, AfterValidator(JinjaText)]
Function = Annotated[Callable[..., Any], BeforeValidator(load_object)]
OptionName = Annotated[StrictStr, one_of("option", OPTIONS)]


class Metadata(Keys):
    """The key `metadata`, to which lm-eval adds keys of its own."""

    model_config = ConfigDict(extra="allow")
    version: Annotated[StrictFloat, Field(ge=0, lt=1e6)] | None = None
    about: StrictStr | None = None


class Naming(Keys):
    """What a task is called, the packaged task that it comes from, a line for listings, and its version."""

    task: StrictStr
    reference_task: StrictStr
    about: StrictStr
    metadata: Metadata = Metadata()


class MeanKeys(Keys):
    """An entry of `aggregate_metric_list`."""

    metric: StrictStr
    weight_by_size: Literal[False]


class GroupKeys(Keys):
    """The keys of a group file; lm-eval knows more."""

    model_config = ConfigDict(extra="allow")
    group: StrictStr
    task: Annotated[StringTuple, Field(min_length=1)]
    means: Annotated[tuple[MeanKeys, ...], Field(min_length=1)] = Field(alias="aggregate_metric_list")
    metadata: Metadata

    @model_validator(mode="after")
    def _check(self) -> GroupKeys:
        if self.metadata.about is None:
            raise KeyFault("metadata", "about: is missing")
        return self
