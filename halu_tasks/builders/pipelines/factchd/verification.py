"""Checks of FactCHD drafts by a verifier (sections 4.2, 4.4 and 4.5).

The query must follow its pattern, the label must be the verifier's own (who does not know it), and a chain of evidence
must support it.
"""

from __future__ import annotations

from typing import NamedTuple

from halu_tasks.builders.documents import Document
from halu_tasks.builders.pipeline import GENERATOR, VERIFIER, Ask, Failure, Pipeline
from halu_tasks.builders.pipelines.factchd.checks import explanation_faults, pattern_faults, reason_of, unfit
from halu_tasks.builders.pipelines.factchd.documents import VANILLA, Evidence, evidence_of
from halu_tasks.builders.pipelines.factchd.graph import Subgraph
from halu_tasks.builders.replies import NO, UNCERTAIN, YES, read_object, read_verdict
from halu_tasks.core.concurrency import gather
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.scorers.reading.questions import FACTUAL, NON_FACTUAL

PATTERN, CONSISTENCY, STYLE, EXPLANATION = "pattern", "consistency", "style", "explanation"
OTHER = {FACTUAL: NON_FACTUAL, NON_FACTUAL: FACTUAL}
DEMANDS = {FACTUAL: "label_factual", NON_FACTUAL: "label_non_factual"}
"""The prompts that describe a response of each label."""

_WANTED = {FACTUAL: YES, NON_FACTUAL: NO}


class Facts(NamedTuple):
    """What a document states, and the rule for queries about it."""

    document: Document
    subgraph: Subgraph | None
    rule: str

    @property
    def pattern(self) -> str:
        """The pattern of queries about the facts."""
        return self.subgraph.pattern if self.subgraph else VANILLA

    def kind(self, label: str) -> str:
        """Return the kind of a draft: pattern and label, so that items can be balanced by both."""
        return f"{self.pattern}/{label}"

    @property
    def shown(self) -> dict[str, str]:
        """The values of prompts about the facts."""
        return {"knowledge": fence(self.document.text), "rule": self.rule}

    @property
    def evidence(self) -> Evidence:
        """The evidence of rows about the facts."""
        return evidence_of(self.document, self.subgraph)


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
        """The claim as the details of failures show it."""
        return f"label: {self.label}\nquery: {self.query}\nresponse: {self.response}"


async def adheres(pipeline: Pipeline, facts: Facts, query: str, ask: Ask) -> tuple[Failure, ...]:
    """Return why a query does not follow its pattern, which applies to both labels as they share the query.

    Args:
        pipeline: The pipeline whose prompt is used.
        facts: The facts the query is about.
        query: The query.
        ask: Asks the models.
    """
    prompt = pipeline.prompt("check_pattern", **facts.shown, query=fence(query))
    faults = [Failure(PATTERN, *fault) for fault in pattern_faults(query, facts.subgraph)]
    return (*faults, *_denial(PATTERN, await ask(prompt, VERIFIER), "does not follow its pattern"))


async def consistency(pipeline: Pipeline, claim: Claim, ask: Ask, votes: int) -> tuple[Failure, ...]:
    """Return why the label is not confirmed: more than half of the verifier's votes must agree with it.

    The verifier does not know the label. Replies that cannot be read count as votes without agreement.

    Args:
        pipeline: The pipeline whose prompt is used.
        claim: The claim to verify.
        ask: Asks the models.
        votes: Number of votes.
    """
    prompt = pipeline.prompt("check_label", **claim.shown)
    other = OTHER[claim.label]
    return await _vote(prompt, ask, votes, CONSISTENCY, _WANTED[claim.label], f"verified as {other}")


async def style(pipeline: Pipeline, claim: Claim, demonstrations: str, ask: Ask, votes: int) -> tuple[Failure, ...]:
    """Return why a draft does not read like demonstrations: more than half of the verifier's votes must say so.

    Args:
        pipeline: The pipeline whose prompt is used.
        claim: The draft.
        demonstrations: The demonstrations as prompts show them.
        ask: Asks the models.
        votes: Number of votes.
    """
    shown = {name: text for name, text in claim.shown.items() if name != "knowledge"}
    prompt = pipeline.prompt("check_style", demonstrations=demonstrations, **shown)
    return await _vote(prompt, ask, votes, STYLE, YES, "unlike the demonstrations")


async def _vote(prompt: str, ask: Ask, votes: int, check: str, expected: str, denied: str) -> tuple[Failure, ...]:
    """Return the failure of a check unless more than half of the verifier's votes are the expected verdict.

    Args:
        prompt: The question.
        ask: Asks the models.
        votes: Number of votes.
        check: Name of the check.
        expected: The verdict that passes, `yes` or `no`.
        denied: The reason if the opposite verdict has the majority.
    """
    replies = await gather(*(ask(prompt, VERIFIER, draw=draw, draws=votes) for draw in range(votes)))
    answers = [read_verdict(reply) for reply in replies]
    votes_cast = [answer.value.value if answer.value else None for answer in answers]
    if 2 * votes_cast.count(expected) > votes:
        return ()
    if 2 * votes_cast.count(None) >= votes:
        reason = f"unreadable verdict: {next(answer.reason for answer in answers if answer.value is None)}"
    elif 2 * votes_cast.count(UNCERTAIN) >= votes:
        reason = "uncertain"
    elif 2 * votes_cast.count(NO if expected == YES else YES) > votes:
        reason = denied
    else:
        reason = "no majority"
    reasons = "; ".join(answer.value.reason for answer in answers if answer.value and answer.value.reason)
    return (Failure(check, reason, f"verifier: {reasons}"),)


async def explanation(pipeline: Pipeline, claim: Claim, ask: Ask) -> tuple[str, tuple[Failure, ...]]:
    """Return the chain of evidence as the field `reason` (empty if there is none), and the checks it failed."""
    demand = pipeline.texts[DEMANDS[claim.label]]
    reply = await ask(pipeline.prompt("explanation", **claim.shown, demanded=claim.label, label=demand), GENERATOR)
    answer = read_object(reply, "explanation")
    if answer.value is None:
        return "", (Failure(EXPLANATION, f"explanation: {answer.reason}"),)
    text = answer.value["explanation"]
    row_reason = reason_of(claim.label, text)
    if fault := unfit(text) or row_reason.reason:
        return "", (Failure(EXPLANATION, fault, text),)
    reason = str(row_reason.value)
    faults = [
        Failure(EXPLANATION, fault, f"{reason}\n{detail}")
        for fault, detail in explanation_faults(reason, claim.facts.evidence)
    ]
    prompt = pipeline.prompt("check_explanation", **claim.shown, explanation=fence(reason))
    return reason, (*faults, *_denial(EXPLANATION, await ask(prompt, VERIFIER), "does not support the label"))


def _denial(check: str, reply: str, denied: str) -> tuple[Failure, ...]:
    """Return the failure stated by a verifier's reply, if any; `denied` is the reason if it says no."""
    verdict = read_verdict(reply)
    if verdict.value is None:
        return (Failure(check, f"unreadable verdict: {verdict.reason}", reply[:200]),)
    if verdict.value.value == YES:
        return ()
    return (
        Failure(
            check, "uncertain" if verdict.value.value == UNCERTAIN else denied, f"verifier: {verdict.value.reason}"
        ),
    )
