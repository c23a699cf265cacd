"""Testing whether a classifier can separate hallucinated from true texts by their words alone.

Logistic regression on the words and characters of a text, without its source, tested on documents it was not trained
on. If it succeeds, the models that wrote the hallucinations favour certain words, and a detector may learn these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halu_tasks.builders.quality.leaks import (
    FEWEST_DOCUMENTS,
    HALLUCINATED,
    TOO_FEW,
    TRUE,
    Separation,
    separation,
    words,
)
from halu_tasks.builders.quality.sampling import Sampled, hash_of

FOLDS = 5
_FEATURES = 50_000
"""Maximum number of n-grams of words, and of characters; the most frequent ones are used."""
_TELLING = 10


class Classifier(NamedTuple):
    """How well a classifier separates hallucinated texts from true ones by their words alone.

    Attributes:
        separation: The figures; `area` and `in_pairs` are None if there are too few documents. `in_pairs` is the share
            of pairs in which the hallucinated text is rated more likely to be one.
        words: The most telling n-grams of words, by side; None if there are too few documents.
        reason: Why the classifier was not trained; empty if it was.
    """

    separation: Separation
    words: Mapping[str, Sequence[str]] | None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the result as in `quality.json`."""
        if self.reason:
            return {"verdict": self.separation.verdict, "reason": self.reason}
        return {**self.separation.to_json(), "words": self.words}


def telling_words(sample: Sequence[Sampled], seed: int = 0) -> Classifier:
    """Measure how well the classifier separates hallucinated from true texts.

    The texts of a document are all in one of five folds, assigned by the hash of its id and the seed. The intervals
    hold for these documents and this training; they do not include the variation from other training texts.

    Args:
        sample: The pairs of texts.
        seed: Seed of the folds.
    """
    documents = sorted({each.pair.cluster for each in sample}, key=lambda id: (hash_of(seed, id), id))
    if len(documents) < FEWEST_DOCUMENTS:
        too_few = Separation(None, None, same=False, verdict=TOO_FEW)
        return Classifier(too_few, None, f"{len(documents)} documents; {FEWEST_DOCUMENTS} are needed")
    fold_of = {id: place % FOLDS for place, id in enumerate(documents)}
    clusters = [each.pair.cluster for each in sample]
    folds = np.repeat([fold_of[id] for id in clusters], 2)
    texts = [text for each in sample for text in (each.pair.hallucinated, each.pair.true)]
    hallucinated = np.tile([1, 0], len(sample))
    try:
        features, names = _features(texts)
    except ValueError:  # no n-gram occurs in two texts
        return Classifier(separation(clusters, [(0.5, 0.5)] * len(sample)), {HALLUCINATED: [], TRUE: []})
    likely = np.zeros(len(texts))
    for fold in range(FOLDS):
        tested = folds == fold
        likely[tested] = _train(features[~tested], hallucinated[~tested]).decision_function(features[tested])
    # further decimals differ between machines and would break ties
    values = [(float(one), float(other)) for one, other in np.round(likely, 6).reshape(-1, 2)]
    return Classifier(separation(clusters, values), _telling(_train(features, hallucinated).coef_[0], names))


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
