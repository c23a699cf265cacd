"""Annotators' labels: read from doccano's exports, combined to a label of each item, and their agreement.

A row of doccano's JSON Lines has `text`, `label` (a list) and any other fields, which doccano keeps as metadata and
exports again; `id` is doccano's own. A project in which annotators do not see each other's labels exports one file per
member, named after them, in a zip archive.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from halu_tasks.builders.leaks import clustered_mean, rounded
from halu_tasks.builders.records import to_json
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import short_hash
from halu_tasks.data.rows import json_lines
from halu_tasks.scorers.metrics import Estimate
from halu_tasks.scorers.statistics.agreement import krippendorff_alpha

ITEM = "item"
"""The metadata field that holds an item's id."""

NO_LABEL, TWO_LABELS, NO_SUCH_LABEL = "no label", "several labels", "label not in the list"
CONFLICTING, REPEATED = "conflicting rows", "repeated row"
NO_ITEM, UNKNOWN_ITEM, OTHER_TEXT = "no item id", "unknown item", "another text"
"""Reasons why a row gives no label."""

MAJORITY, TWO = "majority", "two"
LEAST = 2
"""Default minimum number of labels of an item: a single annotator's label is no agreement."""
NOT_ANNOTATED, TOO_FEW, NO_MAJORITY = "not annotated", "too few labels", "no majority"
"""Reasons why an item has no label."""

EVERYONE = "all annotators"


# --- reading --------------------------------------------------------------------------------------


@dataclass
class Annotator:
    """The labels of one annotator.

    Attributes:
        name: Name of the file.
        rows: Number of rows.
        labels: Labels by item id.
        left_out: Number of unused rows by reason.
    """

    name: str
    rows: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def problem(self) -> str:
        """What is wrong with the file: rows that give no label, or no rows; empty if nothing is.

        An item that is not labelled yet, or was exported twice, is no problem.
        """
        unusable = {reason: count for reason, count in self.left_out.items() if reason not in (NO_LABEL, REPEATED)}
        if unusable:
            return f"{sum(unusable.values())} of {self.rows} rows give no label ({format_counts(unusable)})"
        return "" if self.rows else "no rows"


def format_counts(counts: Mapping[str, int]) -> str:
    """Format counts by name on one line."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def fingerprint(text: str) -> str:
    """Return a short hash of a text without its white space, which is equal for different renderings of the text."""
    return short_hash("".join(text.split()), surrogates="replace")


def read_annotators(paths: Sequence[Path], fingerprints: Mapping[str, str], labels: Sequence[str]) -> list[Annotator]:
    """Read annotators' labels from files, or zip archives of files, exported by doccano.

    Args:
        paths: The files, one per annotator.
        fingerprints: The `fingerprint` of the text that was shown, by item id.
        labels: The labels annotators could choose from.

    Raises:
        DataError: A file cannot be read or is not JSON Lines.
        UsageError: Two files have the same annotator, or fewer than two annotators have labels.
    """
    annotators = []
    for path in paths:
        with _unpacked(path) as files:
            for name, file in files:
                try:
                    rows = [row for _, row in json_lines(file)]
                except DataError as error:
                    place = f"{path}" if file == path else f"{path}:{name}"
                    raise DataError(str(error).replace(str(file), place)) from None
                annotators.append(read_labels(name, rows, fingerprints, labels))
    names = Counter(annotator.name for annotator in annotators)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(
            f"two files belong to annotator {twice[0]!r}; rename one, as files are named after their annotators"
        )
    if sum(bool(annotator.labels) for annotator in annotators) < 2:
        unusable = "".join(
            f"{each.name} contains no usable labels ({format_counts(each.left_out)}); "
            for each in annotators
            if not each.labels
        )
        raise UsageError(
            f"{unusable}expected labels of two annotators or more, one file each; if doccano exported a single file "
            "for all, turn off shared annotations in the project's settings and export again"
        )
    return annotators


def read_labels(
    name: str, rows: Sequence[Mapping[str, Any]], fingerprints: Mapping[str, str], labels: Sequence[str]
) -> Annotator:
    """Return one annotator's labels, as `read_annotators` reads them from rows."""
    annotator = Annotator(name, len(rows))
    by_item: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        item = str(row.get(ITEM, ""))
        if not item:
            annotator.left_out[NO_ITEM] += 1
        elif item not in fingerprints:
            annotator.left_out[UNKNOWN_ITEM] += 1
        elif "text" in row and fingerprint(str(row["text"])) != fingerprints[item]:
            annotator.left_out[OTHER_TEXT] += 1
        elif row_labels := labels_of(row):
            by_item.setdefault(item, []).append(row_labels)
        else:
            annotator.left_out[NO_LABEL] += 1
    spellings = {label.casefold(): label for label in labels}
    for item, given in by_item.items():
        if len(set(given)) > 1:
            annotator.left_out[CONFLICTING] += len(given)
        elif len(given[0]) > 1:
            annotator.left_out[TWO_LABELS] += len(given)
        elif given[0][0] not in spellings:
            annotator.left_out[NO_SUCH_LABEL] += len(given)
        else:
            annotator.labels[item] = spellings[given[0][0]]
            annotator.left_out[REPEATED] += len(given) - 1
    annotator.left_out = +annotator.left_out
    return annotator


def labels_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the different labels of a row, case-folded and sorted."""
    given = row.get("label", [])
    labels = {str(label).strip().casefold() for label in (given if isinstance(given, list) else [given])}
    return tuple(sorted(label for label in labels if label))


@contextmanager
def _unpacked(path: Path) -> Iterator[list[tuple[str, Path]]]:
    """Yield annotators' names and files: `path` itself, or the files in a zip archive."""
    if path.suffix.lower() != ".zip":
        yield [(path.stem, path)]
        return
    with TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                files = []
                for place, member in enumerate(name for name in archive.namelist() if name.endswith(".jsonl")):
                    files.append((Path(member).stem, Path(folder) / f"{place}.jsonl"))
                    files[-1][1].write_bytes(archive.read(member))
        except FileNotFoundError:
            raise DataError(f"{path}: no such file") from None
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise DataError(f"{path}: cannot be read as a zip archive ({error})") from None
        if not files:
            raise DataError(f"{path}: contains no .jsonl files; export from doccano as JSONL")
        yield files


# --- combining ------------------------------------------------------------------------------------


def settled(labels: Sequence[str], rule: str = MAJORITY, least: int = LEAST) -> tuple[str | None, str]:
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
    agreed = 2 * most > len(labels) if rule == MAJORITY else most >= 2 and (not others or others[0][1] < most)
    return (label, "") if agreed else (None, NO_MAJORITY)


def labels_by_item(annotators: Sequence[Annotator], items: Sequence[str]) -> dict[str, list[str]]:
    """Return the labels that annotators gave each item."""
    return {item: [each.labels[item] for each in annotators if item in each.labels] for item in items}


class LabelShare(NamedTuple):
    """The number and share of items with a label."""

    n: int
    share: Estimate | None


def label_shares(
    annotators: Sequence[Annotator], clusters: Mapping[str, str], rule: str = MAJORITY, least: int = LEAST
) -> dict[str, LabelShare]:
    """Return the number and share of items by the label agreed on, or by the reason there is none.

    Items with too few labels are left out.

    Args:
        annotators: The annotators.
        clusters: The document of each item by item id.
        rule: How labels are combined, see `settled`.
        least: Minimum number of labels, see `settled`.
    """
    given = labels_by_item(annotators, list(clusters))
    results = {item: settled(labels, rule, least) for item, labels in given.items()}
    agreed = {item: label or reason for item, (label, reason) in results.items()}
    agreed = {item: label for item, label in agreed.items() if label not in (TOO_FEW, NOT_ANNOTATED)}
    documents = [clusters[item] for item in agreed]
    shares = {}
    for label in sorted(set(agreed.values())):
        found = [each == label for each in agreed.values()]
        shares[label] = LabelShare(sum(found), rounded(clustered_mean(found, documents)))
    return shares


class LabelAgreement(NamedTuple):
    """The agreement of annotators; figures are rounded, and have intervals with documents as clusters.

    Attributes:
        items: The number of items that two of the annotators labelled.
        agreement: The share of pairs of labels that are equal, averaged over items.
        alpha: Krippendorff's alpha.
    """

    items: int
    agreement: Estimate | None
    alpha: Estimate | None


def agreement_of(annotators: Sequence[Annotator], clusters: Mapping[str, str]) -> dict[str, LabelAgreement]:
    """Return the agreement of all annotators, and of each two with items in common.

    Args:
        annotators: The annotators.
        clusters: The document of each item by item id.
    """
    labelling = [annotator for annotator in annotators if annotator.labels]
    groups = {EVERYONE: labelling}
    if len(labelling) > 2:
        groups |= {f"{one.name}, {other.name}": [one, other] for one, other in combinations(labelling, 2)}
    measured = {name: _agreement(group, clusters) for name, group in groups.items()}
    return {name: agreement for name, agreement in measured.items() if agreement.items or name == EVERYONE}


def _agreement(annotators: Sequence[Annotator], clusters: Mapping[str, str]) -> LabelAgreement:
    given = labels_by_item(annotators, list(clusters))
    items = [item for item, labels in given.items() if len(labels) > 1]
    if not items:
        return LabelAgreement(0, None, None)
    documents = [clusters[item] for item in items]
    shares = []
    for item in items:
        pairs = list(combinations(given[item], 2))
        shares.append(sum(one == other for one, other in pairs) / len(pairs))
    alpha = krippendorff_alpha([[each.labels.get(item) for item in items] for each in annotators], documents)
    return LabelAgreement(len(items), rounded(clustered_mean(shares, documents)), rounded(alpha))


@dataclass(frozen=True, kw_only=True)
class AnnotationReport:
    """The result of an annotation: the content of `annotation.json`.

    Attributes:
        rule: How labels are combined, see `settled`.
        least: Minimum number of labels of an item.
        items: The number of items of the dataset.
        annotated: The number of items with a label.
        kept: The number of items kept.
        relabelled: The number of kept items that were changed.
        dropped: Dropped items by reason and kind.
        labels: Items by the label agreed on, or by the reason there is none; items with too few labels are left out.
        agreement: The agreement of all annotators, and of each two of more.
        annotators: The annotators.
    """

    rule: str
    least: int
    items: int
    annotated: int
    kept: int
    relabelled: int
    dropped: Mapping[str, Mapping[str, int]]
    labels: Mapping[str, LabelShare]
    agreement: Mapping[str, LabelAgreement]
    annotators: Sequence[Annotator]

    @property
    def labelling(self) -> int:
        """The number of annotators with labels."""
        return sum(bool(annotator.labels) for annotator in self.annotators)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values, with the number of each annotator's labels."""
        content: dict[str, Any] = to_json(self)
        content["annotators"] = [{**each, "labels": len(each["labels"])} for each in content["annotators"]]
        return content
