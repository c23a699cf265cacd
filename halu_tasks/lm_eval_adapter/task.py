"""lm-evaluation-harness: a task of the registry as an lm-eval task. No benchmark's logic lives here."""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from datasets import Dataset
from lm_eval.api.filter import Filter, FilterEnsemble
from lm_eval.api.task import ConfigurableTask

from halu_tasks.credentials import public
from halu_tasks.errors import LM_EVAL, JudgeError, UsageError, install_excepthook
from halu_tasks.items import Item, Reply
from halu_tasks.options import PREFIX, Options
from halu_tasks.replies import embedded
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.scoring import keep_replies, outcome_of, prepare_judge, reply_warnings, score_replies
from halu_tasks.scorers.metrics import Metric, by_cluster, estimate
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.probability import probability_of_likelihoods, without_probability
from halu_tasks.tasks import Built, build, task_of
from halu_tasks.tasks.fewshot import worked_examples
from halu_tasks.tasks.yaml_files import TaskFile, read_task_file

logger = logging.getLogger(__name__)
_loaded: WeakValueDictionary[str, HaluTask] = WeakValueDictionary()
install_excepthook(*LM_EVAL)


class HaluTask(ConfigurableTask):
    """The class behind every task file of this package, and those that include one. Options come as metadata
    (`halu_scoring=paper`); items, scores and metrics come from the core."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        path = _path_of(config)
        file = TaskFile(path, config, _places(path))
        # what the core does is not for lm-eval to do, or to know
        given = {key: config[key] for key in ("task", "task_alias", "num_fewshot", "metadata") if key in config}
        fewshot = given.get("num_fewshot") or 0
        options = replace(Options.from_metadata(given.get("metadata") or {}), fewshot=fewshot)
        self._built = built = build(task_of(file), options)
        if unused := options.unused(built.task.task_options):
            # other tasks of the run may be meant, so it is no error
            logger.warning("%s has no use for %s", built.task.name, ", ".join(PREFIX + name for name in unused))
        self._items = {item.id: item for item in built.items}
        embedded.remember(built)
        prepare_judge(built)
        super().__init__(config=_lm_eval_config(built) | given)
        if any(task.instances for task in _loaded.values()):
            # all tasks of a run are made before any is asked: those were another run's
            _loaded.clear()
        _loaded[built.task.name] = self
        scored = Weighed if built.asks_for_probability else partial(ScoreReplies, built, self._items)
        self._filters = [FilterEnsemble("none", [scored])]
        self._aggregation_list = {
            name: aggregation
            for metric in built.metrics
            for name, aggregation in (
                (metric.name, Aggregation(metric, "value")),
                (f"{metric.name}_stderr", Aggregation(metric, "stderr")),
            )
        }
        self._higher_is_better = {metric.name: metric.higher_is_better for metric in built.metrics}
        self._version = (given.get("metadata") or {}).get("version", float(built.task.version))
        self._tell(built)
        self._show_wording(built)
        self.config.metric_list = [
            {"metric": metric.name, "higher_is_better": metric.higher_is_better} for metric in built.metrics
        ]

    def download(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to download: the items are built. A row holds what a log should show of an item."""
        self.dataset = {"test": Dataset.from_list([_doc(item) for item in self._built.items])}

    def fewshot_context(self, doc: dict[str, Any], num_fewshot: int, *args: Any, **kwargs: Any) -> Any:
        if num_fewshot and not 0 <= num_fewshot <= (available := len(self.config.fewshot_config.samples())):
            raise UsageError(f"task {self.config.task} has {available} worked examples, num_fewshot={num_fewshot}")
        # lm-eval joins the system text and what follows with nothing in between, unless they are messages
        if doc["system"] and not kwargs.get("apply_chat_template"):
            doc = {**doc, "system": doc["system"] + self.config.fewshot_delimiter}
        return super().fewshot_context(doc, num_fewshot, *args, **kwargs)

    def build_all_requests(self, **kwargs: Any) -> None:
        # lm-eval's cache of requests knows a task by its name alone, and would ask what other options asked
        super().build_all_requests(**kwargs | {"cache_requests": False})

    def process_results(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        if not self._scored:
            return dict(super().process_results(doc, results))
        score = (
            self._by_probability(doc, results)
            if self._built.asks_for_probability
            else Score.from_json(json.loads(results[0]))
        )
        # the error's key must follow its metric's: lm-eval then shows it in the table's Stderr column
        return {
            name: logged(metric, score)
            for metric in self._built.metrics
            for name in (metric.name, f"{metric.name}_stderr")
        }

    def _show_wording(self, built: Built) -> None:
        """Have the results show the texts that were asked, as the task file has them."""
        self.config.doc_to_text = str(built.prompt["user"])
        self.config.description = (
            str(built.prompt["cot" if built.options.cot else "system"]) if built.items[0].system else ""
        )

    def doc_to_text(self, doc: Mapping[str, Any], doc_to_text: Any = None) -> str:
        """The prompt, which was rendered when the item was built."""
        return str(doc["prompt"])

    def resolve_field(self, doc: Mapping[str, Any], field: str | None = None) -> Any:
        """lm-eval asks for the system text by the template that results show; an item has it rendered."""
        return doc["system"] if field == self.config.description else super().resolve_field(doc, field)

    def _tell(self, built: Built) -> None:
        """Have results say how they came about."""
        self.VERSION: Any = "-".join([str(self._version), *built.version_tags]) if built.version_tags else self._version
        if isinstance(self.config.metadata, dict):
            # lm-eval puts the model's arguments among the metadata, and all of them into the results
            self.config.metadata = {**public(self.config.metadata), "halu_tasks": built.provenance.as_json()}

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        super().set_config(key, value, update)
        if key == "num_fewshot":
            # the command line's number comes after the task was made
            self._tell(self._built.after(value))

    def _by_probability(self, doc: dict[str, Any], results: list[Weight]) -> Score:
        """The score of an item that was asked for the log-likelihoods of the task's two choices. The answer is
        the likelier one, but for a replayed reply, which brings its own."""
        choices = self._built.task.choices
        assert choices
        first, second = results
        probability = probability_of_likelihoods(first.loglikelihood, second.loglikelihood)
        text = first.reply if probability is None or first.reply is not None else choices[probability <= 0.5]
        found = score_replies(self._built, [(self._items[doc["id"]], Reply(text or "", probability=probability))])[0]
        return found if probability is not None else without_probability(found)

    def keep_replies(self) -> str | None:
        """Keep what was generated for this task, if anything was, and return the task's name."""
        replies = [(self._items[inst.doc["id"]], Reply(inst.resps[0])) for inst in self.instances or [] if inst.resps]
        if not replies or self._built.asks_for_probability:
            return None
        kept = keep_replies(self._built, replies, results_folder())
        return self._built.task.name if kept.path else f"{self._built.task.name} ({kept.told})"

    def override_metric(self, metric_name: str) -> None:
        """lm-eval's predict_only: keep the replies, score nothing, ask no judge."""
        super().override_metric(metric_name)
        self._filters = [FilterEnsemble("none", [TakeFirst])]
        self._scored = False

    _scored = True
    _instances = None  # what there is before any request is built; lm-eval leaves it unset


class ScoreReplies(Filter):
    """Scores a whole task at once, after generation: where a judge can be asked side by side, and where
    what was read from a reply shows in the sample log, as a score record in JSON."""

    def __init__(self, built: Built, items: Mapping[str, Item], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._built, self._items = built, items

    def apply(self, resps: Iterable[Any], docs: list[dict[str, Any]]) -> list[str]:
        replies = [
            (with_target(self._items[doc["id"]], doc["target"]), Reply(replies[0]))
            for replies, doc in zip(resps, docs, strict=True)
        ]
        try:
            scores = score_replies(self._built, replies, results_folder())
        except JudgeError as error:
            # lm-eval writes results at the very end, so that this would take the other tasks' replies along
            kept = [task.keep_replies() for name, task in list(_loaded.items()) if name != self._built.task.name]
            others = ", ".join(name for name in kept if name)
            raise JudgeError(f"{error}; kept beside it: {others}" if others else str(error)) from None
        mode = self._built.options.scoring
        outcomes = Counter(
            outcome_of(reply.text, score, mode) for (_, reply), score in zip(replies, scores, strict=True)
        )
        for warning in reply_warnings(self._built.task.name, outcomes):
            logger.warning(warning)
        # lm-eval copies what a filter returns and logs its str(), so that nothing but a plain text stays what it is
        return [json.dumps(score.as_json(), ensure_ascii=False) for score in scores]


def _path_of(config: Mapping[str, Any]) -> Path:
    """The file that defines a task, for errors. lm-eval tells it of a task that it finds by name; of one that the user
    named by its file (`--tasks my_task.yaml`) the hook knows it."""
    task, source = str(config.get("task")), (config.get("metadata") or {}).get("config_source", "inline")
    known: Mapping[str, str] = getattr(sys.modules.get("_halu_tasks_autoload"), "files", {})
    return Path(known.get(task, f"task {task}") if source == "inline" else source)


def _places(path: Path) -> Mapping[str, str]:
    """Where the keys of a task file stand."""
    try:
        return read_task_file(path).places
    except UsageError:  # no file, such as a task that a program made
        return {}


def results_folder() -> Path | None:
    """The folder that lm-eval's command line is told to write results to; lm-eval does not tell its tasks."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--output_path", "-o")
    try:
        told = parser.parse_known_args()[0].output_path if sys.argv[0].endswith(LM_EVAL) else None
    except argparse.ArgumentError:
        return None
    path = Path(told) if told else None
    return path.parent if path and path.suffix == ".json" else path


class Weight(NamedTuple):
    """The log-likelihood of one choice; `reply` is what a replayed model said, None for any other."""

    loglikelihood: float
    reply: str | None


class Weighed(Filter):
    def apply(self, resps: Iterable[Any], docs: list[dict[str, Any]]) -> list[Weight]:
        return [Weight(replies[0][0], doc.get(embedded.REPLY)) for replies, doc in zip(resps, docs, strict=True)]


class TakeFirst(Filter):
    def apply(self, resps: Iterable[Any], docs: list[dict[str, Any]]) -> list[Any]:
        return [replies[0] for replies in resps]


class Logged(float):
    """An item's own figure, as sample logs show it, with the score that the figure of many needs."""

    score: Score


class LoggedLabels(str):
    """What stands in a sample log where a metric has no figure for one item: target and answer."""

    score: Score


def logged(metric: Metric, score: Score) -> Logged | LoggedLabels:
    own = metric.item(score) if metric.item else math.nan
    answer = score.outcome if score.answer is None else _brief(score.answer)
    shown: Logged | LoggedLabels
    shown = LoggedLabels(f"{_brief(score.target)} -> {answer}") if math.isnan(own) else Logged(own)
    shown.score = score
    return shown


def _brief(label: str | list[str]) -> str:
    return label if isinstance(label, str) and len(label) < 20 else "text"


class Aggregation:
    """One figure of many scores, or its standard error; NaN where it is not defined, so that a group's
    mean is undefined too instead of a mean of fewer tasks."""

    def __init__(self, metric: Metric, part: str) -> None:
        self._metric, self._part = metric, part

    def __call__(self, values: Iterable[Logged | LoggedLabels]) -> Any:
        found = estimate(self._metric, by_cluster(value.score for value in values))
        figure = getattr(found, self._part) if found else math.nan
        return figure if figure is not None else "N/A"

    def __repr__(self) -> str:
        return f"halu_tasks:{self._metric.name}:{self._part}"


class WorkedExamples:
    """The worked examples of a task as lm-eval reads them; not made unless they are asked for, since a
    training part may have to be fetched."""

    def __init__(self, built: Built) -> None:
        self._built = built

    def __call__(self) -> list[dict[str, str]]:
        return self._made

    @cached_property
    def _made(self) -> list[dict[str, str]]:
        made = worked_examples(self._built.task, self._built.options, self._built.prompt)
        return [{"prompt": example.prompt, "target": example.reply, "system": ""} for example in made]

    def __repr__(self) -> str:
        return f"halu_tasks:worked_examples:{self._built.task.name}"


def _doc(item: Item) -> dict[str, Any]:
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


def _lm_eval_config(built: Built) -> dict[str, Any]:
    decoding = built.task.decoding
    sampling: dict[str, Any] = {"do_sample": decoding.temperature > 0, "temperature": decoding.temperature}
    if decoding.top_p is not None:
        sampling["top_p"] = decoding.top_p
    asked: dict[str, Any] = {
        "output_type": "generate_until",
        "generation_kwargs": {"until": [], "max_gen_toks": decoding.max_tokens, **sampling},
    }
    if built.asks_for_probability:
        asked = {"output_type": "multiple_choice", "doc_to_choice": list(built.task.choices or ())}
    return {
        **asked,
        "test_split": "test",
        "description": "system",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "fewshot_config": {"sampler": "first_n", "samples": WorkedExamples(built)},
    }
