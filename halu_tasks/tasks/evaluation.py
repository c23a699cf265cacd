"""A task under options, ready to be asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import short_hash, stable_hash
from halu_tasks.core.items import PART, WORDING, Example, Item
from halu_tasks.core.options import JUDGE_SETTINGS, PENALTY, Options
from halu_tasks.core.prompting import Prompt, messages, prompt_hash, render, system_in_user
from halu_tasks.data.locate import LocatedData
from halu_tasks.data.sources import OwnSource
from halu_tasks.scorers.attempts import with_penalty
from halu_tasks.scorers.judge import JudgeSpec
from halu_tasks.scorers.judge_correction import ReferenceLabels
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.reader_metrics import with_reader
from halu_tasks.scorers.registry import TaskScorer
from halu_tasks.scorers.statistics.calibration import TEST, TRAIN
from halu_tasks.scorers.statistics.confidence import with_confidence
from halu_tasks.scorers.wordings import with_wordings
from halu_tasks.tasks.definition import Task
from halu_tasks.tasks.label_tables import read_reference_labels
from halu_tasks.tasks.prompting import (
    decoding_in_form,
    packaged_prompt,
    prompts_of,
    published_source,
    reply_in_form,
    worked_examples,
)
from halu_tasks.tasks.prompts import Decoding
from halu_tasks.tasks.provenance import Provenance, TaskRef
from halu_tasks.tasks.recorded_verdicts import RecordedVerdicts, read_verdicts
from halu_tasks.tasks.task_registry import get_task


@dataclass(frozen=True)
class Evaluation:
    """A task under some options, with its data: what a harness runs or replies are scored by.

    Attributes:
        task: The task.
        options: How it is asked and scored.
        prompts: The prompts that ask it, by the name of their wording.
        examples: The worked examples of its prompt; empty if there are several prompts.
        located: The data file.
    """

    task: Task
    options: Options
    prompts: Mapping[str, Prompt]
    examples: list[Example]
    located: LocatedData

    def stream(self) -> Iterator[Item]:
        """Yield the items one after the other, without holding them or their rows in memory.

        Raises:
            DataError: A row is malformed, an id occurs twice, or there is no row for this task.
        """
        seen: set[str] = set()
        for item in self.unrendered():
            if item.id in seen:
                raise self.repeated_id(item.id)
            seen.add(item.id)
            yield self.rendered(item)

    def rendered(self, item: Item) -> Item:
        """Return an item with its prompt."""
        prompt = self.prompts[item.tags[WORDING]] if self.wordings else self.prompt
        return render(item, prompt, cot=self.options.cot)

    def unrendered(self) -> Iterator[Item]:
        """Yield the items without their prompts, and without checking that their ids are unique.

        With several prompts, there is one for each wording, whose id begins with the wording's name and a slash.

        Raises:
            DataError: A row is malformed, or there is no row for this task.
        """
        items = self.task.items(self.located, self.options)
        item = None
        for item in select_split(items, self.options) if "split" in self.task.prompts.task_options else items:
            if self.task.data.cases:
                try:
                    self.task.scoring.answer.check(item)
                except ValueError as error:
                    raise DataError(f"{self.located}: item {item.id!r}: {error}") from None
            if self.wordings:
                for name in self.wordings:
                    yield replace(item, id=f"{name}/{item.id}", tags={**item.tags, WORDING: name})
            else:
                yield item
        if item is None:
            tags = ", ".join(self.options.version_tags(self.task.prompts.task_options))
            raise DataError(
                f"{self.located}: contains no row for task {self.task.name}{f' under {tags}' if tags else ''}"
            )

    def repeated_id(self, id: str) -> DataError:
        """Make the error for two items with the same id."""
        is_own = isinstance(self.task.data.source, OwnSource)
        advice = "ids must be unique" + (", such as with rows: {id: '{{file}}/{{id}}'}" if is_own else "")
        return DataError(f"{self.located}: two rows make the item {id!r}; {advice}")

    @cached_property
    def items(self) -> list[Item]:
        """All items, in the order of the data."""
        return list(self.stream())

    @property
    def shuffled_items(self) -> list[Item]:
        """All items in the order in which they are asked, so that the first N of them are a random sample."""
        return shuffled(self.items)

    @property
    def system_in_user(self) -> bool:
        """Whether a system text is part of the first user turn."""
        key = "cot" if self.options.cot else "system"
        return self.options.system_in_user and any(prompt.get(key) for prompt in self.prompts.values())

    def messages(self, item: Item) -> list[dict[str, str]]:
        """Return the chat messages of an item, with the worked examples."""
        turns = messages(item, self.examples)
        return system_in_user(turns) if self.options.system_in_user else turns

    @property
    def decoding(self) -> Decoding:
        """The decoding, with more tokens if the answer is asked for as JSON, or with a confidence."""
        form = {"structured": self.options.structured, "confidence": self.options.confidence}
        return decoding_in_form(self.task.prompts.decoding, **form)

    def oracle(self, item: Item) -> str:
        """Return the reply that earns the full score, in the form that is asked for."""
        return reply_in_form(self.task, self.options, self.task.prompts.oracle(item))

    def baseline(self, item: Item) -> str:
        """Return a reply that does not know the answer, in the form that is asked for."""
        return reply_in_form(self.task, self.options, self.task.prompts.baseline(item), confidence=0.0)

    @property
    def prompt(self) -> Prompt:
        """The prompt that asks the task, the first if there are several."""
        return next(iter(self.prompts.values()))

    @property
    def prompt_hash(self) -> str:
        """A short hash of the prompt, or the hashes of several prompts joined by underscores."""
        return "_".join(map(prompt_hash, self.prompts.values()))

    @property
    def asks_for_probability(self) -> bool:
        """Whether the two choices are weighed by their probabilities."""
        return self.options.probability and "probability" in self.task.prompts.task_options

    @property
    def scorer(self) -> TaskScorer:
        """The scorer of the mode that the options choose."""
        return self.task.scorers[self.options.scoring]

    @property
    def wordings(self) -> list[str]:
        """The names of the wordings, if there are several."""
        return list(self.prompts) if len(self.prompts) > 1 else []

    @cached_property
    def all_metrics(self) -> tuple[Metric, ...]:
        """All metrics of the task under these options, including metrics of several wordings."""
        metrics = with_wordings(with_penalty(self.scorer.metrics, self.options.penalty), self.wordings)
        metrics = with_confidence(metrics, self.scorer.facts)
        return with_reader(metrics) if self.reader else metrics

    @property
    def reader(self) -> JudgeSpec | None:
        """The questions to a model that reads replies; None without the option, or if there is no label to read."""
        if not self.options.reader or self.asks_for_probability:
            return None
        return self.task.scoring.reading_spec(self.options.scoring, self.task.about)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that these items have under these options."""
        tags = {pair for item in self.items for pair in item.tags.items()}
        return tuple(
            metric
            for metric in self.all_metrics
            if {*metric.within} <= tags
            and metric.tags <= {tag for tag, _ in tags}
            and (metric.requires_option is None or self._is_given(metric.requires_option))
        )

    def _is_given(self, option: str) -> bool:
        """Whether replies have what an option asks for; a confidence also follows from a probability."""
        return bool(getattr(self.options, option)) or (option == "confidence" and self.asks_for_probability)

    @property
    def version_tags(self) -> tuple[str, ...]:
        """Tags of what sets this run apart from the benchmark as published and asked zero-shot.

        They are part of the version that harnesses print, so that no such result is taken for the benchmark's.
        """
        options = self.options
        tags: list[str] = [self.located.kind] if self.located.kind not in ("pinned", "own") else []
        tags += [f"split_{options.data_split}"] if options.data_split else []
        tags += [f"config_{options.data_config}"] if options.data_config else []
        tags += [f"columns_{short_hash(*sorted(options.columns))[:8]}"] if options.columns else []
        tags += ["paper"] if options.scoring == "paper" else []
        tags += options.version_tags(self.task.prompts.task_options)
        tags += ["system_in_user"] if self.system_in_user else []
        tags += [f"penalty_{options.penalty:g}"] if options.penalty != 1 else []
        if self.task.judge_spec:
            tags += [f"verdicts_{self.recorded.hash}"] if self.recorded else []
            tags += [f"knowledge_{self.judge_knowledge}"] if self.judge_knowledge else []
            tags += [f"reference_{self.labels.hash}"] if self.labels else []
            tags += [f"assume_{part}".replace(":", "").replace("-", "to") for part in options.assume]
        if options.fewshot and self.task.data.lacks_training(options):
            tags.append("own_examples")
        if len(self.prompts) > 1 or self.prompt != packaged_prompt(self.task.packaged or self.task, options):
            # a published wording is without chain of thought
            as_published = len(self.prompts) == 1 and not options.cot
            as_published = as_published and published_source(self.task.base_task, self.prompt) is not None
            tags.append("prompts_paper" if as_published else f"prompts_{self.prompt_hash}")
        tags += [f"own_{key}" for key in self.task.changed_keys]
        return tuple(tags)

    @cached_property
    def labels(self) -> ReferenceLabels | None:
        """Better labels of the replies to a judged task, or None.

        Raises:
            DataError: The file cannot be read, or does not fit the task.
        """
        if not self.task.judge_spec or not self.options.reference:
            return None
        return read_reference_labels(self.options.reference, self.task, {item.id for item in self.stream()})

    @cached_property
    def recorded(self) -> RecordedVerdicts | None:
        """Recorded verdicts on the replies to a judged task, or None.

        Raises:
            DataError: The file cannot be read, or does not fit the task.
        """
        if not self.task.judge_spec or not self.options.verdicts:
            return None
        ids = {item.id for item in self.unrendered()}
        return read_verdicts(self.options.verdicts, self.task, ids, self.options.verdict_columns)

    @cached_property
    def judge_knowledge(self) -> str | None:
        """A short hash of the passages in which the judge looks claims up, or None.

        Raises:
            DataError: They cannot be read.
        """
        judged = self.task.judge_spec
        looks_up = judged and judged.claims and judged.claims.looks_up and not self.options.verdicts
        if not looks_up or not self.options.judge_knowledge:
            return None
        from halu_tasks.knowledge import hash_of_files, named_files  # its expressions take long to compile

        return hash_of_files(named_files(Path(self.options.judge_knowledge).expanduser()))[:8]

    @property
    def version(self) -> str:
        """The task's version with the tags, as the commands of `halu-tasks` print it."""
        return "-".join([str(self.task.version), *self.version_tags])

    @property
    def provenance(self) -> Provenance:
        """What is asked and how, as logs record it."""
        return self.provenance_of(len(self.items))

    def provenance_of(self, items: int) -> Provenance:
        """Return what is asked and how, if the number of items is already known."""
        changed, judged = self.options.changed(), self.task.judge_spec
        data_options = [name for name in changed if name in ("data_split", "data_config", "columns")]
        form_options = [name for name in changed if name in ("structured", "confidence", "risk", "reader", PENALTY)]
        form_options += ["system_in_user"] if self.system_in_user else []
        judges = ["judge", *(["assume"] if self.options.assume else [])] if judged else []
        judges += [name for name in JUDGE_SETTINGS if name in changed and (judged or "reader" in form_options)]
        options = {
            name: getattr(self.options, name)
            for name in (*data_options, *self.task.prompts.task_options, *form_options, *judges)
        }
        options |= {"judge": self.recorded.judge} if self.recorded else {}
        options |= {"judge_knowledge": self.judge_knowledge} if self.judge_knowledge else {}
        return Provenance(
            task=TaskRef.of(self.task),
            version=self.version,
            scoring=self.options.scoring,
            data=self.located.kind,
            data_file=self.located.name,
            data_sha256=self.located.sha256,
            items=items,
            prompt_hash=self.prompt_hash,
            fewshot=self.options.fewshot,
            cot=self.options.cot,
            options={name: list(value) if isinstance(value, tuple) else value for name, value in options.items()},
        )


def build(name: str | Task, options: Options) -> Evaluation:
    """Prepare a task under `options` and locate its data; rows are only read for items.

    Args:
        name: The name of a packaged task, the path of a task file, or a task.
        options: How it is asked and scored.

    Raises:
        UsageError: The task does not exist, or does not support an option.
        DataError: The data are missing or damaged.
    """
    task = (name if isinstance(name, Task) else get_task(name)).check()
    if options.pool == task.data.gold.pool:  # the version only shows what differs from the task file
        options = replace(options, pool=None)
    if "soft" in (options.pool, task.data.gold.pool) and not getattr(task.scoring.answer, "degrees", False):
        raise task.file.fault("gold", "pool: soft gives degrees, so it needs answer: {kind: spans, degrees: true}")
    if options.structured and options.scoring == "paper":
        raise UsageError("option structured: scoring=paper reads replies as the authors do, without JSON; use strict")
    if options.structured and options.probability and "probability" in task.prompts.task_options:
        raise UsageError("option structured: an answer that is a probability has no text; leave out one of the two")
    if options.confidence and options.probability and "probability" in task.prompts.task_options:
        raise UsageError("option confidence: that of a probability follows from it; leave out one of the two")
    prompts = prompts_of(task, options)
    if options.fewshot and len(prompts) > 1:  # harnesses show the same examples before every item
        raise UsageError(f"task {task.name}: several prompt files cannot be combined with worked examples (fewshot)")
    if options.cot and any("cot" not in prompt for prompt in prompts.values()):
        raise UsageError(f"task {task.name} has no chain-of-thought prompt; leave the option cot out")
    located = task.data.locate(options)
    first = next(iter(prompts.values()))
    examples = worked_examples(task, options, first)[: options.fewshot] if options.fewshot else []
    if len(examples) < options.fewshot:
        raise UsageError(
            f"task {task.name} has {len(examples)} worked examples, fewshot={options.fewshot} asks for more"
        )
    return Evaluation(task, options, prompts, examples, located)


TRAIN_SHARE, TEST_SHARE = 0.05, 0.2
"""The sizes of the two samples of the option `split`, after Factored Verification (section 2.3).

One is there to tune the threshold on, the other to test.
"""


def shuffled(items: Sequence[Item]) -> list[Item]:
    """Order items by hashes of their ids, so that the first N are a random sample that depends only on the ids.

    Published data are sorted, so that their first rows have one source or one label. Items that come in pairs (whose
    ids have one of two endings after a slash) stay together, and so do the wordings of one item.
    """
    ids = [item.id.partition("/")[2] if WORDING in item.tags else item.id for item in items]
    paired = len({id.rpartition("/")[2] for id in ids}) == 2
    keys = [stable_hash(id.rpartition("/")[0] if paired else id) for id in ids]
    return [item for _, item in sorted(zip(keys, items, strict=True), key=lambda pair: pair[0])]


def select_split(items: Iterable[Item], options: Options) -> Iterator[Item]:
    """Select the items of the option `split`, in order.

    Samples depend only on the clusters of items and on the seed: clusters are not split, the samples are disjoint, and
    their sizes are exact shares of all clusters. `train5` and `test20` are one sample each; `train5_test20` is both and
    `train5_rest` everything, each item tagged with its part.
    """
    if options.split == "all":
        yield from items
        return
    all_items = list(items)
    drawn = sorted(
        {item.cluster for item in all_items}, key=lambda cluster: (stable_hash(options.seed, cluster), cluster)
    )
    trained = round(TRAIN_SHARE * len(drawn))
    tested = len(drawn) if options.split == "train5_rest" else trained + round(TEST_SHARE * len(drawn))
    parts = dict.fromkeys(drawn[trained:tested], TEST) if options.split != "train5" else {}
    parts |= dict.fromkeys(drawn[:trained], TRAIN) if options.split != "test20" else {}
    tagged = options.split.startswith("train5_")
    for item in all_items:
        if part := parts.get(item.cluster):
            yield replace(item, tags={**item.tags, PART: part}) if tagged else item
