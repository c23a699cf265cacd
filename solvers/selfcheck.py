"""SelfCheckGPT (Manakul, Liusie and Gales 2023, arXiv 2303.08896).

What a model knows it says each time that it is asked, and what it makes up changes. Passages are therefore sampled for
the question of an item, and the text is compared with them, either by prompting a model (section 5.5) or with an n-gram
model (section 5.3).
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from statistics import fmean

import anyio
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import fill
from halu_tasks.core.settings import Count
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.ngrams import Statistic, as_probability, ngram_scores
from halu_tasks.scorers.reading.claims import supported
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.solvers import model_calls
from halu_tasks.text.folding import language_of
from halu_tasks.text.sentences import sentences

# the score of a sentence by whether a passage supports it: yes, no, or unread (section 5.5)
_SCORES = {True: 0.0, False: 1.0, None: 0.5}

Compare = Callable[[list[str], list[str]], Awaitable[model_calls.MethodRecord]]
"""Compares sentences with passages; the record has a probability, or the reason why there is none."""


@solver
@model_calls.method
def selfcheck_prompt(
    samples: Count = 20,
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
        temperature: Temperature of the passages; the checks have 0.
        threshold: A text is called hallucinated if its score is above the threshold.
        prompts: Prompt file with texts that replace the packaged ones.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    prompt = model_calls.method_prompt("selfcheck_check", "selfcheck", prompts)

    async def check(sentence: str, passage: str) -> bool | None:
        question = fill(prompt, {"context": fence(passage), "sentence": fence(sentence)})
        reply = await model_calls.ask(question, "checker", cache=cache, temperature=0.0, max_tokens=1024)
        return supported(reply.completion).value

    async def compare(in_text: list[str], passages: list[str]) -> model_calls.MethodRecord:
        checks = await gather(*(gather(*(check(each, passage) for passage in passages)) for each in in_text))
        unread = sum(values.count(None) for values in checks)
        record = model_calls.MethodRecord(counts={"checks_unread": unread})
        if unread == len(in_text) * len(passages):
            return replace(record, reason="no check was answered with yes or no")
        scores = [fmean(_SCORES[value] for value in values) for values in checks]
        steps = {"sentences": [list(pair) for pair in zip(in_text, scores, strict=True)]}
        return replace(record, probability=fmean(scores), steps=steps)

    return _selfcheck("selfcheck_prompt", compare, samples, temperature, threshold, prompts, cache)


@solver
@model_calls.method
def selfcheck_ngram(
    samples: Count = 20,
    temperature: float = 1.0,
    n: Count = 1,
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
        prompts: Prompt file with texts that replace the packaged ones.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """

    async def compare(in_text: list[str], passages: list[str]) -> model_calls.MethodRecord:
        scores = ngram_scores(in_text, passages, n, statistic)
        if scores is None:
            return model_calls.MethodRecord(reason="the text has no words")
        surprise, by_sentence = scores
        pairs = [list(pair) for pair in zip(in_text, by_sentence, strict=True)]
        steps = {"surprise": surprise, "sentences": pairs}
        return model_calls.MethodRecord(probability=as_probability(surprise), steps=steps)

    return _selfcheck("selfcheck_ngram", compare, samples, temperature, threshold, prompts, cache)


def _selfcheck(
    method: str, compare: Compare, samples: int, temperature: float, threshold: float, prompts: str | None, cache: bool
) -> Solver:
    """Create a solver that compares a text with passages: answers to its question or, if it has none, summaries."""
    names = ("selfcheck_answer", "selfcheck_summary")
    answer, summary = (model_calls.method_prompt(name, "selfcheck", prompts) for name in names)
    drawing: dict[int, anyio.Lock] = {}

    async def passages_for(subject: dict[str, str]) -> list[str]:
        fenced = {"source": fence(subject.get("source", ""))}
        prompt = fill(answer, {"query": subject["query"]}) if "query" in subject else fill(summary, fenced)
        # a second text on the same question waits for the first one and then takes its passages from the cache
        async with drawing.setdefault(hash(prompt), anyio.Lock()):
            replies = await model_calls.draws(
                prompt,
                "sampler",
                samples,
                cache=cache,
                dry_run_reply=subject["text"],
                temperature=temperature,
                max_tokens=1024,
            )
        # the authors' package also puts each passage on one line
        return [" ".join(ReplyText(reply.completion).text.split()) for reply in replies]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        subject = model_calls.subject_of(state, method, ("text",))
        if not subject.keys() & {"query", "source"}:
            task = state.metadata.get("task", "this sample")
            raise UsageError(f"{method} needs the query or the source of each item, and {task} has neither")
        drawn = await passages_for(subject)
        in_text = sentences(subject["text"], language_of(subject["text"]))
        passages = [passage for passage in drawn if passage]
        counts = {"sentences": len(in_text), "samples": len(drawn), "samples_empty": len(drawn) - len(passages)}
        record = await compare(in_text, passages)
        if not (in_text and passages):
            reason = "all samples are empty" if in_text else "the text has no sentence"
            record = model_calls.MethodRecord(reason=reason, counts=record.counts)
        record = replace(record, method=method, counts={**counts, **(record.counts or {})})
        return model_calls.conclude_by_probability(state, record, threshold)

    return solve
