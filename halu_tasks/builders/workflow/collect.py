"""Making the dataset of a build from its logs."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halu_tasks.builders.card.describe import COLLECTED, describe, without_text
from halu_tasks.builders.quality.near_embeddings import near_filter
from halu_tasks.builders.run.adopt import adopt
from halu_tasks.builders.run.collect import Collected, Reject, Tally, balanced, items, rejects_to
from halu_tasks.builders.run.dataset import items_of, replace_folder, write_dataset
from halu_tasks.builders.run.folder import DATASET, LOGS, PLAN, REJECTS, Folder, guard
from halu_tasks.builders.run.inspect_logs import in_parts, logs_of
from halu_tasks.builders.run.outcomes import Rates
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text


@dataclass(frozen=True, kw_only=True)
class CollectOptions:
    """How a dataset is made from the logs of a build.

    Attributes:
        balance: keep as many items of each kind as there are of the rarest.
        near: similarity in percent from which on two items are duplicates; None for the builder's default.
        embeddings: a sentence-transformers model that measures similarity; None to compare spelling.
        partial: collect even if documents are not finished.
        licence: the dataset's licence, for its card.
        against: published files to compare with, in addition to cached ones.
    """

    balance: bool = False
    near: float | None = None
    embeddings: str | None = None
    partial: bool = False
    licence: str | None = None
    against: Sequence[Path] = ()


@dataclass(frozen=True, kw_only=True)
class CollectResult:
    """A dataset that was made from the logs of a build.

    Attributes:
        folder: The build.
        documents: The number of documents, refused ones included.
        drafts: The number of drafts.
        collected: What became of the documents.
        items: Items by kind, before balancing.
        files: The number of rows of each file of the dataset.
        cost: The total cost by measure.
        without_text: Published files that contain no texts to compare with, although the user named them.
    """

    folder: Folder
    documents: int
    drafts: int
    collected: Collected
    items: Mapping[str, int]
    files: Mapping[str, int]
    cost: Mapping[str, int]
    without_text: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        record = self.collected.to_json()
        return {
            "folder": str(self.folder.path),
            "documents": self.documents,
            "documents_not_done": record["documents_not_done"],
            "refused": record["refused"],
            "drafts": self.drafts,
            **{name: record[name] for name in ("rates", "rejected", "dropped")},
            "items": dict(self.items),
            "files": dict(self.files),
            "cost": dict(self.cost),
        }

    def check_items(self) -> None:
        """Raise DataError if the dataset is empty, with the most common reason."""
        if self.items:
            return
        refused = self.collected.refused
        reasons = {**{f"refused: {reason}": count for reason, count in refused.items()}, **self.collected.rejected}
        most = max(reasons, key=lambda reason: reasons[reason], default="there was nothing to work on")
        advice = [advice for reason in refused if (advice := self.folder.pipeline.advice(reason))]
        hint = "".join(f"; {each}" for each in advice)
        path = self.folder.path
        raise DataError(f"{path}: no item was kept, most often for: {most}{hint}; see {path / REJECTS}")


def open_build(path: Path, output: Path | None) -> Folder:
    """Open the folder of a build, or import logs that Inspect wrote into a new one.

    Args:
        path: the folder of a build, or the logs.
        output: the folder to create for logs; None for the folder of a build.

    Raises:
        UsageError: `output` is missing for logs, or given for the folder of a build.
        DataError: the folder or the logs are damaged.
    """
    if (path / PLAN).is_file():
        if output:
            raise UsageError(f"{path}: is the folder of a build, where its dataset is written; leave out -o")
        return Folder(path)
    if not output:
        raise UsageError(f"{path}: contains no build; to collect logs written by Inspect, name a folder with -o")
    return Folder(adopt(path, output).path)


def collect_dataset(folder: Folder, options: CollectOptions) -> CollectResult:
    """Write the dataset of a build into its folder, replacing an earlier one.

    Args:
        folder: the build.
        options: how the dataset is made.

    Raises:
        DataError: parts are not finished, or logs or documents are damaged.
    """
    path = folder.path
    if not (path / LOGS).is_dir():
        raise DataError(f"{path}: contains no logs; its dataset was made from another one, such as by annotators")
    with guard(path, wait=True):
        try:
            return _collect(folder, options)
        except OSError as error:
            raise DataError(f"{error.filename or path}: {error.strerror or error}") from None
        except sqlite3.Error as error:
            raise DataError(
                f"{tempfile.gettempdir()}: {error}; choose another folder for temporary files: TMPDIR=PATH"
            ) from None


def _collect(folder: Folder, options: CollectOptions) -> CollectResult:
    path, pipeline = folder.path, folder.pipeline
    near = options.near or pipeline.near
    parts = _parts(folder, partial=options.partial)
    tally = Tally(Rates(pipeline.checks))
    dataset = path / (DATASET + ".part")
    shutil.rmtree(dataset, ignore_errors=True)
    reject, close = rejects_to(path / (REJECTS + ".part"))
    try:
        with near_filter(near, options.embeddings) as duplicates:
            kept = items(pipeline, in_parts(folder, parts), tally, reject, duplicates.add)
            files = write_dataset(pipeline, kept, dataset)
        if options.balance:
            files = _balance(folder, dataset, tally, reject)
    finally:
        close()
    collected = tally.collected(folder.documents_planned, options.licence, near)
    quality = describe(folder, dataset, collected, against=options.against)
    atomic_write_text(path / COLLECTED, json.dumps(collected.to_json(), ensure_ascii=False, indent=1) + "\n")
    (path / (REJECTS + ".part")).replace(path / REJECTS)
    replace_folder(dataset, path / DATASET)
    return CollectResult(
        folder=folder,
        documents=tally.documents,
        drafts=tally.drafts,
        collected=collected,
        items=dict(Counter(tally.kinds)),
        files=files,
        cost=dict(tally.cost),
        without_text=without_text(quality),
    )


def _parts(folder: Folder, *, partial: bool) -> list[int]:
    """Return the parts to collect.

    Raises:
        DataError: a part is not finished and `partial` is not set, or the documents are damaged.
    """
    if folder.has_documents:
        folder.check_documents()
    unfinished = []
    for number in folder.numbers:
        logs = logs_of(folder, number)
        if not logs or not logs[-1].finished:
            unfinished.append(f"part {number + 1} {f'ended as {logs[-1].state}' if logs else 'was not started'}")
    if unfinished and not partial:
        raise DataError(
            f"{folder.path}: {len(unfinished)} of {folder.parts} parts are not finished ({unfinished[0]}); run "
            "halu-tasks build again, or collect the others with --partial"
        )
    return folder.numbers


def _balance(folder: Folder, dataset: Path, tally: Tally, reject: Reject) -> dict[str, int]:
    """Write the dataset again, with as many items of each kind as there are of the rarest.

    Returns:
        The number of rows of each file.
    """
    limits = dict.fromkeys(tally.kinds, min(tally.kinds.values(), default=0))
    balanced_dataset = dataset.with_name(dataset.name + ".even")
    shutil.rmtree(balanced_dataset, ignore_errors=True)
    kept = balanced(items_of(dataset), limits, tally, reject)
    files = write_dataset(folder.pipeline, kept, balanced_dataset)
    replace_folder(balanced_dataset, dataset)
    return files
