"""Leaks: what says nothing about facts, but separates hallucinated texts from true ones.

A benchmark that can be passed by looking at lengths or line ends measures just that. HaluEval is a known example: its
true summaries end in a line end, its hallucinated ones do not. Measured are simple features, and whether a classifier
succeeds by words alone, as the models that wrote the hallucinations may favour certain words.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.builders.pipeline import TextPair
from halu_tasks.core.hashing import stable_number
from halu_tasks.scorers.methods import tokens
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.calibration import FACT, roc_auc

PAIRS = 5_000
"""Maximum number of pairs in a sample; shares and areas over this many have a standard error below 0.01."""
CHARACTERS = 10_000_000
"""Maximum number of characters in a sample, to limit time and memory if texts are long."""

TRUE, HALLUCINATED = "true", "hallucinated"
LIMITS = (0.4, 0.6)
"""A figure within these limits is too close to chance to be called a leak, however certain it is."""
FEWEST_DOCUMENTS = 10
"""Minimum number of documents for a verdict: items of one document are similar, and few documents say little about
others."""

LEAK, NONE, UNSURE, TOO_FEW = "leak", "none", "unsure", "too few documents"
"""Verdicts: certainly different from chance and outside `LIMITS`; certainly within them; neither; too little data."""

BY_CLASSIFIER = "words alone, to a classifier"
"""The name of the classifier's result among those of the features."""
_FOLDS = 5
_FEATURES = 50_000
"""Maximum number of n-grams of words, and of characters; the most frequent ones are used."""
_TELLING = 10

_AREA = roc_auc(HALLUCINATED)
_MEAN = mean("value", "value")


class ShownPair(NamedTuple):
    """A pair of texts, and what a task shows with them."""

    pair: TextPair
    context: Mapping[str, str]


@dataclass
class PairSample:
    """A sample of the pairs with the smallest hashes of (seed, key), whatever their order, within limits.

    Attributes:
        seed: The seed.
        most: Maximum number of pairs.
        most_characters: Maximum number of characters.
        seen: Number of pairs added.
    """

    seed: int = 0
    most: int = PAIRS
    most_characters: int = CHARACTERS
    seen: int = 0
    _heap: list[tuple[int, str, ShownPair]] = field(default_factory=list)
    _characters: int = 0
    _limit: int = 1 << 64
    """The smallest hash that was rejected; later pairs must be below it, or the sample would depend on the order."""

    def add(self, key: str, pair: TextPair, context: Mapping[str, str]) -> None:
        """Add a pair under a unique key."""
        self.seen += 1
        rank = hash_of(self.seed, key)
        if rank >= self._limit:
            return
        heapq.heappush(self._heap, (-rank, key, ShownPair(pair, context)))
        self._characters += len(pair.true) + len(pair.hallucinated)
        while len(self._heap) > self.most or (self._characters > self.most_characters and len(self._heap) > 1):
            rejected, _, (dropped, _) = heapq.heappop(self._heap)
            self._characters -= len(dropped.true) + len(dropped.hallucinated)
            self._limit = -rejected

    def pairs(self) -> list[ShownPair]:
        """Return the sample, in the order of the hashes."""
        return [shown for _, _, shown in sorted(self._heap, key=lambda entry: (-entry[0], entry[1]))]


def hash_of(seed: int, *texts: str) -> int:
    """Return a number below 2^64 that depends only on the seed and the texts."""
    return stable_number(seed, *texts, surrogates="replace")


class Separation(NamedTuple):
    """How well a feature separates hallucinated texts (1) from true ones; 0.5 is chance.

    Figures are rounded to four decimals, which are the same on every machine, and have 95% intervals clustered by
    document.

    Attributes:
        verdict: The verdict, which takes both figures into account.
        area: The area under the ROC curve over all texts: the share of pairs of a hallucinated and a true text of any
            two items in which the hallucinated one has the larger value. Equal values count half.
        in_pairs: This share within pairs, which matters to readers who see both texts of a pair.
        same: Whether the feature is the same in both texts of every pair.
        words: The classifier's most telling n-grams of words, by side; empty for other features.
    """

    verdict: str
    area: Estimate | None = None
    in_pairs: Estimate | None = None
    same: bool = False
    words: Mapping[str, Sequence[str]] = {}

    @property
    def figures(self) -> tuple[Estimate | None, Estimate | None]:
        """`area` and `in_pairs`, without intervals if the feature is always the same, as chance then plays no role."""
        if not self.same:
            return self.area, self.in_pairs
        area, in_pairs = (figure and figure._replace(low=None, high=None) for figure in (self.area, self.in_pairs))
        return area, in_pairs


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


def leaks(sample: Sequence[ShownPair], seed: int = 0) -> dict[str, Separation]:
    """Measure how well features, and a classifier, separate hallucinated texts from true ones.

    Args:
        sample: The pairs of texts.
        seed: Seed of the classifier's folds.
    """
    clusters = [each.pair.cluster for each in sample]
    found = {}
    for name, feature in FEATURES.items():
        values = [(float(feature(each.pair.hallucinated)), float(feature(each.pair.true))) for each in sample]
        found[name] = separation(clusters, values)
    for part in sorted({name for each in sample for name in each.context}):
        values = [
            (_shared(pair.hallucinated, context.get(part, "")), _shared(pair.true, context.get(part, "")))
            for pair, context in sample
        ]
        found[f"words shared with the {part}"] = separation(clusters, values)
    return {**found, BY_CLASSIFIER: _classify(sample, seed)}


def _shared(text: str, context: str) -> float:
    """Return the share of a text's words that a part of the context contains."""
    in_text, in_context = words(text), set(words(context))
    return sum(word in in_context for word in in_text) / len(in_text) if in_text else 0.0


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
    area = estimate(_AREA, by_cluster(texts))
    in_pairs = clustered_mean([0.5 + 0.5 * ((one > other) - (one < other)) for one, other in values], clusters)
    verdicts = {_verdict(area), _verdict(in_pairs)}
    few = len(set(clusters)) < FEWEST_DOCUMENTS
    return Separation(
        verdict=TOO_FEW if few else next(each for each in (LEAK, UNSURE, NONE) if each in verdicts),
        area=rounded(area),
        in_pairs=rounded(in_pairs),
        same=bool(values) and all(one == other for one, other in values),
    )


def _verdict(figure: Estimate | None) -> str:
    """Return the verdict on one figure for which 0.5 is chance."""
    if figure is None or figure.low is None or figure.high is None:
        return UNSURE
    if figure.value == 0.5 and figure.stderr == 0:
        return NONE  # the feature is the same in both texts of every document
    beyond = not LIMITS[0] <= figure.value <= LIMITS[1]
    if beyond and not figure.low <= 0.5 <= figure.high:
        return LEAK
    return NONE if LIMITS[0] <= figure.low and figure.high <= LIMITS[1] else UNSURE


def clustered_mean(values: Sequence[float], clusters: Sequence[str]) -> Estimate | None:
    """Return the mean of N values with its interval; None if there are none.

    Args:
        values: The values.
        clusters: The clusters of the N values.
    """
    scores = [Score("", cluster, None, "", {"value": each}) for each, cluster in zip(values, clusters, strict=True)]
    return estimate(_MEAN, by_cluster(scores))


def rounded(figure: Estimate | None) -> Estimate | None:
    """Round a figure to four decimals, which are the same on every machine."""
    return figure and Estimate(*(None if each is None else round(each, 4) for each in figure))  # type: ignore[arg-type]


# --- the classifier -------------------------------------------------------------------------------


def _classify(sample: Sequence[ShownPair], seed: int) -> Separation:
    """Measure how well a logistic regression on words and characters separates hallucinated from true texts.

    The texts of a document are all in one of five folds, assigned by the hash of its id and the seed, and are rated by
    a classifier of the other folds. The intervals hold for these documents and this training; they do not include the
    variation from other training texts.
    """
    documents = sorted({each.pair.cluster for each in sample}, key=lambda id: (hash_of(seed, id), id))
    if len(documents) < FEWEST_DOCUMENTS:
        return Separation(TOO_FEW)
    clusters = [each.pair.cluster for each in sample]
    fold_of = {id: place % _FOLDS for place, id in enumerate(documents)}
    folds = np.repeat([fold_of[id] for id in clusters], 2)
    texts = [text for each in sample for text in (each.pair.hallucinated, each.pair.true)]
    hallucinated = np.tile([1, 0], len(sample))
    try:
        features, names = _features(texts)
    except ValueError:  # no n-gram occurs in two texts
        return separation(clusters, [(0.5, 0.5)] * len(sample))
    likely = np.zeros(len(texts))
    for fold in range(_FOLDS):
        tested = folds == fold
        likely[tested] = _train(features[~tested], hallucinated[~tested]).decision_function(features[tested])
    # further decimals differ between machines and would break ties
    values = [(float(one), float(other)) for one, other in np.round(likely, 6).reshape(-1, 2)]
    return separation(clusters, values)._replace(words=_telling(_train(features, hallucinated).coef_[0], names))


def _train(features: Any, labels: npt.NDArray[np.int64]) -> Any:
    """Fit the classifier."""
    from sklearn.linear_model import LogisticRegression  # takes a second to import

    return LogisticRegression(max_iter=1000).fit(features, labels)


def _features(texts: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a sparse matrix with one row per text, and the names of its first columns, the n-grams of words."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    common = {"min_df": 2, "max_features": _FEATURES, "sublinear_tf": True, "dtype": np.float32}
    by_words = TfidfVectorizer(tokenizer=words, token_pattern=None, lowercase=False, ngram_range=(1, 2), **common)
    by_characters = TfidfVectorizer(analyzer="char", ngram_range=(2, 3), **common)
    parts = [by_words.fit_transform(texts), by_characters.fit_transform(texts)]
    return hstack(parts, format="csr"), list(by_words.get_feature_names_out())


def _telling(weights: npt.NDArray[np.float64], names: Sequence[str]) -> dict[str, list[str]]:
    """Return the n-grams with the largest weights, by side."""
    ranked = sorted((round(float(weight), 4), name) for weight, name in zip(weights, names, strict=False))
    # n-grams with a weight far below the largest say little, and their side may be a matter of chance
    least = max((abs(weight) for weight, _ in ranked), default=0.0) / 10
    return {
        HALLUCINATED: [name for weight, name in ranked[: -_TELLING - 1 : -1] if weight > least],
        TRUE: [name for weight, name in ranked[:_TELLING] if weight < -least],
    }
