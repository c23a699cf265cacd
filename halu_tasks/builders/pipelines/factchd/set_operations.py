"""Set operations on entities of a knowledge graph, for questions about them (FactCHD, sections 3 and 4.2)."""

from __future__ import annotations

from halu_tasks.builders.pipelines.factchd.graph import (
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
from halu_tasks.builders.pipelines.factchd.quantities import quantity_of
from halu_tasks.builders.pipelines.factchd.triples import Triple

MOST_MEMBERS = 8
"""Maximum number of entities shown. The two sets of an intersection may be larger, as only common members are shown."""
MOST_TRIPLES = 20

_WIDEST = 10_000
"""Maximum size of the smaller of two sets to look for their intersection."""


def set_operations(graph: Graph, draw: Draw, most: int) -> list[Subgraph]:
    """Return subgraphs of entities that meet conditions, for set operations.

    The entities meet two conditions, one of two, or one but not the other, or are counted. Subgraphs contain every
    member in the graph. If an entity does not meet a condition, it has that relation to something else: a missing
    relation would be no evidence.

    Args:
        graph: The graph.
        draw: Draws numbers.
        most: Maximum number of subgraphs.
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
            if operands := makers[operation](graph, first, second, turn):
                used, triples = operands
                if len(triples) <= MOST_TRIPLES:
                    return Subgraph(SET_OPERATION, operation, used, triples)
        return None

    return collect(drawn(graph.of_head, draw, SET_OPERATION), make, most)


_Operands = tuple[tuple[Condition, ...], tuple[Triple, ...]] | None


def _intersection(graph: Graph, first: Condition, second: Condition | None, turn: int) -> _Operands:
    """Return the entities that meet both conditions."""
    if second is None:
        return None
    smaller = min(graph.members[first], graph.members[second], key=len)
    if len(smaller) > _WIDEST:
        return None
    one, other = sorted((first, second))
    both = [head for head in smaller if Triple(head, *one) in graph.triples and Triple(head, *other) in graph.triples]
    if not 2 <= len(both) <= MOST_MEMBERS:
        return None
    return (one, other), tuple(Triple(head, *each) for head in both for each in (one, other))


def _union(graph: Graph, first: Condition, second: Condition | None, turn: int) -> _Operands:
    """Return the entities that meet the first condition, or the same relation to another tail."""
    relation = first[0]
    tails = graph.tails_of_relation[relation]
    other = relation, tails[turn % len(tails)]
    members, others = set(graph.members[first]), set(graph.members[other])
    size = len(members | others)
    if members <= others or others <= members or not 3 <= size <= MOST_MEMBERS or quantity_of(other[1]):
        return None
    shown = [Triple(head, *each) for each in sorted((first, other)) for head in graph.members[each]]
    return (min(first, other), max(first, other)), tuple(shown)


def _difference(graph: Graph, first: Condition, second: Condition | None, turn: int) -> _Operands:
    """Return the entities that meet the first condition, some but not all of which meet the second."""
    members = graph.members[first]
    if second is None or second[0] == first[0] or len(members) > MOST_MEMBERS:
        return None
    theirs = {head: graph.tails.get((head, second[0]), []) for head in members}
    meeting = [head for head, tails in theirs.items() if second[1] in tails]
    if not meeting or len(meeting) == len(members) or not all(theirs.values()):
        return None
    shown = [(Triple(head, *first), *(Triple(head, second[0], tail) for tail in theirs[head])) for head in members]
    return (first, second), tuple(triple for each in shown for triple in each)


def _counting(graph: Graph, first: Condition, second: Condition | None, turn: int) -> _Operands:
    """Return the entities that meet the first condition, to be counted."""
    members = graph.members[first]
    if not 2 <= len(members) <= MOST_MEMBERS:
        return None
    return (first,), tuple(Triple(head, *first) for head in members)
