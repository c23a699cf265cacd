"""FactCHD's documents: text facts, and subgraphs of a knowledge graph to ask about (sections 3 and 4.2).

Subgraphs are walks of several hops, entities compared by a quantity, and sets of entities. They depend on the set of
triples and on the draws, not on the order of the triples.
"""

import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import chain, product
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from halu_tasks.builders.documents import Document, read_documents, text_files
from halu_tasks.core.errors import DataError
from halu_tasks.core.files import visible_files
from halu_tasks.core.hashing import short_hash
from halu_tasks.data.rows import json_lines, require_fields, require_text

VANILLA = "vanilla"
"""The pattern of text facts."""
MULTI_HOP, COMPARISON, SET_OPERATION = PATTERNS = "multi_hop", "comparison", "set_operation"
INTERSECTION, UNION, DIFFERENCE, COUNTING = OPERATIONS = "intersection", "union", "difference", "counting"

# number of times each entity or group can be the start of a subgraph
_ROUNDS = 20

logger = logging.getLogger(__name__)

Draw = Callable[..., int]
Condition = tuple[str, str]
"""A relation and a tail; an entity meets the condition if it has this tail."""


class Triple(NamedTuple):
    """A fact of a knowledge graph."""

    head: str
    relation: str
    tail: str


class Subgraph(NamedTuple):
    """Triples that a question is asked about; a text fact is a subgraph without triples.

    Attributes:
        pattern: The factuality pattern, by the paper's name.
        operation: The set operation; empty for other patterns.
        conditions: The one or two conditions that define the sets; empty for other patterns.
        triples: The facts; those of a walk are in its order.
    """

    pattern: str
    operation: str = ""
    conditions: tuple[Condition, ...] = ()
    triples: tuple[Triple, ...] = ()


_SUBGRAPH = TypeAdapter(Subgraph)


class Graph:
    """Triples, indexed for lookups; all indexes are sorted.

    Attributes:
        triples: All triples.
        of_head: Triples by head.
        members: Heads by condition.
        tails: Tails by head and relation.
        tails_of_relation: The different tails of each relation.
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
        self.tails_of_relation: dict[str, list[str]] = defaultdict(list)
        for relation, tail in sorted(self.members):
            self.tails_of_relation[relation].append(tail)


def sample_subgraphs(
    pattern: str, starts: Iterable[str], draw: Draw, make: Callable[[str, str], Subgraph | None], most: int
) -> list[Subgraph]:
    """Make subgraphs from each start in turn, until there are `most`, a few times.

    Args:
        pattern: The pattern of the subgraphs.
        starts: The starts; their order is drawn.
        draw: Draws numbers.
        make: Makes a subgraph from a start and the number of the round; None if it cannot.
        most: Maximum number of subgraphs.
    """
    ordered, subgraphs = sorted(starts, key=lambda start: (draw(pattern, start), start)), dict[Subgraph, None]()
    for number, start in product(range(_ROUNDS), ordered):
        if len(subgraphs) >= most:
            break
        if subgraph := make(start, str(number)):
            subgraphs.setdefault(subgraph)
    return list(subgraphs)


MOST_COMPARED = 5
"""Maximum number of entities in a comparison."""

# maximum number of steps in the search for one walk
_TRIES = 200
# number of entities drawn for one comparison, including those that cannot be compared with the others
_DRAWN = 20


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
        steps = 0

        def extend(walk: tuple[Triple, ...], at: str, length: int) -> tuple[Triple, ...] | None:
            """Extend a walk to its full length, trying ways in a random order; None if no way was found in time."""
            nonlocal steps
            if len(walk) == length:
                return walk
            visited = {begin, *(triple.tail for triple in walk)}
            ways = graph.of_head.get(at, [])
            first = draw("step", number, begin, str(len(walk)), at) % len(ways) if ways else 0
            for triple in (*ways[first:], *ways[:first]):
                if triple.tail in visited or (one_answer and len(graph.tails[at, triple.relation]) > 1):
                    continue
                steps += 1
                if steps > _TRIES:
                    return None
                if complete := extend((*walk, triple), triple.tail, length):
                    return complete
            return None

        for length in range(longest, 1, -1):
            steps = 0
            if walk := extend((), begin, length):
                return Subgraph(MULTI_HOP, triples=walk)
        return None

    return sample_subgraphs(MULTI_HOP, graph.of_head, draw, make, most)


# --- comparisons ----------------------------------------------------------------------------------


# an entity's triple with a quantity, the triple of its class, and the quantity
_Comparable = tuple[Triple, Triple | None, "Quantity"]


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
        chosen: dict[str, _Comparable] = {}
        for attempt in range(_DRAWN):
            candidate = group[draw("member", number, name, str(attempt)) % len(group)]
            if all(comparable(candidate[2], other[2]) for other in chosen.values()):
                chosen[candidate[0].head] = candidate
            if len(chosen) == size:
                break
        if len(chosen) < 2:
            return None
        triples = [triple for _, (value, kind, _) in sorted(chosen.items()) for triple in (kind, value) if triple]
        return Subgraph(COMPARISON, triples=tuple(triples))

    return sample_subgraphs(COMPARISON, groups, draw, make, most)


def _measure(graph: Graph, class_relation: str) -> dict[str, list[_Comparable]]:
    """Return the entities with a quantity, grouped by relation, kind, unit and class."""
    groups: dict[str, list[_Comparable]] = defaultdict(list)
    for (head, relation), tails in graph.tails.items():
        quantity = quantity_of(tails[0])
        if quantity is None or len(tails) > 1 or relation == class_relation:
            continue
        classes = graph.tails.get((head, class_relation), [])
        kinds: list[Triple | None] = [Triple(head, class_relation, kind) for kind in classes]
        for kind in kinds or [None]:
            key = "\0".join((relation, quantity.kind, quantity.unit, *([kind.tail] if kind else [])))
            groups[key].append((Triple(head, relation, tails[0]), kind, quantity))
    return {key: sorted(members, key=lambda each: each[0]) for key, members in groups.items() if len(members) > 1}


# --- set operations -------------------------------------------------------------------------------

MOST_MEMBERS = 8
"""Maximum number of entities shown. The two sets of an intersection may be larger, as only common members are shown."""
MOST_TRIPLES = 20

# maximum size of the smaller of two sets to look for their intersection
_WIDEST = 10_000


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
            subgraph = makers[operation](graph, first, second, turn)
            if subgraph and len(subgraph.triples) <= MOST_TRIPLES:
                return subgraph
        return None

    return sample_subgraphs(SET_OPERATION, graph.of_head, draw, make, most)


def _intersection(graph: Graph, first: Condition, second: Condition | None, turn: int) -> Subgraph | None:
    if second is None:
        return None
    smaller = min(graph.members[first], graph.members[second], key=len)
    if len(smaller) > _WIDEST:
        return None
    one, other = sorted((first, second))
    both = [head for head in smaller if Triple(head, *one) in graph.triples and Triple(head, *other) in graph.triples]
    if not 2 <= len(both) <= MOST_MEMBERS:
        return None
    triples = tuple(Triple(head, *each) for head in both for each in (one, other))
    return Subgraph(SET_OPERATION, INTERSECTION, (one, other), triples)


def _union(graph: Graph, first: Condition, second: Condition | None, turn: int) -> Subgraph | None:
    """Return the entities that meet the first condition, or the same relation to another tail."""
    relation = first[0]
    tails = graph.tails_of_relation[relation]
    other = relation, tails[turn % len(tails)]
    members, others = set(graph.members[first]), set(graph.members[other])
    size = len(members | others)
    if members <= others or others <= members or not 3 <= size <= MOST_MEMBERS or quantity_of(other[1]):
        return None
    conditions = (min(first, other), max(first, other))
    triples = tuple(Triple(head, *each) for each in conditions for head in graph.members[each])
    return Subgraph(SET_OPERATION, UNION, conditions, triples)


def _difference(graph: Graph, first: Condition, second: Condition | None, turn: int) -> Subgraph | None:
    """Return the entities that meet the first condition, some but not all of which meet the second."""
    members = graph.members[first]
    if second is None or second[0] == first[0] or len(members) > MOST_MEMBERS:
        return None
    theirs = {head: graph.tails.get((head, second[0]), []) for head in members}
    meeting = [head for head, tails in theirs.items() if second[1] in tails]
    if not meeting or len(meeting) == len(members) or not all(theirs.values()):
        return None
    triples = [(Triple(head, *first), *(Triple(head, second[0], tail) for tail in theirs[head])) for head in members]
    return Subgraph(SET_OPERATION, DIFFERENCE, (first, second), tuple(chain.from_iterable(triples)))


def _counting(graph: Graph, first: Condition, second: Condition | None, turn: int) -> Subgraph | None:
    """Return the entities that meet the first condition, to be counted."""
    members = graph.members[first]
    if not 2 <= len(members) <= MOST_MEMBERS:
        return None
    return Subgraph(SET_OPERATION, COUNTING, (first,), tuple(Triple(head, *first) for head in members))


# --- quantities -----------------------------------------------------------------------------------
#
# Parsing is conservative: strings with more than one possible meaning are not quantities.

NUMBER, DATE = "number", "date"

_NUMBER = re.compile(r"([+\-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)(%?|\s\S.{0,39})", re.ASCII)
_UNIT = re.compile(r"(?:[^\W\d_]|[%°µ$€£¥²³/·^ .\-])+")
_DATE = re.compile(r"\+?(-?\d{4})-(\d\d)(?:-(\d\d))?(?:T[\d:.]+Z?)?", re.ASCII)


class Quantity(NamedTuple):
    """A number or a date, as the range of its possible values: a year includes all of its days.

    Attributes:
        kind: `number` or `date`.
        unit: The unit; empty if there is none.
        low: Lower end of the range: one number, or year, month and day.
        high: Upper end of the range, in the same format.
    """

    kind: str
    unit: str
    low: tuple[Decimal, ...]
    high: tuple[Decimal, ...]


def quantity_of(text: str) -> Quantity | None:
    """Parse a string as a quantity: `57750 square kilometre`, `1,234.5`, `12%`, `1969-11-03`, `1969-11`.

    None if the string is not a quantity ("about 20") or ambiguous ("1,5", "3 of 4"). A number is never a year: it is
    compared with other numbers, not with dates.
    """
    text = text.strip()
    if match := _DATE.fullmatch(text):
        return _date(match)
    if not (match := _NUMBER.fullmatch(text)):
        return None
    unit = " ".join(match[2].split()).casefold()
    if unit and not _UNIT.fullmatch(unit):
        return None
    number = (Decimal(match[1].replace(",", "").replace("−", "-")),)
    return Quantity(NUMBER, unit, number, number)


def _date(match: re.Match[str]) -> Quantity | None:
    year, month, day = int(match[1]), int(match[2]), int(match[3] or 0)
    if month > 12 or day > 31 or (day and not month):
        return None
    low, high = (year, month or 1, day or 1), (year, month or 12, day or 31)
    return Quantity(DATE, "", tuple(map(Decimal, low)), tuple(map(Decimal, high)))


def comparable(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities have the same kind and unit and do not overlap, so that one is certainly less."""
    return one[:2] == other[:2] and (one.high < other.low or other.high < one.low)


# --- documents ------------------------------------------------------------------------------------


def facts_in(
    path: Path, draw: Draw, walks: int, hops: int, class_relation: str, *, one_answer: bool
) -> Iterator[Document]:
    """Yield the subgraphs sampled from the triples of a file or folder, then its text facts.

    A `.jsonl` file has triples or texts, by the fields of its first row; `.txt` and `.md` files are texts.

    Args:
        path: The file or folder.
        draw: Draws numbers.
        walks: Maximum number of subgraphs of each pattern.
        hops: See `multi_hops`.
        class_relation: See `comparisons`.
        one_answer: See `multi_hops`.

    Raises:
        DataError: A row is invalid (the message names file and line), or there are neither triples of which a subgraph
            can be made nor texts.
    """
    triples, texts = _files_of(path)
    if triples and walks:
        graph = Graph(triple for file in triples for triple in read_triples(file))
        subgraphs = [
            *multi_hops(graph, draw, walks, hops, one_answer=one_answer),
            *comparisons(graph, draw, walks, class_relation),
            *set_operations(graph, draw, walks),
        ]
        if not subgraphs and not texts:
            raise DataError(f"{path}: the {len(graph.triples)} triples contain no subgraph of any pattern")
        counts = Counter(subgraph.pattern for subgraph in subgraphs)
        if any(counts[pattern] < walks for pattern in PATTERNS):
            numbers = ", ".join(f"{counts[pattern]} {pattern}" for pattern in PATTERNS)
            logger.warning("%s: found %s in %d triples; %d of each requested", path, numbers, len(graph.triples), walks)
        yield from map(_subgraph_document, subgraphs)
    for file in texts:
        for document in read_documents(file):
            # rows that are subgraphs are kept as such
            pattern = {"pattern": subgraph_of(document).pattern}
            yield Document(document.id, document.text, {**document.fields, **pattern})


def _files_of(path: Path) -> tuple[list[Path], list[Path]]:
    rows = [file for file in visible_files(path) if file.name.endswith((".jsonl", ".jsonl.gz"))]
    files = rows if path.is_dir() else [path]
    triples = [file for file in files if _holds_triples(file)]
    texts = [file for file in files if file not in triples]
    if text_files(path):
        texts.append(path)
    if not triples and not texts:
        raise DataError(f"{path}: contains no .jsonl files of triples or texts, and no .txt or .md files of texts")
    return triples, texts


def _holds_triples(path: Path) -> bool:
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
            require_fields(texts, dict.fromkeys(Triple._fields, str))
            require_text(texts, *Triple._fields)
        except ValueError as error:
            raise DataError(f"{path}:{line}: {error}") from None
        yield Triple(*(" ".join(text.split()) for text in texts.values()))


def _subgraph_document(subgraph: Subgraph) -> Document:
    parts = (subgraph.pattern, subgraph.operation, *(part for each in subgraph.conditions for part in each))
    text = "\n".join(" | ".join(triple) for triple in subgraph.triples)
    return Document(short_hash(text, *parts), text, json.loads(json.dumps(subgraph._asdict())))


def subgraph_of(document: Document) -> Subgraph:
    """Return the subgraph of a document; one without triples if it is a text fact."""
    try:
        subgraph = _SUBGRAPH.validate_python({name: document.fields.get(name) for name in Subgraph._fields})
    except ValidationError:
        return Subgraph(VANILLA)
    operations = OPERATIONS if subgraph.pattern == SET_OPERATION else ("",)
    valid = subgraph.pattern in PATTERNS and subgraph.triples and subgraph.operation in operations
    return subgraph if valid and bool(subgraph.conditions) == bool(subgraph.operation) else Subgraph(VANILLA)
