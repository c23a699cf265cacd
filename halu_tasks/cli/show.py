"""`halu-tasks show`: what a task is."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from halu_tasks.cli.tables import table
from halu_tasks.tasks import task_named
from halu_tasks.tasks.summary import summary


def run(arguments: argparse.Namespace) -> None:
    shown = summary(task_named(arguments.task))
    print(json.dumps(shown, ensure_ascii=False, indent=2) if arguments.json else "\n".join(lines(shown)))


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """The summary of a task as text."""
    yield f"{shown['task']}: {shown['about']}"
    yield ""
    source = shown["source"]
    facts = {
        "file": shown["file"],
        "derived from": f"{shown['reference_task']}{_changed(shown)}" if _derived(shown) else "",
        "version": str(shown["version"]),
        "paper": shown["paper"],
        "data": f"{source['title']}, {source['homepage']}, licence: {source['licence']}",
        "items": f"{shown['items']:,}" if shown["items"] else "unknown",
        "fields": ", ".join(shown["fields"]),
        "decoding": ", ".join(f"{name} {value:g}" for name, value in shown["decoding"].items()),
        "worked examples": str(shown["worked_examples"] or ""),
        **{f"option {name}": _option(option) for name, option in shown["options"].items()},
    }
    for name, text in facts.items():
        if text:
            yield f"{name:<24}{text}"
    yield from _asked(shown)
    yield from _scored(shown)


def _derived(shown: Mapping[str, Any]) -> bool:
    return bool(shown["reference_task"] != shown["task"])


def _changed(shown: Mapping[str, Any]) -> str:
    return f", with other {', '.join(shown['changed'])}" if shown["changed"] else ""


def _option(option: Mapping[str, Any]) -> str:
    default = str(option["default"]).lower() if isinstance(option["default"], bool) else f"{option['default']}"
    choices = f", of {', '.join(option['choices'])}" if option["choices"] else ""
    return f"{option['about']} (default {default}{choices})"


def _asked(shown: Mapping[str, Any]) -> Iterator[str]:
    """What a model is sent: for the first item of the sample, or the templates where there is no sample."""
    item = shown["first_item"]
    asked = item or {"system": shown["prompt"].get("system", ""), "prompt": shown["prompt"]["user"]}
    yield ""
    yield f"Asked of the first item of the packaged sample ({item['id']}):" if item else "Asked (there is no sample):"
    for part in ("system", "prompt", "target"):
        if asked.get(part):
            yield f"[{part}]"
            yield asked[part]
    for wording in shown["wordings"]:
        yield f"[prompt where {', '.join(f'{name} is {value}' for name, value in wording['when'].items())}]"
        yield wording["user"]


def _scored(shown: Mapping[str, Any]) -> Iterator[str]:
    answer = shown["answer"]
    yield ""
    yield f"Answer: {answer['kind']} ({answer['about']})"
    if "labels" in answer:
        labels = (f"{label} ({name})" if name else label for label, name in answer["labels"].items())
        yield f"Labels: {', '.join(labels)}"
        yield f"Reading: {answer['reading']['name']} ({answer['reading']['about']})"
    for mode, scorer in shown["scorers"].items():
        given = ", ".join(f"{name}: {_argument(value)}" for name, value in scorer["arguments"].items())
        read = f"; reads: {scorer['reading']}" if "reading" in scorer else ""
        yield f"Scorer, {mode}: {scorer['name']}{f' ({given})' if given else ''}: {scorer['about']}{read}"
    yield ""
    rows = [
        [metric["name"], ", ".join(modes), metric["needs"] or "", about]
        for metric in shown["metrics"]
        for about, modes in _by_meaning(metric["about"]).items()
    ]
    yield table(["metric", "modes", "needs", "meaning"], rows)
    yield f"\nThe headline is {shown['metrics'][0]['name']}."


def _argument(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def _by_meaning(about: Mapping[str, str]) -> dict[str, list[str]]:
    """The modes by what a metric means in them."""
    meanings: dict[str, list[str]] = {}
    for mode, meaning in about.items():
        meanings.setdefault(meaning, []).append(mode)
    return meanings
