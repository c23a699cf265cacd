"""A summary of a task for people to read, and as JSON: what `halu-tasks show` prints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.data.sources import Source
from halu_tasks.scorers.kinds import Label
from halu_tasks.scorers.registry import reading_named, scorer_factory
from halu_tasks.tasks.build import build
from halu_tasks.tasks.task import Decoding, Task, Wording
from halu_tasks.tasks.yaml_files import load_object


@dataclass(frozen=True, kw_only=True)
class ReadingSummary:
    """How a label is read from a reply: the reading's name and the first sentence of its docstring."""

    name: str
    about: str


@dataclass(frozen=True, kw_only=True)
class AnswerSummary:
    """The kind of answer that a task asks for.

    Attributes:
        kind: The name of the kind.
        about: What it is.
        labels: The names of the labels by label, empty if a label has none; None unless a label is asked for.
        reading: How the label is read; None unless a label is asked for.
    """

    kind: str
    about: str
    labels: Mapping[str, str] | None = None
    reading: ReadingSummary | None = None

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON; what is None is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class ScorerSummary:
    """The scorer of a mode.

    Attributes:
        name: The name of the scorer.
        about: What it does.
        arguments: Its arguments, functions by their names.
        reading: How it reads a reply, if the task file says so; otherwise None.
    """

    name: str
    about: str
    arguments: Mapping[str, Any]
    reading: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON; a reading that is None is left out."""
        reading = {} if self.reading is None else {"reading": self.reading}
        return {"name": self.name, "about": self.about, "arguments": dict(self.arguments), **reading}


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """A metric: what it means in each mode that has it, the option it needs, and whether higher values are better."""

    name: str
    about: Mapping[str, str]
    needs: str | None
    higher_is_better: bool | None


@dataclass(frozen=True, kw_only=True)
class OptionSummary:
    """An option that changes what is asked; `choices` is empty if it takes any value."""

    about: str
    default: Any
    choices: list[str]


@dataclass(frozen=True, kw_only=True)
class TaskSummary:
    """What a task asks, how replies are read and what is computed.

    Attributes:
        task: The task's name.
        version: The task's version.
        about: One line for listings.
        file: The path of the task file.
        reference_task: The packaged task that the definition comes from.
        changed: The keys that differ from the reference task's.
        source: Where the data come from.
        items: The number of items of the published data; None if it is not known.
        fields: The fields of a case for prompts.
        wordings: The prompts, the usual one first.
        first_item: The first item of the packaged sample; None if there is no sample.
        answer: The kind of answer.
        scorers: The scorers by mode.
        metrics: The metrics, the headline first.
        options: The options of the task by name.
        decoding: The paper's decoding.
        worked_examples: The default number of worked examples.
    """

    task: str
    version: int
    about: str
    file: str
    reference_task: str
    changed: tuple[str, ...]
    source: Source
    items: int | None
    fields: tuple[str, ...]
    wordings: tuple[Wording, ...]
    first_item: Item | None
    answer: AnswerSummary
    scorers: Mapping[str, ScorerSummary]
    metrics: tuple[MetricSummary, ...]
    options: Mapping[str, OptionSummary]
    decoding: Decoding
    worked_examples: int

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON."""
        source, item = self.source, self.first_item
        usual, *others = self.wordings
        return {
            "task": self.task,
            "version": self.version,
            "about": self.about,
            "file": self.file,
            "reference_task": self.reference_task,
            "changed": list(self.changed),
            "paper": source.paper,
            "source": {"title": source.title, "homepage": source.homepage, "licence": source.licence},
            "items": self.items,
            "fields": list(self.fields),
            "prompt": _strings(usual.prompt),
            "wordings": [{"when": dict(wording.when), **_strings(wording.prompt)} for wording in others],
            "first_item": item and {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt},
            "answer": self.answer.as_json(),
            "scorers": {mode: scorer.as_json() for mode, scorer in self.scorers.items()},
            "metrics": [asdict(metric) for metric in self.metrics],
            "options": {name: asdict(option) for name, option in self.options.items()},
            "decoding": self.decoding.as_json(),
            "worked_examples": self.worked_examples,
        }


def summary(task: Task) -> TaskSummary:
    """Summarize a task."""
    return TaskSummary(
        task=task.name,
        version=task.version,
        about=task.about,
        file=str(task.file.path),
        reference_task=task.reference,
        changed=task.changed,
        source=task.data.source,
        items=task.data.size,
        fields=task.prompts.fields,
        wordings=task.prompts.wordings,
        first_item=first_item(task),
        answer=_answer(task),
        scorers={mode: _scorer(task, mode) for mode in task.scoring},
        metrics=_metrics(task),
        options={name: _option(name) for name in task.task_options},
        decoding=task.decoding,
        worked_examples=task.prompts.shots,
    )


def first_item(task: Task) -> Item | None:
    """Return the first item of the packaged sample, or None if there is no sample."""
    path = SAMPLE / task.data.source.name / task.data.file(Options())
    return next(build(task, Options(data="sample")).stream()) if path.is_file() else None


def _strings(prompt: Mapping[str, str]) -> dict[str, str]:
    return {name: str(text) for name, text in prompt.items()}


def _answer(task: Task) -> AnswerSummary:
    answer = task.answer
    about = _first_sentence(type(answer))
    if not isinstance(answer, Label):
        return AnswerSummary(kind=answer.name, about=about)
    return AnswerSummary(
        kind=answer.name,
        about=about,
        labels={label: answer.names.get(label, "") for label in answer.labels},
        reading=ReadingSummary(
            name=_name(task.file.values["answer"]["reading"]), about=_first_sentence(answer.reading)
        ),
    )


def _scorer(task: Task, mode: str) -> ScorerSummary:
    spec = task.file.values["scorer"][mode]
    arguments = dict(spec) if isinstance(spec, dict) else {}
    factory = arguments.pop("name", spec)
    reading = arguments.get("reading")
    return ScorerSummary(
        name=_name(factory),
        about=_first_sentence(scorer_factory(load_object(factory))),
        arguments={name: _name(value) for name, value in arguments.items()},
        reading=None if reading is None else _first_sentence(reading_named(load_object(reading))),
    )


def _metrics(task: Task) -> tuple[MetricSummary, ...]:
    """Summarize every metric once, in the order of the modes."""
    metrics = {metric.name: metric for scorer in task.scoring.values() for metric in scorer.metrics}
    about: dict[str, dict[str, str]] = {name: {} for name in metrics}
    for mode, scorer in task.scoring.items():
        for metric in scorer.metrics:
            about[metric.name][mode] = metric.about
    return tuple(
        MetricSummary(
            name=name, about=about[name], needs=metric.requires_option, higher_is_better=metric.higher_is_better
        )
        for name, metric in metrics.items()
    )


def _option(name: str) -> OptionSummary:
    option = Options.of_some_tasks()[name]
    return OptionSummary(about=option.about, default=option.default, choices=list(option.choices))


def _name(value: Any) -> Any:
    """Return a value of a task file, a function by its name."""
    return f"{value.__module__}.{value.__qualname__}" if callable(value) else value


def _first_sentence(value: Callable[..., Any] | type) -> str:
    """Return the first sentence of a docstring."""
    paragraph = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".")
