"""Items as rows for annotators, the labels that they give, their agreement, and the items that they keep.

Any tool will do that shows `text`, adds a label, and keeps `item` and `part`: a spreadsheet, or doccano, whose JSON
Lines have labels as lists. The annotator is named in `by`; if it is empty, after the file.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from halu_tasks.builders.folder import DATASET, Folder, read_items
from halu_tasks.builders.pipeline import Draft, Pipeline
from halu_tasks.builders.rates import clustered_mean, rounded
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.hashing import short_hash, stable_number
from halu_tasks.data.rows import Row
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.scorers.statistics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from halu_tasks.tasks.label_tables import read_label_rows, write_label_rows

GUIDELINES = Path(__file__).parent / "guidelines"
COLUMNS = ("item", "part", "text", "label", "by")
"""The columns of rows to label: the item's id, and the part of it if parts are labelled; only `item` and `label` are
needed in those that are read."""

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
    # doccano imports lists of labels; an empty text would be a label
    is_json = output.suffix == ".jsonl"
    write_label_rows(output, [{**row, "label": []} for row in rows] if is_json else rows, COLUMNS)
    atomic_write_text(output.with_suffix(".guidelines.md"), guidelines.read_text(encoding="utf-8"), "guidelines")
    return len(rows)


def item_rows(pipeline: Pipeline, items: Iterable[Draft], sample: int | None, seed: int = 0) -> list[dict[str, str]]:
    """Return the rows to label, which show no labels that models gave unless these are to be judged."""
    chosen = sorted(items, key=lambda item: (stable_number(seed, item.id), item.id))[:sample]
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


Labels = Mapping[Key, str]
"""The labels of one annotator."""


def read_labels(paths: Sequence[Path], fingerprints: Mapping[Key, str], labels: Sequence[str]) -> dict[str, Labels]:
    """Read the labels of each annotator from JSON Lines, CSV files or workbooks. Rows without a label are left out.

    Args:
        paths: The files. If `by` of a row is empty, the annotator is named after the file.
        fingerprints: The `fingerprint` of the text that was shown for each label.
        labels: The labels annotators could choose from.

    Raises:
        DataError: A file cannot be read, or a row is not of these items, has another text, a label that is not in the
            list, several labels, or another one than an earlier row of the same annotator.
        UsageError: Fewer than two annotators have labels.
    """
    by_annotator: dict[str, dict[Key, str]] = defaultdict(dict)
    for path in paths:
        for line, row in read_label_rows(path, ("item", "label")):
            try:
                key, label = _label_of(row, fingerprints, labels)
                if label and by_annotator[str(row.get("by") or path.stem)].setdefault(key, label) != label:
                    raise ValueError(f"item {key.item!r} has another label in an earlier row of the same annotator")
            except ValueError as error:
                raise DataError(f"{path}:{line}: {error}") from None
    if len(by_annotator) < 2:
        raise UsageError(
            f"expected labels of two annotators or more, in a file each or named in 'by', got those of "
            f"{' and '.join(by_annotator) or 'none'}; if doccano exported a single file for all, turn off shared "
            "annotations in the project's settings and export again"
        )
    return dict(by_annotator)


def _label_of(row: Row, fingerprints: Mapping[Key, str], labels: Sequence[str]) -> tuple[Key, str]:
    """Return what a row labels, and its label; empty if it has none yet.

    Raises:
        ValueError: The row is not of these items, or has no label of the list.
    """
    key, label = Key(str(row.get("item") or ""), str(row.get("part") or "")), row.get("label")
    if key not in fingerprints:
        raise ValueError(f"item {key.item!r} is not in the dataset" if key.item else "expected an item's id in 'item'")
    if "text" in row and fingerprint(str(row["text"])) != fingerprints[key]:
        raise ValueError(f"item {key.item!r} has another text in the dataset")
    texts = {str(each).strip() for each in (label if isinstance(label, list) else [label]) if each is not None}
    spellings = {each.casefold(): each for each in labels}
    names = {spellings.get(text.casefold(), "") for text in texts - {""}}
    if len(names) > 1 or "" in names:
        raise ValueError(f"label is {', '.join(sorted(texts))}, expected {' or '.join(labels)}")
    return key, next(iter(names), "")


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
        rule: How labels are combined, see `agreed_label`.
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


def agreed_label(labels: Sequence[str], rule: str = "majority", least: int = LEAST) -> tuple[str | None, str]:
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


def apply_labels(
    pipeline: Pipeline, items: Sequence[Draft], annotators: Mapping[str, Labels], rule: str, least: int
) -> tuple[list[Draft], Annotation]:
    """Return the items that annotators keep, as `Pipeline.annotated` changes them, and a report.

    Args:
        pipeline: The pipeline that built the items.
        items: The items of the dataset.
        annotators: The labels of each annotator.
        rule: How labels are combined, see `agreed_label`.
        least: Minimum number of labels of an item.
    """
    remaining, relabelled, with_labels = [], 0, 0
    dropped: dict[str, Counter[str]] = defaultdict(Counter)
    documents: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    clusters: dict[str, dict[Key, str]] = defaultdict(dict)
    for item in items:
        votes, reasons, is_labelled = dict[str, str | None](), list[str](), False
        for key in (Key(item.id, part) for part in pipeline.parts(item)):
            clusters[key.kind][key] = item.document
            labels = [each[key] for each in annotators.values() if key in each]
            votes[key.part], reason = agreed_label(labels, rule, least)
            vote, is_labelled = votes[key.part], is_labelled or bool(labels)
            if len(labels) >= least:
                documents[key.kind][vote or reason].append(item.document)
            if vote in (None, pipeline.labels[-1]):
                reasons.append(f"{key.kind} {reason or f'voted {vote}'}".strip())
        with_labels += is_labelled
        if result := pipeline.annotated(item, votes):
            remaining.append(result)
            relabelled += result != item
        else:
            dropped[next(iter(reasons), f"voted {votes.get('')}")][item.kind] += 1
    return remaining, Annotation(
        rule=rule,
        least=least,
        items=len(items),
        annotated=with_labels,
        kept=len(remaining),
        relabelled=relabelled,
        dropped={reason: dict(sorted(kinds.items())) for reason, kinds in sorted(dropped.items())},
        labels={kind: _label_shares(of_label) for kind, of_label in documents.items()},
        agreement={kind: agreement_of([*annotators.values()], of_items) for kind, of_items in clusters.items()},
        annotators={name: len(labels) for name, labels in annotators.items()},
    )


def _label_shares(documents: Mapping[str, Sequence[str]]) -> dict[str, LabelShare]:
    """Return the number and share of items by label, given the documents of the items with each label."""
    every = [document for of_label in documents.values() for document in of_label]
    shares = {}
    for label in sorted(documents):
        has = [other == label for other, of_label in documents.items() for _ in of_label]
        shares[label] = LabelShare(sum(has), clustered_mean(has, every))
    return shares


def agreement_of(annotators: Sequence[Labels], clusters: Mapping[Key, str]) -> Agreement:
    """Return the agreement of annotators on what has a document in `clusters`."""
    shares = {}
    for key in clusters:
        labels = [each[key] for each in annotators if key in each]
        if pairs := list(combinations(labels, 2)):
            shares[key] = sum(one == other for one, other in pairs) / len(pairs)
    if not shares:
        return Agreement(0)
    documents = [clusters[key] for key in shares]
    raters = [[each.get(key) for key in shares] for each in annotators if each.keys() & clusters.keys()]
    kappa = cohen_kappa(raters[0], raters[1], documents) if len(raters) == 2 else fleiss_kappa(raters, documents)
    return Agreement(
        items=len(shares),
        agreement=clustered_mean([*shares.values()], documents),
        alpha=rounded(krippendorff_alpha(raters, documents)),
        kappa=rounded(kappa),
    )
