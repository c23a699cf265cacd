"""Subgraphs of triples: what they hold is in the graph and is what their pattern says, whatever the graph."""

import hashlib
import random
from decimal import Decimal
from itertools import combinations

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.builders.pipelines.factchd_graph import (
    COMPARISON,
    COUNTING,
    DIFFERENCE,
    INTERSECTION,
    MOST_COMPARED,
    MOST_MEMBERS,
    MOST_TRIPLES,
    MULTI_HOP,
    SET_OPERATION,
    UNION,
    Graph,
    Subgraph,
    Triple,
    comparable,
    comparisons,
    multi_hops,
    quantity_of,
    set_operations,
)

CLASS = "instance of"
NAMES = st.sampled_from("ABCDEFGH")
VALUES = st.sampled_from(
    ["1", "2", "1,500", "2.5 km", "30 km", "1954", "1955-11-03", "1955", "12%", "about 3", "1955-13"]
)
TRIPLES = st.lists(
    st.builds(Triple, NAMES, st.sampled_from(["r", "s", "t"]), NAMES)
    | st.builds(Triple, NAMES, st.sampled_from(["size", "since"]), VALUES)
    | st.builds(Triple, NAMES, st.just(CLASS), st.sampled_from(["town", "river"])),
    max_size=40,
)  # fmt: skip


def draw(*of: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(of).encode()).digest()[:8], "big")


def found(triples: list[Triple], most: int = 10, hops: int = 4, one_answer: bool = True) -> list[Subgraph]:
    graph = Graph(triples)
    walks = multi_hops(graph, draw, most, hops, one_answer=one_answer)
    return [*walks, *comparisons(graph, draw, most, CLASS), *set_operations(graph, draw, most)]


def of_pattern(subgraphs: list[Subgraph], pattern: str) -> list[Subgraph]:
    return [subgraph for subgraph in subgraphs if subgraph.pattern == pattern]


@given(TRIPLES, st.randoms(use_true_random=False))
def test_the_order_of_triples_and_repetitions_make_no_difference(triples: list[Triple], rng: random.Random) -> None:
    others = [*triples, *rng.sample(triples, len(triples) // 2)]
    rng.shuffle(others)
    assert found(others) == found(triples)


@given(TRIPLES, st.integers(0, 5))
def test_subgraphs_are_of_the_graph_each_once_and_no_more_than_asked_for(triples: list[Triple], most: int) -> None:
    subgraphs = found(triples, most)
    assert len(set(subgraphs)) == len(subgraphs)
    for pattern in (MULTI_HOP, COMPARISON, SET_OPERATION):
        assert len(of_pattern(subgraphs, pattern)) <= most
    for subgraph in subgraphs:
        assert set(subgraph.triples) <= set(triples)


@given(TRIPLES, st.booleans())
def test_a_walk_is_connected_and_meets_no_entity_twice(triples: list[Triple], one_answer: bool) -> None:
    for walk in of_pattern(found(triples, one_answer=one_answer), MULTI_HOP):
        assert 2 <= len(walk.triples) <= 4 and len(set(walk.triples)) == len(walk.triples)
        for triple, following in zip(walk.triples, walk.triples[1:], strict=False):
            assert triple.tail == following.head
        met = [walk.triples[0].head, *(triple.tail for triple in walk.triples)]
        assert len(set(met)) == len(met)
        if one_answer:
            for triple in walk.triples:
                assert {other.tail for other in triples if other[:2] == triple[:2]} == {triple.tail}


@given(TRIPLES)
def test_compared_values_are_of_one_relation_and_class_and_all_differ(triples: list[Triple]) -> None:
    for comparison in of_pattern(found(triples), COMPARISON):
        values = [triple for triple in comparison.triples if triple.relation != CLASS]
        classes = [triple for triple in comparison.triples if triple.relation == CLASS]
        assert 2 <= len(values) <= MOST_COMPARED and len({triple.head for triple in values}) == len(values)
        assert len({triple.relation for triple in values}) == 1
        if classes:
            assert len({triple.tail for triple in classes}) == 1
            assert {triple.head for triple in classes} == {triple.head for triple in values}
        else:
            assert not any(
                other.head == triple.head and other.relation == CLASS for triple in values for other in triples
            )
        for one, other in combinations(values, 2):
            a, b = quantity_of(one.tail), quantity_of(other.tail)
            assert a and b and comparable(a, b)


@given(TRIPLES)
def test_a_set_shows_every_entity_that_its_question_asks_for(triples: list[Triple]) -> None:
    known = set(triples)
    for subgraph in of_pattern(found(triples, most=40), SET_OPERATION):
        sets = [{t.head for t in known if (t.relation, t.tail) == condition} for condition in subgraph.conditions]
        shown = {triple.head for triple in subgraph.triples}
        assert len(subgraph.triples) <= MOST_TRIPLES and len(shown) <= MOST_MEMBERS
        first, second = (*sets, set())[:2]
        if subgraph.operation == INTERSECTION:
            assert shown == first & second and len(shown) > 1
        elif subgraph.operation == UNION:
            assert shown == first | second and first - second and second - first
        elif subgraph.operation == COUNTING:
            assert shown == first and len(shown) > 1
        else:
            assert subgraph.operation == DIFFERENCE
            assert shown == first and first & second and first - second
            other = subgraph.conditions[1][0]
            for head in first - second:  # that it does not meet the condition is shown, not concluded from silence
                assert any(triple.head == head and triple.relation == other for triple in subgraph.triples)


def test_every_pattern_and_operation_comes_of_a_small_graph() -> None:
    rows = ["A r B", "B s C", "C t D", "A size 3", "B size 4", "E r B", "E s F", "G r B", "G s C", "A s C"]
    rows += ["H r I", "I s J", "J t K"]
    subgraphs = found([Triple(*row.split()) for row in rows], most=50)
    assert {subgraph.pattern for subgraph in subgraphs} == {MULTI_HOP, COMPARISON, SET_OPERATION}
    assert {s.operation for s in of_pattern(subgraphs, SET_OPERATION)} == {INTERSECTION, UNION, DIFFERENCE, COUNTING}
    walks = {(walk.triples[0].head, *(t.tail for t in walk.triples)) for walk in of_pattern(subgraphs, MULTI_HOP)}
    assert {("H", "I", "J", "K"), ("E", "B", "C", "D"), ("I", "J", "K")} <= walks


def test_sets_too_large_to_show_are_not_asked_about() -> None:
    large = [Triple(f"X{n}", "r", "B") for n in range(MOST_MEMBERS + 1)]
    told = [Triple(f"X{n}", "s", "CD"[n % 2]) for n in range(MOST_MEMBERS + 1)]
    sets = of_pattern(found([*large, *told], most=50), SET_OPERATION)
    # those who are C, or D, are few enough, and so are those of them who are B
    assert {subgraph.operation for subgraph in sets} == {INTERSECTION, COUNTING}
    assert all(("r", "B") not in each.conditions for each in sets if each.operation == COUNTING)


def test_quantities_of_two_units_or_kinds_are_not_comparable() -> None:
    one, other, date, none = (quantity_of(text) for text in ("1 km", "2 mile", "1969-11-03", "5"))
    assert one and other and date and none
    assert not comparable(one, other) and not comparable(none, date) and not comparable(one, none)
    assert comparable(one, one._replace(low=other.low, high=other.high))


def test_dates_are_compared_only_where_they_surely_differ() -> None:
    dates = [
        Triple(*row) for row in (("A", "since", "1954-00-00"), ("B", "since", "1955-11-03"), ("C", "since", "1955-11"))
    ]
    values = {frozenset(triple.head for triple in each.triples) for each in of_pattern(found(dates), COMPARISON)}
    assert values == {frozenset("AB"), frozenset("AC")}


def test_an_entity_with_two_values_is_not_compared() -> None:
    rows = [Triple("A", "size", "1"), Triple("A", "size", "9"), Triple("B", "size", "2"), Triple("C", "size", "3")]
    for comparison in of_pattern(found(rows), COMPARISON):
        assert {triple.head for triple in comparison.triples} == {"B", "C"}


@pytest.mark.parametrize(("text", "number", "unit"), CASES["numbers_are_read_with_their_units"])
def test_numbers_are_read_with_their_units(text: str, number: str, unit: str) -> None:
    read = quantity_of(text)
    assert read and read.low == read.high == (Decimal(number),) and read.unit == unit


def test_what_may_be_read_in_two_ways_is_no_quantity() -> None:
    for text in ("about 20", "1,5", "3 of 4", "12,34,567", "", "x", "1-2", "5 to 6 km 7", "1 2", "²", "٣"):
        assert quantity_of(text) is None, text
    for date in ("1969-13-01", "1969-00-05"):
        assert quantity_of(date) is None, date


@given(st.text(max_size=30) | st.from_regex(r"[+-]?[\d,.]{1,9}( ?[a-z%°]{0,5})?", fullmatch=True))
def test_reading_a_quantity_never_raises(text: str) -> None:
    quantity_of(text)
