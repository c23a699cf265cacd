"""Leaks: what tells hallucinated texts from true ones, but says nothing about facts.

A benchmark that can be passed by looking at lengths or line ends measures just that. HaluEval is a known example: its
true summaries end in a line end, its hallucinated ones do not. Tested are `FEATURES`, words shared with what a task
shows, and a classifier of the wording, as models that write hallucinations may favour certain words.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple
from unicodedata import category

import numpy as np

from halu_tasks.builders.documents import words
from halu_tasks.builders.pipeline import TextPair
from halu_tasks.builders.rates import clustered_mean, rounded
from halu_tasks.scorers.columns import PROBABILITY, by_cluster
from halu_tasks.scorers.metrics import Estimate, estimate
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import roc_auc

LIMITS = (0.4, 0.6)
"""A figure within these limits is too close to chance to be called a leak, however certain it is."""
FEWEST_DOCUMENTS = 10
"""Minimum number of documents for a verdict: items of one document are similar, and few documents say little about
others."""
LEAK, NONE, UNSURE, TOO_FEW = "leak", "none", "unsure", "too few documents"
"""Verdicts: certainly different from chance and outside `LIMITS`; certainly within them; neither; too little data."""
CLASSIFIER = "wording alone, to a classifier"

_AREA = roc_auc("hallucinated")
_FOLDS = 5


class Separation(NamedTuple):
    """How well a feature separates hallucinated texts (1) from true ones; 0.5 is chance.

    Figures are rounded to four decimals, and have 95% intervals clustered by document.

    Attributes:
        verdict: The verdict, which takes both figures into account.
        area: The area under the ROC curve over all texts: the share of pairs of a hallucinated and a true text of any
            two items in which the hallucinated one has the larger value. Equal values count half.
        in_pairs: This share within pairs, which matters to readers who see both texts of a pair.
    """

    verdict: str
    area: Estimate | None = None
    in_pairs: Estimate | None = None


FEATURES: dict[str, Callable[[str], float]] = {
    "characters": len,
    "words": lambda text: len(words(text)),
    "line ends": lambda text: text.count("\n"),
    "space or line end at the beginning": lambda text: text[:1].isspace(),
    "space or line end at the end": lambda text: text[-1:].isspace(),
    "digits": lambda text: sum(char.isdigit() for char in text),
    "punctuation at the end": lambda text: category(text.rstrip()[-1:] or " ").startswith("P"),
}
"""Features of a text alone."""


def leaks(pairs: Sequence[TextPair], documents: Sequence[str]) -> dict[str, Separation]:
    """Measure how well features, and a classifier, separate hallucinated texts from true ones.

    Args:
        pairs: N pairs of texts.
        documents: The documents of the N pairs.
    """
    texts = [(pair.hallucinated, pair.true) for pair in pairs]
    values = {name: [[feature(text) for text in both] for both in texts] for name, feature in FEATURES.items()}
    for name in sorted({name for pair in pairs for name in pair.context}):
        shown = [{*words(pair.context.get(name, ""))} for pair in pairs]
        shares = [[_share(text, context) for text in both] for both, context in zip(texts, shown, strict=True)]
        values[f"words shared with the {name}"] = shares
    if len(set(documents)) < FEWEST_DOCUMENTS:
        figures = {name: _separation(of_texts, documents) for name, of_texts in values.items()}
        untested = {name: figure._replace(verdict=TOO_FEW) for name, figure in figures.items()}
        return {**untested, CLASSIFIER: Separation(TOO_FEW)}
    values[CLASSIFIER] = _ratings(texts, documents)
    return {name: _separation(of_texts, documents) for name, of_texts in values.items()}


def _share(text: str, context: set[str]) -> float:
    in_context = [word in context for word in words(text)]
    return sum(in_context) / max(len(in_context), 1)


def _ratings(texts: Sequence[tuple[str, str]], documents: Sequence[str]) -> list[list[float]]:
    """Rate how hallucinated texts are by a logistic regression on runs of characters.

    The texts of a document are rated by a classifier of other documents. The intervals hold for these documents and
    this training; they do not include the variation from other training texts.
    """
    # imported here because it takes a second
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict

    # characters serve scripts without spaces as well
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 4), max_features=50_000, sublinear_tf=True)
    features = vectorizer.fit_transform(chain.from_iterable(texts))
    hallucinated, groups = np.tile([1, 0], len(texts)), np.repeat(documents, 2)
    classifier, split = LogisticRegression(max_iter=1000), GroupKFold(_FOLDS)
    ratings = cross_val_predict(classifier, features, hallucinated, groups=groups, cv=split, method="decision_function")
    # further decimals differ between machines and would break ties
    return [[float(one), float(other)] for one, other in np.round(ratings, 6).reshape(-1, 2)]


def _separation(values: Sequence[Sequence[float]], documents: Sequence[str]) -> Separation:
    """Compare a feature's values for the hallucinated and the true text of N pairs, which are of N documents."""
    texts = [
        ScoredReply("", document, None, label, {PROBABILITY: float(value)})
        for document, of_pair in zip(documents, values, strict=True)
        for label, value in zip(("hallucinated", "true"), of_pair, strict=True)
    ]
    area = rounded(estimate(_AREA, by_cluster(texts)))
    in_pairs = clustered_mean([0.5 + 0.5 * ((one > other) - (one < other)) for one, other in values], documents)
    verdicts = {_verdict(area), _verdict(in_pairs)}
    return Separation(next(each for each in (LEAK, UNSURE, NONE) if each in verdicts), area, in_pairs)


def _verdict(figure: Estimate | None) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return UNSURE
    if figure.value == 0.5 and figure.stderr == 0:
        return NONE  # the feature is the same in both texts of every document
    low, high = LIMITS
    if not low <= figure.value <= high and not figure.low <= 0.5 <= figure.high:
        return LEAK
    return NONE if low <= figure.low and figure.high <= high else UNSURE
