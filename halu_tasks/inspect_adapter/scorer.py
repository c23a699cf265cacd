"""Inspect's scorer for every task of this package. No benchmark's logic is here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from inspect_ai.hooks import Hooks, SampleEnd, TaskEnd, hooks
from inspect_ai.log import transcript
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Scorer, Target, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import TaskState

from halu_tasks.core.errors import ArgumentError, UsageError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.inspect_adapter.figures import figures
from halu_tasks.inspect_adapter.judges import check_addresses, judges_of_run, reader_of_run
from halu_tasks.inspect_adapter.records import ACC, ScoreRecord
from halu_tasks.judging.cascade import Judges
from halu_tasks.replies.judge_errors import assumed_judge, label_warnings
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.scoring import (
    RequestInfo,
    logger,
    outcome_of,
    revision_warnings,
    task_failure_warnings,
    task_reply_warnings,
)
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.human_labels import HumanLabels, with_judge_error
from halu_tasks.scorers.methods.cost import cost_of
from halu_tasks.scorers.reader import UNSURE
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.probability import FACT, probability_of, with_probability, without_probability
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import tokens_of
from halu_tasks.solvers.method_record import MethodRecord
from halu_tasks.solvers.sample_metadata import SampleMetadata
from halu_tasks.tasks import Task
from halu_tasks.tasks.human_labels import labels_of_task

_labels: dict[str, HumanLabels] = {}
"""The human labels by which replies to a task were last scored, for the warnings at its end."""

TARGET = "halu_target"
"""Where a replayed output states the target if it answers another order of A and B than the sample's."""


@scorer(metrics=[figures()])
@checked
def halu_score(
    scoring: str = "strict",
    judge: str | None = None,
    judge_base_url: str | None = None,
    judge_max_failures: float = 0.05,
    judge_batch: bool = False,
    judge_max_cost: float | None = None,
    judge_price: str | None = None,
    judge_strong: str | None = None,
    judge_strong_base_url: str | None = None,
    judge_strong_price: str | None = None,
    judge_strong_share: float = 0.1,
    judge_strong_seed: int = 0,
    human: str | None = None,
    judge_sensitivity: float | str | None = None,
    judge_specificity: float | str | None = None,
    reader: str | None = None,
    reader_base_url: str | None = None,
) -> Scorer:
    """Score a sample of this package by its task.

    The value is C or I where an item is right or wrong, a number between 0 and 1 where it can be partly right, and N
    where the item has no value of its own (no judge, or a judge that failed). The metadata has the item's `acc`, if it
    is defined.

    Args:
        scoring: `strict` or `paper`.
        judge: The judge's model, if there is no model in the role `grader`.
        judge_base_url: The base URL of a judge behind an OpenAI-compatible server.
        judge_max_failures: The share of items on which the judge may fail, from 0 to 1.
        judge_batch: Whether to ask judges in the batch mode of their provider.
        judge_max_cost: Dollars that judges may cost.
        judge_price: For `judge_max_cost`, the judge's price of a million input and output tokens, such as 2.50/10.
        judge_strong: A stronger judge of replies drawn at random.
        judge_strong_base_url: The base URL of the stronger judge.
        judge_strong_price: The price of the stronger judge.
        judge_strong_share: The share of the items that the stronger judge judges.
        judge_strong_seed: The seed by which these items are drawn.
        human: A file of people's labels, by which judged rates are corrected.
        judge_sensitivity: Without labels, an assumption: the share of hallucinations that the judge calls so, as a
            number or a range such as 0.8-0.9.
        judge_specificity: The share of everything else that it does not call a hallucination.
        reader: The model that reads replies whose label the rules infer or do not find, if there is none in the role
            `reader`.
        reader_base_url: The base URL of a reader behind an OpenAI-compatible server.
    """
    options = _scorer_options(
        scoring=scoring,
        judge=judge,
        judge_base_url=judge_base_url,
        judge_max_failures=judge_max_failures,
        judge_batch=judge_batch,
        judge_max_cost=judge_max_cost,
        judge_price=judge_price,
        judge_strong=judge_strong,
        judge_strong_base_url=judge_strong_base_url,
        judge_strong_price=judge_strong_price,
        judge_strong_share=judge_strong_share,
        judge_strong_seed=judge_strong_seed,
        human=human,
        judge_sensitivity=judge_sensitivity,
        judge_specificity=judge_specificity,
        reader=reader,
        reader_base_url=reader_base_url,
    )
    labels_of = cache(partial(_read_labels, human))

    async def score(state: TaskState, target: Target) -> InspectScore:
        return await _score_sample(state, target, options, labels_of)

    return score


async def _score_sample(
    state: TaskState, target: Target, options: Options, labels_of: Callable[[str], HumanLabels | None]
) -> InspectScore:
    """Score a sample.

    Args:
        state: The sample with its output.
        target: Its target.
        options: How it is scored.
        labels_of: Reads the human labels of a task's replies.
    """
    _warn_of_replies()
    cost = cost_of(transcript().events)  # before a judge is asked, whose calls are not part of the reply's cost
    sample = SampleMetadata.required_of(state)
    task, judged = sample.benchmark_task, sample.benchmark_task.judged
    scoring_task = ScoringTask(task, options.scoring, judges_of_run(judged, options) if judged else None)
    readers = None if sample.weighed else reader_of_run(task, options)
    method_record = MethodRecord.from_metadata(state.output.metadata)
    item = _item_of(sample, target, state)
    reply_score = await scoring_task.score(item, Reply(state.output.completion, probability=method_record.probability))
    assumed = assumed_judge(options)
    if judged and (options.human or assumed or options.judge_strong):
        strong = bool(options.judge_strong)
        reply_score = with_judge_error(reply_score, judged, labels_of(task.name), assumed, strong=strong)
    if readers and reply_score.outcome in UNSURE:
        reply_score = replace(reply_score, verdicts=await readers.judge.of_reply(item, state.output.completion))
    record, draft = with_method_output(reply_score, method_record), method_record.draft
    reply_score = _with_token_probability(record.score, task, state, sample.weighed)
    record = replace(
        record,
        score=reply_score,
        acc=scoring_task.acc(reply_score),
        cost=cost,
        task=sample.reference,
        scoring=options.scoring,
        draft=None if draft is None else await scoring_task.score(item, Reply(draft), draft=True),
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


def _scorer_options(**values: Any) -> Options:
    """Return the arguments of `halu_score` as options.

    Raises:
        ArgumentError: A value is invalid.
    """
    try:
        options = Options(**values)
        check_addresses(options)
        assumed_judge(options)
    except UsageError as error:
        raise ArgumentError(str(error)) from None
    return options


def _item_of(sample: SampleMetadata, target: Target, state: TaskState) -> Item:
    """Return what the scorer needs of a sample's item, with the target that a replayed reply answers."""
    item = Item(sample.id, sample.cluster, "\n".join(target), "", "", sample.gold, sample.tags)
    return with_target(item, (state.output.metadata or {}).get(TARGET))


def _read_labels(human: str | None, task: str) -> HumanLabels | None:
    """Read the human labels of a task's replies, if a file was named, and keep them for the warnings."""
    if not human:
        return None
    _labels[task] = labels_of_task(human, task)
    return _labels[task]


@dataclass(frozen=True)
class ScoringTask:
    """A task in a mode of scoring, with its judges if there are any."""

    task: Task
    mode: str
    judges: Judges | None

    async def score(self, item: Item, reply: Reply, *, draft: bool = False) -> Score:
        """Score a reply; a draft is not put to the stronger judge."""
        if self.judges is None:
            return self.task.score(self.mode, item, reply)
        text = self.task.judged_text(self.mode, item, reply.text)
        if draft:
            return self.task.score(self.mode, item, reply, await self.judges.judge.of_reply(item, text))
        return self.task.score(self.mode, item, reply, *await self.judges.of_reply(item, text))

    def acc(self, score: Score) -> float | None:
        """Return the value of the metric `acc` for an item; None if it is undefined."""
        metric = next((metric for metric in self.task.scoring[self.mode].metrics if metric.name == ACC), None)
        acc = metric.item(score) if metric and metric.item else math.nan
        return None if math.isnan(acc) else acc

    def value(self, score: Score) -> str | float:
        """Return an item's value as Inspect shows it.

        It is the headline, turned so that more is better, or `acc` if the headline is not a share: of a number of
        hallucinations, 1 would be shown as correct.
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
        f"{name}{f' on {verdict.about!r}' if verdict.about else ''}: {verdict.label}"
        + (f" ({verdict.reason})" if verdict.reason else "")
        for name, verdicts in ((judge, score.verdicts), ("stronger judge", score.strong_verdicts))
        for verdict in verdicts
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
