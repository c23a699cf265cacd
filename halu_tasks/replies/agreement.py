"""How far several sets of replies to the same items agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.replies.predictions import check_predictions, read_predictions, with_target
from halu_tasks.scorers.metrics import Estimate, as_json
from halu_tasks.scorers.statistics.agreement import agreement
from halu_tasks.tasks import Built, build

GOLD = "gold"
"""The rater that gives the gold labels."""


@dataclass(frozen=True, kw_only=True)
class AgreementRequest:
    """Whose labels to compare.

    Attributes:
        predictions: The raters' predictions files.
        id_field: The field of the ids.
        output_field: The field of the replies.
        gold: Compare with the gold labels, too.
        partial: Compare only the items in every file; otherwise, a missing reply counts as one without a label.
    """

    predictions: Sequence[Path]
    id_field: str
    output_field: str
    gold: bool = False
    partial: bool = False


@dataclass(frozen=True)
class Agreement:
    """The agreement of raters.

    Attributes:
        built: The task.
        items: The number of items.
        unparsed: The number of items without a label, by rater.
        missing: The number of items without a reply, by file.
        measures: The figures, with the number of items that each rests on.
    """

    built: Built
    items: int
    unparsed: Mapping[str, int]
    missing: Mapping[Path, int]
    measures: Mapping[str, tuple[int, Estimate | None]]

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        figures = as_json({name: estimate for name, (_, estimate) in self.measures.items() if estimate})
        return {
            "task": self.built.task.name,
            "scoring": self.built.options.scoring,
            "data": self.built.located.kind,
            "n": self.items,
            "unparsed": dict(self.unparsed),
            "metrics": figures["metrics"],
            "intervals": figures["intervals"],
            "items": {name: items for name, (items, _) in self.measures.items()},
            "version": self.built.version,
        }


def measure_agreement(task: str, options: Options, request: AgreementRequest) -> Agreement:
    """Measure the agreement of several sets of replies.

    Args:
        task: The task's name, or the path of a task file.
        options: The task's options.
        request: Whose labels to compare.

    Raises:
        UsageError: The task has no labels, or there are fewer than two raters.
        DataError: A file is damaged, an id is unknown, or no item is in every file.
    """
    built = build(task, options)
    if built.task.judged:
        raise _no_labels(built)
    paths = request.predictions
    if len(paths) + request.gold < 2:
        raise UsageError("agreement needs at least two raters; name two files, or one and --gold")
    files = [_replies(path, built, request) for path in paths]
    items = [item for item in built.items if not request.partial or all(item.id in file for file in files)]
    if not items:
        raise DataError(f"no id of {built.task.name} is in every file")
    raters = {
        name: [_label(built, item, file.get(item.id)) for item in items]
        for name, file in zip(_rater_names(paths), files, strict=True)
    }
    if request.gold:
        raters[GOLD] = [item.target for item in items]
    return Agreement(
        built=built,
        items=len(items),
        unparsed={name: sum(label is None for label in labels) for name, labels in raters.items()},
        missing={path: sum(item.id not in file for item in items) for path, file in zip(paths, files, strict=True)},
        measures=agreement(raters, [item.cluster for item in items]),
    )


def _no_labels(built: Built) -> UsageError:
    return UsageError(f"agreement is only defined for labels, and replies to {built.task.name} have none")


def _rater_names(paths: Sequence[Path]) -> list[str]:
    """Name raters after their files, or their folders, or the paths: the first of these that are all different."""
    for names in ([path.stem for path in paths], [path.parent.name for path in paths], [str(path) for path in paths]):
        if all(count == 1 and name not in ("", GOLD) for name, count in Counter(names).items()):
            return names
    raise UsageError(f"predictions {max(paths, key=list(paths).count)} are named twice")


def _replies(path: Path, built: Built, request: AgreementRequest) -> dict[str, Reply]:
    predictions = read_predictions(path, request.id_field, request.output_field)
    check_predictions(path, predictions, built)
    return {id: prediction.reply for id, prediction in predictions.items()}


def _label(built: Built, item: Item, reply: Reply | None) -> str | None:
    """Return the label that a reply gives, in the item's order of answers; None if it gives none."""
    if reply is None:
        return None
    score = built.task.score(built.options.scoring, with_target(item, reply.target), reply)
    if isinstance(score.target, list):
        raise _no_labels(built)
    answer = score.answer
    if not isinstance(answer, str) or reply.target in (None, item.target):
        return answer if isinstance(answer, str) else None
    # the reply was to the other order, where the other label means the same
    return next(label for label in built.task.labels if label != answer)
