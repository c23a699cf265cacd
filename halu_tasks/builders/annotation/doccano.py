"""Exchanging data with doccano: rows of items to import, and annotators' labels from exported rows.

A row of doccano's JSON Lines has `text`, `label` (a list; of spans [begin, end, label] in sequence labelling projects)
and any other fields, which doccano keeps as metadata and exports again; `id` is doccano's own. A project in which
annotators do not see each other's labels exports one file per member, named after them, in a zip archive.
"""

from __future__ import annotations

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
from halu_tasks.builders.quality.sampling import hash_of
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import short_hash
from halu_tasks.data.rows import json_lines

ITEM = "item"
"""The metadata field that holds an item's id."""
_LABELS = ("label", "labels", "cats")
"""Names of the label field in different releases of doccano and kinds of projects."""

NO_LABEL, TWO_LABELS, NO_SUCH_LABEL = "no label", "several labels", "label not in the list"
CONFLICTING, REPEATED = "conflicting rows", "repeated row"
NO_ITEM, UNKNOWN_ITEM, OTHER_TEXT = "no item id", "unknown item", "another text"
"""Reasons why a row gives no label."""


@dataclass
class Annotator:
    """The labels of one annotator.

    Attributes:
        name: Name of the file.
        rows: Number of rows.
        labels: Labels by item id.
        left_out: Number of unused rows by reason.
        comments: Number of rows with a comment.
    """

    name: str
    rows: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    comments: int = 0


def tasks(pipeline: Pipeline, items: Iterable[Item], number: int | None = None, seed: int = 0) -> list[dict[str, Any]]:
    """Return the rows to import into doccano.

    A row contains the parts of an item that annotators are shown, an empty list of labels, and the item's id, but no
    labels given by models.

    Args:
        pipeline: The pipeline that built the items.
        items: The items.
        number: Number of items to sample; None for all.
        seed: Seed of the order, which is by a hash and reveals nothing about the items.
    """

    def rank(item: Item) -> tuple[int, str]:
        return hash_of(seed, item.id), item.id

    chosen = sorted(items, key=rank) if number is None else heapq.nsmallest(number, items, key=rank)
    return [{"text": shown_text(pipeline, item), "label": [], ITEM: item.id} for item in chosen]


def shown_text(pipeline: Pipeline, item: Item) -> str:
    """Return what annotators see of an item: its parts under their names."""
    return "\n\n".join(f"[{name}]\n{text}" for name, text in pipeline.shown(item).items())


def label_types(labels: Sequence[str]) -> list[dict[str, str]]:
    """Return the labels as doccano imports them, each with the number key that selects it."""
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
    """Return a short hash of a text without its white space, which is equal for different renderings of the text."""
    return short_hash("".join(text.split()), surrogates="replace")


def read_annotators(paths: Sequence[Path], fingerprints: Mapping[str, str], labels: Sequence[str]) -> list[Annotator]:
    """Read annotators' labels from files, or zip archives of files, exported by doccano.

    Args:
        paths: The files, one per annotator.
        fingerprints: The `fingerprint` of the text that was shown, by item id.
        labels: The labels annotators could choose from.

    Raises:
        DataError: A file cannot be read or is not JSON Lines.
        UsageError: Two files have the same annotator.
    """
    annotators = []
    for path in paths:
        with _unpack(path) as files:
            for name, file in files:
                try:
                    rows = [row for _, row in json_lines(file)]
                except DataError as error:
                    raise DataError(
                        str(error).replace(str(file), f"{path}" if file == path else f"{path}:{name}")
                    ) from None
                annotators.append(_annotator(name, rows, fingerprints, labels))
    names = Counter(annotator.name for annotator in annotators)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(
            f"two files belong to annotator {twice[0]!r}; rename one, as files are named after their annotators"
        )
    return annotators


def _annotator(
    name: str, rows: Sequence[Mapping[str, Any]], fingerprints: Mapping[str, str], labels: Sequence[str]
) -> Annotator:
    """Read one annotator's labels from rows."""
    annotator = Annotator(name, len(rows))
    by_item: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        annotator.comments += bool(row.get("Comments"))
        item = _item_of(row)
        if item is None:
            annotator.left_out[NO_ITEM] += 1
        elif item not in fingerprints:
            annotator.left_out[UNKNOWN_ITEM] += 1
        elif "text" in row and fingerprint(str(row["text"])) != fingerprints[item]:
            annotator.left_out[OTHER_TEXT] += 1
        elif row_labels := labels_of(row):
            by_item.setdefault(item, []).append(row_labels)
        else:
            annotator.left_out[NO_LABEL] += 1
    spellings = {label.casefold(): label for label in labels}
    for item, given_labels in by_item.items():
        if len(set(given_labels)) > 1:
            annotator.left_out[CONFLICTING] += len(given_labels)
        elif len(given_labels[0]) > 1:
            annotator.left_out[TWO_LABELS] += len(given_labels)
        elif given_labels[0][0] not in spellings:
            annotator.left_out[NO_SUCH_LABEL] += len(given_labels)
        else:
            annotator.labels[item] = spellings[given_labels[0][0]]
            annotator.left_out[REPEATED] += len(given_labels) - 1
    annotator.left_out = +annotator.left_out
    return annotator


def labels_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the different labels of a row, case-folded and sorted, in whatever format a project exports them."""
    value: Any = next((row[name] for name in _LABELS if row.get(name) not in (None, [], "")), [])
    listed = value if isinstance(value, list) else [value]
    return tuple(sorted({text for each in listed if (text := _label(each))}))


def _label(value: Any) -> str:
    """Return one label, case-folded; empty if there is none."""
    if isinstance(value, list):
        value = value[-1] if value else ""
    elif isinstance(value, dict):
        value = value.get("label", value.get("text", ""))
    return str(value).strip().casefold()


def _item_of(row: Mapping[str, Any]) -> str | None:
    """Return the item's id from the row's fields or, in older exports, from its `meta`, which may be a JSON string."""
    meta = row.get("meta", {})
    if isinstance(meta, str):
        try:
            meta = json.loads(meta)
        except (ValueError, RecursionError):
            meta = {}
    value = row.get(ITEM, meta.get(ITEM) if isinstance(meta, dict) else None)
    return str(value) if isinstance(value, (str, int)) and str(value) else None


@contextmanager
def _unpack(path: Path) -> Iterator[list[tuple[str, Path]]]:
    """Yield annotators' names and files: `path` itself, or the files in a zip archive."""
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
            raise DataError(f"{path}: no such file") from None
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise DataError(f"{path}: cannot be read as a zip archive ({error})") from None
        if not files:
            raise DataError(f"{path}: contains no .jsonl files; export from doccano as JSONL")
        yield files
