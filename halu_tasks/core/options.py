"""Options of tasks, from which `--metadata`, `-T`, the command line and versions follow, and their types."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, get_args

from annotated_types import Ge, Gt, Le, Lt, Predicate

from halu_tasks.core.errors import UsageError, unknown
from halu_tasks.core.settings import Count, Help, Natural, Setting, Share, checked_settings, settings_of

logger = logging.getLogger(__name__)

PREFIX = "halu_"
"""The prefix of options in lm-eval, where the metadata of all packages share one namespace."""
Pool = Literal["any", "majority", "distinct", "all", "soft"]
"""A way to pool what several annotators say."""
POOLS = get_args(Pool)


# --- types ----------------------------------------------------------------------------------------


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


def _is_price(text: str) -> bool:
    if Price.parse(text) is None:
        raise ValueError(f"expected prices of a million input and output tokens, such as 2.50/10, got {text!r}")
    return True


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
            values: dict[str, Any] = {name.strip(): _share_range(text) for name, _, text in pairs}
            if "precision" in values:
                (values["precision"],) = {*values["precision"]}
            assumed = cls(**values)
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
    """Parse a range such as 0.8-0.9, or a single share such as 0.667 or 2/3, which is both ends."""
    low, _, high = text.partition("-")
    ends = float(Fraction(low)), float(Fraction(high or low))
    if not 0 <= ends[0] <= ends[1] <= 1:
        raise ValueError
    return ends


@dataclass(frozen=True)
class DataOptions:
    """Which data a task reads."""

    data: Annotated[
        str | None,
        "PATH|hf://…|sample",
        Help("a file, a folder, a dataset of the Hub (hf://USER/NAME@REVISION), or `sample` for the packaged sample"),
    ] = None
    data_split: Annotated[str | None, "SPLIT", Help("the split of a dataset in the Hub's layout")] = None
    data_config: Annotated[str | None, "CONFIG", Help("the configuration of a dataset that has several")] = None
    columns: Annotated[
        tuple[str, ...],
        "FIELD:COLUMN,…",
        Help("columns of the data whose names differ from the fields, as FIELD:COLUMN"),
    ] = ()

    @property
    def column_names(self) -> dict[str, str]:
        """The columns that the user named, by field."""
        return {field: column for field, _, column in (pair.partition(":") for pair in self.columns)}


@dataclass(frozen=True)
class AskingOptions:
    """How a model is asked."""

    prompts: Annotated[
        tuple[str, ...],
        "FILE,…",
        Help(
            "a prompt file that replaces the built-in prompts; with several files, every item is asked in each wording "
            "(`packaged` is the built-in one)"
        ),
    ] = ()
    fewshot: Annotated[Natural, Help("number of worked examples before the question")] = 0
    cot: Annotated[bool, Help("ask for reasoning before the answer")] = False
    structured: Annotated[
        bool,
        Help("ask for the answer as a JSON object: by a schema if the model's server takes one, and in the prompt"),
    ] = False
    confidence: Annotated[
        bool,
        Help("ask how sure the model is that its answer is right; the answer is read without it"),
    ] = False
    system_in_user: Annotated[
        bool,
        Help(
            "put the system text before the first user turn, for a server that refuses the system role; weights whose "
            "chat template has no such role are always asked so"
        ),
    ] = False


@dataclass(frozen=True)
class ScoringOptions:
    """How replies are scored, by which judge, and what is assumed about its errors."""

    scoring: Annotated[
        Literal["strict", "paper"],
        Help("strict reads replies robustly; paper reads and scores them as the paper did, including its faults"),
    ] = "strict"
    reader: Annotated[
        str | None,
        "MODEL",
        Help("a model that reads the replies whose label the rules infer or do not find; both figures are printed"),
    ] = None
    reader_base_url: Annotated[str | None, "URL", Help("the address of the reader's OpenAI-compatible server")] = None
    penalty: Annotated[
        float,
        Ge(0),
        Lt(math.inf),
        "POINTS",
        Help("what a wrong answer costs in `net`, where a right one earns 1"),
    ] = 1.0
    verdicts: Annotated[
        str | None,
        "FILE",
        Help(
            "judged tasks, halu-tasks score: recorded verdicts in the place of a judge's, rows of id, verdict and, if "
            "needed, claim, reply and by; items without one count as judge_failed"
        ),
    ] = None
    verdict_columns: Annotated[
        tuple[str, ...],
        "FIELD:COLUMN,…",
        Help(
            "for verdicts of other programs: columns whose names differ from the fields, and what each label is known "
            "by, as 'id:doc.id,bad:score<0.5,good:score>=0.5'; docs/recorded-verdicts.md"
        ),
    ] = ()
    reference: Annotated[
        str | None,
        "FILE",
        Help("judged tasks: a table of better labels, by people or a stronger judge, which correct judged rates"),
    ] = None
    assume: Annotated[
        tuple[str, ...],
        "NAME:SHARE,…",
        Help(
            "judged tasks without such labels: the judge's sensitivity and specificity, each a share or a range, such "
            "as sensitivity:0.8-0.9,specificity:0.95; fave: precision, the share of reported hallucinations that are "
            "real, of which the paper assumes precision:2/3"
        ),
    ] = ()
    judge: Annotated[str | None, "MODEL", Help("the judge model, named as in Inspect (openai/gpt-4o)")] = None
    judge_base_url: Annotated[str | None, "URL", Help("the address of the judge's OpenAI-compatible server")] = None
    judge_temperature: Annotated[
        float | None, Ge(0), Lt(math.inf), "NUMBER", Help("the temperature of the judge; 0 by default")
    ] = None
    judge_max_tokens: Annotated[
        Count | None,
        Help("the most tokens of a reply of the judge, its reasoning included; 1,024 by default"),
    ] = None
    judge_max_characters: Annotated[
        int,
        Ge(2),
        "N",
        Help(
            "the most characters of a reply that the judge is shown; of a longer one, it sees the beginning and the end"
        ),
    ] = 8_000
    judge_knowledge: Annotated[
        str | None,
        "PATH",
        Help("factscore and other judges that look claims up: the file or folder of passages that is searched"),
    ] = None
    judge_without_schema: Annotated[
        bool, Help("ask the judge without a JSON schema, for servers that do not refuse one but follow it badly")
    ] = False
    judge_max_failures: Annotated[
        Share,
        Help("the share of questions that the judge may leave without a verdict before the run stops"),
    ] = 0.05
    judge_max_cost: Annotated[
        float | None,
        Gt(0),
        Lt(math.inf),
        "DOLLARS",
        Help(
            "what the judge may cost in dollars: the run stops before the next question; those in flight may exceed it"
        ),
    ] = None
    judge_price: Annotated[
        Annotated[str, Predicate(_is_price)] | None,
        "INPUT/OUTPUT",
        Help("for judge_max_cost: the judge's price in dollars per million input and output tokens, such as 2.50/10"),
    ] = None

    risk: Annotated[
        float,
        Ge(0),
        Lt(1),
        "SHARE",
        Help("the share of wrong answers that coverage_at_risk allows among those that are kept by their confidence"),
    ] = 0.05

    @property
    def assumption(self) -> Assumption | None:
        """What is assumed of the judge, if anything."""
        return Assumption.parse(self.assume) if self.assume else None


DATA_OPTIONS, SCORING_OPTIONS = tuple(settings_of(DataOptions)), tuple(settings_of(ScoringOptions))
JUDGE_OPTIONS = tuple(name for name in SCORING_OPTIONS if name.startswith("judge"))
JUDGE_SETTINGS = ("judge_temperature", "judge_max_tokens", "judge_max_characters", "judge_without_schema")
"""The options that say how a judge is asked, which may change its verdicts."""
PENALTY = "penalty"
"""The option that says what a wrong answer costs in `net`, and the fact of scores, where it is not one point."""
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

    seed: Annotated[int, Help("seed of random choices (order of A and B, examples, splits)")] = 0
    subset: Annotated[Literal["multi_error", "single_error"], Help("ReFACT: which of its two files to use")] = (
        "multi_error"
    )
    both_orders: Annotated[bool, Help("ReFACT comparative: ask every row in both orders")] = False
    split: Annotated[
        Literal["all", "train5", "test20", "train5_test20", "train5_rest"],
        Help("judgment tasks: a seeded sample of the rows, or two samples, of which the first tunes a threshold"),
    ] = "all"
    probability: Annotated[bool, Help("compare the probabilities of the two answers")] = False
    threshold: Annotated[
        float | None,
        Gt(0),
        Lt(1),
        "SHARE",
        Help("question tasks: ask for an answer only if the model is surer of it than this, such as 0.75"),
    ] = None
    with_zero: Annotated[bool, Help("HalluVerse: include the rows labelled 0, which have none of the three errors")] = (
        False
    )
    without_original: Annotated[bool, Help("HalluVerse25 binary: show the sentence without the original")] = False
    alpha: Annotated[
        float, Gt(0), Le(1), "WEIGHT", Help("FactCHD: the weight of an explanation's body in ExpMatch")
    ] = 0.7
    pool: Annotated[
        Pool | None, Help("tasks with several annotators: what they say together; by default, as the task file says")
    ] = None
    part: Annotated[Literal["qa", "summarization"], Help("HalluVerse-M3: which of its two parts to use")] = "qa"

    def __post_init__(self) -> None:
        settings = self.settings()
        changed = {name: value for name, value in vars(self).items() if value is not settings[name].default}
        vars(self).update(checked_settings(Options, changed))
        for name in ("columns", "verdict_columns"):
            for pair in getattr(self, name):
                if not all(pair.partition(":")[::2]):
                    raise UsageError(f"option {name}: expected FIELD:COLUMN, got {pair!r}")
        if self.verdict_columns and self.verdicts is None:
            raise UsageError("option verdict_columns: needs the option verdicts")
        if self.verdicts is not None and self.judge is not None:
            raise UsageError("option verdicts: recorded verdicts take the place of a judge; leave out one of the two")
        if self.judge_price is not None and self.judge_max_cost is None:
            raise UsageError("option judge_price: needs the option judge_max_cost")
        _ = self.assumption

    @classmethod
    def settings(cls) -> Mapping[str, Setting]:
        """Return all options by name."""
        return settings_of(Options)

    @classmethod
    def task_specific(cls) -> Mapping[str, Setting]:
        """Return the options that a task has only if its file names them, by name."""
        general = {name for part in cls.__bases__ for name in settings_of(part)}
        return {name: setting for name, setting in cls.settings().items() if name not in general}

    def changed(self) -> dict[str, Any]:
        """Return the options that are not at their default, by name."""
        values = ((name, getattr(self, name), setting.default) for name, setting in self.settings().items())
        return {name: value for name, value, default in values if value != default}

    @cached_property
    def reader_options(self) -> Options:
        """These options with the reader as the judge, for functions that ask a judge."""
        return replace(self, judge=self.reader, judge_base_url=self.reader_base_url)

    def version_tags(self, names: Collection[str]) -> list[str]:
        """Return the tags by which a version shows options that change a figure and are not at their default.

        Args:
            names: The task-specific options of the task.
        """
        changed = self.changed()
        tagged = (*(name for name in self.task_specific() if name in names), "cot", "structured", "confidence", "risk")
        return [self.settings()[name].version_tag(changed[name]) for name in tagged if name in changed]

    def unsupported(self, names: Iterable[str]) -> list[str]:
        """Return the task-specific options that are set, but not among the `names` of those that a task has."""
        changed = self.changed()
        return [name for name in self.task_specific() if name in changed and name not in names]

    def restricted_to(self, names: Iterable[str]) -> Options:
        """Return these options with the defaults of task-specific options that are not among `names`."""
        return replace(self, **{name: self.settings()[name].default for name in self.unsupported(names)})

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Options:
        """Read options from lm-eval's metadata: keys that begin with `halu_`; the others are ignored.

        Raises:
            UsageError: There is no option for a `halu_` key, or its value is invalid.
        """
        # lm-eval has an option of its own for worked examples
        names = settings_of(Options).keys() - {"fewshot"}
        options = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
        if unknown_names := sorted(options.keys() - names):
            raise UsageError(unknown("metadata key", unknown_names[0], sorted(names), PREFIX))
        # arguments of models are metadata, too, so a key without the prefix may be one of these
        for bare in sorted(names & metadata.keys() - {"seed"}):
            logger.warning("metadata key %s is ignored by halu-tasks; did you mean %s%s?", bare, PREFIX, bare)
        return cls(**options)
