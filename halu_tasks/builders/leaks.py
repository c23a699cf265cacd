"""Leaks: does a simple feature of a text, which says nothing of facts, tell hallucinated texts from true ones?

A benchmark that can be passed by looking at lengths or line ends measures that. HaluEval is known for one: its true
summaries end in a line end, its hallucinated ones do not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from halu_tasks.builders.sampling import Sampled
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean
from halu_tasks.scorers.ngram import tokens
from halu_tasks.scorers.probability import FACT, roc_auc
from halu_tasks.scorers.score import Score

TRUE, HALLUCINATED = "true", "hallucinated"
LIMITS = (0.4, 0.6)
"""A figure within these is too near to chance to be called a leak, however sure it is."""
FEWEST_DOCUMENTS = 10
"""Documents below which there is no verdict: items of one document are alike, and so few tell nothing of others."""

LEAK, NONE, UNSURE, TOO_FEW = "leak", "none", "unsure", "too few documents"
"""Verdicts: surely beyond the limits of chance and of `LIMITS`; surely within these; neither; not to be told."""

_AREA = roc_auc(HALLUCINATED)[0]
_MORE = mean("more", "more")


def words(text: str) -> list[str]:
    """The words of a text, folded; in Chinese and Japanese each character is one."""
    return [token for token in tokens(text) if any(char.isalnum() for char in token)]


FEATURES: dict[str, Callable[[str], float]] = {
    "characters": len,
    "words": lambda text: len(words(text)),
    "line ends": lambda text: text.count("\n"),
    "space or line end at the beginning": lambda text: text[:1].isspace(),
    "space or line end at the end": lambda text: text[-1:].isspace(),
    "digits": lambda text: sum(char.isdigit() for char in text),
    "punctuation at the end": lambda text: unicodedata.category(text.rstrip()[-1:] or " ").startswith("P"),
}
"""What is measured of a text alone."""

Measure = Callable[[str, Mapping[str, str]], float]
"""A number for a text and what stands beside it."""


def leaks(sample: Sequence[Sampled]) -> dict[str, dict[str, Any]]:
    """By feature: how well it tells hallucinated texts (1) from true ones, 0.5 being not at all.

    `area` is the area under the ROC curve over all texts: the share of pairs of a hallucinated and a true text, of any
    two items, in which the hallucinated one has more. `in_pairs` is that share within the pairs, for whoever sees both
    texts of one. Equals count half. Both have 95% intervals with documents as clusters. `same` is true where the
    feature is the same in both texts of every pair. `verdict` is of both figures.
    """
    measured: dict[str, Measure] = {name: partial(_alone, feature) for name, feature in FEATURES.items()}
    for part in sorted({name for sampled in sample for name in sampled.context}):
        measured[f"words shared with the {part}"] = partial(_shared, part)
    return {name: _figures(sample, feature) for name, feature in measured.items()}


def _figures(sample: Sequence[Sampled], feature: Measure) -> dict[str, Any]:
    values = [(feature(own.pair.hallucinated, own.context), feature(own.pair.true, own.context)) for own in sample]
    return told([own.pair.cluster for own in sample], values)


def told(clusters: Sequence[str], values: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The figures of a number that each hallucinated and each true text of N pairs has, by `area`, `in_pairs`,
    `same` and `verdict` (see `leaks`)."""
    texts = [
        Score("", cluster, None, label, {FACT: value})
        for cluster, pair in zip(clusters, values, strict=True)
        for label, value in zip((HALLUCINATED, TRUE), pair, strict=True)
    ]
    pairs = [
        Score("", cluster, None, "", {"more": 0.5 + 0.5 * ((one > other) - (one < other))})
        for cluster, (one, other) in zip(clusters, values, strict=True)
    ]
    area, in_pairs = estimate(_AREA, by_cluster(texts)), estimate(_MORE, by_cluster(pairs))
    return {
        "area": as_json(area),
        "in_pairs": as_json(in_pairs),
        "same": bool(values) and all(one == other for one, other in values),
        "verdict": verdict(len(set(clusters)), area, in_pairs),
    }


def verdict(documents: int, *figures: Estimate | None) -> str:
    """What figures of which 0.5 is chance say together."""
    if documents < FEWEST_DOCUMENTS:
        return TOO_FEW
    verdicts = {_verdict(figure) for figure in figures}
    return next(found for found in (LEAK, UNSURE, NONE) if found in verdicts)


def _verdict(figure: Estimate | None) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return UNSURE
    if figure.value == 0.5 and figure.stderr == 0:
        return NONE  # every document says so: the feature is the same in both texts
    beyond = not LIMITS[0] <= figure.value <= LIMITS[1]
    if beyond and not figure.low <= 0.5 <= figure.high:
        return LEAK
    return NONE if LIMITS[0] <= figure.low and figure.high <= LIMITS[1] else UNSURE


def as_json(figure: Estimate | None) -> dict[str, float | None] | None:
    """A figure to four decimals, which are the same on every machine."""
    if figure is None:
        return None
    return {name: None if value is None else round(value, 4) for name, value in figure._asdict().items()}


def _alone(feature: Callable[[str], float], text: str, context: Mapping[str, str]) -> float:
    return float(feature(text))


def _shared(part: str, text: str, context: Mapping[str, str]) -> float:
    """The share of a text's words that a part of the context has too."""
    own, others = words(text), set(words(context.get(part, "")))
    return sum(word in others for word in own) / len(own) if own else 0.0
