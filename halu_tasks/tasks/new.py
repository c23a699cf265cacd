"""Draft a task file from the first rows of a user's file, and say what was guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.core.errors import DataError
from halu_tasks.data.rows import Row, read_json
from halu_tasks.data.sources import OwnSource
from halu_tasks.tasks.checks import CLASS
from halu_tasks.tasks.data import TaskData
from halu_tasks.text.folding import language_of

_ROWS = 200
"""The number of rows that are looked at."""
_MOST_LABELS, _LONGEST_LABEL = 8, 40
_ID = re.compile(r"(^|\W|_)id$", re.I)
_LABEL = re.compile(r"label|gold|target|verdict|class|category|judge?ment|error|type|correct|support|halluc", re.I)
_WHO = re.compile(r"annotator|person|worker|rater|coder|user|^by$|^who$", re.I)
_REFERENCE = re.compile(r"reference|correct|gold|target|ideal|answer", re.I)
_QUESTIONS = {
    "label": "Which label is right? Answer with one of these and nothing else: {labels}",
    "spans": "Which passages of the text are wrong? Copy each as it stands there, one on each line, or write None.",
    "categories": 'Which passages of the text are wrong? Reply with a JSON list of objects with the keys "text", '
    'copied from it, and "category": {labels}. If there are none: []',
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


def draft(name: str, file: Path, shown: str, *, judged: bool = False) -> tuple[str, str]:
    """Return a task file for rows, and what was guessed in it, as a clause.

    Args:
        name: The name of the task.
        file: The file with the rows.
        shown: Its path as the task file names it.
        judged: Whether a judge is to say what replies are, whatever the rows have.

    Raises:
        DataError: The file cannot be read, or its rows have no texts.
    """
    records, rows = _first_rows(file)
    columns = _columns(rows)
    id = next((path for path in columns if _ID.search(path) and len(_different(columns[path])) == len(rows)), None)
    columns.pop(str(id), None)
    texts = [path for path, values in columns.items() if _is_text(values)]
    guesses = chain(_of_people(columns), _of_records(columns, texts), _labels(columns, texts))
    target = next((path for path in texts[1:] if _REFERENCE.search(path)), None)
    free: _Guess = "judged_text", [], {"target": target}, "a judge, no field, says what is right"
    kind, labels, gold, why = free if judged else next(guesses, free)
    named = {re.sub(r"\W+", "_", path): path for path in texts if path != gold.get("target")}
    if not named:
        raise DataError(f"{file}: none of the first {len(rows)} rows has a field with a text to ask about")
    text = [*named][-1] if kind == "spans" and "text" not in named else None
    shared = next((path for path in texts if len(_different(columns[path])) < len(rows)), None)
    keys = {
        "file": shown,
        "rows": {"records": records, "id": id if id != "id" else None, "cluster": shared},
        "fields": list(named) if [*named] == [*named.values()] else named,
        "answer": {"kind": kind, "categories" if kind == "spans" else "labels": labels or None},
        "gold": {"text": text, **gold},
    }
    also = f"; rows with the same {shared!r} are a cluster" if shared else ""
    also += "; the order of the labels, which should be from the worst" if labels and "annotators" in gold else ""
    language = language_of("\n".join(text for path in texts for text in columns[path][:9]))
    also += f"; the language {language!r}, into which the question should be translated" if language != "en" else ""
    return _file(name, keys, kind, labels, [*named]), f"answers of the kind {kind} ({why}){also}"


def _file(name: str, keys: Mapping[str, Any], kind: str, labels: Sequence[str], fields: Sequence[str]) -> str:
    shown = [f"{field.replace('_', ' ').capitalize()}: {{{{{field}}}}}" for field in fields]
    question = _QUESTIONS["categories" if kind == "spans" and labels else kind].format(labels=", ".join(labels))
    asked = "\n  ".join([question, *shown, "Answer:"])
    head = f"# Drafted by halu-tasks new; edit the prompt.\nclass: {CLASS}\ntask: {name}"
    judge = _JUDGE.format(fields="\n    ".join(shown)) if kind == "judged_text" else ""
    return "\n".join([head, *filter(None, map(_line, keys, keys.values())), f"doc_to_text: |-\n  {asked}", judge])


def _columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """Return the values of all rows by the dotted path of their field, None where a row has none."""
    leaves = [dict(_leaves(row)) for row in rows]
    return {path: [row.get(path) for row in leaves] for path in dict.fromkeys(chain.from_iterable(leaves))}


def _different(values: Iterable[Any]) -> list[str]:
    return sorted({str(value) for value in values if value is not None})


def _is_few(values: Sequence[Any]) -> bool:
    """Return whether values may be labels."""
    few = _different(values) if all(isinstance(value, str | int) for value in values) else []
    return 2 <= len(few) <= min(_MOST_LABELS, len(values) // 2) and len(max(few, key=len)) <= _LONGEST_LABEL


def _is_text(values: Sequence[Any]) -> bool:
    plain = all(isinstance(value, str) and "://" not in value[:9] for value in values)
    is_long = plain and len(max(values, key=len)) > _LONGEST_LABEL
    return is_long or (plain and not _is_few(values) and all(" " in value.strip() for value in values))


# --- guesses: the kind of answer, its labels or categories, the key `gold`, and why ----------------------

_Guess = tuple[str, list[str], dict[str, Any], str]


def _of_people(columns: Mapping[str, list[Any]]) -> Iterator[_Guess]:
    """Guess from a mapping of annotators to spans or labels."""
    for path in filter(None, dict.fromkeys(path.rpartition(".")[0] for path in columns)):
        people = [values for name, values in columns.items() if name.rpartition(".")[0] == path]
        said = [value for values in people for value in values]
        if len(people) > 1 and any(map(_has_offsets, said)):
            yield "spans", [], {"annotators": path}, f"{path!r} has the offsets of {len(people)} annotators"
        if len(people) > 1 and _is_few(said) and all(_different(own) == _different(said) for own in people):
            yield "label", _different(said), {"annotators": path}, f"{path!r} has labels of {len(people)} annotators"


def _of_records(columns: Mapping[str, list[Any]], texts: Sequence[str]) -> Iterator[_Guess]:
    """Guess from lists of spans, or of records, which may say who made them."""
    for path, values in columns.items():
        lists = chain.from_iterable(value for value in values if isinstance(value, list))
        keys = _columns(record for record in lists if isinstance(record, dict))
        label = next(filter(_LABEL.search, keys), "")
        given = (value if isinstance(value, list) else [value] for value in keys.get(label, ()))
        labels = _different(chain.from_iterable(given))
        starts = [key for key in keys if "start" in key and key.replace("start", "end") in keys]
        by = next(filter(_WHO.search, reversed(keys)), None)
        if by and (starts or label):
            # of the spans of several texts, those of the last one
            start = max(starts, key=lambda key: [text in key for text in texts[::-1]], default="")
            named = {"field": path, "by": by, "label": label, "start": start, "end": start.replace("start", "end")}
            gold = {"annotators": {key: name for key, name in named.items() if name and name != key}}
            why = f"{path!r} has records of {len(_different(keys[by]))} annotators"
            yield "spans" if starts else "label", labels, gold, why
        elif any(map(_has_offsets, values)):
            yield "spans", labels, {"spans": path}, f"{path!r} has offsets"


def _labels(columns: Mapping[str, list[Any]], texts: Sequence[str]) -> Iterator[_Guess]:
    """Guess from fields with a few short values, the last one if no name suggests a label."""
    few = [path for path, values in columns.items() if path not in texts and _is_few(values)]
    likely = [path for path in few if _LABEL.search(path)] or [path for path in few if "." not in path]
    for path in likely[-1:]:
        labels, names = _different(columns[path]), {v: str(v) for v in columns[path] if isinstance(v, bool)}
        gold = {"target": path, "labels": names or None}
        yield "label", labels, gold, f"{path!r} has {len(labels)} values: {', '.join(labels)}"


# --- rows -------------------------------------------------------------------------------------------------


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
