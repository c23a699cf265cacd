"""How far several sets of replies to the same items agree."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.items import Item
from halu_tasks.core.options import Options
from halu_tasks.replies.predictions import ID_FIELD, OUTPUT_FIELD, PredictionRow, read_predictions, with_target
from halu_tasks.scorers.metrics import as_json
from halu_tasks.scorers.statistics.agreement import agreement
from halu_tasks.tasks import Evaluation, build

GOLD = "gold"
"""The rater that gives the gold labels."""


def measure_agreement(
    task: str,
    options: Options,
    paths: Sequence[str],
    *,
    id_field: str = ID_FIELD,
    output_field: str = OUTPUT_FIELD,
    partial: bool = False,
    gold: bool = False,
) -> tuple[dict[str, Any], Mapping[str, int]]:
    """Measure the agreement of several sets of replies.

    Args:
        task: The task's name, or the path of a task file.
        options: The task's options.
        paths: The raters' files.
        id_field: The field of the ids.
        output_field: The field of the replies.
        partial: Compare only the items in every file; otherwise, a missing reply counts as one without a label.
        gold: Compare with the gold labels, too.

    Returns:
        The figures as JSON values, and the number of items without a reply, by file.

    Raises:
        UsageError: The task has no labels, or there are fewer than two raters.
        DataError: A file is damaged, an id is unknown, or no item is in every file.
    """
    evaluation = build(task, options)
    if evaluation.task.scoring.read is None:
        raise UsageError(f"agreement is only defined for labels, and replies to {evaluation.task.name} have none")
    if len(paths) + gold < 2:
        raise UsageError("agreement needs at least two raters; name two files, or one and --gold")
    files = [read_predictions(Path(path), id_field, output_field, evaluation) for path in paths]
    items = [item for item in evaluation.items if not partial or all(item.id in file for file in files)]
    if not items:
        raise DataError(f"no id of {evaluation.task.name} is in every file")
    raters = {
        name: [_label(evaluation, item, file.get(item.id)) for item in items]
        for name, file in zip(_rater_names(paths), files, strict=True)
    }
    if gold:
        raters[GOLD] = [item.target for item in items]
    measures = agreement(raters, [item.cluster for item in items])
    record = {
        "task": evaluation.task.name,
        "scoring": evaluation.options.scoring,
        "data": evaluation.located.kind,
        "n": len(items),
        "unparsed": {name: sum(label is None for label in labels) for name, labels in raters.items()},
        **as_json({name: estimate for name, (_, estimate) in measures.items() if estimate}),
        "items": {name: items for name, (items, _) in measures.items()},
        "version": evaluation.version,
    }
    return record, {path: sum(item.id not in file for item in items) for path, file in zip(paths, files, strict=True)}


def _rater_names(paths: Sequence[str]) -> Sequence[str]:
    """Name raters after their files, folders or paths, whichever are all different."""
    for names in ([Path(path).stem for path in paths], [Path(path).parent.name for path in paths], paths):
        if all(count == 1 and name not in ("", GOLD) for name, count in Counter(names).items()):
            return names
    raise UsageError(f"predictions {max(paths, key=list(paths).count)} are named twice")


def _label(evaluation: Evaluation, item: Item, prediction: PredictionRow | None) -> str | None:
    """Return the label of a reply in the item's order of answers; None if it has none."""
    if prediction is None:
        return None
    reply = prediction.reply
    answer = evaluation.task.score(evaluation.options.scoring, with_target(item, reply.target), reply).answer
    if not isinstance(answer, str):
        return None
    if reply.target in (None, item.target):
        return answer
    # the reply was to the other order, where the other label means the same
    return next(label for label in evaluation.task.scoring.own_targets if label != answer)
