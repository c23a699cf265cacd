"""Duplicates among the items of a build."""

from __future__ import annotations

import hashlib
import re

from halu_tasks.scorers.folding import fold

_MARKS = re.compile(r"[\W_]+")


class Duplicates:
    """Tells the items whose keys are the same as an earlier one's, case, white space and punctuation aside.

    Args:
        near: similarity in percent from which on keys count as the same; 100 for equal ones only.
    """

    def __init__(self, near: float) -> None:
        self._seen: dict[bytes, str] = {}

    def __enter__(self) -> Duplicates:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def add(self, id: str, key: str) -> str | None:
        """The id of an earlier item that this one is a duplicate of; None where there is none, and it is remembered."""
        plain = _MARKS.sub(" ", fold(key)).strip()
        mark = hashlib.sha256(plain.encode()).digest()[:16]
        if (earlier := self._seen.setdefault(mark, id)) != id:
            return earlier
        return None
