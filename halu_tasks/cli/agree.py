"""`halu-tasks agree`: how far several sets of replies to the same items agree."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from halu_tasks.cli import DONE_IN_PART, options_of
from halu_tasks.cli.tables import estimates_table
from halu_tasks.errors import DataError, UsageError
from halu_tasks.items import Item, Reply
from halu_tasks.replies.predictions import check_targets, read_predictions, unknown_id, with_target
from halu_tasks.scorers.metrics import as_json
from halu_tasks.scorers.statistics.agreement import agreement
from halu_tasks.tasks import Built, build

GOLD = "gold"


def run(arguments: argparse.Namespace) -> int:
    built = build(arguments.task, options_of(arguments))
    if built.task.judged:
        raise UsageError(f"agreement is of labels, and {built.task.name} asks for text")
    paths = [Path(path) for path in arguments.predictions]
    if len(paths) + arguments.gold < 2:
        raise UsageError("agreement is of two raters or more; name two files, or one and --gold")
    files = [_replies(path, built, arguments.id_field, arguments.output_field) for path in paths]
    items = [item for item in built.items if not arguments.partial or all(item.id in file for file in files)]
    if not items:
        raise DataError(f"no id of {built.task.name} is in every file")
    raters = {
        name: [_label(built, item, file.get(item.id)) for item in items]
        for name, file in zip(_names(paths), files, strict=True)
    }
    if arguments.gold:
        raters[GOLD] = [item.target for item in items]
    unread = {name: sum(label is None for label in labels) for name, labels in raters.items()}
    found = agreement(raters, [item.cluster for item in items])
    missing = {path: sum(item.id not in file for item in items) for path, file in zip(paths, files, strict=True)}
    for path, number in missing.items():
        if number:
            told = f"{path}: has no reply to {number} of {len(items)} items, which count as without a label"
            print(f"halu-tasks: {told}; --partial compares the ids that are in every file", file=sys.stderr)
    status = DONE_IN_PART if any(missing.values()) else 0
    if arguments.json:
        figures = as_json(found)
        shown = {
            "task": built.task.name,
            "scoring": built.options.scoring,
            "data": built.located.kind,
            "n": len(items),
            "unparsed": unread,
            "metrics": figures["metrics"],
            "intervals": figures["intervals"],
            "version": built.version,
        }
        print(json.dumps(shown, ensure_ascii=False, indent=2))
        return status
    part = " (partial: only the ids in every file)" if arguments.partial else ""
    told = ", ".join(f"{name} {number}" for name, number in unread.items())
    head = f"{built.task.name} {built.version}  scoring: {built.options.scoring}  data: {built.located.kind}"
    print(f"{head}  {len(items)} items{part}")
    print(f"without a label, which counts as a label of its own: {told}\n")
    print(estimates_table("figure", found))
    return status


def _names(paths: list[Path]) -> list[str]:
    """The raters' names: those of their files, else of their folders, else the paths, the first that tell all
    apart.
    """
    for names in ([path.stem for path in paths], [path.parent.name for path in paths], [str(path) for path in paths]):
        if all(count == 1 and name not in ("", GOLD) for name, count in Counter(names).items()):
            return names
    raise UsageError(f"predictions {max(paths, key=paths.count)} are named twice")


def _replies(path: Path, built: Built, id_field: str, output_field: str) -> dict[str, Reply]:
    found = read_predictions(path, id_field, output_field)
    check_targets(path, found, built.task, built.options)
    known = {item.id for item in built.items}
    if unknown := {id: prediction for id, prediction in found.items() if id not in known}:
        raise unknown_id(path, unknown, built.task)
    return {id: prediction.reply for id, prediction in found.items()}


def _label(built: Built, item: Item, reply: Reply | None) -> str | None:
    """The label that a reply gives the item, in the item's own order of answers; None where it gives none."""
    if reply is None:
        return None
    score = built.task.score(built.options.scoring, with_target(item, reply.target), reply)
    if isinstance(score.target, list):
        raise UsageError(f"agreement is of labels, and {built.task.name} asks for text")
    answer = score.answer
    if not isinstance(answer, str) or reply.target in (None, item.target):
        return answer if isinstance(answer, str) else None
    return next(label for label in built.task.labels if label != answer)
