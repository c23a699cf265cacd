"""Checks of FactCHD drafts that need no model.

They test whether a query reveals what it asks for, and whether an explanation agrees with its label and cites its
evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from halu_tasks.builders.pipelines.factchd.documents import Evidence
from halu_tasks.builders.pipelines.factchd.graph import COMPARISON, MULTI_HOP, SET_OPERATION, Subgraph
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks import factchd
from halu_tasks.scorers.methods.ngram import tokens
from halu_tasks.text.folding import fold
from halu_tasks.text.sentences import sentences

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
    opening = factchd.label_of(explanation)
    if opening not in (None, label):
        return Answer(None, "states the other label")
    if opening:
        explanation = factchd.explanation_of(explanation)
    reason = f"{label}.\n{explanation.strip()}"
    label_read = factchd.read(reason)[0].value
    if label_read != label or factchd.label_of(reason) != label or not factchd.explanation_of(reason):
        return Answer(None, "states the other label" if label_read else "states no label")
    return Answer(reason)


def explanation_faults(reason: str, evidence: Evidence) -> list[tuple[str, str]]:
    """Return what is wrong with an explanation: fewer than three sentences, or no evidence cited."""
    explanation = factchd.explanation_of(reason)
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
