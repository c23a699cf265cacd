"""SelfCheckGPT (Manakul, Liusie and Gales 2023, arXiv 2303.08896): what a model knows, it says each time that it is
asked, and what it makes up changes. Passages are sampled to the question of an item, and the text under test is
compared with them, by asking a model (section 5.5) or by a model of n-grams (section 5.3)."""

from __future__ import annotations

from statistics import fmean
from typing import Any, Literal, NamedTuple

import anyio
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.concurrency import gather
from halu_tasks.errors import UsageError
from halu_tasks.prompting import fill
from halu_tasks.scorers.answer import strip_reasoning
from halu_tasks.scorers.methods.ngram import as_probability, ngram_scores
from halu_tasks.scorers.reading.claims import supported
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, conclude, decide, draws, subject_of
from halu_tasks.solvers.method_prompts import method_prompt
from halu_tasks.text.sentences import sentences

Statistic = Literal["average", "maximum"]
_SCORES = {True: 0.0, False: 1.0, None: 0.5}
"""Of a sentence whose check says yes, no, or neither (section 5.5)."""


class Compared(NamedTuple):
    """The sentences of a text, the passages to compare them with, without reasoning and empty ones, the numbers of
    each, and why there is nothing to compare; empty where there is."""

    sentences: list[str]
    passages: list[str]
    counts: dict[str, float]
    reason: str


class Sampler:
    """Draws the passages that a text is compared with: answers to its question or, where it has none, summaries of
    its source.

    Args:
        name: of the solver, for errors.
        samples: number of passages.
        temperature: of them.
        prompts: a prompt file whose wording replaces the package's.
        cache: whether replies are kept.
    """

    def __init__(self, name: str, samples: int, temperature: float, prompts: str | None, cache: bool) -> None:
        if samples < 1:
            raise UsageError(f"option samples={samples} is less than 1")
        self._name, self._samples, self._temperature, self._cache = name, samples, temperature, cache
        self._answer = method_prompt("selfcheck_answer", "selfcheck", prompts)["user"]
        self._summary = method_prompt("selfcheck_summary", "selfcheck", prompts)["user"]
        self._drawing: dict[int, anyio.Lock] = {}

    async def compared(self, state: TaskState) -> Compared:
        """What there is to compare for an item."""
        subject = subject_of(state, self._name, ("text",))
        if "query" in subject:
            asked = fill(self._answer, {"query": subject["query"]})
        elif "source" in subject:
            asked = fill(self._summary, {"source": fence(subject["source"])})
        else:
            task = state.metadata.get("task", "this sample")
            raise UsageError(f"{self._name} needs the query or the source of each item, and {task} has neither")
        # the second text on one question waits for the first, whose passages it then has from the cache
        async with self._drawing.setdefault(hash(asked), anyio.Lock()):
            replies = await draws(
                asked, "sampler", self._samples, cache=self._cache, temperature=self._temperature, max_tokens=1024
            )
        # on one line, as the authors' package puts them into the check
        drawn = [" ".join((strip_reasoning(reply) or "").split()) for reply in replies]
        passages, parts = [passage for passage in drawn if passage], sentences(subject["text"])
        empty = len(drawn) - len(passages)
        counts: dict[str, float] = {"sentences": len(parts), "samples": len(drawn), "samples_empty": empty}
        reason = "" if passages else "all samples are empty"
        return Compared(parts, passages, counts, reason if parts else "the text has no sentence")


@solver
@checked
def selfcheck_prompt(
    samples: int = 20,
    temperature: float = 1.0,
    threshold: float = 0.5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """SelfCheckGPT with prompts: sample passages and ask of each sentence and each passage whether the one is
    supported by the other.

    For tasks whose items have a question or a source. The model role `sampler` writes the passages and `checker`
    compares; both are the model under test where they are not named.

    Args:
        samples: number of passages.
        temperature: of the passages; checks have 0.
        threshold: a text is called hallucinated when its score is above it.
        prompts: a prompt file whose wording replaces the package's.
        cache: keep replies, so that a second run asks nothing again.
    """
    name = "selfcheck_prompt"
    sampler = Sampler(name, samples, temperature, prompts, cache)
    check = method_prompt("selfcheck_check", "selfcheck", prompts)["user"]

    async def checked(sentence: str, passages: list[str]) -> list[bool | None]:
        asked = [fill(check, {"context": fence(passage), "sentence": fence(sentence)}) for passage in passages]
        replies = await gather(*(ask(one, "checker", cache=cache, temperature=0.0, max_tokens=1024) for one in asked))
        return [supported(reply.completion).value for reply in replies]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        told = await sampler.compared(state)
        found = await gather(*(checked(sentence, told.passages) for sentence in told.sentences))
        checks = [value for of_sentence in found for value in of_sentence]
        unread = checks.count(None)
        counts = {**told.counts, "checks_unread": unread}
        reason = told.reason or ("no check was answered with yes or no" if unread == len(checks) else "")
        if reason:
            return conclude(state, name, "", reason=reason, counts=counts)
        scores = [fmean(_SCORES[value] for value in of_sentence) for of_sentence in found]
        score = fmean(scores)
        steps = {"sentences": [list(pair) for pair in zip(told.sentences, scores, strict=True)]}
        answer = decide(state, score, threshold)
        return conclude(state, name, answer, probability=score, counts=counts, steps=steps)

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
    """SelfCheckGPT with n-grams: sample passages and see how surprising the text is to a model of their n-grams.

    For tasks whose items have a question or a source. The model role `sampler` writes the passages, the model under
    test where it is not named. The score x, a negative log-probability, becomes the probability 1 - exp(-x), which
    is near 1 for most texts: choose the threshold by the items of another part, as with `split=train5_rest`.

    Args:
        samples: number of passages.
        temperature: of the passages.
        n: tokens in an n-gram.
        statistic: `maximum`, the mean over the sentences of their most surprising n-gram, or `average`, the mean
            over all n-grams. The maximum of unigrams is the paper's best (section 7.1, table 7).
        threshold: a text is called hallucinated when the probability is above it.
        prompts: a prompt file whose wording replaces the package's.
        cache: keep replies, so that a second run asks nothing again.
    """
    name = "selfcheck_ngram"
    if statistic not in ("average", "maximum"):
        raise UsageError(f"option statistic={statistic!r} is unknown; choose average or maximum")
    if n < 1:
        raise UsageError(f"option n={n} is less than 1")
    sampler = Sampler(name, samples, temperature, prompts, cache)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        told = await sampler.compared(state)
        found = ngram_scores(told.sentences, told.passages, n)
        if told.reason or found is None:
            return conclude(state, name, "", reason=told.reason or "the text has no word", counts=told.counts)
        surprise, by_sentence = {
            "average": (found.average, found.sentence_average),
            "maximum": (found.maximum, found.sentence_maximum),
        }[statistic]
        probability = as_probability(surprise)
        pairs = [list(pair) for pair in zip(told.sentences, by_sentence, strict=True)]
        steps: dict[str, Any] = {"surprise": surprise, "sentences": pairs}
        answer = decide(state, probability, threshold)
        return conclude(state, name, answer, probability=probability, counts=told.counts, steps=steps)

    return solve
