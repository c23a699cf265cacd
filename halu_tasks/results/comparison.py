"""Comparing runs on the same items: their figures, costs and differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from halu_tasks.errors import DataError, UsageError, did_you_mean
from halu_tasks.results.comparability import not_paired, reordered
from halu_tasks.results.published import Published, published_for
from halu_tasks.results.run import Run
from halu_tasks.scorers.methods.cost import total
from halu_tasks.scorers.metrics import Estimate, Metric, as_json, estimates
from halu_tasks.scorers.statistics.bootstrap import Paired, paired_bootstrap
from halu_tasks.scorers.statistics.significance import McNemar, holm, items_needed, mcnemar
from halu_tasks.tasks import Task


class Tested(NamedTuple):
    """The difference between two runs in one metric, with significance tests.

    Attributes:
        run: The number of the run, from 1, from whose figure the other is subtracted.
        minus: The number of the run whose figure is subtracted.
        metric: The metric's name.
        higher_is_better: None if neither direction is better.
        paired: The difference with its interval.
        only_run: Items that only `run` has right; None if items are not simply right or wrong.
        only_minus: Items that only `minus` has right; None if items are not simply right or wrong.
        mcnemar: McNemar's exact test of these counts.
        needed: The number of items needed to detect a difference of this size.
    """

    run: int
    minus: int
    metric: str
    higher_is_better: bool | None
    paired: Paired
    only_run: int | None
    only_minus: int | None
    mcnemar: McNemar | None
    needed: int | None


@dataclass(frozen=True)
class Comparison:
    """Several runs compared with the first of them.

    Attributes:
        runs: The runs; the others are compared with the first.
        metrics: The names of the metrics that are shown.
        figures: For each run, the metrics that are defined.
        costs: For each run, its costs, or None if none were recorded.
        settings: For each run, what distinguishes it from the others, besides its method and models.
        tested: The differences: one for each run after the first and each metric that is defined for both.
        notes: What readers need to know to interpret the figures.
        published: Figures in papers for the same task and metrics.
    """

    runs: Sequence[Run]
    metrics: Sequence[str]
    figures: Sequence[dict[str, Estimate]]
    costs: Sequence[dict[str, float] | None]
    settings: Sequence[Sequence[str]]
    tested: Sequence[Tested]
    notes: Sequence[str]
    published: Sequence[Published]

    def as_json(self) -> dict[str, Any]:
        """Convert to plain JSON values, in which runs are numbered from 1."""
        first = self.runs[0]
        return {
            "task": first.task,
            "scoring": first.scoring,
            "data": first.provenance["data"],
            "n": len(first.scores),
            "runs": [
                {
                    "run": number,
                    "source": run.source,
                    "harness": run.harness,
                    "method": run.method,
                    "steps": [step._asdict() for step in run.steps],
                    "model": run.model,
                    "roles": run.roles,
                    "settings": run.settings,
                    "version": run.version,
                    "n": len(run.scores),
                    **run.unanswered,
                    **as_json(figures),
                    "cost": cost,
                }
                for number, (run, figures, cost) in enumerate(zip(self.runs, self.figures, self.costs, strict=True), 1)
            ],
            "notes": list(self.notes),
            "published": [asdict(figure) for figure in self.published],
        }


def compare(runs: Sequence[Run], metrics: Sequence[str] = ()) -> Comparison:
    """Compare runs by some metrics.

    Args:
        runs: The runs; the others are compared with the first.
        metrics: Names of metrics; the task's headline metric if empty.

    Raises:
        DataError: Two runs cannot be compared.
        UsageError: The task has no such metric.
    """
    first, *others = runs
    for other in others:
        if why := not_paired(first, other):
            differences = "; ".join(f"it {unlike}" for unlike in why)
            raise DataError(f"{other.source} cannot be compared with {first.source}: {differences}")
    tasks = list({run.task: run.benchmark_task for run in runs}.values())
    chosen = chosen_metrics(tasks[0], first.scoring, metrics)
    for task in tasks[1:]:
        # the other tasks must have the first task's headline metric, too
        chosen_metrics(task, first.scoring, [metric.name for metric in chosen])
    names = [metric.name for metric in chosen]
    reordered_items = [(number, reordered(first, other)) for number, other in enumerate(others, 2)]
    return Comparison(
        runs=runs,
        metrics=names,
        figures=[estimates(chosen, run.scores) for run in runs],
        costs=[total(run.costs) if run.costs else None for run in runs],
        settings=_settings(runs),
        tested=[tested for number in range(2, len(runs) + 1) for tested in _test(chosen, runs, number)],
        notes=[
            f"run {number} was asked {items:,} of the items with the answers in another order than run 1"
            for number, items in reordered_items
            if items
        ],
        published=[figure for task in tasks for figure in published_beside(task, names)],
    )


def _test(metrics: Sequence[Metric], runs: Sequence[Run], number: int) -> list[Tested]:
    """Test the run of that number, from 1, against the first one."""
    scores, first_scores = runs[number - 1].scores, runs[0].scores
    results = []
    for metric in metrics:
        paired = paired_bootstrap(metric, [scores, first_scores]).get((0, 1))
        if paired is None:
            continue
        test = mcnemar(metric, scores, first_scores)
        right, other = alone_right(metric, test) if test else (None, None)
        results.append(
            Tested(number, 1, metric.name, metric.higher_is_better, paired, right, other, test, items_needed(paired))
        )
    return results


def alone_right(metric: Metric, test: McNemar) -> tuple[int, int]:
    """Count the items that only the first of two tested runs has right, and those that only the second has right."""
    counts = test.first_higher, test.second_higher
    return counts if metric.higher_is_better else counts[::-1]


def corrected(tested: Sequence[Tested]) -> list[tuple[float | None, float | None]]:
    """Correct p values by Holm's method over all differences.

    Returns:
        For each difference, the corrected p values of the bootstrap and of McNemar's test.
    """
    paired = holm([difference.paired.p for difference in tested])
    exact = holm([difference.mcnemar.p if difference.mcnemar else None for difference in tested])
    return list(zip(paired, exact, strict=True))


def tested_as_json(tested: Sequence[Tested]) -> list[dict[str, Any]]:
    """Convert differences to plain JSON values, with their corrected p values."""
    return [
        {
            "run": difference.run,
            "minus": difference.minus,
            "metric": difference.metric,
            "higher_is_better": difference.higher_is_better,
            **difference.paired._asdict(),
            "p_holm": p,
            "mcnemar": {
                "only_run": difference.only_run,
                "only_minus": difference.only_minus,
                "left_out": difference.mcnemar.unknown,
                "p": difference.mcnemar.p,
                "p_holm": exact,
            }
            if difference.mcnemar
            else None,
            "items_needed": difference.needed,
        }
        for difference, (p, exact) in zip(tested, corrected(tested), strict=True)
    ]


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
    return [known[name] for name in dict.fromkeys(names or [task.headline])]


def _settings(runs: Sequence[Run]) -> list[list[str]]:
    """List for each run the marks and settings that not all runs share."""
    tasks = {run.task for run in runs}
    harnesses = {run.harness for run in runs}
    descriptions = [
        [
            *([run.task] if len(tasks) > 1 else []),
            *([run.harness] if len(harnesses) > 1 else []),
            *run.version_tags,
            *(f"{name}={value}" for name, value in run.settings.items()),
        ]
        for run in runs
    ]
    return [
        [text for text in description if not all(text in others for others in descriptions)]
        for description in descriptions
    ]


def published_beside(task: Task, metrics: Sequence[str]) -> list[Published]:
    """Look up the published figures of a task for some metrics.

    For a metric at a tuned threshold without a published figure, this is the figure of the metric without `_tuned`.
    """
    figures = published_for(task)
    printed = {figure.metric for figure in figures}
    names = [name if name in printed else name.removesuffix("_tuned") for name in metrics]
    return [figure for name in dict.fromkeys(names) for figure in figures if figure.metric == name]
