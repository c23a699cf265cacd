"""A first version of a task file from the first rows of a user's file: what is guessed is said, and easy to change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from halu_tasks.core.errors import DataError
from halu_tasks.data.hub import parquet_file
from halu_tasks.data.rows import Row, json_lines, json_records, read_json, table_lines
from halu_tasks.tasks.checks import CLASS
from halu_tasks.tasks.data import FORMATS

_ROWS = 200
"""The number of rows that are looked at."""
_NAMES = re.compile(r"label|gold|target|verdict|class|category|judge?ment|error|type|correct|support|halluc", re.I)
_REFERENCES = re.compile(r"reference|correct|gold|target|ideal|answer", re.I)
_ID = re.compile(r"(^|[._])(uu)?id$", re.I)
_MOST_LABELS, _LONGEST_LABEL = 8, 40
_QUESTIONS = {
    "label": "Which label is right? Answer with one of these and nothing else: {labels}",
    "spans": "Which passages of the text are wrong? Copy each as it stands there, one on each line, or write None.",
    "judged_text": "Answer the question.",
}
_JUDGE = """\
judge:
  labels: {correct: good, partly correct: bad, wrong: bad}
  prompt: |-
    Is the reply correct?
    %s
    Reply: {{reply}}
"""


class Draft(NamedTuple):
    """The text of a task file, and what was guessed in it, as a clause."""

    text: str
    guessed: str


def draft(name: str, file: Path, shown: str) -> Draft:
    """Return a task file for rows.

    Args:
        name: The name of the task.
        file: The file with the rows.
        shown: Its path as the task file names it.

    Raises:
        DataError: The file cannot be read, or its rows have no texts.
    """
    rows, records = _first_rows(file)
    columns = {path: [dict(_leaves(row)).get(path) for row in rows] for path in dict(_leaves(rows[0]))}
    id = next((path for path in columns if _ID.search(path) and len({*map(str, columns[path])}) == len(rows)), None)
    spans = next((path for path, values in columns.items() if any(map(_has_offsets, values))), None)
    label = None if spans else _label(columns, id)
    kind = "spans" if spans else "label" if label else "judged_text"
    reference = next((p for p in columns if p != id and _REFERENCES.search(p)), None) if kind == "judged_text" else None
    texts = [p for p in columns if p not in (id, label, reference) and all(isinstance(v, str) for v in columns[p])]
    if not (prompts := [path for path in texts if max(map(len, columns[path])) > _LONGEST_LABEL]):
        raise DataError(f"{file}: none of the first {len(rows)} rows has a field with a text to ask about")
    named = {re.sub(r"\W+", "_", path.rpartition(".")[2]).strip("_").lower() or "text": path for path in prompts}
    shared = next((path for path in prompts if len({*columns[path]}) < len(rows)), None)
    keys = {"records": records, "id": None if id in (None, "id") else id, "cluster": shared}
    labels = sorted({str(value) for value in columns[label]}) if label else []
    gold = {"spans": spans, "target": label or reference}
    if spans:
        gold["text"] = max(named, key=lambda field: max(map(len, columns[named[field]])))
    renamed = {value: str(value) for value in columns[label] if isinstance(value, bool)} if label else {}
    lines = [
        "# Drafted by halu-tasks new: what is asked and what the labels mean is yours to say.",
        f"class: {CLASS}",
        f"task: {name}",
        f"file: {_flow(shown)}",
        f"rows: {_flow(known)}" if (known := _given(keys)) else "",
        f"fields: {_flow(list(named) if all(k == v for k, v in named.items()) else named)}",
        "doc_to_text: |-",
        f"  {_QUESTIONS[kind].format(labels=', '.join(labels))}",
        *(f"  {_caption(field)}" for field in named),
        "  Answer:",
        f"answer: {_flow({'kind': kind, **({'labels': labels} if label else {})})}",
        f"gold: {_flow({**_given(gold), **({'labels': renamed} if renamed else {})})}" if any(gold.values()) else "",
    ]
    judge = _JUDGE % "\n    ".join(map(_caption, named)) if kind == "judged_text" else ""
    why = {
        "spans": f"field {spans!r} has offsets",
        "label": f"field {label!r} has {len(labels)} values: {', '.join(labels)}",
        "judged_text": "no field has a few short values, or offsets",
    }
    also = f"; items with the same {shared!r} are a cluster" if shared else ""
    return Draft("\n".join(filter(None, lines)) + f"\n{judge}", f"answers of the kind {kind} ({why[kind]}){also}")


def _first_rows(file: Path) -> tuple[list[Row], str | None]:
    """Return the first rows, and where their list is within a JSON file, if it is not the file itself."""
    form, records = FORMATS.get(file.suffix.lower()), None
    lines: Iterator[tuple[int, Row]]
    if form in ("csv", "xlsx"):
        lines = table_lines(file, {})
    elif form == "parquet":
        lines = parquet_file(file).rows()
    elif form == "json" and isinstance(content := _json(file), dict):
        lists = [path for path, value in _leaves(content) if isinstance(value, list) and isinstance(value[0], dict)]
        if not lists:
            raise DataError(f"{file}: has no list of rows")
        records, lines = lists[0], json_records(file, lists[0])
    else:
        lines = json_lines(file)
    if not (rows := [row for _, row in islice(lines, _ROWS)]):
        raise DataError(f"{file}: contains no rows")
    return rows, records


def _json(file: Path) -> Any:
    try:
        return read_json(file)
    except DataError:
        return None  # JSON Lines


def _leaves(row: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and the value of each field that is no object."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{within}{name}.")
        elif value not in (None, []):
            yield f"{within}{name}", value


def _has_offsets(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    pair = isinstance(first, list) and len(first) == 2 and all(isinstance(end, int) for end in first)
    return pair or (isinstance(first, dict) and {"start", "end"} <= first.keys())


def _label(columns: Mapping[str, Sequence[Any]], id: str | None) -> str | None:
    """Return the field with a few short values that are repeated, the last one unless a name says more."""
    found = []
    for path, values in columns.items():
        different = {str(value) for value in values}
        plain = all(isinstance(value, str | bool | int) for value in values)
        few = 2 <= len(different) <= min(_MOST_LABELS, len(values) // 2)
        if path != id and plain and few and max(map(len, different)) <= _LONGEST_LABEL:
            found.append(path)
    likely = [path for path in found if _NAMES.search(path)] or [path for path in found if "." not in path]
    return likely[-1] if likely else None


def _as_label(value: Any) -> str:
    return str(value)


def _caption(field: str) -> str:
    return f"{field.replace('_', ' ').capitalize()}: {{{{{field}}}}}"


def _given(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value is not None}


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return text.removesuffix("...\n").strip()
