"""A knowledge graph in memory, and the subgraphs that questions are asked about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from halu_tasks.builders.pipelines.factchd.triples import Triple

MULTI_HOP, COMPARISON, SET_OPERATION = "multi_hop", "comparison", "set_operation"
INTERSECTION, UNION, DIFFERENCE, COUNTING = "intersection", "union", "difference", "counting"
OPERATIONS = (INTERSECTION, UNION, DIFFERENCE, COUNTING)

_ROUNDS = 20
"""Number of times each entity or group can be the start of a subgraph."""

Draw = Callable[..., int]
Condition = tuple[str, str]
"""A relation and a tail; an entity meets the condition if it has this tail."""


class Subgraph(NamedTuple):
    """Triples that a question is asked about.

    Attributes:
        pattern: The factuality pattern, by the paper's name.
        operation: The set operation; empty for other patterns.
        conditions: The one or two conditions that define the sets; empty for other patterns.
        triples: The facts; those of a walk are in its order.
    """

    pattern: str
    operation: str
    conditions: tuple[Condition, ...]
    triples: tuple[Triple, ...]


class Graph:
    """Triples, indexed for lookups; all indexes are sorted.

    Attributes:
        triples: All triples.
        of_head: Triples by head.
        members: Heads by condition.
        tails: Tails by head and relation.
    """

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
        """The different tails of each relation."""
        by_relation: dict[str, list[str]] = defaultdict(list)
        for relation, tail in self.members:
            by_relation[relation].append(tail)
        return {relation: sorted(tails) for relation, tails in by_relation.items()}


def collect(begins: Sequence[str], make: Callable[[str, str], Subgraph | None], most: int) -> list[Subgraph]:
    """Make subgraphs from each start in turn, until there are `most` or two rounds add none.

    Args:
        begins: The starts.
        make: Makes a subgraph from a start and the number of the round; None if it cannot.
        most: Maximum number of subgraphs.
    """
    subgraphs: dict[Subgraph, None] = {}
    idle = 0
    for number in range(_ROUNDS):
        before = len(subgraphs)
        for begin in begins:
            if len(subgraphs) >= most:
                return list(subgraphs)
            if subgraph := make(begin, str(number)):
                subgraphs.setdefault(subgraph)
        idle = 0 if len(subgraphs) > before else idle + 1
        if idle == 2:
            break
    return list(subgraphs)


def drawn(names: Iterable[str], draw: Draw, *of: str) -> list[str]:
    """Return the names in a random order determined by `draw`."""
    return sorted(names, key=lambda name: (draw(*of, name), name))
