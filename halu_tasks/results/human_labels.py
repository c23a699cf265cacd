"""Judged replies for people to label, and their labels in runs that were scored without them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_write
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.json_lines import json_line
from halu_tasks.replies.judge_errors import few_labels, number_used, unused_labels
from halu_tasks.results.readers.read import read_results
from halu_tasks.results.run import Run
from halu_tasks.scorers.human_labels import with_judge_error
from halu_tasks.scorers.reading.judge import FAILED
from halu_tasks.tasks.human_labels import FIELDS, labels_of_task


class _Judged(NamedTuple):
    """A verdict for people to check, without what the judge said; the attributes are `FIELDS`."""

    task: str
    id: str
    about: str
    reply: str
    shown: str
    hallucinated: str = ""


def draw_verdicts(paths: Sequence[str], number: int, seed: int, output: Path) -> tuple[int, int]:
    """Draw verdicts at random and write what was judged, without the judge's answer, for people to label.

    Args:
        paths: Files and folders with results of judged tasks.
        number: The number of verdicts to draw; all if there are fewer.
        seed: The seed; which are drawn depends on it and on the replies.
        output: The file, JSON Lines if its name ends in `.jsonl`, otherwise CSV.

    Returns:
        The number of verdicts drawn, and of all verdicts.

    Raises:
        DataError: There are no results with a judge's verdicts, or a file cannot be read or written.
    """
    results = read_results(paths)
    if lost := [skipped for skipped in results.skipped if skipped.lost]:
        raise DataError(f"{lost[0].source}: {lost[0].why}")
    rows = list(dict.fromkeys(row for run in results.runs for row in _judged(run)))
    if not rows:
        raise DataError(f"{', '.join(paths)}: expected results with a judge's verdicts, found none")
    drawn = sorted(rows, key=lambda row: stable_hash(seed, *row[:4], surrogates="surrogatepass"))[:number]
    with atomic_write(output, "labels") as file:
        if output.suffix == ".jsonl":
            file.writelines(json_line(row._asdict()) + "\n" for row in drawn)
        else:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(row._asdict() for row in drawn)
    return len(drawn), len(rows)


def _judged(run: Run) -> Iterator[_Judged]:
    task = run.benchmark_task
    if task.judged is None or task.judged.positive is None:
        return
    for item, reply, score in run.answers:
        if not score.verdicts:
            continue
        questions = task.judged.questions(item, task.judged_text(run.scoring, item, reply))
        for verdict, question in zip(score.verdicts, questions, strict=True):
            if verdict.label != FAILED:
                shown = "\n\n".join(f"{name}: {_unfenced(text)}" for name, text in question.items() if name != "about")
                answer = score.answer if isinstance(score.answer, str) else ""
                yield _Judged(task.name, item.id, verdict.about, answer, shown)


def _unfenced(text: str) -> str:
    """Return a text without the two identical lines that a judge sees around it (`fence`)."""
    lines = text.split("\n")
    return "\n".join(lines[1:-1]) if len(lines) > 2 and lines[0] == lines[-1] else text


def labelled_runs(runs: Sequence[Run], path: str) -> tuple[list[Run], list[str]]:
    """Add people's labels to the runs of judged tasks.

    Args:
        runs: The runs.
        path: The file of the labels.

    Returns:
        The runs, and warnings.

    Raises:
        DataError: The file cannot be read, fits no run, or a label is of an item that a run could not have.
    """
    labelled, warnings = [], []
    used: Counter[str] = Counter()
    labels_of = cache(partial(labels_of_task, path))
    for run in runs:
        task = run.benchmark_task
        if task.judged is None or task.judged.positive is None or not any(score.verdicts for score in run.scores):
            labelled.append(run)
            continue
        labels = labels_of(task.name)
        answers = [
            answered._replace(score=with_judge_error(answered.score, task.judged, labels, None))
            for answered in run.answers
        ]
        mark = f"human_{labels.hash}"
        version = "-".join([*(tag for tag in run.provenance.version.split("-") if not tag.startswith("human_")), mark])
        labelled.append(replace(run, answers=answers, provenance=replace(run.provenance, version=version)))
        warnings += [f"{run.model}: {text}" for text in few_labels(task, labelled[-1].scores)]
        used[task.name] += number_used(labelled[-1].scores)
    if not any("human_labels" in score.measurements for run in labelled for score in run.scores):
        raise DataError(f"{path}: the results contain no run of a judged task with verdicts to label")
    for task in {run.task: run.benchmark_task for run in labelled if run.task in used}.values():
        # labels of several models are in one file, so only those of none are of note
        warnings += unused_labels(task, labels_of(task.name), used[task.name])
    return labelled, warnings
