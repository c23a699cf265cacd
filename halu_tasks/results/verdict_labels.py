"""Tables of judged replies to label, and runs scored again with the labels."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.options import Options
from halu_tasks.replies.label_notes import number_used, unfit_labels, unused_labels
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.results.read import read_results
from halu_tasks.results.run import Run, RunReply
from halu_tasks.scorers.judge import FAILED, JudgeSpec
from halu_tasks.scorers.judge_correction import ReferenceLabels, squeezed
from halu_tasks.scorers.statistics.intervals import FEWEST
from halu_tasks.tasks import Task
from halu_tasks.tasks.label_tables import FIELDS, read_reference_labels, write_label_rows


def draw_verdicts(
    paths: Sequence[str], number: int, seed: int, output: Path, half_reported: bool = False
) -> tuple[list[dict[str, Any]], list[str]]:
    """Draw replies of each run at random and write what was judged, without the judge's answers, for labels.

    Args:
        paths: Files and folders with results of judged tasks.
        number: About how many verdicts to draw of each run. Whole replies are drawn, as many as have this number of
            verdicts on average; all if there are fewer.
        seed: The seed; which are drawn depends on it and on the replies.
        output: The file, JSON Lines if its name ends in `.jsonl`, otherwise CSV.
        half_reported: Whether to draw half of the verdicts from the replies of which the judge reports any, all of
            these if they have fewer, and the others from the rest.

    Returns:
        The `model` and `task` of each run with the numbers of `verdicts` and `replies` that were drawn, with
        `half_reported` also of `reported` replies, and the judge's `labels`; and warnings of runs with fewer replies
        than an interval needs labels of.

    Raises:
        DataError: There are no results with a judge's verdicts, a file cannot be read or written, or `output` exists
            and has labels.
    """
    results = read_results(paths)
    if lost := [skipped for skipped in results.skipped if skipped.lost]:
        raise DataError(f"{lost[0].source}: {lost[0].why}")
    drawn, warnings = [], []
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for run in results.runs:
        task = run.benchmark_task
        judged = [answer for answer in run.answers if answer.score.verdicts]
        if not judged or task.judge_spec is None or not task.judge_spec.positive:
            continue
        reported, rest = (
            [answer for answer in judged if (half_reported and _reports(task.judge_spec, answer)) == says]
            for says in (True, False)
        )
        sample = _sample(reported, rest, number, seed)
        verdicts = [row for answer in sample for row in _verdicts(run, task, answer)]
        numbers = {"verdicts": len(verdicts), "replies": f"{len(sample):,} of {len(judged):,}"}
        if half_reported:
            of_reported = sum(_reports(task.judge_spec, answer) for answer in sample)
            numbers["reported"] = f"{of_reported:,} of {len(reported):,}"
        words = ", ".join(task.judge_spec.read.labels)
        drawn.append({"model": run.model, "task": task.name, **numbers, "labels": words})
        if len(sample) < FEWEST:
            warnings.append(
                f"{run.model}: {len(sample)} replies of {task.name} are too few for an interval of the corrected rate, "
                f"labels of {FEWEST} are needed"
            )
        # one label is of all equal replies; of those of several runs, the same are drawn first
        rows |= {(task.name, row["id"], *map(squeezed, (row["claim"], row["reply"]))): row for row in verdicts}
    if not rows:
        raise DataError(f"{', '.join(paths)}: expected results with a judge's verdicts, found none")
    write_label_rows(output, rows.values())
    return drawn, warnings


def _reports(judged: JudgeSpec, answer: RunReply) -> bool:
    return any(verdict.label in judged.positive for verdict in answer.score.verdicts)


def _sample(reported: Sequence[RunReply], rest: Sequence[RunReply], number: int, seed: int) -> list[RunReply]:
    """Draw replies with about `number` verdicts, half of each part if it has as many.

    Both parts are mixed, so that who labels the first rows only labels some of both.
    """
    sizes = [sum(len(answer.score.verdicts) for answer in part) for part in (reported, rest)]
    # what a part has not is drawn from the other one
    wanted = [max(number / 2, number - sizes[1]), max(number / 2, number - sizes[0])]
    sample: list[RunReply] = []
    for part, size, verdicts in zip((reported, rest), sizes, wanted, strict=True):
        if not part:
            continue
        replies = min(max(round(verdicts * len(part) / size), 1), len(part))
        order = sorted(part, key=lambda answer: stable_hash(seed, answer.item.id, answer.reply))
        sample += order[:replies]
    return sorted(sample, key=lambda answer: stable_hash(seed, answer.item.id, answer.reply))


def _verdicts(run: Run, task: Task, answer: RunReply) -> Iterator[dict[str, Any]]:
    """Return a row for each verdict on a reply; its columns are `FIELDS`."""
    assert task.judge_spec
    reply = task.judged_text(run.scoring, answer.item, answer.reply)
    longest = run.provenance.options.get("judge_max_characters", Options().judge_max_characters)
    if claims := task.judge_spec.claims:
        questions = [claims.question(answer.item, verdict.about, ()) for verdict in answer.score.verdicts]
    else:
        questions = task.judge_spec.questions(answer.item, reply, longest)
    for verdict, question in zip(answer.score.verdicts, questions, strict=True):
        if verdict.label != FAILED:
            fields = "\n\n".join(f"{name}: {_unfenced(text)}" for name, text in question.fields.items())
            values = (task.name, answer.item.id, verdict.about, reply, fields, "", "")
            yield dict(zip(FIELDS, values, strict=True))


def _unfenced(text: str) -> str:
    """Return a text without the two identical lines that a judge sees around it (`fence`)."""
    lines = text.split("\n")
    return "\n".join(lines[1:-1]) if len(lines) > 2 and lines[0] == lines[-1] else text


def with_reference_labels(runs: Sequence[Run], path: str) -> tuple[list[Run], list[str]]:
    """Add better labels to the runs of judged tasks.

    Args:
        runs: The runs.
        path: The table of the labels.

    Returns:
        The runs, and warnings.

    Raises:
        DataError: The file cannot be read or fits no run.
    """
    labelled, warnings = [], []
    used: Counter[str] = Counter()
    tasks: dict[str, Task] = {}

    @cache
    def labels_of(name: str) -> ReferenceLabels:
        return read_reference_labels(path, tasks[name])

    for run in runs:
        task = run.benchmark_task
        if task.judge_spec is None or not task.judge_spec.positive or not any(score.verdicts for score in run.scores):
            labelled.append(run)
            continue
        tasks[task.name] = task
        labels = labels_of(task.name)
        scorer = ReplyScorer(task, run.scoring, labels=labels)
        answers = [answer._replace(score=scorer.with_judge_errors(answer.score)) for answer in run.answers]
        tags = [tag for tag in run.provenance.version.split("-") if not tag.startswith("reference_")]
        version = "-".join([*tags, f"reference_{labels.hash}"])
        labelled.append(replace(run, answers=answers, provenance=replace(run.provenance, version=version)))
        warnings += [f"{run.model}: {text}" for text in unfit_labels(task, labelled[-1].scores)]
        used[task.name] += number_used(labelled[-1].scores)
    if not tasks:
        raise DataError(f"{path}: the results contain no run of a judged task with verdicts to label")
    for name, task in tasks.items():
        # labels of several models are in one file, so only those of none are of note
        warnings += unused_labels(task, len(labels_of(name)), used[name])
    return labelled, warnings
