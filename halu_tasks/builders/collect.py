"""Making the dataset of a build from its logs: in a fixed order, without duplicates, balanced on request.

The dataset depends only on the documents, the options and the models' replies: not on when they were asked, in how
many parts, or after how many interruptions.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from halu_tasks.builders.build import describe_failures
from halu_tasks.builders.card import Collection, describe
from halu_tasks.builders.drafting import PassCounts, add_counts, finished_log, logs_of, outcomes, pass_rates
from halu_tasks.builders.folder import COLLECTED, DATASET, ITEMS, LOGS, REJECTS, Folder, read_items, write_json
from halu_tasks.builders.pipeline import Draft, Pipeline, Row
from halu_tasks.builders.quality import DuplicateOf, duplicate_filter
from halu_tasks.core.errors import DataError, file_errors
from halu_tasks.core.files import atomic_files, json_line, row_writer
from halu_tasks.core.processes import guard

DUPLICATE, BALANCE = "duplicate", "balance"
"""Reasons besides the pipeline's checks for which a kept draft is not in the dataset."""


def collect(
    folder: Folder,
    *,
    balance: bool = False,
    near: float | None = None,
    embeddings: str | None = None,
    partial: bool = False,
    licence: str | None = None,
) -> Collection:
    """Write the dataset of a build into its folder, replacing an earlier one.

    Args:
        folder: The build.
        balance: Keep as many items of each kind as there are of the rarest.
        near: Similarity in percent from which on two items are duplicates; None for the builder's default.
        embeddings: A sentence-transformers model that measures similarity; None to compare spelling.
        partial: Collect even if documents are not finished.
        licence: The dataset's licence, for its card.

    Raises:
        DataError: Parts are not finished, or logs or documents are damaged.
    """
    path, pipeline = folder.path, folder.pipeline
    if not (path / LOGS).is_dir():
        raise DataError(f"{path}: contains no logs; its dataset was made from another one, such as by annotators")
    collection = Collection(near=near or pipeline.near, licence=licence)
    duplicate_of = duplicate_filter(collection.near, embeddings)
    with guard(path, wait=math.inf), file_errors(path):
        folder.check_documents()
        if not partial:
            _check_finished(folder)
        with atomic_files(path, COLLECTED) as work:
            with (work / REJECTS).open("w", encoding="utf-8", newline="\n") as rejects:
                items = _items(folder, collection, duplicate_of, rejects)
                if balance:
                    write_dataset(pipeline, items, work / "unbalanced")
                    items = _balanced(read_items(work / "unbalanced"), collection, rejects)
                collection.files = write_dataset(pipeline, items, work / DATASET)
            shutil.rmtree(work / "unbalanced", ignore_errors=True)
            collection.documents_not_done = folder.plan.documents - collection.documents
            collection.rejected = dict(Counter(collection.rejected).most_common())
            collection.licences = dict(sorted(collection.licences.items()))
            describe(folder, work / DATASET, collection)
            write_json(work / COLLECTED, collection)
    return collection


def check_items(folder: Folder, collection: Collection) -> None:
    """Raise DataError if a dataset is empty, with the most common reason."""
    if collection.items:
        return
    refused = {f"refused: {reason}": count for reason, count in collection.refused.items()}
    reasons = {**refused, **collection.rejected}
    most = max(reasons, key=lambda reason: reasons[reason], default="there was nothing to work on")
    raise DataError(f"{folder.path}: no item was kept, most often for: {most}; see {folder.path / REJECTS}")


def _check_finished(folder: Folder) -> None:
    """Raise DataError if documents of a build failed."""
    if unfinished := [number for number in folder.numbers if not finished_log(folder, number)]:
        logs = logs_of(folder, unfinished[0])
        failures = describe_failures(logs[-1] if logs else None)
        raise DataError(
            f"{len(unfinished)} of {len(folder.numbers)} parts have documents that failed (part "
            f"{unfinished[0] + 1}: {failures}); {folder.path} keeps what is finished; run the same halu-tasks build "
            f"command again to repeat the others, or leave them out with: halu-tasks build collect {folder.path} "
            "--partial"
        )


def _items(folder: Folder, collection: Collection, duplicate_of: DuplicateOf, rejects: TextIO) -> Iterator[Draft]:
    """Yield the items of a build without duplicates; count what becomes of its documents, and write what is dropped."""
    pipeline, counts = folder.pipeline, PassCounts()
    for outcome in outcomes(folder):
        collection.add(outcome)
        add_counts(counts, outcome.counts())
        if outcome.refused:
            _reject(rejects, outcome.document, "", *outcome.refused)
        for draft in outcome.drafts:
            for fault in draft.faults:
                _reject(rejects, draft.document, draft.id, *fault)
            if not draft.row:
                continue
            if earlier := duplicate_of(draft.id, pipeline.key(draft), pipeline.group(draft)):
                collection.dropped[DUPLICATE] += 1
                _reject(rejects, draft.document, draft.id, DUPLICATE, "duplicate of an earlier item", earlier)
                continue
            collection.items[draft.kind] += 1
            yield draft
    collection.rates = pass_rates(pipeline.checks, counts)


def _balanced(items: Iterable[Draft], collection: Collection, rejects: TextIO) -> Iterator[Draft]:
    """Yield as many items of each kind as there are of the rarest: the first ones, as their order is by hash."""
    least = min(collection.items.values(), default=0)
    taken: Counter[str] = Counter()
    for item in items:
        taken[item.kind] += 1
        if taken[item.kind] <= least:
            yield item
        else:
            collection.dropped[BALANCE] += 1
            _reject(rejects, item.document, item.id, BALANCE, "more of its kind than of others", item.kind)


def _reject(rejects: TextIO, document: str, draft: str, check: str, reason: str, detail: str) -> None:
    record = {"document": document, "draft": draft, "check": check, "reason": reason, "detail": detail}
    rejects.write(json_line(record) + "\n")


# --- the files ------------------------------------------------------------------------------------


def write_dataset(pipeline: Pipeline, items: Iterable[Draft], folder: Path) -> dict[str, int]:
    """Write `items.jsonl` and the files in the benchmark's format into a new folder, one item at a time.

    Returns:
        The number of rows of each file.

    Raises:
        DataError: A file cannot be written.
    """
    counts: Counter[str] = Counter()
    with file_errors(folder):
        folder.mkdir(parents=True)
        (folder / ITEMS).touch()
        with ExitStack() as stack:
            writers: dict[str, Callable[[Row], object]] = {}
            for item in items:
                known = {"id": item.id, "kind": item.kind, "document": item.document, "row": item.row}
                for name, row in ((ITEMS, known), *pipeline.lines(item)):
                    if name not in writers:
                        file = stack.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
                        writers[name] = row_writer(name, file, row)
                    writers[name](row)
                    counts[name] += 1
    return dict(counts)
