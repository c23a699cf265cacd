"""A build's folder: its plan, its documents in parts, and the dataset that is made of what passed.

build.json        what is built, of which documents, by which models; number and sha256 of each part's documents
prompts.yaml      the user's prompt file, where there is one
documents/        the documents in parts
logs/             the logs of Inspect, a folder for each part, and beside it the sha256 of the log of one that is done
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

from halu_tasks.builders.parts import part_name, part_of, read_json, split
from halu_tasks.builders.pipeline import Item, Pipeline, Row
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.data import json_lines, sha256_of
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
"""What a plan holds. `files`, the number and sha256 of each part's documents, is in none of older builds."""


class Folder:
    """A build's folder.

    Args:
        path: of the folder.

    Raises:
        DataError: it holds no build, or a damaged one.
    """

    def __init__(self, path: Path) -> None:
        # one path, however it is named: Inspect knows a task again by its arguments, this among them
        self.path = path = path.resolve()
        if not (path / PLAN).is_file():
            raise DataError(f"{path}: holds no build ({PLAN} is missing); make one with: halu-tasks build … -o {path}")
        self.plan = read_json(path / PLAN)
        if fault := self._fault():
            raise DataError(
                f"{path / PLAN}: {fault}; put it back from a copy (what models replied lies in {path / LOGS} and is "
                "not lost)"
            )

    def _fault(self) -> str | None:
        """What is wrong with the plan."""
        for key, kind in _KEYS.items():
            if not isinstance(self.plan.get(key), kind) or isinstance(self.plan[key], bool):
                return f"{key!r} is {'missing' if key not in self.plan else 'damaged'}"
        if not isinstance(self.plan["source"].get("name"), str):
            return "'source' is damaged"
        if "files" in self.plan:
            files = self.plan["files"]
            whole = isinstance(files, list) and all(
                isinstance(own, dict) and isinstance(own.get("documents"), int) and isinstance(own.get("sha256"), str)
                for own in files
            )
            if (
                not whole
                or len(files) != self.parts
                or sum(own["documents"] for own in files) != self.documents_planned
            ):
                return "'parts', 'documents' and 'files' contradict each other"
        elif self.has_documents and (found := len(list((self.path / DOCUMENTS).glob("*.jsonl")))) > self.parts:
            return f"'parts' is {self.parts}, and there are documents of {found}"
        return None

    @property
    def documents_planned(self) -> int:
        """The number of documents of the build."""
        return int(self.plan["documents"])

    @property
    def has_documents(self) -> bool:
        """Whether the documents are kept; those of logs that were collected are not."""
        return "files" in self.plan or (self.path / DOCUMENTS).is_dir()

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline with the options that the build was begun with."""
        return pipeline_named(self.plan["builder"], self.options)

    @property
    def options(self) -> dict[str, Any]:
        prompts = {"prompts": str(self.path / PROMPTS)} if (self.path / PROMPTS).is_file() else {}
        return {**self.plan["options"], **prompts}

    @property
    def parts(self) -> int:
        return int(self.plan["parts"])

    @property
    def numbers(self) -> list[int]:
        """The parts that hold documents: by their hashes, none may fall into a small one."""
        if "files" in self.plan:
            return [part for part, own in enumerate(self.plan["files"]) if own["documents"]]
        files = ((part, self.documents(part)) for part in range(self.parts))
        return [part for part, file in files if not file.is_file() or file.stat().st_size]

    def ids(self, part: int) -> list[str]:
        """The ids of a part's documents.

        Raises:
            DataError: its file is not the one that the build was begun with.
        """
        path = self.documents(part)
        hint = (
            f"give the halu-tasks build command again with the documents that {self.path} was begun with: it restores "
            "the file, and keeps what is done"
        )
        if not path.is_file():
            raise DataError(f"{path}: is missing; {hint}")
        if "files" in self.plan and (found := sum_of(path)) != (begun := self.plan["files"][part]):
            raise DataError(
                f"{path}: is damaged ({found['documents']} documents with sha256 {found['sha256'][:12]}…, not "
                f"{begun['documents']} with {begun['sha256'][:12]}…); {hint}"
            )
        ids = [str(row.get("id")) for _, row in json_lines(path)]
        if any(part_of(id, self.parts) != part for id in ids):
            raise DataError(f"{path}: holds documents of another part; {hint}")
        return ids

    def check_documents(self) -> None:
        """Raise DataError unless the documents are those that the build was begun with."""
        # the sums of older builds are not known, their number is
        if (found := sum(len(self.ids(part)) for part in self.numbers)) != self.documents_planned:
            raise DataError(
                f"{self.path / DOCUMENTS}: holds {found} documents, and the build was begun with "
                f"{self.documents_planned}; give the halu-tasks build command again with the same documents: it "
                "restores the files, and keeps what is done"
            )

    def documents(self, part: int) -> Path:
        """The file of a part's documents."""
        return self.path / DOCUMENTS / part_name(part)

    def logs(self, part: int) -> Path:
        """The folder of a part's logs."""
        return self.path / LOGS / part_name(part).removesuffix(".jsonl")

    def lock(self, part: int, *, wait: bool = False) -> FileLock:
        """What a process holds while it works on a part; others wait for it, or raise `Timeout`."""
        return lock_file(self.path / LOGS / (self.logs(part).name + LOCK), wait=wait)

    def seal(self, part: int, log: Path) -> None:
        """Write down by what the log of a part that is done is known again."""
        told = {"log": log.name, "sha256": sha256_of(log)}
        atomic_write_text(self._sealed(part), json.dumps(told) + "\n")

    def check_log(self, part: int, log: Path) -> None:
        """Raise DataError where the log of a part is not the one that ended it. Nothing is known of older builds."""
        if not (path := self._sealed(part)).is_file():
            return
        told = read_json(path)
        if told.get("log") != log.name or told.get("sha256") != sha256_of(log):
            raise DataError(
                f"{log}: is not the log that ended part {part + 1}, or was changed since; put {told.get('log')} back "
                f"from a copy, or remove {path} where the change is wanted"
            )

    def _sealed(self, part: int) -> Path:
        return self.path / LOGS / f"{self.logs(part).name}.json"

    def items(self) -> Iterator[Item]:
        """The items of the dataset. Raises DataError where there is none, or a line is none."""
        return items_of(self.path / DATASET)


def begin(
    path: Path, name: str, options: Mapping[str, Any], documents: Path, models: Mapping[str, Any], part_size: int
) -> Folder:
    """The folder of a build, begun where there is none yet: its documents are split into parts of some `part_size`.

    Several processes may begin the same build at once.

    Raises:
        UsageError: an unknown option, or no documents of that name.
        DataError: the folder holds another build or something else; the documents are damaged.
    """
    pipeline = pipeline_named(name, options)
    if not documents.exists():
        raise UsageError(f"{documents}: there is no such file or folder")
    source = {"name": documents.name, "sha256": digest(documents)}
    own = {key: value for key, value in options.items() if value is not None and key != "prompts"}
    wanted = {"builder": name, "options": own, "settings": pipeline.settings, "models": models, "source": source}
    # what JSON makes of it, to compare with what is read
    wanted = json.loads(json.dumps(wanted))
    path = path.resolve()
    if documents.is_dir() and path.is_relative_to(documents.resolve()):
        raise UsageError(f"{path}: lies among the documents, and would be read as some; name a folder outside of them")
    if not (path / PLAN).is_file():
        _check_free(path)
        # what is wrong with the documents is told before anything is made
        if not any(True for _ in pipeline.documents(documents)):
            raise DataError(f"{documents}: holds no documents")
    there = path.is_dir()
    try:
        # held while documents are split, which takes a while and is to be done once
        with lock_file(path / LOCK, wait=True):
            if not (path / PLAN).is_file():
                _check_free(path)
                _begun(path, pipeline, wanted, documents, options.get("prompts"), part_size)
            found = Folder(path)
            # settings tell all that options do, and options that name a default are the same
            for key in ("builder", "source", "settings", "models"):
                if found.plan.get(key) != wanted[key]:
                    raise DataError(f"{path}: holds a build with other {_difference(key, found.plan, wanted)}")
            if found.has_documents:
                _restored(found, pipeline, documents)
            return found
    except BaseException:
        if not there and not (path / PLAN).is_file():
            shutil.rmtree(path, ignore_errors=True)
        raise


def _check_free(path: Path) -> None:
    """Raise DataError where a folder holds anything but what a build leaves that was ended while it was begun."""
    own = (DOCUMENTS, DOCUMENTS + _PART, PROMPTS, PLAN + _PART, LOCK)
    if path.is_dir() and any(entry.name not in own for entry in path.iterdir()):
        raise DataError(f"{path}: is not empty, and holds no build; name another folder")


def _begun(
    path: Path, pipeline: Pipeline, wanted: Mapping[str, Any], documents: Path, prompts: Any, part_size: int
) -> None:
    """Split the documents, and write the plan last."""
    shutil.rmtree(path / DOCUMENTS, ignore_errors=True)
    # of one that was ended while it was begun
    (path / PROMPTS).unlink(missing_ok=True)
    count = sum(1 for _ in pipeline.documents(documents))
    parts = -(-count // part_size)
    split(pipeline.documents(documents), path / DOCUMENTS, parts)
    if prompts:
        copied(Path(str(prompts)).expanduser(), path / PROMPTS)
    files = [sum_of(path / DOCUMENTS / part_name(part)) for part in range(parts)]
    plan = {**wanted, "documents": count, "parts": parts, "files": files}
    atomic_write_text(path / PLAN, json.dumps(plan, ensure_ascii=False, indent=1) + "\n")


def _restored(folder: Folder, pipeline: Pipeline, documents: Path) -> None:
    """Split the documents again, which are known to be the same, where the parts are damaged."""
    try:
        folder.check_documents()
    except DataError as error:
        logger.warning("%s is made again, as it was damaged: %s", folder.path / DOCUMENTS, error)
        shutil.rmtree(folder.path / DOCUMENTS, ignore_errors=True)
        split(pipeline.documents(documents), folder.path / DOCUMENTS, folder.parts)
        folder.check_documents()


def _difference(key: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """In which part of `key` two plans differ, and what to do."""
    if key == "source":
        return f"documents than {wanted[key]['name']} now holds; name another folder"
    old, new = found.get(key), wanted[key]
    if isinstance(old, dict) and isinstance(new, dict):
        key = next(name for name in {**old, **new} if old.get(name) != new.get(name))
        old, new = old.get(key), new.get(key)
    return f"{key} ({_told(old)}, not {_told(new)}); name another folder"


def _told(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:100] + "…"


def sum_of(path: Path) -> dict[str, Any]:
    """The number of documents in a part's file, and its sha256."""
    with path.open("rb") as lines:
        return {"documents": sum(1 for _ in lines), "sha256": sha256_of(path)}


def lock_file(path: Path, *, wait: bool = False) -> FileLock:
    """What one process holds at a time; others wait, or raise `Timeout`.

    Raises:
        DataError: the file cannot be written, for which a lock would wait for ever.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as error:
        raise DataError(
            f"{path.parent}: cannot be written to ({error.strerror or error}); name another folder"
        ) from None
    return FileLock(path, timeout=-1 if wait else 0)


def copied(file: Path, place: Path) -> None:
    """Copy a file. Raises DataError where it cannot be read or written."""
    try:
        shutil.copyfile(file, place)
    except OSError as error:
        raise DataError(f"{place}: {error.strerror or error}") from None


def digest(path: Path) -> str:
    """The sha256 of a file, or of a folder's files with their names."""
    if path.is_file():
        return sha256_of(path)
    found = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        found.update(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n".encode())
    return found.hexdigest()


# --- datasets -------------------------------------------------------------------------------------


def items_of(dataset: Path) -> Iterator[Item]:
    """The items of a dataset's folder. Raises DataError where there is none, or a line is none."""
    path = dataset / ITEMS
    for line, row in json_lines(path):
        if not all(isinstance(row.get(key), str) for key in ("id", "kind", "document")) or not isinstance(
            row.get("row"), dict
        ):
            raise DataError(f"{path}:{line}: expected id, kind, document and row")
        yield Item(row["id"], row["kind"], row["document"], row["row"])


def write_dataset(pipeline: Pipeline, items: Iterable[Item], folder: Path) -> dict[str, int]:
    """Write `items.jsonl` and the files in the benchmark's format into an empty folder. Returns the rows of each file.

    Items are written as they come, and none is held. Raises DataError where a file cannot be written.
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
    if name.endswith(".csv"):
        table = csv.DictWriter(file, list(first), lineterminator="\n")
        table.writeheader()
        return table.writerow
    return lambda row: file.write(json.dumps(row, ensure_ascii=False) + "\n")


def replace_folder(made: Path, place: Path) -> None:
    """Put a folder in the place of another one, which is gone afterwards."""
    old = place.with_name(place.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    made.rename(place)
    shutil.rmtree(old, ignore_errors=True)
