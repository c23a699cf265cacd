"""What a verifier is worth (C-FAITH, Table 2): people judge parts of drafts as generated and as verified.

They judge a sample of each part of the drafts (of HaluAgent: answers, hallucinated answers, labels), once out of all
drafts and once out of those in the dataset, and do not see which part passed the verifier.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.builders import annotation
from halu_tasks.builders.annotate import check_new, row_of, shown_text, write_tasks
from halu_tasks.builders.annotation import Annotator, LabelAgreement, LabelShare
from halu_tasks.builders.folder import LOGS, Folder
from halu_tasks.builders.leaks import hash_of
from halu_tasks.builders.logs import outcomes
from halu_tasks.builders.pipeline import DraftPart, Pipeline
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.data.rows import read_json_object

KEY = "sample.json"
"""File next to exported parts, which says what belongs to which sample; annotators must not see it."""
GENERATED, VERIFIED = ARMS = "generated", "verified"
"""Samples of parts: of all drafts, and of those in the dataset."""


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
        DataError: There is no dataset, or the logs are damaged.
    """
    pipeline = folder.pipeline
    if not pipeline.parts:
        raise UsageError(f"drafts of {pipeline.name} have no parts that annotators judge separately")
    check_new(output)
    if not (folder.path / LOGS).is_dir():
        raise DataError(f"{folder.path}: contains no logs, in which the drafts are")
    in_dataset = {item.id for item in folder.items()}
    # the same order in both samples, so that a part of both is judged once
    samples: dict[tuple[str, str], list[tuple[int, str, DraftPart]]] = {}
    for outcome in outcomes(folder):
        for draft in outcome.drafts:
            for part in pipeline.parts_of(draft):
                entry = (hash_of(seed, part.kind, part.id), part.id, part)
                for arm in ARMS if part.verified and draft.id in in_dataset else (GENERATED,):
                    sample = samples.setdefault((part.kind, arm), [])
                    sample.append(entry)
                    if len(sample) > 2 * size + 1000:
                        sample[:] = nsmallest(size, sample)
    if not samples:
        raise DataError(f"{folder.path}: no draft has parts to judge")
    output.mkdir(parents=True, exist_ok=True)
    counts: dict[str, dict[str, int]] = {}
    key: dict[str, Any] = {"builder": pipeline.name, "size": size, "seed": seed, "kinds": {}}
    for kind in pipeline.parts:
        arms = {arm: nsmallest(size, samples.get((kind, arm), [])) for arm in ARMS}
        counts[kind] = {arm: len(sample) for arm, sample in arms.items()}
        parts = [part for _, _, part in sorted({entry[:2]: entry for arm in ARMS for entry in arms[arm]}.values())]
        drawn = {arm: {id for _, id, _ in sample} for arm, sample in arms.items()}
        key["kinds"][kind] = {
            part.id: {
                "document": part.document,
                "arms": [arm for arm in ARMS if part.id in drawn[arm]],
                "fingerprint": annotation.fingerprint(shown_text(part.shown)),
            }
            for part in parts
        }
        rows = [row_of(part.id, part.shown) for part in parts]
        write_tasks(output / f"{kind}.jsonl", rows, pipeline, f"{pipeline.name}_{kind}")
    atomic_write_text(output / KEY, json.dumps(key, ensure_ascii=False, indent=1) + "\n", "tasks")
    return counts


class ArmResult(NamedTuple):
    """What annotators found in a sample of parts of one kind.

    Attributes:
        items: The number of parts in the sample.
        labelled: The number of those with labels of two annotators or more.
        right: The number and share of those that the majority finds right.
        agreement: The agreement of annotators.
    """

    items: int
    labelled: int
    right: LabelShare | None
    agreement: Mapping[str, LabelAgreement]


@dataclass(frozen=True)
class VerificationReport:
    """What a verifier is worth, as in Table 2 of the paper.

    Attributes:
        kinds: For each kind of part, the result of each arm.
        problems: What is wrong with annotators' files, by their names.
    """

    kinds: Mapping[str, Mapping[str, ArmResult]]
    problems: Mapping[str, str]


def import_parts(folder: Path, annotations: Mapping[str, Sequence[Path]]) -> VerificationReport:
    """Read annotators' labels of exported parts, and combine them by majority.

    Args:
        folder: The folder that `export_parts` wrote.
        annotations: For each kind of part, doccano's exports, one file for each annotator, or an archive of all.

    Raises:
        UsageError: A kind is unknown, or fewer than two annotators have labels.
        DataError: A file is damaged.
    """
    path = folder / KEY
    exported = read_json_object(path).get("kinds", {})
    if unknown := sorted(annotations.keys() - exported.keys()):
        raise UsageError(f"{folder}: has no parts {unknown[0]!r}; choose {', '.join(exported)}")
    kinds: dict[str, dict[str, ArmResult]] = {}
    problems: dict[str, str] = {}
    for kind, paths in annotations.items():
        parts = exported[kind]
        try:
            fingerprints = {id: part["fingerprint"] for id, part in parts.items()}
            clusters = {
                arm: {id: part["document"] for id, part in parts.items() if arm in part["arms"]} for arm in ARMS
            }
        except (AttributeError, KeyError, TypeError):
            raise DataError(f"{path}: is damaged; export the parts again") from None
        annotators = annotation.read_annotators(paths, fingerprints, Pipeline.labels)
        problems |= {each.name: each.problem for each in annotators if each.problem}
        kinds[kind] = {arm: _arm_result(annotators, clusters[arm]) for arm in ARMS}
    return VerificationReport(kinds, problems)


def _arm_result(annotators: Sequence[Annotator], clusters: Mapping[str, str]) -> ArmResult:
    """Return what annotators found in one arm."""
    given = annotation.labels_by_item(annotators, list(clusters))
    labelled = sum(len(labels) >= annotation.LEAST for labels in given.values())
    right = annotation.label_shares(annotators, clusters).get(Pipeline.labels[0])
    return ArmResult(len(clusters), labelled, right, annotation.agreement_of(annotators, clusters))
