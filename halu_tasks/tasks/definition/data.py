"""The data of a task: its source, how rows are read, and the function from rows to cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from halu_tasks.core.errors import did_you_mean
from halu_tasks.core.items import Case
from halu_tasks.core.options import Options
from halu_tasks.core.prompting import render_jinja
from halu_tasks.data.json_arrays import array_lines
from halu_tasks.data.rows import Lines, Row, json_lines
from halu_tasks.data.sources import SOURCES, Source
from halu_tasks.tasks.definition.keys import TaskKeys, named_in
from halu_tasks.tasks.definition.prompts import check_placeholders
from halu_tasks.tasks.task import Reader

_ROW_KEYS = ("fields", "check", "format", "columns")
_ROW_TYPES = {"string": str, "array": list, "object": dict, "any": object}
_FORMATS: Mapping[str, Lines] = {"json_lines": json_lines, "json_array": array_lines}
_FORMAT_NAMES = (*_FORMATS, "table")


def read_reader(keys: TaskKeys) -> Reader:
    """Read the keys `source`, `file`, `training_file` and `rows`."""
    rows = keys.mapping("rows", _ROW_KEYS)
    source, file = _source(keys), keys.string("file")
    columns = _columns(keys, rows.get("columns") or {})
    row_fields = _row_fields(keys, rows.get("fields") or dict.fromkeys(columns, "string"))
    format = _format(keys, rows.get("format", "json_lines"))
    lines = _FORMATS.get(format, json_lines)
    table: Mapping[str, tuple[str, ...]] = {} if format in _FORMATS else columns or dict.fromkeys(row_fields, ())
    check_placeholders(keys, "file", file, [option.name for option in fields(Options)], "an option")
    training = keys.optional_string("training_file")
    _check_file(keys, "file", source, _file_name(file, Options()))
    if training:
        _check_file(keys, "training_file", source, training)
    check = keys.load("rows", rows["check"]) if "check" in rows else _accept
    keys.check_signature("rows", check, {})
    return Reader(source, partial(_file_name, file), row_fields, check, lines, table, training)


def read_cases(keys: TaskKeys) -> Callable[[Iterable[Row], Options], Iterable[Case]]:
    """Read the keys `cases` and `cases_arguments`."""
    arguments = keys.mapping("cases_arguments", required=False)
    function: Callable[..., Iterable[Case]] = keys.function("cases", [], Options(), **arguments)
    return partial(function, **arguments) if arguments else function


def _source(keys: TaskKeys) -> Source:
    source = keys.load("source", keys.required("source"))
    if isinstance(source, str):
        if source not in SOURCES:
            close = did_you_mean(source, SOURCES)
            keys.fail("source", f"unknown source {source!r}{close}; known: {', '.join(SOURCES)}")
        return SOURCES[source]
    if not isinstance(source, Source):
        keys.fail("source", f"expected the name of a source or !function MODULE.NAME of a Source, got {source!r}")
    return source


def _columns(keys: TaskKeys, columns: Any) -> dict[str, tuple[str, ...]]:
    """Return the other names that the columns of a table may have."""
    if not isinstance(columns, dict):
        keys.fail("rows", f"columns: expected names, each with a list of other names, got {columns!r}")
    return {name: keys.as_strings("rows", others or ()) for name, others in columns.items()}


def _row_fields(keys: TaskKeys, types: Any) -> dict[str, type]:
    """Return the fields that a row must have, with their types."""
    if not isinstance(types, dict) or not all(named_in(kind, _ROW_TYPES) for kind in types.values()):
        keys.fail("rows", f"fields: expected names with one of {', '.join(_ROW_TYPES)}, got {types!r}")
    return {name: _ROW_TYPES[kind] for name, kind in types.items()}


def _format(keys: TaskKeys, name: Any) -> str:
    """Return the name of a format."""
    if name not in _FORMAT_NAMES:
        keys.fail("rows", f"format: expected {', '.join(_FORMAT_NAMES)}, got {name!r}")
    return str(name)


def _check_file(keys: TaskKeys, key: str, source: Source, name: str) -> None:
    names = [file.name for file in source.files]
    if name not in names:
        keys.fail(key, f"source {source.name} has no file {name!r}; it has {', '.join(names)}")


def _accept(row: Row) -> None:
    """Accept any row."""


def _file_name(template: str, options: Options) -> str:
    """Return the name of the file under these options."""
    if "{" not in template:
        return template
    return render_jinja(template, {option.name: getattr(options, option.name) for option in fields(Options)})
