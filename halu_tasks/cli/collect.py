"""`halu-tasks collect`: the logs of a build to a dataset."""

from __future__ import annotations

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from halu_tasks.builders.adopt import adopt
from halu_tasks.builders.collect import Tally, balanced, items, rejects_to
from halu_tasks.builders.describe import COLLECTED, describe
from halu_tasks.builders.folder import DATASET, PLAN, REJECTS, Folder, items_of, replace_folder, whole, write_dataset
from halu_tasks.builders.inspect_outcomes import BuildLog, build_logs, in_parts
from halu_tasks.builders.near_embeddings import near_filter
from halu_tasks.builders.outcomes import KEPT, OVERALL, Rates
from halu_tasks.cli.tables import table
from halu_tasks.errors import DataError, UsageError


def run(arguments: argparse.Namespace) -> None:
    path = Path(arguments.folder)
    if not (path / PLAN).is_file():
        if not arguments.output:
            raise UsageError(f"{path}: holds no build; to collect logs of Inspect name a folder with -o")
        path = adopt(path, Path(arguments.output)).path
    elif arguments.output:
        raise UsageError(f"{path}: is a build's folder, which its dataset is written to; leave -o out")
    collect(path, arguments)


def collect(path: Path, arguments: argparse.Namespace) -> None:
    """Write the dataset of a build's folder, and print what became of its documents."""
    folder = Folder(path)
    parts = _parts(folder, partial=arguments.partial)
    pipeline = folder.pipeline
    tally = Tally(Rates(pipeline.checks))
    made = path / (DATASET + ".part")
    shutil.rmtree(made, ignore_errors=True)
    reject, end = rejects_to(path / (REJECTS + ".part"))
    try:
        with near_filter(arguments.near or pipeline.near, arguments.embeddings) as duplicates:
            found = items(pipeline, in_parts(parts), tally, reject, duplicates.add)
            files = write_dataset(pipeline, found, made)
        if arguments.balance:
            files = _balance(folder, made, tally, reject)
    finally:
        end()
    told = _told(folder, tally, files)
    facts = {name: told[name] for name in ("documents_not_done", "refused", "rates", "rejected", "dropped")}
    facts |= {"licences": dict(sorted(tally.licences.items())), "licence": arguments.licence}
    describe(folder, made, facts, [Path(named) for named in arguments.against])
    whole(path / COLLECTED, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    (path / (REJECTS + ".part")).replace(path / REJECTS)
    replace_folder(made, path / DATASET)
    if arguments.json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        _show(folder, tally, files)


def _parts(folder: Folder, *, partial: bool) -> list[list[BuildLog]]:
    """The logs of each part. Raises DataError where one is not done, unless `partial`."""
    found, undone = [], []
    for number in range(folder.parts):
        logs = build_logs(folder.logs(number)) if folder.logs(number).is_dir() else []
        if not logs or not logs[-1].finished:
            undone.append(f"part {number + 1} {f'ended as {logs[-1].state}' if logs else 'was not begun'}")
        found.append(logs)
    if undone and not partial:
        raise DataError(
            f"{folder.path}: {len(undone)} of {folder.parts} parts are not done ({undone[0]}); run halu-tasks build "
            "again, or collect what there is with --partial"
        )
    return found


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


def _show(folder: Folder, tally: Tally, files: dict[str, int]) -> None:
    rates, counts = tally.rates.estimates(), tally.rates.counts()
    undone = folder.plan["documents"] - tally.documents
    print(f"{tally.documents} documents, {sum(tally.refused.values())} refused, {undone} not done")
    rows = [
        [name, str(counts[name][0]), str(counts[name][1]), f"{e.value:.1%}", _interval(e)] for name, e in rates.items()
    ]
    print(table(["check", "passed", "of", "rate", "95% interval"], rows))
    reasons = [[f"refused: {reason}", str(number)] for reason, number in tally.refused.most_common()]
    reasons += [[f"{check}: {reason}", str(n)] for (check, reason), n in tally.failures.most_common()]
    reasons += [[f"dropped: {reason}", str(number)] for reason, number in tally.dropped.most_common()]
    if reasons:
        print("\n" + table(["reason", "times"], reasons))
    print("\n" + table(["file", "rows"], [[f"{folder.path / DATASET / name}", str(n)] for name, n in files.items()]))


def _interval(estimate: Any) -> str:
    return "" if estimate.low is None else f"{estimate.low:.1%} to {estimate.high:.1%}"


__all__ = ["KEPT", "OVERALL", "collect", "run"]
