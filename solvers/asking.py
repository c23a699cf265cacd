"""How methods of several calls ask: model roles, a cache that a second run reads, calls side by side."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import anyio
from inspect_ai.model import CachePolicy, ChatMessage, GenerateConfig, ModelOutput, get_model
from inspect_ai.solver import TaskState

from halu_tasks.errors import UsageError
from halu_tasks.scorers.probability import Token
from halu_tasks.tasks import Task, task_named

T = TypeVar("T")

METHOD = "halu_method"
"""Where an output tells the method that made it,"""
PROBABILITY = "halu_probability"
"""the probability of the first of the task's choices,"""
REASON = "halu_reason"
"""why there is no answer,"""
COUNTS = "halu_counts"
"""what the method counted, numbers by name, each of which becomes a figure,"""
DRAFT = "halu_draft"
"""a first version of the reply that is to be scored beside it,"""
STEPS = "halu_steps"
"""and what came between, for a reader of the log."""


async def ask(
    asked: str | list[ChatMessage], role: str, *, cache: bool = True, draw: int = 0, **config: Any
) -> ModelOutput:
    """The reply of the model in `role`, which is the model under test where none is named for it.

    Args:
        asked: a text, or the messages so far.
        role: name of the model role.
        cache: read and keep the reply in Inspect's cache, so that it is asked for once.
        draw: tells replies to one prompt apart that are drawn several times.
        config: of generation; what the model of the role was given of its own counts more.
    """
    model = get_model(role=role)
    policy = CachePolicy(expiry=None, scopes={"draw": str(draw)}) if cache else False
    return await model.generate(asked, config=GenerateConfig(**config).merge(model.config), cache=policy)


async def side_by_side(*asked: Coroutine[Any, Any, T]) -> list[T]:
    """The results of what runs side by side, in order. As Inspect's `collect`, but without a span in the log for
    each, which for one call would hold one event."""
    found: dict[int, T] = {}

    async def run(place: int, one: Coroutine[Any, Any, T]) -> None:
        found[place] = await one

    try:
        async with anyio.create_task_group() as group:
            for place, one in enumerate(asked):
                group.start_soon(run, place, one)
    except ExceptionGroup as errors:
        # one error says what is wrong; a group of them would hide its type from Inspect
        raise errors.exceptions[0] from None
    return [found[place] for place in range(len(asked))]


async def draws(
    asked: str | list[ChatMessage], role: str, number: int, *, cache: bool = True, **config: Any
) -> list[str]:
    """`number` replies to one prompt, drawn side by side."""
    replies = await side_by_side(*(ask(asked, role, cache=cache, draw=draw, **config) for draw in range(number)))
    return [reply.completion for reply in replies]


def conclude(
    state: TaskState,
    method: str,
    answer: str,
    *,
    probability: float | None = None,
    reason: str = "",
    counts: Mapping[str, float] | None = None,
    draft: str | None = None,
    steps: Any = None,
) -> TaskState:
    """The state with the reply that a method comes to, in words that the task's scorer reads; empty where there is
    none, and then `reason` says why."""
    told = {
        METHOD: method,
        PROBABILITY: probability,
        REASON: reason or None,
        COUNTS: counts,
        DRAFT: draft,
        STEPS: steps,
    }
    state.output = ModelOutput.from_content(str(state.model), answer)
    state.output.metadata = {key: value for key, value in told.items() if value is not None}
    state.messages.append(state.output.message)
    return state


def tokens_of(output: ModelOutput) -> list[Token]:
    """The tokens of a reply with their log-probabilities; none where the provider gave none."""
    given = output.choices[0].logprobs if output.choices else None
    if given is None:
        return []
    return [
        Token(found.token, {found.token: found.logprob, **{t.token: t.logprob for t in found.top_logprobs or []}})
        for found in given.content
    ]


def task_of(state: TaskState, method: str) -> Task:
    """The package's task that a sample is of. Raises UsageError where it is of none."""
    if "task" not in state.metadata:
        raise UsageError(f"{method} serves the tasks of halu_tasks, and the sample {state.sample_id!r} is of none")
    return task_named(state.metadata["task"])


def decide(state: TaskState, probability: float, threshold: float) -> str:
    """The label that a probability of hallucination comes to: above the threshold the one for it."""
    hallucinated, right = state.metadata.get("choices", ("Yes", "No"))
    return str(hallucinated if probability > threshold else right)


def subject_of(state: TaskState, method: str, needs: Sequence[str]) -> dict[str, str]:
    """The parts of the sample that a method looks at: `text`, `query`, `source`. A sample of another package may
    have them, as `subject` in its metadata.

    Raises:
        UsageError: the sample has no such part.
    """
    found: dict[str, str] | None = state.metadata.get("subject")
    name = state.metadata.get("task", "this sample")
    if found is None:
        raise UsageError(f"{method} judges one text as one of two labels, and {name} asks for something else")
    if missing := [part for part in needs if part not in found]:
        raise UsageError(f"{method} needs the {' and the '.join(missing)} of each item, and {name} has none")
    return found
