"""A task: what its file declares, checked when it is used, and how replies to it are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import did_you_mean
from halu_tasks.core.items import OF_ITEM, PART, WORDING, Gold, Item, Reply
from halu_tasks.core.options import ASKED_OPTIONS, PREFIX, Options
from halu_tasks.core.prompting import placeholders
from halu_tasks.data.locate import LocatedData
from halu_tasks.data.rows import Refuse
from halu_tasks.data.sources import OwnSource
from halu_tasks.scorers.annotators import CLASS
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.attempts import penalty_of, with_penalty
from halu_tasks.scorers.judge import CLAIM, PASSAGES, REPLY, TARGET, JudgeSpec, Verdict
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.reader_metrics import with_reader
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.confidence import has_confidence, with_confidence
from halu_tasks.scorers.wordings import with_wordings, wordings_of
from halu_tasks.tasks.data_source import TaskData
from halu_tasks.tasks.keys import Model, Naming, check_placeholders, validated
from halu_tasks.tasks.prompts import Prompts
from halu_tasks.tasks.rows_to_items import ItemMaker
from halu_tasks.tasks.scoring_spec import ScoringSpec
from halu_tasks.tasks.task_defaults import OWN
from halu_tasks.tasks.yaml_files import TaskFile, comparable

# keys of lm-eval that a task file may have and that do not change how the task is asked or scored
_LM_EVAL_KEYS = ("tag", "task_alias", "class", "output_type", "include", "group", "task_list")

# keys of lm-eval that would have no effect, and the keys that do the same here
_REPLACED_KEYS = {
    "dataset_path": "source",
    "dataset_name": "file",
    "process_docs": "cases",
    "process_results": "scorer",
    "filter_list": "answer and scorer",
    "repeats": "the method self_consistency",
    "fewshot_config": "order_examples",
    "fewshot_split": "training_file",
    "test_split": "file",
}

PROMPT_KEYS = ("description", "doc_to_text", "chain_of_thought", "wordings")
NAMING_KEYS = ("task", "about", "items", "metadata")
"""The keys that change neither what is asked nor how it is scored."""


@cache
def task_keys() -> tuple[str, ...]:
    """Return the keys that define a task."""
    names = (name for part in (Naming, TaskData, Prompts, ScoringSpec) for name in part.names())
    return tuple(dict.fromkeys(names))


class Task:
    """A benchmark task, as its file defines it.

    The keys of the file are checked when they are first used: a listing reads files without looking at what they name.

    Args:
        file: The task file, or what reads it when it is first used; for a task that was restored from a log, its path
            is a name for error messages.
        packaged: The packaged task that the definition was derived from; None for a packaged or a new task.
    """

    def __init__(self, file: TaskFile | Callable[[], TaskFile], packaged: Task | None = None) -> None:
        self._file = file
        self.packaged = packaged

    @cached_property
    def file(self) -> TaskFile:
        """The task file.

        Raises:
            UsageError: It cannot be read.
        """
        return self._file() if callable(self._file) else self._file

    @property
    def name(self) -> str:
        """The name, the same in lm-eval, Inspect and on the command line."""
        return str(self.file.values.get("task"))

    @property
    def about(self) -> str:
        """One line for listings."""
        return str(self.file.values.get("about"))

    @property
    def base_task(self) -> str:
        """The packaged task that the definition comes from; a packaged task's own name."""
        return str(self.file.values.get("reference_task"))

    @property
    def suggested_models(self) -> dict[str, Any]:
        """The models for scoring that the file suggests in its `metadata`, as options by name."""
        metadata = self.file.values.get("metadata")
        options = metadata if isinstance(metadata, dict) else {}
        return {name: options[PREFIX + name] for name in ASKED_OPTIONS if PREFIX + name in options}

    # --- what the file declares --------------------------------------------------------------------

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """The values of the keys that define the task.

        Raises:
            UsageError: A key is unknown, or has no effect here.
        """
        keys, file = task_keys(), self.file
        for key, value in file.values.items():
            if key in _REPLACED_KEYS:
                raise file.fault(key, f"has no effect on a task of halu-tasks; use {_REPLACED_KEYS[key]}")
            if key not in keys and key not in _LM_EVAL_KEYS:
                raise file.fault(key, f"unknown key{did_you_mean(key, keys)}; known: {', '.join(keys)}")
            if key == "output_type" and value not in (None, "generate_until"):
                reason = f"expected generate_until, got {value!r}; to weigh labels, use the option probability"
                raise file.fault(key, reason)
        values = {key: value for key, value in file.values.items() if key in keys}
        decoding = values.get("generation_kwargs")
        if self.packaged and isinstance(decoding, dict) and "max_gen_toks" not in decoding:
            # authors who only set another temperature expect the rest to stay
            values["generation_kwargs"] = {**self.packaged.values["generation_kwargs"], **decoding}
        if values.get("source") == OWN:
            values["source"] = OwnSource(name=self.name, title=self.name, files=(), folder=file.folder)
        return values

    @cached_property
    def version(self) -> int:
        """A number that changes when results stop being comparable."""
        version = self._checked(Naming).metadata.version
        if version is None and self.packaged is None:
            raise self.file.fault("metadata", "version: is missing")
        return self.packaged.version if version is None and self.packaged else int(version or 0)

    @cached_property
    def data(self) -> TaskData:
        """Where rows come from, and how items are made of them."""
        return self._checked(TaskData)

    @cached_property
    def maker(self) -> ItemMaker | None:
        """Makes items of rows without code; None if the file names a function for this.

        Raises:
            UsageError: The key `gold` lacks what the answer needs.
        """
        data, answer = self.data, self.scoring.answer
        if data.cases:
            return None
        if fault := data.gold.fault(answer):
            raise self.file.fault("gold", fault)
        if reserved := OF_ITEM & {*self.scoring.tags, *data.row.tags}:
            raise self.file.fault(
                "tags", f"{min(reserved)!r} is taken in logs; name it otherwise, with rows: {{tags: …}}"
            )
        return ItemMaker(data.fields, data.gold, data.row, self.scoring.tags, answer)

    def items(self, located: LocatedData | Path, options: Options, refuse: Refuse | None = None) -> Iterable[Item]:
        """Make the items of located data, or of a file; their prompts are not rendered yet.

        Args:
            located: The data.
            options: The options of the task.
            refuse: Called with the error of each invalid row; by default, it is raised.

        Raises:
            DataError: A row is invalid, or there are none.
        """
        maker, data, judged = self.maker, self.data, self.judge_fields
        items: Iterable[Item]
        if maker:
            names = set[str]().union(*map(placeholders, self.prompts.wording(options).prompt.values()))
            items = data.items(located, maker, options, names & {*self.prompts.fields}, refuse)
        else:
            assert data.cases
            items = data.cases(data.rows(located, refuse), options, **data.cases_arguments)
        if not judged:
            return items
        # items of logs have no fields
        return (
            replace(item, gold=replace(item.gold, shown={name: item.fields[name] for name in judged})) for item in items
        )

    @cached_property
    def prompts(self) -> Prompts:
        """How a model is asked."""
        return self._checked(Prompts)

    @cached_property
    def scoring(self) -> ScoringSpec:
        """How replies are read and scored."""
        return self._checked(ScoringSpec)

    def _checked(self, model: type[Model]) -> Model:
        return validated(model, self.file, {key: self.values[key] for key in model.names() if key in self.values})

    def check(self) -> Task:
        """Return this task after a check of all keys.

        Raises:
            UsageError: A key is missing, unknown or wrong; the message is one line with file, line and key.
        """
        _ = self.version, self.data, self.prompts, self.scoring, self.maker, self.judge_fields
        self._check_tags_of_metrics()
        return self

    def _check_tags_of_metrics(self) -> None:
        """Check that the user's metrics read tags that items have, unless a function makes the items."""
        if self.maker is None:
            return
        tags = {*self.maker.tag_paths, *([CLASS] if self.data.gold.classes else []), WORDING, PART}
        for metric in (entry.metric for entry in self.scoring.metric_list if entry.metric != entry.name):
            if unread := sorted(metric.tags - tags):
                listed = ", ".join(f"tag_{tag}" for tag in sorted(tags))
                hint = did_you_mean(unread[0], tags)
                reason = f"{metric.name} ({metric.place}) reads 'tag_{unread[0]}', but items have no tag {unread[0]!r}"
                raise self.file.fault("metric_list", f"{reason}{hint}; there are {listed}")

    @cached_property
    def changed_keys(self) -> tuple[str, ...]:
        """The keys, except for prompts and names, whose values differ from the packaged task's."""
        left_out = (*PROMPT_KEYS, *NAMING_KEYS)
        return tuple(key for key in self.differing_keys(self.packaged) if key not in left_out) if self.packaged else ()

    def differing_keys(self, other: Task | None) -> list[str]:
        """Return the keys whose values differ from another task's, or without one, all keys that the file sets."""
        values, other_values = self.file.values, other.file.values if other else {}
        return [key for key in task_keys() if comparable(values.get(key)) != comparable(other_values.get(key))]

    @property
    def benchmark(self) -> str:
        """The name of the task's source, which all tasks of a benchmark share."""
        return self.data.source.name

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The user texts by which a reply is recognized that continues with another question."""
        questions = tuple(wording.prompt["user"] for wording in self.prompts.wordings)
        return questions + (self.packaged.questions if self.packaged else ())

    # --- scores ------------------------------------------------------------------------------------

    @property
    def scorers(self) -> Mapping[str, TaskScorer]:
        """The scorers by mode; every task has `strict` and `paper`."""
        return self.scoring.scorers

    @property
    def judge_spec(self) -> JudgeSpec | None:
        """What a judge is asked about each reply; None if no judge is needed."""
        return self.scoring.judge

    @cached_property
    def judge_fields(self) -> tuple[str, ...]:
        """The fields that the file's prompt for a judge shows; empty without such a prompt.

        Raises:
            UsageError: A placeholder of the prompt is no field.
        """
        judge, fields = self.judge_spec, self.prompts.fields
        if judge is None or not isinstance(self.values["judge"], dict):
            return ()
        used, reserved = placeholders(judge.prompt), {TARGET, *((CLAIM, PASSAGES) if judge.claims else (REPLY,))}
        try:
            if clashing := used & {*fields} & {*reserved, "about"}:
                raise ValueError(
                    f"a field that a judge is shown cannot be named {min(clashing)!r}; rename it in 'fields'"
                )
            check_placeholders(judge.prompt, (*fields, *sorted(reserved)))
        except ValueError as error:
            raise self.file.fault("judge", f"prompt: {error}") from None
        return tuple(name for name in fields if name in used)

    def gold(self, record: Mapping[str, Any]) -> Gold:
        """Restore the gold of an item from JSON values, as logs have it.

        Raises:
            ValueError: It is not the gold of an item of this task.
        """
        return (self.scorers["strict"].gold or self.scoring.answer.gold).from_json(record)

    @property
    def headline(self) -> str:
        """The name of the metric that sums up the task in `strict`."""
        return self.headline_metric("strict").name

    def headline_metric(self, mode: str) -> Metric:
        """Return the metric that sums up the task in a mode, `strict` or `paper`."""
        return self.scorers[mode].metrics[0]

    def metrics_of(self, mode: str, scores: Sequence[ScoredReply]) -> tuple[Metric, ...]:
        """Return all metrics of a run's scores, including metrics of several wordings if the run has any.

        Args:
            mode: The mode, `strict` or `paper`.
            scores: The scores.
        """
        metrics = with_penalty(self.scorers[mode].metrics, penalty_of(scores))
        metrics = with_wordings(metrics, wordings_of(scores))
        if any(map(has_confidence, scores)):
            metrics = with_confidence(metrics, self.scorers[mode].facts)
        is_read = self.scoring.read and any(score.verdicts for score in scores)  # by a reader, since no judge is asked
        return with_reader(metrics) if is_read else metrics

    def score(self, mode: str, item: Item, reply: Reply, verdicts: Sequence[Verdict] | None = None) -> ScoredReply:
        """Score a reply.

        In `strict`, a reply that continues with another question after its answer is read up to that question.

        Args:
            mode: `strict` or `paper`.
            item: The item.
            reply: The reply.
            verdicts: For a judged task, the judge's verdicts; None if no judge was asked.
        """
        return self.scoring.score(mode, item, reply, verdicts, self.questions)

    def label(self, reply: str) -> Answer[str]:
        """Read the label that a reply states, as in strict but without the gold, for tasks with `read`."""
        return self.scoring.label(reply, self.questions)

    def judged_text(self, mode: str, item: Item, reply: str) -> str:
        """Return the part of a reply to a judged task that a judge is asked about."""
        return self.scoring.judged_text(mode, item, reply, self.questions)
