"""A page for each metric, from what `halu-tasks show` prints of the tasks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from page import Page, Section, listed, mentions, sections, shown_tasks, table
from task_pages import DIRECTIONS

from halu_tasks.scorers.registry import SCORERS, make_scorer, scorer_factory

FOLDER = "reference/metrics/"
# what scorers need, most of it given by an answer
_ANSWER: dict[str, Any] = {"reading": "true_false", "labels": {"True": "true", "False": "false"}, "returns": "passages"}
_OF: dict[str, dict[str, Any]] = {
    "iou": {"categories": {"name": "name"}, "degrees": True},
    "judged": {"labels": {"right": "good", "wrong": "bad"}},
    "judged_claims": {"labels": {"right": "good", "wrong": "bad"}},
}


class Use(NamedTuple):
    """A metric as a task reports it."""

    task: str
    metric: Mapping[str, Any]
    headline: bool

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.metric["name"])

    @property
    def about(self) -> str:
        """What it is, in the mode that is the default."""
        return str(next(iter(self.metric["about"].values())))


def metric_section() -> Section:
    """Make the pages of all metrics. Those that differ only in a tag of the items, such as a type, share a page."""
    uses: dict[str, list[Use]] = {}
    for task in shown_tasks():
        of_task = [Use(task["task"], metric, metric is task["metrics"][0]) for metric in task["metrics"]]
        for use in of_task:
            uses.setdefault(_shared_name(use, of_task), []).append(use)
    pages = [_page(name, uses[name]) for name in sorted(uses)]
    rows = [[f"[`{page.title}`]({page.title}.md)", page.about, _tasks(uses[page.title])] for page in pages]
    text = sections(
        "This section has a page for every metric, generated from the scorers' declarations. "
        "[Statistics](../../statistics.md) explains how intervals are computed, and "
        "[Options](../../options.md#strict-and-paper) what the modes `paper` and `strict` change.",
        listed([scorers := _scorers()], FOLDER),
        table(["metric", "meaning", "tasks"], rows),
    )
    about = "Every metric with its meaning and direction, and the tasks that report it."
    return Section("Metrics", Page(f"{FOLDER}index.md", "All metrics", about, text), {"": [scorers, *pages]})


def _scorers() -> Page:
    """Make the page of what a task file can name as its scorer."""
    parts = [part for name in SCORERS for part in _scorer(name)]
    intro = (
        "A [task file](../../task-files.md) names a scorer in `scorer`, with arguments, and its metrics in "
        "`metric_list`. `reading` and `labels` are those of `answer` unless they are given; the metrics of labels are "
        "shown here for the labels True and False."
    )
    return Page(
        f"{FOLDER}scorers.md", "Scorers", "Every scorer, its arguments and its metrics.", sections(intro, *parts)
    )


def _scorer(name: str) -> Iterator[str]:
    factory = scorer_factory(name)
    about, _, rest = (inspect.getdoc(factory) or "").partition("\n\n")
    told = dict(re.findall(r"(?m)^    (\w+): (.*(?:\n        .*)*)", rest))
    parameters = inspect.signature(factory).parameters
    rows = [
        [f"`{each}`", "" if default.default is inspect.Parameter.empty else f"`{default.default}`", told[each]]
        for each, default in parameters.items()
    ]
    metrics = make_scorer(name, {}, _ANSWER | _OF.get(name, {})).metrics
    yield from (f"## {name}", " ".join(about.split()), table(["argument", "default", "meaning"], rows))
    yield table(
        ["metric", "meaning", "direction"],
        [[f"`{each.name}`", each.about, DIRECTIONS[each.higher_is_better]] for each in metrics],
    )


def _shared_name(use: Use, others: Iterable[Use]) -> str:
    """Return the name of the metric that this one splits by a tag, whose meaning it has with the tag in parentheses."""
    names = (other.name for other in others if use.about.startswith(f"{other.about} ("))
    return max((name for name in names if use.name.startswith(f"{name}_")), key=len, default=use.name)


def _tasks(uses: Iterable[Use]) -> str:
    names = dict.fromkeys(use.task for use in uses)
    return f"{len(names)} tasks" if len(names) > 3 else ", ".join(f"`{name}`" for name in names)


def _page(name: str, uses: list[Use]) -> Page:
    first = next((use for use in uses if use.name == name), uses[0])
    by_type = list(dict.fromkeys(use.name for use in uses if use.name != name))
    needs = sorted({use.metric["needs"] for use in uses if use.name == first.name and use.metric["needs"]})
    facts = {
        "direction": DIRECTIONS[first.metric["higher_is_better"]],
        "computed only with": ", ".join(f"`{option}`" for option in needs),
        "also by type": ", ".join(f"`{other}`" for other in by_type),
    }
    text = sections(
        first.about[:1].upper() + first.about[1:] + ".",
        table(["property", "value"], ([key, value] for key, value in facts.items() if value)),
        "## Reported by",
        table(["task", "mode", "headline", "meaning"], _meanings(name, uses)),
        mentions(name, 2),
    )
    return Page(f"{FOLDER}{name}.md", name, first.about, text)


def _meanings(name: str, uses: list[Use]) -> list[list[str]]:
    rows = []
    for use in uses:
        if use.name == name or not any(other.name == name for other in uses):
            modes: dict[str, list[str]] = {}
            for mode, about in use.metric["about"].items():
                modes.setdefault(about, []).append(mode)
            headline = "yes" if use.headline else ""
            link = f"[`{use.task}`](../tasks/{use.task}.md)"
            rows += [[link, ", ".join(of), headline, about] for about, of in modes.items()]
    return rows
