"""Leaks: simple features of a text that say nothing about facts, but separate hallucinated texts from true ones.

A benchmark that can be passed by looking at lengths or line ends measures just that. HaluEval is a known example: its
true summaries end in a line end, its hallucinated ones do not.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from halu_tasks.builders.quality.sampling import Sampled
from halu_tasks.scorers.methods.ngram import tokens
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import roc_auc
from halu_tasks.scorers.statistics.probability import FACT

TRUE, HALLUCINATED = "true", "hallucinated"
LIMITS = (0.4, 0.6)
"""A figure within these limits is too close to chance to be called a leak, however certain it is."""
FEWEST_DOCUMENTS = 10
"""Minimum number of documents for a verdict: items of one document are similar, and few documents say little about
others."""

LEAK, NONE, UNSURE, TOO_FEW = "leak", "none", "unsure", "too few documents"
"""Verdicts: certainly different from chance and outside `LIMITS`; certainly within them; neither; too little data."""

_AREA = roc_auc(HALLUCINATED)
_MORE = mean("more", "more")


def words(text: str) -> list[str]:
    """Return the words of a text, folded; in Chinese and Japanese each character is a word."""
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
"""Features of a text alone."""

Measure = Callable[[str, Mapping[str, str]], float]
"""Takes a text and its context; returns the value of a feature."""


class Separation(NamedTuple):
    """How well a feature separates hallucinated texts (1) from true ones; 0.5 is chance.

    Figures are rounded to four decimals, which are the same on every machine, and have 95% intervals clustered by
    document.

    Attributes:
        area: The area under the ROC curve over all texts: the share of pairs of a hallucinated and a true text of any
            two items in which the hallucinated one has the larger value. Equal values count half.
        in_pairs: This share within pairs, which matters to readers who see both texts of a pair.
        same: Whether the feature is the same in both texts of every pair.
        verdict: The verdict, which takes both figures into account.
    """

    area: Estimate | None
    in_pairs: Estimate | None
    same: bool
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """Return the separation as in `quality.json`."""
        return {**self._asdict(), "area": as_json(self.area), "in_pairs": as_json(self.in_pairs)}

    @property
    def figures(self) -> tuple[Estimate | None, Estimate | None]:
        """`area` and `in_pairs`, without intervals if the feature is always the same, as chance then plays no role."""
        if not self.same:
            return self.area, self.in_pairs
        area, in_pairs = (figure and figure._replace(low=None, high=None) for figure in (self.area, self.in_pairs))
        return area, in_pairs

    def describe(self) -> str:
        """Describe a leak; both figures must be known."""
        assert self.area and self.in_pairs
        return f"area {self.area.value:.3f} over all texts, {self.in_pairs.value:.3f} within pairs"


def leaks(sample: Sequence[Sampled]) -> dict[str, Separation]:
    """Measure for each feature how well it separates hallucinated texts from true ones."""
    measured: dict[str, Measure] = {name: partial(_alone, feature) for name, feature in FEATURES.items()}
    for part in sorted({name for sampled in sample for name in sampled.context}):
        measured[f"words shared with the {part}"] = partial(_shared, part)
    return {name: _measure(sample, feature) for name, feature in measured.items()}


def _measure(sample: Sequence[Sampled], feature: Measure) -> Separation:
    """Measure one feature."""
    values = [(feature(each.pair.hallucinated, each.context), feature(each.pair.true, each.context)) for each in sample]
    return separation([each.pair.cluster for each in sample], values)


def separation(clusters: Sequence[str], values: Sequence[tuple[float, float]]) -> Separation:
    """Compute how well a feature separates hallucinated texts from true ones.

    Args:
        clusters: The documents of N pairs.
        values: The feature's values for the hallucinated and the true text of each of the N pairs.
    """
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
    return Separation(
        area=rounded(area),
        in_pairs=rounded(in_pairs),
        same=bool(values) and all(one == other for one, other in values),
        verdict=verdict(len(set(clusters)), area, in_pairs),
    )


def verdict(documents: int, *figures: Estimate | None) -> str:
    """Return the joint verdict on figures for which 0.5 is chance."""
    if documents < FEWEST_DOCUMENTS:
        return TOO_FEW
    verdicts = {_verdict(figure) for figure in figures}
    return next(each for each in (LEAK, UNSURE, NONE) if each in verdicts)


def _verdict(figure: Estimate | None) -> str:
    """Return the verdict on one figure."""
    if figure is None or figure.low is None or figure.high is None:
        return UNSURE
    if figure.value == 0.5 and figure.stderr == 0:
        return NONE  # the feature is the same in both texts of every document
    beyond = not LIMITS[0] <= figure.value <= LIMITS[1]
    if beyond and not figure.low <= 0.5 <= figure.high:
        return LEAK
    return NONE if LIMITS[0] <= figure.low and figure.high <= LIMITS[1] else UNSURE


def rounded(figure: Estimate | None) -> Estimate | None:
    """Round a figure to four decimals, which are the same on every machine."""
    return figure and Estimate(
        round(figure.value, 4), *(None if value is None else round(value, 4) for value in figure[1:])
    )


def as_json(figure: Estimate | None) -> dict[str, float | None] | None:
    """Return a figure as JSON values."""
    return figure and figure._asdict()


def _alone(feature: Callable[[str], float], text: str, context: Mapping[str, str]) -> float:
    """Measure a feature of the text alone."""
    return float(feature(text))


def _shared(part: str, text: str, context: Mapping[str, str]) -> float:
    """Return the share of a text's words that a part of the context contains."""
    in_text, in_context = words(text), set(words(context.get(part, "")))
    return sum(word in in_context for word in in_text) / len(in_text) if in_text else 0.0
