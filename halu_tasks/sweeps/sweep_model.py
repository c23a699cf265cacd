"""A model and the harness that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Harness = Literal["inspect", "lm_eval"]
HARNESSES: tuple[Harness, ...] = ("inspect", "lm_eval")


@dataclass(frozen=True)
class SweepModel:
    """A model of a sweep.

    Attributes:
        name: The name of its folder.
        harness: The harness that runs it.
        model: The model, as its harness names it.
        arguments: Arguments of the model (`-M` of Inspect, `--model_args` of lm-eval).
        options: Further options of the harness's command, such as `max_connections` or `apply_chat_template`.
    """

    name: str
    harness: Harness
    model: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
