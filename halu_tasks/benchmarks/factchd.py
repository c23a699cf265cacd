"""FactCHD (Chen et al. 2024): is an answer factual, and why? A label, then an explanation.

Rows come in two formats. The released samples have query, response, label, evidence, reason and category. The files
with which the authors train and test have `input` with the marks #Question# and #Answer#, and `output` with label and
explanation; their `instruction` is not shown, since this package has its own prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item, in_turn
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row, require_text
from halu_tasks.scorers.benchmarks import explanations
from halu_tasks.scorers.benchmarks.explanations import LABELS, PATTERNS
from halu_tasks.scorers.gold import ExplanationGold

DOMAINS = {"COVID-19": "covid_19", "public health": "public_health"}
"""The names in metrics of released domains (Figure 3) that are written otherwise there."""
_INPUT = re.compile(r"\s*#Question#:(.*?)#Answer#:(.*)", re.DOTALL)


def check_row(row: Row) -> None:
    """Raise ValueError unless the row is valid in one of the two formats."""
    if not isinstance(row["id"], int):
        require_text(row, "id")
    *_, label = _texts(row)
    if label not in LABELS:
        raise ValueError(f"label is {label!r}, expected {' or '.join(map(repr, LABELS))}")
    if not isinstance(row.get("category", ""), str) or row.get("category", "Conventional") not in PATTERNS:
        raise ValueError(f"category is {row['category']!r}, expected one of {', '.join(PATTERNS)}")
    if not isinstance(row.get("domain", ""), str):
        raise ValueError(f"domain is {row['domain']!r}, expected a string")
    _evidence(row)


def _texts(row: Row) -> tuple[str, str, str, str]:
    """Return the query, response, reason and label of a row in either format.

    Raises:
        ValueError: One of them is missing, blank or not of its form.
    """
    if "input" not in row or "query" in row:
        require_text(row, "query", "response", "label", "reason")
        return row["query"], row["response"], row["reason"], row["label"]
    require_text(row, "input", "output")
    match = _INPUT.fullmatch(row["input"])
    if not match or not match[1].strip() or not match[2].strip():
        raise ValueError("field 'input' must have the form #Question#: … #Answer#: …")
    label = row.get("label") or explanations.label_of(row["output"])
    if label is None:
        raise ValueError(f"field 'output' must begin with {' or '.join(LABELS)}")
    return match[1].strip(), match[2].strip(), row["output"], label


def _evidence(row: Row) -> list[str] | None:
    """Return the row's pieces of evidence as lines; None if the row has no field `evidence`."""
    if "evidence" not in row:
        return None
    pieces = row["evidence"]
    if not isinstance(pieces, list):
        raise ValueError(f"field 'evidence' is {type(pieces).__name__}, expected list")
    return [_line(piece) for piece in pieces]


def _line(piece: Any) -> str:
    """Format a piece of evidence on one line: a triple, a title and a sentence, or a string."""
    parts = [piece] if isinstance(piece, str) else piece
    if not isinstance(parts, list) or not parts or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"a piece of evidence is {piece!r}, expected a string or a list of strings")
    return " | ".join(" ".join(part.split()) for part in parts)


# --- rows to items --------------------------------------------------------------------------------


def cases(rows: Iterable[Row], options: Options, *, shown: Sequence[str] = ("query", "response")) -> Iterator[Item]:
    """Yield one item per row.

    Args:
        rows: The rows.
        options: The task's options.
        shown: The fields that the prompt shows, of `query`, `response` and `evidence`. Evidence is a field of every
            case whose row has any, since methods may use it.

    Raises:
        DataError: Evidence is to be shown, but a row has none.
    """
    for row in rows:
        query, response, reason, label = _texts(row)
        fields = {"query": query, "response": response}
        lines = _evidence(row)
        if "evidence" in shown and lines is None:
            raise DataError(f"FactCHD: row {row['id']!r} has no field 'evidence', which factchd_evidence shows")
        fields = {name: fields[name] for name in fields if name in shown}
        if lines is not None:
            fields["evidence"] = "\n".join(lines) or "none"
        tags = {"pattern": PATTERNS.get(row.get("category", ""), "unstated")}
        if domain := str(row.get("domain", "")):
            tags["domain"] = DOMAINS.get(domain, domain)
        id = str(row["id"])
        yield Item(id, id, label, fields=fields, gold=ExplanationGold(reason=reason, alpha=options.alpha), tags=tags)


def one_a_pattern(cases: Iterable[Item], options: Options) -> list[Item]:
    """Order items so that patterns and labels take turns.

    Any four consecutive items have four different patterns, and two have each label. The seed determines the order of
    the patterns and of the cases of a pattern.

    Raises:
        DataError: There is no item of one of the patterns.
    """
    by_pattern: dict[str, list[Item]] = {}
    for case in cases:
        by_pattern.setdefault(case.tags["pattern"], []).append(case)
    if missing := set(PATTERNS.values()) - set(by_pattern):
        raise DataError(
            f"FactCHD: worked examples need a row of every pattern; the rows for them have none of {min(missing)}"
        )
    columns = []
    names = sorted(PATTERNS.values(), key=lambda name: stable_hash(options.seed, name))
    for number, name in enumerate(names):
        shuffled = sorted(by_pattern[name], key=lambda case: stable_hash(options.seed, case.id))
        first = LABELS[number % 2]
        with_first = [case for case in shuffled if case.target == first]
        columns.append(in_turn([with_first, [case for case in shuffled if case.target != first]]))
    return in_turn(columns)


# --- replies that need no model --------------------------------------------------


def oracle(item: Item[ExplanationGold]) -> str:
    """Return the gold label with the gold explanation."""
    return f"{item.target}.\n{explanations.explanation_of(item.gold.reason)}".strip()
