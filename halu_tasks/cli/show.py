"""`halu-tasks show`: what a task is."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from halu_tasks.cli.tables import table
from halu_tasks.tasks import task_named
from halu_tasks.tasks.summary import OptionSummary, TaskSummary, summary


def run(arguments: argparse.Namespace) -> None:
    shown = summary(task_named(arguments.task))
    print(json.dumps(shown.as_json(), ensure_ascii=False, indent=2) if arguments.json else "\n".join(lines(shown)))


def lines(shown: TaskSummary) -> Iterator[str]:
    """The summary of a task as text."""
    yield f"{shown.task}: {shown.about}"
    yield ""
    source = shown.source
    facts = {
        "file": shown.file,
        "derived from": f"{shown.reference_task}{_changed(shown)}" if _derived(shown) else "",
        "version": str(shown.version),
        "paper": source.paper,
        "data": f"{source.title}, {source.homepage}, licence: {source.licence}",
        "items": f"{shown.items:,}" if shown.items else "unknown",
        "fields": ", ".join(shown.fields),
        "decoding": ", ".join(f"{name} {value:g}" for name, value in shown.decoding.as_json().items()),
        "worked examples": str(shown.worked_examples or ""),
        **{f"option {name}": _option(option) for name, option in shown.options.items()},
    }
    for name, text in facts.items():
        if text:
            yield f"{name:<24}{text}"
    yield from _asked(shown)
    yield from _scored(shown)


def _derived(shown: TaskSummary) -> bool:
    return shown.reference_task != shown.task


def _changed(shown: TaskSummary) -> str:
    return f", with other {', '.join(shown.changed)}" if shown.changed else ""


def _option(option: OptionSummary) -> str:
    default = str(option.default).lower() if isinstance(option.default, bool) else f"{option.default}"
    choices = f", of {', '.join(option.choices)}" if option.choices else ""
    return f"{option.about} (default {default}{choices})"


def _asked(shown: TaskSummary) -> Iterator[str]:
    """What a model is sent: for the first item of the sample, or the templates where there is no sample."""
    item = shown.first_item
    usual, *others = shown.wordings
    asked = (
        {"system": item.system, "prompt": item.prompt, "target": item.target}
        if item
        else {"system": usual.prompt.get("system", ""), "prompt": usual.prompt["user"]}
    )
    yield ""
    yield f"Asked of the first item of the packaged sample ({item.id}):" if item else "Asked (there is no sample):"
    for part in ("system", "prompt", "target"):
        if asked.get(part):
            yield f"[{part}]"
            yield asked[part]
    for wording in others:
        yield f"[prompt where {', '.join(f'{name} is {value}' for name, value in wording.when.items())}]"
        yield wording.prompt["user"]


def _scored(shown: TaskSummary) -> Iterator[str]:
    answer = shown.answer
    yield ""
    yield f"Answer: {answer.kind} ({answer.about})"
    if answer.labels and answer.reading:
        labels = (f"{label} ({name})" if name else label for label, name in answer.labels.items())
        yield f"Labels: {', '.join(labels)}"
        yield f"Reading: {answer.reading.name} ({answer.reading.about})"
    for mode, scorer in shown.scorers.items():
        given = ", ".join(f"{name}: {_argument(value)}" for name, value in scorer.arguments.items())
        read = f"; reads: {scorer.reading}" if scorer.reading is not None else ""
        yield f"Scorer, {mode}: {scorer.name}{f' ({given})' if given else ''}: {scorer.about}{read}"
    yield ""
    rows = [
        [metric.name, ", ".join(modes), metric.needs or "", about]
        for metric in shown.metrics
        for about, modes in _by_meaning(metric.about).items()
    ]
    yield table(["metric", "modes", "needs", "meaning"], rows)
    yield f"\nThe headline is {shown.metrics[0].name}."


def _argument(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def _by_meaning(about: Mapping[str, str]) -> dict[str, list[str]]:
    """The modes by what a metric means in them."""
    meanings: dict[str, list[str]] = {}
    for mode, meaning in about.items():
        meanings.setdefault(meaning, []).append(mode)
    return meanings
