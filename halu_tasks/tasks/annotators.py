"""The human ceiling: what annotators score who are scored as models are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from halu_tasks.core.items import Item, Reply
from halu_tasks.scorers.annotators import POOL, annotators_alpha, by_annotator, in_mode, pooled
from halu_tasks.scorers.answer import INFERRED, NO_ANSWER
from halu_tasks.scorers.columns import Columns
from halu_tasks.scorers.metrics import Estimate, as_json, estimates
from halu_tasks.tasks.task import Task


class HumanCeiling(NamedTuple):
    """The figures of annotators, and how far they agree.

    Attributes:
        estimates: The metrics of what each annotator says of an item, with that of the others, pooled, as the gold.
        alpha: Krippendorff's alpha, of labels or of whether each character is marked; None if it is undefined.
        pool: How the others are pooled.
        items: The number of items with two or more annotators, of which alone this is.
        annotators: The number of annotators.
        undefined: The metrics that are undefined, since the pooled gold of all items is of one class.
    """

    estimates: Mapping[str, Estimate]
    alpha: Estimate | None
    pool: str
    items: int
    annotators: int
    undefined: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """What this is, in a line."""
        people = f"each of {self.annotators:,} annotators against the others (pool: {self.pool})"
        note = (
            f"; {', '.join(self.undefined)} undefined, as the gold of these is of one class" if self.undefined else ""
        )
        return f"human ceiling: {people}, {self.items:,} items with two or more{note}"

    def as_json(self) -> dict[str, Any]:
        """Convert the figures to JSON values."""
        alpha = as_json({"krippendorff_alpha": self.alpha} if self.alpha else {})
        counts = {"pool": self.pool, "items": self.items, "annotators": self.annotators, "undefined": self.undefined}
        return {**as_json(self.estimates), "agreement": alpha, **counts}


def human_ceiling(task: Task, mode: str, items: Iterable[Item]) -> HumanCeiling | None:
    """Score each annotator of items as a model, against the others.

    Args:
        task: The task.
        mode: The scoring mode, `strict` or `paper`.
        items: The items, each once.

    Returns:
        The figures, with intervals over clusters of items; None if no item has two annotators.
    """
    answer, oracle = task.rules.answer, task.prompts.oracle
    known = {item.id: (item, people) for item in items if len(people := by_annotator(item)) > 1}
    scores = []
    for item, people in known.values():
        for who, own in people.items():
            others = [record for other, records in people.items() if other != who for record in records]
            reply = Reply(oracle(in_mode(pooled(item, own, answer), mode)))
            scores.append(task.score(mode, pooled(item, others, answer), reply))
    if not scores:
        return None
    metrics = [metric for metric in task.scoring[mode].metrics if metric.name not in (*NO_ANSWER, INFERRED)]
    shared = [item for item, _ in known.values()]
    names = {who for _, people in known.values() for who in people}
    pool = str(shared[0].gold[POOL])
    figures, alpha = estimates(metrics, scores), annotators_alpha(shared, answer, mode)
    compared = (m for m in metrics if len(m.of_classes(Columns.of([])).T) > 1 and not m.requires_option)
    undefined = tuple(m.name for m in compared if m.name not in figures)
    return HumanCeiling(figures, alpha, pool, len(shared), len(names), undefined)
