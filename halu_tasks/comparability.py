"""Which runs compare with each other, and why others do not."""

from __future__ import annotations

from typing import NamedTuple

from halu_tasks.runs import Run
from halu_tasks.scorers.paired import same_items


class Unlike(NamedTuple):
    """In what a run differs from another, said of the run, and what to do about it; empty where there is nothing."""

    what: str
    do: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.do}" if self.do else self.what


def not_paired(first: Run, other: Run) -> list[Unlike]:
    """Why the items of `other` cannot be set against those of `first`, one by one: other data, another yardstick,
    other items. Empty where they can, whatever the method, the prompt or the model."""
    if first.benchmark_task.benchmark != other.benchmark_task.benchmark:
        return [Unlike(f"is of the task {other.task}, whose items are not those of {first.task}")]
    told = []
    if other.task == first.task and other.task_version != first.task_version:
        told.append(Unlike(f"is of the task's version {other.task_version}, not {first.task_version}"))
    if other.scoring != first.scoring:
        again = _score_again(other, first.scoring)
        told.append(Unlike(f"is scored as {other.scoring}, not {first.scoring}", again))
    if other.judge != first.judge:
        told.append(Unlike(f"is judged by {other.judge or 'nobody'}, not {first.judge or 'nobody'}"))
    if other.provenance["data_sha256"] != first.provenance["data_sha256"]:
        return [*told, Unlike(f"is of other data, {_data(other)}, not {_data(first)}")]
    if other.epochs != first.epochs:
        times = f"answers each item {other.epochs} times, not {first.epochs}"
        told.append(Unlike(times, "run both with the same --epochs"))
    elif other.items_hash != first.items_hash:
        wrong = same_items(first.scores, other.scores)
        alike = len(other.scores) == len(first.scores)
        items = "has other items" if alike else f"has {len(other.scores):,} items, not {len(first.scores):,}"
        told.append(Unlike(items, f"{wrong}; run both with the same --limit and options"))
    elif not told and (turned := _other_targets(first, other)) and not first.benchmark_task.labels:
        told.append(Unlike(f"has another right answer in {len(turned)} items, such as {turned[0]}"))
    return told


def asked_otherwise(first: Run, other: Run) -> list[Unlike]:
    """In what `other` was asked in another way than `first`, another run of the same task."""
    told = []
    if (hash := other.provenance["prompt_hash"]) != first.provenance["prompt_hash"]:
        main = first.provenance["prompt_hash"]
        if hash:
            known = f"not {main}" if main else "where those of the others are not known"
            told.append(Unlike(f"has the prompts {hash}, {known}"))
        else:
            told.append(Unlike("does not tell how the model was asked"))
    own, others = first.asked, other.asked
    told += [
        Unlike(f"has {name} {others[name]}, not {own[name]}")
        for name in own
        if name in others and None not in (own[name], others[name]) and own[name] != others[name]
    ]
    return told


def reordered(first: Run, other: Run) -> int:
    """How many items of two runs that compare are asked in another order of the answers, so that the right one has
    another name."""
    return len(_other_targets(first, other))


def _other_targets(first: Run, other: Run) -> list[str]:
    targets = {score.id: score.target for score in first.scores}
    return [score.id for score in other.scores if score.target != targets[score.id]]


def _score_again(run: Run, scoring: str) -> str:
    if not run.source.endswith(".eval"):
        return f"score or run it again as {scoring}"
    scorer = f"--scorer halu_tasks/halu_score -S scoring={scoring}"
    return f"score it again: inspect score {run.source} {scorer} --overwrite --action overwrite"


def _data(run: Run) -> str:
    return f"{run.provenance['data_file']} ({run.provenance['data']}, sha256 {run.provenance['data_sha256'][:12]}…)"
