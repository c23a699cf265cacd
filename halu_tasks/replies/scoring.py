"""Scoring all replies to a task at once, with a judge if the task needs one."""

from __future__ import annotations

import json
import logging
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tqdm import tqdm

from halu_tasks.core.credentials import redacted
from halu_tasks.core.errors import HaluTasksError, JudgeError
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import DATA_OPTIONS, SCORING_OPTIONS, JudgeOptions, Options
from halu_tasks.data.cache import cache_folder
from halu_tasks.replies.reference import check_reference, with_known_errors
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Verdict
from halu_tasks.scorers.option_metrics import UNSURE
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, Task, registry

if TYPE_CHECKING:
    from halu_tasks.scorers.metrics import Metric

logger = logging.getLogger(__name__)

NO_JUDGE = (
    "{task}: no judge was named, so {headline} is missing and only metrics without a judge, such as {unjudged}, are "
    "reported; name a judge with --metadata halu_judge=openai/gpt-4o (lm-eval), --model-role grader=openai/gpt-4o "
    "(Inspect) or --judge openai/gpt-4o (halu-tasks)"
)


def no_judge(task: Task) -> str:
    """Return the warning for a judged task that is run without a judge."""
    assert task.judged
    return NO_JUDGE.format(task=task.name, headline=task.headline, unjudged=task.judged.unjudged)


def prepare_judge(built: Built, costs: Path | None = None) -> None:
    """Check, before anything is generated, that the judge answers; warn if a judged task has none.

    Args:
        built: The task.
        costs: The file in which the costs of judges are recorded; None if the environment may name one.

    Raises:
        JudgeError: The judge does not answer.
        UsageError: An option about judges does not fit the judge or the others.
    """
    from halu_tasks.judging.blocking import reach_now

    if built.reader:
        reach_now(built.options.for_reader, built.reader, costs)
    check_reference(built)
    if built.task.judged and built.options.judge:
        reach_now(built.options, built.task.judged, costs)
    elif built.task.judged:
        logger.warning(no_judge(built.task))


def score_replies(
    built: Built, replies: Sequence[tuple[Item, Reply]], folder: Path | None = None, costs: Path | None = None
) -> list[Score]:
    """Score replies, asking the judge if the task needs one.

    Args:
        built: The task.
        replies: Items with their replies.
        folder: Where the run's results are written, if that is known.
        costs: The file in which the costs of judges are recorded; None if the environment may name one.

    Returns:
        The scores, in the order of `replies`.

    Raises:
        JudgeError: The judge failed on more than the allowed share of questions, or would cost more than is allowed.
            The replies are then saved to a file that the message names, and can be scored again.
    """
    mode = built.options.scoring
    judgements: Sequence[Sequence[Verdict] | None] = [None] * len(replies)
    if built.task.judged and built.options.judge:
        texts = [(item, built.task.judged_text(mode, item, reply.text)) for item, reply in replies]
        with _keeping(built, replies, folder):
            judgements = _judge(built, built.options, built.task.judged, texts, costs)
    scores = [
        with_known_errors(built, built.task.score(mode, item, reply, verdicts))
        for (item, reply), verdicts in zip(replies, judgements, strict=True)
    ]
    if built.reader:
        unsure = [number for number, score in enumerate(scores) if score.outcome in UNSURE]
        texts = [(replies[number][0], replies[number][1].text) for number in unsure]
        with _keeping(built, replies, folder):
            readings = _judge(built, built.options.for_reader, built.reader, texts, costs)
        for number, reading in zip(unsure, readings, strict=True):
            scores[number] = replace(scores[number], verdicts=reading)
    return scores


def _judge(
    built: Built, options: JudgeOptions, spec: JudgeSpec, texts: Sequence[tuple[Item, str]], costs: Path | None
) -> Sequence[Sequence[Verdict]]:
    if not texts:
        return []
    from halu_tasks.judging.blocking import judge_now

    doing = "judging" if spec is built.task.judged else "reading replies to"
    with tqdm(total=len(texts), desc=f"{doing} {built.task.name}") as bar:
        return judge_now(options, spec, texts, bar.update, costs)


@contextmanager
def _keeping(built: Built, replies: Sequence[tuple[Item, Reply]], folder: Path | None) -> Iterator[None]:
    """Save the replies if a judge fails, and say where."""
    try:
        yield
    except JudgeError as error:
        kept = keep_replies(built, replies, folder)
        how = f", score them with: {score_command(built, kept.path)}" if kept.path else ""
        raise JudgeError(f"{error}; {kept.message}{how}") from None
    except BaseException:
        logger.error("judging was interrupted; %s", keep_replies(built, replies, folder).message)
        raise


MOST_EMPTY, MOST_UNPARSED, MOST_INFERRED = 0.01, 0.20, 0.05
"""The shares of empty and unparsed replies, and of inferred answers, above which `reply_warnings` warns."""


def outcome_of(reply: str, score: Score, scoring: str) -> Outcome:
    """Return the outcome of a reply: its score's, or `empty` in `paper`, whose scores do not have that outcome."""
    return "empty" if scoring == "paper" and not reply.strip() else score.outcome


@dataclass
class RequestInfo:
    """How a model was asked for its replies, as far as it matters for what to do about replies that say nothing.

    Attributes:
        harness: The harness, with or without its version; empty if it is not known.
        chat_template: Whether the model was asked in its chat template; None if that is not known.
    """

    harness: str = ""
    chat_template: bool | None = None

    @property
    def token_limit_flags(self) -> str:
        """The options that allow more tokens."""
        flags = {"lm-eval": "--gen_kwargs max_gen_toks=N", "Inspect": "--max-tokens N"}
        of_harness = [flag for name, flag in flags.items() if self.harness.startswith(name)]
        shown = of_harness[0] if of_harness else ", ".join(f"{name}: {flag}" for name, flag in flags.items())
        return f"{shown}; in halu-tasks run after --"


class ReplyWarning(NamedTuple):
    """A warning of replies, or of questions about them, that keep the figures from saying much about the model.

    Attributes:
        share: How many, such as `21 of 40 replies (52.5%)`.
        meaning: What they are, and what to do.
    """

    share: str
    meaning: str


def reply_warnings(outcomes: Mapping[Outcome, int], request: RequestInfo) -> list[ReplyWarning]:
    """Warn of many empty or unparsed replies, and of many whose answer is inferred.

    Args:
        outcomes: The number of replies by `outcome_of`; items without any reply are not counted.
        request: How the model was asked; what it already had is not advised.
    """
    total = sum(outcomes.values())
    template = (
        "" if request.chat_template else "a chat model needs its chat template (lm-eval: --apply_chat_template), "
    )
    meanings: tuple[tuple[Outcome, float, str], ...] = (
        (
            "empty",
            MOST_EMPTY,
            "are empty, as when a server fails or reasoning uses up the token limit, and count as wrong; check the "
            f"server's log, raise the token limit ({request.token_limit_flags}) or run again",
        ),
        (
            "unparsed",
            MOST_UNPARSED,
            f"contain no readable answer (unparsed) and count as wrong; look at the replies: {template}a reasoning "
            f"model needs a higher token limit ({request.token_limit_flags})",
        ),
        (
            "inferred",
            MOST_INFERRED,
            "declare no answer; theirs is inferred from what they say, which is less certain: look at some of them "
            "(docs/reading.md)",
        ),
    )
    return [
        ReplyWarning(f"{count:,} of {total:,} replies ({count / total:.1%})", meaning)
        for outcome, threshold, meaning in meanings
        if (count := outcomes.get(outcome, 0)) > threshold * total
    ]


def task_reply_warnings(task: str, outcomes: Mapping[Outcome, int], request: RequestInfo) -> list[str]:
    """Return `reply_warnings` as lines that name the task."""
    return [f"{task}: {warning.share} {warning.meaning}" for warning in reply_warnings(outcomes, request)]


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


def failure_warnings(task: Task, mode: str, scores: Sequence[Score]) -> list[ReplyWarning]:
    """Warn of questions on which the judge failed, with what the headline would be if all were hallucinations.

    Args:
        task: The task.
        mode: The scoring mode, `strict` or `paper`.
        scores: The scores of a run, with the judge's verdicts.
    """
    failures = [sum(verdict.label == FAILED for verdict in score.verdicts) for score in scores]
    failed, asked = sum(failures), sum(len(score.verdicts) for score in scores)
    if not failed or task.judged is None:
        return []
    share = f"{failed:,} of {asked:,} questions ({failed / asked:.1%})"
    name, meaning = task.judged.measurement, "have no verdict of the judge"
    if any(number and name in score.measurements for number, score in zip(failures, scores, strict=True)):
        meaning += f" and count as no hallucination{_bound(task.headline_metric(mode), name, scores, failures)}"
    elif name:
        meaning += f" and are left out of {task.headline}"
    return [ReplyWarning(share, meaning)]


def _bound(metric: Metric, name: str, scores: Sequence[Score], failures: Sequence[int]) -> str:
    """Return a clause with a metric's value, and its value if all failed questions were hallucinations.

    Args:
        metric: The metric.
        name: The measurement that counts hallucinations; a score without it does not count.
        scores: The scores.
        failures: The number of failed questions of each score.
    """
    from halu_tasks.scorers.metrics import by_cluster, estimate  # imports numpy, which listings avoid

    worst = [
        replace(score, measurements={**score.measurements, name: score.measurements[name] + number})
        if number and name in score.measurements
        else score
        for score, number in zip(scores, failures, strict=True)
    ]
    value, bound = (estimate(metric, by_cluster(each)) for each in (scores, worst))
    # a metric that does not use the measurement has no known bound
    if not value or not bound or value.value == bound.value:
        return ""
    side = "least" if value.value < bound.value else "most"
    return f": {metric.name} is at {side} {value.value:.4f} and, if all of them were hallucinations, {bound.value:.4f}"


def task_failure_warnings(task: Task, mode: str, scores: Sequence[Score]) -> list[str]:
    """Return `failure_warnings` as lines that name the task."""
    return [f"{task.name}: {warning.share} {warning.meaning}" for warning in failure_warnings(task, mode, scores)]


def score_command(built: Built, predictions: Path) -> str:
    """Return the command that scores a predictions file with the options of this run."""
    known = (*DATA_OPTIONS, *SCORING_OPTIONS, *built.task.task_options)
    words: list[str] = []
    for option, value in built.options.changed().items():
        if option in known:
            text = ",".join(value) if isinstance(value, tuple) else redacted(str(value))
            words += [Options.specs()[option].flag, *([] if value is True else [text])]
    name = built.task.name if built.task.name in registry()[0] else str(built.task.file.path)
    return shlex.join(["halu-tasks", "score", name, str(predictions), "--partial", *words])


class Kept(NamedTuple):
    """Where replies were saved.

    Attributes:
        path: The file; None if they could not be saved.
        message: A clause for the log that says where they are, or why they could not be saved.
    """

    path: Path | None
    message: str


_process_folders: dict[Path, Path] = {}
"""This process's own folder in each folder of saved replies."""


def keep_replies(built: Built, replies: Sequence[tuple[Item, Reply]], folder: Path | None = None) -> Kept:
    """Save replies as `<task>.jsonl` in a new folder, which can be replayed.

    The folder is created in the cache or, if that is not writable, in `folder` or in the temporary directory. Nothing
    is overwritten, and no error is raised; `Kept.message` says what went wrong.

    Args:
        built: The task.
        replies: Items with their replies.
        folder: Where the run's results are written, if that is known.
    """
    rows = []
    for item, reply in replies:
        probability = {} if reply.probability is None else {"probability": reply.probability}
        rows.append(json.dumps({"id": item.id, "output": reply.text, **probability}) + "\n")
    failures: list[str] = []
    places: list[Callable[[], Path]] = [lambda: cache_folder() / "kept", lambda: Path(tempfile.gettempdir())]
    if folder:
        places.insert(1, lambda: folder)
    for place in places:
        try:
            path = _write_new(place(), f"{built.task.name}.jsonl", rows)
        except (OSError, HaluTasksError) as error:
            failures.append(" ".join(str(error).split()))
        else:
            reason = f" (not in the cache: {failures[0]})" if failures else ""
            return Kept(path, f"the replies are saved in {path}{reason}")
    return Kept(None, f"the replies could not be saved: {'; '.join(failures)}")


def _write_new(parent: Path, name: str, rows: Sequence[str]) -> Path:
    """Write a new file in this process's folder below `parent`.

    Raises:
        OSError: It cannot be written completely; nothing is left behind.
    """
    folder = _process_folders.get(parent)
    if folder is None or (folder / name).exists() or not folder.is_dir():
        parent.mkdir(parents=True, exist_ok=True)
        # process ids repeat, in containers all the time
        folder = Path(tempfile.mkdtemp(prefix=f"{time.strftime('%Y%m%d')}-{os.getpid()}-", dir=parent))
    path = folder / name
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(rows)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        # an incomplete file would look like a complete one
        with suppress(OSError):
            path.unlink()
            folder.rmdir()
        raise
    _process_folders[parent] = folder
    return path
