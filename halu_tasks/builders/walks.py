"""Subgraphs of a knowledge graph that questions can be asked about (FactCHD, sections 3 and 4.2): walks of several
hops, and entities that are compared by a quantity; sets of entities are in `set_operations`.

Pure: the subgraphs depend on the set of triples and on the draws, not on the order of the triples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from halu_tasks.builders.graph import COMPARISON, MULTI_HOP, Draw, Graph, Subgraph, collect, drawn
from halu_tasks.builders.quantities import DATE, Quantity, as_year, comparable, quantity_of
from halu_tasks.builders.set_operations import set_operations
from halu_tasks.builders.triples import Triple

MOST_COMPARED = 5
"""Entities that are compared at most."""

_TRIES = 200
"""Steps in search of one walk."""
_DRAWN = 20
"""Entities that are drawn for one comparison, those that do not go with the others among them."""


def sample(graph: Graph, draw: Draw, most: int, hops: int, class_relation: str, one_answer: bool) -> Iterator[Subgraph]:
    """At most `most` subgraphs of each pattern."""
    yield from multi_hops(graph, draw, most, hops, one_answer=one_answer)
    yield from comparisons(graph, draw, most, class_relation)
    yield from set_operations(graph, draw, most)


# --- walks ----------------------------------------------------------------------------------------


def multi_hops(graph: Graph, draw: Draw, most: int, hops: int, *, one_answer: bool = True) -> list[Subgraph]:
    """Walks of 2 to `hops` triples, each beginning where the one before ends, that meet no entity twice. With
    `one_answer` each step is the only one of its relation from there, so that the walk told in words leads nowhere
    else."""

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
    """The walk gone on with to its length, by the first way drawn that leads there; None where there is none, or
    none was found in the steps left."""
    if len(walk) == length:
        return walk
    met = {walk[0].head, *(triple.tail for triple in walk)} if walk else {at}
    ways = graph.of_head.get(at, [])
    first = draw("step", *of, str(len(walk)), at) % len(ways) if ways else 0
    for triple in (*ways[first:], *ways[:first]):
        if triple.tail in met or (one_answer and len(graph.tails[at, triple.relation]) > 1):
            continue
        steps[0] -= 1
        if steps[0] < 0:
            return None
        if whole := _walk(graph, draw, (*walk, triple), triple.tail, length, of, one_answer, steps):
            return whole
    return None


# --- comparisons ----------------------------------------------------------------------------------


class _Measured(NamedTuple):
    value: Triple
    kind: Triple | None
    quantity: Quantity


def comparisons(graph: Graph, draw: Draw, most: int, class_relation: str) -> list[Subgraph]:
    """Two to five entities with a quantity each, of one relation, kind and unit, any two of which differ.

    Entities are compared within a class, which `class_relation` tells; those whose class is not told, among
    themselves. One with several quantities of a relation is not compared by it.
    """
    groups = _measured(graph, class_relation)

    def make(name: str, number: str) -> Subgraph | None:
        group = groups[name]
        size = 2 + draw("size", number, name) % (min(MOST_COMPARED, len(group)) - 1)
        chosen: dict[str, _Measured] = {}
        for attempt in range(_DRAWN):
            own = group[draw("member", number, name, str(attempt)) % len(group)]
            if all(comparable(own.quantity, other.quantity) for other in chosen.values()):
                chosen[own.value.head] = own
            if len(chosen) == size:
                break
        if len(chosen) < 2:
            return None
        shown = [triple for _, own in sorted(chosen.items()) for triple in (own.kind, own.value) if triple]
        return Subgraph(COMPARISON, "", (), tuple(shown))

    return collect(drawn(groups, draw, COMPARISON), make, most)


def _measured(graph: Graph, class_relation: str) -> dict[str, list[_Measured]]:
    """The entities with a quantity by relation, kind, unit and class."""
    found: dict[str, list[tuple[str, str, Quantity]]] = defaultdict(list)
    single = ((key, tails[0]) for key, tails in graph.tails.items() if len(tails) == 1 and key[1] != class_relation)
    for (head, relation), tail in single:
        if quantity := quantity_of(tail):
            found[relation].append((head, tail, quantity))
    groups: dict[str, list[_Measured]] = defaultdict(list)
    for relation, own in found.items():
        dated = any(quantity.kind == DATE for _, _, quantity in own)
        for head, tail, quantity in own:
            read = (as_year(tail) or quantity) if dated else quantity
            classes = graph.tails.get((head, class_relation), [])
            kinds: list[Triple | None] = [Triple(head, class_relation, kind) for kind in classes]
            for kind in kinds or [None]:
                key = "\0".join((relation, read.kind, read.unit, *([kind.tail] if kind else [])))
                groups[key].append(_Measured(Triple(head, relation, tail), kind, read))
    return {key: sorted(own, key=lambda each: each.value) for key, own in groups.items() if len(own) > 1}
