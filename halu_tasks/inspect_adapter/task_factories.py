"""Tasks and groups of the registry as Inspect tasks. No benchmark's logic is here."""

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from traceback import walk_stack
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig, ResponseSchema, model_roles
from inspect_ai.model._generate_config import (  # inspect-evals-lint: ignore[IECQ001] -- has no public name
    active_generate_config,
)
from inspect_ai.scorer import ScoreReducer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema, registry_info

from halu_tasks.core.errors import UsageError, install_excepthook, unknown
from halu_tasks.core.items import Item
from halu_tasks.core.options import SCORING_OPTIONS, Options
from halu_tasks.core.prompting import NO_SYSTEM_ROLE, takes_system
from halu_tasks.inspect_adapter.inspect_metrics import warn
from halu_tasks.inspect_adapter.inspect_scorer import check_addresses, halu_score
from halu_tasks.judging.reaching import (
    FirstRequest,
    active_models,
    describe_error,
    failure_of,
    is_refusal,
    reach_active,
)
from halu_tasks.replies import embedded
from halu_tasks.replies.label_notes import check_reference_labels
from halu_tasks.replies.scoring import check_knowledge, prepare_judge
from halu_tasks.solvers.model_calls import MOST_ALTERNATIVES, SampleMetadata, chat_messages, generate_or_refuse
from halu_tasks.tasks import RECORD, Evaluation, TaskRef, build, get_task, registry
from halu_tasks.tasks import Task as BenchmarkTask
from halu_tasks.tasks.prompting import response_schema
from halu_tasks.tasks.task_registry import get_group

logger = logging.getLogger(__name__)
install_excepthook("inspect", "inspect_ai/__main__.py")

ID, TASK = "halu_id", "halu_task"
"""The keys of a message's metadata by which embedded models know the item and the task."""


_ADVICE = (
    "add -T system_in_user=true, which puts the system text before the first user turn",
    "set what it names otherwise, such as with --temperature 1",
)


def inspect_task(name: str, **options: Any) -> Task:
    """Create the Inspect task of a benchmark task.

    Args:
        name: The name of the task, or the path of a task file.
        **options: Those of `Options`; None is the default. An option that only other tasks have is ignored, with a
            warning, so that all tasks of a file can be run with it.

    Raises:
        UsageError: As in `build`, or there is no such option.
        DataError: As in `build`.
    """
    evaluation = _build(name, get_task(name), options)
    return _create(evaluation.task.name, [evaluation], samples_of(evaluation), evaluation.task.version)


def inspect_group(name: str, **options: Any) -> Task:
    """Create one Inspect task of a group.

    It has the items of all members, each metric under `member.metric`, and the group's means. The token limit is the
    largest of the members'.

    Args:
        name: The name of the group.
        **options: As in `inspect_task`.

    Raises:
        UsageError: The group does not have an option.
    """
    group = get_group(name)
    members = [_build(name, get_task(member), options) for member in group.members]
    columns = [samples_of(evaluation, group=name) for evaluation in members]
    # interleaved, so that a limited run has items of every member
    samples = [sample for row in zip_longest(*columns) for sample in row if sample]
    return _create(name, members, samples, group.version)


def named(function: Callable[..., Task]) -> Callable[..., Task]:
    """Register a task that only runs if it is named.

    When Inspect runs a file, it searches the source for `@task`; with a decorator of another name a task is not found.
    """
    return task(function)


def register_tasks(declared: Container[str]) -> None:
    """Register the tasks and groups that no module declares, such as that of a file which was just added.

    Args:
        declared: The names that modules declare.
    """
    tasks, groups = registry()
    for name in (name for name in tasks if name not in declared):
        register_task(name, partial(inspect_task, name), tasks[name].about)
    for name in (name for name in groups if name not in declared):
        register_task(name, partial(inspect_group, name), groups[name].about)


def register_task(name: str, create: Callable[..., Task], about: str) -> None:
    """Register a task that is made from its name: `inspect eval halu_tasks/NAME` finds it."""

    def door(**options: Any) -> Task:
        return create(**options)

    door.__name__ = door.__qualname__ = name
    door.__doc__ = about
    named(door)


def register_file(file: str, function: Callable[..., Task]) -> None:
    """Register a task under the file that defines it, so that its path in a checkout also runs elsewhere.

    Args:
        file: The name of the file.
        function: The task that runs if the file is named.
    """
    name = f"halu_tasks/{function.__name__}"

    def create(**options: Any) -> Task:
        if not Path("halu_tasks", file).exists():
            warn(f"halu_tasks/{file} is not in this folder; running {name}, which is its name everywhere")
        return function(**options)

    register_task(file, create, function.__doc__ or "")


def _build(name: str, task: BenchmarkTask, options: Mapping[str, Any]) -> Evaluation:
    """Build a task.

    Args:
        name: The name that the user gave.
        task: The task, or one that the name stands for.
        options: Its options.

    Raises:
        UsageError: An option is unknown.
    """
    if unknown_names := sorted(options.keys() - Options.settings().keys()):
        of_other_tasks = Options.task_specific().keys() - set(task.prompts.task_options)
        names = [option for option in Options.settings() if option not in of_other_tasks]
        raise UsageError(f"task {name}: {unknown('option', unknown_names[0], names)}")
    values = {key: value for key, value in options.items() if value is not None}
    all_options = Options(**{"fewshot": task.prompts.shots, **values})
    for unused in all_options.unsupported(task.prompts.task_options):
        logger.warning("%s has no use for %s", task.name, unused)
    evaluation = build(task, all_options.restricted_to(task.prompts.task_options))
    if not all_options.system_in_user and not _takes_system():
        evaluation = replace(evaluation, options=replace(evaluation.options, system_in_user=True))
        if evaluation.system_in_user:
            logger.warning(NO_SYSTEM_ROLE, name)
    embedded.remember(evaluation)
    return evaluation


def _takes_system() -> bool:
    """Return whether the current model's chat template has a system role; True if its server applies the template."""
    render = next((getattr(model.api, "hf_chat", None) for model in active_models()[:1]), None)
    return render is None or takes_system(lambda messages: render(chat_messages(messages), []))


def _create(name: str, members: Sequence[Evaluation], samples: list[Sample], version: int) -> Task:
    """Create an Inspect task.

    Args:
        name: The name of the task or group.
        members: The tasks that it asks.
        samples: The samples of all members.
        version: The version of the task or group.
    """
    first = members[0]
    check_addresses(first.options)
    reach_active(_first_requests(members, samples))
    roles = model_roles()
    # an error of one line is only possible while the task is created
    for evaluation in (evaluation for evaluation in members if evaluation.task.judge_spec):
        check_reference_labels(evaluation)
        if "grader" in roles:
            check_knowledge(evaluation)
        else:
            prepare_judge(evaluation)
    reading = [evaluation for evaluation in members if evaluation.reader]
    if reading and "reader" not in roles:
        prepare_judge(reading[0])
    changed = first.options.changed()
    tags = dict.fromkeys(tag for evaluation in members for tag in evaluation.version_tags)
    shots = [f"{first.options.fewshot}shot"] if first.options.fewshot != first.task.prompts.shots else []
    schemas = {
        evaluation.task.name: dict(response_schema(evaluation.task, evaluation.options))
        for evaluation in members
        if evaluation.options.structured
    }
    return _PackageTask(
        dataset=MemoryDataset(samples, name=name, location=first.task.data.source.homepage),
        solver=generate_reply(schemas),
        scorer=halu_score(**{name: value for name, value in changed.items() if name in SCORING_OPTIONS}),
        config=_config(members),
        name=name,
        version="-".join([f"{version}-A", *tags, *shots]),
        # its first figure, which stays the headline if other scorers are added; Inspect would warn of a named metric
        # before the first sample is scored
        headline_metric=HeadlineMetric(scorer="halu_score"),
        metadata={RECORD: [evaluation.provenance.as_json() for evaluation in members]},
    )


class _PackageTask(Task):
    """A task whose figures are of all replies, which no reducer may replace by one for each sample."""

    @property
    def epochs_reducer(self) -> list[ScoreReducer] | None:
        """The reducers; Inspect sets those of its option `--epochs-reducer`, which replace the task's."""
        return self._reducers

    @epochs_reducer.setter
    def epochs_reducer(self, reducers: list[ScoreReducer] | None) -> None:
        names = [registry_info(reducer).name.rpartition("/")[2] for reducer in reducers or ()]
        if others := [name for name in names if name != "mean"]:
            raise UsageError(
                f"{self.name} has figures of all replies, with intervals that take those of one sample as dependent; "
                f"leave out --epochs-reducer {','.join(others)} (--epochs N asks N times)"
            )
        self._reducers = reducers


def _first_requests(members: Sequence[Evaluation], samples: Sequence[Sample]) -> list[FirstRequest]:
    # a solver of the user's asks something else; Inspect tells tasks nothing of it
    callers = (frame for frame, _ in walk_stack(None) if frame.f_globals.get("__name__") == "inspect_ai._eval.eval")
    if not samples or any(frame.f_locals.get("solver") for frame in callers):
        return []
    config = first_config(members).merge(active_generate_config())
    messages = list[Any](samples[0].input)
    schema_optional = bool(config.response_schema)
    return [FirstRequest(members[0].task.name, messages, config, _ADVICE, schema_optional)]


def first_config(members: Sequence[Evaluation]) -> GenerateConfig:
    """Return the settings with which the first of some tasks is asked, all of which are run as one."""
    config, first = _config(members), members[0]
    if first.options.structured:
        config.response_schema = _response_format(response_schema(first.task, first.options))
    return config


def _config(members: Sequence[Evaluation]) -> GenerateConfig:
    decodings = [evaluation.decoding for evaluation in members]
    asks_for_probability = any(evaluation.asks_for_probability for evaluation in members)
    return GenerateConfig(
        logprobs=True if asks_for_probability else None,
        top_logprobs=MOST_ALTERNATIVES if asks_for_probability else None,
        max_tokens=max(decoding.max_tokens for decoding in decodings),
        temperature=decodings[0].temperature,
        top_p=decodings[0].top_p,
    )


def samples_of(evaluation: Evaluation, group: str | None = None, items: Sequence[Item] = ()) -> list[Sample]:
    """Return the items of a task as samples.

    Args:
        evaluation: The task.
        group: The group that it is run in.
        items: The items; by default, all.
    """
    reference, models = TaskRef.of(evaluation.task), active_models()
    # which models will answer is not known outside of an eval
    embedded = not models or any(str(model).startswith("halu/") for model in models)
    return [_sample(item, evaluation, reference, group, embedded) for item in (items or evaluation.shuffled_items)]


def _sample(item: Item, evaluation: Evaluation, reference: TaskRef, group: str | None, embedded: bool) -> Sample:
    task = evaluation.task
    chat = chat_messages(evaluation.messages(item))
    if embedded:
        chat[-1].metadata = {ID: item.id, TASK: task.name}
    metadata = SampleMetadata(
        **reference.as_json(),
        cluster=item.cluster,
        gold=item.gold.as_json(),
        tags=dict(item.tags),
        fields=dict(item.fields),
        weighed=evaluation.asks_for_probability,
        group=group,
        structured=evaluation.options.structured,
        confidence=evaluation.options.confidence,
        fewshot=evaluation.options.fewshot,
        system_in_user=evaluation.options.system_in_user,
    )
    return Sample(
        id=f"{task.name}/{item.id}" if group else item.id,
        input=chat,
        target=task.scoring.answer.targets(item),
        metadata=metadata.model_dump(exclude_defaults=True),
    )


def _response_format(schema: Mapping[str, Any]) -> ResponseSchema:
    return ResponseSchema(name="answer", json_schema=JSONSchema.model_validate(schema), strict=True)


@solver
def generate_reply(schemas: dict[str, Any] | None = None) -> Solver:
    """Generate as Inspect's `generate` does; a request that the server refuses is an output, not an error.

    Args:
        schemas: The JSON schema of the replies to each task, by its name, with which a server is asked unless it
            rejects one; by default, none.
    """
    formats = {name: _response_format(schema) for name, schema in (schemas or {}).items()}
    takes_schema = bool(formats)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        nonlocal takes_schema
        rejected: Exception | None = None
        if takes_schema:
            try:
                return await generate(state, response_schema=formats[SampleMetadata.required_of(state).task])
            except Exception as error:
                if not is_refusal(error):
                    raise
                rejected = error
        state = await generate_or_refuse(state, generate)
        # a request that is refused without a schema, too, says nothing of schemas
        if rejected and takes_schema and not failure_of(state.output):
            takes_schema = False
            logger.warning("asking %s without a response schema: %s", state.model, describe_error(rejected))
        return state

    return solve
