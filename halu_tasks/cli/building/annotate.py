"""`halu-tasks annotate`: a built dataset to annotators in doccano, and their labels back."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halu_tasks.builders.annotation.annotation import Annotation
from halu_tasks.builders.annotation.doccano import (
    NO_LABEL,
    REPEATED,
    fingerprint,
    label_types,
    read_annotators,
    shown_text,
    tasks,
)
from halu_tasks.builders.card.describe import ANNOTATION, COLLECTED, describe
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.builders.run.folder import DATASET, PLAN, PROMPTS, REJECTS, Folder, write_dataset
from halu_tasks.builders.run.parts import read_json
from halu_tasks.cli import DONE_IN_PART
from halu_tasks.cli.tables import figure, table
from halu_tasks.errors import UsageError
from halu_tasks.files import atomic_write_text

GUIDELINES = Path(__file__).parent.parent.parent / "builders" / "guidelines"


def run(arguments: argparse.Namespace) -> int:
    return {"export": export, "import": import_}[arguments.action](arguments)


def export(arguments: argparse.Namespace) -> int:
    """Write the rows, and beside them the labels and the guidelines."""
    folder, output = Folder(Path(arguments.folder)), Path(arguments.output)
    pipeline = folder.pipeline
    rows = tasks(pipeline, folder.items(), arguments.sample, arguments.seed)
    texts = {
        output: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        output.with_suffix(".labels.json"): json.dumps(label_types(pipeline.labels), indent=2) + "\n",
        output.with_suffix(".guidelines.md"): guidelines(pipeline),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        atomic_write_text(path, text, "tasks")
    print(f"{len(rows):,} items in {output}; labels and guidelines beside it")
    return 0


def guidelines(pipeline: Pipeline) -> str:
    """What annotators are told about a pipeline's items. Raises UsageError where there is nothing."""
    path = GUIDELINES / f"{pipeline.name}.md"
    if not path.is_file():
        raise UsageError(f"there are no guidelines for annotators of {pipeline.name}; write them to {path}")
    return path.read_text(encoding="utf-8")


def import_(arguments: argparse.Namespace) -> int:
    """Tell what annotators say, and write what they keep where a folder is named. Returns the exit status."""
    folder, output = Folder(Path(arguments.folder)), Path(arguments.output) if arguments.output else None
    if output and output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UsageError(f"{output} exists; name a new folder, as nothing is overwritten")
    pipeline = folder.pipeline
    clusters, fingerprints = {}, {}
    for item in folder.items():
        clusters[item.id] = item.document
        fingerprints[item.id] = fingerprint(shown_text(pipeline, item))
    annotators = read_annotators([Path(path) for path in arguments.annotations], fingerprints, pipeline.labels)
    annotation = Annotation(annotators, clusters, arguments.rule, arguments.least)
    if output:
        report = _written(folder, annotation, output)
    else:
        deque(annotation.kept(pipeline, folder.items()), maxlen=0)
        report = annotation.report()
    if arguments.json:
        print(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        show(report, output)
    status = 0
    for own in annotators:
        # an item that was not labelled yet, or was exported twice, is no fault
        unread = {reason: number for reason, number in own.left_out.items() if reason not in (NO_LABEL, REPEATED)}
        if unread or not own.rows:
            why = (
                f"{sum(unread.values())} of {own.rows} rows give no label ({_counts(unread)})" if unread else "no rows"
            )
            print(f"halu-tasks: annotator {own.name}: {why}", file=sys.stderr)
            status = DONE_IN_PART
    return status


def _written(folder: Folder, annotation: Annotation, output: Path) -> dict[str, Any]:
    """Write a folder like that of the build, with the items that annotators keep; its report."""
    made = output.with_name(output.name + ".part")
    shutil.rmtree(made, ignore_errors=True)
    write_dataset(folder.pipeline, annotation.kept(folder.pipeline, folder.items()), made / DATASET)
    report = annotation.report()
    atomic_write_text(made / DATASET / ANNOTATION, json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    for name in (PLAN, PROMPTS, REJECTS, COLLECTED):
        if (folder.path / name).is_file():
            shutil.copyfile(folder.path / name, made / name)
    if (made / COLLECTED).is_file():
        describe(folder, made / DATASET, read_json(made / COLLECTED))
    if output.exists():
        output.rmdir()  # an empty one
    made.rename(output)
    return report


def show(report: Mapping[str, Any], output: Path | None) -> None:
    """Print what annotators say."""
    print(f"rule: {report['rule']} of {report['least']} labels or more\n")
    rows = [
        [own["name"], f"{own['labels']:,}", f"{own['rows']:,}", _counts(own["left_out"]), f"{own['comments']:,}"]
        for own in report["annotators"]
    ]
    print(table(["annotator", "labels", "rows", "rows that give none", "comments"], rows, right=(1, 2, 4)) + "\n")
    agreement = report["agreement"]
    size, number = agreement["annotators_per_item"], f"{agreement['items']:,}"
    rows = [
        [f"{name} ({size} labels an item)", number, figure(agreement.get(key))]
        for name, key in (("pairwise agreement", "pairwise_agreement"), ("Fleiss' kappa", "fleiss_kappa"))
    ]
    for pair in agreement["pairs"]:
        names = ", ".join(pair["annotators"])
        rows.append([f"agreement ({names})", f"{pair['items']:,}", figure(pair["agreement"])])
        rows.append([f"Cohen's kappa ({names})", f"{pair['items']:,}", figure(pair["cohen_kappa"])])
    print(table(["agreement", "items", "value, 95% interval"], rows, right=(1,)))
    if agreement.get("with_other_numbers"):
        print(f"left out of the first two, having more or fewer labels: {agreement['with_other_numbers']:,} items")
    rows = [[name, f"{own['n']:,}", figure(own["share"])] for name, own in report["labels"].items()]
    print("\n" + table(["label of an item", "items", "share, 95% interval"], rows, right=(1,)) + "\n")
    print(f"kept {report['kept']:,} of {report['items']:,} items, {report['relabelled']:,} of them changed")
    dropped = [
        [reason, kind, f"{number:,}"] for reason, kinds in report["dropped"].items() for kind, number in kinds.items()
    ]
    if dropped:
        print("\n" + table(["dropped for", "kind", "items"], dropped, right=(2,)))
    print(f"\nwritten to {output}" if output else "\nnothing was written; name a folder with -o to keep the rest")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.items()) or "none"
