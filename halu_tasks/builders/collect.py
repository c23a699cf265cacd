"""Making the dataset of a build from its logs: in a fixed order, without duplicates, balanced on request.

The dataset depends only on the documents, the options and the models' replies: not on when they were asked, in how
many parts, or after how many interruptions.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from halu_tasks.builders.card import describe
from halu_tasks.builders.duplicates import DuplicateFilter, duplicate_filter
from halu_tasks.builders.folder import COLLECTED, DATASET, ITEMS, LOGS, REJECTS, Folder, guard, read_items
from halu_tasks.builders.logs import logs_of, outcomes
from halu_tasks.builders.pipeline import Draft, Pipeline, Row
from halu_tasks.builders.quality import Quality, measure_quality
from halu_tasks.builders.records import BALANCE, DUPLICATE, Collection, DocumentOutcome, Rates, to_json
from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.json_lines import json_line
from halu_tasks.data.rows import read_json_object
from halu_tasks.scorers.methods import COUNTED


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
    path = folder.path
    if not (path / LOGS).is_dir():
        raise DataError(f"{path}: contains no logs; its dataset was made from another one, such as by annotators")
    similarity = near or folder.pipeline.near
    new, rejects = path / f"{DATASET}.part", path / f"{REJECTS}.part"
    with guard(path, wait=True):
        _check_finished(folder, partial=partial)
        try:
            with rejects.open("w", encoding="utf-8", newline="\n") as file:
                collector = _Collector(folder.pipeline, file)
                items = collector.items(outcomes(folder), duplicate_filter(similarity, embeddings))
                files = write_dataset(folder.pipeline, items, new)
                if balance:
                    files = write_dataset(
                        folder.pipeline, collector.balanced(read_items(new)), path / f"{DATASET}.even"
                    )
                    _replace_folder(path / f"{DATASET}.even", new)
            collection = collector.collection(folder.plan.documents, files, licence, similarity)
            describe(folder, new, collection)
            text = json.dumps(to_json(collection), ensure_ascii=False, indent=1)
            atomic_write_text(path / COLLECTED, text + "\n")
            rejects.replace(path / REJECTS)
            _replace_folder(new, path / DATASET)
        except OSError as error:
            raise DataError(f"{error.filename or path}: {error.strerror or error}") from None
    return collection


def check_items(folder: Folder, collection: Collection) -> None:
    """Raise DataError if a dataset is empty, with the most common reason."""
    if collection.items:
        return
    refused = {f"refused: {reason}": count for reason, count in collection.refused.items()}
    reasons = {**refused, **collection.rejected}
    most = max(reasons, key=lambda reason: reasons[reason], default="there was nothing to work on")
    hint = "".join(f"; {advice}" for reason in collection.refused if (advice := folder.pipeline.advice(reason)))
    raise DataError(f"{folder.path}: no item was kept, most often for: {most}{hint}; see {folder.path / REJECTS}")


def _check_finished(folder: Folder, *, partial: bool) -> None:
    """Raise DataError if the documents are damaged, or if a part is not finished and `partial` is not set."""
    folder.check_documents()
    unfinished = []
    for number in folder.numbers:
        logs = logs_of(folder, number)
        if not logs or not logs[-1].finished:
            unfinished.append(f"part {number + 1} {f'ended as {logs[-1].state}' if logs else 'was not started'}")
    if unfinished and not partial:
        raise DataError(
            f"{folder.path}: {len(unfinished)} of {len(folder.plan.parts)} parts are not finished ({unfinished[0]}); "
            "run halu-tasks build again, or collect the others with --partial"
        )


class _Collector:
    """Selects the items of outcomes, counts what becomes of documents and drafts, and writes what is dropped."""

    def __init__(self, pipeline: Pipeline, rejects: TextIO) -> None:
        self._pipeline, self._rejects = pipeline, rejects
        self._rates = Rates(pipeline.checks)
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._documents = 0

    def _reject(self, document: str, draft: str, check: str, reason: str, detail: str) -> None:
        record = {"document": document, "draft": draft, "check": check, "reason": reason, "detail": detail}
        self._rejects.write(json_line(record) + "\n")

    def _add(self, outcome: DocumentOutcome) -> None:
        """Count an outcome, and write what was rejected of it."""
        self._documents += 1
        self._rates.add(outcome.counts())
        self._counts["licences"][outcome.licence] += 1
        self._counts["cost"].update({name: int((outcome.cost or {}).get(name, 0)) for name in COUNTED})
        self._counts["drafts"]["all"] += len(outcome.drafts)
        if outcome.refused:
            self._counts["refused"][outcome.refused.reason] += 1
            self._reject(outcome.document, "", *outcome.refused)
        for draft in outcome.drafts:
            self._counts["rejected"].update({f"{check}: {reason}" for check, reason, _ in draft.faults})

    def items(self, outcomes: Iterable[DocumentOutcome], duplicate: DuplicateFilter) -> Iterator[Draft]:
        """Yield the items of outcomes without duplicates."""
        pipeline = self._pipeline
        for outcome in outcomes:
            self._add(outcome)
            for draft in outcome.drafts:
                for fault in draft.faults:
                    self._reject(draft.document, draft.id, *fault)
                if not draft.row:
                    continue
                if earlier := duplicate.add(draft.id, pipeline.key(draft), pipeline.group(draft)):
                    self._counts["dropped"][DUPLICATE] += 1
                    self._reject(draft.document, draft.id, DUPLICATE, "duplicate of an earlier item", earlier)
                    continue
                self._counts["items"][draft.kind] += 1
                yield draft

    def balanced(self, items: Iterable[Draft]) -> Iterator[Draft]:
        """Yield as many items of each kind as there are of the rarest: the first ones, as their order is by hash."""
        least = min(self._counts["items"].values(), default=0)
        taken: Counter[str] = Counter()
        for item in items:
            if taken[item.kind] < least:
                taken[item.kind] += 1
                yield item
            else:
                self._counts["dropped"][BALANCE] += 1
                self._reject(item.document, item.id, BALANCE, "more of its kind than of others", item.kind)

    def collection(self, planned: int, files: Mapping[str, int], licence: str | None, near: float) -> Collection:
        """Return what became of the documents, of which so many were planned."""
        counts = {name: dict(self._counts[name]) for name in ("refused", "items", "dropped", "cost")}
        return Collection(
            documents=self._documents,
            documents_not_done=planned - self._documents,
            drafts=self._counts["drafts"]["all"],
            rates=self._rates.rates(),
            rejected=dict(self._counts["rejected"].most_common()),
            licences=dict(sorted(self._counts["licences"].items())),
            files=files,
            licence=licence,
            near=near,
            **counts,
        )


# --- the files ------------------------------------------------------------------------------------


def write_dataset(pipeline: Pipeline, items: Iterable[Draft], folder: Path) -> dict[str, int]:
    """Write `items.jsonl` and the files in the benchmark's format into a new folder, one item at a time.

    Returns:
        The number of rows of each file.

    Raises:
        DataError: A file cannot be written.
    """
    counts: Counter[str] = Counter()
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        (folder / ITEMS).touch()
        with ExitStack() as stack:
            writers: dict[str, Callable[[Row], object]] = {}
            for item in items:
                for name, row in ((ITEMS, item.as_item()), *pipeline.lines(item)):
                    if name not in writers:
                        file = stack.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
                        writers[name] = _writer(name, file, row)
                    writers[name](row)
                    counts[name] += 1
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror or error}") from None
    return dict(counts)


def _writer(name: str, file: TextIO, first: Row) -> Callable[[Row], object]:
    """Return a function that writes rows to a CSV or JSON Lines file; `first` gives the columns."""
    if name.endswith(".csv"):
        table = csv.DictWriter(file, list(first), lineterminator="\n")
        table.writeheader()
        return table.writerow
    return lambda row: file.write(json_line(row) + "\n")


def _replace_folder(new: Path, place: Path) -> None:
    """Move the folder `new` to `place`, deleting what was there."""
    old = place.with_name(place.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def check_quality(folder: Folder, *, near: float = 100.0, seed: int = 0) -> Quality:
    """Measure the quality of the dataset of a build.

    Args:
        folder: The build.
        near: Similarity in percent from which on two items are duplicates; 100 for equal ones only.
        seed: Seed of the sample of pairs and of the folds.

    Raises:
        DataError: The dataset is missing or damaged.
    """
    path = folder.path / COLLECTED
    collection = Collection.from_json(read_json_object(path)) if path.is_file() else None
    return measure_quality(folder.pipeline, folder.items(), near=near, collection=collection, seed=seed)
