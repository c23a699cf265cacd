"""`halu-tasks show`: what a task asks, how replies are read, and what is computed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from halu_tasks.cli.arguments import TASK_HELP, add_json_argument
from halu_tasks.cli.output import print_json
from halu_tasks.cli.tables import table

if TYPE_CHECKING:
    from halu_tasks.tasks.summary import Summary

HELP = "show what a task asks, how replies are read, and its metrics"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("task", metavar="TASK", help=TASK_HELP)
    add_json_argument(parser, "text")


def run(arguments: argparse.Namespace) -> None:
    """Print the summary of a task."""
    from halu_tasks.tasks import task_named
    from halu_tasks.tasks.summary import summary

    task = summary(task_named(arguments.task))
    if arguments.json:
        print_json(task)
    else:
        print("\n".join(_lines(task)))


def _lines(task: Summary) -> Iterator[str]:
    yield f"{task['task']}: {task['about']}"
    yield ""
    source = task["source"]
    properties = {
        "file": task["file"],
        "derived from": _reference(task),
        "version": str(task["version"]),
        "paper": task["paper"],
        "data": f"{source['title']}, {source['homepage']}, licence: {source['licence']}",
        "items": f"{task['items']:,}" if task["items"] else "unknown",
        "fields": ", ".join(task["fields"]),
        "decoding": ", ".join(f"{name} {value:g}" for name, value in task["decoding"].items()),
        "worked examples": str(task["worked_examples"] or ""),
        **{f"option {name}": _option(option) for name, option in task["options"].items()},
    }
    for name, text in properties.items():
        if text:
            yield f"{name:<24}{text}"
    yield from _prompt(task)
    yield from _scoring(task)


def _reference(task: Summary) -> str:
    """Describe the task that this one is derived from; empty if there is none."""
    if task["reference_task"] == task["task"]:
        return ""
    changed = f", with other {', '.join(task['changed'])}" if task["changed"] else ""
    return f"{task['reference_task']}{changed}"


def _option(option: Summary) -> str:
    default = str(option["default"]).lower() if isinstance(option["default"], bool) else f"{option['default']}"
    choices = f", of {', '.join(option['choices'])}" if option["choices"] else ""
    return f"{option['about']} (default {default}{choices})"


def _prompt(task: Summary) -> Iterator[str]:
    """Describe what a model is sent for the first item of the sample, or the templates if there is no sample."""
    item = task["first_item"]
    usual = task["prompt"]
    yield ""
    if item:
        yield f"Prompt of the first item of the packaged sample ({item['id']}):"
        parts = {"system": item["system"], "prompt": item["prompt"], "target": item["target"]}
    else:
        yield "Templates of the prompt (there is no sample):"
        parts = {"system": usual.get("system", ""), "prompt": usual["user"]}
    for part, text in parts.items():
        if text:
            yield f"[{part}]"
            yield text
    for wording in task["wordings"]:
        yield f"[prompt if {', '.join(f'{name} is {value}' for name, value in wording['when'].items())}]"
        yield wording["user"]


def _scoring(task: Summary) -> Iterator[str]:
    answer = task["answer"]
    yield ""
    yield f"Answer: {answer['kind']} ({answer['about']})"
    if "labels" in answer:
        labels = (f"{label} ({name})" if name else label for label, name in answer["labels"].items())
        yield f"Labels: {', '.join(labels)}"
        yield f"Reading: {answer['reading']['name']} ({answer['reading']['about']})"
    for mode, scorer in task["scorers"].items():
        arguments = ", ".join(f"{name}: {_argument(value)}" for name, value in scorer["arguments"].items())
        reading = f"; reads: {scorer['reading']}" if "reading" in scorer else ""
        name = f"{scorer['name']} ({arguments})" if arguments else scorer["name"]
        yield f"Scorer, {mode}: {name}: {scorer['about']}{reading}"
    yield ""
    rows = [
        [metric["name"], ", ".join(modes), metric["needs"] or "", about]
        for metric in task["metrics"]
        for about, modes in _modes_by_meaning(metric["about"]).items()
    ]
    yield table(["metric", "modes", "needs", "meaning"], rows)
    yield f"\nThe headline is {task['metrics'][0]['name']}."


def _argument(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def _modes_by_meaning(about: Mapping[str, str]) -> dict[str, list[str]]:
    modes: dict[str, list[str]] = {}
    for mode, meaning in about.items():
        modes.setdefault(meaning, []).append(mode)
    return modes
