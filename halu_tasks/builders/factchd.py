"""FactCHD (Chen et al. 2024, section 4): queries with a factual and a non-factual response, made from subgraphs of a
knowledge graph and from text facts, each with a chain of evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from halu_tasks.builders.documents import Document, refusal
from halu_tasks.builders.factchd_checks import plain, query_faults, unfit
from halu_tasks.builders.factchd_documents import VANILLA, subgraph_documents, subgraph_of, text_facts
from halu_tasks.builders.factchd_verifying import (
    CONSISTENCY,
    DEMANDS,
    EXPLANATION,
    OTHER,
    PATTERN,
    Claim,
    Facts,
    adheres,
    consistency,
    explanation,
)
from halu_tasks.builders.graph import COMPARISON, MULTI_HOP, OPERATIONS, Graph
from halu_tasks.builders.pipeline import GENERATOR, Ask, Draft, Failure, Item, Pair, Pipeline, Row, item_id, option
from halu_tasks.builders.replies import read_object
from halu_tasks.builders.triples import all_triples, files_of
from halu_tasks.builders.walks import sample
from halu_tasks.errors import DataError, UsageError
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.factchd import LABELS, NON_FACTUAL, PATTERNS, explanation_of
from halu_tasks.scorers.judge import fence
from halu_tasks.solvers.concurrency import side_by_side

FORMAT, QUERY = "format", "query"
FILE = "fact_test_noe.jsonl"
TWIN = "twin"
"""In an item's row alone: the response of the other label, where both passed."""

_CATEGORIES = {pattern: category for category, pattern in PATTERNS.items()}
_MOST_HOPS = 10
_SHORTEST = 5
"""Letters of the shortest text fact: a sentence is enough."""


@dataclass(frozen=True)
class FactCHDPipeline(Pipeline):
    """Query, response, label and chain of evidence: a factual and a non-factual response to one query for each subgraph
    (multi-hop, comparison, set operation) and each text fact (vanilla).

    Both labels share the query, so that nothing in it tells which one is right; which response is written first, with
    the query, is drawn.
    """

    name: ClassVar[str] = "factchd_pipeline"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "queries with factual and non-factual responses and their evidence (FactCHD)"
    benchmark: ClassVar[str] = "factchd"
    paper: ClassVar[str] = "factchd"
    checks: ClassVar[tuple[str, ...]] = (FORMAT, QUERY, PATTERN, CONSISTENCY, EXPLANATION)
    near: ClassVar[float] = 90.0
    prompts_used: ClassVar[tuple[str, ...]] = (
        *(f"rule_{name}" for name in (VANILLA, MULTI_HOP, COMPARISON, *OPERATIONS)),
        *("label_factual", "label_non_factual"),
        *("query", "response", "explanation", "check_pattern", "check_label", "check_explanation"),
    )

    max_chars: int = option(4_000, "characters of the longest text fact or subgraph that is taken")
    walks: int = option(100, "subgraphs of each pattern that are made of the triples, at most")
    hops: int = option(3, "triples of the longest walk of the multi-hop pattern")
    class_relation: str = option("instance of", "relation that tells the class within which entities are compared")
    one_answer: bool = option(True, "walk only where an entity has one value of the relation")
    votes: int = option(1, "times that the label is verified; most of them have to agree with it")
    domain: str = option("", "domain that rows name where their document names none")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("walks", 0), ("hops", 2), ("votes", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"option {name}={getattr(self, name)} is less than {least}")
        if self.hops > _MOST_HOPS:
            raise UsageError(f"option hops={self.hops} is more than {_MOST_HOPS}")

    # --- documents --------------------------------------------------------------------------------

    def documents(self, path: Path) -> Iterator[Document]:
        """A document for each subgraph that is sampled of the triples of a file or folder, and one for each text fact.

        The triples are held in memory, as a graph; texts are streamed. The order of the lines does not matter.

        Raises:
            DataError: naming file and line: a bad row; or no subgraph can be made of the triples, and there is no
                text.
        """
        files = files_of(path)
        if files.triples and self.walks:
            graph = Graph(all_triples(files.triples))
            found = list(sample(graph, self.draw, self.walks, self.hops, self.class_relation, self.one_answer))
            if not found and not files.texts:
                raise DataError(f"{path}: no subgraph of any pattern can be made of the {len(graph.triples)} triples")
            yield from subgraph_documents(found, self.walks, graph, str(path))
        for file in files.texts:
            yield from text_facts(file)

    def refuse(self, document: Document) -> Failure | None:
        """As other documents are refused, but that a text fact may be one short sentence, and that only the length of a
        subgraph is looked at: names have no language, and lines are no sentences."""
        if unfit(document.text):
            return Failure("document", "not Unicode text")
        if subgraph_of(document) is None:
            language = self.language if self.check_language else None
            reason = refusal(document, language, self.max_chars, _SHORTEST)
            return Failure("document", *reason) if reason else None
        if len(document.text) > self.max_chars:
            return Failure("document", "too long", f"{len(document.text)} characters, more than {self.max_chars}")
        return None

    # --- drafts -----------------------------------------------------------------------------------

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """A draft for each label, in the order in which their responses are written."""
        facts = self._facts(document)
        first = LABELS[self.draw(document.id, "label") % 2]
        labels = (first, OTHER[first])
        query, responses = await self._written(facts, labels, ask)
        made: dict[str, Draft] = {}
        if ready := [label for label in labels if responses[label].value is not None]:
            adherence = await adheres(self, facts, query, ask)
            drafts = await side_by_side(
                *(self._draft(facts, query, str(responses[label].value), label, adherence, ask) for label in ready)
            )
            made = dict(zip(ready, drafts, strict=True))
        for label in labels:
            if label not in made:
                failure = Failure(FORMAT, responses[label].reason, f"label: {label}\nquery: {query}")
                made[label] = Draft(item_id(document.id, label), facts.kind(label), (FORMAT,), (failure,))
        return [_with_twin(made[label], made[OTHER[label]]) for label in labels]

    def _facts(self, document: Document) -> Facts:
        subgraph = subgraph_of(document)
        told = [fence(" | ".join(condition)) for condition in subgraph.conditions] if subgraph else []
        first, second = (*told, "", "")[:2]
        name = (subgraph.operation or subgraph.pattern) if subgraph else VANILLA
        return Facts(document, subgraph, self.prompt(f"rule_{name}", first=first, second=second))

    async def _written(self, facts: Facts, labels: tuple[str, str], ask: Ask) -> tuple[str, dict[str, Answer[str]]]:
        """The query, and the response of each label or why there is none."""
        first, second = labels
        asked = self.prompt("query", **facts.shown, label=self.texts[DEMANDS[first]])
        pair = read_object(await ask(asked, GENERATOR), "query", "response")
        why = pair.reason or unfit(*(pair.value or {}).values())
        if pair.value is None or why:
            return "", dict.fromkeys(labels, Answer(None, f"query: {why}"))
        query, response = pair.value["query"], pair.value["response"]
        told = {"query": fence(query), "response": fence(response)}
        asked = self.prompt("response", **facts.shown, **told, label=self.texts[DEMANDS[second]])
        other = read_object(await ask(asked, GENERATOR), "response")
        why = other.reason or unfit(*(other.value or {}).values())
        if other.value and not why and plain(other.value["response"]) == plain(response):
            why = "same as that of the other label"
        if other.value is None or why:
            return query, {first: Answer(response), second: Answer(None, f"response: {why}")}
        return query, {first: Answer(response), second: Answer(other.value["response"])}

    async def _draft(
        self, facts: Facts, query: str, response: str, label: str, adherence: tuple[Failure, ...], ask: Ask
    ) -> Draft:
        claim = Claim(facts, query, response, label)
        failures = [Failure(QUERY, *fault) for fault in query_faults(query, response, facts.subgraph)]
        agreed = await consistency(self, claim, ask, self.votes)
        reason, explained = await explanation(self, claim, ask)
        failures += (*adherence, *agreed, *explained)
        id = item_id(facts.document.id, label)
        if failures:
            told = tuple(Failure(check, why, f"{claim.told}\n{detail}".strip()) for check, why, detail in failures)
            return Draft(id, facts.kind(label), self.checks, told)
        own = facts.document.fields.get("domain")
        domain = own if isinstance(own, str) and own.strip() else self.domain
        row = {
            "label": label,
            "query": query,
            "response": response,
            "evidence": facts.evidence,
            "reason": reason,
            **({"domain": domain} if domain else {}),
            "type": "kg" if facts.subgraph else "text",
            "category": _CATEGORIES[facts.pattern],
        }
        return Draft(id, facts.kind(label), self.checks, (), row)

    # --- what is written --------------------------------------------------------------------------

    def lines(self, item: Item) -> Iterator[tuple[str, Row]]:
        yield FILE, {"id": item.id, **{name: value for name, value in item.row.items() if name != TWIN}}

    def pairs(self, item: Item) -> Iterator[Pair]:
        """The responses to one query, told by the non-factual one, where both passed."""
        if item.row["label"] == NON_FACTUAL and TWIN in item.row:
            yield Pair(item.row[TWIN], item.row["response"], item.document, item.kind.partition("/")[0])

    def shown(self, item: Item) -> dict[str, str]:
        pieces = (piece if isinstance(piece, str) else " | ".join(piece) for piece in item.row["evidence"])
        own = {name: str(item.row[name]) for name in ("query", "response", "label")}
        return {"evidence": "\n".join(pieces), **own, "explanation": explanation_of(item.row["reason"])}

    def key(self, item: Item) -> str:
        return f"{item.row['query']}\n{item.row['response']}"

    def group(self, item: Item) -> str:
        """The document: the responses to one query may differ in a word."""
        return item.document


def _with_twin(draft: Draft, other: Draft) -> Draft:
    """A draft with the response of the other label in its row, where both are kept."""
    if draft.row is None or other.row is None:
        return draft
    return replace(draft, row={**draft.row, TWIN: other.row["response"]})
