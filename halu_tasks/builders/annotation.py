"""Items for annotators in doccano, their labels, their agreement, and what the labels make of a dataset.

A row of doccano's JSON Lines has `text`, `label` (a list) and any other fields, which doccano keeps as metadata and
exports again; `id` is doccano's own. A project in which annotators do not see each other's labels exports one file per
member, named after them.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from halu_tasks.builders.collect import Collection, describe, write_dataset
from halu_tasks.builders.folder import COLLECTED, DATASET, PLAN, REJECTS, Folder, read_items, write_json
from halu_tasks.builders.pipeline import Draft, Pipeline
from halu_tasks.builders.quality import clustered_mean, rounded
from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import atomic_folder, atomic_write_text, json_line
from halu_tasks.core.hashing import short_hash, stable_number
from halu_tasks.core.records import to_json
from halu_tasks.data.rows import json_lines, read_json_object
from halu_tasks.scorers.statistics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha

GUIDELINES = Path(__file__).parent / "guidelines"
ANNOTATION = "annotation.json"
"""File in the folder of a dataset that annotators have checked."""
ITEM, PART = "item", "part"
"""The metadata fields that hold an item's id, and the name of the part of it that is labelled, if it has several."""

NO_LABEL, REPEATED = "no label", "repeated row"
"""Reasons why a row gives no label that are no problem: it is not labelled yet, or was exported twice."""
NOT_ANNOTATED, TOO_FEW, NO_MAJORITY = "not annotated", "too few labels", "no majority"
"""Reasons why an item has no label."""
LEAST = 2
"""Default minimum number of labels of an item: a single annotator's label is no agreement."""


# --- items for annotators -------------------------------------------------------------------------


def export_items(folder: Folder, output: Path, sample: int | None, seed: int) -> int:
    """Write items as doccano imports them, with the labels and the guidelines in files next to them.

    A row contains what annotators are shown of an item or a part of it, an empty list of labels, the item's id and the
    part's name, but no labels given by models.

    Args:
        folder: The build.
        output: The file of the items.
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
    # each with the number key that selects it
    labels = [{"text": label, "suffixKey": str(place)} for place, label in enumerate(pipeline.labels, 1)]
    texts = {
        output: "".join(json_line(row) + "\n" for row in rows),
        output.with_suffix(".labels.json"): json.dumps(labels, indent=2) + "\n",
        output.with_suffix(".guidelines.md"): guidelines.read_text(encoding="utf-8"),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        atomic_write_text(path, text, "tasks")
    return len(rows)


def item_rows(pipeline: Pipeline, items: Iterable[Draft], sample: int | None, seed: int = 0) -> list[dict[str, Any]]:
    """Return the rows of items to import into doccano."""

    def rank(item: Draft) -> tuple[int, str]:
        return stable_number(seed, item.id), item.id

    chosen = sorted(items, key=rank) if sample is None else nsmallest(sample, items, key=rank)
    return [
        {"text": shown_text(part, shown), "label": [], ITEM: item.id, **({PART: part} if part else {})}
        for item in chosen
        for part, shown in pipeline.parts(item).items()
    ]


def shown_text(part: str, shown: Mapping[str, str]) -> str:
    """Return what annotators see of an item: its texts under their names; of a part, first which kind it is."""
    asked = [f"Is this right: {_kind(part)}?"] if part else []
    return "\n\n".join([*asked, *(f"[{name}]\n{text}" for name, text in shown.items())])


def _key(item: str, part: str) -> str:
    return f"{item}#{part}" if part else item


def _kind(part: str) -> str:
    return part.partition(" ")[0]


def fingerprint(text: str) -> str:
    """Return a short hash of a text without its white space, which is equal for different renderings of the text."""
    return short_hash("".join(text.split()))


# --- reading labels -------------------------------------------------------------------------------


@dataclass
class Annotator:
    """The labels of one annotator.

    Attributes:
        name: Name of the file.
        rows: Number of rows.
        labels: Labels by item id, or by item id and part.
        left_out: Number of unused rows by reason.
    """

    name: str
    rows: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def problem(self) -> str:
        """What is wrong with the file: rows that give no label, or no rows; empty if nothing is."""
        unusable = {reason: count for reason, count in self.left_out.items() if reason not in (NO_LABEL, REPEATED)}
        if unusable:
            return f"{sum(unusable.values())} of {self.rows} rows give no label ({_format_counts(unusable)})"
        return "" if self.rows else "no rows"


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def read_annotators(paths: Sequence[Path], fingerprints: Mapping[str, str], labels: Sequence[str]) -> list[Annotator]:
    """Read annotators' labels from files exported by doccano.

    Args:
        paths: The files, one per annotator.
        fingerprints: The `fingerprint` of the text that was shown, by item id, or by item id and part.
        labels: The labels annotators could choose from.

    Raises:
        DataError: A file cannot be read or is not JSON Lines.
        UsageError: Two files have the same annotator, or fewer than two annotators have labels.
    """
    annotators = [read_labels(path.stem, [row for _, row in json_lines(path)], fingerprints, labels) for path in paths]
    names = Counter(annotator.name for annotator in annotators)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(
            f"two files belong to annotator {twice[0]!r}; rename one, as files are named after their annotators"
        )
    if sum(bool(annotator.labels) for annotator in annotators) < 2:
        empty = (each for each in annotators if not each.labels)
        reasons = (f"{each.name} contains no usable labels ({_format_counts(each.left_out)}); " for each in empty)
        raise UsageError(
            f"{''.join(reasons)}expected labels of two annotators or more, one file each; if doccano exported a single "
            "file for all, turn off shared annotations in the project's settings and export again"
        )
    return annotators


def read_labels(
    name: str, rows: Sequence[Mapping[str, Any]], fingerprints: Mapping[str, str], labels: Sequence[str]
) -> Annotator:
    """Return one annotator's labels, as `read_annotators` reads them from rows."""
    annotator = Annotator(name, len(rows))
    by_item: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        item, given = _key(str(row.get(ITEM, "")), str(row.get(PART, ""))), labels_of(row)
        if item not in fingerprints:
            annotator.left_out["unknown item" if item else "no item id"] += 1
        elif "text" in row and fingerprint(str(row["text"])) != fingerprints[item]:
            annotator.left_out["another text"] += 1
        elif given:
            by_item.setdefault(item, []).append(given)
        else:
            annotator.left_out[NO_LABEL] += 1
    spellings = {label.casefold(): label for label in labels}
    for item, (given, *others) in by_item.items():
        label = spellings.get(given[0])
        reason = "several labels" if len(given) > 1 else "" if label else "label not in the list"
        if any(other != given for other in others):
            reason = "conflicting rows"
        if label and not reason:
            annotator.labels[item] = label
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
) -> tuple[list[Draft], dict[str, Any]]:
    """Return the items that annotators keep, as `Pipeline.annotated` changes them, and a report.

    Args:
        pipeline: The pipeline that built the items.
        items: The items of the dataset.
        annotators: The annotators.
        rule: How labels are combined, see `settled`.
        least: Minimum number of labels of an item.

    Returns:
        The items, and the content of `annotation.json`: `rule`, `least`; the numbers of `items`, of those `annotated`
        with a label, of those `kept`, and of those kept but `relabelled`; `dropped` items by reason and kind; `labels`,
        the number (`n`) and share of items by the label agreed on, or by the reason there is none, without items with
        too few labels; `agreement`, see `agreement_of`; and the `annotators`, with the number of their labels. Where
        parts of items are labelled, `labels` and `agreement` are by kind of part.
    """
    kept, relabelled, some = [], 0, 0
    dropped: dict[str, Counter[str]] = {}
    documents: dict[str, dict[str, list[str]]] = {}
    clusters: dict[str, dict[str, str]] = {}
    for item in items:
        votes: dict[str, str | None] = {}
        reasons, number = [], 0
        for part in pipeline.parts(item):
            key, kind = _key(item.id, part), _kind(part)
            clusters.setdefault(kind, {})[key] = item.document
            labels = [each.labels[key] for each in annotators if key in each.labels]
            number += len(labels)
            votes[part], reason = settled(labels, rule, least)
            if len(labels) >= least:
                documents.setdefault(kind, {}).setdefault(votes[part] or reason, []).append(item.document)
            if votes[part] in (None, pipeline.labels[-1]):
                reasons.append(f"{kind} {reason or f'voted {votes[part]}'}".strip())
        some += bool(number)
        result = pipeline.annotated_parts(item, votes)
        if result is None:
            dropped.setdefault(next(iter(reasons), f"voted {votes.get('')}"), Counter())[item.kind] += 1
        else:
            kept.append(result)
            relabelled += result != item

    def by_kind(figures: dict[str, dict[str, Any]]) -> dict[str, Any]:
        return figures.get("", figures)

    return kept, {
        "rule": rule,
        "least": least,
        "items": len(items),
        "annotated": some,
        "kept": len(kept),
        "relabelled": relabelled,
        "dropped": {reason: dict(sorted(kinds.items())) for reason, kinds in sorted(dropped.items())},
        "labels": by_kind({kind: _label_shares(own) for kind, own in documents.items()}),
        "agreement": by_kind({kind: agreement_of(annotators, own) for kind, own in clusters.items()}),
        "annotators": [{**to_json(each), "labels": len(each.labels)} for each in annotators],
    }


def _label_shares(documents: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Return the number and share of items by label, given the documents of the items with each label."""
    every = [document for own in documents.values() for document in own]
    shares = {}
    for label in sorted(documents):
        has = [other == label for other, own in documents.items() for _ in own]
        shares[label] = {"n": sum(has), "share": rounded(clustered_mean(has, every))}
    return shares


def agreement_of(annotators: Sequence[Annotator], clusters: Mapping[str, str]) -> dict[str, Any]:
    """Return the agreement of annotators.

    This is the number of `items` that two of them labelled, the share of pairs of labels that are equal, averaged over
    items (`agreement`), Krippendorff's `alpha`, and `cohen_kappa` of two annotators, or `fleiss_kappa` of more; that is
    over the items with the most labels. Figures are rounded, and have intervals with documents as clusters.

    Args:
        annotators: The annotators.
        clusters: The document of each item by item id.
    """
    items, shares = [], []
    for item in clusters:
        labels = [each.labels[item] for each in annotators if item in each.labels]
        if pairs := list(combinations(labels, 2)):
            items.append(item)
            shares.append(sum(one == other for one, other in pairs) / len(pairs))
    if not items:
        return {"items": 0, "agreement": None, "alpha": None}
    documents = [clusters[item] for item in items]
    raters = [[each.labels.get(item) for item in items] for each in annotators if each.labels.keys() & clusters.keys()]
    kappa = cohen_kappa(raters[0], raters[1], documents) if len(raters) == 2 else fleiss_kappa(raters, documents)
    return {
        "items": len(items),
        "agreement": rounded(clustered_mean(shares, documents)),
        "alpha": rounded(krippendorff_alpha(raters, documents)),
        "cohen_kappa" if len(raters) == 2 else "fleiss_kappa": rounded(kappa),
    }


# --- what the labels make of a dataset ------------------------------------------------------------


def import_labels(
    folder: Folder, annotations: Sequence[Path], rule: str, least: int, output: Path | None
) -> tuple[dict[str, Any], list[Annotator]]:
    """Combine annotators' labels and, if a folder is named, write the items that they keep.

    Args:
        folder: The build that the items were exported from.
        annotations: doccano's exports, one file for each annotator.
        rule: How labels are combined, `majority` or `two`.
        least: Minimum number of labels of an item.
        output: A new folder like that of a build; None to write nothing.

    Returns:
        The report, see `annotated`, and the annotators.

    Raises:
        UsageError: `output` exists, or fewer than two annotators have labels.
        DataError: An annotation file or the dataset is damaged.
    """
    if output and output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UsageError(f"{output} exists; choose a new folder, since nothing is overwritten")
    pipeline, items = folder.pipeline, list(read_items(folder.path / DATASET))
    shown = {
        _key(item.id, part): fingerprint(shown_text(part, texts))
        for item in items
        for part, texts in pipeline.parts(item).items()
    }
    annotators = read_annotators(annotations, shown, pipeline.labels)
    kept, report = annotated(pipeline, items, annotators, rule, least)
    if output:
        with atomic_folder(output, "annotated items") as partial:
            files = write_dataset(pipeline, kept, partial / DATASET)
            write_json(partial / DATASET / ANNOTATION, report)
            for name in (PLAN, *pipeline.files().values(), REJECTS):
                if (folder.path / name).is_file():
                    shutil.copyfile(folder.path / name, partial / name)
            collected = read_json_object(folder.path / COLLECTED)
            collection = TypeAdapter(Collection).validate_python({**collected, "files": files})
            write_json(partial / COLLECTED, collection)
            describe(folder, partial / DATASET, collection, report)
    return report, annotators
