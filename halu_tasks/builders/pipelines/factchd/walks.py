"""Sampling subgraphs of a knowledge graph for questions (FactCHD, sections 3 and 4.2).

These are walks of several hops and entities compared by a quantity; for sets of entities see `set_operations`. The
subgraphs depend on the set of triples and on the draws, not on the order of the triples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from halu_tasks.builders.pipelines.factchd.graph import COMPARISON, MULTI_HOP, Draw, Graph, Subgraph, collect, drawn
from halu_tasks.builders.pipelines.factchd.quantities import DATE, Quantity, as_year, comparable, quantity_of
from halu_tasks.builders.pipelines.factchd.set_operations import set_operations
from halu_tasks.builders.pipelines.factchd.triples import Triple

MOST_COMPARED = 5
"""Maximum number of entities in a comparison."""

_TRIES = 200
"""Maximum number of steps in the search for one walk."""
_DRAWN = 20
"""Number of entities drawn for one comparison, including those that cannot be compared with the others."""


def sample(graph: Graph, draw: Draw, most: int, hops: int, class_relation: str, one_answer: bool) -> Iterator[Subgraph]:
    """Yield up to `most` subgraphs of each pattern.

    Args:
        graph: The graph.
        draw: Draws numbers.
        most: Maximum number of subgraphs of each pattern.
        hops: Maximum number of triples in a walk.
        class_relation: The relation to an entity's class, see `comparisons`.
        one_answer: See `multi_hops`.
    """
    yield from multi_hops(graph, draw, most, hops, one_answer=one_answer)
    yield from comparisons(graph, draw, most, class_relation)
    yield from set_operations(graph, draw, most)


# --- walks ----------------------------------------------------------------------------------------


def multi_hops(graph: Graph, draw: Draw, most: int, hops: int, *, one_answer: bool = True) -> list[Subgraph]:
    """Return walks of 2 to `hops` triples, each starting where the previous one ends, that visit no entity twice.

    Args:
        graph: The graph.
        draw: Draws numbers.
        most: Maximum number of walks.
        hops: Maximum number of triples in a walk.
        one_answer: Take only steps whose relation has a single tail there, so that a description of the walk in words
            has only one possible end.
    """

    def make(begin: str, number: str) -> Subgraph | None:
        longest = 2 + draw("hops", number, begin) % (hops - 1)
        for length in range(longest, 1, -1):
            steps = [_TRIES]
            if walk := _walk(graph, draw, (), begin, length, (number, begin), one_answer, steps):
                return Subgraph(MULTI_HOP, "", (), walk)
        return None

    return collect(drawn(graph.of_head, draw, MULTI_HOP), make, most)


def _walk(
    graph: Graph,
    draw: Draw,
    walk: tuple[Triple, ...],
    at: str,
    length: int,
    of: tuple[str, ...],
    one_answer: bool,
    steps: list[int],
) -> tuple[Triple, ...] | None:
    """Extend a walk to its full length, trying ways in a random order; None if no way was found within the steps left.

    `steps` holds the number of steps left, and is shared by all calls for a walk.
    """
    if len(walk) == length:
        return walk
    visited = {walk[0].head, *(triple.tail for triple in walk)} if walk else {at}
    ways = graph.of_head.get(at, [])
    first = draw("step", *of, str(len(walk)), at) % len(ways) if ways else 0
    for triple in (*ways[first:], *ways[:first]):
        if triple.tail in visited or (one_answer and len(graph.tails[at, triple.relation]) > 1):
            continue
        steps[0] -= 1
        if steps[0] < 0:
            return None
        if complete := _walk(graph, draw, (*walk, triple), triple.tail, length, of, one_answer, steps):
            return complete
    return None


# --- comparisons ----------------------------------------------------------------------------------


class _Measured(NamedTuple):
    """An entity's triple with a quantity, the triple of its class, and the quantity."""

    value: Triple
    kind: Triple | None
    quantity: Quantity


def comparisons(graph: Graph, draw: Draw, most: int, class_relation: str) -> list[Subgraph]:
    """Return subgraphs of two to five entities with different quantities of one relation, kind and unit.

    Entities are compared within a class; those without a class among themselves. An entity with several quantities of
    a relation is not compared by it.

    Args:
        graph: The graph.
        draw: Draws numbers.
        most: Maximum number of subgraphs.
        class_relation: The relation to an entity's class.
    """
    groups = _measure(graph, class_relation)

    def make(name: str, number: str) -> Subgraph | None:
        group = groups[name]
        size = 2 + draw("size", number, name) % (min(MOST_COMPARED, len(group)) - 1)
        chosen: dict[str, _Measured] = {}
        for attempt in range(_DRAWN):
            candidate = group[draw("member", number, name, str(attempt)) % len(group)]
            if all(comparable(candidate.quantity, other.quantity) for other in chosen.values()):
                chosen[candidate.value.head] = candidate
            if len(chosen) == size:
                break
        if len(chosen) < 2:
            return None
        shown = [triple for _, each in sorted(chosen.items()) for triple in (each.kind, each.value) if triple]
        return Subgraph(COMPARISON, "", (), tuple(shown))

    return collect(drawn(groups, draw, COMPARISON), make, most)


def _measure(graph: Graph, class_relation: str) -> dict[str, list[_Measured]]:
    """Return the entities with a quantity, grouped by relation, kind, unit and class."""
    by_relation: dict[str, list[tuple[str, str, Quantity]]] = defaultdict(list)
    single = ((key, tails[0]) for key, tails in graph.tails.items() if len(tails) == 1 and key[1] != class_relation)
    for (head, relation), tail in single:
        if quantity := quantity_of(tail):
            by_relation[relation].append((head, tail, quantity))
    groups: dict[str, list[_Measured]] = defaultdict(list)
    for relation, quantities in by_relation.items():
        dated = any(quantity.kind == DATE for _, _, quantity in quantities)
        for head, tail, quantity in quantities:
            parsed = (as_year(tail) or quantity) if dated else quantity
            classes = graph.tails.get((head, class_relation), [])
            kinds: list[Triple | None] = [Triple(head, class_relation, kind) for kind in classes]
            for kind in kinds or [None]:
                key = "\0".join((relation, parsed.kind, parsed.unit, *([kind.tail] if kind else [])))
                groups[key].append(_Measured(Triple(head, relation, tail), kind, parsed))
    return {key: sorted(members, key=lambda each: each.value) for key, members in groups.items() if len(members) > 1}
