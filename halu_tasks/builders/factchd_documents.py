"""What FactCHD items are made of: subgraphs that are sampled of triples, and text facts, as documents."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from halu_tasks.builders.documents import Document, read_documents
from halu_tasks.builders.graph import COMPARISON, MULTI_HOP, OPERATIONS, SET_OPERATION, Graph, Subgraph
from halu_tasks.builders.pipeline import item_id
from halu_tasks.builders.triples import Triple
from halu_tasks.scorers.sentences import sentences

VANILLA = "vanilla"
"""The pattern of text facts."""

Evidence = list[list[str] | str]
"""Pieces of evidence: a triple, a title and a sentence, or a sentence."""

_SUBGRAPHS = (MULTI_HOP, COMPARISON, SET_OPERATION)

logger = logging.getLogger(__name__)


def text_facts(path: Path) -> Iterator[Document]:
    """The text facts of a file or folder, one after the other; rows that are subgraphs already stay what they are.

    Raises:
        DataError: as `read_documents` does.
    """
    for document in read_documents(path):
        if subgraph_of(document) is None:
            yield Document(document.id, document.text, {**document.fields, "pattern": VANILLA})
        else:
            yield document


def subgraph_documents(found: Sequence[Subgraph], wanted: int, graph: Graph, where: str) -> Iterator[Document]:
    """A document for each subgraph; where a pattern has fewer than `wanted`, the log says how many."""
    counts = Counter(subgraph.pattern for subgraph in found)
    if any(counts[pattern] < wanted for pattern in _SUBGRAPHS):
        told = ", ".join(f"{counts[pattern]} {pattern}" for pattern in _SUBGRAPHS)
        logger.warning("%s: found %s in %d triples; %d of each asked for", where, told, len(graph.triples), wanted)
    for subgraph in found:
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
    """The subgraph that a document shows; None where it is a text."""
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
    return value if isinstance(value, list) else []


def _texts(value: Any, number: int) -> list[str] | None:
    if not isinstance(value, list | tuple) or len(value) != number:
        return None
    return list(value) if all(isinstance(each, str) and each.strip() for each in value) else None


def evidence_of(document: Document, subgraph: Subgraph | None) -> Evidence:
    """The evidence of a row, as the released ones have it: triples, or a title with each sentence, which stands alone
    where there is no title."""
    if subgraph:
        return [list(triple) for triple in subgraph.triples]
    title = document.fields.get("title")
    found = [" ".join(sentence.split()) for sentence in sentences(document.text)]
    return [[title, sentence] for sentence in found] if isinstance(title, str) and title.strip() else [*found]
