"""Quality of a built dataset that can be measured without models and annotators.

| check | what is measured | flagged |
|---|---|---|
| leak | how well features that say nothing about facts tell hallucinated texts from true ones (`leaks.py`) | clearly better or worse than chance |
| not tested | | leaks, if there are too few documents |
| balance | how often each label is right | true or false is right for more than 60% |
| duplicates | items whose `Pipeline.key` equals or resembles an earlier one | any |
"""  # noqa: E501

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple

from scipy.stats import entropy

from halu_tasks.builders.duplicates import duplicate_filter
from halu_tasks.builders.leaks import CLASSIFIER, FEWEST_DOCUMENTS, LEAK, LIMITS, NONE, TOO_FEW, Separation, leaks
from halu_tasks.builders.pipeline import Draft, Pipeline, TextPair
from halu_tasks.core.hashing import stable_hash

PAIRS = 5_000
"""Maximum number of pairs in a sample; shares and areas over this many have a standard error below 0.01."""
LABELS = ("halu_type", "correct_option", "label", "category", "final_label", "error_type")
"""The label fields of the benchmarks' files."""
TRUE_LABELS = {"label": {"FACTUAL", "True"}}
"""The label fields that say whether a text is true, with the labels of a true text."""


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
        present, verdict = [count for count in counts.values() if count], None
        evenness = round(float(entropy(present, base=len(present))), 4) if len(present) > 1 else None
        if labels := TRUE_LABELS.get(field):
            share_true = sum(counts.get(label, 0) for label in labels) / sum(present)
            verdict = NONE if LIMITS[0] <= share_true <= LIMITS[1] else LEAK
        largest = round(max(present) / sum(present), 4) if present else None
        return cls(dict(sorted(counts.items())), evenness, largest, verdict)


class Flag(NamedTuple):
    """What is bad or was not tested: the check that found it, and a description."""

    check: str
    text: str


class Quality(NamedTuple):
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
        flagged: What is bad or was not tested.
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
    flagged: Sequence[Flag]


def measure_quality(pipeline: Pipeline, items: Iterable[Draft], *, near: float = 100.0) -> Quality:
    """Measure the quality of a dataset; its items are read once.

    Args:
        pipeline: The pipeline that built the dataset.
        items: The dataset's items.
        near: Similarity in percent from which on two items are duplicates; 100 for equal ones only.
    """
    duplicate_of, duplicates, pairs = duplicate_filter(near), 0, 0
    kinds, documents, sample = Counter[str](), set[str](), list[tuple[str, str, str, TextPair]]()
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for item in items:
        kinds[item.kind] += 1
        documents.add(item.document)
        for file, row in pipeline.lines(item):
            for name in row.keys() & set(LABELS):
                counts[file][name][str(row[name])] += 1
        duplicates += duplicate_of(item.id, pipeline.key(item), pipeline.group(item)) is not None
        keyed = [(f"{item.id}/{place}", pair) for place, pair in enumerate(pipeline.pairs(item))]
        sample += [(stable_hash(key), key, item.document, pair) for key, pair in keyed]
        pairs += len(keyed)
        if len(sample) > 2 * PAIRS:
            sample = nsmallest(PAIRS, sample)
    sample = nsmallest(PAIRS, sample)
    separations = leaks([pair for *_, pair in sample], [document for *_, document, _ in sample])
    labels = {
        file: {name: Distribution.of(of_field, name) for name, of_field in sorted(fields.items())}
        for file, fields in sorted(counts.items())
    }
    flags = [
        Flag("leak", f"{name}: area {area.value:.3f} over all texts, {in_pairs.value:.3f} within pairs")
        for name, (verdict, area, in_pairs) in separations.items()
        if verdict == LEAK and area and in_pairs
    ]
    if separations[CLASSIFIER].verdict == TOO_FEW:
        flags.append(Flag("not tested", f"{TOO_FEW}; for leaks, pairs of {FEWEST_DOCUMENTS} are needed"))
    for file, name, label in [(file, name, label) for file, own in labels.items() for name, label in own.items()]:
        if label.verdict == LEAK:
            most = max(label.counts, key=label.counts.__getitem__)
            flags.append(Flag("balance", f"{name} in {file}: always {most} is right for {label.largest:.1%}"))
    if duplicates:
        how = "the same as" if near == 100 else "nearly the same as"
        flags.append(Flag("duplicates", f"{duplicates:,} of {kinds.total():,} items are {how} an earlier one"))
    distribution = Distribution.of(kinds)
    return Quality(
        kinds.total(), len(documents), pairs, len(sample), separations, distribution, labels, duplicates, near, flags
    )
