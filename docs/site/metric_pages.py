"""A page for each metric, from what the scorers declare."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from page import Page, Section, mentions, sections, table
from task_pages import DIRECTIONS

from halu_tasks.scorers.metrics import Metric
from halu_tasks.tasks import registry

FOLDER = "reference/metrics/"


class Use(NamedTuple):
    """A metric as a task reports it in a mode."""

    task: str
    mode: str
    metric: Metric
    headline: bool


def metric_section() -> Section:
    """Make the pages of all metrics. Those that differ only in a tag of the items, such as a type, share a page."""
    uses: dict[str, list[Use]] = {}
    for task in registry()[0].values():
        for mode, scorer in task.scoring.items():
            for metric in scorer.metrics:
                use = Use(task.name, mode, metric, metric.name == task.headline)
                uses.setdefault(_shared_name(metric), []).append(use)
    pages = [_page(name, uses[name]) for name in sorted(uses)]
    rows = [[f"[`{page.title}`]({page.title}.md)", page.about, _tasks(uses[page.title])] for page in pages]
    text = sections(
        "This section has a page for every metric, generated from the scorers' declarations. "
        "[Statistics](../../statistics.md) explains how intervals are computed, and "
        "[Tasks and metrics](../../tasks.md) what the modes `paper` and `strict` change.",
        table(["metric", "meaning", "tasks"], rows),
    )
    about = "Every metric with its meaning, direction and range, and the tasks that report it."
    return Section("Metrics", Page(f"{FOLDER}index.md", "All metrics", about, text), {"": pages})


def _shared_name(metric: Metric) -> str:
    return metric.name.removesuffix(f"_{metric.tag_filter[1]}") if metric.tag_filter else metric.name


def _tasks(uses: Iterable[Use]) -> str:
    names = dict.fromkeys(use.task for use in uses)
    return f"{len(names)} tasks" if len(names) > 3 else ", ".join(f"`{name}`" for name in names)


def _page(name: str, uses: list[Use]) -> Page:
    first = next((use.metric for use in uses if use.metric.name == name), uses[0].metric)
    by_type = list(dict.fromkeys(use.metric.name for use in uses if use.metric.name != name))
    low, high = first.range
    needs = sorted({use.metric.requires_option for use in uses if use.metric.requires_option})
    facts = {
        "direction": DIRECTIONS[first.higher_is_better],
        "range": f"{low:g} to {high:g}",
        "interval": "95%, clustered" if first.error.interval else "none",
        "computed only with the option": ", ".join(f"`{option}`" for option in needs),
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
    shown: dict[tuple[str, str], list[Use]] = {}
    for use in uses:
        if use.metric.name == name or not any(other.metric.name == name for other in uses):
            shown.setdefault((use.task, use.metric.about), []).append(use)
    return [
        [f"[`{task}`](../tasks/{task}.md)", ", ".join(use.mode for use in of), "yes" if of[0].headline else "", about]
        for (task, about), of in shown.items()
    ]
