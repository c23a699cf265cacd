"""Factored Verification (George and Stuhlmüller 2023, section 2.2): a text is split into claims, each claim is checked
on its own, and the text is as probable as all of them together."""

from __future__ import annotations

import logging
from typing import Any, Literal

import anyio
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.concurrency import gather
from halu_tasks.errors import UsageError
from halu_tasks.prompting import fill
from halu_tasks.scorers.methods.combine import combined
from halu_tasks.scorers.reading.claim_list import listed_claims
from halu_tasks.scorers.reading.claims import supported
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.scorers.statistics.probability import probability_of
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
from halu_tasks.solvers.knowledge import GOLD, Seeker, evidence_of, shown
from halu_tasks.solvers.method_prompts import method_prompt

logger = logging.getLogger(__name__)

How = Literal["auto", "logprobs", "reasoned", "samples"]
_YES, _NO = "Yes", "No"
_METHOD = "factored_verification"

_PROBE = "Reply with the single word: Yes"


class Checker:
    """Says how probable it is that a source supports a claim.

    Args:
        how: `logprobs` reads the probability of Yes from the tokens of a reply of one word; `reasoned` asks for
            reasoning with quotes, and the Yes or No that it ends in is 1 or 0; `samples` takes the share of Yes
            among several such replies; `auto` is `logprobs` where the model gives them, and else `reasoned`.
        samples: number of replies drawn for a claim under `samples`.
        temperature: of these.
        prompts: a prompt file whose wording replaces the package's.
        cache: whether replies are kept.
    """

    def __init__(self, how: How, samples: int, temperature: float, prompts: str | None, cache: bool) -> None:
        if how not in ("auto", "logprobs", "reasoned", "samples"):
            raise UsageError(f"option how={how!r} is unknown; choose auto or logprobs or reasoned or samples")
        if samples < 1:
            raise UsageError(f"option samples={samples} is less than 1")
        self._how, self._samples, self._temperature, self._cache = how, samples, temperature, cache
        self._word = method_prompt("factored_verification_check", "factored_verification", prompts)["user"]
        self._reasoned = method_prompt("factored_verification_check_reasoned", "factored_verification", prompts)["user"]
        self._lock = anyio.Lock()

    async def ready(self) -> How:
        """How claims are checked; under `auto` the model is asked once."""
        async with self._lock:
            if self._how == "auto":
                self._how = "logprobs" if await self._gives_logprobs() else "reasoned"
        return self._how

    async def probability(self, claim: str, source: str) -> float | None:
        """The probability that `source`, which is fenced, supports `claim`; None where no reply says yes or no."""
        fields = {"claim": fence(claim), "source": source}
        if self._how == "logprobs":
            return await self._by_tokens(fill(self._word, fields))
        asked = fill(self._reasoned, fields)
        drawn = {"samples": (self._samples, self._temperature)}.get(self._how, (1, 0.0))
        replies = await draws(asked, "verifier", drawn[0], cache=self._cache, temperature=drawn[1], max_tokens=1024)
        read = [answer.value for reply in replies if (answer := supported(reply)).value is not None]
        return sum(read) / len(read) if read else None

    async def _by_tokens(self, asked: str) -> float | None:
        output = await self._word_reply(asked)
        answer = supported(output.completion).value
        if answer is None:
            return None
        found = probability_of(tokens_of(output), (_YES, _NO), _YES if answer else _NO)
        # said in other words, as "Supported": then the answer itself is the probability
        return float(answer) if found is None else found

    async def _word_reply(self, asked: str) -> ModelOutput:
        """A reply of one word with its log-probabilities."""
        told: dict[str, Any] = {"logprobs": True, "top_logprobs": MOST_ALTERNATIVES}
        return await ask(asked, "verifier", cache=self._cache, temperature=0.0, max_tokens=16, **told)

    async def _gives_logprobs(self) -> bool:
        try:
            output = await self._word_reply(_PROBE)
        except Exception as error:
            # some providers refuse the question; whether they answer any is seen at the next
            logger.info("the verifier refused log-probabilities: %s", error)
            return False
        if not tokens_of(output):
            logger.warning("the verifier gives no log-probabilities; each claim gets a reasoned Yes or No instead")
            return False
        return True


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
    """Split a text into claims, check each on its own against its source, and multiply their probabilities.

    For tasks whose items have a source text, and with `knowledge` for all that judge one text. The model role
    `decomposer` lists the claims and `verifier` checks them; both are the model under test where they are not named.

    Args:
        how: how a claim gets its probability: `logprobs`, `reasoned`, `samples`, or `auto`, which is `logprobs`
            where the verifier gives them and else `reasoned`.
        samples: number of replies drawn for a claim under `samples`.
        temperature: of these replies.
        threshold: a text is called hallucinated when the probability that some claim is wrong is above it.
        knowledge: a file or folder of passages; each claim is checked against those that BM25 finds for it, in place
            of the item's source. Or `gold`: the item's evidence, also where the task does not show it.
        top: number of passages to look up for a claim.
        prompts: a prompt file whose wording replaces the package's.
        cache: keep replies, so that a second run asks nothing again.
    """
    library = Seeker(_METHOD, knowledge, None, top, prompts, cache) if knowledge not in (None, GOLD) else None
    checker = Checker(how, samples, temperature, prompts, cache)
    listing = method_prompt("factored_verification_claims", _METHOD, prompts)["user"]

    async def check(claim: str, source: str) -> float | None:
        if library is None:
            return await checker.probability(claim, fence(source))
        found = await library.search(claim)
        # of a claim that nothing is found for nothing is known
        return await checker.probability(claim, shown(found)) if found else None

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        subject = subject_of(state, _METHOD, ("text",) if knowledge else ("text", "source"))
        source = subject.get("source", "")
        if knowledge == GOLD:
            if (evidence := evidence_of(state)) is None:
                raise UsageError(f"{_METHOD} with knowledge=gold needs evidence in each item, and there is none")
            source = evidence
        used = await checker.ready()
        asked = fill(listing, {"text": fence(subject["text"])})
        reply = await ask(asked, "decomposer", cache=cache, temperature=0.0, max_tokens=2048)
        listed = listed_claims(reply.completion)
        found = await gather(*(check(claim, source) for claim in listed.claims))
        counts = {
            "claims": len(listed.claims),
            "claims_unread": sum(probability is None for probability in found),
            "claims_questions": listed.questions,
        }
        steps = {"how": used, "claims": [list(pair) for pair in zip(listed.claims, found, strict=True)]}
        told: dict[str, Any] = {"counts": counts, "steps": steps}
        supports = combined(found)
        if supports is None:
            reason = listed.reason or "no claim was answered with yes or no"
            return conclude(state, _METHOD, "", reason=reason, **told)
        hallucinated = 1 - supports
        answer = decide(state, hallucinated, threshold)
        return conclude(state, _METHOD, answer, probability=hallucinated, **told)

    return solve
