"""What can be told of a FactCHD draft without a model: whether its query gives away what it asks for, and whether its
explanation is one of its label that cites its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from halu_tasks.builders.factchd_documents import Evidence
from halu_tasks.builders.graph import COMPARISON, MULTI_HOP, SET_OPERATION, Subgraph
from halu_tasks.scorers import factchd
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.folding import fold
from halu_tasks.scorers.ngram import tokens
from halu_tasks.scorers.sentences import sentences

_SENTENCES = 3
"""Sentences of an explanation at least: what it says of the response, facts, and a conclusion, as head, body and tail
of it are scored."""
_LONGEST = 8_000
"""Characters of a query, a response or an explanation; longer ones are of models caught in a loop."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_STATED = re.compile(r"\b(?:non|not|un)?[\s\-‐‑–]*factual\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_LONG = 8
"""Letters of a word that is cited, and not there by chance."""


def plain(text: str) -> str:
    """The words of a text in a spelling that finds them again: folded, single spaces around each, numbers without
    marks of thousands. Each character is a word in scripts that set no spaces."""
    words = [word for word in tokens(_THOUSANDS.sub("", fold(text))) if any(map(str.isalnum, word))]
    return f" {' '.join(words)} "


def names(text: str, name: str) -> bool:
    """Whether a text holds a name, as whole words."""
    return plain(name).strip() != "" and plain(name) in plain(text)


def unfit(*texts: str, longest: int | None = _LONGEST) -> str:
    """Why texts of a reply cannot be written as they are, in a few words; empty where they can."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return "not Unicode text"
    return "too long" if longest is not None and max(map(len, texts), default=0) > longest else ""


# --- the query ------------------------------------------------------------------------------------


def query_faults(query: str, response: str, subgraph: Subgraph | None) -> list[tuple[str, str]]:
    """What is wrong with a query, as reasons that are counted and their details: it says its label, it holds the
    response, or it names what the facts are to tell."""
    found = []
    if stated := _STATED.search(query):
        found.append(("states a label", stated[0]))
    if plain(response).strip() and plain(response) in plain(query):
        found.append(("holds the response", ""))
    if subgraph:
        left = plain(query)
        for name in sorted({plain(name) for name in named(subgraph)}, key=len, reverse=True):
            # what a name of the query holds by chance is not given away: "Paris" in "Paris Opera"
            left = left.replace(name, " | ") if name.strip() else left
        given = [name for name in hidden(subgraph) if plain(name).strip() and plain(name) in left]
        if given:
            found.append(("gives the answer away", given[0]))
    return found


def pattern_faults(query: str, subgraph: Subgraph | None) -> list[tuple[str, str]]:
    """What of the facts a query of its pattern has to name, and does not. What sets are told by may be inflected
    ("sovereign states"), so that their names are not looked for."""
    wanted = named(subgraph) if subgraph and subgraph.pattern != SET_OPERATION else ()
    missing = [name for name in wanted if plain(name).strip() and not names(query, name)]
    return [("does not name what it is about", missing[0])] if missing else []


def named(subgraph: Subgraph) -> tuple[str, ...]:
    """What a query about a subgraph names: where a walk begins, who is compared, or what members of a set have."""
    if subgraph.pattern == MULTI_HOP:
        return (subgraph.triples[0].head,)
    if subgraph.pattern == COMPARISON:
        return tuple(dict.fromkeys(triple.head for triple in subgraph.triples))
    return tuple(tail for _, tail in subgraph.conditions)


def hidden(subgraph: Subgraph) -> tuple[str, ...]:
    """What a query about a subgraph must not name: the rest of a walk, the values compared, or the members."""
    if subgraph.pattern == MULTI_HOP:
        return tuple(triple.tail for triple in subgraph.triples)
    if subgraph.pattern == COMPARISON:
        last = {triple.head: triple.tail for triple in subgraph.triples}
        return tuple(last.values())
    return tuple(dict.fromkeys(triple.head for triple in subgraph.triples))


# --- the explanation ------------------------------------------------------------------------------


def reason_of(label: str, explanation: str) -> Answer[str]:
    """The field `reason` of a row: the label, then the explanation without a label of its own.

    None where a reader of the row would take it for the other label, or for none.
    """
    opening = factchd.label_of(explanation)
    if opening not in (None, label):
        return Answer(None, "states the other label")
    if opening:
        explanation = factchd.explanation_of(explanation)
    reason = f"{label}.\n{explanation.strip()}"
    found = factchd.read(reason)[0].value
    if found != label or factchd.label_of(reason) != label or not factchd.explanation_of(reason):
        return Answer(None, "states the other label" if found else "states no label")
    return Answer(reason)


def explanation_faults(reason: str, evidence: Evidence) -> list[tuple[str, str]]:
    """What is wrong with an explanation: it has fewer than three sentences, or cites none of the evidence."""
    explanation = factchd.explanation_of(reason)
    found = []
    if (number := len(sentences(explanation))) < _SENTENCES:
        found.append(("fewer than three sentences", f"{number} sentences"))
    if not any(names(explanation, term) for term in terms(evidence)):
        found.append(("cites none of the evidence", ""))
    return found


def terms(evidence: Evidence) -> Iterable[str]:
    """What an explanation can cite of the evidence: the ends of triples; of a text its names, numbers and long words,
    or its other words, or its pairs of characters, where it has none of those."""
    found: list[str] = []
    for piece in evidence:
        if not isinstance(piece, str) and len(piece) == 3:
            found += [piece[0], piece[2]]
        else:
            found += _terms_of_text(piece if isinstance(piece, str) else piece[-1])
    return dict.fromkeys(found)


def _terms_of_text(text: str) -> Sequence[str]:
    # words of scripts that set spaces
    words = [word for word in _WORD.findall(text) if len(plain(word).split()) == 1 or word.isascii()]
    cited = [
        word
        for place, word in enumerate(words)
        # the first word has a capital whatever it is
        if any(map(str.isdigit, word)) or (place and word[0].isupper()) or len(word) >= _LONG
    ]
    characters = plain(text).split()
    return cited or words or [" ".join(pair) for pair in pairwise(characters)] or characters
