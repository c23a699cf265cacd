"""What a task is, gathered from its definition for people to read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from halu_tasks.data.locate import SAMPLE
from halu_tasks.items import Item
from halu_tasks.options import Options
from halu_tasks.scorers.kinds import AnswerKind, Label
from halu_tasks.scorers.registry import reading_named, scorer_factory
from halu_tasks.tasks.build import build
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import load_object


def summary(task: Task) -> dict[str, Any]:
    """What a task asks, how replies are read and what is computed, as JSON values."""
    source, decoding, item = task.reader.source, task.decoding, first_item(task)
    return {
        "task": task.name,
        "version": task.version,
        "about": task.about,
        "file": str(task.path),
        "reference_task": task.reference,
        "changed": list(task.changed),
        "paper": source.paper,
        "source": {"title": source.title, "homepage": source.homepage, "licence": source.licence},
        "items": task.size,
        "fields": list(task.fields),
        "prompt": {name: str(text) for name, text in task.wordings[0].prompt.items()},
        "wordings": [{"when": dict(wording.when), **_texts(wording.prompt)} for wording in task.wordings[1:]],
        "first_item": item and {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt},
        "answer": _answer(task.answer, task.definition["answer"]),
        "scorers": {mode: _scorer(task, mode) for mode in task.scoring},
        "metrics": _metrics(task),
        "options": {name: _option(name) for name in task.task_options},
        "decoding": {
            "max_gen_toks": decoding.max_tokens,
            "temperature": decoding.temperature,
            **({} if decoding.top_p is None else {"top_p": decoding.top_p}),
        },
        "worked_examples": task.shots,
    }


def first_item(task: Task) -> Item | None:
    """The first item of the packaged sample; None where the source has none."""
    path = SAMPLE / task.reader.source.name / task.reader.file(Options())
    return next(build(task, Options(data="sample")).stream()) if path.is_file() else None


def _texts(prompt: Mapping[str, str]) -> dict[str, str]:
    return {name: str(text) for name, text in prompt.items()}


def _answer(answer: AnswerKind, declared: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": answer.name, "about": _first_line(type(answer))}
    if isinstance(answer, Label):
        found["labels"] = {label: answer.names.get(label, "") for label in answer.labels}
        found["reading"] = {"name": _name(declared["reading"]), "about": _first_line(answer.reading)}
    return found


def _scorer(task: Task, mode: str) -> dict[str, Any]:
    declared = task.definition["scorer"][mode]
    spec, arguments = (declared, {}) if not isinstance(declared, dict) else (declared["name"], dict(declared))
    arguments.pop("name", None)
    found = {
        "name": _name(spec),
        "about": _first_line(scorer_factory(load_object(spec))),
        "arguments": {name: _name(value) for name, value in arguments.items()},
    }
    if "reading" in arguments:
        found["reading"] = _first_line(reading_named(load_object(arguments["reading"])))
    return found


def _metrics(task: Task) -> list[dict[str, Any]]:
    """Every metric once, with what it means in each mode that has it, the headline first."""
    about: dict[str, dict[str, str]] = {}
    for mode, scorer in task.scoring.items():
        for metric in scorer.metrics:
            about.setdefault(metric.name, {})[mode] = metric.about
    strict = {metric.name: metric for scorer in task.scoring.values() for metric in scorer.metrics}
    return [
        {
            "name": name,
            "about": modes,
            "needs": strict[name].requires_option,
            "higher_is_better": strict[name].higher_is_better,
        }
        for name, modes in about.items()
    ]


def _option(name: str) -> dict[str, Any]:
    option = Options.of_some_tasks()[name]
    return {
        "about": option.about,
        "default": option.default,
        "choices": list(option.choices),
    }


def _name(value: Any) -> Any:
    """A value of a task file as text: functions by their names."""
    return f"{value.__module__}.{value.__qualname__}" if callable(value) else value


def _first_line(value: Callable[..., Any] | type) -> str:
    """The first sentence of a docstring."""
    paragraph = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".")
