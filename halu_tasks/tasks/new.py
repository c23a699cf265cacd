"""Draft a task file from the first rows of a user's file, and say what was guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.core.errors import DataError
from halu_tasks.data.rows import Row, read_json
from halu_tasks.data.sources import OwnSource
from halu_tasks.tasks.checks import CLASS
from halu_tasks.tasks.data import TaskData

_ROWS = 200
"""The number of rows that are looked at."""
_MOST_LABELS, _LONGEST_LABEL = 8, 40
_ID = re.compile(r"(^|\W|_)id$", re.I)
_LABEL = re.compile(r"label|gold|target|verdict|class|category|judge?ment|error|type|correct|support|halluc", re.I)
_REFERENCE = re.compile(r"reference|correct|gold|target|ideal|answer", re.I)
_QUESTIONS = {
    "label": "Which label is right? Answer with one of these and nothing else: {labels}",
    "spans": "Which passages of the text are wrong? Copy each as it stands there, one on each line, or write None.",
    "judged_text": "Answer the question.",
}
_JUDGE = """\
judge:
  labels: {{correct: good, partly correct: bad, wrong: bad}}
  prompt: |-
    Is the reply correct?
    {fields}
    Reply: {{{{reply}}}}
"""


def draft(name: str, file: Path, shown: str) -> tuple[str, str]:
    """Return a task file for rows, and what was guessed in it, as a clause.

    Args:
        name: The name of the task.
        file: The file with the rows.
        shown: Its path as the task file names it.

    Raises:
        DataError: The file cannot be read, or its rows have no texts.
    """
    records, rows = _first_rows(file)
    leaves = [dict(_leaves(row)) for row in rows]
    columns = {path: [row.get(path) for row in leaves] for path in leaves[0]}
    different = {path: sorted({*map(str, values)}) for path, values in columns.items()}
    id = next((path for path in columns if _ID.search(path) and len(different[path]) == len(rows)), None)
    marked = [path for path, values in columns.items() if any(map(_has_offsets, values))]
    spans, people = next(iter(marked), None), {path.rpartition(".")[0] for path in marked}
    by_people = len(marked) > 1 and len(people) == 1 and "" not in people
    given = "annotators" if by_people else "spans"
    few = [
        path
        for path, values in columns.items()
        if path != id and 2 <= len(different[path]) <= min(_MOST_LABELS, len(rows) // 2)
        if len(max(different[path], key=len)) <= _LONGEST_LABEL and all(isinstance(v, str | int) for v in values)
    ]
    # prefer a field whose name suggests a label, else the last
    likely = [path for path in few if _LABEL.search(path)] or [path for path in few if "." not in path]
    label = likely[-1] if likely and not spans else None
    texts = [
        path
        for path, values in columns.items()
        if path != id and all(isinstance(v, str) and "://" not in v[:9] for v in values)
    ]
    long = [
        path
        for path in texts
        if len(max(different[path], key=len)) > _LONGEST_LABEL
        or (path not in few and all(" " in text.strip() for text in different[path]))
    ]
    gold = next((path for path in long[1:] if _REFERENCE.search(path)), None) if not (label or spans) else label
    named = {re.sub(r"\W+", "_", path): path for path in long if path != gold}
    if not named:
        raise DataError(f"{file}: none of the first {len(rows)} rows has a field with a text to ask about")
    kind = "spans" if spans else "label" if label else "judged_text"
    labels = different[label] if label else None
    shared = next((path for path in long if len(different[path]) < len(rows)), None)
    text = [*named][-1] if spans and "text" not in named else None
    names = {value: str(value) for value in columns[label] if isinstance(value, bool)} if label else None
    fields = [f"{field.replace('_', ' ').capitalize()}: {{{{{field}}}}}" for field in named]
    keys = {
        "file": shown,
        "rows": {"records": records, "id": id if id != "id" else None, "cluster": shared},
        "fields": list(named) if [*named] == [*named.values()] else named,
        "answer": {"kind": kind, "labels": labels},
        "gold": {"target": gold, "labels": names or None, "text": text, given: people.pop() if by_people else spans},
    }
    head = f"# Drafted by halu-tasks new; edit the prompt.\nclass: {CLASS}\ntask: {name}"
    asked = "\n  ".join([_QUESTIONS[kind].format(labels=", ".join(labels or ())), *fields, "Answer:"])
    lines = [head, *filter(None, map(_line, keys, keys.values())), f"doc_to_text: |-\n  {asked}"]
    judge = _JUDGE.format(fields="\n    ".join(fields)) if kind == "judged_text" else ""
    why = f"{label!r} has {len(labels)} values: {', '.join(labels)}" if labels else f"{spans!r} has offsets"
    why = "none has offsets, or a few short values" if kind == "judged_text" else why
    also = f"; rows with the same {shared!r} are a cluster" if shared else ""
    return "\n".join([*lines, judge]), f"answers of the kind {kind} (of the fields, {why}){also}"


def _first_rows(file: Path) -> tuple[str | None, list[Row]]:
    """Return where the list of rows is within a JSON file, if it is not the file itself, and the first of them."""
    try:
        content = read_json(file) if file.suffix == ".json" else None
    except DataError:
        content = None  # JSON Lines
    lists = _leaves(content) if isinstance(content, dict) else ()
    records = next((path for path, value in lists if isinstance(value, list) and isinstance(value[0], dict)), None)
    source = OwnSource(name=str(file), title=str(file), files=())
    data = TaskData.model_validate({"source": source, "file": file.name, "rows": {"records": records}})
    return records, list(islice(data.rows(file), _ROWS))


def _leaves(row: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and the value of each field that is no object, and not empty."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{within}{name}.")
        elif value not in (None, []):
            yield f"{within}{name}", value


def _has_offsets(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    pair = isinstance(first, list) and len(first) == 2 and all(isinstance(end, int) for end in first)
    return pair or (isinstance(first, dict) and {"start", "end"} <= first.keys())


def _line(key: str, value: Any) -> str:
    """Return a key of a task file, on one line without what is None; empty if nothing is left."""
    value = {name: each for name, each in value.items() if each is not None} if isinstance(value, dict) else value
    layout: dict[str, Any] = {"default_flow_style": True, "sort_keys": False, "allow_unicode": True, "width": 10_000}
    return f"{key}: {yaml.safe_dump(value, **layout).splitlines()[0]}" if value else ""
