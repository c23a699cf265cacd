"""Draft a task file from the first rows of a user's file, and say what was guessed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.core.errors import DataError
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, read_json
from halu_tasks.data.sources import OwnSource
from halu_tasks.scorers.kinds import Spans
from halu_tasks.tasks.checks import CLASS
from halu_tasks.tasks.data_source import TaskData
from halu_tasks.tasks.rows_to_items import GoldKeys, of_cell, text_at
from halu_tasks.text.folding import language_of
from halu_tasks.text.marks import CATEGORIES, OFFSETS, marks_of

_ROWS = 200
"""The number of rows that are looked at."""
_MOST_LABELS, _LONGEST_LABEL = 8, 40
_ID = re.compile(r"(^|\W|_)id$", re.I)
_LABEL = re.compile(
    r"label|gold|target|verdict|class|category|choice|judge?ment|error|type|correct|support|halluc", re.I
)
_WHO = re.compile(r"annotator|person|worker|rater|coder|user|^by$|^who$|^(completed|annotated|labell?ed)_by", re.I)
_REFERENCE = re.compile(r"reference|(?<!in)correct|gold|ground_?truth|target|ideal|expected", re.I)
_ANSWER = re.compile(r"answer", re.I)
_SAID = re.compile(r"response|output|completion|generat|repl(y|ies)", re.I)
_REPLY = re.compile(f"{_SAID.pattern}|answer|hypothesis|summary", re.I)
"""Fields that have, or may have, what a model said, which a question that is asked anew must not show."""
_OF_MODEL = re.compile(r"predict|detect|score|prob(?!lem)|confiden|draft|suggest|sampled", re.I)
"""Fields with what a model or a metric says of a row, which is no gold."""
_QUESTIONS = {
    "label": "Which label is right? Answer with one of these and nothing else: {labels}",
    "spans": "Which passages of the text are wrong? Copy each as it stands there, one on each line, or write None.",
    "categories": 'Which passages of the text are wrong? Reply with a JSON list of objects with the keys "text", '
    'copied from it, and "category": {labels}. If there are none: []',
    "judged_text": "Answer the question.",
}
_JUDGE = """\
judge:
  labels: {{correct: good, wrong: bad, not attempted: neutral}}
  prompt: |-
    Is the reply correct, is it wrong, or does it not attempt an answer?
    {fields}
    Reply: {{{{reply}}}}
"""


def draft(name: str, file: Path, shown_as: str, *, judged: bool = False) -> tuple[str, str]:
    """Return a task file for rows, and what was guessed in it, as a clause.

    Args:
        name: The name of the task.
        file: The file with the rows.
        shown_as: Its path as the task file names it.
        judged: Whether a judge is to say what replies are, whatever the rows have.

    Raises:
        DataError: The file cannot be read, or its rows lack what a task needs.
    """
    records, rows = _first_rows(file)
    columns = _columns(rows)
    if reason := _why_unfit(rows, columns):
        raise DataError(f"{file}: {reason}")
    id = next((path for path in columns if _ID.search(path) and len(_different(columns[path])) == len(rows)), None)
    columns.pop(str(id), None)
    texts = [path for path, values in columns.items() if _is_text(values)]
    human = {path: values for path, values in columns.items() if not _OF_MODEL.search(path)}
    guess = (
        None
        if judged
        else next(
            chain(_guess_from_mappings(human), _guess_from_records(human, texts), _guess_from_labels(human, texts)),
            None,
        )
    )
    of_model = [path for path, values in columns.items() if _OF_MODEL.search(path) or _is_share(values)]
    kind, labels, gold, why = guess or _guess_judged(columns, texts)
    if of_model and not guess and not judged and not gold["target"]:
        raise DataError(
            f"{file}: no field says what is right; {', '.join(map(repr, of_model[:4]))} holds the output of a model or "
            "a metric, not gold. Add a field with labels or spans, or use --judged; rows with an id and probability "
            "can be scored as replies to a task that has gold"
        )
    lacking, also = sum(value in (None, "") for value in columns.get(str(gold.get("target")), ())), ""
    also += f"; {lacking} of {len(rows)} rows have no {gold['target']!r}, and have to be left out" if lacking else ""
    if kind == "spans":
        gold["text"], note = _text_of_spans(file, rows, columns, texts, gold, labels)
        texts += [gold["text"]] if gold["text"] not in texts else []
        also += note
    is_free = kind == "judged_text"  # the model is to reply, and so must not be shown another reply
    left_out = [path for path in columns if is_free and _REPLY.search(path) and path not in (gold["target"], *of_model)]
    prompt_paths = [
        path for path in texts if path not in (gold.get("target"), *left_out) and not _OF_MODEL.search(path)
    ]
    named = {re.sub(r"\W+", "_", path): path for path in prompt_paths}
    if not named:
        fields = ", ".join(map(repr, columns)) or "none"
        raise DataError(f"{file}: no field has texts of several words to ask about (fields: {fields})")
    text_path = gold.pop("text", None)
    text = next((name for name, path in named.items() if path == text_path), None)
    text = text if text != "text" and len(named) > 1 else None
    shared = next((path for path in prompt_paths if len(_different(columns[path])) < len(rows)), None)
    keys = {
        "file": shown_as,
        "rows": {"records": records, "id": id if id != "id" else None, "cluster": shared},
        "fields": list(named) if [*named] == [*named.values()] else named,
        "answer": {"kind": kind, "categories" if kind == "spans" else "labels": labels or None},
        "gold": {"text": text, **gold},
    }
    also += f"; rows with the same {shared!r} are a cluster" if shared else ""
    also += f"; left out, as what a model said: {', '.join(map(repr, left_out))}" if left_out else ""
    also += "; the order of the labels, which should be from the worst" if labels and "annotators" in gold else ""
    language = language_of("\n".join(filter(None, (_joined(each) for path in texts for each in columns[path][:9]))))
    also += f"; the language {language!r}, into which the question should be translated" if language != "en" else ""
    return _file(name, keys, kind, labels, [*named]), f"answers of the kind {kind} ({why}){also}"


def _file(name: str, keys: Mapping[str, Any], kind: str, labels: Sequence[str], fields: Sequence[str]) -> str:
    lines = [f"{field.replace('_', ' ').capitalize()}: {{{{{field}}}}}" for field in fields]
    question = _QUESTIONS["categories" if kind == "spans" and labels else kind].format(labels=", ".join(labels))
    prompt = "\n  ".join([question, *lines, "Answer:"])
    head = f"# Drafted by halu-tasks new; edit the prompt.\nclass: {CLASS}\ntask: {name}"
    lines += ["Correct answer: {{target}}"] if keys["gold"].get("target") else []
    judge = _JUDGE.format(fields="\n    ".join(lines)) if kind == "judged_text" else ""
    return "\n".join([head, *filter(None, map(_line, keys, keys.values())), f"doc_to_text: |-\n  {prompt}", judge])


def _columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """Return the values of all rows by the dotted path of their field; None where a row has no value."""
    leaves = [dict(_leaves(row)) for row in rows]
    return {path: [row.get(path) for row in leaves] for path in dict.fromkeys(chain.from_iterable(leaves))}


def _different(values: Iterable[Any]) -> list[str]:
    return sorted(
        {str(each) for value in values for each in (value if isinstance(value, list) else [value])} - {"None"}
    )


def _is_few(values: Sequence[Any]) -> bool:
    """Whether values may be labels. Some rows may lack a label."""
    present = [value for value in values if value not in (None, "")]
    plain = [each for value in present for each in (value if isinstance(value, list) else [value])]
    few = _different(plain) if all(isinstance(value, str | int) for value in plain) else []
    most = min(_MOST_LABELS, len(present) // 2)
    return 2 * len(present) > len(values) and 2 <= len(few) <= most and len(max(few, key=len)) <= _LONGEST_LABEL


def _joined(value: Any) -> str | None:
    parts = value if isinstance(value, list) else [value]
    return "\n".join(parts) if all(isinstance(part, str) for part in parts) else None


def _is_text(values: Sequence[Any]) -> bool:
    """Whether values are texts. Lists of texts may be empty."""
    lists = any(isinstance(value, list) for value in values)
    present = [_joined(value) for value in values if value is not None or not lists]
    texts = [text for text in present if text is not None and "://" not in text[:9]]
    plain = bool(texts) and len(texts) == len(present)
    is_long = plain and len(max(texts, key=len)) > _LONGEST_LABEL
    return is_long or (plain and not _is_few(values) and all(" " in text.strip() for text in texts))


def _is_share(values: Sequence[Any]) -> bool:
    """Whether values are numbers from 0 to 1, and not only 0 and 1."""
    numbers = list[float]()
    for value in values:
        with suppress(TypeError, ValueError):
            numbers.append(float(value))
    present = sum(value is not None for value in values)
    return len({*numbers}) > 1 and len(numbers) == present and max(numbers) <= 1 and any(0 < one < 1 for one in numbers)


def _why_unfit(rows: Sequence[Row], columns: Mapping[str, Sequence[Any]]) -> str | None:
    """Say why rows cannot be the rows of a task; None if they can."""
    for within in {path.rpartition(".")[0] for path in columns} if len(rows) == 1 else ():
        siblings = [value for path, (value,) in columns.items() if path.rpartition(".")[0] == within]
        sizes = {len(value) if isinstance(value, list) else 0 for value in siblings}
        if len(siblings) > 1 and len(sizes) == 1 and max(sizes) > 1:
            return "holds columns, each a list of values; write one object for each row"
    for path, values in columns.items():
        messages = next((value for value in values if isinstance(value, list)), None)
        if messages and all(isinstance(m, dict) and "content" in m and m.keys() & {"role", "type"} for m in messages):
            return f"{path!r} contains conversations; a task asks one question, so join earlier turns to one text"
        if f"{path}.users" in columns:
            return f"{path!r} is apart from its annotators; export nested records (Argilla: to_list(flatten=False))"
        if any(path == start and end in columns for start, end in OFFSETS):
            return f"has one row for each span ({path!r}); write one for each text, with a list of all its spans"
    who = next((path for path, values in columns.items() if _WHO.search(path) and len(_different(values)) > 1), None)
    if who and "id" in columns and len(_different(columns["id"])) < len(rows):
        return (
            f"rows with the same 'id' are of several annotators ({who!r}); write one for each item, with a list of "
            "what all said, in Label Studio by the export JSON instead of JSON-MIN"
        )
    return None


# --- guesses: the kind of answer, its labels or categories, the key `gold`, and why ----------------------

_Guess = tuple[str, list[str], dict[str, Any], str]


def _record_fields(record: Row, within: str = "", *, nested: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Yield the dotted path and the value of each field of a record, and whether it is within a further list."""
    for name, value in record.items():
        is_list = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
        for inner in value if is_list else [value] if isinstance(value, dict) else ():
            yield from _record_fields(inner, f"{within}{name}.", nested=nested or is_list)
        if not is_list and not isinstance(value, dict) and value not in (None, [], ""):
            yield f"{within}{name}", value, nested


def _guess_from_mappings(columns: Mapping[str, list[Any]]) -> Iterator[_Guess]:
    """Guess from a mapping of annotators to spans or labels."""
    for path in filter(None, dict.fromkeys(path.rpartition(".")[0] for path in columns)):
        people = [values for name, values in columns.items() if name.rpartition(".")[0] == path]
        all_values = [value for values in people for value in values]
        if len(people) > 1 and any(map(_has_offsets, all_values)):
            yield "spans", [], {"annotators": path}, f"{path!r} has the offsets of {len(people)} annotators"
        labels = _different(all_values)
        if len(people) > 1 and _is_few(all_values) and all(_different(of_one) == labels for of_one in people):
            yield "label", labels, {"annotators": path}, f"{path!r} has labels of {len(people)} annotators"


def _guess_from_records(columns: Mapping[str, list[Any]], texts: Sequence[str]) -> Iterator[_Guess]:
    """Guess from lists of spans or records, which may name annotators."""
    for path, values in columns.items():
        lists = [*chain.from_iterable(value for value in values if isinstance(value, list))]
        keys, nested = defaultdict[str, list[Any]](list), set[str]()
        for key, content, is_nested in chain(*(_record_fields(each) for each in lists if isinstance(each, dict))):
            keys[key].append(content)
            nested |= {key} if is_nested else set()
        starts = [key for key in keys if _end_of(key) in keys and all(type(start) is int for start in keys[key])]
        by = next((key for key in reversed(keys) if _WHO.search(key) and key not in nested), None)
        if by:
            # if several texts have spans, the spans of the last one
            start = max(starts, key=lambda key: [text in key for text in texts[::-1]], default="")
            siblings = [key for key in keys if not start or key.rpartition(".")[0] == start.rpartition(".")[0]]
            several = [key for key in siblings if start or len(_different(keys[key])) > 1]
            value = next((key for key in several if key.rpartition(".")[2] == "value"), "")
            label = next((key for key in several if _LABEL.search(key.rpartition(".")[2])), "" if start else value)
            if start or label:
                named = {"by": by, "label": label, "start": start, "end": _end_of(start)}
                changed = {key: name for key, name in named.items() if name and name != key}
                gold = {"annotators": {"field": path, **changed}}
                many = len(_different(keys[by]))
                why = f"{path!r} has records of {many} annotator{'s' * (many > 1)}"
                yield "spans" if start else "label", _different(keys.get(label, ())), gold, why
        elif any(map(_has_offsets, values)):
            label = next((key for key in CATEGORIES if key in keys), "")
            other = next((key for key in keys if _LABEL.search(key) and key not in CATEGORIES), "")
            unread = f", and no category that is read: rename {other!r} to 'label'" if other and not label else ""
            categories = keys.get(label, [each[2] for each in lists if isinstance(each, list) and len(each) > 2])
            yield "spans", _different(categories), {"spans": path}, f"{path!r} has offsets{unread}"


def _end_of(start: str) -> str:
    """Return the field with the end of a span, given the field with its start; empty if there is none."""
    within, dot, name = start.rpartition(".")
    return f"{within}{dot}{name.replace('start', 'end')}" if "start" in name else ""


def _guess_from_labels(columns: Mapping[str, list[Any]], texts: Sequence[str]) -> Iterator[_Guess]:
    """Guess from fields with a few short values; the last one if no field is named like a label."""
    few = [path for path, values in columns.items() if path not in texts and _is_few(values)]
    few = [path for path in few if not any(name.search(path) for name in (_WHO, _ID, _SAID))]
    likely = [path for path in few if _LABEL.search(path)] or [path for path in few if "." not in path]
    for path in likely[-1:]:
        labels, names = _different(columns[path]), {v: str(v) for v in columns[path] if isinstance(v, bool)}
        gold = {"target": path, "labels": names or None}
        yield "label", labels, gold, f"{path!r} has {len(labels)} values: {', '.join(labels)}"


def _guess_judged(columns: Mapping[str, list[Any]], texts: Sequence[str]) -> _Guess:
    """Ask for a text, and show a judge the reference, if there is one."""
    plain = [path for path, values in columns.items() if all(isinstance(value, str) for value in values)]
    references = [*filter(_REFERENCE.search, plain), *filter(_ANSWER.search, texts)]
    target = next((path for path in references if path in texts[1:] or path not in texts), None)
    return "judged_text", [], {"target": target}, "a judge says which replies are right"


def _text_of_spans(
    file: Path,
    rows: Sequence[Row],
    columns: Mapping[str, list[Any]],
    texts: Sequence[str],
    gold: Mapping[str, Any],
    labels: Sequence[str],
) -> tuple[str, str]:
    """Return the field that spans are in, and what is uncertain about that, as a clause.

    It is the one in which what they quote stands at their offsets; of several, the last.

    Raises:
        DataError: Spans do not fit any.
    """
    plain = [path for path, values in columns.items() if all(isinstance(value, str) for value in values)]
    faults: dict[str, list[str]] = {}
    for path in dict.fromkeys([*plain, *texts]):
        keys, faults[path] = GoldKeys.model_validate({"text": path, **gold}), []
        for row in rows:
            try:
                keys.of(row, {path: text_at(row, path)}, Spans({label: label for label in labels}), Options())
            except ValueError as error:
                faults[path].append(str(error))
    fewest = min(map(len, faults.values()), default=0)
    best = [path for path in [*texts, *plain] if len(faults[path]) == fewest]
    if not best or 2 * fewest > len(rows):
        raise DataError(
            f"{file}: the spans fit no field with a text: {faults[best[0]][0] if best else 'there is none'}"
        )
    named = [path for path in best if path in texts] or best
    start = str((gold.get("annotators") or {}).get("start")) if isinstance(gold.get("annotators"), dict) else ""
    called = [path for path in named if path in start] or [path for path in named if path == "text"]
    chosen = (called or named)[-1]
    alternatives = [path for path in named if path != chosen and not called]
    return chosen, f"; that spans are in {chosen!r}, which {alternatives[0]!r} may be as well" if alternatives else ""


# --- rows -------------------------------------------------------------------------------------------------


def _first_rows(file: Path) -> tuple[str | None, list[Row]]:
    """Return the path of the list of rows in a JSON file, None if the file is the list, and the first rows."""
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
    """Yield the dotted path and the value of each field that is neither an object nor empty."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{within}{name}.")
        elif value not in (None, []):
            content = of_cell(value)
            yield f"{within}{name}", content if isinstance(content, list) else value


def _has_offsets(value: Any) -> bool:
    with suppress(ValueError):
        return bool(isinstance(value, list) and marks_of(value[:1]))
    return True


def _line(key: str, value: Any) -> str:
    """Format a key of a task file on one line without what is None; empty if nothing is left."""
    value = {name: each for name, each in value.items() if each is not None} if isinstance(value, dict) else value
    layout: dict[str, Any] = {"default_flow_style": True, "sort_keys": False, "allow_unicode": True, "width": 10_000}
    return f"{key}: {yaml.safe_dump(value, **layout).splitlines()[0]}" if value else ""
