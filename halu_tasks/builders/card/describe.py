"""Writing the files that describe a dataset: its quality and its card.

Both are made from the build's folder: its plan, what `collect` counted, annotators' labels, and the dataset.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halu_tasks import __version__
from halu_tasks.builders.card.card import CardInfo, card
from halu_tasks.builders.quality.published import NAMED, at_hand
from halu_tasks.builders.quality.quality import quality
from halu_tasks.builders.run.collect import DUPLICATE
from halu_tasks.builders.run.folder import ITEMS, Folder, items_of
from halu_tasks.builders.run.parts import read_json
from halu_tasks.data.sources import SOURCES
from halu_tasks.files import atomic_write_text

COLLECTED = "collected.json"
"""File in a build's folder on what became of its documents: `CardInfo.collected`, with `licences`, `licence` and
`near`, the similarity in percent from which on duplicates were dropped."""
QUALITY, ANNOTATION, CARD = "quality.json", "annotation.json", "README.md"
"""Files in a dataset's folder."""


def describe(
    folder: Folder, dataset: Path, collected: Mapping[str, Any], against: Sequence[Path] = ()
) -> dict[str, Any]:
    """Write the quality and the card of a dataset into its folder.

    Args:
        folder: The build's folder.
        dataset: The dataset's folder, which may be a temporary one while it is built.
        collected: What became of the documents (see `COLLECTED`).
        against: Published files to compare with, in addition to cached ones.

    Returns:
        The quality.

    Raises:
        DataError: The dataset or a published file is damaged.
    """
    pipeline = folder.pipeline
    benchmarks, missing = at_hand(against)
    report = quality(
        pipeline, items_of(dataset), benchmarks=benchmarks, not_compared=missing, dropped=dropped_of(collected)
    )
    atomic_write_text(dataset / QUALITY, json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    annotation = dataset / ANNOTATION
    info = CardInfo(
        title=f"{folder.plan['source']['name']} as {SOURCES[pipeline.benchmark].title}",
        pipeline=pipeline,
        package=__version__,
        source=folder.plan["source"],
        documents=folder.plan["documents"],
        files=rows_of(dataset, items=report["items"]),
        items=report["items"],
        # arguments of models only say where they are served
        models={key: value for key, value in folder.plan["models"].items() if key != "model_args"},
        collected=collected,
        licences=collected.get("licences", {}),
        licence=collected.get("licence"),
        quality=report,
        annotation=read_json(annotation) if annotation.is_file() else None,
    )
    atomic_write_text(dataset / CARD, card(info))
    return report


def without_text(report: Mapping[str, Any]) -> list[str]:
    """Return the files that a user asked to compare with, but that contain no texts."""
    compared = report["benchmarks"]["compared"]
    return [file["file"] for file in compared if file["of"] == NAMED and not file["texts"]]


def dropped_of(collected: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the similarity threshold (`near`, in percent) and number (`n`) of duplicates dropped by `collect`.

    None if the threshold was not recorded.
    """
    if "near" not in collected:
        return None
    return {"near": collected["near"], "n": collected.get("dropped", {}).get(DUPLICATE, 0)}


def rows_of(dataset: Path, items: int) -> dict[str, int]:
    """Count the rows of each file of a dataset; `items` is the number of rows of `items.jsonl`."""
    rows = {ITEMS: items}
    for path in sorted(dataset.iterdir()):
        if path.suffix == ".jsonl" and path.name != ITEMS:
            with path.open("rb") as lines:
                rows[path.name] = sum(1 for _ in lines)
        elif path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as cells:
                rows[path.name] = sum(1 for _ in csv.reader(cells)) - 1
    return rows
