"""Comparing runs on the same items: their figures, costs and differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, UsageError, did_you_mean
from halu_tasks.replies.reference import comparison_note, decisive_metric
from halu_tasks.results.comparability import not_paired, reordered
from halu_tasks.results.paired_test import PairedTest, adjusted, paired_test, verdict
from halu_tasks.results.published import Published, published_for
from halu_tasks.results.run import Run
from halu_tasks.scorers.methods.cost import total
from halu_tasks.scorers.metrics import Estimate, Metric, as_json, estimates
from halu_tasks.scorers.statistics.bootstrap import paired_bootstrap
from halu_tasks.scorers.statistics.simultaneous import influence
from halu_tasks.tasks import Task


class Tested(NamedTuple):
    """A test of the difference between two runs of a comparison.

    Attributes:
        run: The number of the run, from 1, from whose figure the other is subtracted.
        minus: The number of the run whose figure is subtracted.
        test: The test, with `run` as the first and `minus` as the second run.
    """

    run: int
    minus: int
    test: PairedTest


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
        margin: The difference below which two runs count as equal; None if equality was not tested.
    """

    runs: Sequence[Run]
    metrics: Sequence[str]
    figures: Sequence[dict[str, Estimate]]
    costs: Sequence[dict[str, float] | None]
    settings: Sequence[Sequence[str]]
    tested: Sequence[Tested]
    notes: Sequence[str]
    published: Sequence[Published]
    margin: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Convert to plain JSON values, in which runs are numbered from 1."""
        first = self.runs[0]
        return {
            "task": first.task,
            "scoring": first.scoring,
            "data": first.provenance.data,
            "n": len(first.scores),
            "margin": self.margin,
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


def compare(runs: Sequence[Run], metrics: Sequence[str] = (), margin: float | None = None) -> Comparison:
    """Compare runs by some metrics.

    Args:
        runs: The runs; the others are compared with the first.
        metrics: Names of metrics; the task's headline metric if empty. Runs are compared by `<headline>_ppi` instead if
            all of them have it with an interval, and both are shown.
        margin: The difference below which two runs count as equal; None to test no equality.

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
    compared, judged = chosen, None
    if not metrics:
        scores = [run.scores for run in runs]
        decisive = decisive_metric(chosen[0], tasks[0].scoring[first.scoring].metrics, scores)
        compared, judged = [decisive], comparison_note(tasks[0], decisive, scores)
        chosen = chosen if decisive is chosen[0] else [*chosen, decisive]
    names = [metric.name for metric in chosen]
    reordered_items = [(number, reordered(first, other)) for number, other in enumerate(others, 2)]
    return Comparison(
        runs=runs,
        metrics=names,
        figures=[estimates(chosen, run.scores) for run in runs],
        costs=[total(run.costs) if run.costs else None for run in runs],
        settings=_settings(runs),
        tested=[tested for number in range(2, len(runs) + 1) for tested in _test(compared, runs, number, margin)],
        notes=[
            *([judged] if judged else []),
            *(
                f"in run {number}, the answers of {items:,} items were in a different order than in run 1"
                for number, items in reordered_items
                if items
            ),
        ],
        published=[figure for task in tasks for figure in published_beside(task, names)],
        margin=margin,
    )


def _test(metrics: Sequence[Metric], runs: Sequence[Run], number: int, margin: float | None) -> list[Tested]:
    """Test the run of that number, from 1, against the first one."""
    scores, first_scores = runs[number - 1].scores, runs[0].scores
    scope = runs[0].benchmark_task.benchmark
    results = []
    for metric in metrics:
        paired = paired_bootstrap(metric, [scores, first_scores], margin=margin).get((0, 1))
        if paired is None:
            continue
        influences = influence(metric, scores, scope), influence(metric, first_scores, scope)
        results.append(Tested(number, 1, paired_test(metric, scores, first_scores, paired, influences)))
    return results


def tested_as_json(tested: Sequence[Tested]) -> list[dict[str, Any]]:
    """Convert differences to plain JSON values, with p values that are adjusted for all of them."""
    p_values = adjusted([difference.test for difference in tested])
    return [
        {
            "run": run,
            "minus": minus,
            "metric": test.metric,
            "higher_is_better": test.higher_is_better,
            **test.paired._asdict(),
            "p_adjusted": p.p,
            "p_equal_adjusted": p.p_equal,
            "verdict": verdict(test, p),
            "mcnemar": {
                "only_run": test.only_first,
                "only_minus": test.only_second,
                "left_out": test.mcnemar.unknown,
                "p": test.mcnemar.p,
            }
            if test.mcnemar
            else None,
            "items_needed": test.items_needed and test.items_needed._asdict(),
        }
        for (run, minus, test), p in zip(tested, p_values, strict=True)
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
    return [known[name] for name in dict.fromkeys(names or [task.headline_metric(scoring).name])]


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
