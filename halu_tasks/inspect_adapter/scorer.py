"""Inspect's scorer for every task of this package. No benchmark's logic is here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from inspect_ai.hooks import Hooks, SampleEnd, TaskEnd, hooks
from inspect_ai.log import transcript
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Scorer, Target, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import TaskState

from halu_tasks.core.errors import ArgumentError, UsageError, did_you_mean
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import SCORING_OPTIONS, Options
from halu_tasks.inspect_adapter.figures import figures
from halu_tasks.inspect_adapter.judges import check_addresses, judge_of_run, reader_of_run
from halu_tasks.inspect_adapter.records import ACC, ScoreRecord
from halu_tasks.judging.judge import Judge
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.reference import label_warnings
from halu_tasks.replies.scoring import (
    RequestInfo,
    logger,
    outcome_of,
    revision_warnings,
    task_failure_warnings,
    task_reply_warnings,
)
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.methods.cost import cost_of
from halu_tasks.scorers.reader import UNSURE
from halu_tasks.scorers.reference import ReferenceLabels, with_known_error
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.probability import FACT, probability_of, with_probability, without_probability
from halu_tasks.solvers.asking import tokens_of
from halu_tasks.solvers.records import MethodRecord, SampleMetadata
from halu_tasks.tasks import Task
from halu_tasks.tasks.reference import read_reference

_labels: dict[str, ReferenceLabels] = {}
"""The better labels by which replies to a task were last scored, for the warnings at its end."""

TARGET = "halu_target"
"""Where a replayed output states the target if it answers another order of A and B than the sample's."""


@scorer(metrics=[figures()])
def halu_score(**options: Any) -> Scorer:
    """Score a sample of this package by its task.

    The value is C or I where an item is right or wrong, a number between 0 and 1 where it can be partly right, and N
    where the item has no value of its own (no judge, or a judge that failed). The metadata has the item's `acc`, if it
    is defined. A model in the role `grader` or `reader` takes the place of the one that the options name.

    Args:
        **options: The task options that say how replies are scored: `scoring`, `judge` and those that begin with
            `judge_`, `reader`, `reader_base_url`, `reference` and `assume`.
    """
    chosen = _scorer_options(options)
    read: dict[str, ReferenceLabels] = {}

    def labels_of(task: Task) -> ReferenceLabels | None:
        if chosen.reference and task.name not in read:
            read[task.name] = _labels[task.name] = read_reference(chosen.reference, task)
        return read.get(task.name)

    async def score(state: TaskState, target: Target) -> InspectScore:
        return await _score_sample(state, target, chosen, labels_of)

    return score


async def _score_sample(
    state: TaskState, target: Target, options: Options, labels_of: Callable[[Task], ReferenceLabels | None]
) -> InspectScore:
    """Score a sample.

    Args:
        state: The sample with its output.
        target: Its target.
        options: How it is scored.
        labels_of: Reads the better labels of a task's replies.
    """
    _warn_of_replies()
    cost = cost_of(transcript().events)  # before a judge is asked, whose calls are not part of the reply's cost
    sample = SampleMetadata.required_of(state)
    task, judged = sample.benchmark_task, sample.benchmark_task.judged
    scoring_task = ScoringTask(task, options.scoring, judge_of_run(judged, options) if judged else None)
    reader = None if sample.weighed else reader_of_run(task, options)
    method_record = MethodRecord.from_metadata(state.output.metadata)
    item = _item_of(sample, target, state)
    reply_score = await scoring_task.score(item, Reply(state.output.completion, probability=method_record.probability))
    if judged and (options.reference or options.assume):
        reply_score = with_known_error(reply_score, judged, labels_of(task), options.assumption)
    if reader and reply_score.outcome in UNSURE:
        reply_score = replace(reply_score, verdicts=await reader.of_reply(item, state.output.completion))
    record, draft = with_method_output(reply_score, method_record), method_record.draft
    reply_score = _with_token_probability(record.score, task, state, sample.weighed)
    record = replace(
        record,
        score=reply_score,
        acc=scoring_task.acc(reply_score),
        cost=cost,
        task=sample.reference,
        scoring=options.scoring,
        draft=None if draft is None else await scoring_task.score(item, Reply(draft)),
        opinions=method_record.opinions,
        group=sample.group,
    )
    described = _describe(reply_score, "judge" if judged else "reader")
    return InspectScore(
        value=scoring_task.value(reply_score),
        answer=shown_answer(reply_score.answer),
        explanation="\n\n".join(filter(None, (reply_score.reason, *described))) or None,
        metadata=record.as_metadata(),
    )


def _scorer_options(values: dict[str, Any]) -> Options:
    """Return the arguments of `halu_score` as options.

    Raises:
        ArgumentError: An argument is unknown or invalid.
    """
    if unknown := sorted(values.keys() - set(SCORING_OPTIONS)):
        problem = f"halu_score has no argument {unknown[0]!r}{did_you_mean(unknown[0], SCORING_OPTIONS)}"
        raise ArgumentError(f"{problem}; arguments: {', '.join(SCORING_OPTIONS)}")
    try:
        options = Options(**values)
        check_addresses(options)
    except UsageError as error:
        raise ArgumentError(str(error)) from None
    return options


def _item_of(sample: SampleMetadata, target: Target, state: TaskState) -> Item:
    """Return what the scorer needs of a sample's item, with the target that a replayed reply answers."""
    item = Item(sample.id, sample.cluster, "\n".join(target), "", "", sample.gold, sample.tags)
    return with_target(item, (state.output.metadata or {}).get(TARGET))


@dataclass(frozen=True)
class ScoringTask:
    """A task in a mode of scoring, with its judge if there is one."""

    task: Task
    mode: str
    judge: Judge | None

    async def score(self, item: Item, reply: Reply) -> Score:
        """Score a reply."""
        if self.judge is None:
            return self.task.score(self.mode, item, reply)
        text = self.task.judged_text(self.mode, item, reply.text)
        return self.task.score(self.mode, item, reply, await self.judge.of_reply(item, text))

    def acc(self, score: Score) -> float | None:
        """Return the value of the metric `acc` for an item; None if it is undefined."""
        metric = next((metric for metric in self.task.scoring[self.mode].metrics if metric.name == ACC), None)
        acc = metric.item(score) if metric and metric.item else math.nan
        return None if math.isnan(acc) else acc

    def value(self, score: Score) -> str | float:
        """Return an item's value as Inspect shows it.

        It is the headline, turned so that more is better, or `acc` if the headline is not a share of items: an F1 has
        no value for one item, and of a number of hallucinations, 1 would be shown as correct.
        """
        headline = self.task.headline_metric(self.mode)
        if headline.item and headline.range == (0.0, 1.0):
            figure = headline.item(score)
            share = figure if headline.higher_is_better else 1 - figure
        else:
            acc = self.acc(score)
            share = math.nan if acc is None else acc
        return NOANSWER if math.isnan(share) else {1.0: CORRECT, 0.0: INCORRECT}.get(share, share)


def with_method_output(score: Score, method_record: MethodRecord) -> ScoreRecord:
    """Return a score with what the method that answered reported about its output."""
    reason, counts = method_record.reason, method_record.counts or {}
    score = replace(score, measurements={**score.measurements, **counts})
    if reason:
        # the method, not a server, left the reply without content
        score = replace(score, reason=reason, outcome="unparsed" if score.outcome == "empty" else score.outcome)
    if method_record.method is None:
        return ScoreRecord(score=score)
    return ScoreRecord(score=score, method=method_record.method, counts=tuple(sorted(counts)))


def shown_answer(answer: str | list[str] | None) -> str | None:
    """Return an answer as Inspect shows it; the empty list, which is an answer too, as brackets."""
    return ("\n".join(answer) or "[]") if isinstance(answer, list) else answer


def _with_token_probability(score: Score, task: Task, state: TaskState, weighed: bool) -> Score:
    """Return the score with the probability of its label, taken from the reply's log-probabilities if it has them."""
    if task.choices and FACT not in score.measurements and isinstance(score.answer, str):
        score = with_probability(score, probability_of(tokens_of(state.output), task.choices, score.answer))
    return without_probability(score) if weighed and FACT not in score.measurements else score


def _describe(score: Score, judge: str) -> list[str]:
    """Describe each verdict and its reason, for people who check verdicts."""
    return [
        f"{judge}{f' on {verdict.about!r}' if verdict.about else ''}: {verdict.label}"
        + (f" ({verdict.reason})" if verdict.reason else "")
        for verdict in score.verdicts
    ]


@cache
def _warn_of_replies() -> None:
    """Have `reply_warnings` and `revision_warnings` logged at the end of each Inspect task that this package scores.

    The hook is registered when the first sample is scored, because Inspect announces any hook that it finds at its
    start, in runs of other packages too.
    """

    @hooks(name="reply_warnings", description="Warns of many replies without content, or that could not be read")
    class ReplyWarnings(Hooks):
        def __init__(self) -> None:
            self._outcomes: dict[str, dict[str, Counter[Outcome]]] = {}
            self._revised: dict[str, list[ScoreRecord]] = {}
            self._judged: dict[str, list[ScoreRecord]] = {}

        async def on_sample_end(self, data: SampleEnd) -> None:
            records = (ScoreRecord.of(score) for score in (data.sample.scores or {}).values())
            if record := next((record for record in records if record and record.task), None):
                assert record.task
                outcome = outcome_of(data.sample.output.completion, record.score, record.scoring)
                self._outcomes.setdefault(data.eval_id, {}).setdefault(record.task.task, Counter())[outcome] += 1
                if record.draft:
                    self._revised.setdefault(data.eval_id, []).append(record)
                if record.task.resolve().judged:
                    self._judged.setdefault(data.eval_id, []).append(record)

        async def on_task_end(self, data: TaskEnd) -> None:
            for task, outcomes in self._outcomes.pop(data.eval_id, {}).items():
                for warning in task_reply_warnings(task, outcomes, RequestInfo("Inspect", chat_template=True)):
                    logger.warning(warning)
            for warning in _of_revisions(self._revised.pop(data.eval_id, [])):
                logger.warning(warning)
            for warning in _of_judge(self._judged.pop(data.eval_id, [])):
                logger.warning(warning)


def _of_revisions(records: Sequence[ScoreRecord]) -> list[str]:
    """Return `revision_warnings` of the records of one run, all of which have a draft."""
    if not records:
        return []
    first = records[0]
    assert first.task
    before = [record.draft for record in records if record.draft]
    return revision_warnings(first.task.resolve(), first.scoring, before, [record.score for record in records])


def _of_judge(records: Sequence[ScoreRecord]) -> list[str]:
    """Return `failure_warnings` and `label_warnings` of the records of one run, all of judged tasks."""
    by_task: dict[str, list[ScoreRecord]] = {}
    for record in records:
        assert record.task
        by_task.setdefault(record.task.task, []).append(record)
    warnings = []
    for name, of_task in by_task.items():
        reference, scores = of_task[0].task, [record.score for record in of_task]
        assert reference
        task = reference.resolve()
        warnings += task_failure_warnings(task, of_task[0].scoring, scores)
        warnings += label_warnings(task, _labels.get(name), scores)
    return warnings
