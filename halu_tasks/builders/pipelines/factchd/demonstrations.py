"""Demonstrations for FactCHD's drafts (section 4.1): queries with responses of models that people labelled.

The generator is shown some of the same pattern and label, and the verifier judges whether a draft reads like them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from halu_tasks.builders.pipelines.factchd.documents import VANILLA
from halu_tasks.builders.pipelines.factchd.graph import COMPARISON, MULTI_HOP, SET_OPERATION
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.data.rows import Row, json_lines, require_fields, require_text
from halu_tasks.scorers.benchmarks.factchd import LABELS, PATTERNS
from halu_tasks.scorers.reading.judge import fence

MOST = 5
"""Maximum number of demonstrations in a prompt."""
_PATTERNS = (VANILLA, MULTI_HOP, COMPARISON, SET_OPERATION)

logger = logging.getLogger(__name__)


class Demonstration(NamedTuple):
    """A query with a labelled response; without a pattern, it stands for all of them."""

    query: str
    response: str
    label: str
    pattern: str


def read_demonstrations(file: str) -> tuple[Demonstration, ...]:
    """Read demonstrations from a JSON Lines file.

    Rows have `query`, `response` and `label`, and optionally `pattern`, or `category` as in the published files.

    Raises:
        UsageError: The file cannot be read or is empty, or a row is invalid; the message names its line.
    """
    path = Path(file).expanduser()
    found = []
    try:
        for line, row in json_lines(path):
            try:
                found.append(_demonstration(row))
            except ValueError as error:
                raise UsageError(f"demonstrations {path}:{line}: {error}") from None
    except DataError as error:
        raise UsageError(f"demonstrations {error}") from None
    if not found:
        raise UsageError(f"demonstrations {path}: contains no rows with query, response and label")
    return tuple(found)


def _demonstration(row: Row) -> Demonstration:
    require_fields(row, {"query": str, "response": str, "label": str})
    require_text(row, "query", "response", "label")
    label = row["label"].strip().upper()
    if label not in LABELS:
        raise ValueError(f"field 'label': expected {' or '.join(LABELS)}, got {row['label']!r}")
    pattern = row.get("pattern") or PATTERNS.get(row.get("category", ""), row.get("category")) or ""
    if pattern and pattern not in _PATTERNS:
        raise ValueError(f"field 'pattern': expected {', '.join(_PATTERNS)} or none, got {pattern!r}")
    return Demonstration(row["query"], row["response"], label, pattern)


def shown(demonstrations: Sequence[Demonstration], pattern: str, label: str, seed: int, document: str) -> str:
    """Return demonstrations of a pattern and label as a prompt shows them; empty if there are none.

    Args:
        demonstrations: All demonstrations.
        pattern: The pattern of the draft.
        label: Its label.
        seed: Seed of the choice, if there are more than `MOST`.
        document: The draft's document, on which the choice also depends.
    """
    fitting = [each for each in demonstrations if each.label == label and each.pattern in ("", pattern)]
    chosen = sorted(fitting, key=lambda each: stable_hash(seed, document, each.query, each.response))[:MOST]
    return "\n\n".join(f"Query:\n{fence(each.query)}\nResponse:\n{fence(each.response)}" for each in chosen)


@cache
def warn_of_gaps(demonstrations: tuple[Demonstration, ...]) -> None:
    """Log a warning, once, that names the patterns and labels without demonstrations, whose drafts do without them."""
    if missing := list(_gaps(demonstrations)):
        logger.warning("there are no demonstrations for %s; such drafts are made without", ", ".join(missing))


def _gaps(demonstrations: Sequence[Demonstration]) -> Iterator[str]:
    for pattern in _PATTERNS:
        for label in LABELS:
            if not any(each.label == label and each.pattern in ("", pattern) for each in demonstrations):
                yield f"{pattern}/{label}"
