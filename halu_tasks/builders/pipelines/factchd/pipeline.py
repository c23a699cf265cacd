"""The construction of FactCHD (Chen et al. 2024, section 4).

Queries with a factual and a non-factual response are made from subgraphs of a knowledge graph and from text facts, each
with a chain of evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from halu_tasks.builders.documents import Document, refusal
from halu_tasks.builders.pipeline import (
    GENERATOR,
    Ask,
    Draft,
    Failure,
    Gate,
    Item,
    Pair,
    Pipeline,
    Row,
    item_id,
    option,
)
from halu_tasks.builders.pipelines.factchd.checks import plain, query_faults, unfit
from halu_tasks.builders.pipelines.factchd.demonstrations import (
    Demonstration,
    read_demonstrations,
    shown,
    warn_of_gaps,
)
from halu_tasks.builders.pipelines.factchd.documents import VANILLA, subgraph_documents, subgraph_of, text_facts
from halu_tasks.builders.pipelines.factchd.graph import COMPARISON, MULTI_HOP, OPERATIONS, Graph
from halu_tasks.builders.pipelines.factchd.triples import all_triples, files_of
from halu_tasks.builders.pipelines.factchd.verification import (
    CONSISTENCY,
    DEMANDS,
    EXPLANATION,
    OTHER,
    PATTERN,
    STYLE,
    Claim,
    Facts,
    adheres,
    consistency,
    explanation,
    style,
)
from halu_tasks.builders.pipelines.factchd.walks import sample
from halu_tasks.builders.replies import read_object
from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import short_hash
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.factchd import LABELS, PATTERNS, explanation_of
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.scorers.reading.questions import NON_FACTUAL

FORMAT, QUERY = "format", "query"
FILE = "fact_test_noe.jsonl"
TWIN = "twin"
"""Key in an item's row, not written to files: the response with the other label, if both were kept."""

_CATEGORIES = {pattern: category for category, pattern in PATTERNS.items()}
_MOST_HOPS = 10
_SHORTEST = 5
"""Minimum number of letters of a text fact: a single sentence is enough."""


@dataclass(frozen=True)
class FactCHDPipeline(Pipeline):
    """Write a factual and a non-factual response to one query, with a chain of evidence each.

    There is one query per subgraph (multi-hop, comparison, set operation) and per text fact (vanilla). Both labels
    share the query, so that nothing in it reveals the label; which response is written first, together with the query,
    is drawn at random.
    """

    name: ClassVar[str] = "factchd_pipeline"
    version: ClassVar[int] = 2
    about: ClassVar[str] = "queries with factual and non-factual responses and their evidence (FactCHD)"
    benchmark: ClassVar[str] = "factchd"
    paper: ClassVar[str] = "factchd"
    checks: ClassVar[tuple[str, ...]] = (FORMAT, QUERY, PATTERN, CONSISTENCY, STYLE, EXPLANATION)
    gate: ClassVar[Gate] = Gate((FORMAT, QUERY, PATTERN, CONSISTENCY, STYLE), samples=5, share=0.95)
    near: ClassVar[float] = 90.0
    prompts_used: ClassVar[tuple[str, ...]] = (
        *(f"rule_{name}" for name in (VANILLA, MULTI_HOP, COMPARISON, *OPERATIONS)),
        *("label_factual", "label_non_factual"),
        *("query", "response", "explanation", "check_pattern", "check_label", "check_explanation"),
    )
    generating: ClassVar[tuple[str, ...]] = (
        "query", "response", "explanation", "label_factual", "label_non_factual", "demonstrations"
    )  # fmt: skip
    prompts_optional: ClassVar[tuple[str, ...]] = ("demonstrations", "check_style")

    max_chars: int = option(4_000, "maximum length of a text fact or subgraph in characters")
    generator_temperature: float = option(1.0, "temperature of the generator's calls; the default is the paper's")
    walks: int = option(100, "maximum number of subgraphs of each pattern to sample from the triples")
    hops: int = option(3, "maximum number of triples in a walk of the multi-hop pattern")
    class_relation: str = option("instance of", "relation to an entity's class; only entities of a class are compared")
    one_answer: bool = option(True, "walk only along relations of which an entity has a single value")
    votes: int = option(1, "number of times to verify label and style; most of them must agree")
    demonstrations: str | None = option(
        None,
        "JSON Lines file of labelled queries and responses from real use, which drafts have to read like",
        file="demonstrations.jsonl",
    )
    domain: str = option("", "domain of rows whose document names none")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("walks", 0), ("hops", 2), ("votes", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"option {name}: must be at least {least}, got {getattr(self, name)}")
        if self.hops > _MOST_HOPS:
            raise UsageError(f"option hops: must be at most {_MOST_HOPS}, got {self.hops}")
        # report a damaged file before any model is asked
        _ = self._known

    @cached_property
    def _known(self) -> tuple[Demonstration, ...]:
        """The user's demonstrations, if there are any."""
        return read_demonstrations(self.demonstrations) if self.demonstrations else ()

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """The prompts; those about demonstrations only if there are any."""
        return (*self.prompts_used, *(self.prompts_optional if self.demonstrations else ()))

    @property
    def settings(self) -> dict[str, Any]:
        """The pipeline's settings, with a hash of the demonstrations."""
        known = short_hash(*map("\0".join, self._known)) if self._known else None
        return {**super().settings, "demonstrations": known}

    def ready(self) -> None:
        """Warn of patterns and labels without demonstrations, if there are any."""
        if self._known:
            warn_of_gaps(self._known)

    # --- documents --------------------------------------------------------------------------------

    def documents(self, path: Path) -> Iterator[Document]:
        """Read the text facts of a file or folder, and sample subgraphs from its triples.

        The triples are held in memory, as a graph; texts are streamed. The order of the lines does not matter.

        Raises:
            DataError: A row is invalid (the message names file and line), or there are no text facts and no subgraph
                can be made of the triples.
        """
        files = files_of(path)
        if files.triples and self.walks:
            graph = Graph(all_triples(files.triples))
            subgraphs = list(sample(graph, self.draw, self.walks, self.hops, self.class_relation, self.one_answer))
            if not subgraphs and not files.texts:
                raise DataError(f"{path}: the {len(graph.triples)} triples contain no subgraph of any pattern")
            yield from subgraph_documents(subgraphs, self.walks, graph, str(path))
        for file in files.texts:
            yield from text_facts(file)

    def refuse(self, document: Document) -> Failure | None:
        """Return why a document cannot be used; None if it can.

        Text facts may be as short as one sentence. Of subgraphs only the length is checked, as names have no language
        and triples are not sentences.
        """
        if unfit(document.text):
            return Failure("document", "not Unicode text")
        if subgraph_of(document) is None:
            language = self.language if self.check_language else None
            reason = refusal(document, language, self.max_chars, _SHORTEST)
            return Failure("document", *reason) if reason else None
        if len(document.text) > self.max_chars:
            return Failure("document", "too long", f"{len(document.text)} characters, more than {self.max_chars}")
        return None

    def sampled_as(self, document: Document) -> str:
        """Return the pattern of a document's query."""
        subgraph = subgraph_of(document)
        return subgraph.pattern if subgraph else VANILLA

    # --- drafts -----------------------------------------------------------------------------------

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return a draft for each label, in the order in which the responses are written."""
        facts = self._facts(document)
        first = LABELS[self.draw(document.id, "label") % 2]
        labels = (first, OTHER[first])
        query, responses = await self._write(facts, labels, ask)
        by_label: dict[str, Draft] = {}
        if ready := [label for label in labels if responses[label].value is not None]:
            adherence = await adheres(self, facts, query, ask)
            drafts = await gather(
                *(self._draft(facts, query, str(responses[label].value), label, adherence, ask) for label in ready)
            )
            by_label = dict(zip(ready, drafts, strict=True))
        for label in labels:
            if label not in by_label:
                failure = Failure(FORMAT, responses[label].reason, f"label: {label}\nquery: {query}")
                by_label[label] = Draft(item_id(document.id, label), facts.kind(label), (FORMAT,), (failure,))
        return [_with_twin(by_label[label], by_label[OTHER[label]]) for label in labels]

    def _facts(self, document: Document) -> Facts:
        """Return the facts of a document, with the rule that its queries follow."""
        subgraph = subgraph_of(document)
        conditions = [fence(" | ".join(condition)) for condition in subgraph.conditions] if subgraph else []
        first, second = (*conditions, "", "")[:2]
        name = (subgraph.operation or subgraph.pattern) if subgraph else VANILLA
        return Facts(document, subgraph, self.prompt(f"rule_{name}", first=first, second=second))

    async def _write(self, facts: Facts, labels: tuple[str, str], ask: Ask) -> tuple[str, dict[str, Answer[str]]]:
        """Return the query, and for each label its response or why there is none."""
        first, second = labels
        prompt = self._like_demonstrations(
            self.prompt("query", **facts.shown, label=self.texts[DEMANDS[first]]), facts, first
        )
        pair = read_object(await ask(prompt, GENERATOR), "query", "response")
        fault = pair.reason or unfit(*(pair.value or {}).values())
        if pair.value is None or fault:
            return "", dict.fromkeys(labels, Answer(None, f"query: {fault}"))
        query, response = pair.value["query"], pair.value["response"]
        fenced = {"query": fence(query), "response": fence(response)}
        prompt = self._like_demonstrations(
            self.prompt("response", **facts.shown, **fenced, label=self.texts[DEMANDS[second]]), facts, second
        )
        other = read_object(await ask(prompt, GENERATOR), "response")
        fault = other.reason or unfit(*(other.value or {}).values())
        if other.value and not fault and plain(other.value["response"]) == plain(response):
            fault = "same as for the other label"
        if other.value is None or fault:
            return query, {first: Answer(response), second: Answer(None, f"response: {fault}")}
        return query, {first: Answer(response), second: Answer(other.value["response"])}

    def _demonstrations(self, facts: Facts, label: str) -> str:
        """Return the demonstrations for a draft as prompts show them; empty if there are none."""
        return shown(self._known, facts.pattern, label, self.seed, facts.document.id)

    def _like_demonstrations(self, prompt: str, facts: Facts, label: str) -> str:
        """Put the demonstrations for a draft before a prompt."""
        demonstrations = self._demonstrations(facts, label)
        return (
            f"{self.prompt('demonstrations', demonstrations=demonstrations)}\n\n{prompt}" if demonstrations else prompt
        )

    async def _draft(
        self, facts: Facts, query: str, response: str, label: str, adherence: tuple[Failure, ...], ask: Ask
    ) -> Draft:
        """Check one response and return its draft."""
        claim = Claim(facts, query, response, label)
        failures = [Failure(QUERY, *fault) for fault in query_faults(query, response, facts.subgraph)]
        vote_failures = await consistency(self, claim, ask, self.votes)
        demonstrations = self._demonstrations(facts, label)
        style_failures = await style(self, claim, demonstrations, ask, self.votes) if demonstrations else ()
        reason, explanation_failures = await explanation(self, claim, ask)
        failures += (*adherence, *vote_failures, *style_failures, *explanation_failures)
        id = item_id(facts.document.id, label)
        checks = tuple(check for check in self.checks if check != STYLE or demonstrations)
        if failures:
            detailed = tuple(
                Failure(check, cause, f"{claim.summary}\n{detail}".strip()) for check, cause, detail in failures
            )
            return Draft(id, facts.kind(label), checks, detailed)
        stated = facts.document.fields.get("domain")
        domain = stated if isinstance(stated, str) and stated.strip() else self.domain
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
        return Draft(id, facts.kind(label), checks, (), row)

    # --- output -----------------------------------------------------------------------------------

    def lines(self, item: Item) -> Iterator[tuple[str, Row]]:
        """Return the item's row of FactCHD's test file, without the response of the other label."""
        yield FILE, {"id": item.id, **{name: value for name, value in item.row.items() if name != TWIN}}

    def pairs(self, item: Item) -> Iterator[Pair]:
        """Return the two responses to one query as a pair, with the non-factual item, if both were kept."""
        if item.row["label"] == NON_FACTUAL and TWIN in item.row:
            yield Pair(item.row[TWIN], item.row["response"], item.document, item.kind.partition("/")[0])

    def shown(self, item: Item) -> dict[str, str]:
        """Return the evidence, one piece per line, the query, the response, its label and the explanation."""
        pieces = (piece if isinstance(piece, str) else " | ".join(piece) for piece in item.row["evidence"])
        texts = {name: str(item.row[name]) for name in ("query", "response", "label")}
        return {"evidence": "\n".join(pieces), **texts, "explanation": explanation_of(item.row["reason"])}

    def key(self, item: Item) -> str:
        """Return the query with the response."""
        return f"{item.row['query']}\n{item.row['response']}"

    def blamed(self, failure: Failure, draft: Draft) -> str | None:
        """Return the prompt that caused a failure; None if the verifier could not be read.

        A label that is not confirmed is blamed on what says of responses with this label how they have to be.
        """
        if failure.reason.startswith("unreadable verdict"):
            return None
        if failure.check == FORMAT:
            return failure.reason.partition(":")[0]
        if failure.check == CONSISTENCY:
            return DEMANDS[draft.kind.partition("/")[2]]
        return {QUERY: "query", PATTERN: "query", STYLE: "demonstrations", EXPLANATION: "explanation"}[failure.check]

    def group(self, item: Item) -> str:
        """Return the document's id: the responses to one query may differ in a single word."""
        return item.document


def _with_twin(draft: Draft, other: Draft) -> Draft:
    """Add the response of the other label to a draft's row, if both drafts are kept."""
    if draft.row is None or other.row is None:
        return draft
    return replace(draft, row={**draft.row, TWIN: other.row["response"]})
