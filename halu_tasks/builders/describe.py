"""What stands beside a dataset's files: its quality, its card, and what annotators said.

All is made again of the build's folder: its plan, what `collect` found, and the dataset.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halu_tasks import __version__
from halu_tasks.builders.card import CardInfo, card
from halu_tasks.builders.collect import DUPLICATE
from halu_tasks.builders.folder import ITEMS, Folder, items_of
from halu_tasks.builders.parts import read_json
from halu_tasks.builders.published import NAMED, at_hand
from halu_tasks.builders.quality import quality
from halu_tasks.files import atomic_write_text
from halu_tasks.sources import SOURCES

COLLECTED = "collected.json"
"""In a build's folder: what became of its documents, as `CardInfo.collected`, with `licences`, `licence` and `near`,
the percent from which on duplicates were dropped."""
QUALITY, ANNOTATION, CARD = "quality.json", "annotation.json", "README.md"
"""In a dataset's folder."""


def describe(
    folder: Folder, dataset: Path, collected: Mapping[str, Any], against: Sequence[Path] = ()
) -> dict[str, Any]:
    """Write the quality and the card of a dataset into its folder. Returns the quality.

    Args:
        folder: of the build.
        dataset: the folder of the dataset, which may stand elsewhere until it is done.
        collected: what became of the documents (see `COLLECTED`).
        against: published files to compare with, besides those in the cache.

    Raises:
        DataError: the dataset, or a published file, is damaged.
    """
    pipeline = folder.pipeline
    benchmarks, missing = at_hand(against)
    found = quality(
        pipeline, items_of(dataset), benchmarks=benchmarks, not_compared=missing, dropped=dropped_of(collected)
    )
    atomic_write_text(dataset / QUALITY, json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    annotation = dataset / ANNOTATION
    info = CardInfo(
        title=f"{folder.plan['source']['name']} as {SOURCES[pipeline.benchmark].title}",
        pipeline=pipeline,
        package=__version__,
        source=folder.plan["source"],
        documents=folder.plan["documents"],
        files=rows_of(dataset, items=found["items"]),
        items=found["items"],
        # arguments of models are a matter of where they are served
        models={key: value for key, value in folder.plan["models"].items() if key != "model_args"},
        collected=collected,
        licences=collected.get("licences", {}),
        licence=collected.get("licence"),
        quality=found,
        annotation=read_json(annotation) if annotation.is_file() else None,
    )
    atomic_write_text(dataset / CARD, card(info))
    return found


def without_text(found: Mapping[str, Any]) -> list[str]:
    """The files that a user named to compare a dataset with, and that hold nothing to compare with."""
    return [own["file"] for own in found["benchmarks"]["compared"] if own["of"] == NAMED and not own["texts"]]


def dropped_of(collected: Mapping[str, Any]) -> dict[str, Any] | None:
    """Which duplicates were dropped when a dataset was collected: `near`, the percent from which on, and `n`; None
    where that was not written down."""
    if "near" not in collected:
        return None
    return {"near": collected["near"], "n": collected.get("dropped", {}).get(DUPLICATE, 0)}


def rows_of(dataset: Path, items: int) -> dict[str, int]:
    """The rows of each file of a dataset, as its tasks read them; `items` are those of `items.jsonl`."""
    found = {ITEMS: items}
    for path in sorted(dataset.iterdir()):
        if path.suffix == ".jsonl" and path.name != ITEMS:
            with path.open("rb") as lines:
                found[path.name] = sum(1 for _ in lines)
        elif path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as cells:
                found[path.name] = sum(1 for _ in csv.reader(cells)) - 1
    return found
