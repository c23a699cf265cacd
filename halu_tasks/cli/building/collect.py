"""`halu-tasks collect`: the logs of a build to a dataset."""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from halu_tasks.builders.card.describe import CARD, COLLECTED, describe
from halu_tasks.builders.quality.near_embeddings import near_filter
from halu_tasks.builders.run.adopt import adopt
from halu_tasks.builders.run.collect import Tally, balanced, items, rejects_to
from halu_tasks.builders.run.folder import (
    DATASET,
    LOGS,
    PLAN,
    REJECTS,
    Folder,
    items_of,
    lock_file,
    replace_folder,
    write_dataset,
)
from halu_tasks.builders.run.inspect_logs import in_parts, logs_of
from halu_tasks.builders.run.outcomes import Rates
from halu_tasks.cli import DONE_IN_PART
from halu_tasks.cli.building.quality import tell_not_compared
from halu_tasks.cli.tables import NONE, table
from halu_tasks.errors import DataError, UsageError
from halu_tasks.files import atomic_write_text
from halu_tasks.text.figures import format_interval


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.folder)
    if not (path / PLAN).is_file():
        if not arguments.output:
            raise UsageError(f"{path}: holds no build; to collect logs of Inspect name a folder with -o")
        path = adopt(path, Path(arguments.output)).path
    elif arguments.output:
        raise UsageError(f"{path}: is a build's folder, which its dataset is written to; leave -o out")
    return collect(path, arguments)


def collect(path: Path, arguments: argparse.Namespace) -> int:
    """Write the dataset of a build's folder, and print what became of its documents. Returns the exit status."""
    folder = Folder(path)
    if not (path / LOGS).is_dir():
        raise DataError(f"{path}: holds no logs; its dataset was made of another one's, as by annotators")
    # two shards may end at one moment
    with lock_file(path / LOGS / "collect.lock", wait=True):
        try:
            told, found = _collected(folder, arguments)
        except OSError as error:
            raise DataError(f"{error.filename or path}: {error.strerror or error}") from None
        except sqlite3.Error as error:
            raise DataError(
                f"{tempfile.gettempdir()}: {error}; name another folder for temporary files: TMPDIR=PATH"
            ) from None
    if arguments.json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        _show(folder, told)
    if not told["items"]:
        reasons = {**{f"refused: {reason}": n for reason, n in told["refused"].items()}, **told["rejected"]}
        most = max(reasons, key=lambda reason: reasons[reason], default="there was nothing to work on")
        hint = f"; -T language= is {folder.pipeline.language!r}" if "another language" in told["refused"] else ""
        raise DataError(f"{path}: no item was kept, most often for: {most}{hint}; see {path / REJECTS}")
    status = tell_not_compared(found)
    if left := told["documents_not_done"]:
        print(f"halu-tasks: {left} of {folder.documents_planned} documents are not in the dataset", file=sys.stderr)
        status = DONE_IN_PART
    return status


def _collected(folder: Folder, arguments: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    """What became of the documents, when the dataset is written, and the dataset's quality."""
    path, pipeline = folder.path, folder.pipeline
    parts = _parts(folder, partial=arguments.partial)
    tally = Tally(Rates(pipeline.checks))
    made = path / (DATASET + ".part")
    shutil.rmtree(made, ignore_errors=True)
    reject, end = rejects_to(path / (REJECTS + ".part"))
    try:
        with near_filter(arguments.near or pipeline.near, arguments.embeddings) as duplicates:
            found = items(pipeline, in_parts(folder, parts), tally, reject, duplicates.add)
            files = write_dataset(pipeline, found, made)
        if arguments.balance:
            files = _balance(folder, made, tally, reject)
    finally:
        end()
    told = _told(folder, tally, files)
    facts = {name: told[name] for name in ("documents_not_done", "refused", "rates", "rejected", "dropped")}
    facts |= {"licences": dict(sorted(tally.licences.items())), "licence": arguments.licence}
    facts["near"] = arguments.near or pipeline.near
    quality = describe(folder, made, facts, [Path(named) for named in arguments.against])
    atomic_write_text(path / COLLECTED, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    (path / (REJECTS + ".part")).replace(path / REJECTS)
    replace_folder(made, path / DATASET)
    return told, quality


def _parts(folder: Folder, *, partial: bool) -> list[int]:
    """The parts to collect. Raises DataError where one is not done, unless `partial`, or anything is damaged."""
    if folder.has_documents:
        folder.check_documents()
    undone = []
    for number in folder.numbers:
        logs = logs_of(folder, number)
        if not logs or not logs[-1].finished:
            undone.append(f"part {number + 1} {f'ended as {logs[-1].state}' if logs else 'was not begun'}")
    if undone and not partial:
        raise DataError(
            f"{folder.path}: {len(undone)} of {folder.parts} parts are not done ({undone[0]}); run halu-tasks "
            "build again, or collect what there is with --partial"
        )
    return folder.numbers


def _balance(folder: Folder, made: Path, tally: Tally, reject: Any) -> dict[str, int]:
    """The dataset in `made` again, with as many items of each kind as there are of the rarest."""
    least = min(tally.kinds.values(), default=0)
    limits = dict.fromkeys(tally.kinds, least)
    even = made.with_name(made.name + ".even")
    shutil.rmtree(even, ignore_errors=True)

    def found() -> Iterator[Any]:
        yield from balanced(items_of(made), limits, tally, reject)

    files = write_dataset(folder.pipeline, found(), even)
    replace_folder(even, made)
    return files


def _told(folder: Folder, tally: Tally, files: dict[str, int]) -> dict[str, Any]:
    """What became of the documents, as JSON values."""
    counts = tally.rates.counts()
    return {
        "folder": str(folder.path),
        "documents": tally.documents,
        "documents_not_done": folder.plan["documents"] - tally.documents,
        "refused": dict(tally.refused),
        "drafts": tally.drafts,
        "rates": {
            name: {"passed": counts[name][0], "of": counts[name][1], **estimate._asdict()}
            for name, estimate in tally.rates.estimates().items()
        },
        "rejected": {f"{check}: {reason}": number for (check, reason), number in tally.failures.most_common()},
        "dropped": dict(tally.dropped),
        "items": dict(Counter(tally.kinds)),
        "files": files,
        "cost": dict(tally.cost),
    }


def _show(folder: Folder, told: dict[str, Any]) -> None:
    refused = sum(told["refused"].values())
    print(f"{told['documents']} documents, {refused} refused, {told['documents_not_done']} not done")
    rows = [
        [
            name,
            str(own["passed"]),
            str(own["of"]),
            f"{own['value']:.1%}",
            format_interval(own["low"], own["high"], ".1%", NONE),
        ]
        for name, own in told["rates"].items()
    ]
    print(table(["check", "passed", "of", "rate", "95% interval"], rows, right=(1, 2, 3)))
    reasons = [(f"refused: {reason}", number) for reason, number in told["refused"].items()]
    reasons += told["rejected"].items()
    reasons += [(f"dropped: {reason}", number) for reason, number in told["dropped"].items()]
    if reasons:
        print("\n" + table(["reason", "times"], [[reason, str(n)] for reason, n in reasons], right=(1,)))
    dataset = folder.path / DATASET
    print("\n" + table(["file", "rows"], [[str(dataset / name), str(n)] for name, n in told["files"].items()], (1,)))
    print(f"\ncard: {dataset / CARD}; quality: halu-tasks quality {folder.path}")
