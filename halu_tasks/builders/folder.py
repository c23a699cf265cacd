"""The folder of a build: its plan, its documents in parts, its logs, and the dataset made of the drafts that passed.

build.json        what is built from which documents by which models
prompts.yaml, …   copies of the user's files, such as a prompt file, by the names that `Pipeline.files` returns
documents/        the documents in parts, by the hashes of their ids
gate.json         the result of the samples that are drafted first, if the builder has a gate; they are the first part
logs/             Inspect's logs, a folder per part, which keep the drafts
executor/         files of Slurm, if the build uses it: what its tasks have printed, and how they ended
dataset/          items.jsonl, the files in the benchmark's format, quality.json, README.md (the card)
collected.json    what became of the documents
rejects.jsonl     what was dropped, and why
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from heapq import merge, nsmallest
from itertools import chain
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from halu_tasks.builders.documents import Document, in_order, place, read_documents
from halu_tasks.builders.drafting import DraftLogs
from halu_tasks.builders.pipeline import DocumentOutcome, Draft, Pipeline, pipeline_class, pipeline_named
from halu_tasks.core.errors import DataError, UsageError, file_errors
from halu_tasks.core.files import atomic_folder, atomic_write_text, visible_files
from halu_tasks.core.hashing import stable_number
from halu_tasks.core.processes import LOCK, guard
from halu_tasks.core.records import to_json
from halu_tasks.data.cache import sha256_of
from halu_tasks.data.rows import json_lines, read_json_object
from halu_tasks.tasks.keys import reason_of

logger = logging.getLogger(__name__)

PLAN, GATE, COLLECTED, REJECTS = "build.json", "gate.json", "collected.json", "rejects.jsonl"
DOCUMENTS, LOGS, DATASET = "documents", "logs", "dataset"
ITEMS = "items.jsonl"


# --- folders in which an interrupted command resumes ----------------------------------------------


@contextmanager
def hold(path: Path, plan: str, what: str, *leftovers: str) -> Iterator[bool]:
    """Hold a folder that a command fills; yield whether it is new, without the file `plan`.

    Args:
        path: The folder.
        plan: The file that the command writes first, or after all `leftovers`.
        what: What the folder would be or contain, for the error message.
        leftovers: Names of what an interrupted command may have left besides its lock and temporary files.

    Raises:
        DataError: A new folder contains anything else, or another process holds it.
    """
    if not (path / plan).is_file():
        begun = (path / LOCK).is_file()
        for name in [entry.name for entry in path.iterdir()] if path.is_dir() else []:
            if not (begun and (name in leftovers or name.startswith("."))):
                raise DataError(f"{path}: is not empty and {what}; choose another folder")
    with guard(path):
        yield not (path / plan).is_file()


def require_same(path: Path, what: str, earlier: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise DataError if what a folder is of differs from what is wanted, with the first value that does."""
    for name in {**earlier, **wanted}:
        if (one := earlier.get(name)) != (other := wanted.get(name)):
            texts = (json.dumps(value, ensure_ascii=False) for value in (one, other))
            before, now = (text if len(text) <= 100 else text[:100] + "…" for text in texts)
            raise DataError(f"{path}: contains {what} with other {name} ({before}, not {now}); choose another folder")


# --- the plan -------------------------------------------------------------------------------------


class BuildPlan(BaseModel):
    """The plan of a build: the content of `build.json`.

    Attributes:
        builder: Name of the builder.
        options: The options that the user specified, without files.
        settings: The pipeline's settings, which cover every option.
        models: The models by role, with their settings.
        source: The name of the file or folder of documents.
        sha256: Its checksum, see `digest`.
        samples: The number of documents of each group that the first part has for the gate; 0 if there is no gate.
        parts: The number of documents of each part; small ones can be empty, as parts are ranges of hashes.
        refused: The number of documents that cannot be used, by reason.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    builder: str
    options: dict[str, Any]
    settings: dict[str, Any]
    models: dict[str, Any]
    source: str
    sha256: str
    samples: int
    parts: list[int]
    refused: dict[str, int]

    @property
    def documents(self) -> int:
        """The number of documents."""
        return sum(self.parts)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the plan of a build folder.

        Raises:
            DataError: There is no plan, or a damaged one.
        """
        if not (path / PLAN).is_file():
            raise DataError(
                f"{path}: not a build folder ({PLAN} is missing); create one with: halu-tasks build … -o {path}"
            )
        content = read_json_object(path / PLAN)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise DataError(
                f"{path / PLAN}: is damaged ({reason_of(error)}); restore it from a backup (the models' replies are in "
                f"{path / LOGS} and are not lost)"
            ) from None

    def determines(self, *, gated: bool) -> dict[str, Any]:
        """Return what determines the replies, with the number of samples if there is a gate."""
        # settings cover all options, including defaults that were specified explicitly
        gate = {"gate_samples": self.samples} if gated else {}
        return {"documents": f"{self.source}, sha256 {self.sha256}", **self.settings, **self.models, **gate}


# --- the folder -----------------------------------------------------------------------------------


class Folder:
    """An existing build folder.

    Args:
        path: Path of the folder.

    Raises:
        DataError: The folder contains no build, or a damaged one.
    """

    def __init__(self, path: Path) -> None:
        # always the same path: Inspect recognizes a task by its arguments, and this path is one of them
        self.path = path.resolve()
        self.plan = BuildPlan.read(self.path)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline with the options the build was started with."""
        return pipeline_named(self.plan.builder, self.options)

    @property
    def options(self) -> dict[str, Any]:
        """The options the build was started with, with the user's files kept in the folder."""
        files = {option: self.path / name for option, name in pipeline_class(self.plan.builder).files().items()}
        return {**self.plan.options, **{option: str(path) for option, path in files.items() if path.is_file()}}

    @property
    def part_numbers(self) -> list[int]:
        """The numbers of the parts that contain documents."""
        return [number for number, documents in enumerate(self.plan.parts) if documents]

    def part(self, number: int) -> Part:
        """Return a part.

        Raises:
            DataError: Its documents are not those that the build was started with.
        """
        documents, size = self.path / DOCUMENTS / f"{number:05}.jsonl", self.plan.parts[number]
        ids = [str(row.get("id")) for _, row in json_lines(documents)] if documents.is_file() else []
        if len(ids) != size:
            raise DataError(
                f"{documents}: is damaged (expected {size} documents, got {len(ids)}); run the same halu-tasks build "
                f"command again with the documents that {self.path} was started with: it restores the file and keeps "
                "finished work"
            )
        logs, name = self.path / LOGS / f"{number:05}", f"part {number + 1} of {len(self.plan.parts)}"
        return Part(folder=logs, name=name, settings=self.plan.settings, ids=frozenset(ids), documents=documents)

    def check_documents(self) -> None:
        """Raise DataError unless the documents are those the build was started with."""
        for number in range(len(self.plan.parts)):
            self.part(number)

    def outcomes(self) -> Iterator[DocumentOutcome]:
        """Yield the outcomes of the documents, sorted by `place`; those of one part are in memory at a time.

        Raises:
            DataError: A log or the documents are damaged.
        """
        parts = (self.part(number).outcomes() for number in self.part_numbers)
        # the first part may have samples of all documents; the others are ranges of places
        yield from merge(next(parts), chain.from_iterable(parts), key=lambda outcome: place(outcome.document))


@dataclass(frozen=True, kw_only=True)
class Part(DraftLogs):
    """A part of a build: the file of its documents with their ids, and the logs that keep their drafts."""

    documents: Path
    ids: frozenset[str]


_ITEM = TypeAdapter(Draft)


def read_items(dataset: Path) -> Iterator[Draft]:
    """Read the items of a dataset folder.

    Raises:
        DataError: There is no dataset, or a line is invalid.
    """
    path = dataset / ITEMS
    for line, row in json_lines(path):
        try:
            yield _ITEM.validate_python(row)
        except ValidationError:
            raise DataError(f"{path}:{line}: expected an object with id, kind, document and row") from None


def write_json(path: Path, value: Any) -> None:
    """Write a record, as `to_json` returns it, to a file that replaces `path`."""
    atomic_write_text(path, json.dumps(to_json(value), ensure_ascii=False, indent=1) + "\n")


def by_count(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return counts, the largest first; equal ones by name."""
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


# --- creating one ---------------------------------------------------------------------------------


@contextmanager
def begin(
    path: Path,
    pipeline: Pipeline,
    options: Mapping[str, Any],
    documents: Path,
    models: Mapping[str, Any],
    *,
    part_size: int,
    samples: int = 0,
) -> Iterator[Folder]:
    """Open a build's folder, creating it and splitting the documents into parts if it does not exist yet.

    No other process can open it until the block ends.

    Args:
        path: The folder.
        pipeline: The pipeline.
        options: Options of the builder; None stands for the default.
        documents: File or folder of documents.
        models: The models and their settings, as recorded in the plan.
        part_size: Approximate number of documents per part.
        samples: The number of documents of each group in a part of their own, the first one.

    Raises:
        UsageError: An option or the documents do not exist.
        DataError: The folder contains another build or something else, another process is working on it, or the
            documents are damaged.
    """
    path = path.resolve()
    if documents.is_dir() and path.is_relative_to(documents.resolve()):
        raise UsageError(f"{path}: is inside the documents and would be read as one; choose a folder outside of them")
    chosen = {name: value for name, value in options.items() if value is not None and name not in pipeline.files()}
    # as JSON preserves them: tuples become lists
    values = json.loads(json.dumps({"options": chosen, "settings": pipeline.settings, "models": models}))
    values |= {"samples": samples, "parts": [], "refused": {}}  # the last two are counted if the build is new
    plan = BuildPlan(builder=pipeline.name, source=documents.name, sha256=digest(documents), **values)
    # report invalid documents before anything is created
    if not (path / PLAN).is_file() and not any(True for _ in pipeline.documents(documents)):
        raise DataError(f"{documents}: contains no documents")
    with hold(path, PLAN, "not a build folder", DOCUMENTS, *pipeline.files().values()) as is_new:
        if is_new:
            _create(path, pipeline, plan, documents, options, part_size)
        folder = Folder(path)
        # with 0, the build continues without judging the samples
        gated = bool(plan.samples and folder.plan.samples)
        require_same(path, "a build", folder.plan.determines(gated=gated), plan.determines(gated=gated))
        try:
            folder.check_documents()
        except DataError as error:
            logger.warning("restoring %s, which was damaged: %s", path / DOCUMENTS, error)
            shutil.rmtree(path / DOCUMENTS, ignore_errors=True)
            split(folder.pipeline, documents, path / DOCUMENTS, len(folder.plan.parts), folder.plan.samples)
            folder.check_documents()
        yield folder


def _create(
    path: Path, pipeline: Pipeline, plan: BuildPlan, documents: Path, options: Mapping[str, Any], part_size: int
) -> None:
    """Split the documents into parts, then write the plan last."""
    # left over from an interrupted attempt
    shutil.rmtree(path / DOCUMENTS, ignore_errors=True)
    for option, name in pipeline.files().items():
        (path / name).unlink(missing_ok=True)
        if file := options.get(option):
            with file_errors(path / name):
                shutil.copyfile(Path(str(file)).expanduser(), path / name)
    faults = Counter(fault and fault.reason for fault in map(pipeline.refuse, pipeline.documents(documents)))
    parts = -(-faults.total() // part_size) + bool(plan.samples)
    numbers = split(pipeline, documents, path / DOCUMENTS, parts, plan.samples)
    refused = {reason: number for reason, number in faults.items() if reason}
    write_json(path / PLAN, plan.model_copy(update={"parts": numbers, "refused": refused}).model_dump())


def split(pipeline: Pipeline, documents: Path, folder: Path, parts: int, samples: int = 0) -> list[int]:
    """Write each document to the file of its part (`00000.jsonl` and so on), sorted by `place`.

    The parts are equal ranges of hashes, which do not depend on the order in which documents are listed. One part at a
    time is held in memory; `folder` appears only when it is complete.

    Args:
        pipeline: The pipeline that reads the documents.
        documents: The documents.
        folder: The folder to create.
        parts: The number of parts.
        samples: The number of documents of each group in the first part: the first ones that can be used, by `place`;
            if it is 0, the first part is a range, too.

    Returns:
        The number of documents of each part.

    Raises:
        DataError: Two documents have the same id, or a file cannot be written.
    """
    sampled = _sample(pipeline, documents, samples) if samples else frozenset()
    with atomic_folder(folder) as partial:
        files = [partial / f"{number:05}.jsonl" for number in range(parts)]
        ranges = files[1:] if samples else files
        for part in files:
            part.touch()
        for document in pipeline.documents(documents):
            # the number is the beginning of the place
            of_range = ranges[stable_number(document.id) * len(ranges) >> 64]
            # opened for each document, as there may be more parts than files that can be open
            with (files[0] if document.id in sampled else of_range).open("a", encoding="utf-8", newline="\n") as file:
                file.write(_line(document))
        numbers = []
        for part in files:
            ordered = in_order(read_documents(part))
            write_documents(part, ordered)
            numbers.append(len(ordered))
    return numbers


def _sample(pipeline: Pipeline, documents: Path, samples: int) -> frozenset[str]:
    """Return the ids of the first documents of each group that can be used, by `place`."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for document in pipeline.documents(documents):
        if pipeline.refuse(document) is None:
            group = groups[pipeline.sampled_as(document)]
            group[:] = nsmallest(samples, [*group, (place(document.id), document.id)])
    return frozenset(id for group in groups.values() for _, id in group)


def _line(document: Document) -> str:
    # JSON escapes keep any text on one line, lone surrogates included
    return json.dumps({"id": document.id, "text": document.text, **document.fields}) + "\n"


def write_documents(path: Path, documents: Iterable[Document]) -> None:
    """Write documents to a JSON Lines file."""
    atomic_write_text(path, "".join(map(_line, documents)))


def digest(path: Path) -> str:
    """Return the sha256 of a file, or of the names and contents of a folder's files, without hidden ones.

    Raises:
        UsageError: There is no such file or folder.
    """
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if path.is_file():
        return sha256_of(path)
    sha = hashlib.sha256()
    for file in visible_files(path):
        sha.update(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n".encode())
    return sha.hexdigest()
