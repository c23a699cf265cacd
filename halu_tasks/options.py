"""The options every task understands, named once for both harnesses and the command line."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from halu_tasks.errors import UsageError

logger = logging.getLogger(__name__)

PREFIX = "halu_"
"""What an option's name begins with in lm-eval, where all packages share one namespace of metadata."""


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
        seed: seed of every choice that depends on an id, such as the order of two answers.
        subset: ReFACT: `multi_error` or `single_error`.
        both_orders: ReFACT comparative: ask every row in both orders.
        with_zero: HalluVerse25: also ask the rows labelled 0, which have no error of the three types.
        judge: the judge's model, named as Inspect names it (`openai/gpt-4o`).
        judge_base_url: base URL for a judge behind an OpenAI-compatible server.
        judge_max_failures: the share of items that the judge may fail on before the run is an error.
    """

    data: str | None = None
    scoring: str = "strict"
    prompts: str | None = None
    fewshot: int = 0
    cot: bool = False
    seed: int = 0
    subset: str = "multi_error"
    both_orders: bool = False
    with_zero: bool = False
    judge: str | None = None
    judge_base_url: str | None = None
    judge_max_failures: float = 0.05

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise UsageError(f"option {name}={getattr(self, name)!r} is unknown; choose {' or '.join(allowed)}")
        for field in fields(self):
            value = getattr(self, field.name)
            kinds = _KINDS[str(field.type)]
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise UsageError(f"option {field.name}={value!r} is not {str(field.type).replace(' | ', ' or ')}")
        if self.fewshot < 0:
            raise UsageError(f"option fewshot={self.fewshot} is negative")
        if not 0 <= self.judge_max_failures <= 1:
            raise UsageError(f"option judge_max_failures={self.judge_max_failures} is not a share between 0 and 1")

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> Options:
        """Options from lm-eval's metadata: keys that begin with `halu_`; all others are ignored.

        Raises:
            UsageError: a `halu_` key that is no option, or a value of the wrong kind.
        """
        known = {field.name for field in fields(cls)} - {"fewshot"}
        given = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
        if unknown := sorted(set(given) - known):
            names = ", ".join(PREFIX + name for name in sorted(known))
            raise UsageError(f"unknown metadata key {PREFIX}{unknown[0]}; known: {names}")
        # model arguments come as metadata too, so a key without the prefix may be meant for a model
        for bare in sorted(known & set(metadata) - {"seed"}):
            logger.warning("metadata key %s is ignored by halu-tasks; did you mean %s%s?", bare, PREFIX, bare)
        return cls(**given)


_CHOICES = {"scoring": ("strict", "paper"), "subset": ("multi_error", "single_error")}
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, type(None)),
    "int": (int,),
    "bool": (bool,),
    "float": (float, int),
}
