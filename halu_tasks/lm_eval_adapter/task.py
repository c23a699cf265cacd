"""The class of all task files in lm-evaluation-harness. It holds no benchmark's logic.

All that depends on how lm-eval's tasks work is in this module. What the versions of lm-eval ask a task for at different
places is at the end of the class; the rest is the same in all.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from copy import deepcopy
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from traceback import walk_stack
from typing import Any
from weakref import WeakValueDictionary

from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._factory import TaskFactory

from halu_tasks.core.credentials import public
from halu_tasks.core.errors import JudgeError, UsageError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import PREFIX, Options
from halu_tasks.core.prompting import NO_SYSTEM_ROLE, system_in_user, takes_system
from halu_tasks.data.sources import OwnSource
from halu_tasks.lm_eval_adapter.refusals import FailedReply
from halu_tasks.lm_eval_adapter.values import PARTS, ItemValue, Part, item_values, part_of
from halu_tasks.replies import embedded
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.scoring import keep_replies, logger, prepare_judge, score_replies
from halu_tasks.replies.warnings import HowAsked, run_warnings
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import Estimate, estimate
from halu_tasks.scorers.statistics.calibration import probability_of_likelihoods, without_probability
from halu_tasks.tasks import RECORD, Evaluation, build
from halu_tasks.tasks.prompting import response_schema, worked_examples
from halu_tasks.tasks.task_registry import HEADLINE, check_groups_beside, registry, task_of
from halu_tasks.tasks.yaml_files import TaskFile, comparable, read_task_file

_tasks_of_run: WeakValueDictionary[str, HaluTask] = WeakValueDictionary()

# the keys of a task file that lm-eval sees; the others are read by `halu_tasks.tasks`
_PASSED_ON = ("task", "task_alias", "num_fewshot", "metadata")
_FILTER = "none"
"""The name under which lm-eval shows what belongs to no filter."""
_BYPASSED = 999
"""What lm-eval shows in the place of a metric with `--predict_only`."""


class HaluTask(ConfigurableTask):
    """A task file of this package, or one that includes such a file, as a task of lm-eval.

    Items, scores and metrics come from the core; options come as metadata (`halu_scoring=paper`).

    Args:
        config: The keys of the file, as lm-eval read them.
    """

    _bypass = ""
    """The name of the metric that stands for all if replies are not scored."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._evaluation = evaluation = _build(config)
        self._items = {item.id: item for item in evaluation.items}
        self._values: dict[str, dict[str, Any]] = {}
        self._estimates: dict[str, Estimate | None] = {}
        self._has_requests = False
        self._examples = [
            {"prompt": example.prompt, "target": example.reply, "system": ""}
            for example in worked_examples(evaluation.task, evaluation.options, evaluation.prompt)
        ]
        embedded.remember(evaluation)
        prepare_judge(evaluation)
        file_config = {key: config[key] for key in _PASSED_ON if key in config}
        super().__init__(config=_lm_eval_config(evaluation) | file_config)
        self._version = (file_config.get("metadata") or {}).get("version", float(evaluation.task.version))
        self._chat_template: bool | None = None
        groups = [group for group in registry()[1].values() if evaluation.task.base_task in group.members]
        # without a judge its metrics are left out, except those that a group averages: the mean is then undefined, not
        # one of fewer tasks
        judge_spec = evaluation.task.judge_spec if not evaluation.options.judge else None
        undefined = {
            metric.name for metric in evaluation.metrics if judge_spec and judge_spec.is_said_by(metric.columns)
        }
        undefined -= {name for group in groups for name in group.means}
        self._metrics = [metric for metric in evaluation.metrics if metric.name not in undefined]
        if any(HEADLINE in group.means for group in groups):
            # lm-eval averages what has the same name in all members of a group
            headline = evaluation.task.headline_metric(evaluation.options.scoring)
            self._metrics.append(replace(headline, name=HEADLINE))
        if any(other._has_requests for other in _tasks_of_run.values()):
            # lm-eval makes all tasks of a run before it builds requests, so those are another run's
            _tasks_of_run.clear()
        _tasks_of_run[evaluation.task.name] = self
        if isinstance(evaluation.task.data.source, OwnSource):
            tasks = {name: other._evaluation.task for name, other in list(_tasks_of_run.items())}
            check_groups_beside(evaluation.task, tasks)

    # --- what results show -------------------------------------------------------------------------

    def dump_config(self) -> dict[str, Any]:
        """Return the configuration with the templates of the task file in the place of rendered fields."""
        evaluation, config = self._evaluation, super().dump_config()
        prompts, system = evaluation.prompts.values(), "cot" if evaluation.options.cot else "system"
        # lm-eval adds the model's arguments to the metadata
        metadata = public(config.get("metadata") or {}) | {RECORD: evaluation.provenance_of(len(self._items)).as_json()}
        return {
            **config,
            "doc_to_text": _joined([prompt["user"] for prompt in prompts]),
            "description": _joined([prompt.get(system, "") for prompt in prompts]),
            "metric_list": [{"metric": name, "higher_is_better": way} for name, way in self.higher_is_better().items()],
            "metadata": metadata,
        }

    def higher_is_better(self) -> dict[str, bool | None]:
        """Return the directions of the metrics."""
        return {metric.name: metric.higher_is_better for metric in self._metrics}

    # --- before generation -------------------------------------------------------------------------

    def download(self, *args: Any, **kwargs: Any) -> None:
        """Set the dataset to the items, which are already there, in the order in which they are asked."""
        self.dataset = {"test": Documents(map(_document, self._evaluation.shuffled_items))}

    def fewshot_docs(self) -> list[dict[str, str]]:
        """Return the worked examples as documents."""
        return self._examples

    def doc_to_target(self, doc: Mapping[str, Any], doc_to_target: Any = None) -> str:
        """Return the target as it is; lm-eval would take digits for the number of a choice."""
        return str(doc["target"])

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
        if self._evaluation.options.system_in_user and (render := kwargs.get("chat_template")):
            kwargs["chat_template"] = lambda messages, **settings: render(system_in_user(messages), **settings)
        return super().fewshot_context(doc, num_fewshot, *args, **kwargs)

    def construct_requests(
        self, doc: dict[str, Any], ctx: Any, apply_chat_template: bool = False, chat_template: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Return the request of a document, or one for each choice.

        The request has the schema of the answer if it is asked for and the server takes one: lm-eval passes the fields
        of a request on to a chat server, and to other models what these would reject.
        """
        # lm-eval 0.4 passes the name of the task, the number of the document and that of replies as `metadata`
        fields = kwargs if "metadata" in kwargs else {**kwargs, "task_name": self.task_name, "target": doc["target"]}
        if self._evaluation.asks_for_probability:
            delimiter = "" if apply_chat_template else self.config.target_delimiter
            texts = [delimiter + choice for choice in self.config.doc_to_choice]
            return [Instance("loglikelihood", doc, (ctx, text), idx=n, **fields) for n, text in enumerate(texts)]
        # lm-eval renders the template with a method of the model, or with a part of it
        backend = getattr(getattr(chat_template, "func", chat_template), "__self__", None)
        settings = deepcopy(self.config.generation_kwargs)
        if self._evaluation.options.structured and backend:
            from lm_eval.models.openai_completions import LocalChatCompletion  # takes long to import

            if isinstance(backend, LocalChatCompletion):
                settings["response_format"] = _response_format(self._evaluation)
        return [Instance("generate_until", doc, (ctx, settings), idx=0, **fields)]

    def build_all_requests(self, **kwargs: Any) -> None:
        """Build the requests without lm-eval's cache, which would mix up requests of one task under other options."""
        evaluation, shots = self._evaluation, self.config.num_fewshot or 0
        if shots != evaluation.options.fewshot:
            # lm-eval sets `--num_fewshot` after the task was made
            evaluation = build(evaluation.task, replace(evaluation.options, fewshot=shots))
        self._evaluation = evaluation = _for_template(evaluation, kwargs)
        tags = evaluation.version_tags
        self.VERSION: Any = "-".join([str(self._version), *tags]) if tags else self._version
        super().build_all_requests(**kwargs | {"cache_requests": False})
        self._has_requests = True

    # --- after generation --------------------------------------------------------------------------

    def apply_filters(self) -> None:
        """Score all replies to the task at once, so that a judge can be asked concurrently.

        The log shows the score as a reply that was filtered, or the likelihood of a choice with a replayed reply.

        Raises:
            JudgeError: The judge failed too often; the message names the files with the replies, also those to the
                other tasks of the run, since lm-eval writes no results if one task fails.
        """
        if self._bypass:
            for request in self.instances:
                request.filtered_resps[_FILTER] = request.resps[0]
                self._values[request.doc["id"]] = {self._bypass: _BYPASSED}
            return
        evaluation, self._estimates = self._evaluation, {}
        requests_of: dict[str, list[Any]] = {}
        for request in self.instances:
            requests_of.setdefault(request.doc["id"], []).append(request)
        replies = [self._reply(requests) for requests in requests_of.values()]
        try:
            scores = score_replies(evaluation, replies)
        except JudgeError as error:
            other_tasks = [task for task in list(_tasks_of_run.values()) if task is not self]
            files = ", ".join(filter(None, (task._keep_replies() for task in other_tasks)))
            raise JudgeError(f"{error}; replies to other tasks were kept: {files}" if files else str(error)) from None
        outcomes = Counter(score.reply_outcome for score in scores)
        options = evaluation.options
        how = HowAsked("lm_eval", bool(self._chat_template), options.structured, options.fewshot)
        for warning in run_warnings(evaluation.task, outcomes, scores, how):
            logger.warning(warning)
        if evaluation.asks_for_probability:
            scores = [
                score if reply.probability is not None else without_probability(score)
                for (_, reply), score in zip(replies, scores, strict=True)
            ]
        self._values = dict(zip(requests_of, item_values(self._metrics, scores), strict=True))
        for requests, score in zip(requests_of.values(), scores, strict=True):
            doc = requests[0].doc
            logged: list[Any] = [json.dumps(score.as_json(), ensure_ascii=False)]
            if evaluation.asks_for_probability:
                logged = [(request.resps[0][0], doc.get(embedded.REPLY)) for request in requests]
            for request, filtered in zip(requests, logged, strict=True):
                request.filtered_resps[_FILTER] = filtered
            # the log shows the document as it was asked
            doc["target"] = self._items[score.id].target
            doc.pop(embedded.REPLY, None)

    def _reply(self, requests: Sequence[Any]) -> tuple[Item, Reply]:
        """Return an item with its reply. Of two log-likelihoods it is the likelier choice; a replay states its own."""
        doc, item = requests[0].doc, self._items[requests[0].doc["id"]]
        if not self._evaluation.asks_for_probability:
            reply = requests[0].resps[0]
            failure = reply.failure if isinstance(reply, FailedReply) else ""
            return with_target(item, doc["target"]), Reply(reply, failure=failure)
        choices = self._evaluation.task.scoring.choices
        assert choices
        first, second = (request.resps[0][0] for request in requests)
        probability, text = probability_of_likelihoods(first, second), doc.get(embedded.REPLY)
        if probability is not None and text is None:
            text = choices[probability <= 0.5]
        return item, Reply(text or "", probability=probability)

    def _figure(self, name: str, part: Part, values: Iterable[ItemValue]) -> Any:
        """Return a part of a metric's estimate. lm-eval begins with the first metric, whose values have the scores."""
        if not self._estimates:
            columns = by_cluster(value.score for value in values)
            self._estimates = {metric.name: estimate(metric, columns, interval=False) for metric in self._metrics}
        return part_of(self._estimates[name], part)

    def override_metric(self, metric_name: str) -> None:
        """Keep replies without scoring them, as lm-eval's option `--predict_only` asks."""
        super().override_metric(metric_name)
        self._bypass, self._metrics = metric_name, []

    def _keep_replies(self) -> str | None:
        """Save the replies to this task; return its name with the file, and None without replies."""
        requests = self.instances if self._has_requests else ()
        replies = [(self._items[request.doc["id"]], Reply(request.resps[0])) for request in requests if request.resps]
        if not replies or self._evaluation.asks_for_probability:
            return None
        path = keep_replies(self._evaluation, replies)
        return f"{self._evaluation.task.name} ({path or 'could not be saved'})"

    # --- what lm-eval 0.4 asks for ------------------------------------------------------------------

    def process_results(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric for an item, and again under the name of its standard error."""
        values = self._values[doc["id"]]
        # a standard error must follow its metric: lm-eval then shows it in the column Stderr
        return values if self._bypass else {name + end: value for name, value in values.items() for end in PARTS}

    def aggregation(self) -> dict[str, Any]:
        """Return what computes each metric and its standard error of the values of all items."""
        names = [metric.name for metric in self._metrics]
        if self._bypass:
            return {self._bypass: max}
        return {name + end: partial(self._figure, name, part) for name in names for end, part in PARTS.items()}

    # --- what lm-eval 0.5 asks for ------------------------------------------------------------------

    def set_repeats(self, repeats: int) -> None:
        """Refuse lm-eval's option `--repeats`."""
        if repeats > 1:
            raise UsageError(
                f"{self.config.task} scores one reply to an item in lm-eval, so leave out --repeats; Inspect scores "
                "several (--epochs)"
            )

    def process_instances(self) -> None:
        """Score the replies."""
        from lm_eval.scorers import ScoredDoc

        self.apply_filters()
        (scorer,) = self.scorers
        documents = {}
        for request in self.instances:
            values = {name: [value] for name, value in self._values[request.doc["id"]].items()}
            documents[request.doc_id] = ScoredDoc(request.doc_id, request.target, values)
        scorer.set_results(documents)

    def aggregate(self, bootstrap_iters: int | None = None) -> tuple[dict[str, Any], int]:
        """Return each metric and its standard error, and the number of items."""
        (scorer,) = self.scorers
        documents = scorer.reduced_docs.values()
        figures = {
            f"{name}{end},{_FILTER}": self._figure(name, part, (values[name] for values in documents))
            for name in (metric.name for metric in self._metrics)
            for end, part in PARTS.items()
        }
        return figures or {f"{self._bypass},{_FILTER}": _BYPASSED}, len(documents)


def _build(config: Mapping[str, Any]) -> Evaluation:
    path = _task_path(config)
    if form := config.get("_formats_selection"):
        raise UsageError(
            f"task {config['task']} has its own prompts; leave out @{form}, a format of lm-eval's own tasks"
        )
    # the name of a group's member
    config = {key: value for key, value in config.items() if key != "_qualified_name"}
    try:
        file = read_task_file(path)
    except UsageError:
        file = TaskFile(path, {}, {})  # a task that a program made without a file
    metadata = config.get("metadata") or {}
    user_metadata = _user_metadata(metadata)
    # a judge that only files name is a suggestion
    file_metadata = {key: value for key, value in metadata.items() if key not in user_metadata}
    # lm-eval has loaded what the file names, but logs need the names
    values = {key: file.values[key] for key in config if comparable(file.values.get(key)) == comparable(config[key])}
    task = task_of(replace(file, values={**config, **values, "metadata": file_metadata}))
    suggested = {PREFIX + name for name in task.suggested_models}
    options = Options.from_metadata({key: metadata[key] for key in metadata if key not in suggested})
    evaluation = build(task, replace(options, fewshot=config.get("num_fewshot") or 0))
    if unused := options.unsupported(task.prompts.task_options):
        # not an error, since the option may be meant for other tasks of the run
        logger.warning("%s has no use for %s", task.name, ", ".join(PREFIX + name for name in unused))
    return evaluation


def _user_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a task's metadata that the user gave, such as with `--metadata`.

    A task file must not send the user's key to a judge that the user did not name, and lm-eval passes a task the
    metadata of files and user merged, even where both name one judge. Only the `TaskFactory` that creates the task has
    the user's alone, so it is looked up among the callers. A program that creates the task itself is the user.
    """
    callers = (frame.f_locals.get("self") for frame, _ in walk_stack(None))
    return next((caller._meta for caller in callers if isinstance(caller, TaskFactory)), metadata)


def _for_template(evaluation: Evaluation, settings: Mapping[str, Any]) -> Evaluation:
    """Return a task as a model's chat template can ask it.

    Args:
        evaluation: The task.
        settings: The arguments with which lm-eval builds requests.
    """
    render = settings.get("chat_template") if settings.get("apply_chat_template") else None
    in_user = render is not None and (evaluation.options.system_in_user or not takes_system(render))
    changed = replace(evaluation, options=replace(evaluation.options, system_in_user=in_user))
    if changed.system_in_user and not evaluation.system_in_user:
        logger.warning(NO_SYSTEM_ROLE, evaluation.task.name)
    return changed


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
        output = {"output_type": "multiple_choice", "doc_to_choice": list(evaluation.task.scoring.choices or ())}
    return {
        **output,
        "test_split": "test",
        "description": "system",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "fewshot_config": {"sampler": "first_n"},
    }


def _response_format(evaluation: Evaluation) -> dict[str, Any]:
    """Return the field by which a chat server is asked for the schema of the answer."""
    schema = response_schema(evaluation.task, evaluation.options)
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


def first_request(evaluation: Evaluation, command: Sequence[str]) -> dict[str, Any]:
    """Return the body of the first request to a chat server.

    Args:
        evaluation: The task.
        command: The words of lm-eval's command.

    Raises:
        UsageError: lm-eval does not know one of the words.
    """
    from lm_eval._cli.harness import HarnessCLI
    from lm_eval.api.registry import get_model

    printed = StringIO()
    try:
        with redirect_stderr(printed):
            arguments = HarnessCLI()._parser.parse_args(list(command[1:]))
    except SystemExit:
        raise UsageError(
            printed.getvalue().strip().rpartition("\n")[2] or "lm_eval: its command cannot be read"
        ) from None
    item, settings = evaluation.shuffled_items[0], _lm_eval_config(evaluation).get("generation_kwargs", {})
    if evaluation.options.structured:
        settings["response_format"] = _response_format(evaluation)
    if arguments.system_instruction:
        item = replace(item, system="\n\n".join(filter(None, [arguments.system_instruction, item.system])))
    model_args = arguments.model_args or {}
    payload: dict[str, Any] = get_model(arguments.model)(**model_args)._create_payload(
        evaluation.messages(item),
        generate=True,
        gen_kwargs=settings | (arguments.gen_kwargs or {}),
        seed=model_args.get("seed", 1234),
        eos=model_args.get("eos_string"),
    )
    return payload


class Documents(list[dict[str, Any]]):
    """Documents, whose fields lm-eval 0.4 asks for as those of a dataset."""

    @property
    def features(self) -> dict[str, Any]:
        """The fields of the first document."""
        return self[0]


def _document(item: Item) -> dict[str, Any]:
    """Return an item as lm-eval's document, which sample logs show."""
    return {
        **item.tags,
        **item.gold.as_json(),
        "id": item.id,
        "system": item.system,
        "prompt": item.prompt,
        "target": item.target,
        "cluster": item.cluster,
        "tags": list(item.tags),
    }


def _joined(texts: Sequence[str]) -> str:
    return "\n---\n".join(texts) if any(texts) else ""
