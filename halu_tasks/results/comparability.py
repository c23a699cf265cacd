"""Which runs can be compared with each other and by what, and why others cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.results.run import Run
from halu_tasks.scorers.metrics import Metric
from halu_tasks.scorers.statistics.differences import same_items
from halu_tasks.tasks import Task


class Unlike(NamedTuple):
    """How a run differs from another, as a predicate ("uses other data"), and what to do about it, if anything."""

    what: str
    do: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.do}" if self.do else self.what


def not_paired(first: Run, other: Run) -> list[Unlike]:
    """Explain why the items of two runs cannot be paired: different data, scoring or items.

    The method, the prompt and the model may differ.

    Returns:
        The differences of `other`; empty if the items can be paired.
    """
    if first.benchmark_task.benchmark != other.benchmark_task.benchmark:
        return [Unlike(f"is of the task {other.task}, which has other items than {first.task}")]
    differences = []
    if other.task == first.task and other.task_version != first.task_version:
        differences.append(Unlike(f"is of version {other.task_version} of the task, not {first.task_version}"))
    if other.scoring != first.scoring:
        again = _score_again(other, first.scoring)
        differences.append(Unlike(f"uses {other.scoring} scoring, not {first.scoring}", again))
    if other.judge != first.judge:
        differences.append(Unlike(f"is judged by {other.judge or 'no model'}, not {first.judge or 'no model'}"))
    if other.provenance.data_sha256 != first.provenance.data_sha256:
        return [*differences, Unlike(f"uses other data, {_data(other)}, not {_data(first)}")]
    if other.epochs != first.epochs:
        times = f"answers each item {other.epochs} times, not {first.epochs}"
        differences.append(Unlike(times, "run both with the same --epochs"))
    elif other.items_hash != first.items_hash:
        mismatch = same_items(first.scores, other.scores)
        same_number = len(other.scores) == len(first.scores)
        items = "has other items" if same_number else f"has {len(other.scores):,} items, not {len(first.scores):,}"
        differences.append(Unlike(items, f"{mismatch}; run both with the same --limit and options"))
    elif not differences and (ids := _other_targets(first, other)) and not first.benchmark_task.labels:
        differences.append(Unlike(f"has a different correct answer for {len(ids)} items, such as {ids[0]}"))
    return differences


def asked_otherwise(first: Run, other: Run) -> list[Unlike]:
    """List how the prompts of `other` differ from those of `first`, a run of the same task."""
    differences = []
    if (hash := other.provenance.prompt_hash) != first.provenance.prompt_hash:
        main = first.provenance.prompt_hash
        if hash:
            contrast = f"not {main}" if main else "and those of the others are unknown"
            differences.append(Unlike(f"has the prompts {hash}, {contrast}"))
        else:
            differences.append(Unlike("does not record how the model was asked"))
    options, other_options = first.asked, other.asked
    differences += [
        Unlike(f"has {name} {other_options[name]}, not {options[name]}")
        for name in options
        if name in other_options
        and None not in (options[name], other_options[name])
        and options[name] != other_options[name]
    ]
    return differences


def reordered(first: Run, other: Run) -> int:
    """Count the items of two comparable runs whose answers were shown in different orders.

    The correct answer of such an item has a different label in each run.
    """
    return len(_other_targets(first, other))


def chosen_metrics(task: Task, scoring: str, names: Sequence[str]) -> list[Metric]:
    """Look up metrics of a task by name.

    Args:
        task: The task.
        scoring: The mode, `strict` or `paper`.
        names: Names of metrics; the headline metric if empty.

    Raises:
        UsageError: The task has no such metric.
    """
    known = {metric.name: metric for metric in task.scoring[scoring].metrics}
    if unknown := [name for name in names if name not in known]:
        problem = f"{task.name} has no metric {unknown[0]!r} in {scoring}{did_you_mean(unknown[0], known)}"
        raise UsageError(f"{problem}; metrics: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names or [task.headline_metric(scoring).name])]


def _other_targets(first: Run, other: Run) -> list[str]:
    targets = {score.id: score.target for score in first.scores}
    return [score.id for score in other.scores if score.target != targets[score.id]]


def _score_again(run: Run, scoring: str) -> str:
    if not run.source.endswith(".eval"):
        return f"score or run it again as {scoring}"
    scorer = f"--scorer halu_tasks/halu_score -S scoring={scoring}"
    return f"score it again: inspect score {run.source} {scorer} --overwrite --action overwrite"


def _data(run: Run) -> str:
    return f"{run.provenance.data_file} ({run.provenance.data}, sha256 {run.provenance.data_sha256[:12]}…)"
