"""Warnings of what keeps the figures of a run from saying much about the model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from halu_tasks.core.options import Options
from halu_tasks.data.sources import OwnSource
from halu_tasks.replies.label_notes import label_warnings
from halu_tasks.scorers.answer import ABSTAINED, ANSWERED, EMPTY, INFERRED, REQUEST_FAILED, UNPARSED, Outcome
from halu_tasks.scorers.judge import FAILED
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import difference
from halu_tasks.tasks import Task

MOST_EMPTY, MOST_CUT, MOST_UNPARSED, MOST_INFERRED, MOST_UNPLACED = 0.01, 0.01, 0.20, 0.05, 0.20
"""The shares of replies above which `reply_warnings` warns: empty, cut, unparsed, with an inferred answer, and with a
string that occurs nowhere in the text."""


UNPLACED = "unplaced"
"""The fact of scores of strings that are looked up in a text: how many of them occur nowhere in it."""
CUT, ENDED = "max_tokens", "stop"
"""Why a reply ended, as Inspect says it: by the token limit, or by itself."""
Stops = Mapping[tuple[Outcome, str], int]
"""The number of replies by outcome and why they ended; empty if that is not known."""


class HowAsked(NamedTuple):
    """How a harness asked for replies, as far as it decides what helps if they cannot be read.

    Attributes:
        harness: The harness.
        chat_template: Whether the model was asked in its chat template.
        structured: Whether JSON was asked for.
        fewshot: The number of worked examples; None if it is not known.
    """

    harness: Literal["inspect", "lm_eval"]
    chat_template: bool
    structured: bool
    fewshot: int | None

    @property
    def more_tokens(self) -> str:
        """The flag that raises the token limit."""
        flag = {"inspect": "--max-tokens N", "lm_eval": "--gen_kwargs max_gen_toks=N"}[self.harness]
        return f" ({flag}; in halu-tasks run after --)"

    def forms(self, task: Task | None) -> list[str]:
        """Return the options that are not on and make replies easier to read, with their flags."""
        is_inspect, forms = self.harness == "inspect", []
        if not self.structured:
            flag = "-T structured=true" if is_inspect else "--metadata '{\"halu_structured\": true}'"
            forms.append(f"ask for JSON ({flag}; halu-tasks run --structured)")
        if self.fewshot == 0 and task and _has_examples(task):
            flag = "-T fewshot=2" if is_inspect else "--num_fewshot 2"
            forms.append(f"show two worked examples ({flag}; halu-tasks run --fewshot 2)")
        return forms


def _has_examples(task: Task) -> bool:
    data = task.data
    return bool(data.training or data.examples) or data.fewshot_path(Options()).is_file()


def reply_warnings(
    outcomes: Mapping[Outcome, int],
    how: HowAsked | None = None,
    task: Task | None = None,
    missing: int = 0,
    stops: Stops | None = None,
    unplaced: int = 0,
) -> list[tuple[str, str]]:
    """Warn of many empty, unparsed or truncated replies, of many whose answer is inferred, and of wrong quotations.

    Args:
        outcomes: The number of replies by `ScoredReply.reply_outcome`; items without any reply are not counted.
        how: How the replies were asked for; None if no harness made them, whose flags are then not advised.
        task: The task. If it is the user's, its prompt may be at fault.
        missing: The number of items without any reply, which are part of the whole in the shares that are shown.
        stops: Why the replies ended, as far as it is known.
        unplaced: The number of replies with a string that occurs nowhere in the text (`unplaced_replies`).

    Returns:
        For each warning, how many replies there are, and what they are and what to do.
    """
    total, stops = sum(outcomes.values()), stops or {}
    worth = "earn nothing" if task and task.judge_spec and task.judge_spec.labels else "count as wrong"
    warnings = []
    most: Mapping[Outcome, float] = {EMPTY: MOST_EMPTY, UNPARSED: MOST_UNPARSED, INFERRED: MOST_INFERRED}
    for outcome, threshold in most.items():
        count = outcomes.get(outcome, 0)
        if count <= threshold * total:
            continue
        cut, ended = (stops.get((outcome, stop), 0) for stop in (CUT, ENDED))
        endings = [f"{cut:,} cut by the token limit"] if cut else []
        endings += [f"{ended:,} ended by {'itself' if ended == 1 else 'themselves'}"] if ended else []
        if outcome == INFERRED:
            meaning, endings = "declare no answer; theirs is inferred from what they say, which is less certain: ", []
            meaning += "look at some of them (docs/reading.md)"
        elif outcome == EMPTY:
            meaning = f"are empty and {worth}; {_advice_on_empty(how, cut, count)}"
        else:
            meaning = f"contain no readable answer ({UNPARSED}) and {worth}; look at the replies"
            meaning = "; ".join([meaning, *_advice_on_unparsed(how, task, cut, count, ended)])
        warnings.append((_share(count, total + missing, "replies", endings), meaning))
    if unplaced > MOST_UNPLACED * total:
        meaning = "return a string that occurs nowhere in the text, which counts as wrong; look at some of them "
        warnings.append((_share(unplaced, total + missing, "replies"), f"{meaning}(docs/reading.md)"))
    cut = sum(stops.get((outcome, CUT), 0) for outcome in (ANSWERED, INFERRED, ABSTAINED))
    if cut > MOST_CUT * total:
        meaning = "were cut off by the token limit, and what could be read of them is scored; raise the limit"
        warnings.append((_share(cut, total + missing, "replies"), meaning + (how.more_tokens if how else "")))
    return warnings


def unplaced_replies(scores: Iterable[ScoredReply]) -> int:
    """Count the replies with a string that occurs nowhere in the text that they were asked to quote from."""
    return sum(score.facts.get(UNPLACED, 0) > 0 for score in scores)


def _advice_on_empty(how: HowAsked | None, cut: int, count: int) -> str:
    limit = how.more_tokens if how else ""
    if cut == count:
        return f"reasoning used up the token limit: raise it{limit}"
    reasoning = "reasoning" if cut else "a server may have failed, or reasoning"
    return f"{reasoning} used up the token limit: raise it{limit}, check the server's log or run again"


def _advice_on_unparsed(how: HowAsked | None, task: Task | None, cut: int, count: int, ended: int) -> Iterator[str]:
    is_known = bool(cut or ended)
    if cut or not is_known:
        which = "for those that were cut" if is_known else "if they were cut"
        yield f"{which}, raise the token limit{how.more_tokens if how else ''}"
    if cut == count:
        return
    form = getattr(task and task.scoring.read, "form", "docs/reading.md")
    helps = how.forms(task) if how else ["ask for JSON", "show worked examples"]
    if task and isinstance(task.data.source, OwnSource):
        helps.insert(0, f"ask for what is read ({form})")
    if how is None or not how.chat_template:
        helps.insert(0, f"use the chat template of a chat model{' (lm-eval: --apply_chat_template)' if how else ''}")
    if helps:
        which = "for those that ended by themselves" if cut else "" if ended else "if they ended by themselves"
        yield f"{which}{', ' if which else ''}{' or '.join(filter(None, (', '.join(helps[:-1]), helps[-1])))}"


def _share(count: int, total: int, what: str, parts: Sequence[str] = ()) -> str:
    return f"{count:,} of {total:,} {what} ({', '.join([f'{count / total:.1%}', *parts])})"


class SameAnswer:
    """Whether all readable replies give one answer although the correct ones differ.

    By its figures, such a model is only not better than the floor. Few items, or items of one correct answer, show
    nothing.
    """

    MOST_ITEMS_BY_CHANCE, MOST_WRONG_BY_CHANCE = 9, 4
    """The numbers of answered items, and of those with another correct answer, up to which nothing is said."""

    def __init__(self, scores: Iterable[ScoredReply] = ()) -> None:
        self._answer: str | None = None
        self._replies, self._items = 0, dict[str, bool]()
        self.differ = False
        for score in scores:
            if self.differ:
                break
            self.add(score.id, score.answer, score.target)

    def add(self, id: str, answer: Any, target: Any) -> None:
        """Add a reply; one without a readable answer does not count."""
        if answer is None:
            return
        text = _in_words(answer)
        self._answer = text if self._answer is None else self._answer
        self.differ = self.differ or text != self._answer
        self._replies += 1
        self._items[id] = text != _in_words(target)

    @property
    def answer(self) -> str | None:
        """The answer that all give; None if they differ, or too few items were answered."""
        is_shown = len(self._items) > self.MOST_ITEMS_BY_CHANCE
        is_shown = is_shown and sum(self._items.values()) > self.MOST_WRONG_BY_CHANCE
        return None if self.differ or not is_shown else self._answer

    def warnings(self, total: int, how: HowAsked | None = None, task: Task | None = None) -> list[tuple[str, str]]:
        """Return what `reply_warnings` returns, of so many replies that were asked for in this way."""
        if self.answer is None:
            return []
        quote = self.answer if len(self.answer) <= _LONGEST_QUOTE else f"{self.answer[:_LONGEST_QUOTE]}…"
        meaning = f'give the same answer, "{quote}", and none gives another, although the correct answers differ; '
        meaning += "the figures are those of a constant answer: look at the replies"
        helps = how.forms(task) if how else []
        meaning += f", and {' or '.join(helps)}" if helps else ""
        return [(_share(self._replies, total, "replies"), meaning)]


# the length at which an answer is cut in a warning
_LONGEST_QUOTE = 60


def _in_words(answer: Any) -> str:
    return "; ".join(answer) or "nothing" if isinstance(answer, list | tuple) else str(answer)


REPORT_FOLLOWS = "HALU_TASKS_REPORT_FOLLOWS"
"""The environment variable of harnesses that `halu-tasks run` starts: its report says what is to be said of replies."""


def run_warnings(
    task: Task,
    outcomes: Mapping[Outcome, int],
    scores: Sequence[ScoredReply],
    how: HowAsked | None = None,
    missing: int = 0,
    stops: Stops | None = None,
    same: SameAnswer | None = None,
    unplaced: int | None = None,
) -> list[str]:
    """Return what keeps the figures of a run from saying much about the model, each in a line that names the task.

    Args:
        task: The task.
        outcomes: As in `reply_warnings`.
        scores: The scores, with the judge's verdicts.
        how: As in `reply_warnings`.
        missing: As in `reply_warnings`.
        stops: As in `reply_warnings`.
        same: Whether the replies give one answer; by default, it is found in the scores.
        unplaced: As in `reply_warnings`; by default, it is found in the scores.
    """
    warnings: list[tuple[str, str]] = []
    if not os.environ.get(REPORT_FOLLOWS):
        unplaced = unplaced_replies(scores) if unplaced is None else unplaced
        warnings = reply_warnings(outcomes, how, task, missing, stops, unplaced)
        warnings += request_warnings(scores, sum(outcomes.values()) + missing)
        warnings += (same or SameAnswer(scores)).warnings(sum(outcomes.values()) + missing, how, task)
        warnings += verdict_warnings(task, scores)
    return [f"{task.name}: {share} {meaning}" for share, meaning in warnings] + label_warnings(task, scores)


def revision_warnings(task: Task, mode: str, before: Sequence[ScoredReply], after: Sequence[ScoredReply]) -> list[str]:
    """Warn of revisions that give the judge less to check, so that fewer faults do not mean fewer hallucinations.

    Args:
        task: The task.
        mode: The scoring mode, `strict` or `paper`.
        before: The scores of the drafts.
        after: The scores of the revised replies, of the same items.

    Returns:
        A line if the coverage of a judged task (`JudgeSpec.coverage`) is lower after the revision, unless the 95%
        interval of a difference that varies between items includes 0; else nothing.
    """
    name = task.judge_spec.coverage if task.judge_spec else None
    metric = next((metric for metric in task.scorers[mode].metrics if metric.name == name), None)
    change = difference(metric, after, before) if metric else None
    if change is None or change.value >= 0 or (change.stderr and change.high is not None and change.high >= 0):
        return []
    interval = "" if change.low is None else f" [{change.low:.4f}, {change.high:.4f}]"
    return [
        f"{task.name}: the revision changed {name} by {change.value:.4f}{interval}, so the judge checked less of the "
        f"revised replies; what it does not check cannot count as wrong, so compare {task.headline} with care"
    ]


_MOST_NAMED = 5
"""The number of items that a warning names."""


def request_warnings(scores: Sequence[ScoredReply], total: int) -> list[tuple[str, str]]:
    """Warn of requests that failed, naming their items.

    Args:
        scores: The scores of a run.
        total: The number of replies of which these are a part.

    Returns:
        As `reply_warnings`.
    """
    failed = {score.id: score.reason for score in scores if score.outcome == REQUEST_FAILED}
    if not failed:
        return []
    ids, reasons = list(failed), list(dict.fromkeys(failed.values()))
    more = [f"{len(ids) - _MOST_NAMED:,} more"] if len(ids) > _MOST_NAMED else []
    more_reasons = f", and {len(reasons) - 1:,} other reasons" if len(reasons) > 1 else ""
    meaning = f"failed ({reasons[0]}{more_reasons}) and count as wrong: {', '.join(ids[:_MOST_NAMED] + more)}"
    count = sum(score.outcome == REQUEST_FAILED for score in scores)
    return [(_share(count, total, "requests"), meaning)]


def verdict_warnings(task: Task, scores: Sequence[ScoredReply]) -> list[tuple[str, str]]:
    """Warn of texts that the judge was not shown in full, and of questions on which it failed.

    The latter have the values that the headline could have had.

    Args:
        task: The task.
        scores: The scores of a run, with the judge's verdicts.

    Returns:
        As `reply_warnings`.
    """
    failures = [sum(verdict.label == FAILED for verdict in score.verdicts) for score in scores]
    failed, questions = sum(failures), sum(len(score.verdicts) for score in scores)
    warnings = []
    if cut := [verdict.left_out for score in scores for verdict in score.verdicts if verdict.left_out]:
        meaning = (
            f"concern a text that is too long for the judge: up to {max(cut):,} characters between its beginning and "
            "its end are left out; raise judge_max_characters=N"
        )
        warnings.append((_share(len(cut), questions, "questions"), meaning))
    if not failed or task.judge_spec is None:
        return warnings
    name, meaning = task.judge_spec.measurement, "have no verdict of the judge"
    failures_by_reply = [number for number, score in zip(failures, scores, strict=True) if name in score.facts]
    if any(failures_by_reply):
        more = sum(failures_by_reply) / len(failures_by_reply)
        meaning += f" and count as no hallucination; if all of them were, there would be {more:.4f} more in a reply"
    elif name:
        metric, share_judged = task.metrics_of("strict", scores)[0], failures.count(0) / len(scores)
        figure = estimates([metric], scores).get(metric.name)
        of_judged = figure.value * share_judged if figure else 0.0
        low, high = (of_judged + (1 - share_judged) * end for end in metric.range)
        meaning += f" and are left out of {metric.name}, which is {low:.4f} to {high:.4f} with them"
    return [*warnings, (_share(failed, questions, "questions"), meaning)]
