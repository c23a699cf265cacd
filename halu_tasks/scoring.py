"""Scoring a whole task at once: replies in, scores out, a judge asked where the task needs one."""

from __future__ import annotations

import json
import logging
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from halu_tasks.credentials import redacted
from halu_tasks.data import cache_folder
from halu_tasks.errors import HaluTasksError, JudgeError
from halu_tasks.items import Item, Reply
from halu_tasks.options import Options
from halu_tasks.scorers.answer import Outcome
from halu_tasks.scorers.judge import Verdict
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Built, Task, registry

logger = logging.getLogger(__name__)

NO_JUDGE = (
    "{task}: no judge was named, so {headline} is absent and only {unjudged} and its like are reported; name one "
    "with --metadata halu_judge=openai/gpt-4o (lm-eval), --model-role grader=openai/gpt-4o (Inspect) or --judge "
    "openai/gpt-4o (halu-tasks)"
)


def no_judge(task: Task) -> str:
    """What is to be said before a judged task is run without a judge."""
    assert task.judged
    return NO_JUDGE.format(task=task.name, headline=task.headline, unjudged=task.judged.unjudged)


def prepare_judge(built: Built) -> None:
    """Before anything is generated: check that the judge answers, or say what will be missing without
    one. Raises JudgeError."""
    if not built.task.judged:
        return
    if not built.options.judge:
        logger.warning(no_judge(built.task))
        return
    from halu_tasks.judging import reach_now

    reach_now(built.options, built.task.judged)


def score_replies(built: Built, replies: Sequence[tuple[Item, Reply]], folder: Path | None = None) -> list[Score]:
    """Scores of (item, reply) pairs, in their order. `folder` is where the run's results go, if that is known.

    Raises:
        JudgeError: the judge failed on more than the allowed share. The replies are then kept in a file
            that the message names, so that they can be scored again.
    """
    mode = built.options.scoring
    verdicts: Sequence[list[Verdict] | None] = [None] * len(replies)
    if built.task.judged and built.options.judge:
        from halu_tasks.judging import judge_now

        with tqdm(total=len(replies), desc=f"judging {built.task.name}") as bar:
            try:
                texts = [(item, built.task.judged_text(mode, item, reply.text)) for item, reply in replies]
                verdicts = judge_now(built.options, built.task.judged, texts, bar.update)
            except JudgeError as error:
                kept = keep_replies(built, replies, folder)
                how = f", score them with: {score_command(built, kept.path)}" if kept.path else ""
                raise JudgeError(f"{error}; {kept.told}{how}") from None
            except BaseException:
                logger.error("judging was broken off; %s", keep_replies(built, replies, folder).told)
                raise
    return [built.task.score(mode, item, reply, own) for (item, reply), own in zip(replies, verdicts, strict=True)]


MOST_EMPTY, MOST_UNPARSED = 0.01, 0.20
"""The shares of replies above which `reply_warnings` has something to say."""


def outcome_of(reply: str, score: Score, scoring: str) -> Outcome:
    """What became of a reply: as its score says, but `empty` in `paper` too, whose scores do not have that outcome."""
    return "empty" if scoring == "paper" and not reply.strip() else score.outcome


def reply_warnings(task: str, outcomes: Mapping[Outcome, int]) -> list[str]:
    """One line each for replies of `task` without content and for unparsed ones, where there are too many for the
    figures to say much about the model. `outcomes` counts the replies by `outcome_of`; an item without any reply is
    none of them."""
    total = sum(outcomes.values())
    advice: tuple[tuple[Outcome, float, str], ...] = (
        (
            "empty",
            MOST_EMPTY,
            "have no content, as when a server fails or reasoning uses up the token limit, and count as wrong; see the "
            "server's log, raise the token limit (lm-eval: --gen_kwargs max_gen_toks=N, Inspect: --max-tokens N) or "
            "run again",
        ),
        (
            "unparsed",
            MOST_UNPARSED,
            "could not be read (unparsed) and count as wrong; look at the replies: a chat model needs its chat "
            "template (lm-eval: --apply_chat_template), one that reasons first a higher token limit (lm-eval: "
            "--gen_kwargs max_gen_toks=N, Inspect: --max-tokens N)",
        ),
    )
    return [
        f"{task}: {count} of {total} replies ({count / total:.1%}) {what}"
        for outcome, most, what in advice
        if (count := outcomes.get(outcome, 0)) > most * total
    ]


def score_command(built: Built, predictions: Path) -> str:
    """The command that scores `predictions` as this run would have."""
    options = built.options
    given = {
        "--data": options.data,
        "--scoring": options.scoring if options.scoring != "strict" else None,
        "--judge": options.judge,
        "--judge-base-url": redacted(options.judge_base_url) if options.judge_base_url else None,
        "--judge-max-failures": str(options.judge_max_failures) if options.judge_max_failures != 0.05 else None,
    }
    for name, option in Options.of_some_tasks().items():
        if name in built.task.own_options and (value := getattr(options, name)) != option.default:
            given[f"--{name.replace('_', '-')}"] = str(value)
    words = [word for flag, value in given.items() if value for word in (flag, value)]
    name = built.task.name if built.task.name in registry()[0] else str(built.task.path)
    return shlex.join(["halu-tasks", "score", name, str(predictions), "--partial", *words])


class Kept(NamedTuple):
    """Where replies are kept, None where no place could hold them, and a clause that says so."""

    path: Path | None
    told: str


_own_folders: dict[Path, Path] = {}
"""The folder of this process in each folder of kept replies."""


def keep_replies(built: Built, replies: Sequence[tuple[Item, Reply]], folder: Path | None = None) -> Kept:
    """Write the replies as `<task>.jsonl` into a folder of this run's own, which can be replayed: in the cache or, if
    that cannot be written, in `folder` or in the folder of temporary files. Nothing is overwritten and no error is
    raised: what went wrong is told."""
    rows = []
    for item, reply in replies:
        own = {} if reply.probability is None else {"probability": reply.probability}
        rows.append(json.dumps({"id": item.id, "output": reply.text, **own}) + "\n")
    failed: list[str] = []
    places: list[Callable[[], Path]] = [lambda: cache_folder() / "kept", lambda: Path(tempfile.gettempdir())]
    if folder:
        places.insert(1, lambda: folder)
    for place in places:
        try:
            path = _write_new(place(), f"{built.task.name}.jsonl", rows)
        except (OSError, HaluTasksError) as error:
            failed.append(" ".join(str(error).split()))
        else:
            beside = f" (not in the cache: {failed[0]})" if failed else ""
            return Kept(path, f"the replies are kept in {path}{beside}")
    return Kept(None, f"the replies could not be kept: {'; '.join(failed)}")


def _write_new(parent: Path, name: str, rows: Sequence[str]) -> Path:
    """Write a file that there was none of. Raises OSError where it cannot be written whole."""
    own = _own_folders.get(parent)
    if own is None or (own / name).exists() or not own.is_dir():
        parent.mkdir(parents=True, exist_ok=True)
        # process ids repeat, in containers all the time
        own = Path(tempfile.mkdtemp(prefix=f"{time.strftime('%Y%m%d')}-{os.getpid()}-", dir=parent))
    path = own / name
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(rows)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        # half a file would look like a whole one
        with suppress(OSError):
            path.unlink()
            own.rmdir()
        raise
    _own_folders[parent] = own
    return path
