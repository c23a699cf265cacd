"""Rows of a file that is one JSON array."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from halu_tasks.data import Row, json_object, text_lines
from halu_tasks.errors import DataError

_BETWEEN = re.compile(r"[\s,]*")


def array_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """(number of the line it begins in, object) of each element of a JSON array; a file of JSON Lines is read too.

    Raises:
        DataError: naming file and line: not UTF-8, not JSON, or an element that is no object.
    """
    lines = text_lines(path)
    first, text = next(((number, own) for number, own in lines if own.strip()), (1, ""))
    if text.lstrip()[:1] != "[":
        # read once and line by line: the file may be a pipe, or too large to hold
        for number, own in chain([(first, text)], lines):
            if own.strip():
                yield number, json_object(f"{path}:{number}", own)
        return
    text += "".join(own for _, own in lines)
    at = text.index("[") + 1
    line, counted = first, 0
    decoder = json.JSONDecoder()
    while (at := _BETWEEN.match(text, at).end()) < len(text) and text[at] != "]":  # type: ignore[union-attr]
        line, counted = line + text.count("\n", counted, at), at
        try:
            row, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply or too long a number"
            raise DataError(
                f"{path}:{line}: not JSON ({reason.removesuffix(' at')} in the row that begins here)"
            ) from None
        if not isinstance(row, dict):
            raise DataError(f"{path}:{line}: expected a JSON object, found {type(row).__name__}")
        yield line, row
    if text[at : at + 1] != "]" or text[at + 1 :].strip():
        raise DataError(f"{path}:{line + text.count(chr(10), counted)}: the JSON array has no end, or more behind it")
