"""Factored Verification (George and Stuhlmüller 2023, arXiv 2310.10627, section 2.2).

A text is split into claims, each claim is checked separately, and the probability that the text is right is that of all
its claims together.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import anyio
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import fill
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.methods import combined
from halu_tasks.scorers.reading.claims import ClaimList, listed_claims, supported
from halu_tasks.scorers.statistics.calibration import probability_of
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import (
    MOST_ALTERNATIVES,
    ask,
    conclude,
    decide,
    draws,
    subject_of,
    tokens_of,
)
from halu_tasks.solvers.knowledge import Seeker, evidence_of
from halu_tasks.solvers.method_prompts import method_prompt
from halu_tasks.solvers.method_record import MethodRecord
from halu_tasks.solvers.passages import GOLD, shown

logger = logging.getLogger(__name__)

How = Literal["auto", "logprobs", "reasoned", "samples"]
_YES, _NO = "Yes", "No"
METHOD = "factored_verification"

_PROBE = "Reply with the single word: Yes"


class Checker:
    """Estimates the probability that a source supports a claim.

    Args:
        how: How the probability is estimated. `logprobs` uses the log-probabilities of a one-word reply, Yes or No;
            `reasoned` asks for reasoning with quotes that ends in Yes (1) or No (0); `samples` uses the share of Yes
            among several such replies; `auto` is `logprobs` if the model returns them and `reasoned` if not.
        samples: The number of replies drawn for each claim with `samples`.
        temperature: The temperature of these replies.
        prompts: A prompt file with texts that replace those of the package.
        cache: Whether replies are cached.

    Raises:
        UsageError: An argument is invalid.
    """

    def __init__(self, *, how: How, samples: int, temperature: float, prompts: str | None, cache: bool) -> None:
        if how not in ("auto", "logprobs", "reasoned", "samples"):
            raise UsageError(f"option how={how!r} is unknown; choose auto or logprobs or reasoned or samples")
        if samples < 1:
            raise UsageError(f"option samples={samples} is less than 1")
        self._how, self._samples, self._temperature, self._cache = how, samples, temperature, cache
        self._word = method_prompt("factored_verification_check", "factored_verification", prompts)["user"]
        self._reasoned = method_prompt("factored_verification_check_reasoned", "factored_verification", prompts)["user"]
        self._lock = anyio.Lock()

    async def ready(self) -> How:
        """Return how claims are checked, which `auto` determines by one call of the model."""
        async with self._lock:
            if self._how == "auto":
                self._how = "logprobs" if await self._gives_logprobs() else "reasoned"
        return self._how

    async def probability(self, claim: str, source: str) -> float | None:
        """Estimate the probability, 0 to 1, that a source supports a claim.

        Args:
            claim: The claim.
            source: The source, between fences.

        Returns:
            The probability; None if no reply says yes or no.
        """
        fields = {"claim": fence(claim), "source": source}
        if self._how == "logprobs":
            return await self._by_tokens(fill(self._word, fields))
        prompt = fill(self._reasoned, fields)
        number, temperature = (self._samples, self._temperature) if self._how == "samples" else (1, 0.0)
        replies = await draws(prompt, "verifier", number, cache=self._cache, temperature=temperature, max_tokens=1024)
        verdicts = [value for reply in replies if (value := supported(reply).value) is not None]
        return sum(verdicts) / len(verdicts) if verdicts else None

    async def _by_tokens(self, prompt: str) -> float | None:
        output = await self._word_reply(prompt)
        verdict = supported(output.completion).value
        if verdict is None:
            return None
        probability = probability_of(tokens_of(output), (_YES, _NO), _YES if verdict else _NO)
        # a verdict in other words, such as "Supported", has no token Yes or No, and counts as certain
        return float(verdict) if probability is None else probability

    async def _word_reply(self, prompt: str) -> ModelOutput:
        """Generate a one-word reply with log-probabilities."""
        return await ask(
            prompt,
            "verifier",
            cache=self._cache,
            temperature=0.0,
            max_tokens=16,
            logprobs=True,
            top_logprobs=MOST_ALTERNATIVES,
        )

    async def _gives_logprobs(self) -> bool:
        try:
            output = await self._word_reply(_PROBE)
        except Exception as error:
            # some providers reject such requests; if the error has another cause, the next call raises it
            logger.info("the verifier rejected a request for log-probabilities: %s", error)
            return False
        if not tokens_of(output):
            logger.warning("the verifier returns no log-probabilities; it is asked to reason about each claim instead")
            return False
        return True


class FactoredVerifier:
    """Splits texts into claims, checks each one against a source, and multiplies their probabilities.

    The model role `decomposer` lists the claims and `verifier` checks them; both default to the model of the run.

    Args:
        checker: What checks a claim.
        library: Where passages are looked up for each claim; None to check against the text's source.
        prompts: A prompt file with texts that replace those of the package.
        cache: Whether replies are cached.
    """

    def __init__(self, checker: Checker, library: Seeker | None, *, prompts: str | None, cache: bool) -> None:
        self._checker, self._library, self._cache = checker, library, cache
        self._listing = method_prompt("factored_verification_claims", METHOD, prompts)["user"]

    async def verify(self, text: str, source: str) -> MethodRecord:
        """Verify a text.

        Args:
            text: The text.
            source: What it is checked against, unless passages are looked up.

        Returns:
            The claims with their probabilities, and the probability that some claim is wrong. Without a claim that was
            checked this is None, and the record has a reason.
        """
        how_checked = await self._checker.ready()
        prompt = fill(self._listing, {"text": fence(text)})
        reply = await ask(prompt, "decomposer", cache=self._cache, temperature=0.0, max_tokens=2048)
        listed = listed_claims(reply.completion)
        probabilities = await gather(*(self._check(claim, source) for claim in listed.claims))
        record = _record(listed, probabilities, how_checked)
        all_supported = combined(probabilities)
        if all_supported is None:
            return replace(record, reason=listed.reason or "no claim was answered with yes or no")
        return replace(record, probability=1 - all_supported)

    async def _check(self, claim: str, source: str) -> float | None:
        if self._library is None:
            return await self._checker.probability(claim, fence(source))
        passages = await self._library.search(claim)
        return await self._checker.probability(claim, shown(passages)) if passages else None


@solver
@checked
def factored_verification(
    how: How = "auto",
    samples: int = 5,
    temperature: float = 1.0,
    threshold: float = 0.5,
    knowledge: str | None = None,
    top: int = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Split a text into claims, check each one against the source, and multiply their probabilities.

    This works with tasks whose items have a source text and, with `knowledge`, with all tasks that label one text. The
    model role `decomposer` lists the claims and `verifier` checks them; both default to the model under test.

    Args:
        how: How the probability of a claim is estimated: `logprobs`, `reasoned`, `samples`, or `auto`, which is
            `logprobs` if the verifier returns them and `reasoned` if not.
        samples: Number of replies drawn for each claim with `samples`.
        temperature: Temperature of these replies.
        threshold: A text is called hallucinated if the probability that some claim is wrong is above the threshold.
        knowledge: File or folder of passages. Each claim is checked against those that BM25 finds for it, instead of
            the item's source. Or `gold`, the item's evidence, even if the task does not show it.
        top: Number of passages to look up for each claim.
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    library = None
    if knowledge not in (None, GOLD):
        library = Seeker(METHOD, knowledge=knowledge, tool=None, top=top, prompts=prompts, cache=cache)
    checker = Checker(how=how, samples=samples, temperature=temperature, prompts=prompts, cache=cache)
    verifier = FactoredVerifier(checker, library, prompts=prompts, cache=cache)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        record = await verifier.verify(*_text_and_source(state, knowledge))
        hallucinated = record.probability
        answer = "" if hallucinated is None else decide(state, hallucinated, threshold)
        return conclude(state, answer, record)

    return solve


def _text_and_source(state: TaskState, knowledge: str | None) -> tuple[str, str]:
    """Return a sample's text and the source to check it against, which is empty if passages are looked up."""
    subject = subject_of(state, METHOD, ("text",) if knowledge else ("text", "source"))
    if knowledge != GOLD:
        return subject["text"], subject.get("source", "")
    evidence = evidence_of(state)
    if evidence is None:
        raise UsageError(f"{METHOD} with knowledge=gold needs evidence in each item, and there is none")
    return subject["text"], evidence


def _record(listed: ClaimList, probabilities: Sequence[float | None], how: How) -> MethodRecord:
    counts = {
        "claims": len(listed.claims),
        "claims_unread": sum(probability is None for probability in probabilities),
        "claims_questions": listed.questions,
    }
    claims = [list(pair) for pair in zip(listed.claims, probabilities, strict=True)]
    return MethodRecord(method=METHOD, counts=counts, steps={"how": how, "claims": claims})
