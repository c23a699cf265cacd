"""The class of all task files in lm-evaluation-harness. It holds no benchmark's logic.

All that depends on how lm-eval's tasks work is in this module.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from traceback import walk_stack
from typing import Any
from weakref import WeakValueDictionary

from datasets import Dataset
from lm_eval.api.filter import FilterEnsemble
from lm_eval.api.task import ConfigurableTask
from lm_eval.filters.custom import CustomFilter
from lm_eval.models.openai_completions import LocalChatCompletion
from lm_eval.tasks._factory import TaskFactory

from halu_tasks.core.credentials import public
from halu_tasks.core.errors import LM_EVAL, JudgeError, UsageError, install_excepthook
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import PREFIX, Options
from halu_tasks.lm_eval_adapter.metrics import aggregate, item_value
from halu_tasks.replies import embedded
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.scoring import (
    keep_replies,
    logger,
    outcome_of,
    prepare_judge,
    run_warnings,
    score_replies,
)
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import probability_of_likelihoods, without_probability
from halu_tasks.tasks import Evaluation, build
from halu_tasks.tasks.asking import response_schema, worked_examples
from halu_tasks.tasks.registry import HEADLINE, registry, task_of
from halu_tasks.tasks.yaml_files import TaskFile, comparable, read_task_file

_tasks_of_run: WeakValueDictionary[str, HaluTask] = WeakValueDictionary()
install_excepthook(*LM_EVAL)

# the keys of a task file that lm-eval sees; the others are read by `halu_tasks.tasks`
_PASSED_ON = ("task", "task_alias", "num_fewshot", "metadata")

Weight = tuple[float, str | None]
"""The log-likelihood of a choice, and the reply that is replayed; None for any other model."""


class HaluTask(ConfigurableTask):
    """A task file of this package, or one that includes such a file, as a task of lm-eval.

    Items, scores and metrics come from the core; options come as metadata (`halu_scoring=paper`).

    Args:
        config: The keys of the file, as lm-eval read them.
    """

    _scored = True
    _instances = None  # lm-eval leaves it unset until requests are built

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._evaluation = evaluation = _build(config)
        self._items = {item.id: item for item in evaluation.items}
        self._examples = [
            {"prompt": example.prompt, "target": example.reply, "system": ""}
            for example in worked_examples(evaluation.task, evaluation.options, evaluation.prompt)
        ]
        embedded.remember(evaluation)
        prepare_judge(evaluation)
        passed_on = {key: config[key] for key in _PASSED_ON if key in config}
        super().__init__(config=_lm_eval_config(evaluation) | passed_on)
        self._version = (passed_on.get("metadata") or {}).get("version", float(evaluation.task.version))
        self._chat_template: bool | None = None
        self._set_filter(_weights if evaluation.asks_for_probability else self._score_replies)
        self._set_metrics()
        self._set_provenance(evaluation)
        # results show the templates of the task file instead of the names of the rendered fields
        prompts, system = evaluation.prompts.values(), "cot" if evaluation.options.cot else "system"
        self.config.doc_to_text = _shown([prompt["user"] for prompt in prompts])
        self.config.description = _shown([prompt.get(system, "") for prompt in prompts])
        if any(other.instances for other in _tasks_of_run.values()):
            # lm-eval makes all tasks of a run before it builds requests, so those are another run's
            _tasks_of_run.clear()
        _tasks_of_run[evaluation.task.name] = self

    # --- what lm-eval reads ------------------------------------------------------------------------

    def _set_filter(self, function: Any) -> None:
        self._filters = [FilterEnsemble("none", [partial(CustomFilter, filter_fn=function)])]

    def _set_metrics(self) -> None:
        evaluation = self._evaluation
        groups = [group for group in registry()[1].values() if evaluation.task.reference in group.members]
        # without a judge, what it says has no value; a mean of a group is then undefined, not one of fewer tasks
        unjudged = evaluation.task.judged if not evaluation.options.judge else None
        lacking = {metric.name for metric in evaluation.metrics if unjudged and unjudged.measurement in metric.columns}
        lacking -= {name for group in groups for name in group.means}
        self._metrics = [metric for metric in evaluation.metrics if metric.name not in lacking]
        if any(HEADLINE in group.means for group in groups):
            # lm-eval averages what has the same name in all members of a group
            headline = evaluation.task.headline_metric(evaluation.options.scoring)
            self._metrics.append(replace(headline, name=HEADLINE))
        self._aggregation_list = {}
        for metric in self._metrics:
            # a standard error must follow its metric: lm-eval then shows it in the column Stderr
            self._aggregation_list[metric.name] = partial(aggregate, metric, "value")
            self._aggregation_list[f"{metric.name}_stderr"] = partial(aggregate, metric, "stderr")
        self._higher_is_better = {metric.name: metric.higher_is_better for metric in self._metrics}
        self.config.metric_list = [
            {"metric": name, "higher_is_better": better} for name, better in self._higher_is_better.items()
        ]

    def _set_provenance(self, evaluation: Evaluation) -> None:
        """Set the version and the metadata that results show."""
        self.VERSION: Any = (
            "-".join([str(self._version), *evaluation.version_tags]) if evaluation.version_tags else self._version
        )
        if isinstance(self.config.metadata, dict):
            # lm-eval adds the model's arguments to the metadata, which it writes to the results
            self.config.metadata = {**public(self.config.metadata), "halu_tasks": evaluation.provenance.as_json()}

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        """Set a key of the configuration; lm-eval sets `--num_fewshot` after the task was made."""
        super().set_config(key, value, update)
        if key == "num_fewshot":
            evaluation = self._evaluation
            self._set_provenance(build(evaluation.task, replace(evaluation.options, fewshot=value)))

    # --- before generation -------------------------------------------------------------------------

    def download(self, *args: Any, **kwargs: Any) -> None:
        """Set the dataset to the items, which are already there."""
        self.dataset = {"test": Dataset.from_list([_document(item) for item in self._evaluation.items])}

    def fewshot_docs(self) -> list[dict[str, str]]:
        """Return the worked examples as documents."""
        return self._examples

    def doc_to_text(self, doc: Mapping[str, Any], doc_to_text: Any = None) -> str:
        """Return the rendered prompt."""
        return str(doc["prompt"])

    def resolve_field(self, doc: Mapping[str, Any], field: str | None = None) -> Any:
        """Return the rendered system text when lm-eval asks for the template that results show."""
        return doc["system"] if field == self.config.description else super().resolve_field(doc, field)

    def fewshot_context(self, doc: dict[str, Any], num_fewshot: int, *args: Any, **kwargs: Any) -> Any:
        """Return what the model is sent.

        Raises:
            UsageError: The task has fewer worked examples.
        """
        if num_fewshot and not 0 <= num_fewshot <= (available := len(self._examples)):
            raise UsageError(f"task {self.config.task} has {available} worked examples, num_fewshot={num_fewshot}")
        self._chat_template = bool(kwargs.get("apply_chat_template"))
        # without a chat template lm-eval puts nothing between the system text and what follows
        if doc["system"] and not self._chat_template:
            doc = {**doc, "system": doc["system"] + self.config.fewshot_delimiter}
        return super().fewshot_context(doc, num_fewshot, *args, **kwargs)

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **kwargs: Any) -> Any:
        """Return the requests, with the schema of the answer if it is asked for and the server takes one.

        lm-eval passes the fields of a request on to a chat server, and to other models what these would reject.
        """
        # lm-eval renders the template with a method of the model, or with a part of it
        template = kwargs.get("chat_template")
        backend = getattr(getattr(template, "func", template), "__self__", None)
        requests = super().construct_requests(doc, ctx, **kwargs)
        if self._evaluation.options.structured and isinstance(backend, LocalChatCompletion):
            schema = response_schema(self._evaluation.task, self._evaluation.options)
            form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
            prompt, settings = requests.arguments
            requests.arguments = prompt, {**settings, "response_format": form}
        return requests

    def build_all_requests(self, **kwargs: Any) -> None:
        """Build the requests without lm-eval's cache, which would mix up requests of one task under other options."""
        super().build_all_requests(**kwargs | {"cache_requests": False})

    # --- after generation --------------------------------------------------------------------------

    def _score_replies(self, resps: Iterable[Any], docs: Iterable[Mapping[str, Any]]) -> list[str]:
        """Score all replies to the task at once, so that a judge can be asked concurrently.

        Returns:
            The scores as JSON, since lm-eval copies what a filter returns and logs its `str()`.

        Raises:
            JudgeError: The judge failed too often; the message names the files with the replies, also those to the
                other tasks of the run, since lm-eval writes no results if one task fails.
        """
        evaluation, mode = self._evaluation, self._evaluation.options.scoring
        replies = [
            (with_target(self._items[doc["id"]], doc["target"]), Reply(replies[0]))
            for replies, doc in zip(resps, docs, strict=True)
        ]
        try:
            scores = score_replies(evaluation, replies)
        except JudgeError as error:
            others = [task for task in list(_tasks_of_run.values()) if task is not self]
            kept = ", ".join(filter(None, (task._keep_replies() for task in others)))
            raise JudgeError(f"{error}; replies to other tasks were kept: {kept}" if kept else str(error)) from None
        outcomes = Counter(
            outcome_of(reply.text, score, mode) for (_, reply), score in zip(replies, scores, strict=True)
        )
        for warning in run_warnings(evaluation.task, outcomes, scores, evaluation.reference, self._chat_template):
            logger.warning(warning)
        return [json.dumps(score.as_json(), ensure_ascii=False) for score in scores]

    def process_results(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric for an item, and again under the name of its standard error."""
        if not self._scored:
            return dict(super().process_results(doc, results))
        if self._evaluation.asks_for_probability:
            score = self._score_weights(doc, results)
        else:
            score = Score.from_json(json.loads(results[0]))
        return {
            name: item_value(metric, score)
            for metric in self._metrics
            for name in (metric.name, f"{metric.name}_stderr")
        }

    def _score_weights(self, doc: dict[str, Any], weights: list[Weight]) -> Score:
        """Score an item by the log-likelihoods of the two choices.

        The answer is the likelier choice; a replayed reply states its own.
        """
        choices = self._evaluation.task.rules.choices
        assert choices
        (first, replayed), (second, _) = weights
        probability = probability_of_likelihoods(first, second)
        text = replayed if probability is None or replayed is not None else choices[probability <= 0.5]
        (score,) = score_replies(
            self._evaluation, [(self._items[doc["id"]], Reply(text or "", probability=probability))]
        )
        return score if probability is not None else without_probability(score)

    def override_metric(self, metric_name: str) -> None:
        """Keep replies without scoring them, as lm-eval's option `--predict_only` asks."""
        super().override_metric(metric_name)
        self._set_filter(lambda resps, docs: [replies[0] for replies in resps])
        self._scored = False

    def _keep_replies(self) -> str | None:
        """Save the replies to this task; return its name with the file, and None without replies."""
        replies = [(self._items[inst.doc["id"]], Reply(inst.resps[0])) for inst in self.instances or [] if inst.resps]
        if not replies or self._evaluation.asks_for_probability:
            return None
        path = keep_replies(self._evaluation, replies)
        return f"{self._evaluation.task.name} ({path or 'could not be saved'})"


def _build(config: Mapping[str, Any]) -> Evaluation:
    path = _task_path(config)
    try:
        file = read_task_file(path)
    except UsageError:
        file = TaskFile(path, {}, {})  # a task that a program made without a file
    metadata = config.get("metadata") or {}
    given = _given(metadata)
    # the judges of others are left to the task, as its suggestions
    theirs = {key: value for key, value in metadata.items() if key not in given}
    # lm-eval has loaded what the file names, but logs need the names
    values = {key: file.values[key] for key in config if comparable(file.values.get(key)) == comparable(config[key])}
    task = task_of(replace(file, values={**config, **values, "metadata": theirs}))
    suggested = {PREFIX + name for name in task.suggested}
    options = Options.from_metadata({key: metadata[key] for key in metadata if key not in suggested})
    evaluation = build(task, replace(options, fewshot=config.get("num_fewshot") or 0))
    if unused := options.unused(task.prompts.task_options):
        # not an error, since the option may be meant for other tasks of the run
        logger.warning("%s has no use for %s", task.name, ", ".join(PREFIX + name for name in unused))
    return evaluation


def _given(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a task's metadata that the user gave, such as with `--metadata`.

    lm-eval merges it with that of the files of the task and of groups. Its factory, which is making the task, still has
    it alone. What a program gives to a task that it makes itself is the user's.
    """
    makers = (frame.f_locals.get("self") for frame, _ in walk_stack(None))
    return next((maker._meta for maker in makers if isinstance(maker, TaskFactory)), metadata)


def _task_path(config: Mapping[str, Any]) -> Path:
    """Return the file that defines a task, for error messages.

    lm-eval passes on the path of a task that it found by its name. For a task that was named by its file
    (`--tasks my_task.yaml`) the import hook remembers the path.
    """
    task, source = str(config.get("task")), (config.get("metadata") or {}).get("config_source", "inline")
    paths: Mapping[str, str] = getattr(sys.modules.get("_halu_tasks_autoload"), "files", {})
    return Path(paths.get(task, f"task {task}") if source == "inline" else source)


def _lm_eval_config(evaluation: Evaluation) -> dict[str, Any]:
    """Return the configuration of a task whose items are already rendered."""
    decoding = evaluation.decoding
    generation: dict[str, Any] = {
        "until": [],
        "max_gen_toks": decoding.max_tokens,
        "do_sample": decoding.temperature > 0,
        "temperature": decoding.temperature,
    }
    if decoding.top_p is not None:
        generation["top_p"] = decoding.top_p
    output: dict[str, Any] = {"output_type": "generate_until", "generation_kwargs": generation}
    if evaluation.asks_for_probability:
        output = {"output_type": "multiple_choice", "doc_to_choice": list(evaluation.task.rules.choices or ())}
    return {
        **output,
        "test_split": "test",
        "description": "system",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "fewshot_config": {"sampler": "first_n"},
    }


def _document(item: Item) -> dict[str, Any]:
    """Return an item as lm-eval's document, which sample logs show."""
    return {
        **item.tags,
        **item.gold,
        "id": item.id,
        "system": item.system,
        "prompt": item.prompt,
        "target": item.target,
        "cluster": item.cluster,
        "tags": list(item.tags),
    }


def _shown(texts: Sequence[str]) -> str:
    """Return the templates of all wordings, those after the first below a line of dashes."""
    return "\n---\n".join(texts) if any(texts) else ""


def _weights(resps: Iterable[Any], docs: Iterable[Mapping[str, Any]]) -> list[Weight]:
    return [(replies[0][0], doc.get(embedded.REPLY)) for replies, doc in zip(resps, docs, strict=True)]
