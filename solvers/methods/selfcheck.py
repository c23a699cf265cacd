"""SelfCheckGPT (Manakul, Liusie and Gales 2023, arXiv 2303.08896).

What a model knows it says each time that it is asked, and what it makes up changes. Passages are therefore sampled for
the question of an item, and the text is compared with them, either by prompting a model (section 5.5) or with an n-gram
model (section 5.3).
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import Literal, NamedTuple

import anyio
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import fill
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.methods import as_probability, ngram_scores
from halu_tasks.scorers.reading.claims import supported
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, conclude, decide, draws, subject_of
from halu_tasks.solvers.method_prompts import method_prompt
from halu_tasks.solvers.method_record import MethodRecord
from halu_tasks.text.sentences import sentences

Statistic = Literal["average", "maximum"]
_SCORES = {True: 0.0, False: 1.0, None: 0.5}
"""The score of a sentence by whether a passage supports it: yes, no, or unread (section 5.5)."""


class SentenceCounts(NamedTuple):
    """A text and the passages to compare it with.

    Attributes:
        sentences: The sentences of the text.
        passages: The passages, without reasoning and without empty ones.
        counts: The numbers of sentences, of passages drawn, and of empty ones.
        reason: Why there is nothing to compare with; empty if there is.
    """

    sentences: list[str]
    passages: list[str]
    counts: dict[str, float]
    reason: str


class Sampler:
    """Draws the passages that a text is compared with: answers to its question or, if it has none, summaries.

    Args:
        name: The name of the solver, for errors.
        samples: The number of passages.
        temperature: The temperature of the passages.
        prompts: A prompt file with texts that replace those of the package.
        cache: Whether replies are cached.

    Raises:
        UsageError: `samples` is less than 1.
    """

    def __init__(self, name: str, *, samples: int, temperature: float, prompts: str | None, cache: bool) -> None:
        if samples < 1:
            raise UsageError(f"option samples={samples} is less than 1")
        self._name, self._samples, self._temperature, self._cache = name, samples, temperature, cache
        self._answer = method_prompt("selfcheck_answer", "selfcheck", prompts)["user"]
        self._summary = method_prompt("selfcheck_summary", "selfcheck", prompts)["user"]
        self._drawing: dict[int, anyio.Lock] = {}

    async def compared(self, state: TaskState) -> SentenceCounts:
        """Draw the passages for an item; raise UsageError if it has neither a query nor a source."""
        subject = subject_of(state, self._name, ("text",))
        if "query" in subject:
            prompt = fill(self._answer, {"query": subject["query"]})
        elif "source" in subject:
            prompt = fill(self._summary, {"source": fence(subject["source"])})
        else:
            task = state.metadata.get("task", "this sample")
            raise UsageError(f"{self._name} needs the query or the source of each item, and {task} has neither")
        # a second text on the same question waits for the first one and then takes its passages from the cache
        async with self._drawing.setdefault(hash(prompt), anyio.Lock()):
            replies = await draws(
                prompt, "sampler", self._samples, cache=self._cache, temperature=self._temperature, max_tokens=1024
            )
        # the authors' package also puts each passage on one line
        drawn = [" ".join((strip_reasoning(reply) or "").split()) for reply in replies]
        passages, in_text = [passage for passage in drawn if passage], sentences(subject["text"])
        empty = len(drawn) - len(passages)
        counts: dict[str, float] = {"sentences": len(in_text), "samples": len(drawn), "samples_empty": empty}
        reason = "" if passages else "all samples are empty"
        return SentenceCounts(in_text, passages, counts, reason if in_text else "the text has no sentence")


@solver
@checked
def selfcheck_prompt(
    samples: int = 20,
    temperature: float = 1.0,
    threshold: float = 0.5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Sample passages and ask whether each of them supports each sentence of the text: SelfCheckGPT with prompts.

    This works with tasks whose items have a question or a source. The model role `sampler` writes the passages and
    `checker` compares; both default to the model under test.

    Args:
        samples: Number of passages.
        temperature: Temperature of the passages; that of the checks is 0.
        threshold: A text is called hallucinated if its score is above the threshold.
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    method = "selfcheck_prompt"
    sampler = Sampler(method, samples=samples, temperature=temperature, prompts=prompts, cache=cache)
    prompt = method_prompt("selfcheck_check", "selfcheck", prompts)["user"]

    async def check(sentence: str, passages: list[str]) -> list[bool | None]:
        questions = [fill(prompt, {"context": fence(passage), "sentence": fence(sentence)}) for passage in passages]
        replies = await gather(
            *(ask(question, "checker", cache=cache, temperature=0.0, max_tokens=1024) for question in questions)
        )
        return [supported(reply.completion).value for reply in replies]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        compared = await sampler.compared(state)
        by_sentence = await gather(*(check(sentence, compared.passages) for sentence in compared.sentences))
        checks = [value for of_sentence in by_sentence for value in of_sentence]
        unread = checks.count(None)
        record = MethodRecord(method=method, counts={**compared.counts, "checks_unread": unread})
        reason = compared.reason or ("no check was answered with yes or no" if unread == len(checks) else "")
        if reason:
            return conclude(state, "", replace(record, reason=reason))
        scores = [fmean(_SCORES[value] for value in of_sentence) for of_sentence in by_sentence]
        score = fmean(scores)
        steps = {"sentences": [list(pair) for pair in zip(compared.sentences, scores, strict=True)]}
        return conclude(state, decide(state, score, threshold), replace(record, probability=score, steps=steps))

    return solve


@solver
@checked
def selfcheck_ngram(
    samples: int = 20,
    temperature: float = 1.0,
    n: int = 1,
    statistic: Statistic = "maximum",
    threshold: float = 0.5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Sample passages and measure how surprising the text is to their n-gram model: SelfCheckGPT with n-grams.

    This works with tasks whose items have a question or a source. The model role `sampler` writes the passages and
    defaults to the model under test. The score x, a negative log-probability, is mapped to the probability 1 - exp(-x),
    which is close to 1 for most texts. Choose the threshold on other items, for instance with `split=train5_rest`.

    Args:
        samples: Number of passages.
        temperature: Temperature of the passages.
        n: Number of tokens in an n-gram.
        statistic: `maximum`, the mean over the sentences of their most surprising n-gram, or `average`, the mean over
            all n-grams. The maximum with unigrams is the best in the paper (section 7.1, table 7).
        threshold: A text is called hallucinated if the probability is above the threshold.
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    method = "selfcheck_ngram"
    if statistic not in ("average", "maximum"):
        raise UsageError(f"option statistic={statistic!r} is unknown; choose average or maximum")
    if n < 1:
        raise UsageError(f"option n={n} is less than 1")
    sampler = Sampler(method, samples=samples, temperature=temperature, prompts=prompts, cache=cache)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        compared = await sampler.compared(state)
        record = MethodRecord(method=method, counts=compared.counts)
        scores = ngram_scores(compared.sentences, compared.passages, n)
        if compared.reason or scores is None:
            return conclude(state, "", replace(record, reason=compared.reason or "the text has no words"))
        surprise, by_sentence = {
            "average": (scores.average, scores.sentence_average),
            "maximum": (scores.maximum, scores.sentence_maximum),
        }[statistic]
        probability = as_probability(surprise)
        pairs = [list(pair) for pair in zip(compared.sentences, by_sentence, strict=True)]
        steps = {"surprise": surprise, "sentences": pairs}
        answer = decide(state, probability, threshold)
        return conclude(state, answer, replace(record, probability=probability, steps=steps))

    return solve
