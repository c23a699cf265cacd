"""The construction of FactCHD (Chen et al. 2024, section 4).

Queries with a factual and a non-factual response are made from subgraphs of a knowledge graph and from text facts, each
with a chain of evidence.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from halu_tasks.builders.documents import Document, words
from halu_tasks.builders.pipeline import GENERATOR, Ask, Draft, Fault, Gate, KeptFile, Pipeline, Temperature, TextPair
from halu_tasks.builders.pipelines import factchd_graph as graph
from halu_tasks.builders.pipelines.factchd_graph import VANILLA, Subgraph, subgraph_of
from halu_tasks.builders.replies import NO, UNCERTAIN, UNREADABLE, YES, objections, read_object, read_verdict
from halu_tasks.core.concurrency import gather
from halu_tasks.core.hashing import short_hash, stable_hash
from halu_tasks.core.settings import Count, Help, Natural
from halu_tasks.data.rows import Row, json_lines, read_rows, require_text
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.explanations import LABELS, PATTERNS, explanation_of, label_of
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.reading.questions import FACTUAL, NON_FACTUAL, factual
from halu_tasks.text.folding import fold
from halu_tasks.text.sentences import sentences

FORMAT, QUERY, PATTERN = "format", "query", "pattern"
CONSISTENCY, STYLE, EXPLANATION = "consistency", "style", "explanation"
FILE = "fact_test_noe.jsonl"
TWIN = "twin"
"""Key in an item's row, not written to files: the response with the other label, if both were kept."""

_OTHER = {FACTUAL: NON_FACTUAL, NON_FACTUAL: FACTUAL}
# the prompts that describe a response of each label
_DEMANDS = {FACTUAL: "label_factual", NON_FACTUAL: "label_non_factual"}
# the prompts that are only needed if there are demonstrations
_OF_DEMONSTRATIONS = ("demonstrations", "check_style")
_CONFIRMS = {FACTUAL: YES, NON_FACTUAL: NO}
_BLAMED = {QUERY: "query", PATTERN: "query", STYLE: "demonstrations", EXPLANATION: "explanation"}
_CATEGORIES = {pattern: category for category, pattern in PATTERNS.items()}
# maximum number of demonstrations in a prompt
_MOST_DEMONSTRATIONS = 5

Evidence = list[list[str] | str]
"""Pieces of evidence: each a triple, a pair of title and sentence, or a sentence."""

# minimum number of sentences of an explanation: a statement about the response, facts, and a conclusion, which are
# scored as its head, body and tail
_SENTENCES = 3
# maximum number of characters of a query, response or explanation; models caught in a loop write longer ones
_LONGEST = 8_000
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_STATED = re.compile(r"\b(?:non|not|un)?[\s\-‐‑–]*factual\b", re.IGNORECASE)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FactCHDPipeline(Pipeline):
    """Write a factual and a non-factual response to one query, with a chain of evidence each.

    There is one query per subgraph (multi-hop, comparison, set operation) and per text fact (vanilla). Both labels
    share the query, so that nothing in it reveals the label; which response is written first, together with the query,
    is drawn at random.
    """

    name = "factchd_pipeline"
    version = 2
    about = "queries with factual and non-factual responses and their evidence (FactCHD)"
    benchmark = "factchd"
    paper = "factchd"
    checks = (FORMAT, QUERY, PATTERN, CONSISTENCY, STYLE, EXPLANATION)
    gate = Gate((FORMAT, QUERY, PATTERN, CONSISTENCY, STYLE), samples=5, share=0.95)
    near = 90.0
    shortest = 5
    prompts_used = (
        *(f"rule_{name}" for name in (VANILLA, graph.MULTI_HOP, graph.COMPARISON, *graph.OPERATIONS)),
        *("label_factual", "label_non_factual"),
        *("query", "response", "explanation", "check_pattern", "check_label", "check_explanation"),
        *_OF_DEMONSTRATIONS,
    )
    generating = ("query", "response", "explanation", "label_factual", "label_non_factual", "demonstrations")

    max_chars: Annotated[Count, Help("maximum length of a text fact or subgraph in characters")] = 4_000
    generator_temperature: Temperature = 1.0
    walks: Annotated[Natural, Help("maximum number of subgraphs of each pattern to sample from the triples")] = 100
    hops: Annotated[int, Ge(2), Help("maximum number of triples in a walk of the multi-hop pattern")] = 3
    class_relation: Annotated[str, Help("relation to an entity's class; only entities of a class are compared")] = (
        "instance of"
    )
    one_answer: Annotated[bool, Help("walk only along relations of which an entity has a single value")] = True
    votes: Annotated[Count, Help("number of times to verify label and style; most of them must agree")] = 1
    demonstrations: Annotated[
        str | None,
        KeptFile("demonstrations.jsonl"),
        Help("JSON Lines file of labelled queries and responses that drafts have to read like"),
    ] = None
    domain: Annotated[str, Help("domain of rows whose document names none")] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        # report a damaged file before any model is asked
        _ = self._examples

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """The prompts; those about demonstrations only if there are any."""
        return tuple(name for name in self.prompts_used if self.demonstrations or name not in _OF_DEMONSTRATIONS)

    @property
    def settings(self) -> dict[str, Any]:
        """The pipeline's settings, with a hash of the demonstrations."""
        rows = ["\0".join(each.values()) for each in self._examples]
        return {**super().settings, "demonstrations": short_hash(*rows) if rows else None}

    # --- documents --------------------------------------------------------------------------------

    def documents(self, path: Path) -> Iterator[Document]:
        """Read the text facts of a file or folder, and sample subgraphs from its triples.

        The triples are held in memory, as a graph; texts are streamed. The order of the lines does not matter.

        Raises:
            DataError: A row is invalid (the message names file and line), or there are no text facts and no subgraph
                can be made of the triples.
        """
        return graph.facts_in(path, self.draw, self.walks, self.hops, self.class_relation, one_answer=self.one_answer)

    def is_prose(self, document: Document) -> bool:
        """Whether a document is a text fact; names in subgraphs have no language, and triples are not sentences."""
        return subgraph_of(document).pattern == VANILLA

    def sampled_as(self, document: Document) -> str:
        """Return the pattern of a document's query."""
        return subgraph_of(document).pattern

    # --- drafts -----------------------------------------------------------------------------------

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return a draft for each label, in the order in which the responses are written."""
        first = LABELS[self.draw(document.id, "label") % 2]
        labels, subgraph = (first, _OTHER[first]), subgraph_of(document)
        facts = {"knowledge": fence(document.text), "rule": self._rule(subgraph)}
        query, responses = await self._write(document, facts, labels, ask)
        faults: list[Fault] = []
        if query:
            # the query is checked once, as both labels share it
            verdict = read_verdict(await self.verify(ask, "check_pattern", **facts, query=fence(query)))
            faults += pattern_faults(query, subgraph)
            faults += objections(PATTERN, verdict, "does not follow its pattern", "")
        both = (self._draft(document, label, query, responses[label], faults, ask) for label in labels)
        drafts = await gather(*both)
        return [_with_twin(*pair) for pair in (drafts, drafts[::-1])]

    def _rule(self, subgraph: Subgraph) -> str:
        first, second = (*(fence(" | ".join(condition)) for condition in subgraph.conditions), "", "")[:2]
        return self.prompt(f"rule_{subgraph.operation or subgraph.pattern}", first=first, second=second)

    async def _write(
        self, document: Document, facts: dict[str, str], labels: tuple[str, str], ask: Ask
    ) -> tuple[str, dict[str, Answer[str]]]:
        """Return the query, and for each label its response or why there is none."""
        first, second = labels
        pair = await self._respond("query", document, first, ask, ("query", "response"), facts)
        if pair.value is None:
            return "", dict.fromkeys(labels, Answer(None, f"query: {pair.reason}"))
        fenced = {name: fence(text) for name, text in pair.value.items()}
        other = await self._respond("response", document, second, ask, ("response",), {**facts, **fenced})
        query, response = pair.value["query"], pair.value["response"]
        if other.value is None:
            return query, {first: Answer(response), second: Answer(None, f"response: {other.reason}")}
        is_same = plain(other.value["response"]) == plain(response)
        twin = Answer(None, "response: same as for the other label") if is_same else Answer(other.value["response"])
        return query, {first: Answer(response), second: twin}

    async def _respond(
        self, name: str, document: Document, label: str, ask: Ask, fields: Sequence[str], shown: dict[str, str]
    ) -> Answer[dict[str, str]]:
        """Return the fields of the generator's reply to a prompt, which demonstrations precede if there are any."""
        prompt = self.prompt(name, **shown, label=self.texts[_DEMANDS[label]])
        if demonstrations := self._demonstrations(document, label):
            prompt = f"{self.prompt('demonstrations', demonstrations=demonstrations)}\n\n{prompt}"
        reply = read_object(await ask(prompt, GENERATOR), *fields)
        too_long = any(len(text) > _LONGEST for text in (reply.value or {}).values())
        return Answer(None, "too long") if too_long else reply

    async def _draft(
        self, document: Document, label: str, query: str, answer: Answer[str], faults: Sequence[Fault], ask: Ask
    ) -> Draft:
        """Return the draft of a response with a label, checked; the query has some faults already."""
        subgraph = subgraph_of(document)
        kind, summary = f"{subgraph.pattern}/{label}", f"label: {label}\nquery: {query}"
        if answer.value is None:
            return self.rejected(Fault(FORMAT, answer.reason, summary), document, kind, label)
        response = answer.value
        claim = {"query": fence(query), "response": fence(response)}
        shown = {"knowledge": fence(document.text), **claim}
        faults = [*query_faults(query, response, subgraph), *faults]
        votes = await self._votes(ask, "check_label", **shown)
        faults += majority_faults(CONSISTENCY, votes, f"verified as {_OTHER[label]}", _CONFIRMS[label])
        demonstrations = self._demonstrations(document, label)
        if demonstrations:
            votes = await self._votes(ask, "check_style", demonstrations=demonstrations, **claim)
            faults += majority_faults(STYLE, votes, "unlike the demonstrations", YES)
        reason, of_explanation = await self._explain(document, label, shown, ask)
        domain = document.fields.get("domain")
        if not isinstance(domain, str) or not domain.strip():
            domain = self.domain
        row = {
            "label": label,
            "query": query,
            "response": response,
            "evidence": evidence_of(document, self.language),
            "reason": reason,
            **({"domain": domain} if domain else {}),
            "type": "text" if subgraph.pattern == VANILLA else "kg",
            "category": _CATEGORIES[subgraph.pattern],
        }
        details = f"{summary}\nresponse: {response}\n"
        described = tuple(f._replace(detail=f"{details}{f.detail}".strip()) for f in (*faults, *of_explanation))
        checks = tuple(check for check in self.checks if check != STYLE or demonstrations)
        return Draft.of(document, kind, label, checks=checks, faults=described, row={} if described else row)

    async def _votes(self, ask: Ask, name: str, **shown: str) -> list[Answer[str]]:
        """Return the verdicts of the verifier, who does not know the label."""
        asked = (self.verify(ask, name, draw, self.votes, **shown) for draw in range(self.votes))
        return [read_verdict(reply) for reply in await gather(*asked)]

    async def _explain(
        self, document: Document, label: str, shown: dict[str, str], ask: Ask
    ) -> tuple[str, tuple[Fault, ...]]:
        """Return the chain of evidence as the field `reason` (empty if there is none), and the checks it failed."""
        demand = self.texts[_DEMANDS[label]]
        reply = await self.generate(ask, "explanation", **shown, demanded=label, label=demand)
        answer = read_object(reply, "explanation")
        text = (answer.value or {}).get("explanation", "")
        reason = reason_of(label, text) if answer.value else Answer[str](None, f"explanation: {answer.reason}")
        if len(text) > _LONGEST:
            reason = Answer(None, "too long")
        if reason.value is None:
            return "", (Fault(EXPLANATION, reason.reason, text),)
        verdict = read_verdict(await self.verify(ask, "check_explanation", **shown, explanation=fence(reason.value)))
        faults = objections(EXPLANATION, verdict, "does not support the label", "")
        if (number := len(sentences(explanation_of(reason.value), self.language))) < _SENTENCES:
            short = Fault(EXPLANATION, "fewer than three sentences", f"{reason.value}\n{number} sentences")
            faults = (short, *faults)
        return reason.value, faults

    def blamed(self, fault: Fault, draft: Draft) -> tuple[str, ...]:
        """Return the prompt that caused a fault; none if the verifier could not be read.

        A label that is not confirmed is blamed on the prompt that describes responses with this label.
        """
        if fault.reason.startswith(UNREADABLE):
            return ()
        if fault.check == FORMAT:
            return (fault.reason.partition(":")[0],)
        return (_BLAMED.get(fault.check) or _DEMANDS[draft.kind.partition("/")[2]],)

    # --- demonstrations ---------------------------------------------------------------------------

    @cached_property
    def _examples(self) -> tuple[dict[str, str], ...]:
        return read_demonstrations(Path(self.demonstrations).expanduser()) if self.demonstrations else ()

    def _fitting(self, pattern: str, label: str) -> list[dict[str, str]]:
        return [each for each in self._examples if each["label"] == label and each["pattern"] in ("", pattern)]

    def _demonstrations(self, document: Document, label: str) -> str:
        """Return some demonstrations of a draft's pattern and label as prompts show them; empty if there are none."""
        fitting = self._fitting(subgraph_of(document).pattern, label)
        fitting.sort(key=lambda each: stable_hash(self.seed, document.id, each["query"], each["response"]))
        chosen = fitting[:_MOST_DEMONSTRATIONS]
        return "\n\n".join(f"Query:\n{fence(each['query'])}\nResponse:\n{fence(each['response'])}" for each in chosen)

    def ready(self) -> None:
        """Warn of patterns and labels without demonstrations, if there are any, as their drafts do without."""
        kinds = product(_CATEGORIES, LABELS)
        without = [f"{pattern}/{label}" for pattern, label in kinds if not self._fitting(pattern, label)]
        if self._examples and without:
            logger.warning("there are no demonstrations for %s; such drafts are made without", ", ".join(without))

    # --- items ------------------------------------------------------------------------------------

    def lines(self, item: Draft) -> Iterator[tuple[str, Row]]:
        """Return the item's row of FactCHD's test file, without the response of the other label."""
        yield FILE, {"id": item.id, **{name: value for name, value in item.row.items() if name != TWIN}}

    def pairs(self, item: Draft) -> Iterator[TextPair]:
        """Return the two responses to one query as a pair, with the non-factual item, if both were kept."""
        if item.row["label"] == NON_FACTUAL and TWIN in item.row:
            yield TextPair(item.row[TWIN], item.row["response"])

    def parts(self, item: Draft) -> dict[str, dict[str, str]]:
        """Return the evidence, one piece per line, the query, the response, its label and the explanation."""
        pieces = (piece if isinstance(piece, str) else " | ".join(piece) for piece in item.row["evidence"])
        texts = {name: str(item.row[name]) for name in ("query", "response", "label")}
        return {"": {"evidence": "\n".join(pieces), **texts, "explanation": explanation_of(item.row["reason"])}}

    def key(self, item: Draft) -> str:
        """Return the query with the response."""
        return f"{item.row['query']}\n{item.row['response']}"

    def group(self, item: Draft) -> str:
        """Return the document's id: the responses to one query may differ in a single word."""
        return item.document


def _with_twin(draft: Draft, other: Draft) -> Draft:
    return replace(draft, row={**draft.row, TWIN: other.row["response"]}) if draft.row and other.row else draft


def read_demonstrations(path: Path) -> tuple[dict[str, str], ...]:
    """Read demonstrations from a JSON Lines file (section 4.1): queries from real use with labelled responses.

    Rows have `query`, `response` and `label`, and optionally `pattern`, or `category` as in the published files; those
    without stand for all patterns.

    Raises:
        DataError: The file cannot be read or is empty, or a row is invalid; the message names its line.
    """
    fields = {"query": str, "response": str, "label": str}
    return tuple(
        {**{name: row[name] for name in fields}, "label": row["label"].strip().upper(), "pattern": _pattern_of(row)}
        for row in read_rows(json_lines(path), f"demonstrations {path}", fields, _demonstration)
    )


def _demonstration(row: Row) -> Row:
    require_text(row, "query", "response", "label")
    if row["label"].strip().upper() not in LABELS:
        raise ValueError(f"field 'label': expected {' or '.join(LABELS)}, got {row['label']!r}")
    if (pattern := _pattern_of(row)) not in ("", *_CATEGORIES):
        raise ValueError(f"field 'pattern': expected {', '.join(_CATEGORIES)} or none, got {pattern!r}")
    return row


def _pattern_of(row: Row) -> Any:
    return row.get("pattern") or PATTERNS.get(row.get("category", ""), row.get("category")) or ""


# --- rule-based checks ---------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Normalize a text to words for searching: folded, with single spaces around each, and no thousands separators.

    In scripts without spaces each character is a word.
    """
    return f" {' '.join(words(_THOUSANDS.sub('', fold(text))))} "


def names(text: str, name: str) -> bool:
    """Whether a text contains a name as whole words."""
    return plain(name).strip() != "" and plain(name) in plain(text)


def evidence_of(document: Document, language: str) -> Evidence:
    """Return the evidence of a row in the format of the published ones.

    Each piece is a triple, or a sentence with the document's title, or a sentence alone if there is no title.
    """
    if triples := subgraph_of(document).triples:
        return [list(triple) for triple in triples]
    title = document.fields.get("title")
    facts = [" ".join(sentence.split()) for sentence in sentences(document.text, language)]
    return [[title, sentence] for sentence in facts] if isinstance(title, str) and title.strip() else [*facts]


def majority_faults(check: str, votes: Sequence[Answer[str]], denied: str, wanted: str) -> tuple[Fault, ...]:
    """Return the fault of a check unless more than half of a verifier's votes are the wanted verdict.

    Replies that cannot be read count as votes without agreement.
    """
    verdicts = [vote.value for vote in votes]
    if 2 * verdicts.count(wanted) > len(votes):
        return ()
    reasons = "; ".join(vote.reason for vote in votes if vote.value and vote.reason)
    for verdict in (None, UNCERTAIN):
        if 2 * verdicts.count(verdict) >= len(votes):
            vote = votes[verdicts.index(verdict)]
            return objections(check, vote._replace(reason=reasons if verdict else vote.reason), denied, "")
    is_denied = 2 * verdicts.count(NO if wanted == YES else YES) > len(votes)
    return (Fault(check, denied if is_denied else "no majority", f"verifier: {reasons}"),)


# --- the query ------------------------------------------------------------------------------------


def query_faults(query: str, response: str, subgraph: Subgraph) -> list[Fault]:
    """Return what is wrong with a query.

    A query must not state its label, contain the response, or name what is to be inferred from the facts.
    """
    faults = []
    if label := _STATED.search(query):
        faults.append(Fault(QUERY, "states a label", label[0]))
    if names(query, response):
        faults.append(Fault(QUERY, "contains the response"))
    topics, secrets = _names_of(subgraph)
    remaining = plain(query)
    for name in sorted(filter(str.strip, map(plain, topics)), key=len, reverse=True):
        # a short name inside a longer one that the query may state is not revealed: "Paris" in "Paris Opera"
        remaining = remaining.replace(name, " | ")
    if revealed := next((name for name in secrets if plain(name).strip() and plain(name) in remaining), ""):
        faults.append(Fault(QUERY, "gives the answer away", revealed))
    return faults


def pattern_faults(query: str, subgraph: Subgraph) -> list[Fault]:
    """Return which name a query of this pattern should state, but does not.

    Names that define sets are not checked, as they may be inflected ("sovereign states").
    """
    topics = _names_of(subgraph)[0] if subgraph.pattern != graph.SET_OPERATION else ()
    missing = [name for name in topics if plain(name).strip() and not names(query, name)]
    return [Fault(PATTERN, "does not name what it is about", missing[0])] if missing else []


def _names_of(subgraph: Subgraph) -> tuple[list[str], list[str]]:
    """Return the names that a query about a subgraph must state, and those that it must not state.

    It states the start of a walk, the entities compared, or what a set's members have in common, but not the rest of
    the walk, the values, or the members.
    """
    triples = subgraph.triples
    if subgraph.pattern == graph.MULTI_HOP:
        return [triples[0].head], [triple.tail for triple in triples]
    # the last triple of an entity has its value
    values = {triple.head: triple.tail for triple in triples}
    if subgraph.pattern == graph.COMPARISON:
        return [*values], [*values.values()]
    return [tail for _, tail in subgraph.conditions], [*values]


# --- the explanation ------------------------------------------------------------------------------


def reason_of(label: str, explanation: str) -> Answer[str]:
    """Return the field `reason` of a row: the label, then the explanation without its own statement of the label.

    The answer is empty if a reader of the row would find the other label, or none.
    """
    opening = label_of(explanation)
    if opening not in (None, label):
        return Answer(None, "states the other label")
    if opening:
        explanation = explanation_of(explanation)
    reason = f"{label}.\n{explanation.strip()}"
    label_read = factual(reason).value
    if label_read != label or label_of(reason) != label or not explanation_of(reason):
        return Answer(None, "states the other label" if label_read else "states no label")
    return Answer(reason)
