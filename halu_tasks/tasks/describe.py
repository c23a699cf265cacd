"""What a task and its data are, as JSON: what `halu-tasks show` and `halu-tasks data describe` print.

Statistics of data correspond to the tables of the papers: ReFACT, Appendix B; FactCHD, Table 2 and Figure 3;
HalluVerse25, Table 2 and Figure 3; C-FAITH, Table 4. They follow from the rows and from what task files declare. Rows
are read one at a time; of each, lengths are kept.
"""

from __future__ import annotations

import heapq
import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.hashing import stable_number
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.locate import SAMPLE, Located, find_beside
from halu_tasks.data.rows import Row
from halu_tasks.scorers.kinds import Label, Spans, Strings
from halu_tasks.scorers.registry import reading_named, scorer_factory
from halu_tasks.tasks.build import build
from halu_tasks.tasks.prompts import Wording
from halu_tasks.tasks.registry import registry, sources, task_named
from halu_tasks.tasks.task import Task
from halu_tasks.tasks.yaml_files import load_object
from halu_tasks.text.folding import SPACELESS, language_of

Summary = dict[str, Any]
Lengths = defaultdict[str, defaultdict[str, list[int]]]
_SAMPLED = 200
"""The number of rows whose language is identified."""
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
    tasks, groups = registry()
    if members := [task for task in tasks.values() if task.benchmark == name]:
        return members
    if name in groups:
        return list(groups[name].tasks)
    if name in tasks or name.endswith((".yaml", ".yml")):
        return [task_named(name)]
    known = (*sources(), *groups, *tasks)
    raise UsageError(f"no benchmark, group, task or build folder {name!r}{did_you_mean(name, known)}")


def profiles(tasks: Iterable[Task], options: Options) -> Iterator[Summary]:
    """Describe the data that tasks read.

    Args:
        tasks: The tasks.
        options: Their options; a task ignores those that only others have.

    Raises:
        DataError: Data are missing, or a row is invalid.
    """
    readers: dict[str, list[tuple[Task, Options]]] = {}
    located: dict[str, Located] = {}
    for task in tasks:
        own = options.for_tasks(task.task_options)
        data = build(task, own).located
        readers.setdefault(str(data), []).append((task, own))
        located[str(data)] = data
    seen: set[str] = set()
    for key, of_data in readers.items():
        yield _profile(located[key], of_data)
        # the training part is read by the same tasks, and the usual one of them describes it; nothing is downloaded
        task, own = of_data[0]
        part = task.data.training
        training = find_beside(task.data.source, part, own, fetch=False) if part else None
        if training and str(training) not in seen:
            seen.add(str(training))
            yield _profile(training, [(task, own)], training=True)


def _profile(data: Located, readers: Sequence[tuple[Task, Options]], *, training: bool = False) -> Summary:
    task, _ = readers[0]
    lengths: Lengths = defaultdict(lambda: defaultdict(list))
    rows = 0

    def ranked() -> Iterator[tuple[int, int, Row]]:
        nonlocal rows
        for rows, row in enumerate(task.data.rows(data), 1):
            for name, value in row.items():
                _measure(value, name, lengths)
            # a sample by a hash of the number, which the order of tasks and earlier rows do not affect
            yield stable_number("language", rows), rows, row

    texts = [_prose(row) for _, _, row in heapq.nsmallest(_SAMPLED, ranked())]
    return {
        "source": task.benchmark,
        "data": data.name,
        "kind": data.kind,
        "sha256": data.sha256,
        "training": training,
        "rows": rows,
        "fields": [_field(name, of_field) for name, of_field in lengths.items()],
        "languages": dict(Counter(language_of(text) for text in texts if text).most_common()),
        "tasks": [
            _items(task, task.data.items(task.data.rows(data), own), published=None)
            if training
            else _items(task, build(task, own).stream(), published=_published(task, own))
            for task, own in readers
        ],
    }


def _measure(value: Any, name: str, lengths: Lengths) -> None:
    """Add the lengths of the strings and lists of a value; `a.b` is a field of an object, `a[]` a list's element."""
    if isinstance(value, str):
        lengths[name]["characters"].append(len(value))
        lengths[name]["words"].append(len(value.split()))
        lengths[name]["spaceless"].append(len(value) > 0 and len(_SPACELESS.findall(value)) * 2 > len(value))
    elif isinstance(value, list):
        lengths[name]["entries"].append(len(value))
        for entry in value:
            _measure(entry, f"{name}[]", lengths)
    elif isinstance(value, dict):
        for key, part in value.items():
            _measure(part, f"{name}.{key}", lengths)


def _field(name: str, lengths: Mapping[str, list[int]]) -> Summary:
    texts = lengths.get("characters", [])
    # a script without white space has no words
    words = [] if sum(lengths.get("spaceless", ())) * 2 > len(texts) else lengths.get("words", [])
    entries = lengths.get("entries", [])
    summaries = {"characters": _lengths(texts), "words": _lengths(words), "entries": _lengths(entries)}
    return {"name": name, "texts": len(texts), "lists": len(entries), **summaries}


def _lengths(lengths: Sequence[int]) -> Summary | None:
    """Summarize lengths; None if there are none."""
    if not lengths:
        return None
    mean, middle = fmean(lengths), float(median(lengths))
    return {"total": sum(lengths), "mean": mean, "median": middle, "minimum": min(lengths), "maximum": max(lengths)}


def _published(task: Task, options: Options) -> int | None:
    """Return the number of published items, which is known for the default options."""
    return None if options.changed().keys() & set(task.task_options) else task.data.size


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
            spans.append(len(item.gold["spans"]))
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


def _prose(value: Any) -> str:
    """Return the strings of a value, at any depth, that are sentences and not ids or labels."""
    if isinstance(value, str):
        return value if len(value.split()) > 3 or len(_SPACELESS.findall(value)) > 6 else ""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "\n".join(filter(None, map(_prose, parts)))
