"""The options every task understands, named once for both harnesses and the command line."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from halu_tasks.errors import UsageError, did_you_mean

logger = logging.getLogger(__name__)

PREFIX = "halu_"
"""What an option's name begins with in lm-eval, where all packages share one namespace of metadata."""


def task_option(default: Any, about: str, choices: tuple[str, ...] = (), *, of_harnesses: bool = False) -> Any:
    """An option that changes which items a task has or how they are asked. Tasks that have a use for it
    name it in `task_options`; `about` is its help on the command line, which has none `of_harnesses` alone."""
    return field(default=default, metadata={"about": about, "choices": choices, "of_harnesses": of_harnesses})


@dataclass(frozen=True)
class Options:
    """How a task is asked and scored.

    Attributes:
        data: a file, a folder, or `sample`; None for the pinned source.
        scoring: `strict` (robust extraction, definitions that mean what they say) or `paper` (the
            published extraction and definition, faults included).
        prompts: a prompt file whose wording replaces the package's.
        fewshot: number of worked examples before the question.
        cot: ask for reasoning before the verdict (chain of thought).
        judge: the judge's model, named as Inspect names it (`openai/gpt-4o`).
        judge_base_url: base URL for a judge behind an OpenAI-compatible server.
        judge_max_failures: the share of items that the judge may fail on before the run is an error.

    The others are options of some tasks only (`Task.task_options`); where they are declared, they are told.
    """

    data: str | None = None
    scoring: str = field(default="strict", metadata={"choices": ("strict", "paper")})
    prompts: str | None = None
    fewshot: int = 0
    cot: bool = False
    judge: str | None = None
    judge_base_url: str | None = None
    judge_max_failures: float = 0.05
    seed: int = task_option(0, "seed of what is left to chance (order of A and B, examples, splits)")
    subset: str = task_option("multi_error", "ReFACT: which of its two files", ("multi_error", "single_error"))
    both_orders: bool = task_option(False, "ReFACT comparative: ask every row in both orders")
    split: str = task_option(
        "all",
        "judgements: a seeded sample of the rows, or two, the first to tune a threshold on",
        ("all", "train5", "test20", "train5_test20", "train5_rest"),
    )
    probability: bool = task_option(False, "weigh the two answers by their probabilities", of_harnesses=True)
    with_zero: bool = task_option(False, "HalluVerse: also the rows labelled 0, which have no error of the three types")
    without_original: bool = task_option(False, "HalluVerse25 binary: show the sentence without the original")
    adjustment: float = task_option(2 / 3, "fave: the share of reported hallucinations that are real")
    part: str = task_option("qa", "HalluVerse-M3: which of its two parts", ("qa", "summarization"))

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if (allowed := option.metadata.get("choices")) and value not in allowed:
                raise UsageError(f"option {option.name}={value!r} is unknown; choose {' or '.join(allowed)}")
            if told := wrong_kind(value, str(option.type)):
                raise UsageError(f"option {option.name}={value!r} is not {told}")
        if self.fewshot < 0:
            raise UsageError(f"option fewshot={self.fewshot} is negative")
        for name in ("judge_max_failures", "adjustment"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"option {name}={getattr(self, name)} is not a share between 0 and 1")

    @classmethod
    def of_some_tasks(cls) -> dict[str, Field[Any]]:
        """The options that only some tasks have a use for, by name."""
        return {option.name: option for option in fields(cls) if "about" in option.metadata}

    def version_tags(self, names: Iterable[str]) -> list[str]:
        """How a version tells those of the options `names` that are not at their default: a switch by its
        name, a number by name and value, a choice by its value."""
        chosen = [(name, getattr(self, name), option.default) for name, option in self.of_some_tasks().items()]
        return [
            name if value is True else str(value) if isinstance(value, str) else f"{name}{value:g}"
            for name, value, default in chosen
            if name in names and value != default
        ]

    def unused(self, names: Iterable[str]) -> list[str]:
        """The options of some tasks that are not at their default and not among `names`."""
        return [
            name
            for name, option in self.of_some_tasks().items()
            if name not in names and getattr(self, name) != option.default
        ]

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Options:
        """Options from lm-eval's metadata: keys that begin with `halu_`; all others are ignored.

        Raises:
            UsageError: a `halu_` key that is no option, or a value of the wrong kind.
        """
        known = {option.name for option in fields(cls)} - {"fewshot"}
        given = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
        if unknown := sorted(set(given) - known):
            names = ", ".join(PREFIX + name for name in sorted(known))
            close = did_you_mean(unknown[0], known, PREFIX)
            raise UsageError(f"unknown metadata key {PREFIX}{unknown[0]}{close}; known: {names}")
        # model arguments come as metadata too, so a key without the prefix may be meant for a model
        for bare in sorted(known & set(metadata) - {"seed"}):
            logger.warning("metadata key %s is ignored by halu-tasks; did you mean %s%s?", bare, PREFIX, bare)
        return cls(**given)


def wrong_kind(value: Any, annotation: str) -> str | None:
    """What a value should be and is not, in words; None if it is of the annotated type, or the type is not checked
    here."""
    if annotation not in _KINDS:
        return None
    kinds, told = _KINDS[annotation]
    fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    return None if fits else told


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a text"),
    "str | None": ((str, type(None)), "a text"),
    "int": ((int,), "a whole number"),
    "int | None": ((int, type(None)), "a whole number"),
    "bool": ((bool,), "true or false"),
    "float": ((float, int), "a number"),
}
