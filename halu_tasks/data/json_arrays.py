"""Reading the rows of a file that is a single JSON array."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain

from halu_tasks.core.errors import DataError
from halu_tasks.data.rows import Row, json_object, text_lines
from halu_tasks.data.shards import File

_BETWEEN = re.compile(r"[\s,]*")


def array_lines(path: File) -> Iterator[tuple[int, Row]]:
    """Read (number of its first line, object) of each element of a JSON array; also reads JSON Lines.

    Raises:
        DataError: The file is not UTF-8 or not JSON, or an element is not an object. The message names file and line.
    """
    lines = text_lines(path)
    first, text = next(((number, line) for number, line in lines if line.strip()), (1, ""))
    if text.lstrip()[:1] != "[":
        # read once and line by line, since the file may be a pipe or too large for memory
        for number, line_text in chain([(first, text)], lines):
            if line_text.strip():
                yield number, json_object(f"{path}:{number}", line_text)
        return
    text += "".join(line_text for _, line_text in lines)
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
        end_line = line + text.count("\n", counted)
        raise DataError(f"{path}:{end_line}: the JSON array is not closed, or something follows it")
