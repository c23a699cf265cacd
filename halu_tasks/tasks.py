"""Tasks: what a benchmark declares, the registry that both harnesses read, and how items are built.

A benchmark is a module of `halu_tasks.benchmarks` that lists its `TASKS` and `GROUPS`; nothing else has
to be told about it.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from halu_tasks import data as data_
from halu_tasks.data import Lines, Located, Row
from halu_tasks.errors import DataError, UsageError, did_you_mean
from halu_tasks.fewshot import by_target, worked_examples
from halu_tasks.items import Case, Example, Item, Reply
from halu_tasks.options import Options
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.judge import Judging, Verdict
from halu_tasks.scorers.metrics import Estimate, Metric, by_cluster, estimate, mean_of, share_abstained, share_empty
from halu_tasks.scorers.probability import with_probability
from halu_tasks.scorers.score import Score
from halu_tasks.solvers.prompting import Prompt, next_question, prompt_for, prompt_hash, render
from halu_tasks.sources import Source
from halu_tasks.splits import sampled

logger = logging.getLogger(__name__)

# No real reply that answers before it asks itself another question is longer, or repeats its own item more often.
_LONGEST_TURN, _MOST_TURNS = 50_000, 3


@dataclass(frozen=True)
class Decoding:
    """The paper's decoding. Both harnesses let the user override each value."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float | None = None


@dataclass(frozen=True)
class Reader:
    """How a benchmark's rows are read: which file for which options, what a valid row is, how the file's
    format is read, and the file of the benchmark's training part, where it has one."""

    source: Source
    file: Callable[[Options], str]
    fields: Mapping[str, type]
    check: Callable[[Row], None]
    lines: Lines = data_.json_lines
    training: str | None = None

    def rows(self, path: Path) -> Iterator[Row]:
        """The rows of a file. Raises DataError as `read_rows` does."""
        return data_.read_rows(path, self.fields, self.check, self.lines)

    def fewshot_rows(self, options: Options) -> Iterator[Row]:
        """The package's own rows for worked examples; none where the package has none."""
        path = self.fewshot_path(options)
        return self.rows(path) if path.is_file() else iter(())

    def fewshot_path(self, options: Options) -> Path:
        """Where they lie: under the name of the file that the options choose, where the package has one, else
        of the default one."""
        folder = data_.SAMPLE / "fewshot" / self.source.name
        chosen = folder / (self.training or self.file(options))
        return chosen if chosen.is_file() else folder / (self.training or self.file(Options()))

    def training_path(self, options: Options) -> Path | None:
        """The training part, pinned or in the folder that the user named; None where there is none."""
        return data_.find_beside(self.source, self.training, options.data) if self.training else None


@dataclass(frozen=True)
class Scoring:
    """How replies become scores and scores become figures, in one mode.

    `score` takes the item, the reply and, for judged tasks, the labels that the judge gave (None without one).
    `beside` gives figures of fixed replies on the scored items, by reply and metric, for a reader to compare with.
    """

    score: Callable[[Item, str, Sequence[str] | None], Score]
    metrics: tuple[Metric, ...]
    beside: Callable[[Sequence[Score]], Mapping[str, Mapping[str, float]]] | None = None


class Subject(NamedTuple):
    """What a detection method looks at in an item, each part by the name of its field: the text that may
    hallucinate, the question that it answers, and the source that has to support it; None where a task does not
    show such a part. `evidence` is not shown and only for a method that is told to use it."""

    text: str
    query: str | None = None
    source: str | None = None
    evidence: str | None = None

    def of(self, fields: Mapping[str, str]) -> dict[str, str]:
        """The parts that the fields have, under the names `text`, `query`, `source` and `evidence`."""
        return {part: fields[name] for part, name in self._asdict().items() if name in fields}


def modes(
    strict: Callable[[Item, str], Score],
    paper: Callable[[Item, str], Score],
    metrics: tuple[Metric, ...],
    published_metrics: tuple[Metric, ...] | None = None,
    beside: Callable[[Sequence[Score]], Mapping[str, Mapping[str, float]]] | None = None,
) -> dict[str, Scoring]:
    """The two modes of a task that needs no judge: how each scores a reply to an item, and the metrics, which
    are the same in both unless `published_metrics` are given. Only `strict` tells replies that decline or that have
    no content from other unparsed ones, since the published definitions do not."""
    return {
        "strict": Scoring(
            lambda item, reply, _: strict(item, reply), (*metrics, share_abstained(), share_empty()), beside
        ),
        "paper": Scoring(lambda item, reply, _: paper(item, reply), published_metrics or metrics),
    }


@dataclass(frozen=True)
class Task:
    """One benchmark task.

    Attributes:
        name: the same in lm-eval, Inspect and on the command line.
        version: changes when results stop being comparable.
        about: one line for listings.
        size: number of items in the published data, asked as published; None where it is not known.
        reader: where rows come from.
        cases: rows and options -> cases.
        scoring: by mode; every task has `strict` and `paper`.
        headline: the metric that sums the task up.
        decoding: the paper's.
        oracle: the reply that earns the full score.
        baseline: a reply made without knowing the answer; a floor.
        shots: number of worked examples that the task has of its own, zero-shot being none.
        examples: puts the cases that worked examples can be made of into the order in which they are shown.
        own_options: options beyond those of every task that change what it asks.
        labels: the targets that a prediction may name as its own, where the question has an order.
        judged: what a judge is asked about each reply; None when no judge is needed.
        choices: the two answers, the one that is looked for first, of a task that may be answered by a
            probability.
        subject: what a detection method looks at, for tasks with `choices`.
        read: the label that a reply states, read as in strict but without the gold; None where the answer is
            no label.
        asked_by: the name of the prompt under given options, where an option changes what is asked; None
            where it is always the task's own name.
    """

    name: str
    version: int
    about: str
    size: int | None
    reader: Reader
    cases: Callable[[Iterable[Row], Options], Iterable[Case]]
    scoring: Mapping[str, Scoring]
    headline: str
    decoding: Decoding
    oracle: Callable[[Item], str]
    baseline: Callable[[Item], str]
    shots: int = 0
    examples: Callable[[Iterable[Case], Options], list[Case]] = lambda cases, options: by_target(cases)
    own_options: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    judged: Judging | None = None
    choices: tuple[str, str] | None = None
    subject: Subject | None = None
    read: Callable[[str], Answer[str]] | None = None
    asked_by: Callable[[Options], str] | None = None

    def score(self, mode: str, item: Item, reply: Reply, verdicts: Sequence[Verdict] | None = None) -> Score:
        """The score of a reply in `strict` or `paper`, given the judge's verdicts where the task is judged. In
        strict, a reply that goes on to ask itself another question behind its answer is read up to there."""
        score = self.scoring[mode].score
        if self.judged:
            labels = None if verdicts is None else [verdict.label for verdict in verdicts]
            found = score(item, self.judged_text(mode, item, reply.text), labels)
            found = replace(found, verdicts=[verdict._asdict() for verdict in verdicts or ()])
        else:
            for text in self._readings(mode, reply.text):
                found = score(item, text, None)
                if found.outcome != "unparsed":
                    break
            found = with_probability(found, reply.probability)
        if mode == "paper" and found.outcome == "abstained":
            return replace(found, outcome="unparsed")
        # a reply without content says nothing of the model; in `paper` it stays what the authors count it as
        empty = mode == "strict" and found.answer is None and not reply.text.strip()
        return replace(found, outcome="empty") if empty else found

    def label(self, reply: str) -> Answer[str]:
        """The label that a reply states, read as in strict but without the gold, for tasks with `read`."""
        assert self.read
        for text in self._readings("strict", reply):
            found = self.read(text)
            if found.outcome != "unparsed":
                break
        return found

    def judged_text(self, mode: str, item: Item, reply: str) -> str:
        """What a judge is asked about, of a reply to a judged task."""
        assert self.judged
        asked = (text for text in self._readings(mode, reply) if self.judged and self.judged.questions(item, text))
        return next(asked, reply)

    def _readings(self, mode: str, reply: str) -> tuple[str, ...]:
        """What to read of a reply in strict, one after the other until something is read: what stands before another
        question that it goes on to ask itself, and all of it, as always in paper. A label has to be declared before
        the question, since a reply that weighs an answer may repeat the item before it comes to its verdict."""
        if mode != "strict":
            return (reply,)
        ends = (end.start() for end in next_question(self.benchmark).finditer(reply[:_LONGEST_TURN]))
        before = [reply[:end] for end in islice(ends, _MOST_TURNS)]
        if self.read:
            return (next((text for text in before if self._answered(text)), reply),)
        return (*before[:1], reply)

    def _answered(self, text: str) -> bool:
        """Whether the text declares a label, or declines to."""
        assert self.read
        answer = self.read(text)
        return answer.outcome != "unparsed" and not answer.inferred

    def own_prompt(self, options: Options, file: str | None = None) -> Prompt:
        """The prompt that asks the task under `options`: the package's, with what the user's `file` gives."""
        name = self.asked_by(options) if self.asked_by else self.name
        return prompt_for(name, self.benchmark, file)

    def lacks_training(self, options: Options) -> bool:
        """Whether the benchmark has a training part and the data that the user named have it not."""
        reader = self.reader
        return reader.training is not None and not data_.is_sample(options.data) and not reader.training_path(options)

    @property
    def benchmark(self) -> str:
        return self.reader.source.name


@dataclass(frozen=True)
class Group:
    """Tasks reported together: the unweighted mean of the metrics `means` over `members`."""

    name: str
    version: int
    about: str
    members: tuple[str, ...]
    means: tuple[str, ...]

    def figures(self, scoring: str, by_task: Mapping[str, Sequence[Score]]) -> dict[str, Estimate]:
        """The means over the members' scores, all in the mode `scoring`; one that is not defined for every member
        is left out. Clusters that reach into several members keep their correlation."""
        tagged = [score.tagged({"task": task}) for task in self.members for score in by_task.get(task, ())]
        found: dict[str, Estimate] = {}
        for name in self.means:
            members = {
                member: next(m for m in task_named(member).scoring[scoring].metrics if m.name == name)
                for member in self.members
            }
            if value := estimate(mean_of(name, members, "task"), by_cluster(tagged)):
                found[name] = value
        return found


@dataclass(frozen=True)
class Built:
    """A task ready to run: its items, its worked examples, and what a result must say about itself."""

    task: Task
    options: Options
    prompt: Prompt
    examples: list[Example]
    located: Located

    def stream(self) -> Iterator[Item]:
        """The items one after the other, without holding them or their rows in memory.

        Raises:
            DataError: at a malformed row, at an id that occurs twice, or where no row serves this task.
        """
        path = self.located.path
        rows = self.task.reader.rows(path)
        seen: set[str] = set()
        cases = self.task.cases(rows, self.options)
        for case in sampled(cases, self.options) if "split" in self.task.own_options else cases:
            if case.id in seen:
                raise DataError(f"{path}: two rows make the item {case.id!r}; ids must differ")
            seen.add(case.id)
            yield render(case, self.prompt, cot=self.options.cot)
        if not seen:
            under = ", ".join(self.options.marks(self.task.own_options))
            raise DataError(f"{path}: holds no row for task {self.task.name}{f' under {under}' if under else ''}")

    @cached_property
    def items(self) -> list[Item]:
        return list(self.stream())

    def after(self, fewshot: int) -> Built:
        """The same items, asked after another number of worked examples, which are not made here."""
        other = replace(self, options=replace(self.options, fewshot=fewshot))
        other.__dict__["items"] = self.items  # rows are not read again
        return other

    @property
    def prompt_hash(self) -> str:
        return prompt_hash(self.prompt)

    @property
    def asks_for_probability(self) -> bool:
        """Whether the two choices are to be weighed."""
        return self.options.probability and "probability" in self.task.own_options

    @property
    def scoring(self) -> Scoring:
        return self.task.scoring[self.options.scoring]

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that these items under these options bear on."""
        tags = {pair for item in self.items for pair in item.tags.items()}
        return tuple(
            metric
            for metric in self.scoring.metrics
            if (metric.where is None or metric.where in tags)
            and (metric.needs is None or getattr(self.options, metric.needs))
        )

    @property
    def marks(self) -> tuple[str, ...]:
        """What sets this run apart from the benchmark as published and asked zero-shot; part of the
        version that harnesses print, so that no such result passes for the benchmark's."""
        options = self.options
        marks: list[str] = [kind for kind in (self.located.kind,) if kind != "pinned"]
        marks += ["paper"] if options.scoring == "paper" else []
        marks += options.marks(self.task.own_options)
        marks += ["cot"] if options.cot else []
        if options.fewshot and self.task.lacks_training(options):
            marks.append("own_examples")
        if self.prompt != self.task.own_prompt(options):
            marks.append(f"prompts_{self.prompt_hash}")
        return tuple(marks)

    @property
    def version(self) -> str:
        """The task's version and the marks, as `halu-tasks` tells it."""
        return "-".join([str(self.task.version), *self.marks])

    @property
    def provenance(self) -> dict[str, Any]:
        """What was asked and how, for a harness's log."""
        return {
            "task": self.task.name,
            "version": self.version,
            "scoring": self.options.scoring,
            "data": self.located.kind,
            "data_file": self.located.path.name,
            "data_sha256": self.located.sha256,
            "prompt_hash": self.prompt_hash,
            "fewshot": self.options.fewshot,
            "cot": self.options.cot,
            **{name: getattr(self.options, name) for name in self.task.own_options},
            **({"judge": self.options.judge} if self.task.judged else {}),
            "items": len(self.items),
        }


@cache
def registry() -> tuple[dict[str, Task], dict[str, Group]]:
    """All tasks and all groups by name, from the modules of `halu_tasks.benchmarks`."""
    tasks: dict[str, Task] = {}
    groups: dict[str, Group] = {}
    for benchmark in benchmark_modules():
        tasks |= {task.name: task for task in benchmark.TASKS}
        groups |= {group.name: group for group in benchmark.GROUPS}
    return tasks, groups


@cache
def benchmark_modules() -> tuple[ModuleType, ...]:
    """The modules of `halu_tasks.benchmarks`, by name. One that cannot be imported is named in a warning and left
    out."""
    from halu_tasks import benchmarks

    names = sorted(info.name for info in pkgutil.iter_modules(benchmarks.__path__))
    found = (imported(f"{benchmarks.__name__}.{name}", ("TASKS", "GROUPS")) for name in names)
    return tuple(module for module in found if module)


def imported(name: str, attributes: Sequence[str] = ()) -> ModuleType | None:
    """A module that has `attributes`; where it cannot be imported, None and a warning, since one benchmark's fault is
    no reason to lose the others."""
    try:
        module = importlib.import_module(name)
        for attribute in attributes:
            getattr(module, attribute)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        logger.warning("%s cannot be imported, its tasks are missing (%s)", name, why)
        return None
    return module


def task_named(name: str) -> Task:
    """The task of that name. Raises UsageError, listing the tasks, when there is none."""
    tasks, groups = registry()
    if name in groups:
        raise UsageError(f"{name!r} is a group; name one of its tasks: {', '.join(groups[name].members)}")
    if name not in tasks:
        raise UsageError(f"unknown task {name!r}{did_you_mean(name, tasks)}; tasks: {', '.join(tasks)}")
    return tasks[name]


def build(name: str, options: Options) -> Built:
    """The task under `options`, its data found; rows are read when its items are.

    Raises:
        UsageError: no such task, or an option it cannot serve.
        DataError: the data are missing or damaged.
    """
    task = task_named(name)
    prompt = task.own_prompt(options, options.prompts)
    if options.cot and "cot" not in prompt:
        raise UsageError(f"task {name} has no chain-of-thought prompt; leave the option cot out")
    located = data_.locate(task.reader.source, task.reader.file(options), options.data)
    examples = worked_examples(task, options, prompt)[: options.fewshot] if options.fewshot else []
    if len(examples) < options.fewshot:
        raise UsageError(f"task {name} has {len(examples)} worked examples, fewshot={options.fewshot} asks for more")
    return Built(task, options, prompt, examples, located)


__all__ = [
    "Built",
    "Decoding",
    "Group",
    "Reader",
    "Scoring",
    "Subject",
    "Task",
    "build",
    "modes",
    "registry",
    "task_named",
]
