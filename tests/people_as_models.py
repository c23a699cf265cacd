"""How far people who are scored as models seem to be from people, on the data of Mu-SHROOM; it should be 0.

    python tests/people_as_models.py DATA [RUNS]

DATA is a folder with Mu-SHROOM. In each run, clusters of items are drawn with replacement, and of each item one person
at random is a model that the gold does not know. For each language of the data, a row has the mean gap between these
models and people, as reports print it, with its standard error over the runs; how often its 95% interval contains 0;
and the mean gap if the models were scored against what all of the others say together. Languages with more than four
people have another row, with the first four people of each item.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import Options
from halu_tasks.scorers.annotators import by_annotator, pooled
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.side_by_side import Pairs
from halu_tasks.tasks import Task, build, registry
from halu_tasks.tasks.human_baseline import OtherAnnotators

METRICS = ("iou", "char_f1")


class HeldOut(NamedTuple):
    """A person as a model: beside each of the others against the rest of them, and alone against all others."""

    replies: Sequence[ScoredReply]
    people: Sequence[ScoredReply]
    alone: ScoredReply


def first_four(item: Item) -> Item:
    """Leave out all people but four."""
    kept = [*by_annotator(item)][:4]
    return replace(item, gold=replace(item.gold, annotators=[own for own in item.gold.annotators if own.by in kept]))


def held_out(task: Task, others: OtherAnnotators, item: Item) -> list[HeldOut]:
    """Hold each person of an item out."""
    answer, found = task.scoring.answer, []
    for who, own in by_annotator(item).items():
        rest = [other for other in item.gold.annotators if other.by != who]
        gold = pooled(replace(item, id=f"{item.id}/{who}", gold=replace(item.gold, annotators=rest)), rest, answer)
        reply = Reply(task.prompts.oracle(pooled(item, own, answer)))
        if pairs := others.pairs(gold, reply):
            found.append(HeldOut(*zip(*pairs, strict=True), task.score("strict", gold, reply)))
    return found


def measure(task: Task, clusters: Sequence[Sequence[list[HeldOut]]], runs: int) -> dict[str, Any]:
    """Draw clusters and people, and compare."""
    rng = np.random.default_rng(7)
    metrics = [metric for metric in task.scorers["strict"].metrics if metric.name in METRICS]
    gaps: dict[str, list[tuple[float, bool, float]]] = {name: [] for name in METRICS}
    for _ in range(runs):
        replies, people, alone, number = list[ScoredReply](), list[ScoredReply](), list[ScoredReply](), list[int]()
        for place, drawn in enumerate(rng.integers(len(clusters), size=len(clusters))):
            for persons in clusters[drawn]:
                one = persons[rng.integers(len(persons))]
                here = {"cluster": str(place)}
                replies += (replace(score, **here) for score in one.replies)
                people += (replace(score, **here) for score in one.people)
                alone.append(replace(one.alone, **here))
                number += [len(alone)] * len(one.replies)
        pairs = Pairs(metrics)
        pairs.add(by_cluster(replies), by_cluster(people), np.array(number))
        against_all = estimates(metrics, alone)
        for name, figure in pairs.figures().items():
            gap = figure.difference
            assert gap and figure.other and gap.low is not None and gap.high is not None
            gaps[name].append((gap.value, gap.low <= 0 <= gap.high, against_all[name].value - figure.other.value))
    table = {name: np.array(own) for name, own in gaps.items()}
    return {name: (own.mean(axis=0), own[:, 0].std(ddof=1) / np.sqrt(runs)) for name, own in table.items()}


def main(data: Path, runs: int = 1_000) -> None:
    """Print a row for each language."""
    head = [f"{name}: {what}" for name in METRICS for what in ("gap", "coverage", "against all")]
    print(f"| language | people | {' | '.join(head)} |\n|---|---|{'---|' * len(head)}")
    for name, task in registry()[0].items():
        if task.benchmark != "mushroom":
            continue
        language, items = name.removeprefix("mushroom_"), list(build(name, Options(data=str(data))).items)
        rows = [[item for item in items if len(by_annotator(item)) > 2]]
        if max(len(by_annotator(item)) for item in items) > 4:
            rows.append([first_four(item) for item in rows[0]])
        for number, row in enumerate(rows):
            others, clusters = OtherAnnotators(task, "strict"), dict[str, list[list[HeldOut]]]()
            for item in row:
                clusters.setdefault(item.cluster, []).append(held_out(task, others, item))
            sizes, cells = sorted({len(by_annotator(item)) for item in row}), list[str]()
            for (gap, covered, against_all), stderr in measure(task, list(clusters.values()), runs).values():
                cells += [f"{gap:+.4f} ± {stderr:.4f}", f"{covered:.3f}", f"{against_all:+.3f}"]
            people = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"{sizes[0]}"
            print(f"| {language}{', four' * number} | {people} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
