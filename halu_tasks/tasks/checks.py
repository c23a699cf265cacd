"""Checks of task files: of what they declare, and of items, with the full-score replies to them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import fill, render
from halu_tasks.data.sources import OwnSource
from halu_tasks.scorers.gold import SpanGold
from halu_tasks.scorers.kinds import JudgedText, Spans, Strings
from halu_tasks.scorers.metrics import Metric, estimates
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks.definition import Task
from halu_tasks.tasks.evaluation import build
from halu_tasks.tasks.keys import GroupKeys, validated
from halu_tasks.tasks.prompts import PARTS
from halu_tasks.tasks.task_registry import Group, check_tags, registry, task_of
from halu_tasks.tasks.yaml_files import TaskFile, read_task_file
from halu_tasks.text.marks import CATEGORIES

CLASS = "!function halu_tasks.lm_eval_adapter.task.HaluTask"
"""The class of all task files."""
_LACKED = re.compile(r"((?:field|tag) .+? is )('.*')(?=, which .* lacks)")


def faults_of(paths: Iterable[Path], data: str | None = None) -> list[str]:
    """Check task files and group files. Members of a group may be defined in the other files.

    Args:
        paths: The files.
        data: Data, all faults of whose rows and items are named; by default, the first of those that `check` knows.

    Returns:
        A line for each fault: the file, the line, the key and what is wrong.
    """
    faults: list[str] = []
    tasks: dict[str, Task] = {}
    groups: dict[str, TaskFile] = {}

    @contextmanager
    def noting(path: Path) -> Iterator[None]:
        try:
            yield
        except UsageError as error:
            faults.append(str(error))
        except Exception as error:  # whatever the functions of a file raise is its fault
            faults.append(f"{path}: cannot be used ({' '.join(f'{type(error).__name__}: {error}'.split())})")

    for path in paths:
        with noting(path):
            file = read_task_file(path)
            key, definitions = ("group", groups) if "group" in file.values else ("task", tasks)
            if (name := str(file.values.get(key))) in definitions:
                raise file.fault(key, f"{name!r} is also the name in another of the files")
            if key == "group":
                groups[name] = file
            else:
                tasks[name] = task = task_of(file)
                if "class" not in file.values:
                    raise file.fault("class", f"is missing, without which lm-eval does not run it; add class: {CLASS}")
                item_faults = faults_of_items(task, file, data)
                faults += map(str, item_faults if data else islice(item_faults, 1))
    packaged_tasks, packaged_groups = registry()
    for file in groups.values():
        with noting(file.path):
            check_tags(file, {*packaged_tasks, *packaged_groups})
            definitions = {name: group.file for name, group in packaged_groups.items()} | groups
            validated(GroupKeys, file, file.values)
            Group(file, packaged_tasks | tasks, definitions).check()
    return faults


def faults_of_items(task: Task, file: TaskFile, data: str | None = None) -> Iterator[UsageError]:
    """Make items of all rows and check them: they are what the file declares, and their full-score replies have it.

    Args:
        task: The task.
        file: Its file.
        data: The data; by default, the rows next to the task file, or the packaged sample if the source has one.

    Yields:
        The faults, each with the file, the key and the item; of an item, the first.

    Raises:
        UsageError: The rows cannot be read, or no items be made of them.
    """
    is_own, of = isinstance(task.data.source, OwnSource), "the data" if data else "the rows"
    if not is_own and data is None:
        data, of = "sample", "the sample"
        if not task.data.in_sample(Options()):
            return
    options, refused = Options(data=data), list[DataError]()
    with _naming(file, "file"):
        located = task.data.locate(options)
    with _naming(file, "examples"):
        shots = task.prompts.shots or int(task.data.examples is not None) if is_own else 0
        evaluation = build(task, replace(options, fewshot=shots))
    try:
        items = list(task.items(located, options, refused.append))
    except HaluTasksError as error:
        raise file.fault("rows", error) from None
    except Exception as error:  # whatever the function raises is a fault of the file that names it
        raise file.fault("cases", f"fails on {of} ({type(error).__name__}: {error})") from None
    yield from (file.fault("rows", error) for error in (refused if data else _first_of(refused)))
    if not items:
        raise file.fault("cases", f"makes no items of {of}")
    if not all(isinstance(item, Item) for item in items):
        raise file.fault("cases", "returns something other than items (halu_tasks.core.items.Item)")
    ids, scores, tags = set[str](), list[ScoredReply](), task.scoring.tags
    for item in items:
        if item.id in ids:
            yield file.fault("rows", evaluation.repeated_id(item.id))
        ids.add(item.id)
        try:
            scores.append(_oracle_score(task, file, item, of))
        except UsageError as error:
            yield error
    item_tags = {tag for item in items for tag in item.tags}
    for tag in tags:
        if tag not in item_tags:
            yield file.fault("tags", f"no item of {of} has the tag {tag!r}; they have {', '.join(sorted(item_tags))}")
    if isinstance(answer := task.scoring.answer, Spans) and answer.categories:
        named = [name for item in items for name in item.gold.categories or ()]
        if named and not any(named):
            reason = f"categories: no span of {of} has one; a record has it under {', '.join(CATEGORIES)}"
            yield file.fault("answer", reason)
    yield from (file.fault("metric_list", reason) for reason in _metric_faults(task, scores, of))


def _first_of(refused: Sequence[DataError]) -> Iterator[str]:
    """Yield the first error of rows; if it names a value that is not listed, with all such values."""
    reasons = [(str(error), _LACKED.search(str(error))) for error in refused]
    for first, named in reasons[:1]:
        values = dict.fromkeys(other[2] for _, other in reasons if named and other and other[1] == named[1])
        yield first.replace(named[2], ", ".join(values), 1) if named else first


def _oracle_score(task: Task, file: TaskFile, item: Item, of: str) -> ScoredReply:
    """Check an item, and score the reply that should earn the full score."""
    of = f"item {item.id!r} of {of}"
    if missing := [name for name in task.prompts.fields if name not in item.fields]:
        raise file.fault("fields", f"{of} lacks the field {missing[0]!r}; it has {', '.join(item.fields)}")
    with _naming(file, "answer", f"{of}: "):
        task.scoring.answer.check(item)
        if isinstance(task.scoring.answer, Spans | Strings):
            _check_quoted(item)
    for tag, values in task.scoring.tags.items():
        if tag in item.tags and item.tags[tag] not in values:
            raise file.fault("tags", f"{tag}: {of} has {item.tags[tag]!r}, which is not listed")
    prompt = task.prompts.wording(Options()).prompt
    for key, part in PARTS.items():
        with _naming(file, key):
            fill(prompt.get(part, ""), item.fields)
    with _naming(file, "baseline"):
        task.prompts.baseline(item)
    with _naming(file, "doc_to_target"):
        score = task.score("strict", item, Reply(task.prompts.oracle(render(item, prompt))))
    headline = task.headline_metric("strict")
    value = None if task.judge_spec or headline.item is None else headline.item(score)
    if value is not None and math.isnan(value):
        raise file.fault("metric_list", f"{headline.name} has no value for the full-score reply to {of}")
    if value is not None and not _is_full(headline, value):
        reason = f"the reply for {of} scores {headline.name} {value:g} instead of {_full(headline):g}"
        raise file.fault("doc_to_target", reason)
    return score


def _check_quoted(item: Item) -> None:
    """Check that replies can quote the gold of an item.

    Raises:
        ValueError: A string of it is empty, or has white space at its ends, which is taken off replies.
    """
    if isinstance(item.gold, SpanGold):
        strings = [item.gold.text[start:end] for start, end in item.gold.spans]
    else:
        strings = [*item.gold.originals]
    for string in strings:
        if not string.strip() or string != string.strip():
            raise ValueError(f"gold {string!r} is empty or has white space at its ends, so no reply can quote it")


def _metric_faults(task: Task, scores: Sequence[ScoredReply], of: str) -> Iterator[str]:
    """Name metrics without the full value for the full-score replies to all items, unless a judge is needed."""
    metrics = {metric.name: metric for metric in task.scorers["strict"].metrics if not metric.requires_option}
    values = {} if task.judge_spec else estimates(metrics.values(), scores)
    listed = [entry.name for entry in task.scoring.metric_list if entry.name in metrics if values]
    yield from (f"{name} has no value for the full-score replies to {of}" for name in listed if name not in values)
    headline = task.headline_metric("strict")
    if headline.name in values and not headline.item and not _is_full(headline, values[headline.name].value):
        value = values[headline.name].value
        yield f"{headline.name} of the full-score replies to {of} is {value:g} instead of {_full(headline):g}"
    lacks_acc = all(metric.name != "acc" for metric in task.scorers["strict"].metrics)
    if lacks_acc and not isinstance(task.scoring.answer, Spans | Strings | JudgedText):
        yield "lacks acc, which all other tasks with labels have; list it, too"


def _full(metric: Metric) -> float:
    return metric.range[metric.higher_is_better is not False]


def _is_full(metric: Metric, value: float) -> bool:
    return math.isinf(_full(metric)) or value == _full(metric)


@contextmanager
def _naming(file: TaskFile, key: str, about: str = "") -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise file.fault(key, f"{about}{error}") from None
