"""A build's folder: its plan, its documents in parts, and the dataset that is made of what passed.

build.json        what is built, of which documents, by which models
prompts.yaml      the user's prompt file, where there is one
documents/        the documents in parts
logs/             the logs of Inspect, a folder for each part
dataset/          items.jsonl, the files in the benchmark's format, quality.json, README.md (the card)
rejects.jsonl     what was dropped, and why
"""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from filelock import FileLock

from halu_tasks.builders.parts import part_name, read_json, split
from halu_tasks.builders.pipeline import Item, Pipeline, Row
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.data import json_lines, sha256_of
from halu_tasks.errors import DataError, UsageError

PLAN, PROMPTS, DOCUMENTS, LOGS, DATASET, REJECTS = (
    "build.json",
    "prompts.yaml",
    "documents",
    "logs",
    "dataset",
    "rejects.jsonl",
)
ITEMS = "items.jsonl"
_WORKED_ON = ".lock"


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
        files = ((part, self.documents(part)) for part in range(self.parts))
        return [part for part, file in files if not file.is_file() or file.stat().st_size]

    def documents(self, part: int) -> Path:
        """The file of a part's documents."""
        return self.path / DOCUMENTS / part_name(part)

    def logs(self, part: int) -> Path:
        """The folder of a part's logs."""
        return self.path / LOGS / part_name(part).removesuffix(".jsonl")

    def lock(self, part: int) -> FileLock:
        """What a process holds while it works on a part."""
        (self.path / LOGS).mkdir(exist_ok=True)
        return FileLock(self.path / LOGS / (self.logs(part).name + _WORKED_ON), timeout=0)

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
    path.parent.mkdir(parents=True, exist_ok=True)
    # held while documents are split, which takes a while and is to be done once
    with FileLock(path.with_name(path.name + ".begin.lock")):
        if (path / PLAN).is_file():
            found = Folder(path)
            # settings tell all that options do, and options that name a default are the same
            for key in ("builder", "source", "settings", "models"):
                if found.plan.get(key) != wanted[key]:
                    raise DataError(f"{path}: holds a build with other {_difference(key, found.plan, wanted)}")
            return found
        if path.is_dir() and any(
            entry.name not in (DOCUMENTS, DOCUMENTS + ".part", PROMPTS) for entry in path.iterdir()
        ):
            raise DataError(f"{path}: is not empty, and holds no build; name another folder")
        shutil.rmtree(path / DOCUMENTS, ignore_errors=True)
        # of one that was ended while it was begun
        (path / PROMPTS).unlink(missing_ok=True)
        count = sum(1 for _ in pipeline.documents(documents))
        if not count:
            raise DataError(f"{documents}: holds no documents")
        parts = -(-count // part_size)
        split(pipeline.documents(documents), path / DOCUMENTS, parts)
        if options.get("prompts"):
            shutil.copyfile(Path(str(options["prompts"])).expanduser(), path / PROMPTS)
        whole(
            path / PLAN, json.dumps({**wanted, "documents": count, "parts": parts}, ensure_ascii=False, indent=1) + "\n"
        )
    return Folder(path)


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


def digest(path: Path) -> str:
    """The sha256 of a file, or of a folder's files with their names."""
    if path.is_file():
        return sha256_of(path)
    found = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        found.update(f"{file.relative_to(path).as_posix()}\0{sha256_of(file)}\n".encode())
    return found.hexdigest()


def whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


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
