"""Exporting parts of drafts to annotators, with and without verification, and reading their labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halu_tasks.builders.annotation.doccano import label_types, read_annotators
from halu_tasks.builders.annotation.verification import ARMS, PartSample, Sampled, VerificationReport
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.builders.run.dataset import items_of
from halu_tasks.builders.run.folder import DATASET, LOGS, Folder
from halu_tasks.builders.run.inspect_logs import in_parts
from halu_tasks.builders.workflow.annotate import GUIDELINES, unusable_labels
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.json_lines import json_line
from halu_tasks.data.rows import read_json_object

KEY = "sample.json"
"""File next to the exported ones, which says what belongs to which sample; annotators must not see it."""


def export_parts(folder: Folder, output: Path, size: int, seed: int) -> Mapping[str, Mapping[str, int]]:
    """Write a sample of each part of the drafts as doccano imports it, with labels, guidelines and the key.

    Args:
        folder: The build, whose dataset has been collected.
        output: A new folder.
        size: The number of parts of each kind, from all drafts and from the dataset.
        seed: The seed of the samples and of the order.

    Returns:
        For each kind of part, the number of those in each sample.

    Raises:
        UsageError: The builder's drafts have no parts that are judged separately, or `output` exists.
        DataError: There is no dataset, or the logs are damaged or older than this.
    """
    pipeline = folder.pipeline
    if not pipeline.parts:
        raise UsageError(f"drafts of {pipeline.name} have no parts that annotators judge separately")
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UsageError(f"{output} exists; choose a new folder, since nothing is overwritten")
    if not (folder.path / LOGS).is_dir():
        raise DataError(f"{folder.path}: contains no logs, in which the drafts are")
    sample = PartSample(pipeline.parts, size, seed)
    kept = {item.id for item in items_of(folder.path / DATASET)}
    drafts = 0
    for outcome in in_parts(folder, folder.numbers):
        for draft in outcome.drafts:
            drafts += 1
            for part in pipeline.parts_of(draft, outcome.document):
                sample.add(part, in_dataset=draft.id in kept)
    if drafts and not any(sample.population(kind)[ARMS[0]] for kind in pipeline.parts):
        raise DataError(
            f"{folder.path}: none of {drafts:,} drafts has parts to judge; builds of older versions do not keep them"
        )
    return _write(pipeline, sample, output)


def _write(pipeline: Pipeline, sample: PartSample, output: Path) -> dict[str, dict[str, int]]:
    """Write the files of a sample; return the number of parts by kind and arm."""
    key: dict[str, Any] = {"builder": pipeline.name, "size": sample.most, "seed": sample.seed, "kinds": {}}
    counts = {}
    output.mkdir(parents=True, exist_ok=True)
    for kind in pipeline.parts:
        sampled = sample.sampled(kind)
        counts[kind] = {arm: sum(arm in part.arms for part in sampled.values()) for arm in ARMS}
        parts = {id: part._asdict() for id, part in sampled.items()}
        key["kinds"][kind] = {"of": sample.population(kind), "parts": parts}
        rows = "".join(json_line(row) + "\n" for row in sample.tasks(kind))
        atomic_write_text(output / f"{kind}.jsonl", rows, "tasks")
        labels = json.dumps(label_types(pipeline.labels), indent=2) + "\n"
        atomic_write_text(output / f"{kind}.labels.json", labels, "tasks")
        guidelines = (GUIDELINES / f"{pipeline.name}_{kind}.md").read_text(encoding="utf-8")
        atomic_write_text(output / f"{kind}.guidelines.md", guidelines, "tasks")
    atomic_write_text(output / KEY, json.dumps(key, ensure_ascii=False, indent=1) + "\n", "tasks")
    return counts


def import_parts(
    folder: Path, annotations: Mapping[str, Sequence[Path]], labels: Sequence[str] = Pipeline.labels
) -> tuple[VerificationReport, list[str]]:
    """Read annotators' labels of exported parts.

    Args:
        folder: The folder that `export_parts` wrote.
        annotations: For each kind of part, doccano's exports, one file for each annotator, or an archive of all.
        labels: The labels annotators could choose from, the one of a right part first.

    Returns:
        The report, and what is wrong with files that have rows without a label.

    Raises:
        UsageError: A kind is unknown, or fewer than two annotators have labels.
        DataError: A file is damaged.
    """
    sampled = _read_key(folder / KEY)
    if unknown := sorted(annotations.keys() - sampled.keys()):
        raise UsageError(f"{folder}: has no parts {unknown[0]!r}; choose from {', '.join(sampled)}")
    annotators, problems = {}, []
    for kind, paths in annotations.items():
        fingerprints = {id: part.fingerprint for id, part in sampled[kind].items()}
        annotators[kind] = read_annotators(paths, fingerprints, labels)
        problems += [f"{kind}: {problem}" for problem in unusable_labels(annotators[kind])]
    return VerificationReport.of(sampled, annotators, labels[0]), problems


def _read_key(path: Path) -> dict[str, dict[str, Sampled]]:
    """Read the sampled parts by kind and id."""
    content = read_json_object(path)
    try:
        return {
            kind: {
                id: Sampled(part["document"], tuple(part["arms"]), part["fingerprint"])
                for id, part in record["parts"].items()
            }
            for kind, record in content["kinds"].items()
        }
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{path}: is damaged; export the parts again") from None
