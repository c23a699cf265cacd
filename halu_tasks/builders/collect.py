"""Making the dataset of a build from its logs: in a fixed order, without duplicates, balanced on request.

The dataset depends only on the documents, the options and the models' replies: not on when they were asked, in how
many parts, or after how many interruptions. So does its card in the format of the Hugging Face hub, whose text is in
`card.md.jinja` and contains no date, machine or path.
"""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import TypeAdapter

from halu_tasks import __version__
from halu_tasks.builders.annotation import Annotation, apply_labels, fingerprint, read_labels, shown_texts
from halu_tasks.builders.dataset_build import read_gate
from halu_tasks.builders.duplicates import DuplicateOf, duplicate_filter
from halu_tasks.builders.folder import (
    COLLECTED,
    DATASET,
    ITEMS,
    LOGS,
    PLAN,
    REJECTS,
    Folder,
    by_count,
    read_items,
    write_json,
)
from halu_tasks.builders.pipeline import GENERATOR, MAX_TOKENS, VERIFIER, DocumentOutcome, Draft, Pipeline, Row
from halu_tasks.builders.quality import Quality, measure_quality
from halu_tasks.builders.rates import PassCounts, Rate
from halu_tasks.core.errors import DataError, UsageError, file_errors
from halu_tasks.core.files import atomic_files, atomic_folder, atomic_write_text, json_line, read_yaml, row_writer
from halu_tasks.core.options import Options
from halu_tasks.core.processes import guard
from halu_tasks.data.rows import read_json_object
from halu_tasks.tasks import get_source, registry
from halu_tasks.text.number_format import code_block, escaped, format_estimate

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
        near: Similarity in percent, above 0, from which on two items are duplicates; None for the builder's default.
        embeddings: A sentence-transformers model that measures similarity; None to compare spelling.
        partial: Collect even if documents are not finished.
        licence: The dataset's licence, for its card.

    Raises:
        DataError: Parts are not finished, or logs or documents are damaged.
    """
    path, pipeline = folder.path, folder.pipeline
    if not (path / LOGS).is_dir():
        raise DataError(f"{path}: contains no logs; its dataset was made from another one, such as by annotators")
    collection = Collection(near=pipeline.near if near is None else near, licence=licence)
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
    if unfinished := [part for part in map(folder.part, folder.part_numbers) if not part.finished()]:
        raise DataError(
            f"{len(unfinished)} of {len(folder.part_numbers)} parts have documents that failed ({unfinished[0].name}: "
            f"{unfinished[0].describe_failures()}); {folder.path} keeps what is finished; run the same halu-tasks "
            f"build command again to repeat the others, or leave them out with: halu-tasks build collect {folder.path} "
            "--partial"
        )


def _items(folder: Folder, collection: Collection, duplicate_of: DuplicateOf, rejects: TextIO) -> Iterator[Draft]:
    """Yield the items of a build without duplicates, count documents and drafts, and write what is rejected."""
    pipeline, counts = folder.pipeline, PassCounts()
    for outcome in folder.outcomes():
        collection.add(outcome)
        counts.add(outcome.counts())
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
    collection.rates = counts.rates(pipeline.checks)


def _balanced(items: Iterable[Draft], collection: Collection, rejects: TextIO) -> Iterator[Draft]:
    """Yield as many items of each kind as there are of the rarest: the first ones, as their order is by hash."""
    least = min(collection.items.values(), default=0)
    numbers = Counter[str]()
    for item in items:
        numbers[item.kind] += 1
        if numbers[item.kind] <= least:
            yield item
        else:
            collection.dropped[BALANCE] += 1
            _reject(rejects, item.document, item.id, BALANCE, "more of its kind than of others", item.kind)


def _reject(rejects: TextIO, document: str, draft: str, check: str, reason: str, detail: str) -> None:
    record = {"document": document, "draft": draft, "check": check, "reason": reason, "detail": detail}
    rejects.write(json_line(record) + "\n")


# --- what labels make of a dataset ----------------------------------------------------------------


def import_labels(folder: Folder, files: Sequence[Path], rule: str, least: int, output: Path | None) -> Annotation:
    """Combine annotators' labels and, if a folder is named, write the items that they keep.

    Args:
        folder: The build that the items were exported from.
        files: The files with labels.
        rule: How labels are combined, `majority` or `two`.
        least: Minimum number of labels of an item.
        output: A new folder like that of a build; None to write nothing.

    Raises:
        UsageError: `output` exists, or fewer than two annotators have labels.
        DataError: A file or the dataset is damaged.
    """
    if output and output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UsageError(f"{output} exists; choose a new folder, since nothing is overwritten")
    pipeline, items = folder.pipeline, list(read_items(folder.path / DATASET))
    fingerprints = {key: fingerprint(text) for item in items for key, text in shown_texts(pipeline, item).items()}
    remaining, annotation = apply_labels(
        pipeline, items, read_labels(files, fingerprints, pipeline.labels), rule, least
    )
    if output:
        with atomic_folder(output, "annotated items") as partial:
            rows = write_dataset(pipeline, remaining, partial / DATASET)
            write_json(partial / DATASET / ANNOTATION, annotation)
            for name in (PLAN, *pipeline.files().values(), REJECTS):
                if (folder.path / name).is_file():
                    shutil.copyfile(folder.path / name, partial / name)
            collected = read_json_object(folder.path / COLLECTED)
            collection = TypeAdapter(Collection).validate_python({**collected, "files": rows})
            write_json(partial / COLLECTED, collection)
            describe(folder, partial / DATASET, collection, annotation)
    return annotation


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
                record = {"id": item.id, "kind": item.kind, "document": item.document, "row": item.row}
                for name, row in ((ITEMS, record), *pipeline.lines(item)):
                    if name not in writers:
                        file = stack.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
                        writers[name] = row_writer(name, file, row)
                    writers[name](row)
                    counts[name] += 1
    return dict(counts)


# --- the card -------------------------------------------------------------------------------------


QUALITY, CARD, ANNOTATION = "quality.json", "README.md", "annotation.json"
"""Files in a dataset's folder; the last one if annotators have checked it."""


@dataclass(kw_only=True)
class Collection:
    """What became of a build's documents: the content of `collected.json`, from which the card is written.

    Attributes:
        documents: The number of documents that were worked on, refused ones included.
        documents_not_done: The number of documents that were not worked on yet.
        refused: Refused documents by reason.
        drafts: The number of drafts.
        rates: Pass rates by check.
        rejected: Drafts by `check: reason` of their faults; one draft can have several.
        items: Items by kind, before balancing.
        dropped: Items that passed but are not in the dataset, by reason.
        files: The number of rows of each file of the dataset.
        licences: Documents by the licence that they state.
        licence: The licence of the dataset; None if the user specified none.
        near: The similarity in percent from which on duplicates were dropped.
    """

    documents: int = 0
    documents_not_done: int = 0
    refused: dict[str, int] = field(default_factory=Counter)
    drafts: int = 0
    rates: Mapping[str, Rate] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=Counter)
    items: dict[str, int] = field(default_factory=Counter)
    dropped: dict[str, int] = field(default_factory=Counter)
    files: Mapping[str, int] = field(default_factory=dict)
    licences: dict[str, int] = field(default_factory=Counter)
    licence: str | None = None
    near: float = 100.0

    def add(self, outcome: DocumentOutcome) -> None:
        """Count a document and its drafts."""
        self.documents += 1
        self.drafts += len(outcome.drafts)
        self.licences[outcome.licence] += 1
        if outcome.refused:
            self.refused[outcome.refused.reason] += 1
        for draft in outcome.drafts:
            for reason in dict.fromkeys(f"{fault.check}: {fault.reason}" for fault in draft.faults):
                self.rejected[reason] += 1


def describe(folder: Folder, dataset: Path, collection: Collection, annotation: Annotation | None = None) -> None:
    """Write the quality and the card of a dataset into its folder.

    Args:
        folder: The build's folder.
        dataset: The dataset's folder, which may be a temporary one while it is built.
        collection: What became of the documents.
        annotation: What annotators say of it, if they do.

    Raises:
        DataError: The dataset is damaged.
    """
    quality = measure_quality(folder.pipeline, read_items(dataset))
    write_json(dataset / QUALITY, quality)
    atomic_write_text(dataset / CARD, card_text(folder, collection, quality, annotation))


def card_text(folder: Folder, collection: Collection, quality: Quality, annotation: Annotation | None = None) -> str:
    """Return the text of a card, to be written to the dataset's `README.md`.

    Args:
        folder: The build's folder.
        collection: What became of the documents.
        quality: The quality of the dataset.
        annotation: What annotators say of it; None if they do not.
    """
    pipeline, plan = folder.pipeline, folder.plan
    text: str = _template().render(
        pipeline=pipeline,
        plan=plan,
        collection=collection,
        quality=quality,
        annotation=annotation,
        gate=read_gate(folder),
        title=f"{plan.source} as {get_source(pipeline.benchmark).title}",
        package=__version__,
        paper=paper_named(pipeline.paper),
        models=list(_models(pipeline, plan.models)),
        settings=json.dumps(pipeline.settings, ensure_ascii=False, indent=2, sort_keys=True),
        tasks=tasks_on(pipeline.benchmark, collection.files),
    )
    return text


def _models(pipeline: Pipeline, recorded: Mapping[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield each role with its model or models and their settings."""
    # arguments of models only say where they are served
    default = {name: value for name, value in recorded.items() if name not in ("roles", "model_args")}
    models = recorded.get("roles", {}).items()
    roles = {role: model if isinstance(model, Mapping) else {"model": model} for role, model in models}
    for role in sorted({GENERATOR, VERIFIER, *roles}):
        # a role that only prompts other than the pipeline's use, such as `optimizer`, has no temperature here
        temperature = {"temperature": pipeline.temperatures[role]} if role in pipeline.temperatures else {}
        settings = {"max_tokens": MAX_TOKENS, **temperature, **roles.get(role, default)}
        model = settings.pop("model")
        yield role, ", ".join(model) if isinstance(model, list) else model, settings


def tasks_on(benchmark: str, files: Container[str]) -> list[str]:
    """Return the names of the tasks that read at least one of the files."""
    tasks = registry()[0].values()
    return [task.name for task in tasks if task.benchmark == benchmark and task.data.file(Options()) in files]


def paper_named(name: str) -> dict[str, str]:
    """Return the `citation` and `bibtex` of a paper in `papers.yaml`; an unknown name is cited as it is."""
    papers = read_yaml(Path(__file__).parent / "papers.yaml")
    return {"bibtex": "", **papers.get(name, {"citation": name})}


# --- the template ---------------------------------------------------------------------------------


@cache
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "escaped": escaped,
        "code_block": code_block,
        "estimate": format_estimate,
        "number": lambda number: f"{number:,}",
        "by_count": by_count,
        # JSON strings are YAML
        "json": lambda text: json.dumps(" ".join(text.split()), ensure_ascii=False),
    }
    return environment.get_template("card.md.jinja")
