"""How methods call models: arguments, prompts, roles, cached and concurrent calls, and the concluding answer.

What they read and record in the metadata of samples and outputs are typed records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, get_type_hints

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
from inspect_ai.solver import Generate, Solver, TaskState
from inspect_ai.tool import Tool, ToolChoice
from pydantic import BaseModel, ConfigDict

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import ArgumentError, UsageError
from halu_tasks.core.items import Item
from halu_tasks.core.prompting import given_prompts, prompt_for
from halu_tasks.core.settings import checked_settings
from halu_tasks.judging.reaching import failure_of, refusal
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.score import Opinions
from halu_tasks.scorers.statistics.calibration import TokenProbabilities
from halu_tasks.tasks import Task, TaskRef
from halu_tasks.tasks.task_registry import prompt_names

P = ParamSpec("P")
T = TypeVar("T")

MOST_ALTERNATIVES = 20
"""The number of alternatives to each token that are requested with log-probabilities, the most that most providers
return."""

dry_run_model: ContextVar[Callable[..., ModelOutput] | None] = ContextVar("dry_run_model", default=None)
"""In a dry run, the function that counts a call and answers it instead of a model; otherwise None."""

_ROLES: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


class RequestFailed(Exception):
    """A request of a method that has no reply: it was refused, filtered, or ended in an error.

    Attributes:
        output: The output, which says why.
    """

    def __init__(self, output: ModelOutput) -> None:
        super().__init__(failure_of(output) or output.completion)
        self.output = output


def method(create: Callable[P, Solver]) -> Callable[P, Solver]:
    """Make the factory of a method's solver check its arguments, and its solver handle requests that fail.

    If one of a method's requests has no reply, neither has the method, and the sample's output is the request's output.
    """

    @wraps(create)
    def created(*args: P.args, **kwargs: P.kwargs) -> Solver:
        solver = create(*args, **kwargs)

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            try:
                return await solver(state, generate)
            except RequestFailed as failed:
                return conclude(state, failed.output, MethodRecord(method=create.__name__))

        return solve

    return checked(created)


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise a one-line ArgumentError for an unknown argument, or one of the wrong type.

    The arguments are those that users give by name, such as `-S samples=5`.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            arguments: Any = checked_settings(function, kwargs, "argument")
        except UsageError as error:
            raise ArgumentError(f"{function.__name__}: {error}") from None
        return function(*args, **arguments)

    # Scout resolves the names of types in this module otherwise, where they do not exist
    call.__annotations__ = get_type_hints(function)
    return call


@cache
def method_prompt(name: str, file_of_package: str, file: str | None = None) -> str:
    """Return the user text of a method's prompt.

    Args:
        name: The name of the prompt.
        file_of_package: The name, without suffix, of the file in `solvers/prompts` that has the packaged prompt.
        file: A user's prompt file, whose texts replace the packaged ones.

    Raises:
        UsageError: The user's file cannot be read, or names a prompt or a key that does not exist.
    """
    packaged = prompt_for(name, file_of_package)
    user_prompt = given_prompts(file, prompt_names()).get(name, {}) if file is not None else {}
    return {**packaged, **user_prompt}["user"]


def chat_messages(turns: Iterable[Mapping[str, str]]) -> list[ChatMessage]:
    """Convert turns with `role` and `content` to messages of Inspect."""
    return [_ROLES[turn["role"]](content=turn["content"]) for turn in turns]


def without_system_role(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Put system texts before the first user turn, as `core.prompting.system_in_user` does for a task's own prompt."""
    texts = [message.text for message in messages if message.role == "system"]
    without_system: list[ChatMessage] = [message for message in messages if message.role != "system"]
    at = next((n for n, message in enumerate(without_system) if message.role == "user"), None)
    if texts and at is not None:
        content = "\n\n".join([*texts, without_system[at].text])
        without_system[at] = without_system[at].model_copy(update={"content": content})
    return without_system


def last_question(messages: Sequence[ChatMessage]) -> int:
    """Return the index of the last user message.

    Raises:
        UsageError: There is none.
    """
    for index in reversed(range(len(messages))):
        if isinstance(messages[index], ChatMessageUser):
            return index
    raise UsageError("the sample has no message of the user")


async def ask(
    prompt: str | list[ChatMessage],
    role: str | None,
    *,
    cache: bool = True,
    draw: int = 0,
    tools: Sequence[Tool] = (),
    tool_choice: ToolChoice | None = None,
    dry_run_reply: str | None = None,
    **config: Any,
) -> ModelOutput:
    """Generate a reply with the model in a role.

    Args:
        prompt: The prompt as a string or as messages.
        role: The name of the model role; None for the model under test, which also takes the place of a role that has
            no model.
        cache: Whether to read the reply from Inspect's cache, and to write it there.
        draw: A number that tells apart several replies drawn for the same prompt.
        tools: The tools that the model may call; the calls are not executed.
        tool_choice: Inspect's tool choice, such as `none` if the model may not call any more tools.
        dry_run_reply: The reply in a dry run if the number of further calls depends on it; None for the correct answer.
        config: The configuration of generation, over which the configuration of the role's model takes precedence. By
            default, the model under test is called with the configuration of the run.

    Raises:
        RequestFailed: The request was refused or filtered, or a server's message stands in the place of the reply.
    """
    if answer := dry_run_model.get():
        return answer(prompt, role, (draw, cache), bool(tools), dry_run_reply, **config)
    model = model_in(role)
    policy = CachePolicy(expiry=None, scopes={"draw": str(draw)}) if cache else False
    merged = GenerateConfig(**config).merge(model.config) if config else GenerateConfig()
    if merged.seed is not None:
        # with the same seed, every draw would be the same reply
        merged.seed += draw
    try:
        output = await model.generate(prompt, tools=list(tools), tool_choice=tool_choice, config=merged, cache=policy)
    except Exception as error:
        if (refused := refusal(error, str(model))) is None:
            raise
        output = refused
    if failure_of(output) or ReplyText(output.completion).failure:
        raise RequestFailed(output)
    return output


async def generate_or_refuse(state: TaskState, generate: Generate, **config: Any) -> TaskState:
    """Call the model under test as `generate` does; if the server refuses the request, the output says why."""
    try:
        return await generate(state, **config)
    except Exception as error:
        if (refused := refusal(error, str(state.model))) is None:
            raise
        state.output = refused
        return state


def model_in(role: str | None) -> Model:
    """Return the model in a role; if it has none, the model under test."""
    # as the default of a role, it would be a copy to which the configuration of the run does not apply
    return get_model(role=role, required=True) if named_role(role) else get_model()


def decoding_for(state: TaskState, role: str | None) -> dict[str, Any]:
    """Return the configuration with which the model in a role answers the sample's task, as arguments of `ask`.

    For a role with its own model, this is the task's decoding, which Inspect applies only to the model under test. For
    the model under test it is empty, since the run's configuration applies, and for a text of a user's own, whose
    task has none.
    """
    metadata = SampleMetadata.of(state)
    if metadata is None or not named_role(role):
        return {}
    decoding = metadata.benchmark_task.prompts.decoding
    config = {"max_tokens": decoding.max_tokens, "temperature": decoding.temperature, "top_p": decoding.top_p}
    if metadata.weighed:
        config |= {"logprobs": True, "top_logprobs": MOST_ALTERNATIVES}
    return config


def named_role(role: str | None) -> bool:
    """Return whether a role has its own model."""
    return role is not None and role in model_roles()


async def draws(
    prompt: str | list[ChatMessage], role: str | None, number: int, *, cache: bool = True, **config: Any
) -> list[ModelOutput]:
    """Generate `number` replies to one prompt concurrently; for the other arguments see `ask`."""
    return await gather(*(ask(prompt, role, cache=cache, draw=draw, **config) for draw in range(number)))


def conclude(state: TaskState, answer: str | ModelOutput, record: MethodRecord) -> TaskState:
    """Set the output of a sample to the answer of a method.

    Args:
        state: The sample.
        answer: The answer in words that the task's scorer reads, empty if there is none; or a model's reply to the
            task itself, which then keeps its log-probabilities.
        record: What the scorer needs besides the answer.

    Returns:
        The state.
    """
    output = answer if isinstance(answer, ModelOutput) else ModelOutput.from_content(str(state.model), answer)
    state.output = output.model_copy(update={"metadata": {**(output.metadata or {}), **record.to_metadata()}})
    state.messages.append(state.output.message)
    return state


def tokens_of(output: ModelOutput) -> list[TokenProbabilities]:
    """Return the tokens of a reply with their log-probabilities; none if the provider returned none."""
    logprobs = output.choices[0].logprobs if output.choices else None
    if logprobs is None:
        return []
    return [
        (token.token, {token.token: token.logprob, **{t.token: t.logprob for t in token.top_logprobs or []}})
        for token in logprobs.content
    ]


def conclude_by_probability(state: TaskState, record: MethodRecord, threshold: float) -> TaskState:
    """Set the output of a sample to the label that follows from the record's probability of hallucination.

    This is the first of the task's choices if the probability is above the threshold, else the second, and empty
    without a probability. The choices of a sample of another package are Yes and No.
    """
    metadata = SampleMetadata.of(state)
    stated = metadata.benchmark_task.scoring.choices if metadata else state.metadata.get("choices")
    hallucinated, right = stated or ("Yes", "No")
    if record.probability is None:
        return conclude(state, "", record)
    return conclude(state, str(hallucinated if record.probability > threshold else right), record)


def subject_of(state: TaskState, method: str, needs: Sequence[str]) -> dict[str, str]:
    """Return the parts of a sample that a method examines: `text`, `query` and `source`.

    A sample of another package may have them too, as `subject` in its metadata.

    Args:
        state: The sample.
        method: The name of the method, for errors.
        needs: The parts that the method needs.

    Raises:
        UsageError: The sample lacks one of the parts.
    """
    subject = parts_of(state)
    name = state.metadata.get("task", f"sample {state.sample_id!r}")
    if subject is None:
        raise UsageError(f"{method} gives one text one of two labels, and {name} asks for something else")
    if missing := [part for part in needs if part not in subject]:
        instead = "; name knowledge=PATH to look claims up instead" if missing == ["source"] else ""
        raise UsageError(f"{method} needs the {' and the '.join(missing)} of each item, and {name} has none{instead}")
    return subject


# --- records --------------------------------------------------------------------------------------


Turn = tuple[str, str]
"""The role and the text of a turn."""


def turns_of(state: TaskState) -> list[Turn]:
    """Return the turns of a sample's input."""
    input = state.input
    return [("user", input)] if isinstance(input, str) else [(turn.role, turn.text) for turn in input]


def prompt_of(turns: Iterable[Turn]) -> tuple[str, str]:
    """Return the system text and the question of an input, whose last turn of a user it is."""
    turns = [*turns]
    system, questions = ([text for role, text in turns if role == name] for name in ("system", "user"))
    return system[0] if system else "", questions[-1] if questions else ""


class SampleMetadata(BaseModel):
    """What scorers and methods read of a sample of this package.

    Attributes:
        task: The task's name.
        cluster: The item's cluster.
        gold: What the scorer needs besides the target.
        tags: What results can be split by.
        fields: The fields that the prompt shows. Inspect shortens each string of its summaries several times, but not
            those inside a mapping.
        reference_task: For a derived task, the packaged task that it comes from.
        overrides: For a derived task, the keys of its file that differ.
        weighed: Whether a probability is asked for.
        group: The group that the sample is run in.
        structured: Whether JSON is asked for.
        confidence: Whether the reply is asked to say how sure it is.
        fewshot: The number of worked examples.
        system_in_user: Whether the system text is in the first user turn.
    """

    model_config = ConfigDict(frozen=True)

    task: str
    cluster: str
    gold: dict[str, Any] = {}
    tags: dict[str, str] = {}
    fields: dict[str, str] = {}
    reference_task: str | None = None
    overrides: dict[str, Any] | None = None
    weighed: bool = False
    group: str | None = None
    structured: bool = False
    confidence: bool = False
    fewshot: int = 0
    system_in_user: bool = False

    @classmethod
    def of(cls, state: TaskState) -> SampleMetadata | None:
        """Read the metadata of a sample of this package; None for a sample of another one."""
        return cls.in_metadata(state.metadata)

    @classmethod
    def in_metadata(cls, metadata: Mapping[str, Any]) -> SampleMetadata | None:
        """Read the metadata of a sample of this package; None for a sample of another one."""
        return cls.model_validate(metadata) if metadata.keys() >= _REQUIRED else None

    @classmethod
    def required_of(cls, state: TaskState) -> SampleMetadata:
        """Return the metadata of a sample of this package.

        Raises:
            UsageError: The sample is of another package.
        """
        if metadata := cls.of(state):
            return metadata
        raise UsageError(
            f"sample {state.sample_id!r} is not of a halu_tasks task; for samples of your own use a named scorer or "
            "solver such as halu_tasks/iou or halu_tasks/comparative"
        )

    def item_id(self, sample_id: int | str | None) -> str:
        """Return the item's id, before which a group's sample has the name of the task."""
        return str(sample_id).removeprefix(f"{self.task}/" if self.group else "")

    def item(self, sample_id: int | str | None, target: str | Iterable[str], turns: Iterable[Turn]) -> Item:
        """Return the item of a sample.

        Args:
            sample_id: The sample's id.
            target: The sample's target.
            turns: The turns of its input.
        """
        return Item(
            self.item_id(sample_id),
            self.cluster,
            target if isinstance(target, str) else "\n".join(target),
            *prompt_of(turns),
            gold=self.benchmark_task.gold(self.gold),
            tags=self.tags,
        )

    @property
    def reference(self) -> TaskRef:
        """The reference to the sample's task."""
        return TaskRef(self.task, self.reference_task, self.overrides or {})

    @property
    def benchmark_task(self) -> Task:
        """The sample's task.

        Raises:
            UsageError: The task does not exist any more.
        """
        return self.reference.resolve()


_REQUIRED = {name for name, field in SampleMetadata.model_fields.items() if field.is_required()}


def parts_of(state: TaskState) -> dict[str, str] | None:
    """Return what a detection method looks at, by part: `text`, `query`, `source`, `evidence`.

    In a sample of this package these are fields of its item; other samples have them as `subject` in their metadata.
    None if a sample has neither.
    """
    metadata = SampleMetadata.of(state)
    if metadata and metadata.benchmark_task.prompts.subject:
        return metadata.benchmark_task.prompts.parts_of(metadata.fields)
    parts: dict[str, str] | None = state.metadata.get("subject")
    return parts


@dataclass(frozen=True, kw_only=True)
class MethodRecord:
    """What a method reports about an output besides its text, for the scorer.

    Attributes:
        method: The name of the method; None for an output that was not made by a method.
        probability: The probability, 0 to 1, of the first of the task's two choices.
        reason: Why there is no answer; empty if there is one.
        counts: Numbers that the method counted, by name; each is reported as a mean over the items.
        draft: A first version of the reply, which is scored as well.
        steps: The intermediate steps as JSON values, for people who read the log.
        opinions: The labels that the method weighed, by role.
    """

    method: str | None = None
    probability: float | None = None
    reason: str = ""
    counts: Mapping[str, float] | None = None
    draft: str | None = None
    steps: Mapping[str, Any] | None = None
    opinions: Opinions | None = None

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any] | None) -> MethodRecord:
        """Read the record from the metadata of an output; entries of others are ignored."""
        metadata = metadata or {}
        return cls(**{name: metadata[key] for name, key in _KEYS.items() if key in metadata})

    def to_metadata(self) -> dict[str, Any]:
        """Convert to entries of an output's metadata, without those that have no value."""
        values = {key: getattr(self, name) for name, key in _KEYS.items() if name != "reason" or self.reason}
        return {key: value for key, value in values.items() if value is not None}


# the key of each field in the metadata, where other packages may have entries too
_KEYS = {name: f"halu_{name}" for name in ("method", "probability", "reason", "counts", "draft", "steps", "opinions")}
