"""Can a classifier that knows no facts tell hallucinated texts from true ones by their words alone?

Logistic regression on the words and characters of a text, without its source, tested on documents that it was not
trained on. Where it can, models that write the hallucinations favour some words, and a detector may learn these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halu_tasks.builders.leaks import FEWEST_DOCUMENTS, HALLUCINATED, TRUE, told, words
from halu_tasks.builders.sampling import Sampled, hash_of

FOLDS = 5
_FEATURES = 50_000
"""Most n-grams of words, and of characters, that are looked at: the commonest."""
_TELLING = 10


def telling_words(sample: Sequence[Sampled], seed: int = 0) -> dict[str, Any]:
    """How well the classifier does: `area` and `in_pairs` as in `leaks` (the share of pairs in which it finds the
    hallucinated text the likelier one), `verdict`, and `words`: the n-grams of words that tell most, by what they
    speak for. Where there are fewer than ten documents, `verdict` alone, with the `reason`.

    The texts of a document are all in one of five folds, which are drawn by the hash of its id and the seed. The
    intervals hold for these documents and this training; that other training texts would give another classifier is
    not in them.
    """
    documents = sorted({own.pair.cluster for own in sample}, key=lambda id: (hash_of(seed, id), id))
    if len(documents) < FEWEST_DOCUMENTS:
        found = told([], [])["verdict"]
        return {"verdict": found, "reason": f"{len(documents)} documents; {FEWEST_DOCUMENTS} are needed"}
    fold_of = {id: place % FOLDS for place, id in enumerate(documents)}
    clusters = [own.pair.cluster for own in sample]
    folds = np.repeat([fold_of[id] for id in clusters], 2)
    texts = [text for own in sample for text in (own.pair.hallucinated, own.pair.true)]
    hallucinated = np.tile([1, 0], len(sample))
    try:
        features, names = _features(texts)
    except ValueError:  # no n-gram occurs in two texts
        return {**told(clusters, [(0.5, 0.5)] * len(sample)), "words": {HALLUCINATED: [], TRUE: []}}
    likely = np.zeros(len(texts))
    for fold in range(FOLDS):
        tested = folds == fold
        likely[tested] = _trained(features[~tested], hallucinated[~tested]).decision_function(features[tested])
    # decimals beyond these differ from machine to machine, and would break ties
    values = [(float(one), float(other)) for one, other in np.round(likely, 6).reshape(-1, 2)]
    return {**told(clusters, values), "words": _telling(_trained(features, hallucinated).coef_[0], names)}


def _trained(features: Any, labels: npt.NDArray[np.int64]) -> Any:
    from sklearn.linear_model import LogisticRegression  # it takes a second to import

    return LogisticRegression(max_iter=1000).fit(features, labels)


def _features(texts: Sequence[str]) -> tuple[Any, list[str]]:
    """A sparse matrix of a row a text, and the names of its first columns, the n-grams of words."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer

    common = {"min_df": 2, "max_features": _FEATURES, "sublinear_tf": True, "dtype": np.float32}
    by_words = TfidfVectorizer(tokenizer=words, token_pattern=None, lowercase=False, ngram_range=(1, 2), **common)
    by_characters = TfidfVectorizer(analyzer="char", ngram_range=(2, 3), **common)
    parts = [by_words.fit_transform(texts), by_characters.fit_transform(texts)]
    return hstack(parts, format="csr"), list(by_words.get_feature_names_out())


def _telling(weights: npt.NDArray[np.float64], names: Sequence[str]) -> dict[str, list[str]]:
    ranked = sorted((round(float(weight), 4), name) for weight, name in zip(weights, names, strict=False))
    # what weighs little beside the heaviest tells little, and may stand on either side by chance
    least = max((abs(weight) for weight, _ in ranked), default=0.0) / 10
    return {
        HALLUCINATED: [name for weight, name in ranked[: -_TELLING - 1 : -1] if weight > least],
        TRUE: [name for weight, name in ranked[:_TELLING] if weight < -least],
    }
