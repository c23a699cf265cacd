"""Runs beside each other on the same items: their figures, what they cost, and by how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from halu_tasks.comparability import not_paired, reordered
from halu_tasks.errors import DataError, UsageError, did_you_mean
from halu_tasks.published import Published, published_for
from halu_tasks.runs import Run
from halu_tasks.scorers.bootstrap import Paired, paired_bootstrap
from halu_tasks.scorers.cost import total
from halu_tasks.scorers.metrics import Estimate, Metric, as_json, estimates
from halu_tasks.scorers.significance import McNemar, holm, items_needed, mcnemar
from halu_tasks.tasks import Task


class Tested(NamedTuple):
    """By how much a metric of one run differs from that of another, and what tests say of it.

    Attributes:
        run: the number of the run, from 1, whose figure is taken.
        minus: the number of that whose figure is subtracted.
        metric: its name.
        higher_is_better: None where neither direction is.
        paired: the difference with its interval.
        only_run, only_minus: items that only one of the two has right; None where items are not right or wrong.
        mcnemar: McNemar's exact test of those.
        needed: items that would tell the two apart if they differ by so much.
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
    """Runs beside each other.

    Attributes:
        runs: the first is the one that the others are compared with.
        metrics: names of the metrics that are shown.
        figures: for each run, those that are defined.
        costs: for each run, or None where none was recorded.
        settings: for each run, what tells it apart from the others beside its method and models.
        tested: for each run after the first and each metric that is defined for both, the difference.
        notes: what a reader must know.
        published: what papers print for the same task and metrics.
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
        """All of it as plain JSON values. Runs are named by their number, from 1."""
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
    """The runs beside each other, by `metrics`, the task's headline where none is named.

    Raises:
        DataError: two runs do not compare.
        UsageError: the task has no such metric.
    """
    first, *others = runs
    for other in others:
        if why := not_paired(first, other):
            told = "; ".join(f"it {unlike}" for unlike in why)
            raise DataError(f"{other.source} does not compare with {first.source}: {told}")
    asked = list({run.task: run.benchmark_task for run in runs}.values())
    chosen = chosen_metrics(asked[0], first.scoring, metrics)
    for task in asked[1:]:
        # the headline of the first, too, has to be a figure of the others
        chosen_metrics(task, first.scoring, [metric.name for metric in chosen])
    names = [metric.name for metric in chosen]
    turned = [(number, reordered(first, other)) for number, other in enumerate(others, 2)]
    return Comparison(
        runs=runs,
        metrics=names,
        figures=[estimates(chosen, run.scores) for run in runs],
        costs=[total(run.costs) if run.costs else None for run in runs],
        settings=_settings(runs),
        tested=[tested for number in range(2, len(runs) + 1) for tested in _tested(chosen, runs, number)],
        notes=[
            f"run {number} was asked {items:,} of the items with the answers in another order than run 1"
            for number, items in turned
            if items
        ],
        published=[figure for task in asked for figure in published_beside(task, names)],
    )


def _tested(metrics: Sequence[Metric], runs: Sequence[Run], number: int) -> list[Tested]:
    own, first = runs[number - 1].scores, runs[0].scores
    found = []
    for metric in metrics:
        paired = paired_bootstrap(metric, [own, first]).get((0, 1))
        if paired is None:
            continue
        test = mcnemar(metric, own, first)
        right, other = alone_right(metric, test) if test else (None, None)
        found.append(
            Tested(number, 1, metric.name, metric.higher_is_better, paired, right, other, test, items_needed(paired))
        )
    return found


def alone_right(metric: Metric, test: McNemar) -> tuple[int, int]:
    """How many items only the first of two tested runs has right, and only the second."""
    found = test.first_higher, test.second_higher
    return found if metric.higher_is_better else found[::-1]


def corrected(tested: Sequence[Tested]) -> list[tuple[float | None, float | None]]:
    """For each difference the p values of the bootstrap and of McNemar's test, corrected by Holm over all of them."""
    paired = holm([own.paired.p for own in tested])
    return list(zip(paired, holm([own.mcnemar.p if own.mcnemar else None for own in tested]), strict=True))


def tested_as_json(tested: Sequence[Tested]) -> list[dict[str, Any]]:
    """Differences as plain JSON values, with their corrected p values."""
    return [
        {
            "run": own.run,
            "minus": own.minus,
            "metric": own.metric,
            "higher_is_better": own.higher_is_better,
            **own.paired._asdict(),
            "p_holm": p,
            "mcnemar": {
                "only_run": own.only_run,
                "only_minus": own.only_minus,
                "left_out": own.mcnemar.unknown,
                "p": own.mcnemar.p,
                "p_holm": exact,
            }
            if own.mcnemar
            else None,
            "items_needed": own.needed,
        }
        for own, (p, exact) in zip(tested, corrected(tested), strict=True)
    ]


def chosen_metrics(task: Task, scoring: str, names: Sequence[str]) -> list[Metric]:
    """The metrics of that name, the headline where none is named. Raises UsageError for one that the task has not."""
    known = {metric.name: metric for metric in task.scoring[scoring].metrics}
    if unknown := [name for name in names if name not in known]:
        told = f"{task.name} has no metric {unknown[0]!r} in {scoring}{did_you_mean(unknown[0], known)}"
        raise UsageError(f"{told}; metrics: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names or [task.headline])]


def _settings(runs: Sequence[Run]) -> list[list[str]]:
    """For each run, its marks and settings that some other run has not."""
    tasks = {run.task for run in runs}
    harnesses = {run.harness for run in runs}
    told = [
        [
            *([run.task] if len(tasks) > 1 else []),
            *([run.harness] if len(harnesses) > 1 else []),
            *run.marks,
            *(f"{name}={value}" for name, value in run.settings.items()),
        ]
        for run in runs
    ]
    return [[text for text in own if not all(text in others for others in told)] for own in told]


def published_beside(task: Task, metrics: Sequence[str]) -> list[Published]:
    """What papers print; for a figure at a tuned threshold, where they print none under its name, that of the name
    without `_tuned`."""
    figures = published_for(task)
    printed = {figure.metric for figure in figures}
    wanted = [name if name in printed else name.removesuffix("_tuned") for name in metrics]
    return [figure for name in dict.fromkeys(wanted) for figure in figures if figure.metric == name]
