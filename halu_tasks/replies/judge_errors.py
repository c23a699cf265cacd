"""What is known of a judge's errors in a run, from people, a stronger judge or an assumption, and what to say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options, share_range
from halu_tasks.scorers.human_labels import FEWEST, AssumedJudge, HumanLabels, with_judge_error
from halu_tasks.scorers.metrics import Metric, by_cluster, estimate
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, Task

UNCORRECTED = (
    "{task}: {headline} is what the judge says, not the truth; labels of some replies by people correct it "
    "(halu-tasks label verdicts, then --human; docs/judges.md)"
)
STRONG = "; {headline}_ppi_strong is what the stronger judge would say of all replies, which is not the truth either"


RAW = "differences and ranks are of {headline} as the judge says, and its error is not in them"
"""Added to the note about a judged rate that is not corrected in all results."""


def assumed_judge(options: Options) -> AssumedJudge | None:
    """Return what the options assume of the judge, if anything."""
    if options.judge_sensitivity is None or options.judge_specificity is None:
        return None
    return AssumedJudge(share_range(options.judge_sensitivity), share_range(options.judge_specificity))


def check_human_labels(built: Built) -> None:
    """Check the options about the judge's errors, before anything is generated.

    Raises:
        UsageError: The errors of the task's judge cannot be corrected.
        DataError: The labels cannot be read, or do not fit the task.
    """
    judged, options = built.task.judged, built.options
    wanted = options.human or options.judge_strong or options.judge_sensitivity is not None
    if judged and judged.positive is None and wanted:
        raise UsageError(
            f"task {built.task.name}: its judge has no label that reports a hallucination (JudgeSpec.positive)"
        )
    _ = built.human_labels


def with_known_errors(built: Built, score: Score) -> Score:
    """Add to a score what is known of the judge's errors."""
    judged = built.task.judged
    if judged is None:
        return score
    labels, assumed, strong = built.human_labels, assumed_judge(built.options), bool(built.options.judge_strong)
    return with_judge_error(score, judged, labels, assumed, strong=strong) if labels or assumed or strong else score


def label_warnings(task: Task, labels: HumanLabels | None, scores: Sequence[Score]) -> list[str]:
    """Warn of labels that fit no reply of a run, and of too few labels or verdicts of a stronger judge.

    Args:
        task: The task.
        labels: People's labels, if there are any.
        scores: The scores of a run, with the labels.
    """
    warnings = _few_strong(task, scores)
    if labels is None or not any("human_labels" in score.measurements for score in scores):
        return warnings
    return unused_labels(task, labels, number_used(scores)) + few_labels(task, scores) + warnings


def _few_strong(task: Task, scores: Sequence[Score]) -> list[str]:
    """Warn of a stronger judge that gave too few verdicts for an interval, or failed on some."""
    known = [score.measurements for score in scores if "strong_labels" in score.measurements]
    if not known:
        return []
    given, failed = (round(sum(values[name] for values in known)) for name in ("strong_labels", "strong_failed"))
    warnings = []
    if failed:
        warnings.append(f"{task.name}: the stronger judge gave no verdict on {failed} questions, which are left out")
    if given < FEWEST:
        warnings.append(
            f"{task.name}: {given} verdicts of the stronger judge are too few for an interval of the rate that it "
            f"would find, {FEWEST} are needed; raise judge_strong_share"
        )
    return warnings


def number_used(scores: Sequence[Score]) -> int:
    """Return how many human labels of verdicts the scores have."""
    return round(sum(score.measurements.get("human_labels", 0.0) for score in scores))


def unused_labels(task: Task, labels: HumanLabels, used: int) -> list[str]:
    """Warn of labels that fit no verdict."""
    if used >= labels.number:
        return []
    return [
        f"{task.name}: {labels.number - used} of {labels.number} human labels fit no verdict (they are of other "
        "replies or parts, or the judge failed) and are not used"
    ]


def few_labels(task: Task, scores: Sequence[Score]) -> list[str]:
    """Warn of too few labels of a run for its figures."""
    used = number_used(scores)
    if used < FEWEST:
        return [
            f"{task.name}: {used} human labels are too few for an interval of the corrected rate, {FEWEST} are needed"
        ]
    positive = round(sum(score.measurements.get("human_positive", 0.0) for score in scores))
    if positive not in (0, used):
        return []
    kind, missing = ("a", "specificity") if positive else ("no", "sensitivity")
    return [f"{task.name}: all {used} human labels say {kind} hallucination, so judge_{missing} is unknown"]


def uncorrected_note(task: Task, scores: Sequence[Score]) -> str | None:
    """Return a note that a judged rate is not the truth, unless the scores say something of the judge's errors."""
    judged = task.judged
    if judged is None or judged.positive is None or not any(score.verdicts for score in scores):
        return None
    if any(name in score.measurements for score in scores for name in ("human_labels", "assumed_sensitivity_low")):
        return None
    strong = any("strong_labels" in score.measurements for score in scores)
    return (UNCORRECTED + (STRONG if strong else "")).format(task=task.name, headline=task.headline)


def decisive_metric(metric: Metric, metrics: Sequence[Metric], runs: Iterable[Sequence[Score]]) -> Metric:
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
    return corrected if all(found and found.low is not None for found in estimates) else metric


def comparison_note(task: Task, decisive: Metric, runs: Sequence[Sequence[Score]]) -> str | None:
    """Return a note on what differences of a judged rate rest on; None if no judge was asked.

    Args:
        task: The task.
        decisive: The metric by which the runs are compared.
        runs: The scores of each run.
    """
    judged = task.judged
    if judged is None or judged.positive is None or not any(score.verdicts for scores in runs for score in scores):
        return None
    uncorrected = uncorrected_note(task, [score for scores in runs for score in scores])
    if len(runs) < 2:
        return uncorrected
    if decisive.name.endswith("_ppi"):
        rate = decisive.name.removesuffix("_ppi")
        return f"differences and ranks are of {decisive.name}, {rate} corrected by human labels"
    raw = RAW.format(headline=decisive.name)
    if any(number_used(scores) for scores in runs):
        return f"{raw}: not every result has {decisive.name}_ppi with an interval (docs/judges.md)"
    return f"{uncorrected}; {raw}" if uncorrected else raw
