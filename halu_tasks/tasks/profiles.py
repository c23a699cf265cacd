"""Statistics of data: rows, lengths and languages of a file, and the labels, types and spans of the tasks on it.

They correspond to the tables of the papers: ReFACT, Appendix B; FactCHD, Table 2 and Figure 3; HalluVerse25, Table 2
and Figure 3; C-FAITH, Table 4. Everything follows from the rows and from what task files declare: the kind of answer
and the tags of cases. Rows are read one at a time; of each, lengths are kept.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.hashing import stable_number
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.data.locate import Located, find_beside
from halu_tasks.scorers.kinds import Label, Spans, Strings
from halu_tasks.tasks.build import build
from halu_tasks.tasks.derived import task_named
from halu_tasks.tasks.registry import registry, sources
from halu_tasks.tasks.task import Task
from halu_tasks.text.folding import SPACELESS, language_of

_SAMPLED = 200
"""The number of rows whose language is identified."""
_SPACELESS = re.compile(f"[{SPACELESS}]")


# --- profiles -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LengthSummary:
    """A summary of lengths."""

    total: int
    mean: float
    median: float
    minimum: int
    maximum: int

    @classmethod
    def of(cls, lengths: Sequence[int]) -> LengthSummary | None:
        """Summarize lengths; None if there are none."""
        if not lengths:
            return None
        total = sum(lengths)
        return cls(total, total / len(lengths), float(median(lengths)), min(lengths), max(lengths))


@dataclass(frozen=True)
class FieldProfile:
    """The lengths of a field.

    Attributes:
        name: The field; `a.b` is a field of an object, `a[]` an element of a list.
        texts: The number of strings.
        lists: The number of lists.
        characters: The lengths of the strings in characters.
        words: Their lengths in words, which white space separates; None for scripts without it.
        entries: The lengths of the lists.
    """

    name: str
    texts: int
    lists: int
    characters: LengthSummary | None
    words: LengthSummary | None
    entries: LengthSummary | None


@dataclass(frozen=True, kw_only=True)
class TaskProfile:
    """The items of a task.

    Attributes:
        task: The task.
        published: The number of items of the published data, under the default options; None if it is not known.
        items: The number of items.
        clusters: The number of sources that items share.
        labels: The number of items by label; empty unless labels are asked for.
        tags: The number of items by value of each tag, such as `type` or `domain`.
        spans: The number of gold spans, or gold strings, of an item; None if the task asks for neither.
    """

    task: str
    published: int | None
    items: int
    clusters: int
    labels: Mapping[str, int]
    tags: Mapping[str, Mapping[str, int]]
    spans: LengthSummary | None


@dataclass(frozen=True, kw_only=True)
class DataProfile:
    """The rows of a file or dataset.

    Attributes:
        source: The name of the source.
        data: The name of the file or dataset.
        kind: How far it represents the benchmark, as in `Located`.
        sha256: Its checksum.
        training: Whether it is the training part, of which worked examples are made.
        rows: The number of rows.
        fields: The lengths of the fields.
        languages: The number of rows by language, of those whose language was identified.
        tasks: The tasks that read it.
    """

    source: str
    data: str
    kind: str
    sha256: str
    training: bool
    rows: int
    fields: tuple[FieldProfile, ...]
    languages: Mapping[str, int]
    tasks: tuple[TaskProfile, ...]

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON."""
        return asdict(self)


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


def profiles(tasks: Iterable[Task], options: Options) -> Iterator[DataProfile]:
    """Describe the data that tasks read.

    Args:
        tasks: The tasks.
        options: Their options; a task ignores those that only others have.

    Raises:
        DataError: Data are missing, or a row is invalid.
    """
    by_data: dict[str, list[tuple[Task, Options]]] = {}
    located: dict[str, Located] = {}
    for task in tasks:
        own = options.for_tasks(task.task_options)
        data = build(task, own).located
        by_data.setdefault(str(data), []).append((task, own))
        located[str(data)] = data
    seen: set[str] = set()
    for key, readers in by_data.items():
        yield _profile(located[key], readers)
        # the training part is read by the same tasks, and the usual one of them describes it
        task, own = readers[0]
        training = _training(task, own)
        if training and str(training) not in seen:
            seen.add(str(training))
            yield _profile(training, [(task, own)], training=True)


def _training(task: Task, options: Options) -> Located | None:
    """Return a task's training part if it is there; nothing is downloaded."""
    reader = task.data
    if not reader.training:
        return None
    return find_beside(reader.source, reader.training, options, fetch=False)


def _profile(data: Located, readers: Sequence[tuple[Task, Options]], *, training: bool = False) -> DataProfile:
    task, _ = readers[0]
    fields: dict[str, _Values] = {}
    rows, sample = 0, list[tuple[int, int, str]]()
    for row in task.data.rows(data):
        rows += 1
        for name, value in row.items():
            _count(value, name, fields)
        # a sample by a hash of the number, which the order of tasks and earlier rows do not affect
        rank = -stable_number("language", rows)
        if len(sample) < _SAMPLED:
            heapq.heappush(sample, (rank, rows, _prose(row)))
        elif rank > sample[0][0]:
            heapq.heapreplace(sample, (rank, rows, _prose(row)))
    return DataProfile(
        source=task.benchmark,
        data=data.name,
        kind=data.kind,
        sha256=data.sha256,
        training=training,
        rows=rows,
        fields=tuple(values.profile(name) for name, values in fields.items()),
        languages=dict(Counter(language_of(text) for _, _, text in sample if text).most_common()),
        tasks=tuple(
            _task_profile(task, task.data.items(task.data.rows(data), own), published=None)
            if training
            else _task_profile(task, build(task, own).stream(), published=_published(task, own))
            for task, own in readers
        ),
    )


@dataclass
class _Values:
    """The lengths of a field's strings and lists, and how many of the strings are in a script without spaces."""

    characters: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    spaceless: int = 0

    def profile(self, name: str) -> FieldProfile:
        characters, words, entries = map(LengthSummary.of, (self.characters, self.words, self.entries))
        texts = len(self.characters)
        without_words = self.spaceless * 2 > texts
        return FieldProfile(name, texts, len(self.entries), characters, None if without_words else words, entries)


def _count(value: Any, name: str, fields: dict[str, _Values]) -> None:
    """Count the strings and lists of a value at any depth."""
    if isinstance(value, str):
        values = fields.setdefault(name, _Values())
        values.characters.append(len(value))
        values.words.append(len(value.split()))
        values.spaceless += len(value) > 0 and len(_SPACELESS.findall(value)) * 2 > len(value)
    elif isinstance(value, list):
        fields.setdefault(name, _Values()).entries.append(len(value))
        for entry in value:
            _count(entry, f"{name}[]", fields)
    elif isinstance(value, dict):
        for key, part in value.items():
            _count(part, f"{name}.{key}", fields)


def _published(task: Task, options: Options) -> int | None:
    """Return the number of published items, which is known for the default options."""
    return None if options.changed().keys() & set(task.task_options) else task.data.size


def _task_profile(task: Task, items: Iterable[Item], *, published: int | None) -> TaskProfile:
    labels: Counter[str] = Counter()
    tags: dict[str, Counter[str]] = {}
    clusters: set[str] = set()
    spans, number = list[int](), 0
    for item in items:
        number += 1
        clusters.add(item.cluster)
        for tag, value in item.tags.items():
            tags.setdefault(tag, Counter())[value] += 1
        if isinstance(task.answer, Label):
            labels[item.target] += 1
        elif isinstance(task.answer, Spans):
            spans.append(len(task.answer.gold_spans(item.gold).spans))
        elif isinstance(task.answer, Strings):
            spans.append(len(item.gold["originals"]))
    return TaskProfile(
        task=task.name,
        published=published,
        items=number,
        clusters=len(clusters),
        labels=dict(labels.most_common()),
        tags={tag: dict(counted.most_common()) for tag, counted in tags.items()},
        spans=LengthSummary.of(spans),
    )


def _prose(value: Any) -> str:
    """Return the strings of a value, at any depth, that are sentences and not ids or labels."""
    if isinstance(value, str):
        return value if len(value.split()) > 3 or len(_SPACELESS.findall(value)) > 6 else ""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "\n".join(filter(None, map(_prose, parts)))
