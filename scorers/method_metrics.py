"""Figures of methods: combined probabilities, cost, opinions before the answer, and SelfCheckGPT's n-grams.

The n-gram variant of SelfCheckGPT (Manakul et al. 2023, arXiv 2303.08896, section 5.3) measures how surprising a
response is to an n-gram model of other samples of it: what a model makes up is seldom repeated in its samples.

The n-gram model counts the n-grams of the samples and of the response itself. Counting the response smooths the model,
since each of its n-grams has then been seen at least once. The probability of an n-gram is its share of all n-grams, as
in the authors' package (selfcheckgpt 0.1, `modeling_ngram.py`): for n above 1, this is the probability of the n tokens
together and not that of the last one given the others. Each sentence is padded at its start with n - 1 marks, so it has
as many n-grams as tokens.

The authors tokenize texts with spaCy's English model. Here a token is a number, a run of letters, a Chinese or Japanese
character, or any other character except white space, in compatibility form (NFKC) and without case. "don't" is
therefore three tokens instead of spaCy's two ("do", "n't"). The sentences of the response are given; sentences of a
sample end at line ends and at punctuation, including the full stops of abbreviations, which matters only for n above 1.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, takewhile
from statistics import fmean
from typing import Any, Literal

from halu_tasks.scorers.metrics import Estimate, estimates, mean
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.agreement import pairwise_agreement

# --- the probability that a text is right -----------------------------------------------------------------

UNKNOWN = 0.5
"""The probability of a claim whose checks say neither yes nor no."""


def combined(probabilities: Sequence[float | None]) -> float | None:
    """Compute the probability that all claims are right, assuming that they are independent.

    This is the product of their probabilities, computed in log space.

    Args:
        probabilities: The probability of each claim, 0 to 1; None, if it is unknown, counts as 0.5.

    Returns:
        The probability, 0 to 1; None if there are no claims or nothing is known about any of them.
    """
    if all(probability is None for probability in probabilities):
        return None
    factors = [UNKNOWN if probability is None else probability for probability in probabilities]
    if min(factors) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, factors)))


# --- cost -------------------------------------------------------------------------------------------------

Cost = Mapping[str, float]
"""The counts of one sample by name, and its `start` and `end`; see `cost_of`."""
COUNTED = ("calls", "cached_calls", "input_tokens", "output_tokens")
"""The counts of a cost, which add up over samples."""


def cost_of(events: Iterable[Any]) -> Cost | None:
    """Compute the cost of one sample.

    Args:
        events: The sample's events in Inspect. Those of scorers, which may ask a judge, are not part of the cost.

    Returns:
        The numbers of `calls` that reached a provider and of `cached_calls` that did not, the `input_tokens` and
        `output_tokens` of the former, and `start` and `end` in seconds since 1970; None if no model was called. What
        the server of a model had cached of the input counts, too.
    """
    answering = takewhile(lambda event: not (event.event == "span_begin" and event.name == "scorers"), events)
    model_events = [event for event in answering if event.event == "model"]
    if not model_events:
        return None
    calls = [event for event in model_events if event.cache != "read"]
    usage = [event.output.usage for event in calls if event.output.usage]
    return {
        "calls": len(calls),
        "cached_calls": len(model_events) - len(calls),
        "input_tokens": sum(map(_input_tokens, usage)),
        "output_tokens": sum(used.output_tokens for used in usage),
        "start": min(event.timestamp.timestamp() for event in model_events),
        "end": max((event.completed or event.timestamp).timestamp() for event in model_events),
    }


def _input_tokens(used: Any) -> int:
    """Return all tokens that were sent, of which Inspect counts by themselves those that the server had cached."""
    counts = (used.input_tokens, used.input_tokens_cache_read, used.input_tokens_cache_write)
    return sum(count or 0 for count in counts)


def total(costs: Sequence[Cost]) -> dict[str, float]:
    """Add up the costs of many samples.

    Returns:
        The sums of the counts, and `wall_seconds`, the time during which at least one sample was being answered, which
        excludes a pause between an interrupted run and its resumption.
    """
    sums = {name: float(sum(cost[name] for cost in costs)) for name in COUNTED}
    seconds, until = 0.0, float("-inf")
    for start, end in sorted((cost["start"], cost["end"]) for cost in costs):
        seconds += max(end - max(start, until), 0.0)
        until = max(until, end)
    return {**sums, "wall_seconds": seconds}


# --- opinions ---------------------------------------------------------------------------------------------

Opinions = Mapping[str, str | None]
"""The label given by each role for one item; None if it gave none."""

NO_LABEL = "unparsed"
"""What counts as the label of a role that gave none."""


def opinion_figures(scores: Sequence[ScoredReply], opinions: Sequence[Opinions | None]) -> dict[str, Estimate]:
    """Compute the metrics of the opinions behind N answers, each with its clustered error.

    All are 0 to 1:

    - `acc_ROLE`, the share of items for which the role's label is right; a missing label is wrong;
    - `unparsed_ROLE`, the share of items for which the role gave no label;
    - `agreement` of the roles; a missing label counts as one more label.

    Args:
        scores: The scores of the answers.
        opinions: The opinions behind each answer, of two or more roles, the same for all; None for a method that was
            stopped before it had any, which counts as a missing label of each role.

    Returns:
        The estimates by name; empty if there are no opinions at all.
    """
    roles = next((list(by_role) for by_role in opinions if by_role is not None), None)
    if roles is None:
        return {}
    filled: list[Opinions] = [by_role or dict.fromkeys(roles) for by_role in opinions]
    measured = [replace(score, facts=_measure(score, each)) for score, each in zip(scores, filled, strict=True)]
    names = [f"{name}_{role}" for name in ("acc", "unparsed") for role in roles]
    figures = estimates((mean(name, name) for name in names), measured)
    labels = [[by_role[role] or NO_LABEL for by_role in filled] for role in roles]
    clusters = [score.cluster for score in scores]
    if share := pairwise_agreement(labels, clusters):
        figures["agreement"] = share
    return figures


def _measure(score: ScoredReply, opinions: Opinions) -> dict[str, float]:
    """Return the measurements of one item's opinions, 0 or 1 each."""
    measurements: dict[str, float] = {}
    for role, label in opinions.items():
        measurements |= {f"acc_{role}": float(label == score.target), f"unparsed_{role}": float(label is None)}
    return measurements


# --- n-grams ----------------------------------------------------------------------------------------------

_END = re.compile(r"[.!?…।۔؟][\"'”’)\]»]*(?=\s)|[。！？]+[」』”’）]*")


Statistic = Literal["average", "maximum"]


def ngram_scores(
    sentences: Sequence[str], samples: Sequence[str], n: int = 1, statistic: Statistic = "maximum"
) -> tuple[float, list[float | None]] | None:
    """Score a response by an n-gram model of its samples.

    Scores are negative log-probabilities in nats, 0 or more; the higher, the less the samples support the response.

    Args:
        sentences: The sentences of the response, in order.
        samples: Other responses to the same prompt. Without any, the scores only measure how much the response repeats
            itself.
        n: The number of tokens in an n-gram, 1 or more.
        statistic: `average`, the mean over all n-grams, or `maximum`, the mean over sentences of the maximum of each.

    Returns:
        The score of the response, and those of its sentences, None for one without tokens; None if the response has no
        tokens.
    """
    by_sentence = [list(_ngrams(sentence, n)) for sentence in sentences]
    if not any(by_sentence):
        return None
    counts = Counter(ngram for ngrams in by_sentence for ngram in ngrams)
    for sample in samples:
        for sentence in _END.sub(r"\g<0>\n", sample).splitlines():
            counts.update(_ngrams(sentence, n))
    total = math.log(counts.total())
    surprises = [[total - math.log(counts[ngram]) for ngram in ngrams] for ngrams in by_sentence]
    if statistic == "average":
        return fmean(chain.from_iterable(surprises)), [fmean(each) if each else None for each in surprises]
    maxima = [max(each, default=None) for each in surprises]
    return fmean(each for each in maxima if each is not None), maxima


def as_probability(surprise: float) -> float:
    """Map a negative log-probability x >= 0 to 1 - exp(-x), from 0 to below 1 in the same order.

    Metrics that expect a probability, such as ROC-AUC, can then be computed. The result is one minus the geometric mean
    of the n-grams' probabilities. It is not a calibrated probability of a hallucination: with long texts, all results
    are close to 1.
    """
    return min(-math.expm1(-surprise), math.nextafter(1.0, 0.0))


def tokens(text: str) -> list[str]:
    """Split a text into tokens."""
    return _token().findall(unicodedata.normalize("NFKC", text).casefold())


@cache
def _token() -> re.Pattern[str]:
    # vowel signs, other marks and joiners are parts of words, but not letters to regular expressions
    marks = "".join(chr(code) for code in range(0x10000) if unicodedata.category(chr(code))[0] == "M")
    by_character = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    letter = rf"[^\W\d_{by_character}]|[{marks}\u200c\u200d]"
    return re.compile(rf"\d+(?:[.,]\d+)*|[{by_character}][{marks}]*|(?:{letter})+|\S")


def _ngrams(sentence: str, n: int) -> Iterator[tuple[str, ...]]:
    # the start is padded by a mark that differs from all tokens, since these are not empty
    padded = [""] * (n - 1) + tokens(sentence)
    return zip(*(padded[i:] for i in range(n)), strict=False)
