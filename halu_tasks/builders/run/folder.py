"""The folder of a build: its plan, its documents in parts, its logs, and the dataset made of the drafts that passed.

build.json        what is built from which documents by which models; number and sha256 of each part's documents
prompts.yaml      the user's prompt file, if any
documents/        the documents in parts
logs/             Inspect's logs: a folder per part, and next to it the sha256 of the log of each finished part
dataset/          items.jsonl, the files in the benchmark's format, quality.json, README.md (the card)
rejects.jsonl     what was dropped, and why
"""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from filelock import FileLock

from halu_tasks.builders.pipeline import Item, Pipeline, Row
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.builders.run.parts import part_name, part_of, read_json, split
from halu_tasks.data.cache import sha256_of
from halu_tasks.data.rows import json_lines
from halu_tasks.errors import DataError, UsageError
from halu_tasks.files import atomic_write_text

logger = logging.getLogger(__name__)

PLAN, PROMPTS, DOCUMENTS, LOGS, DATASET, REJECTS = (
    "build.json",
    "prompts.yaml",
    "documents",
    "logs",
    "dataset",
    "rejects.jsonl",
)
ITEMS = "items.jsonl"
LOCK = ".lock"
_PART = ".part"

_KEYS: Mapping[str, type] = {
    "builder": str,
    "options": dict,
    "settings": dict,
    "models": dict,
    "source": dict,
    "documents": int,
    "parts": int,
}
"""Required keys of a plan. `files` (number and sha256 of each part's documents) is missing in older builds."""


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
        self.plan = read_json(path / PLAN)
        if fault := self._fault():
            raise DataError(
                f"{path / PLAN}: {fault}; restore it from a backup (the models' replies are in {path / LOGS} and are "
                "not lost)"
            )

    def _fault(self) -> str | None:
        """Return what is wrong with the plan; None if it is valid."""
        for key, kind in _KEYS.items():
            if not isinstance(self.plan.get(key), kind) or isinstance(self.plan[key], bool):
                return f"{key!r} is {'missing' if key not in self.plan else 'damaged'}"
        if not isinstance(self.plan["source"].get("name"), str):
            return "'source' is damaged"
        if "files" in self.plan:
            files = self.plan["files"]
            valid = isinstance(files, list) and all(
                isinstance(file, dict)
                and isinstance(file.get("documents"), int)
                and isinstance(file.get("sha256"), str)
                for file in files
            )
            if (
                not valid
                or len(files) != self.parts
                or sum(file["documents"] for file in files) != self.documents_planned
            ):
                return "'parts', 'documents' and 'files' contradict each other"
        elif self.has_documents and (count := len(list((self.path / DOCUMENTS).glob("*.jsonl")))) > self.parts:
            return f"'parts' is {self.parts}, but there are documents of {count} parts"
        return None

    @property
    def documents_planned(self) -> int:
        """The number of documents of the build."""
        return int(self.plan["documents"])

    @property
    def has_documents(self) -> bool:
        """Whether the folder contains the documents; it does not if it was made by collecting logs."""
        return "files" in self.plan or (self.path / DOCUMENTS).is_dir()

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline with the options the build was started with."""
        return pipeline_named(self.plan["builder"], self.options)

    @property
    def options(self) -> dict[str, Any]:
        """The options the build was started with, with the prompt file kept in the folder."""
        prompts = {"prompts": str(self.path / PROMPTS)} if (self.path / PROMPTS).is_file() else {}
        return {**self.plan["options"], **prompts}

    @property
    def parts(self) -> int:
        """The number of parts, empty ones included."""
        return int(self.plan["parts"])

    @property
    def numbers(self) -> list[int]:
        """The parts that contain documents; parts are ranges of hashes, so small ones can be empty."""
        if "files" in self.plan:
            return [part for part, file in enumerate(self.plan["files"]) if file["documents"]]
        files = ((part, self.documents(part)) for part in range(self.parts))
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
        if "files" in self.plan and (actual := sum_of(path)) != (expected := self.plan["files"][part]):
            raise DataError(
                f"{path}: is damaged (expected {expected['documents']} documents with sha256 "
                f"{expected['sha256'][:12]}…, got {actual['documents']} with {actual['sha256'][:12]}…); {hint}"
            )
        ids = [str(row.get("id")) for _, row in json_lines(path)]
        if any(part_of(id, self.parts) != part for id in ids):
            raise DataError(f"{path}: contains documents of another part; {hint}")
        return ids

    def check_documents(self) -> None:
        """Raise DataError unless the documents are those the build was started with."""
        # older builds have no checksums, only the number of documents
        if (count := sum(len(self.ids(part)) for part in self.numbers)) != self.documents_planned:
            raise DataError(
                f"{self.path / DOCUMENTS}: expected {self.documents_planned} documents, got {count}; run the same "
                "halu-tasks build command again with the same documents: it restores the files and keeps finished work"
            )

    def documents(self, part: int) -> Path:
        """Return the path of the file with a part's documents."""
        return self.path / DOCUMENTS / part_name(part)

    def logs(self, part: int) -> Path:
        """Return the folder of a part's logs."""
        return self.path / LOGS / part_name(part).removesuffix(".jsonl")

    def lock(self, part: int, *, wait: bool = False) -> FileLock:
        """Return the lock a process holds while it works on a part; others wait for it or raise `Timeout`."""
        return lock_file(self.path / LOGS / (self.logs(part).name + LOCK), wait=wait)

    def seal(self, part: int, log: Path) -> None:
        """Record the name and checksum of a finished part's log, so that changes can be detected."""
        record = {"log": log.name, "sha256": sha256_of(log)}
        atomic_write_text(self._seal_path(part), json.dumps(record) + "\n")

    def check_log(self, part: int, log: Path) -> None:
        """Raise DataError if a part's log is not the one that finished it. Older builds have no record to check."""
        if not (path := self._seal_path(part)).is_file():
            return
        record = read_json(path)
        if record.get("log") != log.name or record.get("sha256") != sha256_of(log):
            raise DataError(
                f"{log}: is not the log that finished part {part + 1}, or was changed since; restore "
                f"{record.get('log')} from a backup, or remove {path} to accept the change"
            )

    def _seal_path(self, part: int) -> Path:
        return self.path / LOGS / f"{self.logs(part).name}.json"

    def items(self) -> Iterator[Item]:
        """Read the items of the dataset.

        Raises:
            DataError: There is no dataset, or a line is invalid.
        """
        return items_of(self.path / DATASET)


def begin(
    path: Path, name: str, options: Mapping[str, Any], documents: Path, models: Mapping[str, Any], part_size: int
) -> Folder:
    """Return a build's folder, creating it and splitting the documents into parts if it does not exist yet.

    Several processes can start the same build at once.

    Args:
        path: The folder.
        name: Name of the builder.
        options: Options of the builder; None stands for the default.
        documents: File or folder of documents.
        models: The models and their settings, as recorded in the plan.
        part_size: Approximate number of documents per part.

    Raises:
        UsageError: An option or the documents do not exist.
        DataError: The folder contains another build or something else, or the documents are damaged.
    """
    pipeline = pipeline_named(name, options)
    if not documents.exists():
        raise UsageError(f"{documents}: no such file or folder")
    source = {"name": documents.name, "sha256": digest(documents)}
    given = {key: value for key, value in options.items() if value is not None and key != "prompts"}
    plan = {"builder": name, "options": given, "settings": pipeline.settings, "models": models, "source": source}
    # convert to what JSON preserves, to compare it with a plan that was read
    plan = json.loads(json.dumps(plan))
    path = path.resolve()
    if documents.is_dir() and path.is_relative_to(documents.resolve()):
        raise UsageError(f"{path}: is inside the documents and would be read as one; choose a folder outside of them")
    if not (path / PLAN).is_file():
        _check_free(path)
        # report invalid documents before anything is created
        if not any(True for _ in pipeline.documents(documents)):
            raise DataError(f"{documents}: contains no documents")
    existed = path.is_dir()
    try:
        # hold the lock while documents are split, which takes a while and must happen only once
        with lock_file(path / LOCK, wait=True):
            if not (path / PLAN).is_file():
                _check_free(path)
                _create(path, pipeline, plan, documents, options.get("prompts"), part_size)
            folder = Folder(path)
            # compare settings, not options: they cover every option, including defaults given explicitly
            for key in ("builder", "source", "settings", "models"):
                if folder.plan.get(key) != plan[key]:
                    raise DataError(f"{path}: contains a build with other {_difference(key, folder.plan, plan)}")
            if folder.has_documents:
                _restore_documents(folder, pipeline, documents)
            return folder
    except BaseException:
        if not existed and not (path / PLAN).is_file():
            shutil.rmtree(path, ignore_errors=True)
        raise


def _check_free(path: Path) -> None:
    """Raise DataError if a folder contains anything but the remains of a build interrupted while it was created."""
    leftovers = (DOCUMENTS, DOCUMENTS + _PART, PROMPTS, PLAN + _PART, LOCK)
    if path.is_dir() and any(entry.name not in leftovers for entry in path.iterdir()):
        raise DataError(f"{path}: is not empty and not a build folder; choose another folder")


def _create(
    path: Path, pipeline: Pipeline, plan: Mapping[str, Any], documents: Path, prompts: Any, part_size: int
) -> None:
    """Split the documents into parts, then write the plan last."""
    shutil.rmtree(path / DOCUMENTS, ignore_errors=True)
    # left over from an interrupted attempt
    (path / PROMPTS).unlink(missing_ok=True)
    count = sum(1 for _ in pipeline.documents(documents))
    parts = -(-count // part_size)
    split(pipeline.documents(documents), path / DOCUMENTS, parts)
    if prompts:
        copied(Path(str(prompts)).expanduser(), path / PROMPTS)
    files = [sum_of(path / DOCUMENTS / part_name(part)) for part in range(parts)]
    complete = {**plan, "documents": count, "parts": parts, "files": files}
    atomic_write_text(path / PLAN, json.dumps(complete, ensure_ascii=False, indent=1) + "\n")


def _restore_documents(folder: Folder, pipeline: Pipeline, documents: Path) -> None:
    """Split the documents again if the parts are damaged. The documents are known to be the same."""
    try:
        folder.check_documents()
    except DataError as error:
        logger.warning("restoring %s, which was damaged: %s", folder.path / DOCUMENTS, error)
        shutil.rmtree(folder.path / DOCUMENTS, ignore_errors=True)
        split(pipeline.documents(documents), folder.path / DOCUMENTS, folder.parts)
        folder.check_documents()


def _difference(key: str, old_plan: Mapping[str, Any], new_plan: Mapping[str, Any]) -> str:
    """Describe how two plans differ in `key`, and what to do."""
    if key == "source":
        return f"documents than {new_plan[key]['name']} now contains; choose another folder"
    old, new = old_plan.get(key), new_plan[key]
    if isinstance(old, dict) and isinstance(new, dict):
        key = next(name for name in {**old, **new} if old.get(name) != new.get(name))
        old, new = old.get(key), new.get(key)
    return f"{key} ({_shorten(old)}, not {_shorten(new)}); choose another folder"


def _shorten(value: Any) -> str:
    """Format a value as JSON of at most 100 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:100] + "…"


def sum_of(path: Path) -> dict[str, Any]:
    """Return the number of documents in a part's file, and its sha256."""
    with path.open("rb") as lines:
        return {"documents": sum(1 for _ in lines), "sha256": sha256_of(path)}


def lock_file(path: Path, *, wait: bool = False) -> FileLock:
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


# --- datasets -------------------------------------------------------------------------------------


def items_of(dataset: Path) -> Iterator[Item]:
    """Read the items of a dataset folder.

    Raises:
        DataError: There is no dataset, or a line is invalid.
    """
    path = dataset / ITEMS
    for line, row in json_lines(path):
        if not all(isinstance(row.get(key), str) for key in ("id", "kind", "document")) or not isinstance(
            row.get("row"), dict
        ):
            raise DataError(f"{path}:{line}: expected an object with id, kind, document and row")
        yield Item(row["id"], row["kind"], row["document"], row["row"])


def write_dataset(pipeline: Pipeline, items: Iterable[Item], folder: Path) -> dict[str, int]:
    """Write `items.jsonl` and the files in the benchmark's format into an empty folder.

    Args:
        pipeline: The pipeline whose format is written.
        items: The items; they are written one at a time and not held in memory.
        folder: The folder, created if necessary.

    Returns:
        The number of rows of each file.

    Raises:
        DataError: A file cannot be written.
    """
    counts: dict[str, int] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            writers: dict[str, Any] = {}
            for item in items:
                lines: list[tuple[str, Row]] = [(ITEMS, item._asdict()), *pipeline.lines(item)]
                for name, row in lines:
                    if name not in writers:
                        file = stack.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
                        writers[name] = _writer(name, file, row)
                    writers[name](row)
                    counts[name] = counts.get(name, 0) + 1
            if ITEMS not in writers:
                (folder / ITEMS).touch()
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror or error}") from None
    return counts


def _writer(name: str, file: Any, first: Row) -> Any:
    """Return a function that writes rows to a CSV or JSON Lines file; `first` gives the columns."""
    if name.endswith(".csv"):
        table = csv.DictWriter(file, list(first), lineterminator="\n")
        table.writeheader()
        return table.writerow
    return lambda row: file.write(json.dumps(row, ensure_ascii=False) + "\n")


def replace_folder(new: Path, place: Path) -> None:
    """Move the folder `new` to `place`, deleting what was there."""
    old = place.with_name(place.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)
