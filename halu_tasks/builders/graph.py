"""A knowledge graph in memory, and the subgraphs that questions are asked about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from halu_tasks.builders.triples import Triple

MULTI_HOP, COMPARISON, SET_OPERATION = "multi_hop", "comparison", "set_operation"
INTERSECTION, UNION, DIFFERENCE, COUNTING = "intersection", "union", "difference", "counting"
OPERATIONS = (INTERSECTION, UNION, DIFFERENCE, COUNTING)

_ROUNDS = 20
"""Times that each entity or group may begin a subgraph."""

Draw = Callable[..., int]
Condition = tuple[str, str]
"""A relation and a tail: those entities meet it that have it."""


class Subgraph(NamedTuple):
    """Triples that a question is asked about.

    Attributes:
        pattern: the factuality pattern, by the paper's name.
        operation: what is done to the sets; empty for other patterns.
        conditions: what tells the sets, one or two; none for other patterns.
        triples: the facts; those of a walk in its order.
    """

    pattern: str
    operation: str
    conditions: tuple[Condition, ...]
    triples: tuple[Triple, ...]


class Graph:
    """Triples by what they are looked up by, all in sorted order."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = frozenset(triples)
        self.of_head: dict[str, list[Triple]] = defaultdict(list)
        self.members: dict[Condition, list[str]] = defaultdict(list)
        self.tails: dict[tuple[str, str], list[str]] = defaultdict(list)
        for triple in sorted(self.triples):
            self.of_head[triple.head].append(triple)
            self.members[triple.relation, triple.tail].append(triple.head)
            self.tails[triple.head, triple.relation].append(triple.tail)

    @cached_property
    def tails_of_relation(self) -> dict[str, list[str]]:
        """The tails that a relation has anywhere, each once."""
        found: dict[str, list[str]] = defaultdict(list)
        for relation, tail in self.members:
            found[relation].append(tail)
        return {relation: sorted(tails) for relation, tails in found.items()}


def collect(begins: Sequence[str], make: Callable[[str, str], Subgraph | None], most: int) -> list[Subgraph]:
    """Subgraphs made of each beginning in turn, round after round, until there are `most` or two rounds bring none."""
    found: dict[Subgraph, None] = {}
    idle = 0
    for number in range(_ROUNDS):
        before = len(found)
        for begin in begins:
            if len(found) >= most:
                return list(found)
            if subgraph := make(begin, str(number)):
                found.setdefault(subgraph)
        idle = 0 if len(found) > before else idle + 1
        if idle == 2:
            break
    return list(found)


def drawn(names: Iterable[str], draw: Draw, *of: str) -> list[str]:
    """The names in an order that is drawn."""
    return sorted(names, key=lambda name: (draw(*of, name), name))
