"""Quality of a built dataset as far as it needs neither a model nor annotators: leaks, balance, duplicates.

A leak is what says nothing about facts, but separates hallucinated texts from true ones: a benchmark that can be passed
by looking at lengths or line ends measures just that. HaluEval is a known example: its true summaries end in a line
end, its hallucinated ones do not. Measured are simple features, and whether a classifier succeeds by wording alone, as
the models that wrote the hallucinations may favour certain words.

Duplicates are texts (an item's `Pipeline.key`, a question or a sentence) that equal an earlier one, or are similar in
spelling or meaning. What is found depends only on the texts and their order.
"""

import math
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz import fuzz

from halu_tasks.builders.pipeline import Draft, Pipeline, TextPair
from halu_tasks.core.errors import UsageError, require_extra
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.records import to_json
from halu_tasks.scorers.methods import tokens
from halu_tasks.scorers.metrics import Estimate, by_cluster, estimate, mean
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import FACT, roc_auc
from halu_tasks.text.folding import fold

# --- leaks ----------------------------------------------------------------------------------------

PAIRS = 5_000
"""Maximum number of pairs in a sample; shares and areas over this many have a standard error below 0.01."""

TRUE, HALLUCINATED = "true", "hallucinated"
LIMITS = (0.4, 0.6)
"""A figure within these limits is too close to chance to be called a leak, however certain it is."""
FEWEST_DOCUMENTS = 10
"""Minimum number of documents for a verdict: items of one document are similar, and few documents say little about
others."""

LEAK, NONE, UNSURE, TOO_FEW = "leak", "none", "unsure", "too few documents"
"""Verdicts: certainly different from chance and outside `LIMITS`; certainly within them; neither; too little data."""

BY_CLASSIFIER = "wording alone, to a classifier"
"""The name of the classifier's result among those of the features."""
_FOLDS = 5

_AREA = roc_auc(HALLUCINATED)
_MEAN = mean("value", "value")


class Separation(NamedTuple):
    """How well a feature separates hallucinated texts (1) from true ones; 0.5 is chance.

    Figures are rounded to four decimals, which are the same on every machine, and have 95% intervals clustered by
    document.

    Attributes:
        verdict: The verdict, which takes both figures into account.
        area: The area under the ROC curve over all texts: the share of pairs of a hallucinated and a true text of any
            two items in which the hallucinated one has the larger value. Equal values count half.
        in_pairs: This share within pairs, which matters to readers who see both texts of a pair.
    """

    verdict: str
    area: Estimate | None = None
    in_pairs: Estimate | None = None


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


def leaks(pairs: Sequence[TextPair], clusters: Sequence[str]) -> dict[str, Separation]:
    """Measure how well features, and a classifier, separate hallucinated texts from true ones.

    Args:
        pairs: N pairs of texts.
        clusters: The documents of the N pairs.
    """
    separations = {}
    for name, feature in FEATURES.items():
        values = [(float(feature(pair.hallucinated)), float(feature(pair.true))) for pair in pairs]
        separations[name] = separation(clusters, values)
    for part in sorted({name for pair in pairs for name in pair.context}):
        contexts = [(pair, set(words(pair.context.get(part, "")))) for pair in pairs]
        values = [(_shared(pair.hallucinated, known), _shared(pair.true, known)) for pair, known in contexts]
        separations[f"words shared with the {part}"] = separation(clusters, values)
    return {**separations, BY_CLASSIFIER: _classify(pairs, clusters)}


def _shared(text: str, known: Set[str]) -> float:
    """Return the share of a text's words that are known."""
    in_text = words(text)
    return sum(word in known for word in in_text) / len(in_text) if in_text else 0.0


def separation(clusters: Sequence[str], values: Sequence[tuple[float, float]]) -> Separation:
    """Compute how well a feature separates hallucinated texts from true ones.

    Args:
        clusters: The documents of N pairs.
        values: The feature's values for the hallucinated and the true text of each of the N pairs.
    """
    texts = [
        ScoredReply("", cluster, None, label, {FACT: value})
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
    scores = [
        ScoredReply("", cluster, None, "", {"value": each}) for each, cluster in zip(values, clusters, strict=True)
    ]
    return estimate(_MEAN, by_cluster(scores))


def rounded(figure: Estimate | None) -> Estimate | None:
    """Round a figure to four decimals, which are the same on every machine."""
    return figure and Estimate(*(None if each is None else round(each, 4) for each in figure))  # type: ignore[arg-type]


def _classify(pairs: Sequence[TextPair], clusters: Sequence[str]) -> Separation:
    """Measure how well a logistic regression on runs of characters separates hallucinated from true texts.

    The texts of a document are rated by a classifier of other documents. The intervals hold for these documents and
    this training; they do not include the variation from other training texts.
    """
    if len(set(clusters)) < FEWEST_DOCUMENTS:
        return Separation(TOO_FEW)
    # imported here because it takes a second
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict

    # characters serve scripts without spaces as well
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 4), max_features=50_000, sublinear_tf=True)
    features = vectorizer.fit_transform([text for pair in pairs for text in (pair.hallucinated, pair.true)])
    hallucinated, groups = np.tile([1, 0], len(pairs)), np.repeat(clusters, 2)
    classifier, split = LogisticRegression(max_iter=1000), GroupKFold(_FOLDS)
    likely = cross_val_predict(classifier, features, hallucinated, groups=groups, cv=split, method="decision_function")
    # further decimals differ between machines and would break ties
    return separation(clusters, [(float(one), float(other)) for one, other in np.round(likely, 6).reshape(-1, 2)])


# --- balance --------------------------------------------------------------------------------------

LABELS = ("halu_type", "correct_option", "label", "category", "final_label", "error_type")
"""The label fields of the benchmarks' files."""
# fields that say whether a text is true, and their values for a true text
_TRUTHS = {"label": {"FACTUAL", "True"}}


def distribution(counts: Mapping[str, int], field: str = "") -> dict[str, Any]:
    """Describe how items are distributed over the values of a label.

    Args:
        counts: The number of items by value.
        field: The field that holds the label.

    Returns:
        The `counts`. `evenness`: the entropy divided by the maximum for this number of values, 1 if all are equally
        frequent; None if there are fewer than two. `largest`: the share of the most frequent value, which is the
        accuracy of always giving the same reply; None if there are no items. `verdict`: the verdict, if the label says
        which texts are true.
    """
    total = sum(counts.values())
    shares = [count / total for count in counts.values() if count]
    entropy = -math.fsum(share * math.log(share) for share in shares)
    truths = _TRUTHS.get(field)
    share = sum(counts.get(label, 0) for label in truths) / total if truths else None
    return {
        "counts": dict(sorted(counts.items())),
        "evenness": round(entropy / math.log(len(shares)), 4) if len(shares) > 1 else None,
        "largest": round(max(shares), 4) if shares else None,
        "verdict": None if share is None else NONE if LIMITS[0] <= share <= LIMITS[1] else LEAK,
    }


# --- duplicates -----------------------------------------------------------------------------------

DuplicateOf = Callable[[str, str, str], str | None]
"""`duplicate_of(id, text, group)` returns the id of an earlier text that a text duplicates.

If there is none, it returns None and keeps the text to find others by. Texts of the same group, if it is not empty, are
similar on purpose, and duplicates only if they are equal.
"""
# returns the number of the first earlier text that is similar and allowed; if there is none, keeps the text
_Similar = Callable[[str, Callable[[int], bool]], int | None]

_BANDS, _ROWS = 40, 5
"""Two texts whose shingles have a Jaccard similarity s are compared with a probability of 1 - (1 - s^_ROWS)^_BANDS:
0.9999 at 0.75, 0.96 at 0.6, 0.72 at 0.5, 0.013 at 0.2."""
_IDEOGRAPHS = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def duplicate_filter(percent: float, embeddings: str | None = None) -> DuplicateOf:
    """Create a filter of equal texts, of similar spelling or, if an embedding model is named, of similar meaning.

    Args:
        percent: Similarity above 0 and up to 100 from which on two texts are duplicates: rapidfuzz's ratio of the
            folded texts, or a hundred times the cosine of their embeddings.
        embeddings: Name or folder of an embedding model.

    Raises:
        UsageError: An extra is not installed, or the model cannot be loaded.
    """
    similar = _by_meaning(embeddings, percent / 100) if embeddings else _by_spelling(percent) if percent < 100 else None
    first: dict[str, str] = {}
    kept: list[tuple[str, str]] = []

    def duplicate_of(id: str, text: str, group: str) -> str | None:
        folded = " ".join(re.findall(r"[^\W_]+", fold(text))) or text
        if folded in first:
            return first[folded]
        if similar is not None:
            place = similar(text if embeddings else folded, lambda place: not group or kept[place][1] != group)
            if place is not None:
                return kept[place][0]
        first[folded] = id
        kept.append((id, group))
        return None

    return duplicate_of


def _by_spelling(percent: float) -> _Similar:
    """Find texts of similar spelling; MinHash selects the earlier ones to compare with, which are held in memory."""
    require_extra("build", "finding near-duplicates")
    from datasketch import MinHash, MinHashLSH

    # the same numbers on every machine, and a quick hash: what is found is compared as a whole
    empty = MinHash(num_perm=_BANDS * _ROWS, seed=1, hashfunc=zlib.crc32)
    index, texts = MinHashLSH(num_perm=_BANDS * _ROWS, params=(_BANDS, _ROWS)), list[str]()

    def similar(text: str, allowed: Callable[[int], bool]) -> int | None:
        # ideographs carry as much meaning as words, so two of them make a shingle, and otherwise three characters
        size = 2 if _IDEOGRAPHS.search(text) else 3
        shingles = {text[start : start + size] for start in range(max(len(text) - size + 1, 1))}
        sketch = empty.copy()
        sketch.update_batch([shingle.encode("utf-8", "surrogatepass") for shingle in sorted(shingles)])
        for place in map(int, sorted(index.query(sketch))):
            if allowed(place) and fuzz.ratio(text, texts[place], score_cutoff=percent):
                return place
        index.insert(len(texts), sketch)
        texts.append(text)
        return None

    return similar


def _by_meaning(model: str, similarity: float) -> _Similar:
    """Find texts of similar meaning (FactCHD, section 4.3).

    Each text is compared with every earlier one, so it is meant for up to about ten thousand.
    """
    require_extra("embeddings", "finding near-duplicates by embeddings")
    from sentence_transformers import SentenceTransformer

    try:
        encoder = SentenceTransformer(model, device="cpu")
    except Exception as error:
        raise UsageError(
            f"embeddings {model}: cannot be loaded ({' '.join(str(error).split())[:200]}); name a folder or a model on "
            "the hub"
        ) from None
    # rows are reserved in advance: copying all vectors for each text would take quadratic time
    number, vectors = 0, np.empty((0, encoder.get_sentence_embedding_dimension() or 0), dtype=np.float32)

    def similar(text: str, allowed: Callable[[int], bool]) -> int | None:
        nonlocal number, vectors
        vector = np.asarray(encoder.encode(text, show_progress_bar=False), dtype=np.float32).reshape(-1)
        # a zero vector is similar to nothing
        vector = vector / (float(np.linalg.norm(vector)) or 1.0)
        if number == len(vectors):
            vectors = np.resize(vectors, (2 * number + 1024, len(vector)))
        for place in map(int, np.flatnonzero(vectors[:number] @ vector >= similarity)):
            if allowed(place):
                return place
        vectors[number] = vector
        number += 1
        return None

    return similar


# --- the report -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The quality of a dataset: the content of `quality.json`.

    Attributes:
        items: The number of items.
        documents: The number of documents that they come from.
        pairs: The number of pairs of texts.
        pairs_used: The number of those that were tested for leaks.
        leaks: How well each feature, and a classifier, separates hallucinated texts from true ones.
        kinds: The `distribution` of items over kinds.
        labels: The `distribution` of items over labels, by file and field.
        duplicates: The number of items that duplicate an earlier one.
        near: The similarity in percent from which on they do.
    """

    items: int
    documents: int
    pairs: int
    pairs_used: int
    leaks: Mapping[str, Separation]
    kinds: Mapping[str, Any]
    labels: Mapping[str, Mapping[str, Mapping[str, Any]]]
    duplicates: int
    near: float

    def flagged(self) -> Iterator[tuple[str, str]]:
        """Yield everything that is bad or was not tested: the check that found it, and a description."""
        for name, (verdict, area, in_pairs) in self.leaks.items():
            if verdict == LEAK and area and in_pairs:
                text = f"{name}: area {area.value:.3f} over all texts, {in_pairs.value:.3f} within pairs"
                yield "leak", text
        if any(separation.verdict == TOO_FEW for separation in self.leaks.values()):
            yield "not tested", f"{TOO_FEW}; for leaks, pairs of {FEWEST_DOCUMENTS} are needed"
        for file, fields in self.labels.items():
            for field, label in fields.items():
                if label["verdict"] == LEAK:
                    most = max(label["counts"], key=label["counts"].__getitem__)
                    yield "balance", f"{field} in {file}: always {most} is right for {label['largest']:.1%}"
        if self.duplicates:
            how = "the same as" if self.near == 100 else "nearly the same as"
            yield "duplicates", f"{self.duplicates:,} of {self.items:,} items are {how} an earlier one"

    def as_json(self) -> dict[str, Any]:
        """Return the content of `quality.json`."""
        return {**to_json(self), "flagged": [{"check": check, "text": text} for check, text in self.flagged()]}


def measure_quality(pipeline: Pipeline, items: Iterable[Draft], *, near: float = 100.0) -> Quality:
    """Measure the quality of a dataset; its items are read once.

    Args:
        pipeline: The pipeline that built the dataset.
        items: The dataset's items.
        near: Similarity in percent from which on two items are duplicates; 100 for equal ones only.
    """
    sample, pairs, duplicate_of, duplicates = list[tuple[str, str, str, TextPair]](), 0, duplicate_filter(near), 0
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
            key = f"{item.id}/{place}"
            sample.append((stable_hash(key), key, item.document, pair))
            pairs += 1
        if len(sample) > 2 * PAIRS:
            sample = nsmallest(PAIRS, sample)
    tested = nsmallest(PAIRS, sample)
    return Quality(
        items=kinds.total(),
        documents=len(documents),
        pairs=pairs,
        pairs_used=len(tested),
        leaks=leaks([pair for *_, pair in tested], [document for *_, document, _ in tested]),
        kinds=distribution(kinds),
        labels={
            file: {name: distribution(counts, name) for name, counts in sorted(fields.items())}
            for file, fields in sorted(labels.items())
        },
        duplicates=duplicates,
        near=near,
    )
