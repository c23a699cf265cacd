"""A page for each task, from what `halu-tasks show` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from page import Page, Section, listing, literal, mentions, printed, sections, shown_tasks, table

from halu_tasks.builders.collect import paper_named
from halu_tasks.tasks.prompts import PARTS

Summary = Mapping[str, Any]
"""What `halu-tasks show` prints of a task, or of a part of it."""

FOLDER = "reference/tasks/"
DIRECTIONS = {True: "higher is better", False: "lower is better", None: "neither"}


def task_section() -> Section:
    """Make the pages of all tasks, by benchmark."""
    summaries = shown_tasks()
    groups: dict[str, list[Page]] = {}
    for about in summaries:
        groups.setdefault(about["source"]["title"], []).append(_page(about))
    rows = [
        [
            f"[`{one['task']}`]({one['task']}.md)",
            one["source"]["title"],
            _items(one),
            f"`{one['metrics'][0]['name']}`",
            one["about"],
        ]
        for one in summaries
    ]
    contents = "Every task with its prompt, metrics, options, data, version and published figures."
    text = sections(
        "This section has a page for every task, generated from its task file. [Tasks and metrics](../../tasks.md) "
        "has what is not obvious about them.",
        table(["task", "benchmark", "items", "headline", "question"], rows),
        _groups(),
    )
    return Section("Tasks", Page(f"{FOLDER}index.md", "All tasks", contents, text), groups)


def _groups() -> str:
    rows = [
        [f"`{group['name']}`", ", ".join(f"[`{name}`]({name}.md)" for name in group["tasks"])]
        for group in listing()["groups"]
    ]
    return f"## Groups\n\nRun a group by its name, like a task.\n\n{table(['group', 'tasks'], rows)}"


def _page(about: Summary) -> Page:
    text = sections(
        about["about"],
        _facts(about),
        _run(about),
        _prompt(about),
        _reading(about),
        _metrics(about),
        _options(about),
        _published(about),
        _citation(about["source"]["name"]),
        mentions(about["task"], 2),
    )
    return Page(f"{FOLDER}{about['task']}.md", about["task"], about["about"], text)


def _items(about: Summary) -> str:
    return f"{about['items']:,}" if about.get("items") else "unknown"


def _facts(about: Summary) -> str:
    source = about["source"]
    access = " (gated: accept its terms on the Hub and set a token)" if source["gated"] else ""
    rows = {
        "benchmark": f"[{source['title']}]({source['homepage']}){access}",
        "paper": source["paper"],
        "licence of the data": source["licence"],
        "revision of the data": f"`{source['revision']}`",
        "items": _items(about),
        "fields": ", ".join(f"`{name}`" for name in about["fields"]),
        "version of the task": str(about["version"]),
        "decoding": ", ".join(f"{name} {value}" for name, value in about["generation_kwargs"].items() if value != []),
        "worked examples": str(about.get("num_fewshot") or "none"),
    }
    return table(["property", "value"], rows.items())


def _run(about: Summary) -> str:
    commands = (
        f'lm_eval --model halu-baseline --tasks {about["task"]} --metadata \'{{"halu_data": "sample"}}\'\n'
        f"inspect eval halu_tasks/{about['task']} --model halu/baseline -T data=sample"
    )
    after = (
        "These commands run an embedded model on the packaged sample. For the published data, leave out the data "
        "option."
    )
    return sections("## Run it", literal(commands, "bash"), after)


def _prompt(about: Summary) -> str:
    item = about["first_item"]
    parts = ["## Prompt", "The prompt is rendered from these templates:"]
    parts += [f"`{name}`\n\n{literal(str(about[name]))}" for name in PARTS if name in about]
    for wording in about.get("wordings", ()):
        when = ", ".join(f"`{name}` is `{value}`" for name, value in wording["when"].items())
        parts += [f"If {when}:", *(literal(str(wording[name])) for name in PARTS if name in wording)]
    if item:
        parts.append("The first item of the packaged sample:")
        shown = {"system": item["system"], "user": item["prompt"], "correct answer": item["target"]}
        parts += [f"`{name}`\n\n{literal(str(text))}" for name, text in shown.items() if text]
    return sections(*parts)


def _reading(about: Summary) -> str:
    answer = about["answer"]
    parts = ["## How a reply is read", f"The kind of answer is `{answer['kind']}`."]
    if "labels" in answer:
        named = answer["labels"] if isinstance(answer["labels"], dict) else dict.fromkeys(answer["labels"], "")
        labels = (f"`{label}` ({name})" if name else f"`{label}`" for label, name in named.items())
        parts.append(f"Labels: {', '.join(labels)}. Reading: `{answer.get('reading', 'the labels themselves')}`.")
    scorer = about["scorer"]
    modes = scorer if isinstance(scorer, dict) and "strict" in scorer else {"strict, paper": scorer}
    parts.append(table(["mode", "scorer"], ([mode, _scorer(own)] for mode, own in modes.items())))
    return sections(*parts, "[Scorers](../metrics/scorers.md) explains the arguments.")


def _scorer(scorer: Any) -> str:
    if not isinstance(scorer, dict):
        return f"`{scorer}`"
    arguments = ", ".join(f"{name}={value}" for name, value in scorer.items() if name != "name")
    return f"`{scorer['name']}({arguments})`"


def _metrics(about: Summary) -> str:
    rows = [row for metric in about["metrics"] for row in _meanings(metric)]
    return sections(
        "## Metrics",
        f"The headline is `{about['metrics'][0]['name']}`.",
        table(["metric", "mode", "direction", "needs", "meaning"], rows),
    )


def _meanings(metric: Summary) -> list[list[str]]:
    modes: dict[str, list[str]] = {}
    for mode, meaning in metric["about"].items():
        modes.setdefault(meaning, []).append(mode)
    needs = f"`{metric['needs']}`" if metric["needs"] else ""
    direction = DIRECTIONS[metric["higher_is_better"]]
    return [[f"`{metric['name']}`", ", ".join(of), direction, needs, meaning] for meaning, of in modes.items()]


def _options(about: Summary) -> str:
    rows = [
        [
            f"`{name}`",
            f"`{option['default']}`",
            ", ".join(f"`{choice}`" for choice in option["choices"]),
            option["about"],
        ]
        for name, option in about["options"].items()
    ]
    intro = "In addition to the [options of every task](../options/index.md), this task has these:"
    return sections("## Options", intro, table(["option", "default", "choices", "meaning"], rows)) if rows else ""


def _published(about: Summary) -> str:
    figures = [figure for figure in _all_published() if figure["task"] == about["task"]]
    if not figures:
        return "## Published figures\n\nThe package has no published figures for this task."
    notes = list(dict.fromkeys(note for figure in figures for note in figure["note"].splitlines()))
    rows = []
    for one in figures:
        numbers = ", ".join(str(notes.index(note) + 1) for note in one["note"].splitlines())
        figure = (f"`{one['metric']}`", f"{one['value']:g}", one["scoring"])
        rows.append([one["model"], one["method"], *figure, one["source"], one["judge"] or "", numbers])
    head = ["model", "method", "metric", "figure", "comparable mode", "source", "judge", "notes"]
    return sections(
        "## Published figures",
        table(head, rows),
        "\n".join(f"{number}. {' '.join(note.split())}" for number, note in enumerate(notes, start=1)),
    )


@cache
def _all_published() -> list[dict[str, Any]]:
    return list(json.loads(printed("show", "--published", "--json"))["published"])


def _citation(source: str) -> str:
    entry = paper_named(source)["bibtex"]
    return sections("## Citation", f"```bibtex\n{entry}\n```") if entry else ""
