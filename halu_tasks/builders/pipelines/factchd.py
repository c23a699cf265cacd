"""The construction of FactCHD (Chen et al. 2024, section 4).

Queries with a factual and a non-factual response are made from subgraphs of a knowledge graph and from text facts, each
with a chain of evidence.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from halu_tasks.builders.documents import Document, refusal
from halu_tasks.builders.pipeline import GENERATOR, VERIFIER, Ask, Draft, Fault, Gate, Pipeline, Row, TextPair, option
from halu_tasks.builders.pipelines import factchd_rules as rules
from halu_tasks.builders.pipelines.factchd_graph import COMPARISON, MULTI_HOP, OPERATIONS, SET_OPERATION, Subgraph
from halu_tasks.builders.pipelines.factchd_rules import VANILLA
from halu_tasks.builders.replies import NO, UNCERTAIN, UNREADABLE, YES, objections, read_object, read_verdict
from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import short_hash, stable_hash
from halu_tasks.data.rows import json_lines, require_fields, require_text
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.benchmarks.explanations import LABELS, PATTERNS, explanation_of
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.reading.questions import FACTUAL, NON_FACTUAL

FORMAT, QUERY, PATTERN, CONSISTENCY, STYLE, EXPLANATION = (
    *("format", "query", "pattern", "consistency", "style", "explanation"),
)
FILE = "fact_test_noe.jsonl"
TWIN = "twin"
"""Key in an item's row, not written to files: the response with the other label, if both were kept."""

_OTHER = {FACTUAL: NON_FACTUAL, NON_FACTUAL: FACTUAL}
_DEMANDS = {FACTUAL: "label_factual", NON_FACTUAL: "label_non_factual"}
"""The prompts that describe a response of each label."""
_CONFIRMS = {FACTUAL: YES, NON_FACTUAL: NO}
_BLAMED = {QUERY: "query", PATTERN: "query", STYLE: "demonstrations", EXPLANATION: "explanation"}
_CATEGORIES = {pattern: category for category, pattern in PATTERNS.items()}
_PATTERNS = (VANILLA, MULTI_HOP, COMPARISON, SET_OPERATION)
_MOST_HOPS = 10
_MOST_DEMONSTRATIONS = 5
"""Maximum number of demonstrations in a prompt."""
_SHORTEST = 5
"""Minimum number of letters of a text fact: a single sentence is enough."""

logger = logging.getLogger(__name__)


class Demonstration(NamedTuple):
    """A query from real use with a labelled response; without a pattern, it stands for all of them."""

    query: str
    response: str
    label: str
    pattern: str


class Facts(NamedTuple):
    """What a document states, and the rule for queries about it."""

    document: Document
    subgraph: Subgraph | None
    rule: str

    @property
    def pattern(self) -> str:
        """The pattern of queries about the facts."""
        return self.subgraph.pattern if self.subgraph else VANILLA

    @property
    def shown(self) -> dict[str, str]:
        """The values of prompts about the facts."""
        return {"knowledge": fence(self.document.text), "rule": self.rule}


class Claim(NamedTuple):
    """A response to a query, and the label it is intended to have."""

    facts: Facts
    query: str
    response: str
    label: str

    @property
    def shown(self) -> dict[str, str]:
        """The values of prompts about the claim."""
        texts = {"knowledge": self.facts.document.text, "query": self.query, "response": self.response}
        return {name: fence(text) for name, text in texts.items()}

    @property
    def summary(self) -> str:
        """The claim as the details of faults show it."""
        return f"label: {self.label}\nquery: {self.query}\nresponse: {self.response}"


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
    prompts_optional: ClassVar[tuple[str, ...]] = ("demonstrations", "check_style")
    generating: ClassVar[tuple[str, ...]] = (
        *("query", "response", "explanation", "label_factual", "label_non_factual", "demonstrations"),
    )

    max_chars: int = option(4_000, "maximum length of a text fact or subgraph in characters", least=1)
    generator_temperature: float = option(
        1.0, "temperature of the generator's calls; the default is the paper's", least=0
    )
    walks: int = option(100, "maximum number of subgraphs of each pattern to sample from the triples", least=0)
    hops: int = option(3, "maximum number of triples in a walk of the multi-hop pattern", least=2)
    class_relation: str = option("instance of", "relation to an entity's class; only entities of a class are compared")
    one_answer: bool = option(True, "walk only along relations of which an entity has a single value")
    votes: int = option(1, "number of times to verify label and style; most of them must agree", least=1)
    demonstrations: str | None = option(
        None,
        "JSON Lines file of labelled queries and responses from real use, which drafts have to read like",
        file="demonstrations.jsonl",
    )
    domain: str = option("", "domain of rows whose document names none")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hops > _MOST_HOPS:
            raise UsageError(f"option hops: must be at most {_MOST_HOPS}, got {self.hops}")
        # report a damaged file before any model is asked
        _ = self._known

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """The prompts; those about demonstrations only if there are any."""
        return (*self.prompts_used, *(self.prompts_optional if self.demonstrations else ()))

    @property
    def settings(self) -> dict[str, Any]:
        """The pipeline's settings, with a hash of the demonstrations."""
        known = short_hash(*map("\0".join, self._known)) if self._known else None
        return {**super().settings, "demonstrations": known}

    # --- documents --------------------------------------------------------------------------------

    def documents(self, path: Path) -> Iterator[Document]:
        """Read the text facts of a file or folder, and sample subgraphs from its triples.

        The triples are held in memory, as a graph; texts are streamed. The order of the lines does not matter.

        Raises:
            DataError: A row is invalid (the message names file and line), or there are no text facts and no subgraph
                can be made of the triples.
        """
        return rules.facts_in(path, self.draw, self.walks, self.hops, self.class_relation, one_answer=self.one_answer)

    def refuse(self, document: Document) -> Fault | None:
        """Return why a document cannot be used; None if it can.

        Text facts may be as short as one sentence. Of subgraphs only the length is checked, as names have no language
        and triples are not sentences.
        """
        if rules.unfit(document.text):
            return Fault("document", "not Unicode text")
        if rules.subgraph_of(document) is None:
            language = self.language if self.check_language else None
            reason = refusal(document, language, self.max_chars, _SHORTEST)
            return Fault("document", *reason) if reason else None
        if len(document.text) > self.max_chars:
            return Fault("document", "too long", f"{len(document.text)} characters, more than {self.max_chars}")
        return None

    def sampled_as(self, document: Document) -> str:
        """Return the pattern of a document's query."""
        subgraph = rules.subgraph_of(document)
        return subgraph.pattern if subgraph else VANILLA

    # --- drafts -----------------------------------------------------------------------------------

    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return a draft for each label, in the order in which the responses are written."""
        facts = self._facts(document)
        first = LABELS[self.draw(document.id, "label") % 2]
        labels = (first, _OTHER[first])
        query, responses = await self._write(facts, labels, ask)
        by_label = {}
        for label in labels:
            fault = Fault(FORMAT, responses[label].reason, f"label: {label}\nquery: {query}")
            kind = f"{facts.pattern}/{label}"
            by_label[label] = Draft.of(document, kind, label, checks=(FORMAT,), faults=(fault,))
        claims = [Claim(facts, query, text, label) for label in labels if (text := responses[label].value) is not None]
        if claims:
            adherence = await self._adherence(facts, query, ask)
            drafts = await gather(*(self._draft(claim, adherence, ask) for claim in claims))
            by_label |= {claim.label: draft for claim, draft in zip(claims, drafts, strict=True)}
        return [_with_twin(by_label[label], by_label[_OTHER[label]]) for label in labels]

    def _facts(self, document: Document) -> Facts:
        """Return the facts of a document, with the rule that its queries follow."""
        subgraph = rules.subgraph_of(document)
        conditions = [fence(" | ".join(condition)) for condition in subgraph.conditions] if subgraph else []
        first, second = (*conditions, "", "")[:2]
        name = (subgraph.operation or subgraph.pattern) if subgraph else VANILLA
        return Facts(document, subgraph, self.prompt(f"rule_{name}", first=first, second=second))

    async def _write(self, facts: Facts, labels: tuple[str, str], ask: Ask) -> tuple[str, dict[str, Answer[str]]]:
        """Return the query, and for each label its response or why there is none."""
        first, second = labels
        pair = await self._ask_writer("query", facts, first, ask, "query", "response")
        if pair.value is None:
            return "", dict.fromkeys(labels, Answer(None, f"query: {pair.reason}"))
        fenced = {name: fence(text) for name, text in pair.value.items()}
        other = await self._ask_writer("response", facts, second, ask, "response", **fenced)
        query, response = pair.value["query"], pair.value["response"]
        if other.value and rules.plain(other.value["response"]) == rules.plain(response):
            other = Answer(None, "same as for the other label")
        written = Answer(other.value["response"]) if other.value else Answer[str](None, f"response: {other.reason}")
        return query, {first: Answer(response), second: written}

    async def _ask_writer(
        self, name: str, facts: Facts, label: str, ask: Ask, *fields: str, **shown: str
    ) -> Answer[dict[str, str]]:
        """Return the fields of the generator's reply to a prompt, which demonstrations precede if there are any."""
        prompt = self.prompt(name, **facts.shown, **shown, label=self.texts[_DEMANDS[label]])
        if demonstrations := self._demonstrations(facts, label):
            prompt = f"{self.prompt('demonstrations', demonstrations=demonstrations)}\n\n{prompt}"
        reply = read_object(await ask(prompt, GENERATOR), *fields)
        fault = rules.unfit(*(reply.value or {}).values())
        return Answer(None, fault) if fault else reply

    async def _draft(self, claim: Claim, adherence: tuple[Fault, ...], ask: Ask) -> Draft:
        """Check one response and return its draft."""
        facts, label = claim.facts, claim.label
        demonstrations = self._demonstrations(facts, label)
        prompt = self.prompt("check_label", **claim.shown)
        faults = [Fault(QUERY, *fault) for fault in rules.query_faults(claim.query, claim.response, facts.subgraph)]
        faults += adherence
        faults += await self._vote(ask, prompt, CONSISTENCY, _CONFIRMS[label], f"verified as {_OTHER[label]}")
        if demonstrations:
            shown = {name: text for name, text in claim.shown.items() if name != "knowledge"}
            prompt = self.prompt("check_style", demonstrations=demonstrations, **shown)
            faults += await self._vote(ask, prompt, STYLE, YES, "unlike the demonstrations")
        reason, explanation = await self._explain(claim, ask)
        faults += explanation
        stated = facts.document.fields.get("domain")
        domain = stated if isinstance(stated, str) and stated.strip() else self.domain
        row = {
            "label": label,
            "query": claim.query,
            "response": claim.response,
            "evidence": rules.evidence_of(facts.document, facts.subgraph),
            "reason": reason,
            **({"domain": domain} if domain else {}),
            "type": "kg" if facts.subgraph else "text",
            "category": _CATEGORIES[facts.pattern],
        }
        return Draft.of(
            facts.document,
            f"{facts.pattern}/{label}",
            label,
            checks=tuple(check for check in self.checks if check != STYLE or demonstrations),
            faults=tuple(each._replace(detail=f"{claim.summary}\n{each.detail}".strip()) for each in faults),
            row={} if faults else row,
        )

    async def _adherence(self, facts: Facts, query: str, ask: Ask) -> tuple[Fault, ...]:
        """Return why a query does not follow its pattern, which applies to both labels as they share the query."""
        prompt = self.prompt("check_pattern", **facts.shown, query=fence(query))
        verdict = read_verdict(await ask(prompt, VERIFIER))
        faults = [Fault(PATTERN, *fault) for fault in rules.pattern_faults(query, facts.subgraph)]
        return (*faults, *objections(PATTERN, verdict, "does not follow its pattern", ""))

    async def _vote(self, ask: Ask, prompt: str, check: str, wanted: str, denied: str) -> tuple[Fault, ...]:
        """Return the fault of a check unless more than half of the verifier's votes are the wanted verdict.

        The verifier does not know the label. Replies that cannot be read count as votes without agreement.
        """
        replies = await gather(*(ask(prompt, VERIFIER, draw=draw, draws=self.votes) for draw in range(self.votes)))
        answers = [read_verdict(reply) for reply in replies]
        cast = [answer.value for answer in answers]
        reasons = "; ".join(answer.reason for answer in answers if answer.value and answer.reason)
        if 2 * cast.count(wanted) > self.votes:
            return ()
        for value in (None, UNCERTAIN):
            if 2 * cast.count(value) >= self.votes:
                answer = answers[cast.index(value)]
                return objections(check, answer if value is None else answer._replace(reason=reasons), denied, "")
        majority = 2 * cast.count(NO if wanted == YES else YES) > self.votes
        return (Fault(check, denied if majority else "no majority", f"verifier: {reasons}"),)

    async def _explain(self, claim: Claim, ask: Ask) -> tuple[str, tuple[Fault, ...]]:
        """Return the chain of evidence as the field `reason` (empty if there is none), and the checks it failed."""
        demand = self.texts[_DEMANDS[claim.label]]
        prompt = self.prompt("explanation", **claim.shown, demanded=claim.label, label=demand)
        answer = read_object(await ask(prompt, GENERATOR), "explanation")
        if answer.value is None:
            return "", (Fault(EXPLANATION, f"explanation: {answer.reason}"),)
        text = answer.value["explanation"]
        row_reason = rules.reason_of(claim.label, text)
        if row_reason.value is None or rules.unfit(text):
            return "", (Fault(EXPLANATION, rules.unfit(text) or row_reason.reason, text),)
        reason = row_reason.value
        evidence = rules.evidence_of(claim.facts.document, claim.facts.subgraph)
        faults = [
            Fault(EXPLANATION, fault, f"{reason}\n{detail}")
            for fault, detail in rules.explanation_faults(reason, evidence)
        ]
        prompt = self.prompt("check_explanation", **claim.shown, explanation=fence(reason))
        verdict = read_verdict(await ask(prompt, VERIFIER))
        return reason, (*faults, *objections(EXPLANATION, verdict, "does not support the label", ""))

    def blamed(self, fault: Fault, draft: Draft) -> str | None:
        """Return the prompt that caused a fault; None if the verifier could not be read.

        A label that is not confirmed is blamed on what says of responses with this label how they have to be.
        """
        if fault.reason.startswith(UNREADABLE):
            return None
        if fault.check == FORMAT:
            return fault.reason.partition(":")[0]
        return _BLAMED.get(fault.check) or _DEMANDS[draft.kind.partition("/")[2]]

    # --- demonstrations ---------------------------------------------------------------------------

    @cached_property
    def _known(self) -> tuple[Demonstration, ...]:
        """The user's demonstrations, if there are any."""
        return read_demonstrations(Path(self.demonstrations).expanduser()) if self.demonstrations else ()

    def _fitting(self, pattern: str, label: str) -> list[Demonstration]:
        return [each for each in self._known if each.label == label and each.pattern in ("", pattern)]

    def _demonstrations(self, facts: Facts, label: str) -> str:
        """Return some demonstrations of a draft's pattern and label as prompts show them; empty if there are none."""
        fitting = self._fitting(facts.pattern, label)
        key = (self.seed, facts.document.id)
        fitting.sort(key=lambda each: stable_hash(*key, each.query, each.response))
        chosen = fitting[:_MOST_DEMONSTRATIONS]
        return "\n\n".join(f"Query:\n{fence(each.query)}\nResponse:\n{fence(each.response)}" for each in chosen)

    def ready(self) -> None:
        """Warn of patterns and labels without demonstrations, if there are any, as their drafts do without."""
        without = [
            f"{pattern}/{label}" for pattern, label in product(_PATTERNS, LABELS) if not self._fitting(pattern, label)
        ]
        if self._known and without:
            logger.warning("there are no demonstrations for %s; such drafts are made without", ", ".join(without))

    # --- items ------------------------------------------------------------------------------------

    def lines(self, item: Draft) -> Iterator[tuple[str, Row]]:
        """Return the item's row of FactCHD's test file, without the response of the other label."""
        yield FILE, {"id": item.id, **{name: value for name, value in item.row.items() if name != TWIN}}

    def pairs(self, item: Draft) -> Iterator[TextPair]:
        """Return the two responses to one query as a pair, with the non-factual item, if both were kept."""
        if item.row["label"] == NON_FACTUAL and TWIN in item.row:
            yield TextPair(item.row[TWIN], item.row["response"], item.document, item.kind.partition("/")[0])

    def shown(self, item: Draft) -> dict[str, str]:
        """Return the evidence, one piece per line, the query, the response, its label and the explanation."""
        pieces = (piece if isinstance(piece, str) else " | ".join(piece) for piece in item.row["evidence"])
        texts = {name: str(item.row[name]) for name in ("query", "response", "label")}
        return {"evidence": "\n".join(pieces), **texts, "explanation": explanation_of(item.row["reason"])}

    def key(self, item: Draft) -> str:
        """Return the query with the response."""
        return f"{item.row['query']}\n{item.row['response']}"

    def group(self, item: Draft) -> str:
        """Return the document's id: the responses to one query may differ in a single word."""
        return item.document


def _with_twin(draft: Draft, other: Draft) -> Draft:
    """Add the response of the other label to a draft's row, if both drafts are kept."""
    return replace(draft, row={**draft.row, TWIN: other.row["response"]}) if draft.row and other.row else draft


def read_demonstrations(path: Path) -> tuple[Demonstration, ...]:
    """Read demonstrations from a JSON Lines file (section 4.1).

    Rows have `query`, `response` and `label`, and optionally `pattern`, or `category` as in the published files.

    Raises:
        UsageError: The file cannot be read or is empty, or a row is invalid; the message names its line.
    """
    demonstrations: list[Demonstration] = []
    try:
        for line, row in json_lines(path):
            try:
                demonstrations.append(_demonstration(row))
            except ValueError as error:
                raise DataError(f"{path}:{line}: {error}") from None
    except DataError as error:
        raise UsageError(f"demonstrations {error}") from None
    if not demonstrations:
        raise UsageError(f"demonstrations {path}: contains no rows with query, response and label")
    return tuple(demonstrations)


def _demonstration(row: Row) -> Demonstration:
    require_fields(row, {"query": str, "response": str, "label": str})
    require_text(row, "query", "response", "label")
    label = row["label"].strip().upper()
    if label not in LABELS:
        raise ValueError(f"field 'label': expected {' or '.join(LABELS)}, got {row['label']!r}")
    pattern = row.get("pattern") or PATTERNS.get(row.get("category", ""), row.get("category")) or ""
    if pattern and pattern not in _PATTERNS:
        raise ValueError(f"field 'pattern': expected {', '.join(_PATTERNS)} or none, got {pattern!r}")
    return Demonstration(row["query"], row["response"], label, pattern)
