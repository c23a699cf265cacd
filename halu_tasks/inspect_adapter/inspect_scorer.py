"""Inspect's scorer for every task of this package, with its judge and its warnings. No benchmark's logic is here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from inspect_ai._control.eval_state import get_eval_state  # inspect-evals-lint: ignore[IECQ001] -- has no public name
from inspect_ai.log import transcript
from inspect_ai.log._samples import sample_active  # inspect-evals-lint: ignore[IECQ001] -- has no public name
from inspect_ai.model import Model, model_roles
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Scorer, Target, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import TaskState

from halu_tasks.core.errors import ArgumentError, UsageError, unknown
from halu_tasks.core.items import Reply
from halu_tasks.core.options import SCORING_OPTIONS, Options
from halu_tasks.inspect_adapter.inspect_metrics import ACC, as_metadata, figures
from halu_tasks.inspect_adapter.run_models import check_address
from halu_tasks.inspect_adapter.sample_cost import cost_of
from halu_tasks.judging.judge_model import Judge, JudgeFailures, judge_of_loop
from halu_tasks.judging.reaching import failure_of
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.reply_scorer import ReplyScorer, VerdictRequest
from halu_tasks.scorers.answer import ABSTAINED, EMPTY, REQUEST_FAILED, UNPARSED, Outcome
from halu_tasks.scorers.columns import PROBABILITY
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Verdict
from halu_tasks.scorers.judge_correction import ReferenceLabels
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import probability_of, with_probability, without_probability
from halu_tasks.solvers.model_calls import MethodRecord, SampleMetadata, tokens_of, turns_of
from halu_tasks.tasks import Task
from halu_tasks.tasks.label_tables import read_reference_labels

# the reasons for which Inspect has a name
_REASONS = {
    ABSTAINED: "refusal",
    UNPARSED: "invalid_response_format",
    EMPTY: "no_response",
    REQUEST_FAILED: "no_response",
}

TARGET = "halu_target"
"""Where a replayed output states the target if it answers another order of A and B than the sample's."""


@scorer(metrics=[figures()])
def halu_score(**options: Any) -> Scorer:
    """Score a sample of this package by its task.

    The value is C or I where an item is right or wrong, a number between 0 and 1 where it can be partly right, and N
    where the item has no value of its own (no judge, or a judge that failed). None is unscored, since Inspect would
    leave it out of all figures; `reason` says what is wrong with a reply. The metadata has the item's `acc`, if it is
    defined. A model in the role `grader` or `reader` takes the place of the one that the options name.

    Args:
        **options: The task options that say how replies are scored: `scoring`, `judge` and those that begin with
            `judge_`, `reader`, `reader_base_url`, `reference` and `assume`.
    """
    scoring_options, labels, failures = _scorer_options(options), dict[str, ReferenceLabels](), _Failures()

    async def score(state: TaskState, target: Target) -> InspectScore:
        return await _score_sample(state, target, scoring_options, labels, failures)

    return score


async def _score_sample(
    state: TaskState,
    target: Target,
    options: Options,
    labels: dict[str, ReferenceLabels],
    failures: _Failures,
) -> InspectScore:
    """Score a sample.

    Args:
        state: The sample with its output.
        target: Its target.
        options: How it is scored.
        labels: The better labels of replies, by task, to which those of the sample's are added.
        failures: The failures of judges, to which those of the sample are added.
    """
    events = list(transcript().events)  # before a judge is asked, whose calls are not part of the reply's cost
    sample, output, mode = SampleMetadata.required_of(state), state.output, options.scoring
    task = sample.benchmark_task
    if options.reference and task.judge_spec and task.name not in labels:
        labels[task.name] = read_reference_labels(options.reference, task)
    scorer, asked_model = _scorer_of(sample, options, labels.get(task.name))
    item = with_target(sample.item(state.sample_id, target, turns_of(state)), (output.metadata or {}).get(TARGET))

    async def ask(text: VerdictRequest) -> Sequence[Verdict]:
        assert asked_model
        return await asked_model.judge_reply(text.item, text.text)

    method = MethodRecord.from_metadata(output.metadata)
    reply = Reply(output.completion, probability=method.probability, failure=failure_of(output))
    scored = await scorer.score_by(item, reply, ask)
    draft = None if method.draft is None else await scorer.of_drafts.score_by(item, Reply(method.draft), ask)
    verdicts = [*scored.verdicts, *(draft.verdicts if draft else ())]
    _count(failures, scorer.role or "judge", verdicts, asked_model)
    scored = _with_token_probability(with_method_output(scored, method), task, state, sample.weighed)
    scored = scorer.with_confidence(scored)
    scored = replace(
        scored,
        cost=cost_of(events),
        judging=cost_of(transcript().events[len(events) :]),
        draft=draft,
        stop=output.stop_reason,
    )
    acc = _acc(task, mode, scored)
    notes = _notes(scored, "judge" if task.judge_spec else "reader")
    return inspect_score(scored, graded(_share(task, mode, scored, acc)), as_metadata(scored, acc), *notes)


def _scorer_of(
    sample: SampleMetadata, options: Options, labels: ReferenceLabels | None
) -> tuple[ReplyScorer, Judge | None]:
    """Return what scores the replies to a sample's task, and the model that it asks."""
    task, mode = sample.benchmark_task, options.scoring
    reading_spec = None if sample.weighed else task.scoring.reading_spec(mode, task.about)
    judge = judge_of_run(task.judge_spec, options) if task.judge_spec else None
    reader = judge_of_run(reading_spec, options.reader_options, "reader") if reading_spec else None
    judge_spec, reading_spec = task.judge_spec if judge else None, reading_spec if reader else None
    points = options.penalty, sample.confidence, options.risk
    scorer = ReplyScorer(task, mode, judge_spec, reading_spec, labels, options.assumption, *points)
    return scorer, reader or judge


def _acc(task: Task, mode: str, score: ScoredReply) -> float | None:
    """Return the value of the metric `acc` for an item; None if it is undefined."""
    values = (metric.item(score) for metric in task.scorers[mode].metrics if metric.name == ACC and metric.item)
    acc = next(values, math.nan)
    return None if math.isnan(acc) else acc


def _notes(score: ScoredReply, role: str) -> list[str]:
    """Describe each verdict and its reason, for people who check verdicts."""
    return [
        f"{role}{f' on {verdict.about!r}' if verdict.about else ''}: {verdict.label}"
        + (f" ({verdict.reason})" if verdict.reason else "")
        for verdict in score.verdicts
    ]


def inspect_score(score: ScoredReply, value: str | float, metadata: dict[str, Any], *notes: str) -> InspectScore:
    """Return what Inspect shows of a score: its value, its answer, and why there is none.

    The value is never NaN, with which a metric would not see the reply.

    Args:
        score: The score.
        value: Its value, as in `graded`.
        metadata: Its metadata.
        *notes: Further explanations for people who check scores.
    """
    answer = score.answer
    return InspectScore(
        value=value,
        # the empty list is an answer too
        answer=("\n".join(answer) or "[]") if isinstance(answer, list) else answer,
        explanation="\n\n".join(filter(None, (score.reason, *notes))) or None,
        reason="grader_failed"
        if FAILED in {verdict.label for verdict in score.verdicts}
        else _REASONS.get(score.outcome),
        metadata=metadata,
    )


def graded(share: float | None) -> str | float:
    """Return a share of right answers as Inspect's value: C for 1, I for 0, and N if it is None or NaN."""
    if share is None or math.isnan(share):
        return NOANSWER
    return {1.0: CORRECT, 0.0: INCORRECT}.get(share, share)


def _share(task: Task, mode: str, score: ScoredReply, acc: float | None) -> float | None:
    """Return how much of an item is right.

    It is the headline, turned so that more is better, or `acc` if the headline is not a share of items: an F1 has no
    value for one item, and of a number of hallucinations, 1 would be shown as correct.
    """
    headline = task.headline_metric(mode)
    if not headline.item or headline.range != (0.0, 1.0):
        return acc
    figure = headline.item(score)
    return figure if headline.higher_is_better else 1 - figure


def with_method_output(score: ScoredReply, method: MethodRecord) -> ScoredReply:
    """Return a score with the method that answered, what it counted and weighed, and why it gave no answer."""
    counts = method.counts or {}
    score = replace(
        score,
        facts={**score.facts, **counts},
        method=method.method,
        counts=sorted(counts),
        opinions=method.opinions,
    )
    if not method.reason:
        return score
    # the method, not a server, left the reply without content
    outcome: Outcome = UNPARSED if score.outcome == EMPTY else score.outcome
    return replace(score, reason=method.reason, outcome=outcome)


def _with_token_probability(score: ScoredReply, task: Task, state: TaskState, weighed: bool) -> ScoredReply:
    """Return the score with the probability of its label, taken from the reply's log-probabilities if it has them."""
    if task.scoring.choices and PROBABILITY not in score.facts and isinstance(score.answer, str):
        score = with_probability(score, probability_of(tokens_of(state.output), task.scoring.choices, score.answer))
    return without_probability(score) if weighed and PROBABILITY not in score.facts else score


def _scorer_options(values: dict[str, Any]) -> Options:
    """Return the arguments of `halu_score` as options.

    Raises:
        ArgumentError: An argument is unknown or invalid.
    """
    if unknown_names := sorted(values.keys() - set(SCORING_OPTIONS)):
        raise ArgumentError(f"halu_score: {unknown('argument', unknown_names[0], SCORING_OPTIONS)}")
    try:
        options = Options(**values)
        check_addresses(options)
    except UsageError as error:
        raise ArgumentError(str(error)) from None
    return options


# --- judges ---------------------------------------------------------------------------------------


def judge_of_run(spec: JudgeSpec, options: Options, role: str = "grader") -> Judge | None:
    """Return the judge of this run: the model in the role, or else the one in `options`.

    The model under test is never the judge by default; without a judge the result is None.
    """
    models = model_roles().get(role)
    model: Model | None = models[0] if isinstance(models, list) else models
    return judge_of_loop(model, spec, options) if model or options.judge else None


_Failures = dict[tuple[str, str], JudgeFailures]
"""The failures of judges by run and role."""


def _count(failures: _Failures, role: str, verdicts: Sequence[Verdict], judge: Judge | None) -> None:
    """Count the verdicts on a reply of the run that the current sample belongs to, as `JudgeFailures.count` does."""
    sample = sample_active()
    run = (sample.eval_id if sample else None) or ""
    if (run, role) not in failures:
        state = get_eval_state(run)  # None if a log is only scored
        failures[run, role] = JudgeFailures(state.total if state else None)
    failures[run, role].count(verdicts, judge)


def check_addresses(options: Options) -> None:
    """Check the addresses of judges, which Inspect writes into its log.

    Raises:
        UsageError: An address contains credentials.
    """
    for name in ("judge_base_url", "reader_base_url"):
        check_address(name, getattr(options, name))
