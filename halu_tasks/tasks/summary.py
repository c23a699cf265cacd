"""A summary of a task: what `halu-tasks show` prints, as text or as JSON."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE
from halu_tasks.scorers.kinds import Label
from halu_tasks.scorers.registry import reading_named, scorer_factory
from halu_tasks.tasks.build import build
from halu_tasks.tasks.task import Task, Wording
from halu_tasks.tasks.yaml_files import load_object

Summary = dict[str, Any]


def summary(task: Task) -> Summary:
    """Summarize a task as JSON: its data and prompts, how replies are read, its metrics and options."""
    source, item = task.data.source, first_item(task)
    usual, *others = map(_wording, task.prompts.wordings)
    specs = Options.of_some_tasks()
    return {
        "task": task.name,
        "version": task.version,
        "about": task.about,
        "file": str(task.file.path),
        "reference_task": task.reference,
        "changed": list(task.changed),
        "paper": source.paper,
        "source": {name: getattr(source, name) for name in ("title", "homepage", "licence", "revision", "gated")},
        "items": task.data.size,
        "fields": list(task.prompts.fields),
        "prompt": usual,
        "wordings": [
            {"when": dict(wording.when), **prompt}
            for wording, prompt in zip(task.prompts.wordings[1:], others, strict=True)
        ],
        "first_item": item and {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt},
        "answer": _answer(task),
        "scorers": {mode: _scorer(task.file.values["scorer"][mode]) for mode in task.scoring},
        "metrics": _metrics(task),
        "options": {
            name: {
                "about": specs[name].about,
                "default": specs[name].default,
                "choices": list(specs[name].choices),
            }
            for name in task.task_options
        },
        "decoding": task.decoding.as_json(),
        "worked_examples": task.prompts.shots,
    }


def first_item(task: Task) -> Item | None:
    """Return the first item of the packaged sample, or None if there is no sample."""
    path = SAMPLE / task.benchmark / task.data.file(Options())
    return next(build(task, Options(data="sample")).stream()) if path.is_file() else None


def _wording(wording: Wording) -> dict[str, str]:
    return {name: str(text) for name, text in wording.prompt.items()}


def _answer(task: Task) -> Summary:
    answer = task.answer
    summed = {"kind": answer.name, "about": _first_sentence(type(answer))}
    if not isinstance(answer, Label):
        return summed
    reading = {"name": _name(task.file.values["answer"]["reading"]), "about": _first_sentence(answer.reading)}
    return {**summed, "labels": {label: answer.names.get(label, "") for label in answer.labels}, "reading": reading}


def _scorer(spec: Any) -> Summary:
    arguments = dict(spec) if isinstance(spec, dict) else {}
    factory = arguments.pop("name", spec)
    reading = arguments.get("reading")
    return {
        "name": _name(factory),
        "about": _first_sentence(scorer_factory(load_object(factory))),
        "arguments": {name: _name(value) for name, value in arguments.items()},
        **({} if reading is None else {"reading": _first_sentence(reading_named(load_object(reading)))}),
    }


def _metrics(task: Task) -> list[Summary]:
    """Summarize every metric once, with what it means in each mode."""
    metrics: dict[str, Summary] = {}
    for mode, scorer in task.scoring.items():
        for metric in scorer.metrics:
            summed = metrics.setdefault(metric.name, {"name": metric.name, "about": {}})
            summed["about"][mode] = metric.about
            summed |= {"needs": metric.requires_option, "higher_is_better": metric.higher_is_better}
    return list(metrics.values())


def _name(value: Any) -> Any:
    """Return a value of a task file, a function by its name."""
    return f"{value.__module__}.{value.__qualname__}" if callable(value) else value


def _first_sentence(value: Callable[..., Any] | type) -> str:
    """Return the first sentence of a docstring."""
    paragraph = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".")
