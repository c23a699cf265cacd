"""Scoring all replies to a task at once, with a judge if the task needs one."""

from __future__ import annotations

import json
import logging
import os
import shlex
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from halu_tasks.core.errors import HaluTasksError, JudgeError, UsageError
from halu_tasks.core.files import atomic_write
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import DATA_OPTIONS, PREFIX, SCORING_OPTIONS, Options
from halu_tasks.data.cache import cache_folder
from halu_tasks.replies.label_notes import check_reference_labels
from halu_tasks.replies.reply_scorer import ReplyScorer, Role
from halu_tasks.scorers.judge import JudgeSpec, Verdict
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks import Evaluation, Task, registry

logger = logging.getLogger(__name__)


def judge_warnings(task: Task, options: Options) -> list[str]:
    """Warn of a judged task without a judge, and of suggested models that are not used."""
    warnings = []
    if task.judge_spec and not options.judge and not options.verdicts:
        warnings.append(
            f"{task.name}: no judge was named, so {task.headline} is missing and only metrics without a judge, such as "
            f"{task.judge_spec.unjudged}, are reported; name a judge with "
            """--metadata '{"halu_judge": "openai/gpt-4o"}' """
            "(lm-eval), --model-role grader=openai/gpt-4o (Inspect) or --judge openai/gpt-4o (halu-tasks)"
        )
    chosen = tuple(name for name in ("judge", "reader") if getattr(options, name))
    suggested = {
        name: shlex.quote(str(value)) for name, value in task.suggested_models.items() if not name.startswith(chosen)
    }
    if suggested:
        named = suggested.items()
        models = ", ".join(f"{name} {value}" for name, value in named)
        flags = " ".join(f"{Options.settings()[name].flag} {value}" for name, value in named)
        metadata = shlex.quote(json.dumps({PREFIX + name: task.suggested_models[name] for name in suggested}))
        arguments = " ".join(f"-T {name}={value}" for name, value in named)
        warnings.append(
            f"task file {task.file.path} suggests {models}; pass {flags} to use it "
            f"(lm-eval: --metadata {metadata}; Inspect: {arguments})"
        )
    return warnings


def asks_models(evaluation: Evaluation) -> bool:
    """Whether models are asked to score replies: a judge or a reader."""
    return bool(evaluation.reader or (evaluation.task.judge_spec and evaluation.options.judge))


def check_knowledge(evaluation: Evaluation) -> None:
    """Check that a judge has the passages in which it looks claims up; warn if they are given and it looks up nothing.

    Raises:
        UsageError: It has none.
        DataError: They do not exist, or are of another format.
    """
    judged, options, name = evaluation.task.judge_spec, evaluation.options, evaluation.task.name
    looks_up = judged is not None and judged.claims is not None and judged.claims.looks_up
    if options.judge_knowledge is None:
        if looks_up:
            raise UsageError(
                f"task {name}: its judge looks claims up; name a file or folder of passages: --judge-knowledge PATH "
                '(lm-eval: --metadata \'{"halu_judge_knowledge": "PATH"}\'; Inspect: -T judge_knowledge=PATH)'
            )
    elif not looks_up or options.verdicts:
        why = "recorded verdicts take the place of its judge" if looks_up else "no judge of it looks claims up"
        logger.warning("%s: option judge_knowledge has no effect, since %s", name, why)
    else:
        from halu_tasks.knowledge import named_files  # its expressions take long to compile

        named_files(Path(options.judge_knowledge).expanduser())


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
        DataError: The passages in which it looks claims up do not exist, or are of another format.
    """
    check_reference_labels(evaluation)
    if evaluation.options.verdicts and not evaluation.task.judge_spec:
        raise UsageError(f"task {evaluation.task.name} has no judge, so it takes no recorded verdicts")
    if evaluation.options.verdicts and asks:
        raise UsageError("option verdicts: recorded verdicts are on replies that exist; use halu-tasks score")
    judged = evaluation.task.judge_spec
    if evaluation.options.judge_knowledge or (judged and evaluation.options.judge):
        check_knowledge(evaluation)
    for warning in judge_warnings(evaluation.task, evaluation.options):
        logger.warning(warning)
    if not asks_models(evaluation):
        return
    from halu_tasks.judging.judge_model import Judge, with_judge  # takes as long as scoring some thousand replies

    models = [(evaluation.options.reader_options, evaluation.reader)] if evaluation.reader else []
    models += [(evaluation.options, judged)] if judged and evaluation.options.judge else []
    for options, spec in models:
        if asks:
            with_judge(options, spec, Judge.reach, costs)
        else:
            Judge(None, spec, options, costs)  # raises errors of names and prices


def score_replies(evaluation: Evaluation, replies: Sequence[tuple[Item, Reply]]) -> list[ScoredReply]:
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
        if not (evaluation.task.judge_spec or evaluation.reader):
            raise
        path = keep_replies(evaluation, replies)
        where = f"the replies are saved in {path}" if path else "the replies could not be saved"
        if not isinstance(error, JudgeError):
            logger.error("judging was interrupted; %s", where)
            raise
        how = f", score them with: {score_command(evaluation, path)}" if path else ""
        raise JudgeError(f"{error}; {where}{how}") from None


def scores_of(
    evaluation: Evaluation, replies: Sequence[tuple[Item, Reply]], costs: Path | None = None
) -> list[ScoredReply]:
    """Score replies as `score_replies` does, without saving them.

    Args:
        evaluation: The task.
        replies: Items with their replies.
        costs: The file in which the costs of judges are recorded; None if the environment may name one.

    Raises:
        JudgeError: The judge failed on more than the allowed share of questions, or would cost more than is allowed.
    """
    judged, options = evaluation.task.judge_spec, evaluation.options

    def ask(role: Role, texts: Sequence[tuple[Item, str]]) -> Sequence[Sequence[Verdict]]:
        if role == "judge":
            assert judged
            if recorded := evaluation.recorded:
                of_run = evaluation.task, options.scoring
                return [recorded.of_text(*of_run, *text, options.judge_max_characters) for text in texts]
            return _verdicts(options, judged, texts, f"judging {evaluation.task.name}", costs)
        assert evaluation.reader
        doing = f"reading replies to {evaluation.task.name}"
        return _verdicts(options.reader_options, evaluation.reader, texts, doing, costs)

    return ReplyScorer.of(evaluation).score_all(replies, ask)


def _verdicts(
    options: Options, spec: JudgeSpec, texts: Sequence[tuple[Item, str]], doing: str, costs: Path | None
) -> Sequence[Sequence[Verdict]]:
    from tqdm import tqdm

    from halu_tasks.judging.judge_model import with_judge

    with tqdm(total=len(texts), desc=doing) as bar:
        return with_judge(options, spec, lambda judge: judge.judge_replies(texts, bar.update), costs)


def score_command(evaluation: Evaluation, predictions: Path) -> str:
    """Return the command that scores a predictions file with the options of this run."""
    return _command(evaluation, "score", str(predictions), "--partial", options=SCORING_OPTIONS)


def items_command(evaluation: Evaluation) -> str:
    """Return the command that lists the items of this run with their ids."""
    return _command(evaluation, "items")


def _command(evaluation: Evaluation, command: str, *arguments: str, options: Sequence[str] = ()) -> str:
    """Write a command with the task's name, its options on data, and the other options that are set."""
    names = (*DATA_OPTIONS, *options, *evaluation.task.prompts.task_options)
    words: list[str] = []
    for option, value in evaluation.options.changed().items():
        if option in names:
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
