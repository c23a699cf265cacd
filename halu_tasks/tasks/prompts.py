"""How a task asks a model: prompts, decoding, worked examples, and replies that need no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import Prompt, render_jinja
from halu_tasks.core.settings import KeyFault
from halu_tasks.tasks.keys import (
    Keys,
    NonNegative,
    StringTuple,
    Template,
    check_placeholders,
    check_signature,
    one_of,
)
from halu_tasks.tasks.yaml_files import FunctionName, load_object

PARTS = {"description": "system", "doc_to_text": "user", "chain_of_thought": "cot"}
"""The keys of a prompt in task files, and the parts of a `Prompt` that they give."""
SubjectPart = Literal["text", "query", "source", "evidence"]
"""What a detection method looks at: a text that may hallucinate, the question that it answers, the source that has to
support it, and evidence that the task does not show, for methods that are asked to use it."""
Positive = Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False)]


def _reply(value: Any) -> Callable[..., str]:
    """Return the function that makes a reply to an item: the named function, or one that fills a template."""
    if isinstance(value, FunctionName) or callable(value):
        function: Callable[..., str] = load_object(value)
        check_signature(function, None)
        return function
    if not isinstance(value, str):
        raise ValueError(f"expected a string (quoted) or !function MODULE.NAME, got {value!r}")
    # items of logs have no fields
    check_placeholders(value, ("target",))
    return lambda item: render_jinja(value, {"target": item.target})


ReplyFunction = Annotated[Callable[[Item], str], BeforeValidator(_reply)]


class Decoding(Keys):
    """The key `generation_kwargs`: the paper's decoding, of which both harnesses let users override each value."""

    max_tokens: Annotated[StrictInt, Field(gt=0)] = Field(alias="max_gen_toks")
    temperature: Positive = 0.0
    top_p: Positive | None = None
    do_sample: StrictBool | None = None
    until: Any = None

    @model_validator(mode="after")
    def _check(self) -> Decoding:
        if self.do_sample not in (None, self.temperature > 0):
            raise ValueError(f"do_sample is {self.do_sample} and temperature is {self.temperature}")
        if self.until not in (None, []):
            raise ValueError(f"until: expected [], since whole replies are read, got {self.until!r}")
        return self


class Wording(Keys):
    """An entry of `wordings`: texts that replace the usual ones under some options.

    Attributes:
        description: The system text.
        doc_to_text: The prompt.
        chain_of_thought: The system text that asks for reasoning first.
        when: The values of options under which the texts are used.
    """

    description: Template | None = None
    doc_to_text: Template | None = None
    chain_of_thought: Template | None = None
    when: Annotated[Mapping[StrictStr, Any], Field(min_length=1)]

    @property
    def prompt(self) -> Prompt:
        """The texts that are given, by the part of a prompt."""
        return {part: text for key, part in PARTS.items() if (text := getattr(self, key)) is not None}

    @property
    def suffix(self) -> str:
        """The suffix of the task's name under which a user's prompt file gives this wording."""
        return "".join(f"_{name if value is True else value}" for name, value in self.when.items())


class Prompts(Wording):
    """How a model is asked, and two replies that need no model.

    Attributes:
        fields: The fields of an item that prompts may show.
        task_options: The task-specific options that change what is asked.
        alternatives: Other prompts, used if an option changes the question.
        oracle: Returns the reply that earns the full score.
        baseline: Returns a reply made without knowing the answer.
        format: The solver of the same prompt format.
        shots: The default number of worked examples.
        decoding: The paper's decoding.
        subject: The fields of an item that a detection method looks at, by part; None if the task has no such text.
    """

    when: ClassVar[Mapping[str, Any]] = {}  # type: ignore[misc]
    fields: Annotated[StringTuple, BeforeValidator(lambda names: list(names) if isinstance(names, dict) else names)]
    task_options: tuple[Annotated[StrictStr, one_of("option", Options.task_specific())], ...] = ()
    alternatives: tuple[Wording, ...] = Field((), alias="wordings")
    oracle: ReplyFunction = Field(attrgetter("target"), alias="doc_to_target")
    baseline: ReplyFunction = Field(lambda item: "")
    format: Literal["independent", "comparative", "localization", "correction"] | None = Field(
        None, alias="prompt_format"
    )
    shots: NonNegative = Field(0, alias="num_fewshot")
    decoding: Decoding = Field(alias="generation_kwargs")
    subject: dict[SubjectPart, StrictStr] | None = Field(None, alias="method_input")

    @model_validator(mode="after")
    def _check(self) -> Prompts:
        if self.doc_to_text is None:
            raise KeyFault("doc_to_text", "is missing")
        self._check_texts(self)
        for other in self.alternatives:
            self._check_texts(other, "wordings")
            for name, value in other.when.items():
                if name not in self.task_options:
                    raise KeyFault("wordings", f"when: {name!r} is not among the task_options")
                try:
                    Options(**{name: value})
                except UsageError as error:
                    raise KeyFault("wordings", error) from None
        for part, field in (self.subject or {}).items():
            if field not in self.fields and part != "evidence":
                reason = f"{part}: {field!r} is not a field; fields: {', '.join(self.fields)}"
                raise KeyFault("method_input", reason)
        if self.subject and "text" not in self.subject:
            raise KeyFault("method_input", "text: is missing")
        return self

    def _check_texts(self, texts: Wording, within: str | None = None) -> None:
        for key in PARTS:
            text = getattr(texts, key)
            if key == "doc_to_text" and text is not None and (not text.strip() or text != text.rstrip()):
                raise KeyFault(within or key, "is empty or ends in white space")
            try:
                check_placeholders(text or "", self.fields)
            except ValueError as error:
                raise KeyFault(within or key, error) from None

    @cached_property
    def wordings(self) -> tuple[Wording, ...]:
        """The prompts, each complete; the first is the usual one."""
        usual = {key: getattr(self, key) for key in PARTS}
        changes = ({key: value for key, value in other if value is not None} for other in self.alternatives)
        return (self, *(Wording.model_construct(**usual | texts) for texts in changes))

    def wording(self, options: Options) -> Wording:
        """Return the wording that is used under `options`."""
        fitting = [
            wording
            for wording in self.wordings
            if all(getattr(options, name) == value for name, value in wording.when.items())
        ]
        return fitting[-1]

    def parts_of(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Return the fields of an item that a detection method looks at, by part."""
        return {part: fields[name] for part, name in (self.subject or {}).items() if name in fields}
