"""Sets of entities of a knowledge graph, and what questions do to them (FactCHD, sections 3 and 4.2)."""

from __future__ import annotations

from halu_tasks.builders.graph import (
    COUNTING,
    DIFFERENCE,
    INTERSECTION,
    OPERATIONS,
    SET_OPERATION,
    UNION,
    Condition,
    Draw,
    Graph,
    Subgraph,
    collect,
    drawn,
)
from halu_tasks.builders.quantities import quantity_of
from halu_tasks.builders.triples import Triple

MOST_MEMBERS = 8
"""Entities of a set that is shown at most; the two sets of an intersection may have more, of which those in both are
shown."""
MOST_TRIPLES = 20

_WIDEST = 10_000
"""Entities of the smaller of two sets whose intersection is looked for."""


def set_operations(graph: Graph, draw: Draw, most: int) -> list[Subgraph]:
    """Entities that meet a condition, and what is done to them: those who meet two conditions, one of two, or one and
    not the other, and their number. What is shown holds every member that the graph has.

    Where a condition is not met, the entity has that relation to something else: a graph that does not say is no
    evidence.
    """
    makers = {INTERSECTION: _intersection, UNION: _union, DIFFERENCE: _difference, COUNTING: _counting}

    def make(begin: str, number: str) -> Subgraph | None:
        conditions = [(t.relation, t.tail) for t in graph.of_head[begin] if quantity_of(t.tail) is None]
        if not conditions:
            return None
        turn = draw("condition", number, begin)
        first = conditions[turn % len(conditions)]
        others = [condition for condition in conditions if condition != first]
        second = others[turn // len(conditions) % len(others)] if others else None
        start = draw("operation", number, begin) % len(OPERATIONS)
        for operation in (*OPERATIONS[start:], *OPERATIONS[:start]):
            if made := makers[operation](graph, first, second, turn):
                conditions_, triples = made
                if len(triples) <= MOST_TRIPLES:
                    return Subgraph(SET_OPERATION, operation, conditions_, triples)
        return None

    return collect(drawn(graph.of_head, draw, SET_OPERATION), make, most)


_Made = tuple[tuple[Condition, ...], tuple[Triple, ...]] | None


def _intersection(graph: Graph, first: Condition, second: Condition | None, turn: int) -> _Made:
    if second is None:
        return None
    few = min(graph.members[first], graph.members[second], key=len)
    if len(few) > _WIDEST:
        return None
    one, other = sorted((first, second))
    both = [head for head in few if Triple(head, *one) in graph.triples and Triple(head, *other) in graph.triples]
    if not 2 <= len(both) <= MOST_MEMBERS:
        return None
    return (one, other), tuple(Triple(head, *each) for head in both for each in (one, other))


def _union(graph: Graph, first: Condition, second: Condition | None, turn: int) -> _Made:
    relation = first[0]
    tails = graph.tails_of_relation[relation]
    other = relation, tails[turn % len(tails)]
    members, others = set(graph.members[first]), set(graph.members[other])
    size = len(members | others)
    if members <= others or others <= members or not 3 <= size <= MOST_MEMBERS or quantity_of(other[1]):
        return None
    shown = [Triple(head, *each) for each in sorted((first, other)) for head in graph.members[each]]
    return (min(first, other), max(first, other)), tuple(shown)


def _difference(graph: Graph, first: Condition, second: Condition | None, turn: int) -> _Made:
    """Those who meet the first condition and not the second, which some of them do."""
    members = graph.members[first]
    if second is None or second[0] == first[0] or len(members) > MOST_MEMBERS:
        return None
    theirs = {head: graph.tails.get((head, second[0]), []) for head in members}
    meeting = [head for head, tails in theirs.items() if second[1] in tails]
    if not meeting or len(meeting) == len(members) or not all(theirs.values()):
        return None
    shown = [(Triple(head, *first), *(Triple(head, second[0], tail) for tail in theirs[head])) for head in members]
    return (first, second), tuple(triple for each in shown for triple in each)


def _counting(graph: Graph, first: Condition, second: Condition | None, turn: int) -> _Made:
    members = graph.members[first]
    if not 2 <= len(members) <= MOST_MEMBERS:
        return None
    return (first,), tuple(Triple(head, *first) for head in members)
