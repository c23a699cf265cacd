"""Writing the files that describe a dataset: its quality and its card.

Both are made from the build's folder: its plan, what `collect` counted, annotators' labels, and the dataset.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from halu_tasks import __version__
from halu_tasks.builders.annotation.annotation import AnnotationReport
from halu_tasks.builders.card.card import CardInfo, card
from halu_tasks.builders.quality.overlaps import Dropped
from halu_tasks.builders.quality.published import NAMED, at_hand
from halu_tasks.builders.quality.quality import Quality, quality
from halu_tasks.builders.run.collect import DUPLICATE, Collected
from halu_tasks.builders.run.dataset import items_of, rows_of
from halu_tasks.builders.run.folder import GATE, Folder
from halu_tasks.builders.run.gate import RESULT, GateResult
from halu_tasks.core.files import atomic_write_text
from halu_tasks.data.rows import read_json_object
from halu_tasks.tasks import source_named

COLLECTED = "collected.json"
"""File in a build's folder on what became of its documents (`Collected`)."""
QUALITY, ANNOTATION, CARD = "quality.json", "annotation.json", "README.md"
"""Files in a dataset's folder."""


def describe(
    folder: Folder,
    dataset: Path,
    collected: Collected,
    *,
    against: Sequence[Path] = (),
    annotation: AnnotationReport | None = None,
) -> Quality:
    """Write the quality and the card of a dataset into its folder.

    Args:
        folder: The build's folder.
        dataset: The dataset's folder, which may be a temporary one while it is built.
        collected: What became of the documents.
        against: Published files to compare with, in addition to cached ones.
        annotation: The labels of annotators, if there are any.

    Raises:
        DataError: The dataset or a published file is damaged.
    """
    pipeline = folder.pipeline
    benchmarks, missing = at_hand(against)
    report = quality(
        pipeline,
        items_of(dataset),
        benchmarks=benchmarks,
        not_compared=missing,
        dropped=dropped_of(collected),
        refused=collected.refused,
    )
    atomic_write_text(dataset / QUALITY, json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n")
    info = CardInfo(
        title=f"{folder.plan.source.name} as {source_named(pipeline.benchmark).title}",
        pipeline=pipeline,
        package=__version__,
        source=folder.plan.source,
        documents=folder.plan.documents,
        files=rows_of(dataset, items=report.items),
        items=report.items,
        # arguments of models only say where they are served
        models={key: value for key, value in folder.plan.models.items() if key != "model_args"},
        collected=collected,
        quality=report,
        annotation=annotation,
        gate=_gate(folder),
    )
    atomic_write_text(dataset / CARD, card(info))
    return report


def _gate(folder: Folder) -> GateResult | None:
    """Return the result of a build's gate; None if it has none."""
    path = folder.path / GATE / RESULT
    return GateResult.from_json(read_json_object(path)) if path.is_file() else None


def without_text(report: Quality) -> list[str]:
    """Return the files that a user asked to compare with, but that contain no texts."""
    return [file.file for file in report.benchmarks.compared if file.of == NAMED and not file.texts]


def dropped_of(collected: Collected) -> Dropped | None:
    """Return the duplicates that `collect` dropped; None if the threshold was not recorded."""
    return None if collected.near is None else Dropped(collected.near, collected.dropped.get(DUPLICATE, 0))
