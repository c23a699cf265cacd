"""Inspect's side of scoring: one scorer and one metric for every task of the registry."""

from __future__ import annotations

import math
from asyncio import AbstractEventLoop, get_running_loop
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.hooks import Hooks, SampleEnd, TaskEnd, hooks
from inspect_ai.log import transcript
from inspect_ai.model import Model, model_roles
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Metric,
    SampleScore,
    Scorer,
    Target,
    metric,
    scorer,
)
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.credentials import in_address
from halu_tasks.errors import ArgumentError, UsageError
from halu_tasks.items import Item, Reply
from halu_tasks.judging.judge import Judge, open_judge
from halu_tasks.options import Options
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.scoring import logger, no_judge, outcome_of, reply_warnings
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.methods.cost import cost_of, total
from halu_tasks.scorers.methods.opinions import Opinions, opinion_figures
from halu_tasks.scorers.metrics import Estimate, estimates, mean
from halu_tasks.scorers.reading.judge import JudgeSpec, Verdict
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.statistics.paired import difference
from halu_tasks.scorers.statistics.probability import FACT, probability_of, with_probability, without_probability
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import COUNTS, DRAFT, METHOD, OPINIONS, PROBABILITY, REASON, WEIGHED, tokens_of
from halu_tasks.tasks import logged, logged_task, registry

RECORD = "halu_tasks"
TARGET = "halu_target"
"""Where a replayed output says that it answers another order of A and B than the sample's."""

_judges: WeakKeyDictionary[AbstractEventLoop, dict[str, Judge]] = WeakKeyDictionary()


def _judge(judging: JudgeSpec, options: Options) -> Judge | None:
    """The judge of this run: the model role `grader`, else the option; never the model under test. A run
    has an event loop of its own, and so a judge with its own connections and its own count of failures."""
    named = model_roles().get("grader")
    model: Model | None = named[0] if isinstance(named, list) else named
    if model is None and not options.judge:
        return None
    judges = _judges.setdefault(get_running_loop(), {})
    key = f"{judging.prompt} {model or options.judge} {options.judge_base_url} {options.judge_max_failures}"
    if key not in judges:
        judges[key] = Judge(model, judging, options.judge_max_failures) if model else open_judge(options, judging)
    return judges[key]


def checked_address(judge_base_url: str | None) -> str | None:
    """The address of a judge, which Inspect writes into its log. Raises UsageError where it holds credentials."""
    if in_address(judge_base_url):
        raise UsageError(
            f"judge_base_url={judge_base_url} was given with credentials, which Inspect writes into its log; name the "
            "judge openai-api/PROVIDER/MODEL, and set PROVIDER_BASE_URL and PROVIDER_API_KEY in the environment"
        )
    return judge_base_url


@solver
def judge_ready(
    judge: str | None = None, judge_base_url: str | None = None, judge_max_failures: float = 0.05
) -> Solver:
    """Before a judged task generates anything: check that the judge in the role `grader` answers (one that
    is named as an option was reached when the task was made), or warn that there is none."""
    options = Options(
        judge=judge, judge_base_url=checked_address(judge_base_url), judge_max_failures=judge_max_failures
    )
    lock = anyio.Lock()
    done: set[str] = set()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = logged_task(state.metadata)
        async with lock:
            if task.judged and task.name not in done:
                found = _judge(task.judged, options)
                if found and model_roles().get("grader"):
                    await found.reach()
                elif not found:
                    logger.warning(no_judge(task))
                done.add(task.name)
        return state

    return solve


@metric(name="figures", scores="unreduced")
def figures(headline: str | None = None) -> Metric:
    """All metrics of the tasks that the scores belong to: `name`, and `name_stderr`, `name_low`,
    `name_high` for its clustered standard error and 95% interval. In a group, `member.name` and the
    group's means.

    Args:
        headline: the figure that is there, as NaN, even while it is not defined.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        records = [record for score in scores if (record := (score.score.metadata or {}).get(RECORD))]
        if not records:
            return {headline: math.nan} if headline else {}
        scoring, group = records[0]["scoring"], records[0].get("group")
        tasks = {name: logged_task(record) for name, record in {record["task"]: record for record in records}.items()}
        by_task: dict[str, list[Score]] = {}
        opinions: dict[str, list[Opinions | None]] = {}
        for record in records:
            by_task.setdefault(record["task"], []).append(Score.from_json(record["score"]))
            opinions.setdefault(record["task"], []).append(record.get("opinions"))
        found: dict[str, Estimate] = {}
        if group:
            found |= registry()[1][group].figures(scoring, by_task)
        for task, own in by_task.items():
            named = estimates(tasks[task].scoring[scoring].metrics, own) | opinion_figures(own, opinions[task])
            found |= {f"{task}.{name}" if group else name: value for name, value in named.items()}
        if not group:
            found |= _of_drafts([record for record in records if "draft" in record])
        figures = {key: value for name, e in found.items() for key, value in spread(name, e).items()}
        if headline and headline not in figures:
            # Inspect asks for figures while samples are still out, and warns of a headline that is not there
            figures = {headline: math.nan} | figures
        return figures | (of_method(records) if any("method" in record for record in records) else {})

    return compute


def _of_drafts(records: Sequence[Mapping[str, Any]]) -> dict[str, Estimate]:
    """Every metric of the drafts, under `…_before`, and what revision did to the headline, under `…_change`."""
    if not records:
        return {}
    task = logged_task(records[0])
    metrics = task.scoring[records[0]["scoring"]].metrics
    after, before = ([Score.from_json(record[which]) for record in records] for which in ("score", "draft"))
    found = {f"{name}_before": value for name, value in estimates(metrics, before).items()}
    headline = next(metric for metric in metrics if metric.name == task.headline)
    if change := difference(headline, after, before):
        found[f"{headline.name}_change"] = Estimate(change.value, change.stderr, change.low, change.high)
    return found


def of_method(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What a method counted, as means over the items, and what it cost in all."""
    counts = dict.fromkeys(name for record in records for name in record.get("counts", ()))
    means = [replace(mean(name, name, higher_is_better=None), range=(0.0, math.inf)) for name in counts]
    found = estimates(means, (Score.from_json(record["score"]) for record in records))
    costs = [record["cost"] for record in records if record["cost"]]
    return {name: e.value for name, e in found.items()} | (total(costs) if costs else {})


def spread(name: str, found: Estimate) -> dict[str, float]:
    parts = {"": found.value, "_stderr": found.stderr, "_low": found.low, "_high": found.high}
    return {name + end: value for end, value in parts.items() if value is not None}


@scorer(metrics=[figures()])
@checked
def halu_score(
    scoring: str = "strict",
    judge: str | None = None,
    judge_base_url: str | None = None,
    judge_max_failures: float = 0.05,
) -> Scorer:
    """Scores any sample of this package by its task.

    The value is C or I where an item is right or wrong, a number between where it can be partly right,
    and N where nothing can be said of it alone (no judge, or a judge that failed).

    Args:
        scoring: `strict` or `paper`.
        judge: a judge's model where no model role `grader` is given.
        judge_base_url: base URL of a judge behind an OpenAI-compatible server.
        judge_max_failures: the share of items the judge may fail on.
    """
    try:
        options = Options(
            scoring=scoring,
            judge=judge,
            judge_base_url=checked_address(judge_base_url),
            judge_max_failures=judge_max_failures,
        )
    except UsageError as error:
        raise ArgumentError(str(error)) from None

    async def score(state: TaskState, target: Target) -> InspectScore:
        _warn_of_replies()
        task = logged_task(state.metadata)
        told = state.output.metadata or {}
        # before a judge is asked, whose calls are not the answer's
        cost = cost_of(transcript().events)
        item = with_target(_item(state, target), told.get(TARGET))
        reply = state.output.completion
        judge = _judge(task.judged, options) if task.judged else None
        verdicts = await judge.of_reply(item, task.judged_text(scoring, item, reply)) if judge else []
        answered = Reply(reply, probability=told.get(PROBABILITY))
        found = task.score(scoring, item, answered, verdicts if judge else None)
        found, record = told_record(told, found)
        if task.choices and answered.probability is None and isinstance(found.answer, str):
            tokens = tokens_of(state.output)
            found = with_probability(found, probability_of(tokens, task.choices, found.answer))
        if state.metadata.get(WEIGHED) and FACT not in found.measurements:
            found = without_probability(found)
        headline = next(m for m in task.scoring[scoring].metrics if m.name == task.headline)
        record |= {"task": task.name, **logged(task), "scoring": scoring, "score": found.as_json(), "cost": cost}
        if (draft := told.get(DRAFT)) is not None:
            first = await judge.of_reply(item, task.judged_text(scoring, item, draft)) if judge else []
            record["draft"] = task.score(scoring, item, Reply(draft), first if judge else None).as_json()
        if OPINIONS in told:
            record["opinions"] = told[OPINIONS]
        if group := state.metadata.get("group"):
            record["group"] = group
        own = headline.item(found) if headline.item else math.nan
        return InspectScore(
            # a share turned so that more is better; a count stays what it is
            value=_value(own if headline.higher_is_better or math.isinf(headline.range[1]) else 1 - own),
            answer=shown_answer(found.answer),
            explanation="\n\n".join(filter(None, (found.reason, *map(_told, verdicts)))) or None,
            metadata={RECORD: record},
        )

    return score


@cache
def _warn_of_replies() -> None:
    """Have `reply_warnings` logged at the end of each Inspect task whose samples this package scores. The hook is
    registered when the first sample is scored, because Inspect announces any hook that it finds at its start, in
    runs of other packages too."""

    @hooks(name="reply_warnings", description="Warns of many replies without content, or that could not be read")
    class ReplyWarnings(Hooks):
        def __init__(self) -> None:
            self._outcomes: dict[str, dict[str, Counter[Outcome]]] = {}

        async def on_sample_end(self, data: SampleEnd) -> None:
            for found in (data.sample.scores or {}).values():
                if record := (found.metadata or {}).get(RECORD):
                    reply = data.sample.output.completion
                    outcome = outcome_of(reply, Score.from_json(record["score"]), record["scoring"])
                    tasks = self._outcomes.setdefault(data.eval_id, {})
                    tasks.setdefault(record["task"], Counter())[outcome] += 1
                    return

        async def on_task_end(self, data: TaskEnd) -> None:
            for task, outcomes in self._outcomes.pop(data.eval_id, {}).items():
                for warning in reply_warnings(task, outcomes):
                    logger.warning(warning)


def told_record(told: Mapping[str, Any], score: Score) -> tuple[Score, dict[str, Any]]:
    """The score with what the output tells of its making, and the start of a record for the log."""
    found = replace(score, measurements={**score.measurements, **told.get(COUNTS, {})})
    if reason := told.get(REASON):
        # the method, not a server, left the reply without content
        found = replace(found, reason=reason, outcome="unparsed" if found.outcome == "empty" else found.outcome)
    if METHOD not in told:
        return found, {}
    return found, {"method": told[METHOD], "counts": sorted(told.get(COUNTS, {}))}


def shown_answer(answer: str | list[str] | None) -> str | None:
    """An answer as Inspect shows it; the empty list, which is an answer too, by its brackets."""
    return ("\n".join(answer) or "[]") if isinstance(answer, list) else answer


def _told(verdict: Verdict) -> str:
    """A verdict and its reason, for a person who checks them."""
    about = f" on {verdict.about!r}" if verdict.about else ""
    return f"judge{about}: {verdict.label}" + (f" ({verdict.reason})" if verdict.reason else "")


def _value(own: float) -> str | float:
    if math.isnan(own):
        return NOANSWER
    return {1.0: CORRECT, 0.0: INCORRECT}.get(own, own)


def _item(state: TaskState, target: Target) -> Item:
    known = state.metadata
    return Item(known["id"], known["cluster"], target.text, "", "", known["gold"], known["tags"])
