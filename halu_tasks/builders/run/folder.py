"""The folder of a build: its plan, its documents in parts, its logs, and the dataset made of the drafts that passed.

build.json        what is built from which documents by which models; number and sha256 of each part's documents
prompts.yaml, …   copies of the user's files, such as a prompt file, by the names that `Pipeline.files` returns
documents/        the documents in parts
gate/             documents, logs and result of the samples that are drafted first, if the builder has a gate
logs/             Inspect's logs: a folder per part, and next to it the sha256 of the log of each finished part
executor/         files of Slurm, if the build uses it: what its tasks have printed, and how they ended
dataset/          items.jsonl, the files in the benchmark's format, quality.json, README.md (the card)
rejects.jsonl     what was dropped, and why
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.builders.registry import pipeline_class, pipeline_named
from halu_tasks.builders.run.dataset import items_of
from halu_tasks.builders.run.parts import part_name, part_of, split
from halu_tasks.builders.run.plan import Inputs, PartFile, Plan, Source
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.data.cache import sha256_of
from halu_tasks.data.rows import json_lines, read_json_object

logger = logging.getLogger(__name__)

PLAN, DOCUMENTS, GATE, LOGS, DATASET, REJECTS = (
    "build.json",
    "documents",
    "gate",
    "logs",
    "dataset",
    "rejects.jsonl",
)
LOCK = ".lock"
_PART = ".part"


class _Seal(NamedTuple):
    """The name and sha256 of the log that finished a part; None if the record is damaged."""

    log: str | None
    sha256: str | None


class Folder:
    """An existing build folder.

    Args:
        path: Path of the folder.

    Raises:
        DataError: The folder contains no build, or a damaged one.
    """

    def __init__(self, path: Path) -> None:
        # always the same path: Inspect recognizes a task by its arguments, and this path is one of them
        self.path = path = path.resolve()
        if not (path / PLAN).is_file():
            raise DataError(
                f"{path}: not a build folder ({PLAN} is missing); create one with: halu-tasks build … -o {path}"
            )
        content = read_json_object(path / PLAN)
        try:
            self.plan = Plan.from_json(content)
            self._check_parts()
        except ValueError as error:
            raise DataError(
                f"{path / PLAN}: {error}; restore it from a backup (the models' replies are in {path / LOGS} and are "
                "not lost)"
            ) from None

    def _check_parts(self) -> None:
        """Raise ValueError if an older plan, which has no checksums, has fewer parts than there are files."""
        if self.plan.files is None and self.has_documents:
            count = len(list((self.path / DOCUMENTS).glob("*.jsonl")))
            if count > self.plan.parts:
                raise ValueError(f"'parts' is {self.plan.parts}, but there are documents of {count} parts")

    @property
    def documents_planned(self) -> int:
        """The number of documents of the build."""
        return self.plan.documents

    @property
    def parts(self) -> int:
        """The number of parts, empty ones included."""
        return self.plan.parts

    @property
    def has_documents(self) -> bool:
        """Whether the folder contains the documents; it does not if it was made by collecting logs."""
        return self.plan.files is not None or (self.path / DOCUMENTS).is_dir()

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline with the options the build was started with."""
        return pipeline_named(self.plan.builder, self.options)

    @property
    def options(self) -> dict[str, Any]:
        """The options the build was started with, with the user's files kept in the folder."""
        files = {option: self.path / name for option, name in pipeline_class(self.plan.builder).files().items()}
        return {**self.plan.options, **{option: str(path) for option, path in files.items() if path.is_file()}}

    @property
    def numbers(self) -> list[int]:
        """The parts that contain documents; parts are ranges of hashes, so small ones can be empty."""
        if self.plan.files is not None:
            return [part for part, file in enumerate(self.plan.files) if file.documents]
        files = ((part, self.documents(part)) for part in range(self.plan.parts))
        return [part for part, file in files if not file.is_file() or file.stat().st_size]

    def ids(self, part: int) -> list[str]:
        """Return the ids of a part's documents.

        Raises:
            DataError: The part's file is not the one the build was started with.
        """
        path = self.documents(part)
        hint = (
            f"run the same halu-tasks build command again with the documents that {self.path} was started with: it "
            "restores the file and keeps finished work"
        )
        if not path.is_file():
            raise DataError(f"{path}: is missing; {hint}")
        if self.plan.files is not None and (actual := PartFile.of(path)) != (expected := self.plan.files[part]):
            raise DataError(
                f"{path}: is damaged (expected {expected.documents} documents with sha256 {expected.sha256[:12]}…, "
                f"got {actual.documents} with {actual.sha256[:12]}…); {hint}"
            )
        ids = [str(row.get("id")) for _, row in json_lines(path)]
        if any(part_of(id, self.plan.parts) != part for id in ids):
            raise DataError(f"{path}: contains documents of another part; {hint}")
        return ids

    def check_documents(self) -> None:
        """Raise DataError unless the documents are those the build was started with."""
        # older builds have no checksums, only the number of documents
        if (count := sum(len(self.ids(part)) for part in self.numbers)) != self.plan.documents:
            raise DataError(
                f"{self.path / DOCUMENTS}: expected {self.plan.documents} documents, got {count}; run the same "
                "halu-tasks build command again with the same documents: it restores the files and keeps finished work"
            )

    def documents(self, part: int) -> Path:
        """Return the path of the file with a part's documents."""
        return self.path / DOCUMENTS / part_name(part)

    def logs(self, part: int) -> Path:
        """Return the folder of a part's logs."""
        return self.path / LOGS / part_name(part).removesuffix(".jsonl")

    def lock(self, part: int) -> FileLock:
        """Return the lock a process holds while it works on a part; others wait for it."""
        return _lock_file(self.path / LOGS / (self.logs(part).name + LOCK), wait=True)

    def seal(self, part: int, log: Path) -> None:
        """Record the name and checksum of a finished part's log, so that changes can be detected."""
        seal = _Seal(log.name, sha256_of(log))
        atomic_write_text(self._seal_path(part), json.dumps(seal._asdict()) + "\n")

    def check_log(self, part: int, log: Path) -> None:
        """Raise DataError if a part's log is not the one that finished it. Older builds have no record to check."""
        if not (path := self._seal_path(part)).is_file():
            return
        content = read_json_object(path)
        seal = _Seal(content.get("log"), content.get("sha256"))
        if seal != (log.name, sha256_of(log)):
            raise DataError(
                f"{log}: is not the log that finished part {part + 1}, or was changed since; restore {seal.log} "
                f"from a backup, or remove {path} to accept the change"
            )

    def _seal_path(self, part: int) -> Path:
        return self.path / LOGS / f"{self.logs(part).name}.json"

    def items(self) -> Iterator[Item]:
        """Read the items of the dataset.

        Raises:
            DataError: There is no dataset, or a line is invalid.
        """
        return items_of(self.path / DATASET)


@contextmanager
def begin(
    path: Path, name: str, options: Mapping[str, Any], documents: Path, models: Mapping[str, Any], part_size: int
) -> Iterator[Folder]:
    """Open a build's folder, creating it and splitting the documents into parts if it does not exist yet.

    No other process can open it until the block ends.

    Args:
        path: The folder.
        name: Name of the builder.
        options: Options of the builder; None stands for the default.
        documents: File or folder of documents.
        models: The models and their settings, as recorded in the plan.
        part_size: Approximate number of documents per part.

    Raises:
        UsageError: An option or the documents do not exist.
        DataError: The folder contains another build or something else, another process is working on it, or the
            documents are damaged.
    """
    pipeline = pipeline_named(name, options)
    if not documents.exists():
        raise UsageError(f"{documents}: no such file or folder")
    inputs = Inputs(
        builder=name,
        options={key: value for key, value in options.items() if value is not None and key not in pipeline.files()},
        settings=pipeline.settings,
        models=models,
        source=Source(documents.name, digest(documents)),
    ).normalized()
    path = path.resolve()
    if documents.is_dir() and path.is_relative_to(documents.resolve()):
        raise UsageError(f"{path}: is inside the documents and would be read as one; choose a folder outside of them")
    if not (path / PLAN).is_file():
        _check_free(path, pipeline)
        # report invalid documents before anything is created
        if not any(True for _ in pipeline.documents(documents)):
            raise DataError(f"{documents}: contains no documents")
    existed = path.is_dir()
    try:
        with guard(path):
            if not (path / PLAN).is_file():
                _check_free(path, pipeline)
                _create(path, pipeline, inputs, documents, options, part_size)
            folder = Folder(path)
            if difference := folder.plan.difference(inputs):
                raise DataError(f"{path}: contains a build with other {difference}; choose another folder")
            if folder.has_documents:
                _restore_documents(folder, pipeline, documents)
            yield folder
    except BaseException:
        if not existed and not (path / PLAN).is_file():
            shutil.rmtree(path, ignore_errors=True)
        raise


def _check_free(path: Path, pipeline: Pipeline) -> None:
    """Raise DataError if a folder contains anything but the remains of a build interrupted while it was created."""
    leftovers = (DOCUMENTS, DOCUMENTS + _PART, *pipeline.files().values(), PLAN + _PART, LOCK)
    if path.is_dir() and any(entry.name not in leftovers for entry in path.iterdir()):
        raise DataError(f"{path}: is not empty and not a build folder; choose another folder")


def _create(
    path: Path, pipeline: Pipeline, inputs: Inputs, documents: Path, options: Mapping[str, Any], part_size: int
) -> None:
    """Split the documents into parts, then write the plan last."""
    shutil.rmtree(path / DOCUMENTS, ignore_errors=True)
    # left over from an interrupted attempt
    for name in pipeline.files().values():
        (path / name).unlink(missing_ok=True)
    reasons = Counter(
        failure.reason if (failure := pipeline.refuse(document)) else None for document in pipeline.documents(documents)
    )
    count, refused = reasons.total(), {reason: number for reason, number in reasons.items() if reason is not None}
    parts = -(-count // part_size)
    split(pipeline.documents(documents), path / DOCUMENTS, parts)
    copy_files(pipeline, options, path)
    files = tuple(PartFile.of(path / DOCUMENTS / part_name(part)) for part in range(parts))
    write_plan(path, Plan(**vars(inputs), documents=count, parts=parts, files=files, refused=refused))


def write_plan(path: Path, plan: Plan) -> None:
    """Write the plan of a build into its folder."""
    atomic_write_text(path / PLAN, json.dumps(plan.to_json(), ensure_ascii=False, indent=1) + "\n")


def _restore_documents(folder: Folder, pipeline: Pipeline, documents: Path) -> None:
    """Split the documents again if the parts are damaged. The documents are known to be the same."""
    try:
        folder.check_documents()
    except DataError as error:
        logger.warning("restoring %s, which was damaged: %s", folder.path / DOCUMENTS, error)
        shutil.rmtree(folder.path / DOCUMENTS, ignore_errors=True)
        split(pipeline.documents(documents), folder.path / DOCUMENTS, folder.plan.parts)
        folder.check_documents()


@contextmanager
def guard(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock of a folder, which keeps a command from being started twice on it.

    Args:
        path: The folder.
        wait: Wait for another process that holds it.

    Raises:
        DataError: Another process holds it, or the folder cannot be written.
    """
    lock = _lock_file(path / LOCK, wait=wait)
    try:
        lock.acquire()
    except Timeout:
        raise DataError(f"{path}: another process is working on it") from None
    try:
        yield
    finally:
        lock.release()


def _lock_file(path: Path, *, wait: bool) -> FileLock:
    """Return a lock that only one process can hold; others wait for it or raise `Timeout`.

    Raises:
        DataError: The file cannot be written; waiting for its lock would never end.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as error:
        raise DataError(f"{path.parent}: is not writable ({error.strerror or error}); choose another folder") from None
    return FileLock(path, timeout=-1 if wait else 0)


def copy_files(pipeline: Pipeline, options: Mapping[str, Any], folder: Path) -> None:
    """Copy the files that options name into the folder of a build.

    Raises:
        DataError: A file cannot be read or written.
    """
    for option, name in pipeline.files().items():
        if file := options.get(option):
            copied(Path(str(file)).expanduser(), folder / name)


def copied(file: Path, place: Path) -> None:
    """Copy a file.

    Raises:
        DataError: The file cannot be read or written.
    """
    try:
        shutil.copyfile(file, place)
    except OSError as error:
        raise DataError(f"{place}: {error.strerror or error}") from None


def digest(path: Path) -> str:
    """Return the sha256 of a file, or of the names and contents of a folder's files."""
    if path.is_file():
        return sha256_of(path)
    sha = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        sha.update(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n".encode())
    return sha.hexdigest()
