"""Options: their declaration, from which `--metadata`, `-T`, the command line and versions follow, and their types.

The options of tasks are the fields of the parts of `Options`, those of a builder the fields of its class.
`option_specs` reads both.
"""

from __future__ import annotations

import ast
import inspect
import logging
import math
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from halu_tasks.core.errors import UsageError, unknown

logger = logging.getLogger(__name__)

PREFIX = "halu_"
"""The prefix of options in lm-eval, where the metadata of all packages share one namespace."""
POOLS = ("any", "majority", "distinct", "all", "soft")
"""The ways to pool what several annotators say."""


def docstring_of(described: Any) -> str:
    """Return the docstring of a function or class, which `python -OO` leaves out: then as its source has it."""
    if sys.flags.optimize < 2:
        return inspect.cleandoc(described.__doc__ or "")
    try:
        (written,) = ast.parse(textwrap.dedent(inspect.getsource(described))).body
    except (OSError, TypeError, SyntaxError):
        return ""
    return ast.get_docstring(written) or ""  # type: ignore[arg-type]  # a function or a class


# --- types ----------------------------------------------------------------------------------------

# the types of values that can be checked: how error messages call them, and their placeholder in the help
_KINDS = {
    str: ("a string", "TEXT"),
    int: ("an integer", "N"),
    float: ("a number", "NUMBER"),
    bool: ("true or false", "true|false"),
    tuple: ("a list of strings", "A,B"),
}


def _kind(annotation: Any) -> tuple[type | None, bool]:
    """Return the type of an annotation's values, None if they cannot be checked; and whether None is a value."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kinds = [get_origin(member) or member for member in members if member is not NoneType]
    return kinds[0] if len(kinds) == 1 and kinds[0] in _KINDS else None, NoneType in members


def wrong_kind(value: Any, annotation: Any) -> str | None:
    """Describe what a value should be, such as "an integer"; None if it has the right type or cannot be checked.

    True and False are no numbers.

    Args:
        value: The value.
        annotation: The type of its option or argument, such as `int` or `str | None`.
    """
    kind, optional = _kind(annotation)
    if kind is None or (value is None and optional):
        return None
    if kind is tuple:
        right = isinstance(value, tuple | list) and all(isinstance(element, str) for element in value)
    else:
        right = isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) == (kind is bool)
    return None if right else _KINDS[kind][0]


class Price(NamedTuple):
    """What a million input tokens and a million output tokens cost in dollars."""

    input: float
    output: float

    @classmethod
    def parse(cls, value: str) -> Price | None:
        """Return the prices that a text such as 2.50/10 states; None if it is not two prices."""
        try:
            prices = cls(float(value.partition("/")[0]), float(value.partition("/")[2]))
        except ValueError:
            return None
        return prices if all(0 <= price < math.inf for price in prices) and any(prices) else None

    def of(self, input: float, output: float) -> float:
        """Return what numbers of input and output tokens cost in dollars."""
        return (input * self.input + output * self.output) / 1_000_000


# --- declarations ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OptionSpec:
    """The declaration of an option.

    Attributes:
        name: The option's name, as in `-T`.
        default: Its default.
        about: What it does, for the help of commands and the documentation.
        annotation: The type of its values.
        kind: The same without None and parameters; None if values cannot be checked.
        expected: How error messages describe a value.
        valid: Further condition on a value.
        choices: The values to choose from; empty if there are no others than those of the type.
        metavar: The placeholder for a value in the help of commands.
    """

    name: str
    default: Any
    about: str
    annotation: Any
    kind: type | None
    expected: str
    valid: Callable[[Any], bool]
    choices: tuple[str, ...]
    metavar: str

    @property
    def flag(self) -> str:
        """The option on the command line of `halu-tasks`."""
        return "--" + self.name.replace("_", "-")

    def check(self, value: Any) -> None:
        """Check a value.

        Raises:
            UsageError: It is not one of the choices, or has the wrong type.
        """
        if wrong_kind(value, self.annotation) or (value is not None and not self.valid(value)):
            raise UsageError(f"option {self.name}: expected {self.expected}, got {value!r}")

    def parse(self, text: str) -> Any:
        """Read a value from a string, in which commas separate the elements of a list.

        Raises:
            UsageError: It is not a valid value.
        """
        try:
            value = tuple(map(str.strip, text.split(","))) if self.kind is tuple else (self.kind or str)(text)
        except ValueError:
            value = text
        self.check(value)
        return value

    def version_tag(self, value: Any) -> str:
        """Return how a version shows a value: a switch by its name, a choice by itself, a number with its name."""
        return self.name if value is True else str(value) if isinstance(value, str) else f"{self.name}{value:g}"


@cache
def option_specs(cls: type) -> Mapping[str, OptionSpec]:
    """Return the options that the fields of a dataclass declare, by name; see `option`."""
    hints = get_type_hints(cls)
    specs = {}
    for each in fields(cls):
        kind, _ = _kind(hints[each.name])
        expected, metavar = _KINDS[kind] if kind else ("", "VALUE")
        choices = each.metadata.get("choices", ())
        specs[each.name] = OptionSpec(
            name=each.name,
            default=each.default,
            about=each.metadata["about"],
            annotation=hints[each.name],
            kind=kind,
            expected=" or ".join(choices) or each.metadata.get("expected") or expected,
            valid=choices.__contains__ if choices else each.metadata.get("valid", lambda value: True),
            choices=choices,
            metavar=each.metadata.get("metavar") or metavar,
        )
    return specs


def option(default: Any, about: str, choices: tuple[str, ...] = (), **facts: Any) -> Any:
    """Declare an option, which has the type of the field.

    Args:
        default: The default.
        about: What the option does.
        choices: The values to choose from, if only some are valid.
        **facts: Any of `expected`, `valid` and `metavar`, as in `OptionSpec`.
    """
    return field(default=default, metadata={"about": about, "choices": choices, **facts})


# --- options of tasks -----------------------------------------------------------------------------


class Assumption(NamedTuple):
    """What is assumed of a judge.

    Attributes:
        sensitivity: The lowest and the highest share of hallucinations that it reports; None if none is assumed.
        specificity: The lowest and the highest share of everything else that it does not report.
        precision: The share of what it reports that is one.
    """

    sensitivity: tuple[float, float] | None = None
    specificity: tuple[float, float] | None = None
    precision: float | None = None

    @classmethod
    def parse(cls, parts: Sequence[str]) -> Assumption:
        """Read the option `assume`.

        Raises:
            UsageError: A part is not of the form, sensitivity or specificity lacks the other, or the judge may be no
                better than chance.
        """
        try:
            pairs = (part.partition(":") for part in parts)
            given: dict[str, Any] = {name.strip(): _share_range(text) for name, _, text in pairs}
            if "precision" in given:
                (given["precision"],) = {*given["precision"]}
            assumed = cls(**given)
        except (ValueError, TypeError, ZeroDivisionError):
            form = "sensitivity:SHARE,specificity:SHARE or precision:SHARE, the first two also ranges such as 0.8-0.9"
            raise UsageError(f"option assume: expected {form}, got {','.join(parts)!r}") from None
        if (assumed.sensitivity is None) != (assumed.specificity is None):
            raise UsageError("option assume: give both sensitivity and specificity")
        if assumed.sensitivity and assumed.specificity and assumed.sensitivity[0] + assumed.specificity[0] <= 1:
            raise UsageError(
                "option assume: the lowest sensitivity and specificity must add up to more than 1; otherwise the judge "
                "may be no better than chance"
            )
        return assumed


def _share_range(text: str) -> tuple[float, float]:
    """Return the ends of a range such as 0.8-0.9, or a share such as 0.667 or 2/3 twice."""
    from fractions import Fraction  # imported here because few runs need it

    low, _, high = text.partition("-")
    ends = float(Fraction(low)), float(Fraction(high or low))
    if not 0 <= ends[0] <= ends[1] <= 1:
        raise ValueError
    return ends


@dataclass(frozen=True)
class DataOptions:
    """Which data a task reads."""

    data: str | None = option(
        None,
        "a file, a folder, a dataset of the Hub (hf://USER/NAME@REVISION), or `sample` for the packaged sample",
        metavar="PATH|hf://…|sample",
    )
    data_split: str | None = option(None, "the split of a dataset in the Hub's layout", metavar="SPLIT")
    data_config: str | None = option(None, "the configuration of a dataset that has several", metavar="CONFIG")
    columns: tuple[str, ...] = option(
        (), "columns of the data whose names differ from the fields, as FIELD:COLUMN", metavar="FIELD:COLUMN,…"
    )

    @property
    def column_names(self) -> dict[str, str]:
        """The columns that the user named, by field."""
        return {field: column for field, _, column in (pair.partition(":") for pair in self.columns)}


@dataclass(frozen=True)
class AskingOptions:
    """How a model is asked."""

    prompts: tuple[str, ...] = option(
        (),
        "a prompt file that replaces the built-in prompts; with several files, every item is asked in each wording "
        "(`packaged` is the built-in one)",
        metavar="FILE,…",
    )
    fewshot: int = option(
        0, "number of worked examples before the question", expected="an integer, 0 or more", valid=lambda n: n >= 0
    )
    cot: bool = option(False, "ask for reasoning before the answer")
    structured: bool = option(
        False,
        "ask for the answer as a JSON object: by a schema if the model's server takes one, and in the prompt",
    )
    system_in_user: bool = option(
        False,
        "put the system text before the first user turn, for a server that refuses the system role; weights whose chat "
        "template has no such role are always asked so",
    )


@dataclass(frozen=True)
class ScoringOptions:
    """How replies are scored, by which judge, and what is known of the errors of that."""

    scoring: str = option(
        "strict",
        "strict reads replies robustly; paper reads and scores them as the paper did, including its faults",
        ("strict", "paper"),
    )
    reader: str | None = option(
        None,
        "a model that reads the replies whose label the rules infer or do not find; both figures are printed",
        metavar="MODEL",
    )
    reader_base_url: str | None = option(None, "the address of the reader's OpenAI-compatible server", metavar="URL")
    reference: str | None = option(
        None,
        "judged tasks: a table of better labels, by people or a stronger judge, which correct judged rates",
        metavar="FILE",
    )
    assume: tuple[str, ...] = option(
        (),
        "judged tasks without such labels: the judge's sensitivity and specificity, each a share or a range, such as "
        "sensitivity:0.8-0.9,specificity:0.95; fave: precision, the share of reported hallucinations that are real, of "
        "which the paper assumes precision:2/3",
        metavar="NAME:SHARE,…",
    )
    judge: str | None = option(None, "the judge model, named as in Inspect (openai/gpt-4o)", metavar="MODEL")
    judge_base_url: str | None = option(None, "the address of the judge's OpenAI-compatible server", metavar="URL")
    judge_temperature: float | None = option(
        None,
        "the temperature of the judge; 0 by default",
        metavar="NUMBER",
        expected="a number, 0 or more",
        valid=lambda value: 0 <= value < math.inf,
    )
    judge_max_tokens: int | None = option(
        None,
        "the most tokens of a reply of the judge, its reasoning included; 1,024 by default",
        metavar="N",
        expected="an integer, 1 or more",
        valid=lambda value: value >= 1,
    )
    judge_max_characters: int = option(
        8_000,
        "the most characters of a reply that the judge is shown; of a longer one, it sees the beginning and the end",
        metavar="N",
        expected="an integer, 2 or more",
        valid=lambda value: value >= 2,
    )
    judge_without_schema: bool = option(
        False,
        "ask the judge without a JSON schema, for servers that do not refuse one but follow it badly",
    )
    judge_max_failures: float = option(
        0.05,
        "the share of questions that the judge may leave without a verdict before the run stops",
        metavar="SHARE",
        expected="a number from 0 to 1",
        valid=lambda share: 0 <= share <= 1,
    )
    judge_max_cost: float | None = option(
        None,
        "the maximum cost of the judge in dollars; the run stops before it costs more",
        metavar="DOLLARS",
        expected="dollars, more than 0",
        valid=lambda cost: 0 < cost < math.inf,
    )
    judge_price: str | None = option(
        None,
        "for judge_max_cost: the judge's price in dollars per million input and output tokens, such as 2.50/10",
        metavar="INPUT/OUTPUT",
        expected="prices of a million input and output tokens, such as 2.50/10",
        valid=lambda price: Price.parse(price) is not None,
    )

    @property
    def assumption(self) -> Assumption | None:
        """What is assumed of the judge, if anything."""
        return Assumption.parse(self.assume) if self.assume else None


DATA_OPTIONS, SCORING_OPTIONS = tuple(option_specs(DataOptions)), tuple(option_specs(ScoringOptions))
JUDGE_OPTIONS = tuple(name for name in SCORING_OPTIONS if name.startswith("judge"))
JUDGE_SETTINGS = ("judge_temperature", "judge_max_tokens", "judge_max_characters", "judge_without_schema")
"""The options that say how a judge is asked, which may change its verdicts."""
JUDGE_COST_OPTIONS = ("judge_max_cost", "judge_price")
"""The options that say what judges may cost, which changes no figure."""
ASKED_OPTIONS = ("judge", "judge_base_url", "reader", "reader_base_url", *JUDGE_COST_OPTIONS)
"""The options that say which models score replies, where they are and what they may cost. Only users say this, since a
model gets a key and prompts, and costs money: what a task file says is a suggestion."""


@dataclass(frozen=True)
class Options(ScoringOptions, AskingOptions, DataOptions):
    """The options of tasks.

    Its own fields are for the tasks that name them in `task_options`: which items there are, or how they are asked.
    """

    seed: int = option(0, "seed of random choices (order of A and B, examples, splits)")
    subset: str = option("multi_error", "ReFACT: which of its two files to use", ("multi_error", "single_error"))
    both_orders: bool = option(False, "ReFACT comparative: ask every row in both orders")
    split: str = option(
        "all",
        "judgment tasks: a seeded sample of the rows, or two samples, of which the first tunes a threshold",
        ("all", "train5", "test20", "train5_test20", "train5_rest"),
    )
    probability: bool = option(False, "compare the probabilities of the two answers")
    with_zero: bool = option(False, "HalluVerse: include the rows labelled 0, which have none of the three errors")
    without_original: bool = option(False, "HalluVerse25 binary: show the sentence without the original")
    alpha: float = option(
        0.7,
        "FactCHD: the weight of an explanation's body in ExpMatch",
        metavar="WEIGHT",
        expected="a number above 0, up to 1",
        valid=lambda weight: 0 < weight <= 1,
    )
    pool: str | None = option(
        None, "tasks with several annotators: what they say together; by default, as the task file says", POOLS
    )
    part: str = option("qa", "HalluVerse-M3: which of its two parts to use", ("qa", "summarization"))

    def __post_init__(self) -> None:
        for name, spec in self.specs().items():
            value = getattr(self, name)
            if spec.kind is tuple and isinstance(value, str | list):
                # harnesses pass a list, or a string if it has one element
                value = spec.parse(value) if isinstance(value, str) else tuple(value)
                object.__setattr__(self, name, value)
            spec.check(value)
        for pair in self.columns:
            if not all(pair.partition(":")[::2]):
                raise UsageError(f"option columns: expected FIELD:COLUMN, got {pair!r}")
        if self.judge_price is not None and self.judge_max_cost is None:
            raise UsageError("option judge_price: only has a meaning with judge_max_cost")
        _ = self.assumption

    @classmethod
    def specs(cls) -> Mapping[str, OptionSpec]:
        """Return all options by name."""
        return option_specs(Options)

    @classmethod
    def of_some_tasks(cls) -> Mapping[str, OptionSpec]:
        """Return the options that only some tasks have, by name."""
        of_all = {name for part in cls.__bases__ for name in option_specs(part)}
        return {name: spec for name, spec in cls.specs().items() if name not in of_all}

    def changed(self) -> dict[str, Any]:
        """Return the options that are not at their default, by name."""
        values = ((name, getattr(self, name), spec.default) for name, spec in self.specs().items())
        return {name: value for name, value, default in values if value != default}

    @cached_property
    def for_reader(self) -> Options:
        """These options with the reader in place of the judge, for what asks judges."""
        return replace(self, judge=self.reader, judge_base_url=self.reader_base_url)

    def version_tags(self, names: Collection[str]) -> list[str]:
        """Return how a version shows `cot`, `structured` and those options in `names` that only some tasks have.

        Those at their default are not shown.
        """
        changed = self.changed()
        shown = (*(name for name in self.of_some_tasks() if name in names), "cot", "structured")
        return [self.specs()[name].version_tag(changed[name]) for name in shown if name in changed]

    def unused(self, names: Iterable[str]) -> list[str]:
        """Return the options of some tasks that are not at their default and not among `names`."""
        changed = self.changed()
        return [name for name in self.of_some_tasks() if name in changed and name not in names]

    def for_tasks(self, names: Iterable[str]) -> Options:
        """Return these options with the default for the options of some tasks that are not among `names`."""
        return replace(self, **{name: self.specs()[name].default for name in self.unused(names)})

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Options:
        """Read options from lm-eval's metadata: keys that begin with `halu_`; the others are ignored.

        Raises:
            UsageError: There is no option for a `halu_` key, or its value is invalid.
        """
        # lm-eval has an option of its own for worked examples
        known = option_specs(Options).keys() - {"fewshot"}
        given = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
        if strange := sorted(given.keys() - known):
            raise UsageError(unknown("metadata key", strange[0], sorted(known), PREFIX))
        # arguments of models are metadata, too, so a key without the prefix may be one of these
        for bare in sorted(known & metadata.keys() - {"seed"}):
            logger.warning("metadata key %s is ignored by halu-tasks; did you mean %s%s?", bare, PREFIX, bare)
        return cls(**given)
