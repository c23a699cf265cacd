"""The documents FactCHD items are made of: subgraphs sampled from triples, and text facts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from halu_tasks.builders.documents import Document, read_documents
from halu_tasks.builders.pipeline import item_id
from halu_tasks.builders.pipelines.factchd.graph import (
    COMPARISON,
    MULTI_HOP,
    OPERATIONS,
    SET_OPERATION,
    Graph,
    Subgraph,
)
from halu_tasks.builders.pipelines.factchd.triples import Triple
from halu_tasks.text.sentences import sentences

VANILLA = "vanilla"
"""The pattern of text facts."""

Evidence = list[list[str] | str]
"""Pieces of evidence: each a triple, a pair of title and sentence, or a sentence."""

_SUBGRAPHS = (MULTI_HOP, COMPARISON, SET_OPERATION)

logger = logging.getLogger(__name__)


def text_facts(path: Path) -> Iterator[Document]:
    """Read the text facts of a file or folder one at a time; rows that are subgraphs are kept as such.

    Raises:
        DataError: As in `read_documents`.
    """
    for document in read_documents(path):
        if subgraph_of(document) is None:
            yield Document(document.id, document.text, {**document.fields, "pattern": VANILLA})
        else:
            yield document


def subgraph_documents(subgraphs: Sequence[Subgraph], requested: int, graph: Graph, where: str) -> Iterator[Document]:
    """Yield a document for each subgraph, and log a warning if a pattern has too few.

    Args:
        subgraphs: The subgraphs.
        requested: Number of subgraphs of each pattern that were asked for.
        graph: The graph they were sampled from.
        where: Name of the graph's source, for the warning.
    """
    counts = Counter(subgraph.pattern for subgraph in subgraphs)
    if any(counts[pattern] < requested for pattern in _SUBGRAPHS):
        summary = ", ".join(f"{counts[pattern]} {pattern}" for pattern in _SUBGRAPHS)
        logger.warning(
            "%s: found %s in %d triples; %d of each requested", where, summary, len(graph.triples), requested
        )
    for subgraph in subgraphs:
        parts = (subgraph.pattern, subgraph.operation, *(part for each in subgraph.conditions for part in each))
        text = "\n".join(" | ".join(triple) for triple in subgraph.triples)
        fields = {
            "pattern": subgraph.pattern,
            "operation": subgraph.operation,
            "conditions": [list(condition) for condition in subgraph.conditions],
            "triples": [list(triple) for triple in subgraph.triples],
        }
        yield Document(item_id(text, *parts), text, fields)


def subgraph_of(document: Document) -> Subgraph | None:
    """Return the subgraph of a document; None if it is a text fact."""
    fields = document.fields
    pattern, operation = fields.get("pattern"), fields.get("operation", "")
    triples = [_texts(each, 3) for each in _list(fields.get("triples"))]
    conditions = [_texts(each, 2) for each in _list(fields.get("conditions"))]
    if pattern not in _SUBGRAPHS or not triples or None in triples or None in conditions:
        return None
    if (operation not in OPERATIONS if pattern == SET_OPERATION else operation != "") or (
        pattern == SET_OPERATION
    ) != bool(conditions):
        return None
    return Subgraph(
        pattern,
        operation,
        tuple((each[0], each[1]) for each in conditions if each),
        tuple(Triple(*each) for each in triples if each),
    )


def _list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _texts(value: Any, number: int) -> list[str] | None:
    """Return the value as a list of `number` nonblank strings; None if it is not."""
    if not isinstance(value, list | tuple) or len(value) != number:
        return None
    return list(value) if all(isinstance(each, str) and each.strip() for each in value) else None


def evidence_of(document: Document, subgraph: Subgraph | None) -> Evidence:
    """Return the evidence of a row in the format of the published ones.

    Each piece is a triple, or a sentence with the document's title, or a sentence alone if there is no title.
    """
    if subgraph:
        return [list(triple) for triple in subgraph.triples]
    title = document.fields.get("title")
    facts = [" ".join(sentence.split()) for sentence in sentences(document.text)]
    return [[title, sentence] for sentence in facts] if isinstance(title, str) and title.strip() else [*facts]
