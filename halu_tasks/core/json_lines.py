"""Writing JSON Lines."""

from __future__ import annotations

import json
from typing import Any

_LINE_SEPARATORS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


def json_line(value: Any, *, allow_nan: bool = True) -> str:
    r"""Format a value as a JSON document on one line, without the line feed.

    Characters outside ASCII are written as such, except those at which `str.splitlines` and other readers would break
    the line: U+0085, U+2028 and U+2029 are escaped. (`json.dumps` escapes control characters such as `\n` itself.)

    Args:
        value: The value.
        allow_nan: Whether to write NaN and infinity, which are not JSON.

    Raises:
        ValueError: The value contains NaN or infinity, and must not.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=allow_nan).translate(_LINE_SEPARATORS)
