"""What a task and its data are, as JSON: what `halu-tasks show` and `halu-tasks data describe` print.

Numbers of items correspond to the tables of the papers: ReFACT, section 3.3; FactCHD, Table 2 and Figure 3;
HalluVerse25, Table 2 and Figure 3; C-FAITH, Table 4.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.locate import LocatedData, find_beside
from halu_tasks.data.sources import OwnSource
from halu_tasks.scorers.gold import SpanGold, StringsGold
from halu_tasks.scorers.kinds import Label
from halu_tasks.tasks.definition import Task
from halu_tasks.tasks.evaluation import build
from halu_tasks.tasks.task_registry import registry, tasks_at

Summary = dict[str, Any]
_OF_SOURCE = ("name", "title", "paper", "homepage", "licence", "revision", "gated")


# --- a task ---------------------------------------------------------------------------------------


def summary(task: Task) -> Summary:
    """Summarize a task as JSON: what its file declares, and the version, source, metrics and options that follow."""
    source = task.data.source
    options = Options(data=None if isinstance(source, OwnSource) else "sample")
    has_rows = options.data is None or task.data.in_sample(options)
    item = build(task, options).shuffled_items[0] if has_rows else None
    return {
        "task": task.name,
        "version": task.version,
        "path": str(task.file.path),
        "changed": list(task.changed_keys),
        **json.loads(json.dumps(task.values, default=str)),
        "source": {name: getattr(source, name) for name in _OF_SOURCE},
        "metrics": _metrics(task),
        "options": {
            name: {"about": spec.about, "default": spec.default, "choices": list(spec.choices)}
            for name, spec in Options.task_specific().items()
            if name in task.prompts.task_options
        },
        "first_item": item and {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt},
    }


def _metrics(task: Task) -> list[Summary]:
    """Summarize every metric once, with what it means in each mode."""
    metrics: dict[str, Summary] = {}
    for mode, scorer in task.scorers.items():
        for metric in scorer.metrics:
            summed = metrics.setdefault(metric.name, {"name": metric.name, "about": {}})
            summed["about"][mode] = metric.about
            summed |= {"needs": metric.requires_option, "higher_is_better": metric.higher_is_better}
    return list(metrics.values())


# --- data ----------------------------------------------------------------------------------------


def tasks_of(name: str) -> list[Task]:
    """Return the tasks that a name stands for: a benchmark's, a group's or a folder's, or the task itself.

    Raises:
        UsageError: The benchmark, group, file or task does not exist.
    """
    named = [task for task in registry()[0].values() if task.benchmark == name]
    return named or [task for task, _ in tasks_at([name]).values()]


def profiles(tasks: Iterable[Task], options: Options) -> Iterator[Summary]:
    """Count what is in the data of tasks, and in the training parts that are there.

    Args:
        tasks: The tasks.
        options: Their options; a task ignores those that only others have.

    Raises:
        DataError: Data are missing, or a row is invalid.
    """
    training: dict[str, Summary] = {}
    for task in tasks:
        task_options, data = options.restricted_to(task.prompts.task_options), task.data
        evaluation = build(task, task_options)
        # the published number is for the default options
        published = None if task_options.changed().keys() & set(task.prompts.task_options) else data.size
        yield {**_counts(task, evaluation.located, evaluation.stream()), "published": published}
        # tasks of a benchmark share the training part; nothing is downloaded
        part = find_beside(data.source, data.training, task_options, fetch=False) if data.training else None
        if part and str(part) not in training:
            training[str(part)] = _counts(task, part, task.items(part, task_options))
    yield from ({**counts, "training": True} for counts in training.values())


def _counts(task: Task, located: LocatedData, items: Iterable[Item]) -> Summary:
    labels: Counter[str] = Counter()
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    clusters: set[str] = set()
    number = parts = 0
    for item in items:
        number += 1
        clusters.add(item.cluster)
        for tag, value in item.tags.items():
            tags[tag][value] += 1
        if isinstance(task.scoring.answer, Label):
            labels[item.target] += 1
        else:
            parts += len(item.gold.spans) if isinstance(item.gold, SpanGold) else 0
            parts += len(item.gold.originals) if isinstance(item.gold, StringsGold) else 0
    return {
        "task": task.name,
        "source": task.benchmark,
        "data": located.name,
        "kind": located.kind,
        "sha256": located.sha256,
        "items": number,
        "clusters": len(clusters),
        "labels": dict(labels.most_common()),
        "tags": {tag: dict(counts.most_common()) for tag, counts in tags.items()},
        "spans": parts,
    }
