"""A column of a report, made of comparable runs: results, notes, and the figures of floors, people and papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

from halu_tasks.core.items import Item, Reply
from halu_tasks.replies.embedded import reads_prompts
from halu_tasks.replies.label_notes import comparison_note, decisive_metric
from halu_tasks.report.report_records import (
    Column,
    Condition,
    Floor,
    PublishedFigure,
    ReplacedRun,
    ReplyCounts,
    ReplyWarning,
    Result,
    SameRun,
    representative,
)
from halu_tasks.report.summary import joined
from halu_tasks.results.comparability import Entry, chosen_metrics, items_that_differ, other_targets, repeats
from halu_tasks.results.published import Published, published
from halu_tasks.results.run import Run
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.attempts import ACC_ATTEMPTED, ATTEMPTED, NET
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.judge import FAILED
from halu_tasks.scorers.kinds import Claims, Label
from halu_tasks.scorers.metrics import Metric, estimate, estimates
from halu_tasks.scorers.statistics.differences import difference, difference_where_both
from halu_tasks.scorers.statistics.planning import share_of_replies
from halu_tasks.tasks import Task
from halu_tasks.tasks.human_baseline import AnnotatorComparison, OtherAnnotators
from halu_tasks.text.number_format import format_estimate

# maximum number of entries that are named together
_NAMED = 3
# a difference in the share of attempted items from which on shares among them are said not to compare
_MOST_APART = 0.05


def column_of(
    runs: Mapping[Entry, Run],
    replaced: Mapping[Entry, Sequence[Run]],
    names: Sequence[str] = (),
    *,
    id: str,
    title: str,
    why: str,
) -> Column:
    """Make a column.

    Args:
        runs: The runs by entry.
        replaced: Runs that these replaced.
        names: The metrics that entries are compared by; if empty, the headline, or what labels make of it.
        id: The column's id.
        title: Its title.
        why: How it differs from the task's main column; empty for a main column.
    """
    first = representative(runs.values())
    task, mode, provenance = first.benchmark_task, first.scoring, first.provenance
    defined = {name for run in runs.values() for name in run.figures}
    scores = [score for run in runs.values() for score in run.scores]
    metrics = [metric for metric in task.metrics_of(mode, scores) if metric.name in defined]
    headline = next(iter(first.metrics().values()))
    decisive = decisive_metric(headline, metrics, (run.scores for run in runs.values()))
    compared = chosen_metrics(first, names) if names else [decisive]
    annotators = OtherAnnotators(task, mode)
    people = {
        entry: annotators.compare((answered.item, answered.given) for answered in run.answers)
        for entry, run in runs.items()
    }
    ceilings = (people[entry] for entry, run in runs.items() if run is first)
    column = Column(
        id=id,
        title=title,
        task=task.name,
        main=not why,
        why=why,
        notes=(),
        scoring=mode,
        data=provenance.data,
        headline=headline.name,
        compared_by=compared[0].name,
        higher_is_better=headline.higher_is_better,
        range=(headline.range[0], headline.range[1] if headline.range[1] != float("inf") else None),
        directions={metric.name: metric.higher_is_better for metric in metrics},
        condition=Condition(
            benchmark=task.benchmark,
            about=task.about,
            data_file=provenance.data_file,
            data_sha256=provenance.data_sha256,
            prompt_hash=provenance.prompt_hash,
            version=first.task_version,
            marks=first.version_tags,
            fewshot=provenance.fewshot,
            options=first.options,
            epochs=first.epochs,
            n=len(first.scores),
            of=first.expected_replies,
            clusters=len({score.cluster for score in first.scores}),
            human_ceiling=next((beside.people for beside in ceilings if beside), None),
        ),
        results={
            entry: _result(run, replaced.get(entry, ()), metrics, headline, people[entry])
            for entry, run in runs.items()
        },
        runs=runs,
        compared=compared,
        floors=list(_floors(first, metrics, headline, annotators)),
    )
    column.notes = list(_notes(column, metrics))
    column.published = list(_published(column))
    return column


def _result(
    run: Run, replaced: Sequence[Run], metrics: Sequence[Metric], headline: Metric, people: AnnotatorComparison | None
) -> Result:
    # the number of failures, since the share may be one of sentences, and undefined if the judge was asked of none
    failures = sum(verdict.label == FAILED for score in run.scores for verdict in score.verdicts)
    same = [repeats(run, earlier) for earlier in replaced]
    return Result(
        source=run.source,
        harness=run.harness,
        created=run.created,
        equal=[SameRun(earlier.source, earlier.harness, earlier.created) for earlier in compress(replaced, same)],
        version=run.version,
        settings={name: str(value) for name, value in run.settings.items()},
        method=run.method,
        judge=run.judge,
        n=len(run.scores),
        counts=ReplyCounts(
            outcomes={name: sum(score.outcome == name for score in run.scores) for name in NO_ANSWER},
            judge_failed=failures if run.benchmark_task.judge_spec and run.judge else None,
        ),
        metrics={metric.name: run.figures[metric.name] for metric in metrics if metric.name in run.figures},
        constant=run.constant,
        from_replies=share_of_replies(headline, run.scores) if run.epochs > 1 else None,
        beside_people=people.figures if people else {},
        cost=run.cost and {name: int(x) if x.is_integer() else round(x, 1) for name, x in run.cost.items()},
        warnings=[ReplyWarning(*one) for one in run.reply_warnings],
        superseded=[_superseded(earlier, run) for earlier, is_same in zip(replaced, same, strict=True) if not is_same],
    )


def _superseded(earlier: Run, later: Run) -> ReplacedRun:
    is_longer = len(later.scores) > len(earlier.scores)
    which = f"run on {len(later.items):,} items" if is_longer else "later run"
    why = f"{later.task}: replaced by the {which} of {later.created} ({later.source}), in which "
    why += f"{items_that_differ(earlier, later):,} items have other answers or scores"
    return ReplacedRun(earlier.source, earlier.created, why, earlier.program == later.program and not is_longer)


# --- figures for reference --------------------------------------------------------------------------


def _floors(run: Run, metrics: Sequence[Metric], headline: Metric, annotators: OtherAnnotators) -> Iterator[Floor]:
    """Compute the figures of uninformed replies, such as a constant answer, on a run's items."""
    task, mode = run.benchmark_task, run.scoring
    replies = [(answered.item, Reply(task.prompts.baseline(answered.item))) for answered in run.answers]
    scores = [task.score(mode, item, reply) for item, reply in replies]
    # without the key, the baseline is an empty reply, which says nothing of the task
    baseline = {"baseline": metrics} if "baseline" in task.values else {}
    people, beside = annotators.compare(replies), dict[str, Mapping[str, float]]()
    if people:
        beside = {"baseline": {name: figure.value for name, figure in people.replies.items()}, **people.floors}
    for reply, measured in {**baseline, **task.scorers[mode].fixed_replies}.items():
        for name, figure in estimates(measured, scores).items():
            yield Floor(reply, name, figure.value, name == headline.name, beside.get(reply, {}).get(name))
    constant = best_constant(task, mode, [answered.item for answered in run.answers], headline)
    if constant is not None:
        yield Floor("best constant", headline.name, constant, True, None)


def best_constant(task: Task, mode: str, items: Sequence[Item], metric: Metric) -> float | None:
    """Compute the best figure that one label for all items reaches, such as the most frequent one.

    Args:
        task: The task.
        mode: The mode, `strict` or `paper`.
        items: The items.
        metric: A metric of the answered labels alone.

    Returns:
        The figure; None if the task's answers are no labels, or if no direction of the metric is better.
    """
    answer = task.scoring.answer
    if not isinstance(answer, Label) or isinstance(answer, Claims) or metric.higher_is_better is None:
        return None
    of_labels = {item.target: item for item in items if item.target in answer.labels}
    replies = [Reply(task.prompts.oracle(item)) for item in of_labels.values()]
    scores = ([task.score(mode, item, reply) for item in items] for reply in replies)
    values = [figure.value for each in scores if (figure := estimate(metric, by_cluster(each)))]
    return (max if metric.higher_is_better else min)(values, default=None)


def _published(column: Column) -> Iterator[PublishedFigure]:
    """Collect the published figures for a column, except for those on the packaged sample."""
    # a task derived by users has another name, and no published figures
    for one in published(column.task):
        if one.metric in column.directions and is_shown(one, [column], column.scoring):
            yield published_figure(one, headline=one.metric == column.headline)


def is_shown(figure: Published, columns: Sequence[Column], scoring: str) -> bool:
    """Return whether a figure is shown with those of a mode.

    Figures for `paper` are shown with `strict` ones, too, for orientation; the page states their mode.
    """
    on_sample = any(column.data == "sample" for column in columns)
    return not on_sample and (scoring == "strict" or figure.scoring in ("both", scoring))


def published_figure(figure: Published, *, headline: bool) -> PublishedFigure:
    """Return a published figure as a record."""
    return PublishedFigure(
        headline=headline,
        model=figure.model,
        method=figure.method,
        metric=figure.metric,
        value=figure.value,
        scoring=figure.scoring,
        source=figure.source,
        note=" ".join(figure.note.splitlines()),
    )


# --- notes ------------------------------------------------------------------------------------------


def _notes(column: Column, metrics: Sequence[Metric]) -> Iterator[str]:
    """Say in what runs differ that readers need to know of, although they can be compared."""
    runs, first = column.runs, column.first
    if judged := comparison_note(column.benchmark_task, column.compared[0], [run.scores for run in runs.values()]):
        yield judged
    if len({run.items_hash for run in runs.values()}) > 1:
        sizes: dict[int, list[str]] = {}
        for entry, run in runs.items():
            sizes.setdefault(len(run.items), []).append(entry.label)
        parts = [
            f"{size:,} items for {joined(labels) if len(labels) <= _NAMED else f'{len(labels)} entries'}"
            for size, labels in sorted(sizes.items(), reverse=True)
        ]
        yield f"figures are of {joined(parts)}; two entries are compared on the items that both answered"
    ids = {entry.model: other_targets(first, run) for entry, run in runs.items()}
    if counts := {model: len(changed) for model, changed in ids.items() if changed}:
        low, high = min(counts.values()), max(counts.values())
        items = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        who = next(iter(counts)) if len(counts) == 1 else f"{len(counts)} models"
        yield f"for {who}, the answers of {items} items were in a different order than for {first.model}"
    prompt_hash = first.provenance.prompt_hash
    models = [run.model for run in runs.values() if run.provenance.prompt_hash != prompt_hash]
    if models and not any(map(reads_prompts, models)):
        yield f"{' and '.join(models)} had other prompts than the rest, but read none"
    if attempts := _attempts(column, {metric.name: metric for metric in metrics}):
        yield attempts


def _attempts(column: Column, metrics: Mapping[str, Metric]) -> str:
    """Say whose attempts differ most, and what is left of the difference on the items that both attempted."""
    models = ((entry, run) for entry, run in column.runs.items() if reads_prompts(run.model))
    shares = {entry: run.figures[ATTEMPTED] for entry, run in models if ATTEMPTED in run.figures}
    if len(shares) < 2 or not {ATTEMPTED, ACC_ATTEMPTED} <= metrics.keys():
        return ""
    least, most = (pick(shares, key=lambda entry: shares[entry].value) for pick in (min, max))
    runs = column.scores(most, least), column.scores(least, most)
    gap = difference(metrics[ATTEMPTED], *runs) if runs[0] else None
    if gap is None or gap.low is None or gap.low <= 0 or gap.value < _MOST_APART:
        return ""
    who = f"{most.label} attempts {shares[most].value:.2f} of the items and {least.label} {shares[least].value:.2f}"
    of_all = difference(metrics[ACC_ATTEMPTED], *runs)
    of_both = difference_where_both(metrics[ATTEMPTED], metrics[ACC_ATTEMPTED], *runs)
    if of_all and of_both:
        where = f"on the {of_both.items:,} items that both attempted"
        who += f"; their difference in {ACC_ATTEMPTED} is {format_estimate(of_all, '+.2f')}, and {where} "
        who += format_estimate(of_both, "+.2f")
    return f"{who}: shares of what is attempted compare only on the same items ({NET} is over all)"
