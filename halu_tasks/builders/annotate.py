"""Exporting items to annotators in doccano, and what their labels make of a dataset."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Any

from halu_tasks.builders import annotation
from halu_tasks.builders.annotation import AnnotationReport, Annotator
from halu_tasks.builders.card import describe
from halu_tasks.builders.collect import write_dataset
from halu_tasks.builders.folder import COLLECTED, DATASET, PLAN, REJECTS, Folder
from halu_tasks.builders.leaks import hash_of
from halu_tasks.builders.pipeline import Draft, Pipeline
from halu_tasks.builders.records import Collection
from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.json_lines import json_line
from halu_tasks.data.rows import read_json_object

GUIDELINES = Path(__file__).parent / "guidelines"
ANNOTATION = "annotation.json"
"""File in the folder of a dataset that annotators have checked."""


def export_items(folder: Folder, output: Path, sample: int | None, seed: int) -> int:
    """Write items as doccano imports them, with the labels and the guidelines in files next to them.

    A row contains the parts of an item that annotators are shown, an empty list of labels, and the item's id, but no
    labels given by models.

    Args:
        folder: The build.
        output: The file of the items.
        sample: Number of items to draw; None for all.
        seed: Seed of the sample and of the order, which is by a hash and reveals nothing about the items.

    Returns:
        The number of items.

    Raises:
        UsageError: There are no guidelines for annotators of this builder.
        DataError: There is no dataset, or a file cannot be written.
    """
    pipeline = folder.pipeline
    rows = item_rows(pipeline, folder.items(), sample, seed)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_tasks(output, rows, pipeline, pipeline.name)
    return len(rows)


def item_rows(pipeline: Pipeline, items: Iterable[Draft], sample: int | None, seed: int = 0) -> list[dict[str, Any]]:
    """Return the rows of items to import into doccano."""

    def rank(item: Draft) -> tuple[int, str]:
        return hash_of(seed, item.id), item.id

    chosen = sorted(items, key=rank) if sample is None else nsmallest(sample, items, key=rank)
    return [row_of(item.id, pipeline.shown(item)) for item in chosen]


def row_of(id: str, shown: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of an item to import into doccano."""
    return {"text": shown_text(shown), "label": [], annotation.ITEM: id}


def shown_text(shown: Mapping[str, str]) -> str:
    """Return what annotators see of an item: its texts under their names."""
    return "\n\n".join(f"[{name}]\n{text}" for name, text in shown.items())


def write_tasks(output: Path, rows: Iterable[Mapping[str, Any]], pipeline: Pipeline, guidelines: str) -> None:
    """Write rows for doccano, and next to them the labels and the guidelines."""
    file = GUIDELINES / f"{guidelines}.md"
    if not file.is_file():
        raise UsageError(f"there are no guidelines for annotators of {guidelines}; write them to {file}")
    colours = ("#7c20e0", "#005f73", "#9b2226", "#bb3e03", "#31572c", "#3d405b")
    labels = [
        # each with the number key that selects it
        {"text": label, "suffixKey": str(place), "backgroundColor": colour, "textColor": "#ffffff"}
        for place, (label, colour) in enumerate(zip(pipeline.labels, colours, strict=False), 1)
    ]
    texts = {
        output: "".join(json_line(row) + "\n" for row in rows),
        output.with_suffix(".labels.json"): json.dumps(labels, indent=2) + "\n",
        output.with_suffix(".guidelines.md"): file.read_text(encoding="utf-8"),
    }
    for path, text in texts.items():
        atomic_write_text(path, text, "tasks")


def import_labels(
    folder: Folder, annotations: Sequence[Path], rule: str, least: int, output: Path | None
) -> AnnotationReport:
    """Combine annotators' labels and, if a folder is named, write the items that they keep.

    Args:
        folder: The build that the items were exported from.
        annotations: doccano's exports, one file for each annotator, or an archive of all.
        rule: How labels are combined, `majority` or `two`.
        least: Minimum number of labels of an item.
        output: A new folder like that of a build; None to write nothing.

    Raises:
        UsageError: `output` exists, or fewer than two annotators have labels.
        DataError: An annotation file or the dataset is damaged.
    """
    if output:
        check_new(output)
    pipeline, items = folder.pipeline, list(folder.items())
    shown = {item.id: annotation.fingerprint(shown_text(pipeline.shown(item))) for item in items}
    annotators = annotation.read_annotators(annotations, shown, pipeline.labels)
    kept, report = annotated(pipeline, items, annotators, rule, least)
    if output:
        _write_kept(folder, kept, report, output)
    return report


def annotated(
    pipeline: Pipeline, items: Sequence[Draft], annotators: Sequence[Annotator], rule: str, least: int
) -> tuple[list[Draft], AnnotationReport]:
    """Return the items that annotators keep, as `Pipeline.annotated` changes them, and a report."""
    clusters = {item.id: item.document for item in items}
    given = annotation.labels_by_item(annotators, list(clusters))
    kept, relabelled = [], 0
    dropped: dict[str, dict[str, int]] = {}
    for item in items:
        label, reason = annotation.settled(given[item.id], rule, least)
        result = None if label is None else pipeline.annotated(item, label)
        if result is None:
            kinds = dropped.setdefault(reason or f"voted {label}", {})
            kinds[item.kind] = kinds.get(item.kind, 0) + 1
        else:
            kept.append(result)
            relabelled += result != item
    report = AnnotationReport(
        rule=rule,
        least=least,
        items=len(items),
        annotated=sum(map(bool, given.values())),
        kept=len(kept),
        relabelled=relabelled,
        dropped={reason: dict(sorted(kinds.items())) for reason, kinds in sorted(dropped.items())},
        labels=annotation.label_shares(annotators, clusters, rule, least),
        agreement=annotation.agreement_of(annotators, clusters),
        annotators=annotators,
    )
    return kept, report


def check_new(output: Path) -> None:
    """Raise UsageError if a folder exists that is not empty."""
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UsageError(f"{output} exists; choose a new folder, since nothing is overwritten")


def _write_kept(folder: Folder, kept: Iterable[Draft], report: AnnotationReport, output: Path) -> None:
    """Write a folder like that of the build, with the items that annotators keep."""
    partial = output.with_name(output.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    write_dataset(folder.pipeline, kept, partial / DATASET)
    text = json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n"
    atomic_write_text(partial / DATASET / ANNOTATION, text)
    for name in (PLAN, *folder.pipeline.files().values(), REJECTS, COLLECTED):
        if (folder.path / name).is_file():
            shutil.copyfile(folder.path / name, partial / name)
    collection = Collection.from_json(read_json_object(partial / COLLECTED))
    describe(folder, partial / DATASET, collection, report)
    if output.exists():
        output.rmdir()  # it is empty
    partial.rename(output)
