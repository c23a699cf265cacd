"""FactCHD's documents (subgraphs sampled from triples, and text facts), and the checks of drafts that need no model.

The checks test whether a query reveals what it asks for, and whether an explanation agrees with its label and cites its
evidence.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from halu_tasks.builders.documents import Document, read_documents
from halu_tasks.builders.pipelines.factchd_graph import (
    COMPARISON,
    MULTI_HOP,
    OPERATIONS,
    PATTERNS,
    SET_OPERATION,
    Draw,
    Graph,
    Subgraph,
    Triple,
    sample,
)
from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import short_hash
from halu_tasks.data.rows import json_lines, require_text
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks import explanations
from halu_tasks.scorers.methods import tokens
from halu_tasks.scorers.reading.questions import factual
from halu_tasks.text.folding import fold
from halu_tasks.text.sentences import sentences

VANILLA = "vanilla"
"""The pattern of text facts."""

Evidence = list[list[str] | str]
"""Pieces of evidence: each a triple, a pair of title and sentence, or a sentence."""

_SENTENCES = 3
"""Minimum number of sentences of an explanation: a statement about the response, facts, and a conclusion, which are
scored as its head, body and tail."""
_LONGEST = 8_000
"""Maximum number of characters of a query, response or explanation; models caught in a loop write longer ones."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_STATED = re.compile(r"\b(?:non|not|un)?[\s\-‐‑–]*factual\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_LONG = 8
"""Minimum number of letters for a shared word to count as cited rather than as a coincidence."""

logger = logging.getLogger(__name__)


# --- documents ------------------------------------------------------------------------------------


def facts_in(
    path: Path, draw: Draw, walks: int, hops: int, class_relation: str, *, one_answer: bool
) -> Iterator[Document]:
    """Yield the subgraphs sampled from the triples of a file or folder, then its text facts.

    In a folder, `triples.jsonl` has triples; other `.jsonl` files, and `.txt` and `.md` files, are texts. The content
    of a single file is determined by the fields of its first row.

    Args:
        path: The file or folder.
        draw: Draws numbers.
        walks: The number of subgraphs of each pattern.
        hops: See `sample`.
        class_relation: See `sample`.
        one_answer: See `sample`.

    Raises:
        DataError: A row is invalid (the message names file and line), or there are neither triples of which a subgraph
            can be made nor texts.
    """
    triples, texts = _files_of(path)
    if triples and walks:
        graph = Graph(triple for file in triples for triple in read_triples(file))
        subgraphs = list(sample(graph, draw, walks, hops, class_relation, one_answer))
        if not subgraphs and not texts:
            raise DataError(f"{path}: the {len(graph.triples)} triples contain no subgraph of any pattern")
        counts = Counter(subgraph.pattern for subgraph in subgraphs)
        if any(counts[pattern] < walks for pattern in PATTERNS):
            found = ", ".join(f"{counts[pattern]} {pattern}" for pattern in PATTERNS)
            number = len(graph.triples)
            logger.warning("%s: found %s in %d triples; %d of each requested", path, found, number, walks)
        yield from map(_subgraph_document, subgraphs)
    for file in texts:
        for document in read_documents(file):
            # rows that are subgraphs are kept as such
            pattern = {} if subgraph_of(document) else {"pattern": VANILLA}
            yield Document(document.id, document.text, {**document.fields, **pattern})


def _files_of(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of triples, and those of texts."""
    if not path.is_dir():
        return ([path], []) if _holds_triples(path) else ([], [path])
    triples = sorted(file for file in path.glob("triples.jsonl*") if file.is_file())
    if unknown := [file for file in triples if file.stat().st_size and not _holds_triples(file)]:
        raise DataError(
            f"{unknown[0]}: its rows lack the fields head, relation and tail; rename it if it contains texts"
        )
    texts = sorted({file for end in ("*.jsonl", "*.jsonl.gz") for file in path.glob(end)} - set(triples))
    if any(file.suffix in (".txt", ".md") and file.is_file() for file in path.rglob("*")):
        texts.append(path)
    if not triples and not texts:
        raise DataError(f"{path}: contains neither triples.jsonl nor other .jsonl, .txt or .md files of texts")
    return triples, texts


def _holds_triples(path: Path) -> bool:
    """Whether a file contains triples rather than texts."""
    for line, row in json_lines(path):
        if "text" in row:
            return False
        if "head" in row or "tail" in row:
            return True
        raise DataError(f"{path}:{line}: expected a triple (head, relation, tail) or a text (id, text)")
    return False


def read_triples(path: Path) -> Iterator[Triple]:
    """Read triples from JSON Lines.

    Raises:
        DataError: A row is not a triple; the message names file and line.
    """
    for line, row in json_lines(path):
        texts = {name: str(row[name]) for name in Triple._fields if isinstance(row.get(name), str | int | float)}
        try:
            if missing := [name for name in Triple._fields if name not in texts]:
                raise ValueError(f"field {missing[0]!r} is missing")
            require_text(texts, *Triple._fields)
        except ValueError as error:
            raise DataError(f"{path}:{line}: {error}") from None
        yield Triple(*(" ".join(text.split()) for text in texts.values()))


def _subgraph_document(subgraph: Subgraph) -> Document:
    parts = (subgraph.pattern, subgraph.operation, *(part for each in subgraph.conditions for part in each))
    text = "\n".join(" | ".join(triple) for triple in subgraph.triples)
    fields = {
        "pattern": subgraph.pattern,
        "operation": subgraph.operation,
        "conditions": [list(condition) for condition in subgraph.conditions],
        "triples": [list(triple) for triple in subgraph.triples],
    }
    return Document(short_hash(text, *parts), text, fields)


def subgraph_of(document: Document) -> Subgraph | None:
    """Return the subgraph of a document; None if it is a text fact."""
    fields = document.fields
    pattern, operation = fields.get("pattern"), fields.get("operation", "")
    triples = [_texts(each, 3) for each in _list(fields.get("triples"))]
    conditions = [_texts(each, 2) for each in _list(fields.get("conditions"))]
    if pattern not in PATTERNS or not triples or None in triples or None in conditions:
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


# --- checks ---------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Normalize a text to words for searching: folded, with single spaces around each, and no thousands separators.

    In scripts without spaces each character is a word.
    """
    words = [word for word in tokens(_THOUSANDS.sub("", fold(text))) if any(map(str.isalnum, word))]
    return f" {' '.join(words)} "


def names(text: str, name: str) -> bool:
    """Whether a text contains a name as whole words."""
    return plain(name).strip() != "" and plain(name) in plain(text)


def unfit(*texts: str, longest: int | None = _LONGEST) -> str:
    """Return a short reason why texts of a reply cannot be used as they are; empty if they can."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return "not Unicode text"
    return "too long" if longest is not None and max(map(len, texts), default=0) > longest else ""


# --- the query ------------------------------------------------------------------------------------


def query_faults(query: str, response: str, subgraph: Subgraph | None) -> list[tuple[str, str]]:
    """Return what is wrong with a query, as reasons (which are counted) with details.

    A query must not state its label, contain the response, or name what is to be inferred from the facts.

    Args:
        query: The query.
        response: The response to it.
        subgraph: The facts it asks about; None for a text fact.
    """
    faults = []
    if stated := _STATED.search(query):
        faults.append(("states a label", stated[0]))
    if plain(response).strip() and plain(response) in plain(query):
        faults.append(("contains the response", ""))
    if subgraph:
        remaining = plain(query)
        for name in sorted({plain(name) for name in named(subgraph)}, key=len, reverse=True):
            # a short name inside a longer one that the query may state is not revealed: "Paris" in "Paris Opera"
            remaining = remaining.replace(name, " | ") if name.strip() else remaining
        revealed = [name for name in hidden(subgraph) if plain(name).strip() and plain(name) in remaining]
        if revealed:
            faults.append(("gives the answer away", revealed[0]))
    return faults


def pattern_faults(query: str, subgraph: Subgraph | None) -> list[tuple[str, str]]:
    """Return which name a query of this pattern should state, but does not.

    Names that define sets are not checked, as they may be inflected ("sovereign states").
    """
    required = named(subgraph) if subgraph and subgraph.pattern != SET_OPERATION else ()
    missing = [name for name in required if plain(name).strip() and not names(query, name)]
    return [("does not name what it is about", missing[0])] if missing else []


def named(subgraph: Subgraph) -> tuple[str, ...]:
    """Return the names a query about a subgraph must state.

    These are the start of a walk, the entities compared, or what a set's members have in common.
    """
    if subgraph.pattern == MULTI_HOP:
        return (subgraph.triples[0].head,)
    if subgraph.pattern == COMPARISON:
        return tuple(dict.fromkeys(triple.head for triple in subgraph.triples))
    return tuple(tail for _, tail in subgraph.conditions)


def hidden(subgraph: Subgraph) -> tuple[str, ...]:
    """Return the names a query about a subgraph must not state: the rest of a walk, the values, or the members."""
    if subgraph.pattern == MULTI_HOP:
        return tuple(triple.tail for triple in subgraph.triples)
    if subgraph.pattern == COMPARISON:
        last = {triple.head: triple.tail for triple in subgraph.triples}
        return tuple(last.values())
    return tuple(dict.fromkeys(triple.head for triple in subgraph.triples))


# --- the explanation ------------------------------------------------------------------------------


def reason_of(label: str, explanation: str) -> Answer[str]:
    """Return the field `reason` of a row: the label, then the explanation without its own statement of the label.

    The answer is empty if a reader of the row would find the other label, or none.
    """
    opening = explanations.label_of(explanation)
    if opening not in (None, label):
        return Answer(None, "states the other label")
    if opening:
        explanation = explanations.explanation_of(explanation)
    reason = f"{label}.\n{explanation.strip()}"
    label_read = factual(reason).value
    if label_read != label or explanations.label_of(reason) != label or not explanations.explanation_of(reason):
        return Answer(None, "states the other label" if label_read else "states no label")
    return Answer(reason)


def explanation_faults(reason: str, evidence: Evidence) -> list[tuple[str, str]]:
    """Return what is wrong with an explanation: fewer than three sentences, or no evidence cited."""
    explanation = explanations.explanation_of(reason)
    faults = []
    if (number := len(sentences(explanation))) < _SENTENCES:
        faults.append(("fewer than three sentences", f"{number} sentences"))
    if not any(names(explanation, term) for term in terms(evidence)):
        faults.append(("cites none of the evidence", ""))
    return faults


def terms(evidence: Evidence) -> Iterable[str]:
    """Return the strings by which an explanation can cite the evidence.

    These are the heads and tails of triples; of a text its names, numbers and long words, or if it has none of these,
    its other words or pairs of characters.
    """
    cited: list[str] = []
    for piece in evidence:
        if not isinstance(piece, str) and len(piece) == 3:
            cited += [piece[0], piece[2]]
        else:
            cited += _terms_of_text(piece if isinstance(piece, str) else piece[-1])
    return dict.fromkeys(cited)


def _terms_of_text(text: str) -> Sequence[str]:
    # words of scripts that use spaces
    words = [word for word in _WORD.findall(text) if len(plain(word).split()) == 1 or word.isascii()]
    cited = [
        word
        for place, word in enumerate(words)
        # the first word is capitalized in any case
        if any(map(str.isdigit, word)) or (place and word[0].isupper()) or len(word) >= _LONG
    ]
    characters = plain(text).split()
    return cited or words or [" ".join(pair) for pair in pairwise(characters)] or characters
