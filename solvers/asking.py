"""How methods of several calls ask: model roles, a cache that a second run reads, calls side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from inspect_ai.model import (
    CachePolicy,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
    model_roles,
)
from inspect_ai.solver import TaskState
from inspect_ai.tool import Tool, ToolChoice

from halu_tasks.concurrency import gather
from halu_tasks.errors import UsageError
from halu_tasks.prompting import Prompt
from halu_tasks.replies import embedded
from halu_tasks.scorers.statistics.probability import Token
from halu_tasks.tasks import Task, TaskReference

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
"""what came between, for a reader of the log,"""
OPINIONS = "halu_opinions"
"""and the labels of those whose opinions it weighed, by role, None where one gave no label."""

WEIGHED = "weighed"
"""Where a sample tells that a probability was asked for."""
MOST_ALTERNATIVES = 20
"""Alternatives to each token whose log-probabilities are asked for: the most that usual providers give."""

_OWN = {"task", "id", "cluster", "gold", "tags"}
"""What the metadata of this package's own samples have."""

_ROLES: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


def chat_messages(turns: Iterable[Mapping[str, str]]) -> list[ChatMessage]:
    """Messages of Inspect from turns with `role` and `content`."""
    return [_ROLES[turn["role"]](content=turn["content"]) for turn in turns]


async def ask(
    asked: str | list[ChatMessage],
    role: str | None,
    *,
    cache: bool = True,
    draw: int = 0,
    tools: Sequence[Tool] = (),
    tool_choice: ToolChoice | None = None,
    **config: Any,
) -> ModelOutput:
    """The reply of the model in `role`, which is the model under test where none is named for it.

    Args:
        asked: a text, or the messages so far.
        role: name of the model role; None for the model under test.
        cache: read and keep the reply in Inspect's cache, so that it is asked for once.
        draw: tells replies to one prompt apart that are drawn several times.
        tools: what the model may call; calls are not carried out here.
        tool_choice: `none` where it may call nothing any more.
        config: of generation; what the model of the role was given of its own counts more. Without any, the model
            under test is asked as the run asks it.
    """
    model = model_in(role)
    policy = CachePolicy(expiry=None, scopes={"draw": str(draw)}) if cache else False
    own = GenerateConfig(**config).merge(model.config) if config else GenerateConfig()
    if own.seed is not None:
        # under one seed every draw would be the same reply
        own.seed += draw
    return await model.generate(asked, tools=list(tools), tool_choice=tool_choice, config=own, cache=policy)


def model_in(role: str | None) -> Model:
    """The model in a role, which is the model under test where none is named for it."""
    # as the default of a role it would be a copy, to which the run's configuration does not apply
    return get_model(role=role, required=True) if named_role(role) else get_model()


def decoding_for(state: TaskState, role: str | None) -> dict[str, Any]:
    """The configuration in which the model in `role` answers the sample's task: the task's own, which Inspect gives
    to the model under test alone, together with what the user set for it."""
    if not named_role(role):
        return {}
    decoding = task_of(state).decoding
    found = {"max_tokens": decoding.max_tokens, "temperature": decoding.temperature, "top_p": decoding.top_p}
    if state.metadata.get(WEIGHED):
        found |= {"logprobs": True, "top_logprobs": MOST_ALTERNATIVES}
    return found


def named_role(role: str | None) -> bool:
    """Whether a model was named for a role."""
    return role is not None and role in model_roles()


async def draws(
    asked: str | list[ChatMessage], role: str | None, number: int, *, cache: bool = True, **config: Any
) -> list[str]:
    """`number` replies to one prompt, drawn side by side."""
    replies = await gather(*(ask(asked, role, cache=cache, draw=draw, **config) for draw in range(number)))
    return [reply.completion for reply in replies]


def conclude(
    state: TaskState,
    method: str,
    answer: str | ModelOutput,
    *,
    probability: float | None = None,
    reason: str = "",
    counts: Mapping[str, float] | None = None,
    draft: str | None = None,
    steps: Any = None,
    opinions: Mapping[str, str | None] | None = None,
) -> TaskState:
    """The state with the reply that a method comes to, in words that the task's scorer reads; empty where there is
    none, and then `reason` says why. A model's reply to the task itself is given whole, and keeps its
    log-probabilities."""
    told = {
        METHOD: method,
        PROBABILITY: probability,
        REASON: reason or None,
        COUNTS: counts,
        DRAFT: draft,
        STEPS: steps,
        OPINIONS: opinions,
    }
    output = answer if isinstance(answer, ModelOutput) else ModelOutput.from_content(str(state.model), answer)
    known = {key: value for key, value in told.items() if value is not None}
    state.output = output.model_copy(update={"metadata": {**(output.metadata or {}), **known}})
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


def task_of(state: TaskState) -> Task:
    """The package's task that a sample is of. Raises UsageError where it is of none."""
    if "task" not in state.metadata:
        raise UsageError(f"this solver serves the tasks of halu_tasks, and the sample {state.sample_id!r} is of none")
    return TaskReference.from_json(state.metadata).resolve()


def own_task(state: TaskState) -> Task | None:
    """The package's task that a sample is of; None for a sample of another package."""
    return TaskReference.from_json(state.metadata).resolve() if state.metadata.keys() >= _OWN else None


def wording_of(task: Task) -> Prompt:
    """The prompt with which the run asks a task: under its options, and with the user's own texts."""
    built = embedded.loaded(task.name)
    return built.prompt if built else task.wordings[0].prompt


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
