"""Exporting the items of a dataset to annotators, and importing their labels."""

from __future__ import annotations

import json
import shutil
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from halu_tasks.builders.annotation.annotation import Annotation, AnnotationReport
from halu_tasks.builders.annotation.doccano import (
    NO_LABEL,
    REPEATED,
    Annotator,
    fingerprint,
    label_types,
    read_annotators,
    shown_text,
    tasks,
)
from halu_tasks.builders.card.describe import ANNOTATION, COLLECTED, describe
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.builders.run.collect import Collected
from halu_tasks.builders.run.dataset import write_dataset
from halu_tasks.builders.run.folder import DATASET, PLAN, REJECTS, Folder
from halu_tasks.core.errors import UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.json_lines import json_line
from halu_tasks.data.rows import read_json_object

GUIDELINES = Path(__file__).parent.parent / "guidelines"


def export_items(folder: Folder, output: Path, sample: int | None, seed: int) -> int:
    """Write items as doccano imports them, with the labels and the guidelines in files next to them.

    Args:
        folder: the build.
        output: the file of the items.
        sample: number of items to draw; None for all.
        seed: seed of the sample and of the order.

    Returns:
        The number of items.

    Raises:
        UsageError: there are no guidelines for annotators of this builder.
        DataError: there is no dataset, or a file cannot be written.
    """
    pipeline = folder.pipeline
    rows = tasks(pipeline, folder.items(), sample, seed)
    files = {
        output: "".join(json_line(row) + "\n" for row in rows),
        output.with_suffix(".labels.json"): json.dumps(label_types(pipeline.labels), indent=2) + "\n",
        output.with_suffix(".guidelines.md"): guidelines(pipeline),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        atomic_write_text(path, text, "tasks")
    return len(rows)


def guidelines(pipeline: Pipeline) -> str:
    """Return the guidelines for annotators of a builder's items.

    Raises:
        UsageError: there are none.
    """
    path = GUIDELINES / f"{pipeline.name}.md"
    if not path.is_file():
        raise UsageError(f"there are no guidelines for annotators of {pipeline.name}; write them to {path}")
    return path.read_text(encoding="utf-8")


@dataclass(frozen=True)
class ImportedLabels:
    """The labels of a dataset's items.

    Attributes:
        report: agreement and counts, see `Annotation.report`.
        problems: for each annotator whose file has rows without a label, or no rows, what is wrong with it.
    """

    report: AnnotationReport
    problems: Sequence[str]


def import_labels(
    folder: Folder, annotations: Sequence[Path], rule: str, least: int, output: Path | None
) -> ImportedLabels:
    """Combine annotators' labels and, if a folder is named, write the items that they keep.

    Args:
        folder: the build that the items were exported from.
        annotations: doccano's exports, one file for each annotator, or an archive of all.
        rule: how labels are combined, `majority` or `two`.
        least: minimum number of labels of an item.
        output: a new folder like that of a build; None to write nothing.

    Raises:
        UsageError: `output` exists, or fewer than two annotators have labels.
        DataError: an annotation file or the dataset is damaged.
    """
    if output and output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UsageError(f"{output} exists; choose a new folder, since nothing is overwritten")
    pipeline = folder.pipeline
    clusters, fingerprints = {}, {}
    for item in folder.items():
        clusters[item.id] = item.document
        fingerprints[item.id] = fingerprint(shown_text(pipeline, item))
    annotators = read_annotators(annotations, fingerprints, pipeline.labels)
    annotation = Annotation(annotators, clusters, rule, least)
    if output:
        report = _write_kept(folder, annotation, output)
    else:
        # reading the kept items counts them
        deque(annotation.kept(pipeline, folder.items()), maxlen=0)
        report = annotation.report()
    return ImportedLabels(report, unusable_labels(annotators))


def unusable_labels(annotators: Sequence[Annotator]) -> list[str]:
    """Return what is wrong with the files of annotators that have rows without a label, or no rows."""
    problems = []
    for annotator in annotators:
        # an item that is not labelled yet, or was exported twice, is no problem
        unusable = {reason: count for reason, count in annotator.left_out.items() if reason not in (NO_LABEL, REPEATED)}
        if unusable or not annotator.rows:
            rows = f"{sum(unusable.values())} of {annotator.rows} rows give no label ({format_counts(unusable)})"
            problems.append(f"annotator {annotator.name}: {rows if unusable else 'no rows'}")
    return problems


def format_counts(counts: Mapping[str, int]) -> str:
    """Format counts by name on one line."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"


def _write_kept(folder: Folder, annotation: Annotation, output: Path) -> AnnotationReport:
    """Write a folder like that of the build, with the items that annotators keep; return the report."""
    partial = output.with_name(output.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    write_dataset(folder.pipeline, annotation.kept(folder.pipeline, folder.items()), partial / DATASET)
    report = annotation.report()
    atomic_write_text(partial / DATASET / ANNOTATION, json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n")
    for name in (PLAN, *folder.pipeline.files().values(), REJECTS, COLLECTED):
        if (folder.path / name).is_file():
            shutil.copyfile(folder.path / name, partial / name)
    if (partial / COLLECTED).is_file():
        collected = Collected.from_json(read_json_object(partial / COLLECTED))
        describe(folder, partial / DATASET, collected, annotation=report)
    if output.exists():
        output.rmdir()  # it is empty
    partial.rename(output)
    return report
