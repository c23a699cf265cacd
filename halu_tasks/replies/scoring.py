"""Scoring all replies to a task at once, with a judge if the task needs one."""

from __future__ import annotations

import json
import logging
import os
import shlex
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from halu_tasks.core.errors import HaluTasksError, JudgeError
from halu_tasks.core.files import atomic_write
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import DATA_OPTIONS, PREFIX, SCORING_OPTIONS, Options
from halu_tasks.data.cache import cache_folder
from halu_tasks.data.sources import OwnSource
from halu_tasks.replies.reference import check_reference, label_warnings, with_known_errors
from halu_tasks.scorers.answer import ABSTAINED, ANSWERED, EMPTY, INFERRED, REQUEST_FAILED, UNPARSED, Outcome
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Verdict
from halu_tasks.scorers.option_metrics import UNSURE
from halu_tasks.scorers.reference import ReferenceLabels
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Evaluation, Task, registry

logger = logging.getLogger(__name__)


def judge_warnings(task: Task, options: Options) -> list[str]:
    """Return the warnings of a judged task without a judge, and of models that the task's file suggests in vain."""
    warnings = []
    if task.judged and not options.judge:
        warnings.append(
            f"{task.name}: no judge was named, so {task.headline} is missing and only metrics without a judge, such as "
            f'{task.judged.unjudged}, are reported; name a judge with --metadata \'{{"halu_judge": "openai/gpt-4o"}}\' '
            "(lm-eval), --model-role grader=openai/gpt-4o (Inspect) or --judge openai/gpt-4o (halu-tasks)"
        )
    chosen = tuple(name for name in ("judge", "reader") if getattr(options, name))
    suggested = {name: shlex.quote(str(value)) for name, value in task.suggested.items() if not name.startswith(chosen)}
    if suggested:
        named = suggested.items()
        models = ", ".join(f"{name} {value}" for name, value in named)
        flags = " ".join(f"{Options.settings()[name].flag} {value}" for name, value in named)
        metadata = shlex.quote(json.dumps({PREFIX + name: task.suggested[name] for name in suggested}))
        arguments = " ".join(f"-T {name}={value}" for name, value in named)
        warnings.append(
            f"task file {task.file.path} suggests {models}; pass {flags} to use it "
            f"(lm-eval: --metadata {metadata}; Inspect: {arguments})"
        )
    return warnings


def asks_models(evaluation: Evaluation) -> bool:
    """Return whether models are asked to score replies: a judge, or one that reads them."""
    return bool(evaluation.reader or (evaluation.task.judged and evaluation.options.judge))


def prepare_judge(evaluation: Evaluation, costs: Path | None = None, *, asks: bool = True) -> None:
    """Check, before anything is generated, that the judge answers; warn if a judged task has none.

    Args:
        evaluation: The task.
        costs: The file in which the costs of judges are recorded; None if the environment may name one.
        asks: Whether the judge is asked if it is there. Otherwise, it is asked before the first question whose verdict
            is not cached.

    Raises:
        JudgeError: The judge does not answer.
        UsageError: An option about judges does not fit the judge or the others.
    """
    check_reference(evaluation)
    judged = evaluation.task.judged
    for warning in judge_warnings(evaluation.task, evaluation.options):
        logger.warning(warning)
    if not asks_models(evaluation):
        return  # without the import, which takes as long as scoring some thousand replies
    from halu_tasks.judging.judge import Judge, with_judge

    check = Judge.reach if asks else Judge.opened
    if evaluation.reader:
        with_judge(evaluation.options.for_reader, evaluation.reader, check, costs)
    if judged and evaluation.options.judge:
        with_judge(evaluation.options, judged, check, costs)


def score_replies(evaluation: Evaluation, replies: Sequence[tuple[Item, Reply]]) -> list[Score]:
    """Score replies, asking the judge if the task needs one, and save the replies if that fails.

    Args:
        evaluation: The task.
        replies: Items with their replies.

    Returns:
        The scores, in the order of `replies`.

    Raises:
        JudgeError: The judge failed on more than the allowed share of questions, or would cost more than is allowed.
            The replies are then saved to a file that the message names, and can be scored again.
    """
    try:
        return scores_of(evaluation, replies)
    except BaseException as error:
        if not (evaluation.task.judged or evaluation.reader):
            raise
        path = keep_replies(evaluation, replies)
        kept = f"the replies are saved in {path}" if path else "the replies could not be saved"
        if not isinstance(error, JudgeError):
            logger.error("judging was interrupted; %s", kept)
            raise
        how = f", score them with: {score_command(evaluation, path)}" if path else ""
        raise JudgeError(f"{error}; {kept}{how}") from None


def scores_of(evaluation: Evaluation, replies: Sequence[tuple[Item, Reply]], costs: Path | None = None) -> list[Score]:
    """Score replies as `score_replies` does, without saving them.

    Args:
        evaluation: The task.
        replies: Items with their replies.
        costs: The file in which the costs of judges are recorded; None if the environment may name one.

    Raises:
        JudgeError: The judge failed on more than the allowed share of questions, or would cost more than is allowed.
    """
    mode, judged = evaluation.options.scoring, evaluation.task.judged
    judgements: Sequence[Sequence[Verdict] | None] = [None] * len(replies)
    if judged and evaluation.options.judge:
        texts = [
            (item, evaluation.task.judged_text(mode, item, reply.text)) for item, reply in replies if not reply.failure
        ]
        verdicts = iter(_verdicts(evaluation.options, judged, texts, f"judging {evaluation.task.name}", costs))
        judgements = [() if reply.failure else next(verdicts) for _, reply in replies]
    scores = [
        with_known_errors(evaluation, evaluation.task.score(mode, item, reply, verdicts))
        for (item, reply), verdicts in zip(replies, judgements, strict=True)
    ]
    if evaluation.reader:
        unsure = [number for number, score in enumerate(scores) if score.outcome in UNSURE]
        texts = [(replies[number][0], replies[number][1].text) for number in unsure]
        doing = f"reading replies to {evaluation.task.name}"
        readings = _verdicts(evaluation.options.for_reader, evaluation.reader, texts, doing, costs)
        for number, reading in zip(unsure, readings, strict=True):
            scores[number] = replace(scores[number], verdicts=reading)
    return scores


def _verdicts(
    options: Options, spec: JudgeSpec, texts: Sequence[tuple[Item, str]], doing: str, costs: Path | None
) -> Sequence[Sequence[Verdict]]:
    if not texts:
        return []
    from tqdm import tqdm

    from halu_tasks.judging.judge import with_judge

    with tqdm(total=len(texts), desc=doing) as bar:
        return with_judge(options, spec, lambda judge: judge.of_replies(texts, bar.update), costs)


MOST_EMPTY, MOST_CUT, MOST_UNPARSED, MOST_INFERRED = 0.01, 0.01, 0.20, 0.05
"""The shares of empty, cut and unparsed replies, and of inferred answers, above which `reply_warnings` warns."""


def outcome_of(reply: str, score: Score, scoring: str) -> Outcome:
    """Return the outcome of a reply: its score's, or `empty` in `paper`, whose scores do not have that outcome."""
    is_empty = scoring == "paper" and not reply.strip() and score.outcome != REQUEST_FAILED
    return EMPTY if is_empty else score.outcome


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
) -> list[tuple[str, str]]:
    """Warn of many empty, unparsed or truncated replies, and of many whose answer is inferred.

    Args:
        outcomes: The number of replies by `outcome_of`; items without any reply are not counted.
        how: How the replies were asked for; None if no harness made them, whose flags are then not advised.
        task: The task; of one's own, the prompt may be at fault.
        missing: The number of items without any reply, which are part of the whole in the shares that are shown.
        stops: Why the replies ended, as far as it is known.

    Returns:
        For each warning, how many replies there are, and what they are and what to do.
    """
    total, stops = sum(outcomes.values()), stops or {}
    warnings = []
    most: Mapping[Outcome, float] = {EMPTY: MOST_EMPTY, UNPARSED: MOST_UNPARSED, INFERRED: MOST_INFERRED}
    for outcome, threshold in most.items():
        count = outcomes.get(outcome, 0)
        if count <= threshold * total:
            continue
        cut, ended = (stops.get((outcome, stop), 0) for stop in (CUT, ENDED))
        known = [f"{cut:,} cut by the token limit"] if cut else []
        known += [f"{ended:,} ended by {'itself' if ended == 1 else 'themselves'}"] if ended else []
        if outcome == INFERRED:
            meaning, known = "declare no answer; theirs is inferred from what they say, which is less certain: ", []
            meaning += "look at some of them (docs/reading.md)"
        elif outcome == EMPTY:
            meaning = f"are empty and count as wrong; {_advice_on_empty(how, cut, count)}"
        else:
            meaning = f"contain no readable answer ({UNPARSED}) and count as wrong; look at the replies"
            meaning = "; ".join([meaning, *_advice_on_unparsed(how, task, cut, count, ended)])
        warnings.append((_share(count, total + missing, "replies", known), meaning))
    cut = sum(stops.get((outcome, CUT), 0) for outcome in (ANSWERED, INFERRED, ABSTAINED))
    if cut > MOST_CUT * total:
        meaning = "were cut off by the token limit, and what could be read of them is scored; raise the limit"
        warnings.append((_share(cut, total + missing, "replies"), meaning + (how.more_tokens if how else "")))
    return warnings


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
    form = getattr(task and task.rules.read, "form", "docs/reading.md")
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

    def __init__(self, scores: Iterable[Score] = ()) -> None:
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
        shown = self.answer if len(self.answer) <= _SHOWN else f"{self.answer[:_SHOWN]}…"
        meaning = f'give the same answer, "{shown}", and none gives another, although the correct answers differ; '
        meaning += "the figures are those of a constant answer: look at the replies"
        helps = how.forms(task) if how else []
        meaning += f", and {' or '.join(helps)}" if helps else ""
        return [(_share(self._replies, total, "replies"), meaning)]


# the length at which an answer is cut in a warning
_SHOWN = 60


def _in_words(answer: Any) -> str:
    return "; ".join(answer) or "nothing" if isinstance(answer, list | tuple) else str(answer)


REPORT_FOLLOWS = "HALU_TASKS_REPORT_FOLLOWS"
"""The environment variable of harnesses that `halu-tasks run` starts: its report says what is to be said of replies."""


def run_warnings(
    task: Task,
    outcomes: Mapping[Outcome, int],
    scores: Sequence[Score],
    reference: ReferenceLabels | None = None,
    how: HowAsked | None = None,
    missing: int = 0,
    stops: Stops | None = None,
    same: SameAnswer | None = None,
) -> list[str]:
    """Return what keeps the figures of a run from saying much about the model, each in a line that names the task.

    Args:
        task: The task.
        outcomes: As in `reply_warnings`.
        scores: The scores, with the judge's verdicts.
        reference: Better labels of the replies, if there are any.
        how: As in `reply_warnings`.
        missing: As in `reply_warnings`.
        stops: As in `reply_warnings`.
        same: Whether the replies give one answer; by default, it is found in the scores.
    """
    warnings: list[tuple[str, str]] = []
    if not os.environ.get(REPORT_FOLLOWS):
        warnings = reply_warnings(outcomes, how, task, missing, stops)
        warnings += request_warnings(scores, sum(outcomes.values()) + missing)
        warnings += (same or SameAnswer(scores)).warnings(sum(outcomes.values()) + missing, how, task)
        warnings += verdict_warnings(task, scores)
    return [f"{task.name}: {share} {meaning}" for share, meaning in warnings] + label_warnings(task, reference, scores)


def revision_warnings(task: Task, mode: str, before: Sequence[Score], after: Sequence[Score]) -> list[str]:
    """Warn of revisions that leave the judge less to check, so that fewer faults do not mean fewer hallucinations.

    Args:
        task: The task.
        mode: The scoring mode, `strict` or `paper`.
        before: The scores of the drafts.
        after: The scores of the revised replies, of the same items.

    Returns:
        A line if the coverage of a judged task (`JudgeSpec.coverage`) is lower after the revision, unless the 95%
        interval of a difference that varies between items includes 0; else nothing.
    """
    from halu_tasks.scorers.statistics.differences import difference  # imports numpy, which listings avoid

    name = task.judged.coverage if task.judged else None
    metric = next((metric for metric in task.scoring[mode].metrics if metric.name == name), None)
    change = difference(metric, after, before) if metric else None
    if change is None or change.value >= 0 or (change.stderr and change.high is not None and change.high >= 0):
        return []
    interval = "" if change.low is None else f" [{change.low:.4f}, {change.high:.4f}]"
    return [
        f"{task.name}: the revision changed {name} by {change.value:.4f}{interval}, so the judge checked less of the "
        f"revised replies; what it does not check cannot count as wrong, so compare {task.headline} with care"
    ]


_NAMED = 5
"""The number of items that a warning names."""


def request_warnings(scores: Sequence[Score], total: int) -> list[tuple[str, str]]:
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
    more = [f"{len(ids) - _NAMED:,} more"] if len(ids) > _NAMED else []
    others = f", and {len(reasons) - 1:,} other reasons" if len(reasons) > 1 else ""
    meaning = f"failed ({reasons[0]}{others}) and count as wrong: {', '.join(ids[:_NAMED] + more)}"
    count = sum(score.outcome == REQUEST_FAILED for score in scores)
    return [(_share(count, total, "requests"), meaning)]


def verdict_warnings(task: Task, scores: Sequence[Score]) -> list[tuple[str, str]]:
    """Warn of texts that the judge was not shown in full, and of questions on which it failed.

    The latter have the values that the headline could have had.

    Args:
        task: The task.
        scores: The scores of a run, with the judge's verdicts.

    Returns:
        As `reply_warnings`.
    """
    failures = [sum(verdict.label == FAILED for verdict in score.verdicts) for score in scores]
    failed, asked = sum(failures), sum(len(score.verdicts) for score in scores)
    warnings = []
    if cut := [verdict.left_out for score in scores for verdict in score.verdicts if verdict.left_out]:
        meaning = (
            f"concern a text that is too long for the judge: up to {max(cut):,} characters between its beginning and "
            "its end are left out; raise judge_max_characters=N"
        )
        warnings.append((_share(len(cut), asked, "questions"), meaning))
    if not failed or task.judged is None:
        return warnings
    name, meaning = task.judged.measurement, "have no verdict of the judge"
    counted = [number for number, score in zip(failures, scores, strict=True) if name in score.measurements]
    if any(counted):
        more = sum(counted) / len(counted)
        meaning += f" and count as no hallucination; if all of them were, there would be {more:.4f} more in a reply"
    elif name:
        from halu_tasks.scorers.metrics import estimates  # imports numpy, which listings avoid

        metric, known = task.headline_metric("strict"), failures.count(0) / len(scores)
        figure = estimates([metric], scores).get(metric.name)
        low = figure.value * known if figure else 0.0
        meaning += f" and are left out of {metric.name}, which is {low:.4f} to {low + 1 - known:.4f} with them"
    return [*warnings, (_share(failed, asked, "questions"), meaning)]


def score_command(evaluation: Evaluation, predictions: Path) -> str:
    """Return the command that scores a predictions file with the options of this run."""
    return _command(evaluation, "score", str(predictions), "--partial", options=SCORING_OPTIONS)


def items_command(evaluation: Evaluation) -> str:
    """Return the command that lists the items of this run with their ids."""
    return _command(evaluation, "items")


def _command(evaluation: Evaluation, command: str, *arguments: str, options: Sequence[str] = ()) -> str:
    """Write a command for the task with its options on data, and others if they differ from their defaults."""
    known = (*DATA_OPTIONS, *options, *evaluation.task.prompts.task_options)
    words: list[str] = []
    for option, value in evaluation.options.changed().items():
        if option in known:
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            words += [Options.settings()[option].flag, *([] if value is True else [text])]
    name = evaluation.task.name if evaluation.task.name in registry()[0] else str(evaluation.task.file.path)
    return shlex.join(["halu-tasks", command, name, *arguments, *words])


def keep_replies(evaluation: Evaluation, replies: Sequence[tuple[Item, Reply]]) -> Path | None:
    """Save replies as `<task>.jsonl` in a new folder, which can be replayed; nothing is overwritten.

    The folder is created in the cache or, if that cannot be written, in the temporary directory.

    Args:
        evaluation: The task.
        replies: Items with their replies.

    Returns:
        The file; None if neither can be written.
    """
    for parent in (cache_folder() / "kept", Path(tempfile.gettempdir())):
        with suppress(OSError, HaluTasksError):
            parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=f"{time.strftime('%Y%m%d')}-", dir=parent))
            path = folder / f"{evaluation.task.name}.jsonl"
            # an incomplete file would look like a complete one
            with atomic_write(path) as file:
                for item, reply in replies:
                    probability = {} if reply.probability is None else {"probability": reply.probability}
                    file.write(json.dumps({"id": item.id, "output": reply.text, **probability}) + "\n")
                file.flush()
                os.fsync(file.fileno())
            return path
    return None
