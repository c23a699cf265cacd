"""What is known of a judge's errors in a run, from better labels or an assumption, and what to say of it."""

from collections.abc import Iterable, Sequence

from halu_tasks.core.errors import UsageError
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.judge_correction import GIVEN, LABELS, unlabelled_kinds
from halu_tasks.scorers.metrics import Metric, estimate
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.intervals import FEWEST
from halu_tasks.tasks import Evaluation, Task

_UNCORRECTED = (
    "{headline} is what the verdicts say, which is not the truth if a judge gave them; better labels of some replies "
    "correct it "
    "(halu-tasks label verdicts, then --reference; docs/judges.md)"
)
_RAW = "differences are of {headline} as the judge says, and its error is not in them: no model is called better"


def check_reference_labels(evaluation: Evaluation) -> None:
    """Check the options about the judge's errors, before anything is generated.

    Raises:
        UsageError: The task has no judge, or its errors cannot be corrected in this way.
        DataError: The labels cannot be read, or do not fit the task.
    """
    judged, options, name = evaluation.task.judge_spec, evaluation.options, evaluation.task.name
    if not options.reference and not options.assume:
        return
    if judged is None:
        raise UsageError(f"task {name} has no judge, so it has no judge's errors to correct")
    if not judged.positive:
        raise UsageError(f"task {name}: its judge has no label that reports a hallucination (JudgeSpec.labels)")
    if options.assumption and options.assumption.precision is not None and judged.precision is None:
        raise UsageError(f"option assume: {name} has no figures for a precision; assume sensitivity and specificity")
    _ = evaluation.labels


def label_warnings(task: Task, scores: Sequence[ScoredReply]) -> list[str]:
    """Warn of labels that fit no reply of a run, and of labels that are too few for its figures."""
    number = next((score.facts[GIVEN] for score in scores if GIVEN in score.facts), None)
    if number is None:
        return []
    return unused_labels(task, round(number), number_used(scores)) + unfit_labels(task, scores)


def number_used(scores: Sequence[ScoredReply]) -> int:
    """Return how many labels of verdicts the scores have."""
    return round(sum(score.facts.get(LABELS, 0.0) for score in scores))


def unused_labels(task: Task, number: int, used: int) -> list[str]:
    """Warn of labels that fit no verdict."""
    if used >= number:
        return []
    return [
        f"{task.name}: {number - used} of {number} labels fit no verdict (they are of other replies or "
        "parts, or the judge failed) and are not used"
    ]


def unfit_labels(task: Task, scores: Sequence[ScoredReply]) -> list[str]:
    """Warn of labels of a run that are too few for its figures, or say nothing of a kind of verdicts."""
    assert task.judge_spec
    warnings: list[str] = []
    named = {f"reference_{name}" for name in task.judge_spec.measurements}
    if named and number_used(scores) and not any(named & score.facts.keys() for score in scores):
        labels = ", ".join(task.judge_spec.read.labels)
        warnings.append(f"some labels say yes or no, so shares of labels are not corrected; write {labels}")
    labelled = len({score.cluster for score in scores if score.facts.get(LABELS)})
    if labelled < FEWEST:
        few = f"labels of {labelled} replies are too few for an interval of the corrected rate, {FEWEST} are needed"
        warnings.append(few)
    else:
        warnings += [
            f"none of the {count:,} verdicts {task.judge_spec.in_words(kind)} has a label: they count as the judge "
            "says, and the interval allows for whatever they may be; label some of them (halu-tasks label verdicts)"
            for kind, count in unlabelled_kinds(task.judge_spec, scores).items()
        ]
    return [f"{task.name}: {warning}" for warning in warnings]


def uncorrected_note(task: Task, scores: Sequence[ScoredReply]) -> str | None:
    """Return a note that a judged rate is not the truth, unless its error is corrected or assumed."""
    if not _is_judged(task, scores):
        return None
    if any(name in score.facts for score in scores for name in (LABELS, "assumed_sensitivity_low")):
        return None
    return _UNCORRECTED.format(headline=task.headline)


def _is_judged(task: Task, scores: Iterable[ScoredReply]) -> bool:
    return task.judge_spec is not None and bool(task.judge_spec.positive) and any(score.verdicts for score in scores)


def decisive_metric(metric: Metric, metrics: Sequence[Metric], runs: Iterable[Sequence[ScoredReply]]) -> Metric:
    """Return the metric by which runs are compared: `<metric>_ppi` if all of them have it with an interval.

    Args:
        metric: The metric that is shown.
        metrics: All metrics of the task.
        runs: The scores of each run.
    """
    corrected = next((other for other in metrics if other.name == f"{metric.name}_ppi"), None)
    if corrected is None:
        return metric
    estimates = (estimate(corrected, by_cluster(scores)) for scores in runs)
    return corrected if all(each and each.low is not None for each in estimates) else metric


def comparison_note(task: Task, decisive: Metric, runs: Sequence[Sequence[ScoredReply]]) -> str | None:
    """Return a note on what differences of a judged rate rest on; None if no judge was asked.

    Args:
        task: The task.
        decisive: The metric by which the runs are compared.
        runs: The scores of each run.
    """
    scores = [score for scores in runs for score in scores]
    uncorrected = uncorrected_note(task, scores)
    if len(runs) < 2 or not _is_judged(task, scores):
        return uncorrected
    if decisive.name.endswith("_ppi"):
        rate, numbers = decisive.name.removesuffix("_ppi"), sorted({number_used(scores) for scores in runs})
        labels = " to ".join(f"{number:,}" for number in dict.fromkeys((numbers[0], numbers[-1])))
        return f"differences and ranks are of {decisive.name}, {rate} corrected by {labels} labels of each result"
    raw = _RAW.format(headline=decisive.name)
    if number_used(scores):
        return f"{raw}: not every result has {decisive.name}_ppi with an interval (docs/judges.md)"
    return f"{uncorrected}; {raw}" if uncorrected else raw
