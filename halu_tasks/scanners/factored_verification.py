"""The scanner `factored_verification`: are all claims of a reply supported by its source?"""

from __future__ import annotations

from inspect_scout import Result, Scanner, Transcript, scanner

from halu_tasks.scanners.transcripts import no_reply, reply_of, source_of
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.knowledge import Seeker
from halu_tasks.solvers.method_record import MethodRecord
from halu_tasks.solvers.methods.factored_verification import METHOD, Checker, FactoredVerifier, How


@scanner(messages="all")
@checked
def factored_verification(
    source: str | None = None,
    how: How = "auto",
    samples: int = 5,
    temperature: float = 1.0,
    threshold: float = 0.5,
    knowledge: str | None = None,
    top: int = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Scanner[Transcript]:
    """Split a reply into claims, check each one against the source, and multiply their probabilities.

    The value is whether the probability that some claim is wrong is above the threshold. The model role `decomposer`
    lists the claims and `verifier` checks them; both default to the model of the scan.

    Args:
        source: The metadata field with the source. By default, all that the user and tools wrote before the reply.
        how: How the probability of a claim is estimated, as in the solver.
        samples: Number of replies drawn for each claim with `samples`.
        temperature: Temperature of these replies.
        threshold: The probability above which a reply is called hallucinated.
        knowledge: File or folder of passages. Each claim is checked against those that BM25 finds for it.
        top: Number of passages to look up for each claim.
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies of the models.
    """
    library = None
    if knowledge is not None:
        library = Seeker(METHOD, knowledge=knowledge, tool=None, top=top, prompts=prompts, cache=cache)
    checker = Checker(how=how, samples=samples, temperature=temperature, prompts=prompts, cache=cache)
    verifier = FactoredVerifier(checker, library, prompts=prompts, cache=cache)

    async def scan(transcript: Transcript) -> Result:
        reply = reply_of(transcript)
        if reply is None:
            return no_reply()
        text = "" if library else source_of(transcript, reply, source)
        record = await verifier.verify(reply.text, text)
        return _result(record, threshold).model_copy(update={"references": reply.references})

    return scan


def _result(record: MethodRecord, threshold: float) -> Result:
    steps = record.steps or {}
    metadata = {"probability": record.probability, **(record.counts or {}), **steps}
    if record.probability is None:
        return Result(value=None, explanation=record.reason, metadata=metadata)
    doubted = [claim for claim, probability in steps["claims"] if probability is not None and probability < 0.5]
    return Result(
        value=record.probability > threshold,
        answer=f"{record.probability:.3f}",
        explanation="\n".join(f"not supported: {claim}" for claim in doubted) or "every claim is supported",
        metadata=metadata,
    )
