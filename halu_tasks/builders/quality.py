"""Quality of a built dataset that can be measured without models and annotators.

| check | what is measured | flagged |
|---|---|---|
| leak | how well each of `FEATURES`, words shared with the question, and a classifier of the wording tell hallucinated texts from true ones | clearly better or worse than chance |
| not tested | | leaks, if there are too few documents |
| balance | how often each label is right | true or false is right for more than 60% |
| duplicates | items whose `Pipeline.key` equals or resembles an earlier one | any |

A leak says nothing about facts: a benchmark that can be passed by looking at lengths or line ends measures just that.
HaluEval is a known example: its true summaries end in a line end, its hallucinated ones do not. The classifier is there
because models that write hallucinations may favour certain words.
"""  # noqa: E501

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from halu_tasks.builders.documents import words
from halu_tasks.builders.duplicates import duplicate_filter
from halu_tasks.builders.pipeline import Draft, Pipeline, TextPair
from halu_tasks.builders.rates import clustered_mean, rounded
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.records import to_json
from halu_tasks.scorers.columns import PROBABILITY, by_cluster
from halu_tasks.scorers.metrics import Estimate, estimate
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import roc_auc

PAIRS = 5_000
"""Maximum number of pairs in a sample; shares and areas over this many have a standard error below 0.01."""
LIMITS = (0.4, 0.6)
"""A figure within these limits is too close to chance to be called a leak, however certain it is."""
FEWEST_DOCUMENTS = 10
"""Minimum number of documents for a verdict: items of one document are similar, and few documents say little about
others."""
LEAK, NONE, UNSURE, TOO_FEW = "leak", "none", "unsure", "too few documents"
"""Verdicts: certainly different from chance and outside `LIMITS`; certainly within them; neither; too little data."""
LABELS = ("halu_type", "correct_option", "label", "category", "final_label", "error_type")
"""The label fields of the benchmarks' files."""

_HALLUCINATED, _TRUE = "hallucinated", "true"
_AREA = roc_auc(_HALLUCINATED)
_FOLDS = 5
# the label fields that say whether a text is true, with the labels of a true text
_TRUE_LABELS = {"label": {"FACTUAL", "True"}}


# --- leaks ----------------------------------------------------------------------------------------


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
    "punctuation at the end": lambda text: unicodedata.category(text.rstrip()[-1:] or " ").startswith("P"),
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
        contexts = [{*words(pair.context.get(name, ""))} for pair in pairs]
        shares = [[_share(text, context) for text in both] for both, context in zip(texts, contexts, strict=True)]
        values[f"words shared with the {name}"] = shares
    separations = {name: _separation(of_texts, documents) for name, of_texts in values.items()}
    return {**separations, "wording alone, to a classifier": _classify(texts, documents)}


def _share(text: str, context: Set[str]) -> float:
    in_context = [word in context for word in words(text)]
    return sum(in_context) / max(len(in_context), 1)


def _separation(values: Sequence[Sequence[float]], documents: Sequence[str]) -> Separation:
    """Compare a feature's values for the hallucinated and the true text of N pairs, which are of N documents."""
    texts = [
        ScoredReply("", document, None, label, {PROBABILITY: float(value)})
        for document, of_pair in zip(documents, values, strict=True)
        for label, value in zip((_HALLUCINATED, _TRUE), of_pair, strict=True)
    ]
    area = rounded(estimate(_AREA, by_cluster(texts)))
    in_pairs = clustered_mean([0.5 + 0.5 * ((one > other) - (one < other)) for one, other in values], documents)
    verdicts = {_verdict(area), _verdict(in_pairs)}
    verdict = next(each for each in (LEAK, UNSURE, NONE) if each in verdicts)
    return Separation(TOO_FEW if _are_too_few(documents) else verdict, area, in_pairs)


def _are_too_few(documents: Sequence[str]) -> bool:
    return len(set(documents)) < FEWEST_DOCUMENTS


def _verdict(figure: Estimate | None) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return UNSURE
    if figure.value == 0.5 and figure.stderr == 0:
        return NONE  # the feature is the same in both texts of every document
    low, high = LIMITS
    if not low <= figure.value <= high and not figure.low <= 0.5 <= figure.high:
        return LEAK
    return NONE if low <= figure.low and figure.high <= high else UNSURE


def _classify(texts: Sequence[tuple[str, str]], documents: Sequence[str]) -> Separation:
    """Measure how well a logistic regression on runs of characters separates hallucinated from true texts.

    The texts of a document are rated by a classifier of other documents. The intervals hold for these documents and
    this training; they do not include the variation from other training texts.
    """
    if _are_too_few(documents):
        return Separation(TOO_FEW)
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
    return _separation(np.round(ratings, 6).reshape(-1, 2).tolist(), documents)


# --- balance --------------------------------------------------------------------------------------


class Distribution(NamedTuple):
    """How items are distributed over the values of a label.

    Attributes:
        counts: The number of items by value.
        evenness: The entropy divided by the maximum for this number of values, 1 if all are equally frequent; None if
            there are fewer than two.
        largest: The share of the most frequent value, which is the accuracy of always giving the same reply; None if
            there are no items.
        verdict: The verdict, if the label says which texts are true.
    """

    counts: Mapping[str, int]
    evenness: float | None
    largest: float | None
    verdict: str | None

    @classmethod
    def of(cls, counts: Mapping[str, int], field: str = "") -> "Distribution":
        """Describe the numbers of items by value of the label in a field."""
        total, verdict = sum(counts.values()), None
        shares = [count / total for count in counts.values() if count]
        entropy = -math.fsum(share * math.log(share) for share in shares)
        evenness = round(entropy / math.log(len(shares)), 4) if len(shares) > 1 else None
        if labels := _TRUE_LABELS.get(field):
            share_true = sum(counts.get(label, 0) for label in labels) / total
            verdict = NONE if LIMITS[0] <= share_true <= LIMITS[1] else LEAK
        return cls(dict(sorted(counts.items())), evenness, round(max(shares), 4) if shares else None, verdict)


# --- the report -----------------------------------------------------------------------------------


class Flag(NamedTuple):
    """What is bad or was not tested: the check that found it, and a description."""

    check: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The quality of a dataset: the content of `quality.json`.

    Attributes:
        items: The number of items.
        documents: The number of documents that they come from.
        pairs: The number of pairs of texts.
        pairs_used: The number of those that were tested for leaks.
        leaks: How well each feature, and a classifier, separates hallucinated texts from true ones.
        kinds: The distribution of items over kinds.
        labels: The distribution of items over labels, by file and field.
        duplicates: The number of items that duplicate an earlier one.
        near: The similarity in percent from which on they do.
    """

    items: int
    documents: int
    pairs: int
    pairs_used: int
    leaks: Mapping[str, Separation]
    kinds: Distribution
    labels: Mapping[str, Mapping[str, Distribution]]
    duplicates: int
    near: float

    def flagged(self) -> Iterator[Flag]:
        """Yield everything that is bad or was not tested."""
        for name, (verdict, area, in_pairs) in self.leaks.items():
            if verdict == LEAK and area and in_pairs:
                figures = f"area {area.value:.3f} over all texts, {in_pairs.value:.3f} within pairs"
                yield Flag("leak", f"{name}: {figures}")
        if any(each.verdict == TOO_FEW for each in self.leaks.values()):
            yield Flag("not tested", f"{TOO_FEW}; for leaks, pairs of {FEWEST_DOCUMENTS} are needed")
        fields = ((file, field, each) for file, labels in self.labels.items() for field, each in labels.items())
        for file, field, label in fields:
            if label.verdict == LEAK:
                most = max(label.counts, key=label.counts.__getitem__)
                yield Flag("balance", f"{field} in {file}: always {most} is right for {label.largest:.1%}")
        if self.duplicates:
            how = "the same as" if self.near == 100 else "nearly the same as"
            yield Flag("duplicates", f"{self.duplicates:,} of {self.items:,} items are {how} an earlier one")

    def as_json(self) -> dict[str, Any]:
        """Return the content of `quality.json`."""
        return {**to_json(self), "flagged": to_json([*self.flagged()])}


def measure_quality(pipeline: Pipeline, items: Iterable[Draft], *, near: float = 100.0) -> Quality:
    """Measure the quality of a dataset; its items are read once.

    Args:
        pipeline: The pipeline that built the dataset.
        items: The dataset's items.
        near: Similarity in percent from which on two items are duplicates; 100 for equal ones only.
    """
    duplicate_of, duplicates, pairs = duplicate_filter(near), 0, 0
    sample: list[tuple[str, str, str, TextPair]] = []
    kinds, documents = Counter[str](), set[str]()
    labels: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for item in items:
        kinds[item.kind] += 1
        documents.add(item.document)
        for file, row in pipeline.lines(item):
            for name in row.keys() & set(LABELS):
                labels[file][name][str(row[name])] += 1
        duplicates += duplicate_of(item.id, pipeline.key(item), pipeline.group(item)) is not None
        for place, pair in enumerate(pipeline.pairs(item)):
            pairs += 1
            key = f"{item.id}/{place}"
            sample.append((stable_hash(key), key, item.document, pair))
        if len(sample) > 2 * PAIRS:
            sample = nsmallest(PAIRS, sample)
    sample = nsmallest(PAIRS, sample)
    return Quality(
        items=kinds.total(),
        documents=len(documents),
        pairs=pairs,
        pairs_used=len(sample),
        leaks=leaks([pair for *_, pair in sample], [document for *_, document, _ in sample]),
        kinds=Distribution.of(kinds),
        labels={
            file: {name: Distribution.of(counts, name) for name, counts in sorted(fields.items())}
            for file, fields in sorted(labels.items())
        },
        duplicates=duplicates,
        near=near,
    )
