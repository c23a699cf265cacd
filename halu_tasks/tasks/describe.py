"""What a task and its data are, as JSON: what `halu-tasks show` and `halu-tasks data describe` print.

Statistics of data correspond to the tables of the papers: ReFACT, Appendix B; FactCHD, Table 2 and Figure 3;
HalluVerse25, Table 2 and Figure 3; C-FAITH, Table 4. They follow from the rows and from what task files declare. Rows
are read one at a time; of each, lengths are kept.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE, Located, find_beside
from halu_tasks.scorers.kinds import Label, Spans, Strings
from halu_tasks.scorers.registry import reading_named, scorer_factory
from halu_tasks.tasks.build import Evaluation, build
from halu_tasks.tasks.prompts import Wording
from halu_tasks.tasks.registry import registry, task_named, tasks_selected
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import load_object
from halu_tasks.text.folding import SPACELESS

Summary = dict[str, Any]
Lengths = defaultdict[str, defaultdict[str, list[int]]]
_SPACELESS = re.compile(f"[{SPACELESS}]")


# --- a task ---------------------------------------------------------------------------------------


def summary(task: Task) -> Summary:
    """Summarize a task as JSON: its data and prompts, how replies are read, its metrics and options."""
    source, item = task.data.source, first_item(task)
    usual, *others = task.prompts.wordings
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
        "prompt": _texts(usual),
        "wordings": [{"when": dict(wording.when), **_texts(wording)} for wording in others],
        "first_item": item and {"id": item.id, "target": item.target, "system": item.system, "prompt": item.prompt},
        "answer": _answer(task),
        "scorers": {mode: _scorer(task.file.values["scorer"][mode]) for mode in task.scoring},
        "metrics": _metrics(task),
        "options": {
            name: {"about": spec.about, "default": spec.default, "choices": list(spec.choices)}
            for name, spec in specs.items()
            if name in task.task_options
        },
        "decoding": task.decoding.as_json(),
        "worked_examples": task.prompts.shots,
    }


def first_item(task: Task) -> Item | None:
    """Return the first item of the packaged sample, or None if there is no sample."""
    path = SAMPLE / task.benchmark / task.data.file(Options())
    return next(build(task, Options(data="sample")).stream()) if path.is_file() else None


def _texts(wording: Wording) -> dict[str, str]:
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


# --- data ----------------------------------------------------------------------------------------


def tasks_of(name: str) -> list[Task]:
    """Return the tasks that a name stands for: a benchmark's, a group's, or the task itself.

    Raises:
        UsageError: The benchmark, group or task does not exist.
    """
    if name.endswith(".yaml"):
        return [task_named(name)]
    return [task for task in registry()[0].values() if task.benchmark == name] or tasks_selected([name])


def profiles(tasks: Iterable[Task], options: Options) -> Iterator[Summary]:
    """Describe the data that tasks read.

    Args:
        tasks: The tasks.
        options: Their options; a task ignores those that only others have.

    Raises:
        DataError: Data are missing, or a row is invalid.
    """
    readers: dict[str, list[Evaluation]] = {}
    for task in tasks:
        evaluation = build(task, options.for_tasks(task.task_options))
        readers.setdefault(str(evaluation.located), []).append(evaluation)
    seen: set[str] = set()
    for evaluations in readers.values():
        first = evaluations[0]
        items = [_items(each.task, each.stream(), published=_published(each)) for each in evaluations]
        yield _profile(first.task, first.located, items, training=False)
        # the training part is read by the same tasks, and the usual one of them describes it; nothing is downloaded
        data = first.task.data
        part = find_beside(data.source, data.training, first.options, fetch=False) if data.training else None
        if part and str(part) not in seen:
            seen.add(str(part))
            items = [_items(first.task, data.items(data.rows(part), first.options), published=None)]
            yield _profile(first.task, part, items, training=True)


def _profile(task: Task, data: Located, items: Sequence[Summary], *, training: bool) -> Summary:
    lengths: Lengths = defaultdict(lambda: defaultdict(list))
    rows = 0
    for row in task.data.rows(data):
        rows += 1
        for name, value in row.items():
            _measure(value, name, lengths)
    return {
        "source": task.benchmark,
        "data": data.name,
        "kind": data.kind,
        "sha256": data.sha256,
        "training": training,
        "rows": rows,
        "fields": [_field(name, of_field) for name, of_field in lengths.items()],
        "tasks": items,
    }


def _measure(value: Any, name: str, lengths: Lengths) -> None:
    """Add the lengths of the strings and lists of a value; `a.b` is a field of an object, `a[]` a list's element."""
    if isinstance(value, str):
        lengths[name]["characters"].append(len(value))
        # a text in a script without white space has no words
        if len(_SPACELESS.findall(value)) * 2 <= len(value):
            lengths[name]["words"].append(len(value.split()))
    elif isinstance(value, list):
        lengths[name]["entries"].append(len(value))
        for entry in value:
            _measure(entry, f"{name}[]", lengths)
    elif isinstance(value, dict):
        for key, part in value.items():
            _measure(part, f"{name}.{key}", lengths)


def _field(name: str, lengths: Mapping[str, list[int]]) -> Summary:
    texts, words, entries = (lengths[unit] for unit in ("characters", "words", "entries"))
    most_words = words if len(words) * 2 > len(texts) else []
    summaries = {"characters": _lengths(texts), "words": _lengths(most_words), "entries": _lengths(entries)}
    return {"name": name, "texts": len(texts), "lists": len(entries), **summaries}


def _lengths(lengths: Sequence[int]) -> Summary | None:
    """Summarize lengths; None if there are none."""
    if not lengths:
        return None
    mean, middle = fmean(lengths), float(median(lengths))
    return {"total": sum(lengths), "mean": mean, "median": middle, "minimum": min(lengths), "maximum": max(lengths)}


def _published(evaluation: Evaluation) -> int | None:
    """Return the number of published items, which is known for the default options."""
    task = evaluation.task
    return None if evaluation.options.changed().keys() & set(task.task_options) else task.data.size


def _items(task: Task, items: Iterable[Item], *, published: int | None) -> Summary:
    """Count the items of a task: by label, by value of each tag, and their gold spans or strings."""
    labels: Counter[str] = Counter()
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    clusters: set[str] = set()
    spans, number = list[int](), 0
    for item in items:
        number += 1
        clusters.add(item.cluster)
        for tag, value in item.tags.items():
            tags[tag][value] += 1
        if isinstance(task.answer, Label):
            labels[item.target] += 1
        elif isinstance(task.answer, Spans):
            spans.append(len(task.answer.gold_spans(item.gold).spans))
        elif isinstance(task.answer, Strings):
            spans.append(len(item.gold["originals"]))
    return {
        "task": task.name,
        "published": published,
        "items": number,
        "clusters": len(clusters),
        "labels": dict(labels.most_common()),
        "tags": {tag: dict(counted.most_common()) for tag, counted in tags.items()},
        "spans": _lengths(spans),
    }
