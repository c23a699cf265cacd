"""doccano: items as the rows that it imports, and annotators' labels from the rows that it exports.

A row of its JSON Lines has `text`, `label` (a list, of spans [begin, end, label] in projects for sequences) and any
other fields, which doccano keeps as metadata and writes out again; `id` is its own. A project in which annotators do
not see each other's labels exports one file a member, named after them, in a zip archive.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from halu_tasks.builders.pipeline import Item, Pipeline
from halu_tasks.builders.sampling import hash_of
from halu_tasks.data import json_lines
from halu_tasks.errors import DataError, UsageError

ITEM = "item"
"""The field of metadata that holds an item's id."""
_LABELS = ("label", "labels", "cats")
"""What releases of doccano and kinds of projects call the field of labels."""

NO_LABEL, TWO_LABELS, NO_SUCH_LABEL = "no label", "several labels", "label not in the list"
CONFLICTING, REPEATED = "conflicting rows", "repeated row"
NO_ITEM, UNKNOWN_ITEM, OTHER_TEXT = "no item id", "unknown item", "another text"
"""Why a row gives no label."""


@dataclass
class Annotator:
    """What one annotator's rows say.

    Attributes:
        name: that of the file.
        rows: how many there are.
        labels: by item; each is a row that counts.
        left_out: the other rows, counted by reason.
        comments: how many rows have a comment.
    """

    name: str
    rows: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    comments: int = 0


def tasks(pipeline: Pipeline, items: Iterable[Item], number: int | None = None, seed: int = 0) -> list[dict[str, Any]]:
    """The rows for doccano: the items, or a sample of `number` of them, in the order of a hash of seed and id, which
    tells nothing of what they are. A row holds the parts that annotators are shown, the empty list of labels and the
    item's id, and nothing of what a model said of it."""

    def rank(item: Item) -> tuple[int, str]:
        return hash_of(seed, item.id), item.id

    chosen = sorted(items, key=rank) if number is None else heapq.nsmallest(number, items, key=rank)
    return [{"text": shown_text(pipeline, item), "label": [], ITEM: item.id} for item in chosen]


def shown_text(pipeline: Pipeline, item: Item) -> str:
    """What an annotator sees of an item: its parts under their names."""
    return "\n\n".join(f"[{name}]\n{text}" for name, text in pipeline.shown(item).items())


def label_types(labels: Sequence[str]) -> list[dict[str, str]]:
    """The labels as doccano imports them, each with the number key that sets it."""
    colours = ("#7c20e0", "#005f73", "#9b2226", "#bb3e03", "#31572c", "#3d405b")
    return [
        {
            "text": label,
            **({"suffixKey": str(place)} if place < 10 else {}),
            "backgroundColor": colours[place % len(colours)],
            "textColor": "#ffffff",
        }
        for place, label in enumerate(labels, 1)
    ]


def fingerprint(text: str) -> str:
    """What two renderings of one text have in common: a short hash of it without its white space."""
    return hashlib.sha256("".join(text.split()).encode("utf-8", "replace")).hexdigest()[:16]


def read_annotators(paths: Sequence[Path], fingerprints: Mapping[str, str], labels: Sequence[str]) -> list[Annotator]:
    """The annotators of files, or zip archives of files, as doccano exports them.

    Args:
        paths: the files, one an annotator.
        fingerprints: by item id, of the text that was shown (`fingerprint`).
        labels: what annotators chose from.

    Raises:
        DataError: a file that cannot be read or is not JSON Lines.
        UsageError: two files of one annotator.
    """
    found = []
    for path in paths:
        with _unpacked(path) as files:
            for name, file in files:
                try:
                    rows = [row for _, row in json_lines(file)]
                except DataError as error:
                    raise DataError(
                        str(error).replace(str(file), f"{path}" if file == path else f"{path}:{name}")
                    ) from None
                found.append(_annotator(name, rows, fingerprints, labels))
    names = Counter(own.name for own in found)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(f"two files are of annotator {twice[0]!r}; rename one, as files are named after annotators")
    return found


def _annotator(
    name: str, rows: Sequence[Mapping[str, Any]], fingerprints: Mapping[str, str], labels: Sequence[str]
) -> Annotator:
    own = Annotator(name, len(rows))
    by_item: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        own.comments += bool(row.get("Comments"))
        item = _item_of(row)
        if item is None:
            own.left_out[NO_ITEM] += 1
        elif item not in fingerprints:
            own.left_out[UNKNOWN_ITEM] += 1
        elif "text" in row and fingerprint(str(row["text"])) != fingerprints[item]:
            own.left_out[OTHER_TEXT] += 1
        elif given := labels_of(row):
            by_item.setdefault(item, []).append(given)
        else:
            own.left_out[NO_LABEL] += 1
    known = {label.casefold(): label for label in labels}
    for item, said in by_item.items():
        if len(set(said)) > 1:
            own.left_out[CONFLICTING] += len(said)
        elif len(said[0]) > 1:
            own.left_out[TWO_LABELS] += len(said)
        elif said[0][0] not in known:
            own.left_out[NO_SUCH_LABEL] += len(said)
        else:
            own.labels[item] = known[said[0][0]]
            own.left_out[REPEATED] += len(said) - 1
    own.left_out = +own.left_out
    return own


def labels_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels of a row, folded and sorted, each once: whatever form a project gives them."""
    value: Any = next((row[name] for name in _LABELS if row.get(name) not in (None, [], "")), [])
    given = value if isinstance(value, list) else [value]
    return tuple(sorted({text for each in given if (text := _label(each))}))


def _label(value: Any) -> str:
    if isinstance(value, list):
        value = value[-1] if value else ""
    elif isinstance(value, dict):
        value = value.get("label", value.get("text", ""))
    return str(value).strip().casefold()


def _item_of(row: Mapping[str, Any]) -> str | None:
    """The item's id, among the row's fields or, in older exports, in its `meta`, which may be JSON in a text."""
    meta = row.get("meta", {})
    if isinstance(meta, str):
        try:
            meta = json.loads(meta)
        except (ValueError, RecursionError):
            meta = {}
    value = row.get(ITEM, meta.get(ITEM) if isinstance(meta, dict) else None)
    return str(value) if isinstance(value, (str, int)) and str(value) else None


@contextmanager
def _unpacked(path: Path) -> Iterator[list[tuple[str, Path]]]:
    """The annotators' names and files: `path` alone, or what a zip archive holds."""
    if path.suffix.lower() != ".zip":
        yield [(path.stem, path)]
        return
    with TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                members = [name for name in archive.namelist() if name.endswith(".jsonl")]
                files = []
                for place, member in enumerate(members):
                    files.append((Path(member).stem, Path(folder) / f"{place}.jsonl"))
                    files[-1][1].write_bytes(archive.read(member))
        except FileNotFoundError:
            raise DataError(f"{path}: there is no such file") from None
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise DataError(f"{path}: not a zip archive that can be read ({error})") from None
        if not files:
            raise DataError(f"{path}: holds no .jsonl files; export from doccano as JSONL")
        yield files
