"""What a FactCHD draft is asked about: whether its query is one of its pattern, whether its label is what a verifier
says who is not told it, and whether a chain of evidence bears it out (sections 4.2, 4.4 and 4.5)."""

from __future__ import annotations

from typing import NamedTuple

from halu_tasks.builders.documents import Document
from halu_tasks.builders.factchd_checks import explanation_faults, pattern_faults, reason_of, unfit
from halu_tasks.builders.factchd_documents import VANILLA, Evidence, evidence_of
from halu_tasks.builders.graph import Subgraph
from halu_tasks.builders.pipeline import GENERATOR, VERIFIER, Ask, Failure, Pipeline
from halu_tasks.builders.replies import NO, UNCERTAIN, YES, read_object, read_verdict
from halu_tasks.scorers.factchd import FACTUAL, NON_FACTUAL
from halu_tasks.scorers.judge import fence
from halu_tasks.solvers.concurrency import side_by_side

PATTERN, CONSISTENCY, EXPLANATION = "pattern", "consistency", "explanation"
OTHER = {FACTUAL: NON_FACTUAL, NON_FACTUAL: FACTUAL}
DEMANDS = {FACTUAL: "label_factual", NON_FACTUAL: "label_non_factual"}
"""The prompts that say what a response of a label is."""

_WANTED = {FACTUAL: YES, NON_FACTUAL: NO}


class Facts(NamedTuple):
    """What a document states, and the rule that queries about it follow."""

    document: Document
    subgraph: Subgraph | None
    rule: str

    @property
    def pattern(self) -> str:
        return self.subgraph.pattern if self.subgraph else VANILLA

    def kind(self, label: str) -> str:
        """The kind of a draft: pattern and label, so that both can be balanced."""
        return f"{self.pattern}/{label}"

    @property
    def shown(self) -> dict[str, str]:
        return {"knowledge": fence(self.document.text), "rule": self.rule}

    @property
    def evidence(self) -> Evidence:
        return evidence_of(self.document, self.subgraph)


class Claim(NamedTuple):
    """A response to a query, and the label that it is meant to have."""

    facts: Facts
    query: str
    response: str
    label: str

    @property
    def shown(self) -> dict[str, str]:
        texts = {"knowledge": self.facts.document.text, "query": self.query, "response": self.response}
        return {name: fence(text) for name, text in texts.items()}

    @property
    def told(self) -> str:
        return f"label: {self.label}\nquery: {self.query}\nresponse: {self.response}"


async def adheres(pipeline: Pipeline, facts: Facts, query: str, ask: Ask) -> tuple[Failure, ...]:
    """What is against a query as one of its pattern. It bears on both labels, which share the query."""
    asked = pipeline.prompt("check_pattern", **facts.shown, query=fence(query))
    faults = [Failure(PATTERN, *fault) for fault in pattern_faults(query, facts.subgraph)]
    return (*faults, *_denied(PATTERN, await ask(asked, VERIFIER), "not of its pattern"))


async def consistency(pipeline: Pipeline, claim: Claim, ask: Ask, votes: int) -> tuple[Failure, ...]:
    """What is against the label: more than half of the verifier's votes have to be for it. The verifier is not told
    it. What cannot be read is a vote for nothing."""
    asked = pipeline.prompt("check_label", **claim.shown)
    replies = await side_by_side(*(ask(asked, VERIFIER, draw=draw, draws=votes) for draw in range(votes)))
    read = [read_verdict(reply) for reply in replies]
    given = [answer.value.value if answer.value else None for answer in read]
    wanted = _WANTED[claim.label]
    if 2 * given.count(wanted) > votes:
        return ()
    if 2 * given.count(None) >= votes:
        reason = f"verdict unread: {next(answer.reason for answer in read if answer.value is None)}"
    elif 2 * given.count(UNCERTAIN) >= votes:
        reason = "uncertain"
    elif 2 * given.count(_WANTED[OTHER[claim.label]]) > votes:
        reason = f"verified as {OTHER[claim.label]}"
    else:
        reason = "no majority"
    said = "; ".join(answer.value.reason for answer in read if answer.value and answer.value.reason)
    return (Failure(CONSISTENCY, reason, f"verifier: {said}"),)


async def explanation(pipeline: Pipeline, claim: Claim, ask: Ask) -> tuple[str, tuple[Failure, ...]]:
    """The chain of evidence as the field `reason` has it, and what is against it; empty where there is none."""
    told = pipeline.texts[DEMANDS[claim.label]]
    reply = await ask(pipeline.prompt("explanation", **claim.shown, demanded=claim.label, label=told), GENERATOR)
    found = read_object(reply, "explanation")
    if found.value is None:
        return "", (Failure(EXPLANATION, f"explanation: {found.reason}"),)
    text = found.value["explanation"]
    reason = reason_of(claim.label, text)
    if why := unfit(text) or reason.reason:
        return "", (Failure(EXPLANATION, why, text),)
    own = str(reason.value)
    faults = [
        Failure(EXPLANATION, why, f"{own}\n{detail}") for why, detail in explanation_faults(own, claim.facts.evidence)
    ]
    asked = pipeline.prompt("check_explanation", **claim.shown, explanation=fence(own))
    return own, (*faults, *_denied(EXPLANATION, await ask(asked, VERIFIER), "does not bear out the label"))


def _denied(check: str, reply: str, no: str) -> tuple[Failure, ...]:
    """What a verifier's reply says against a draft: `no` is the reason where it denies."""
    verdict = read_verdict(reply)
    if verdict.value is None:
        return (Failure(check, f"verdict unread: {verdict.reason}", reply[:200]),)
    if verdict.value.value == YES:
        return ()
    return (
        Failure(check, "uncertain" if verdict.value.value == UNCERTAIN else no, f"verifier: {verdict.value.reason}"),
    )
