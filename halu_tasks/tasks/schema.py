"""The keys of task files: what each is for, and its type, which pydantic checks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import JinjaText, render_jinja
from halu_tasks.data.sources import SOURCES, Source
from halu_tasks.scorers.judge import JudgeSpec
from halu_tasks.scorers.registry import Reading, reading_named
from halu_tasks.tasks.yaml_files import FunctionName, TaskFile, load_object

Mode = Literal["strict", "paper"]
MODES: tuple[Mode, ...] = ("strict", "paper")
PROMPT_FORMATS = ("independent", "comparative", "localization", "correction")
_OPTIONS = tuple(option.name for option in fields(Options))


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


def _takes(*arguments: Any) -> AfterValidator:
    def check(function: Any) -> Any:
        check_signature(function, *arguments)
        return function

    return AfterValidator(check)


def check_placeholders(text: str, known: Collection[str], expected: str = "a field") -> None:
    """Raise ValueError if a template has a placeholder that has no value.

    Args:
        text: The template.
        known: The names that placeholders may have.
        expected: What these are, with the article.
    """
    if unknown := sorted(JinjaText(text).placeholders() - set(known)):
        close, plural = did_you_mean(unknown[0], known), f"{expected.partition(' ')[2]}s"
        raise ValueError(f"{{{{{unknown[0]}}}}} is not {expected}{close}; {plural}: {', '.join(known) or 'none'}")


def _file_template(text: str) -> str:
    check_placeholders(text, _OPTIONS, "an option")
    return text


def _reply(value: Any) -> Callable[..., str]:
    """Return the function that makes a reply of an item: the one that is named, or that fills a template."""
    if isinstance(value, FunctionName) or callable(value):
        function: Callable[..., str] = load_object(value)
        check_signature(function, None)
        return function
    if not isinstance(value, str):
        raise ValueError(f"expected a string (quoted) or !function MODULE.NAME, got {value!r}")
    # items of logs have no fields
    check_placeholders(value, ("target",))
    if value == "{{target}}":
        return attrgetter("target")
    return lambda item: render_jinja(value, {"target": item.target})


def _source(value: Any) -> Any:
    source = load_object(value)
    if isinstance(source, dict):
        try:
            return Source.from_keys(**SourceKeys.model_validate(source).model_dump())
        except ValidationError as error:
            raise ValueError(": ".join(filter(None, _first(error)))) from None
    if isinstance(source, str):
        if source not in SOURCES:
            close = did_you_mean(source, SOURCES)
            raise ValueError(f"unknown source {source!r}{close}; known: {', '.join(SOURCES)}")
        return SOURCES[source]
    return source


def _names_of_labels(value: Any) -> Any:
    """Return labels with their names in metrics, which a list of labels lacks."""
    if not isinstance(value, list | tuple):
        return value
    if not all(isinstance(label, str) for label in value):
        raise ValueError(f"expected a list of strings, got {value!r} (quote True, False, Yes and No)")
    if len(set(value)) < max(len(value), 2):
        raise ValueError(f"expected two or more different strings, got {value!r}")
    return dict.fromkeys(value, "")


Strings = tuple[StrictStr, ...]
Count = Annotated[StrictInt, Field(ge=0)]
Positive = Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False)]
Template = Annotated[StrictStr, AfterValidator(JinjaText)]
Reply = Annotated[Callable[..., str], BeforeValidator(_reply)]
Function = Annotated[Callable[..., Any], BeforeValidator(load_object)]
Version = Annotated[StrictFloat, Field(ge=0, lt=1e6)]
OptionName = Annotated[StrictStr, one_of("option", _OPTIONS)]


class _Keys(BaseModel):
    """A mapping of a task file. A key that is null counts as absent."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        for name in values:
            if name not in cls.model_fields and cls.model_config.get("extra") != "allow":
                close = did_you_mean(str(name), cls.model_fields)
                raise ValueError(f"unknown key {name!r}{close}; known: {', '.join(cls.model_fields)}")
        return {name: value for name, value in values.items() if value is not None}


# --- mappings within a file -----------------------------------------------------------------------


class FileKeys(_Keys):
    """A file of a source."""

    url: StrictStr | None = None
    sha256: StrictStr | None = None
    also: Strings = ()
    extracts: Strings = ()


class SourceKeys(_Keys):
    """The key `source` of a task whose data are in no source of the package."""

    name: StrictStr
    title: StrictStr
    files: Annotated[dict[StrictStr, FileKeys | None], Field(min_length=1)]
    homepage: StrictStr = ""
    licence: StrictStr = "not stated"
    revision: StrictStr = "main"
    address: StrictStr | None = None
    gated: StrictBool = False
    paper: StrictStr = ""


class RowKeys(_Keys):
    """The key `rows`."""

    fields: dict[StrictStr, Literal["string", "array", "object", "any"]] = {}
    check: Annotated[Function, _takes({})] = lambda row: None
    format: Literal["json", "table"] = "json"
    columns: dict[StrictStr, Strings] = {}


class PromptKeys(_Keys):
    """A prompt: the task's own, or an entry of `wordings`."""

    description: Template | None = Field(None, description="system text")
    doc_to_text: Template | None = Field(None, description="prompt")
    chain_of_thought: Template | None = Field(None, description="system text that asks for reasoning first")

    def templates(self) -> dict[str, JinjaText]:
        """Return the templates that are given, by key."""
        return {key: text for key in PromptKeys.model_fields if (text := getattr(self, key)) is not None}


class WordingKeys(PromptKeys):
    """An entry of `wordings`."""

    when: Annotated[dict[StrictStr, Any], Field(min_length=1)]


class DecodingKeys(_Keys):
    """The key `generation_kwargs`."""

    max_gen_toks: Annotated[StrictInt, Field(gt=0)]
    temperature: Positive = 0.0
    top_p: Positive | None = None
    do_sample: StrictBool | None = None
    until: Any = None

    @model_validator(mode="after")
    def _check(self) -> DecodingKeys:
        if self.do_sample not in (None, self.temperature > 0):
            raise ValueError(f"do_sample is {self.do_sample} and temperature is {self.temperature}")
        if self.until not in (None, []):
            raise ValueError(f"until: expected [], since whole replies are read, got {self.until!r}")
        return self


class AnswerKeys(_Keys):
    """The key `answer`; all keys but `kind` are those of labels."""

    kind: Literal["label", "claims", "spans", "strings", "judged_text"]
    labels: Annotated[dict[StrictStr, StrictStr], BeforeValidator(_names_of_labels), Field(min_length=2)] = {}
    reading: Annotated[Reading, BeforeValidator(lambda name: reading_named(load_object(name))), _takes("")] | None = (
        None
    )
    target_varies: StrictBool = False
    explains: StrictBool = False
    only_with: dict[StrictStr, OptionName] = {}

    @model_validator(mode="after")
    def _check(self) -> AnswerKeys:
        if self.kind not in ("label", "claims"):
            if others := self.model_fields_set - {"kind"}:
                raise ValueError(f"an answer of the kind {self.kind} has no {min(others)!r}")
        elif missing := {"labels", "reading"} - self.model_fields_set:
            raise ValueError(f"{min(missing)}: is missing")
        elif unknown := self.only_with.keys() - self.labels.keys():
            raise ValueError(f"only_with: {min(unknown)!r} is not a label")
        return self


class ScorerKeys(_Keys):
    """The key `scorer`: for each mode a name, a function, or a mapping with `name` and arguments."""

    strict: Any
    paper: Any


class SubjectKeys(_Keys):
    """The key `method_input`."""

    text: StrictStr
    query: StrictStr | None = None
    source: StrictStr | None = None
    evidence: StrictStr | None = None


class MetricKeys(_Keys):
    """An entry of `metric_list`."""

    metric: StrictStr
    of: StrictStr | None = None
    by: Annotated[Strings, BeforeValidator(lambda by: by if isinstance(by, list | tuple) else [by])] = ()
    requires: OptionName | None = None
    split_requires: OptionName | None = None
    higher_is_better: StrictBool | None = None
    headline: Mode | None = None


class MetadataKeys(_Keys):
    """The key `metadata`, to which lm-eval adds keys of its own."""

    model_config = ConfigDict(extra="allow")
    version: Version | None = None


# --- the file -------------------------------------------------------------------------------------


class DataKeys(_Keys):
    """Where the rows come from, and how items are made of them."""

    source: Annotated[InstanceOf[Source], BeforeValidator(_source)] = Field(description="where the data come from")
    file: Annotated[StrictStr, AfterValidator(_file_template)] = Field(description="the file of the source")
    training_file: StrictStr | None = Field(None, description="the file of its training part")
    rows: RowKeys = Field(description="fields, check and format of a row")
    cases: Function = Field(description="function from rows to items")
    cases_arguments: dict[StrictStr, Any] = Field({}, description="arguments of that function")
    order_examples: Annotated[Function, _takes([], Options())] | None = Field(
        None, description="function that orders worked examples"
    )
    items: Count | None = Field(None, description="number of items in the published data")


class AskingKeys(PromptKeys):
    """How a model is asked."""

    fields: Strings = Field(description="fields of an item that prompts may show")
    wordings: tuple[WordingKeys, ...] = Field((), description="other prompts, used if an option changes the question")
    doc_to_target: Reply = Field(attrgetter("target"), description="the reply that earns the full score")
    baseline: Reply = Field(lambda item: "", description="a reply made without knowing the answer")
    prompt_format: Annotated[StrictStr, one_of("format", PROMPT_FORMATS)] | None = Field(
        None, description="solver of the same prompt format"
    )
    num_fewshot: Count = Field(0, description="default number of worked examples")
    generation_kwargs: DecodingKeys = Field(description="decoding")


class ScoringKeys(_Keys):
    """How replies are read and scored."""

    answer: AnswerKeys = Field(description="kind of answer, its labels and its reading")
    doc_to_choice: Strings | None = Field(
        None, description="two answers to weigh by their probabilities, the one looked for first"
    )
    scorer: ScorerKeys = Field(description="scorers by mode, with their arguments")
    judge: Annotated[InstanceOf[JudgeSpec], BeforeValidator(load_object)] | None = Field(
        None, description="what a judge is asked about a reply"
    )
    tags: dict[StrictStr, Strings] = Field({}, description="values of the tags by which metrics are split")
    metric_list: Annotated[tuple[MetricKeys, ...], Field(min_length=1)] = Field(
        description="metrics, the headline first"
    )
    method_input: SubjectKeys | None = Field(None, description="fields that detection methods look at")


class TaskKeys(ScoringKeys, AskingKeys, DataKeys):
    """All keys that define a task."""

    task: StrictStr = Field(description="name of the task")
    reference_task: StrictStr = Field(description="the packaged task that the definition comes from")
    about: StrictStr = Field(description="one line for listings")
    task_options: tuple[Annotated[StrictStr, one_of("option", Options.of_some_tasks())], ...] = Field(
        (), description="options that change what is asked"
    )
    metadata: MetadataKeys = Field(MetadataKeys(), description="version")


KEYS: Mapping[str, str] = {name: str(key.description) for name, key in TaskKeys.model_fields.items()}
"""The keys that define a task, with what each is for."""


class MeanKeys(_Keys):
    """An entry of `aggregate_metric_list`."""

    metric: StrictStr
    weight_by_size: Literal[False]


class GroupMetadataKeys(MetadataKeys):
    """The key `metadata` of a group."""

    about: StrictStr
    version: Version = 1.0


class GroupKeys(_Keys):
    """The keys of a group file; lm-eval knows more."""

    model_config = ConfigDict(extra="allow")
    group: StrictStr
    task: Annotated[Strings, Field(min_length=1)]
    aggregate_metric_list: Annotated[tuple[MeanKeys, ...], Field(min_length=1)]
    metadata: GroupMetadataKeys


# --- faults ---------------------------------------------------------------------------------------


Model = TypeVar("Model", bound=BaseModel)


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
        raise fault(file, *_first(error)) from None


def fault(file: TaskFile, key: str, reason: object) -> UsageError:
    """Return the error for a fault of a key: one line with the file, the line and the key."""
    return UsageError(f"{file.place(key)}: {key}: {' '.join(str(reason).split())}")


_WORDS = {"a tuple": "a list", "a dictionary": "a mapping", "a integer": "an integer", "a boolean": "true or false"}
_PYDANTIC = re.compile("|".join(_WORDS))


def _first(error: ValidationError) -> tuple[str, str]:
    """Return the key that is at fault, and what is wrong with it in one line."""
    first = error.errors()[0]
    key, *path = first["loc"] or ("",)
    given = first.get("input")
    if first["type"] == "missing":
        reason = f"is missing ({KEYS[str(key)]})" if not path and key in KEYS else "is missing"
    elif first["type"] == "value_error":
        reason = str(first["ctx"]["error"])
    else:
        expected = re.sub(r"Input should be|valid | or instance of \w+", "", first["msg"]).strip()
        expected = "expected " + _PYDANTIC.sub(lambda match: _WORDS[match[0]], expected)
        quote = " (quote True, False, Yes and No)" if isinstance(given, bool) else ""
        reason = f"{expected}, got {given!r:.200}{quote}"
    place = "".join(f"{f'entry {part + 1}' if isinstance(part, int) else part}: " for part in path if part != "[key]")
    return str(key), f"{place}{reason}"


def check_option(name: str, value: Any) -> None:
    """Raise ValueError unless an option can have a value."""
    try:
        Options(**{name: value})
    except UsageError as error:
        raise ValueError(str(error)) from None
