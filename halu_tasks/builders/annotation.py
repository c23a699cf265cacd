"""Items as rows for annotators, the labels that they give, their agreement, and the items that they keep.

Any tool can be used that shows `text` and keeps `item` and `part` beside the label that it adds: a spreadsheet, or
doccano, whose JSON Lines have labels as lists. An annotator is named in `by`, or by the name of the file.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.builders.folder import DATASET, Folder, read_items
from halu_tasks.builders.pipeline import Draft, Pipeline
from halu_tasks.builders.rates import clustered_mean, rounded
from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.hashing import short_hash, stable_number
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.scorers.statistics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from halu_tasks.tasks.reference import read_label_rows, write_label_rows

GUIDELINES = Path(__file__).parent / "guidelines"
COLUMNS = ("item", "part", "text", "label", "by")
"""The columns of rows to label: the item's id, and the part of it if parts are labelled; only `item` and `label` are
needed in those that are read."""

NO_LABEL, REPEATED = "no label", "repeated row"
"""Reasons why a row gives no label that are no problem: it is not labelled yet, or was exported twice."""
NOT_ANNOTATED, TOO_FEW, NO_MAJORITY = "not annotated", "too few labels", "no majority"
"""Reasons why an item has no label."""
LEAST = 2
"""Default minimum number of labels of an item: a single annotator's label is no agreement."""


class Key(NamedTuple):
    """What has a label: an item, or a part of it.

    The first word of a part, such as `label` of `label 2`, is its kind, by which labels are reported. An item that is
    labelled as a whole has one part without a name.
    """

    item: str
    part: str = ""

    @property
    def kind(self) -> str:
        """The kind of the part."""
        return self.part.partition(" ")[0]


# --- items for annotators -------------------------------------------------------------------------


def export_items(folder: Folder, output: Path, sample: int | None, seed: int) -> int:
    """Write rows to label, and the guidelines in a file next to them.

    Args:
        folder: The build.
        output: The file of the rows: JSON Lines if its name ends in `.jsonl`, otherwise CSV.
        sample: Number of items to draw; None for all.
        seed: Seed of the sample and of the order, which is by a hash and reveals nothing about the items.

    Returns:
        The number of rows.

    Raises:
        UsageError: There are no guidelines for annotators of this builder.
        DataError: There is no dataset, or a file cannot be written.
    """
    pipeline = folder.pipeline
    rows = item_rows(pipeline, read_items(folder.path / DATASET), sample, seed)
    guidelines = GUIDELINES / f"{pipeline.name}.md"
    if not guidelines.is_file():
        raise UsageError(f"there are no guidelines for annotators of {pipeline.name}; write them to {guidelines}")
    output.parent.mkdir(parents=True, exist_ok=True)
    write_label_rows(output, rows, COLUMNS)
    atomic_write_text(output.with_suffix(".guidelines.md"), guidelines.read_text(encoding="utf-8"), "guidelines")
    return len(rows)


def item_rows(pipeline: Pipeline, items: Iterable[Draft], sample: int | None, seed: int = 0) -> list[dict[str, str]]:
    """Return the rows to label, which show no labels that models gave unless these are to be judged."""

    def rank(item: Draft) -> tuple[int, str]:
        return stable_number(seed, item.id), item.id

    chosen = sorted(items, key=rank) if sample is None else nsmallest(sample, items, key=rank)
    return [
        {"item": key.item, "part": key.part, "text": text, "label": "", "by": ""}
        for item in chosen
        for key, text in shown_texts(pipeline, item).items()
    ]


def shown_texts(pipeline: Pipeline, item: Draft) -> dict[Key, str]:
    """Return what annotators see of an item or of each part: its texts under their names."""
    keys = {Key(item.id, part): texts for part, texts in pipeline.parts(item).items()}
    asked = {key: [f"Is this right: {key.kind}?"] if key.part else [] for key in keys}
    return {
        key: "\n\n".join([*asked[key], *(f"[{name}]\n{text}" for name, text in texts.items())])
        for key, texts in keys.items()
    }


def fingerprint(text: str) -> str:
    """Return a short hash of a text without its white space, which is equal for different renderings of the text."""
    return short_hash("".join(text.split()))


# --- reading labels -------------------------------------------------------------------------------


@dataclass
class Annotator:
    """The labels of one annotator.

    Attributes:
        name: The name.
        rows: Number of rows.
        labels: The labels.
        left_out: Number of unused rows by reason.
    """

    name: str
    rows: int = 0
    labels: dict[Key, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def problem(self) -> str:
        """What is wrong with the rows: some give no label, or there are none; empty if nothing is."""
        unusable = {reason: count for reason, count in self.left_out.items() if reason not in (NO_LABEL, REPEATED)}
        if unusable:
            return f"{sum(unusable.values())} of {self.rows} rows give no label ({_format_counts(unusable)})"
        return "" if self.rows else "no rows"


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def read_annotators(paths: Sequence[Path], fingerprints: Mapping[Key, str], labels: Sequence[str]) -> list[Annotator]:
    """Read annotators' labels from JSON Lines, CSV files or workbooks.

    Args:
        paths: The files. A row whose `by` is empty is of the annotator after whom the file is named.
        fingerprints: The `fingerprint` of the text that was shown for each label.
        labels: The labels annotators could choose from.

    Raises:
        DataError: A file cannot be read.
        UsageError: Two files have the same annotator, or fewer than two annotators have labels.
    """
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for path in paths:
        if path.stem in rows:
            raise UsageError(
                f"two files belong to annotator {path.stem!r}; rename one, as files are named after their annotators"
            )
        of_file = [row for _, row in read_label_rows(path, ("item", "label"))]
        if not of_file or not all(row.get("by") for row in of_file):
            rows[path.stem] = []
        for row in of_file:
            rows.setdefault(str(row.get("by") or path.stem), []).append(row)
    annotators = [read_labels(name, of_annotator, fingerprints, labels) for name, of_annotator in rows.items()]
    if sum(bool(annotator.labels) for annotator in annotators) < 2:
        empty = (each for each in annotators if not each.labels)
        reasons = (f"{each.name} contains no usable labels ({_format_counts(each.left_out)}); " for each in empty)
        raise UsageError(
            f"{''.join(reasons)}expected labels of two annotators or more, in a file each or named in 'by'; if doccano "
            "exported a single file for all, turn off shared annotations in the project's settings and export again"
        )
    return annotators


def read_labels(
    name: str, rows: Sequence[Mapping[str, Any]], fingerprints: Mapping[Key, str], labels: Sequence[str]
) -> Annotator:
    """Return one annotator's labels, as `read_annotators` reads them from rows."""
    annotator = Annotator(name, len(rows))
    given: dict[Key, list[tuple[str, ...]]] = defaultdict(list)
    for row in rows:
        key, of_row = Key(str(row.get("item") or ""), str(row.get("part") or "")), labels_of(row)
        if key not in fingerprints:
            annotator.left_out["unknown item" if key.item else "no item id"] += 1
        elif "text" in row and fingerprint(str(row["text"])) != fingerprints[key]:
            annotator.left_out["another text"] += 1
        elif of_row:
            given[key].append(of_row)
        else:
            annotator.left_out[NO_LABEL] += 1
    spellings = {label.casefold(): label for label in labels}
    for key, (first, *others) in given.items():
        label = spellings.get(first[0])
        reason = "several labels" if len(first) > 1 else "" if label else "label not in the list"
        if any(other != first for other in others):
            reason = "conflicting rows"
        if label and not reason:
            annotator.labels[key] = label
        # of several equal rows, the first one gives the label
        annotator.left_out[reason or REPEATED] += len(others) + bool(reason)
    annotator.left_out = +annotator.left_out
    return annotator


def labels_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the different labels of a row, case-folded and sorted."""
    given = row.get("label", [])
    labels = {str(label).strip().casefold() for label in (given if isinstance(given, list) else [given])}
    return tuple(sorted(label for label in labels if label))


# --- what the labels say --------------------------------------------------------------------------


class LabelShare(NamedTuple):
    """The number of items with a label, or without one for a reason, and their share."""

    n: int
    share: Estimate | None


class Agreement(NamedTuple):
    """The agreement of annotators; figures are rounded, and have intervals with documents as clusters.

    Attributes:
        items: The number of items that two of them labelled.
        agreement: The share of pairs of labels that are equal, averaged over items.
        alpha: Krippendorff's alpha.
        kappa: Cohen's kappa of two annotators, Fleiss' kappa of more, over the items with the most labels.
    """

    items: int
    agreement: Estimate | None = None
    alpha: Estimate | None = None
    kappa: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """What annotators say of a dataset: the content of `annotation.json`.

    Attributes:
        rule: How labels are combined, see `settled`.
        least: Minimum number of labels of an item.
        items: The number of items.
        annotated: The number of items with a label.
        kept: The number of items that are kept.
        relabelled: The number of those that labels have changed.
        dropped: The number of dropped items by reason and kind.
        labels: For each kind of part (see `Key`), the share of each label that was agreed on, and of each reason why
            there is none, without items with too few labels.
        agreement: The agreement of annotators for each kind of part.
        annotators: The number of labels of each annotator.
    """

    rule: str
    least: int
    items: int
    annotated: int
    kept: int
    relabelled: int
    dropped: Mapping[str, Mapping[str, int]]
    labels: Mapping[str, Mapping[str, LabelShare]]
    agreement: Mapping[str, Agreement]
    annotators: Mapping[str, int]


def settled(labels: Sequence[str], rule: str = "majority", least: int = LEAST) -> tuple[str | None, str]:
    """Return the label that annotators agree on, or None and the reason.

    Args:
        labels: The annotators' labels of one item.
        rule: `majority` requires more than half of the labels; `two` requires two equal labels, and no other label
            that is as frequent.
        least: Minimum number of labels.
    """
    if len(labels) < least:
        return None, TOO_FEW if labels else NOT_ANNOTATED
    (label, most), *others = Counter(labels).most_common()
    agreed = 2 * most > len(labels) if rule == "majority" else most >= 2 and (not others or others[0][1] < most)
    return (label, "") if agreed else (None, NO_MAJORITY)


def annotated(
    pipeline: Pipeline, items: Sequence[Draft], annotators: Sequence[Annotator], rule: str, least: int
) -> tuple[list[Draft], Annotation]:
    """Return the items that annotators keep, as `Pipeline.annotated` changes them, and a report.

    Args:
        pipeline: The pipeline that built the items.
        items: The items of the dataset.
        annotators: The annotators.
        rule: How labels are combined, see `settled`.
        least: Minimum number of labels of an item.
    """
    kept, relabelled, with_labels = [], 0, 0
    dropped: dict[str, Counter[str]] = defaultdict(Counter)
    documents: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    clusters: dict[str, dict[Key, str]] = defaultdict(dict)
    for item in items:
        votes: dict[str, str | None] = {}
        reasons, number = [], 0
        for key in (Key(item.id, part) for part in pipeline.parts(item)):
            clusters[key.kind][key] = item.document
            labels = [each.labels[key] for each in annotators if key in each.labels]
            number += len(labels)
            vote, reason = settled(labels, rule, least)
            votes[key.part] = vote
            if len(labels) >= least:
                documents[key.kind][vote or reason].append(item.document)
            if vote in (None, pipeline.labels[-1]):
                reasons.append(f"{key.kind} {reason or f'voted {vote}'}".strip())
        with_labels += bool(number)
        result = pipeline.annotated(item, votes)
        if result is None:
            dropped[next(iter(reasons), f"voted {votes.get('')}")][item.kind] += 1
        else:
            kept.append(result)
            relabelled += result != item
    return kept, Annotation(
        rule=rule,
        least=least,
        items=len(items),
        annotated=with_labels,
        kept=len(kept),
        relabelled=relabelled,
        dropped={reason: dict(sorted(kinds.items())) for reason, kinds in sorted(dropped.items())},
        labels={kind: _label_shares(of_label) for kind, of_label in documents.items()},
        agreement={kind: agreement_of(annotators, of_items) for kind, of_items in clusters.items()},
        annotators={each.name: len(each.labels) for each in annotators},
    )


def _label_shares(documents: Mapping[str, Sequence[str]]) -> dict[str, LabelShare]:
    """Return the number and share of items by label, given the documents of the items with each label."""
    every = [document for of_label in documents.values() for document in of_label]
    shares = {}
    for label in sorted(documents):
        has = [other == label for other, of_label in documents.items() for _ in of_label]
        shares[label] = LabelShare(sum(has), clustered_mean(has, every))
    return shares


def agreement_of(annotators: Sequence[Annotator], clusters: Mapping[Key, str]) -> Agreement:
    """Return the agreement of annotators on what has a document in `clusters`."""
    shares = {}
    for key in clusters:
        labels = [each.labels[key] for each in annotators if key in each.labels]
        if pairs := list(combinations(labels, 2)):
            shares[key] = sum(one == other for one, other in pairs) / len(pairs)
    if not shares:
        return Agreement(0)
    documents = [clusters[key] for key in shares]
    raters = [[each.labels.get(key) for key in shares] for each in annotators if each.labels.keys() & clusters.keys()]
    kappa = cohen_kappa(raters[0], raters[1], documents) if len(raters) == 2 else fleiss_kappa(raters, documents)
    return Agreement(
        items=len(shares),
        agreement=clustered_mean([*shares.values()], documents),
        alpha=rounded(krippendorff_alpha(raters, documents)),
        kappa=rounded(kappa),
    )
