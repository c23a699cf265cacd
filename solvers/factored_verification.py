"""Factored Verification (George and Stuhlmüller 2023, arXiv 2310.10627).

The solver `factored_verification` (section 2.2) splits a text into claims and checks each one separately; the
probability that the text is right is the product of its claims' probabilities. Two solvers revise the cited summaries
of the task `fave` (section 4): `factored_revision` by critiques of its sentences, and `self_correction`, the paper's
baseline, by feedback on all of it. Their draft is the reply to the task itself; it is recorded, so that the judge
scores both.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import fill
from halu_tasks.core.settings import Count
from halu_tasks.scorers.benchmarks.judged import cited_sentences, summary_of
from halu_tasks.scorers.benchmarks.judged import shown as shown_papers
from halu_tasks.scorers.citations import CitingSentence
from halu_tasks.scorers.gold import Paper, SummaryGold
from halu_tasks.scorers.judge import fence, shown_passages
from halu_tasks.scorers.reading.claim_lists import listed_claims
from halu_tasks.scorers.reading.claims import supported
from halu_tasks.scorers.reading.questions import NO, YES
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.statistics.calibration import joint_probability, probability_of
from halu_tasks.solvers import model_calls
from halu_tasks.solvers.retrieval import GOLD, Seeker, evidence_of
from halu_tasks.text.sentences import sentences

logger = logging.getLogger(__name__)

How = Literal["auto", "logprobs", "reasoned", "reasoned_few_shot", "samples"]
METHOD = "factored_verification"
_PROBE = "Reply with the single word: Yes"
# the maximum number of tokens of a check or a critique
_LENGTH = 1024


@dataclass
class FactoredVerifier:
    """Splits texts into claims, checks each one against a source, and multiplies their probabilities.

    The model role `decomposer` lists the claims and `verifier` checks them; both default to the model of the run.

    Attributes:
        how: How the probability of a claim is estimated. `logprobs` uses the log-probabilities of a one-word reply, Yes
            or No; `reasoned` asks for reasoning with quotes that ends in Yes (1) or No (0), `reasoned_few_shot` after
            worked examples (section 2.2; the prompt of A.1.3 has none); `samples` uses the share of Yes among several
            replies of `reasoned`; `auto` is `logprobs` if the model returns them and `reasoned` if not.
        samples: The number of replies drawn for each claim with `samples`.
        temperature: The temperature of these replies.
        knowledge: A file or folder of passages, in which each claim is looked up instead of the text's source.
        top: The number of passages to look up.
        prompts: A prompt file with texts that replace the packaged ones.
        cache: Whether replies are cached.

    Raises:
        UsageError: An argument is invalid.
        DataError: The knowledge does not exist, or has no file that can be read.
    """

    how: How
    samples: int
    temperature: float
    knowledge: str | None
    top: int
    prompts: str | None
    cache: bool

    def __post_init__(self) -> None:
        self._library = None
        if self.knowledge is not None:
            self._library = Seeker(METHOD, self.knowledge, None, self.top, self.prompts, self.cache)
        names = (f"{METHOD}_{name}" for name in ("claims", "check", "check_reasoned", "check_reasoned_few_shot"))
        texts = (model_calls.method_prompt(name, METHOD, self.prompts) for name in names)
        self._listing, self._word, self._reasoned, self._after_examples = texts
        self._lock, self._of_models = anyio.Lock(), dict[str, How]()

    async def verify(self, text: str, source: str) -> model_calls.MethodRecord:
        """Verify a text.

        Args:
            text: The text.
            source: What it is checked against, unless passages are looked up.

        Returns:
            The claims with their probabilities, and the probability that some claim is wrong. Without a claim that was
            checked this is None, and the record has a reason.
        """
        how = await self._how()
        prompt = fill(self._listing, {"text": fence(text)})
        reply = await model_calls.ask(
            prompt,
            "decomposer",
            cache=self.cache,
            dry_run_reply="\n".join(f"- {sentence}" for sentence in sentences(text)),
            temperature=0.0,
            max_tokens=2048,
        )
        claims, questions, reason = listed_claims(reply.completion)
        probabilities = await gather(*(self._check(claim, source, how) for claim in claims))
        counts = {"claims": len(claims), "claims_unread": probabilities.count(None), "claims_questions": questions}
        pairs = [list(pair) for pair in zip(claims, probabilities, strict=True)]
        record = model_calls.MethodRecord(method=METHOD, counts=counts, steps={"how": how, "claims": pairs})
        all_supported = joint_probability(probabilities)
        if all_supported is None:
            return replace(record, reason=reason or "no claim was answered with yes or no")
        return replace(record, probability=1 - all_supported)

    async def _how(self) -> How:
        """Return `how`, or for `auto` what the verifier supports. The models of an eval share this object."""
        if self.how != "auto":
            return self.how
        model = "" if model_calls.dry_run_model.get() else str(model_calls.model_in("verifier"))
        async with self._lock:
            if model not in self._of_models:
                self._of_models[model] = "logprobs" if await self._gives_logprobs() else "reasoned"
        return self._of_models[model]

    async def _check(self, claim: str, source: str, how: How) -> float | None:
        if self._library:
            passages = await self._library.search(claim)
            if not passages:
                return None
            source = shown_passages(passages)
        else:
            source = fence(source)
        fields = {"claim": fence(claim), "source": source}
        if how == "logprobs":
            return _by_tokens(await self._word_reply(fill(self._word, fields)))
        number, temperature = (self.samples, self.temperature) if how == "samples" else (1, 0.0)
        settings: dict[str, Any] = {"temperature": temperature, "max_tokens": _LENGTH}
        prompt = fill(self._after_examples if how == "reasoned_few_shot" else self._reasoned, fields)
        replies = await model_calls.draws(prompt, "verifier", number, cache=self.cache, **settings)
        verdicts = [value for reply in replies if (value := supported(reply.completion).value) is not None]
        return sum(verdicts) / len(verdicts) if verdicts else None

    async def _word_reply(self, prompt: str) -> ModelOutput:
        settings: dict[str, Any] = {"logprobs": True, "top_logprobs": model_calls.MOST_ALTERNATIVES}
        return await model_calls.ask(prompt, "verifier", cache=self.cache, temperature=0.0, max_tokens=16, **settings)

    async def _gives_logprobs(self) -> bool:
        try:
            output = await self._word_reply(_PROBE)
        except Exception as error:
            # some providers reject such requests; if the error has another cause, the next call raises it
            logger.info("the verifier rejected a request for log-probabilities: %s", error)
            return False
        if not model_calls.tokens_of(output):
            if not model_calls.dry_run_model.get():
                logger.warning("the verifier returns no log-probabilities; it is asked to reason about claims instead")
            return False
        return True


def _by_tokens(output: ModelOutput) -> float | None:
    verdict = supported(output.completion).value
    if verdict is None:
        return None
    probability = probability_of(model_calls.tokens_of(output), (YES, NO), YES if verdict else NO)
    # a verdict in other words, such as "Supported", has no token Yes or No, and counts as certain
    return float(verdict) if probability is None else probability


@solver
@model_calls.method
def factored_verification(
    how: How = "auto",
    samples: Count = 5,
    temperature: float = 1.0,
    threshold: float = 0.5,
    knowledge: str | None = None,
    top: Count = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Split a text into claims, check each one against the source, and multiply their probabilities.

    This works with tasks whose items have a source text and, with `knowledge`, with all tasks that label one text. The
    model role `decomposer` lists the claims and `verifier` checks them; both default to the model under test.

    Args:
        how: How the probability of a claim is estimated: `logprobs`, `reasoned`, `reasoned_few_shot`, `samples`, or
            `auto`, which is `logprobs` if the verifier returns them and `reasoned` if not.
        samples: Number of replies drawn for each claim with `samples`.
        temperature: Temperature of these replies.
        threshold: A text is called hallucinated if the probability that some claim is wrong is above the threshold.
        knowledge: File or folder of passages. Each claim is checked against those that BM25 finds for it, instead of
            the item's source. Or `gold`, the item's evidence, even if the task does not show it.
        top: Number of passages to look up for each claim.
        prompts: Prompt file with texts that replace the packaged ones.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    passages = None if knowledge == GOLD else knowledge
    verifier = FactoredVerifier(how, samples, temperature, passages, top, prompts, cache)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        subject = model_calls.subject_of(state, METHOD, ("text",) if knowledge else ("text", "source"))
        source = subject.get("source", "")
        if knowledge == GOLD:
            source = evidence_of(subject, state.sample_id, state.metadata.get("task", "the task"))
        return model_calls.conclude_by_probability(state, await verifier.verify(subject["text"], source), threshold)

    return solve


# --- revision of cited summaries ------------------------------------------------------------------

Criticize = Callable[[Sequence[Paper], str], Awaitable[tuple[str, dict[str, float]]]]
"""Criticizes a draft about papers; returns the critique, empty if there is nothing to revise, and counts."""


@solver
@model_calls.method
def factored_revision(prompts: str | None = None, cache: bool = True) -> Solver:
    """Write a summary and revise it by critiques of its unsupported sentences (Algorithm 1 of the paper).

    Each sentence with citations is checked against the abstracts that it cites. The summary is not revised if all of
    them are supported. The model role `writer` writes and revises, and `critic` checks; both default to the model under
    test.

    Args:
        prompts: Prompt file with texts that replace the packaged ones.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    critique, entry = (
        model_calls.method_prompt(name, "fave", prompts) for name in ("fave_critique", "fave_critique_entry")
    )

    async def check(claim: CitingSentence) -> tuple[bool | None, str]:
        """Return whether a sentence is supported, None if the critic does not say so, and the critique."""
        if not claim.papers:
            # this is part of the prompt of the revision
            return False, f"There is no paper {' or '.join(claim.unknown)} among those given, so nothing supports this."
        prompt = fill(critique, {"papers": shown_papers(claim.papers), "claim": fence(claim.sentence)})
        output = await model_calls.ask(
            prompt, "critic", cache=cache, dry_run_reply="Supported: No", temperature=0.0, max_tokens=_LENGTH
        )
        reply = output.completion
        text = ReplyText(reply).text.partition("Supported:")[0].strip(" \n*").removeprefix("Critique:")
        return supported(reply).value, " ".join(text.split()) or "No source supports this sentence."

    async def criticize(papers: Sequence[Paper], draft: str) -> tuple[str, dict[str, float]]:
        claims = cited_sentences(summary, papers)[0] if (summary := summary_of(draft)) else []
        checks = await gather(*(check(claim) for claim in claims))
        critiques = [(claim, text) for claim, (holds, text) in zip(claims, checks, strict=True) if holds is False]
        faults = [fill(entry, {"sentence": claim.sentence, "critique": text}) for claim, text in critiques]
        return "\n".join(faults), {
            "sentences_checked": len(claims),
            "sentences_unsupported": len(faults),
            "critiques_unread": sum(is_supported is None for is_supported, _ in checks),
        }

    return _revision("factored_revision", criticize, prompts, cache)


@solver
@model_calls.method
def self_correction(prompts: str | None = None, cache: bool = True) -> Solver:
    """Write a summary, ask for feedback on all of it at once, and revise it by that feedback (section 4.1).

    The model role `writer` writes and revises, and `critic` gives feedback; both default to the model under test.

    Args:
        prompts: Prompt file with texts that replace the packaged ones.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    feedback = model_calls.method_prompt("fave_feedback", "fave", prompts)

    async def criticize(papers: Sequence[Paper], draft: str) -> tuple[str, dict[str, float]]:
        prompt = fill(feedback, {"papers": shown_papers(papers), "summary": fence(summary_of(draft) or "")})
        reply = await model_calls.ask(prompt, "critic", cache=cache, temperature=0.0, max_tokens=_LENGTH)
        text = ReplyText(reply.completion).text.strip().removeprefix("Feedback:").strip()
        return text, {"feedback_empty": float(not text)}

    return _revision("self_correction", criticize, prompts, cache)


def _revision(method: str, criticize: Criticize, prompts: str | None, cache: bool) -> Solver:
    """Create a solver that writes a draft and revises it, unless the draft or the critique is empty.

    The revision is asked for on its own, without the messages of the task and the draft before it, since these have no
    fences.

    Raises:
        UsageError: The user's prompt lacks the summary or the critique.
    """
    revision = model_calls.method_prompt("fave_revision", "fave", prompts)
    if missing := [name for name in ("summary", "critique") if f"{{{name}}}" not in revision]:
        raise UsageError(f"prompts {prompts}: fave_revision must have {{{missing[0]}}}")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        metadata = model_calls.SampleMetadata.required_of(state)
        if metadata.benchmark_task.benchmark != "fave":
            raise UsageError(
                f"{method} revises the cited summaries of fave, and {metadata.task} asks for something else"
            )
        gold = SummaryGold.from_json(metadata.gold)  # of which methods use only what the prompt shows too
        draft = final = (await model_calls.ask(state.messages, "writer", cache=cache)).completion
        critique, counts = await criticize(gold.papers, draft)
        summary = summary_of(draft)
        if revised := bool(critique and summary):
            fields = {"query": gold.query, "summary": summary or "", "critique": critique}
            fenced = {name: fence(text) for name, text in fields.items()}
            prompt = fill(revision, {**fenced, "papers": shown_papers(gold.papers)})
            final = (await model_calls.ask(prompt, "writer", cache=cache)).completion
        steps = {"draft": draft, "critique": critique}
        counts = {**counts, "revised": float(revised)}
        record = model_calls.MethodRecord(method=method, draft=draft, counts=counts, steps=steps)
        return model_calls.conclude(state, final, record)

    return solve
