"""Records as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any


def to_json(value: Any) -> Any:
    """Convert a record to JSON values: dataclasses and named tuples become objects by the names of their fields.

    Fields with the metadata `part` are parts of the record, whose own fields are keys of it. Those whose metadata has a
    false `json` are left out.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value):
        record: dict[str, Any] = {}
        for name, is_part in _fields(value.__class__):
            inner = to_json(getattr(value, name))
            record |= inner if is_part else {name: inner}
        return record
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: to_json(part) for name, part in value.items()}
    return [to_json(part) for part in value]


@cache
def _fields(record: type) -> list[tuple[str, bool]]:
    return [(each.name, each.metadata.get("part", False)) for each in fields(record) if each.metadata.get("json", True)]
