"""Compares models with annotators: each annotator is scored against the others, and replies against the same gold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from halu_tasks.core.items import Item, Reply
from halu_tasks.scorers.annotators import annotators_alpha, by_annotator, in_mode, pooled
from halu_tasks.scorers.answer import INFERRED, NO_ANSWER
from halu_tasks.scorers.columns import PROBABILITY, Columns, Numbers, by_cluster
from halu_tasks.scorers.metrics import Estimate, as_json
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.side_by_side import Pairs, SideBySide
from halu_tasks.tasks.definition import Task

# items whose annotators' scores are cached for further replies
_CACHED_ITEMS = 1_000


class ScoredPair(NamedTuple):
    """A reply and what an annotator says of the item, both scored against what the other annotators say."""

    reply: ScoredReply
    person: ScoredReply


class _Annotator(NamedTuple):
    """An annotator's score against gold pooled from the others.

    Attributes:
        gold_key: What tells different gold of an item apart; several annotators may leave the same gold.
        item: The item with this gold.
        score: The score of the annotator's labels.
    """

    gold_key: str
    item: Item
    score: ScoredReply


class OtherAnnotators:
    """Scores replies as annotators are scored: for each annotator of an item, against gold pooled from the others.

    An annotator cannot be scored against gold that includes their own labels, and a reply that is compared with
    annotators is scored against the same gold (the jackknife of Lin 2004, "ROUGE", section 2.1; Calderon et al. 2025,
    arXiv 2501.10970).

    Args:
        task: The task.
        mode: The scoring mode, `strict` or `paper`.
    """

    def __init__(self, task: Task, mode: str) -> None:
        self._task, self._mode = task, mode
        self._cache: dict[str, list[_Annotator]] = {}

    def pairs(self, item: Item, reply: Reply) -> list[ScoredPair]:
        """Score a reply for comparison with each annotator of an item; empty if it has fewer than two."""
        annotators = self._annotators(item)
        golds = {annotator.gold_key: annotator.item for annotator in annotators}
        scores = {key: self._task.score(self._mode, gold, reply) for key, gold in golds.items()}
        return [ScoredPair(scores[annotator.gold_key], annotator.score) for annotator in annotators]

    def compare(self, replies: Iterable[tuple[Item, Reply]]) -> AnnotatorComparison | None:
        """Compare replies with annotators; None if no item has two of them. An item may have several replies."""
        items: dict[str, int] = {}
        different, pairs = list[Item](), list[ScoredPair]()
        for item, reply in replies:
            if item.id not in items:
                different.append(item)
            items.setdefault(item.id, len(items))
            pairs += self.pairs(item, reply)
        if not pairs:
            return None
        columns, people = (by_cluster(scores) for scores in zip(*pairs, strict=True))
        sums = ComparisonSums(self._task, self._mode)
        sums.add(columns, people, np.array([items[pair.person.id] for pair in pairs]))
        return sums.figures(different)

    def _annotators(self, item: Item) -> list[_Annotator]:
        if item.id not in self._cache:
            if len(self._cache) >= _CACHED_ITEMS:
                self._cache.clear()
            self._cache[item.id] = self._score_annotators(item)
        return self._cache[item.id]

    def _score_annotators(self, item: Item) -> list[_Annotator]:
        labels, answer, oracle = by_annotator(item), self._task.scoring.answer, self._task.prompts.oracle
        if len(labels) < 2:
            return []
        annotators = []
        for name, own_labels in labels.items():
            gold = pooled(item, [label for other in labels if other != name for label in labels[other]], answer)
            reply = Reply(oracle(in_mode(pooled(item, own_labels, answer), self._mode)))
            key = repr((gold.target, gold.tags, replace(gold.gold, annotators=())))
            annotators.append(_Annotator(key, gold, self._task.score(self._mode, gold, reply)))
        return annotators


class People(NamedTuple):
    """The figures of annotators, each scored against the others, and how far they agree.

    Attributes:
        estimates: The metrics of the labels of each annotator, with the pooled labels of the others as gold.
        alpha: Krippendorff's alpha, of labels or of whether each character is marked; None if it is undefined.
        pool: How the others are pooled.
        items: The number of items, which are those with two or more annotators.
        annotators: The number of annotators.
        undefined: The metrics that are undefined, since the pooled gold of all items is of one class.
    """

    estimates: Mapping[str, Estimate]
    alpha: Estimate | None
    pool: str
    items: int
    annotators: int
    undefined: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """What this is, in a line."""
        undefined = f"; {', '.join(self.undefined)} undefined, as the gold of these is of one class"
        return (
            f"people: each of {self.annotators:,} annotators against the others (pool: {self.pool}), {self.items:,} "
            f"items with two or more{undefined if self.undefined else ''}"
        )


class AnnotatorComparison(NamedTuple):
    """Replies compared with the annotators of their items, all scored against gold of the other annotators.

    Attributes:
        people: The annotators.
        figures: By metric, the replies, the annotators, and the difference.
        floors: The values of the scorer's reference replies, by reply and metric.
    """

    people: People
    figures: Mapping[str, SideBySide]
    floors: Mapping[str, Mapping[str, float]]

    @property
    def replies(self) -> dict[str, Estimate]:
        """The metrics of the replies."""
        return {name: figure.value for name, figure in self.figures.items() if figure.value}

    def as_json(self) -> dict[str, Any]:
        """Convert the figures to JSON values."""
        people = self.people
        return {
            **as_json(people.estimates),
            "agreement": as_json({"krippendorff_alpha": people.alpha} if people.alpha else {}),
            **{name: getattr(people, name) for name in ("pool", "items", "annotators", "undefined")},
            "replies": as_json(self.replies),
            "difference": {name: one.difference._asdict() for name, one in self.figures.items() if one.difference},
            "floors": self.floors,
        }


class ComparisonSums:
    """Sums up the scores of replies and annotators, part by part.

    Args:
        task: The task.
        mode: The scoring mode, `strict` or `paper`.
    """

    def __init__(self, task: Task, mode: str) -> None:
        self._task, self._mode, scorer = task, mode, task.scorers[mode]
        # people give no probabilities and decline nothing
        excluded = (*NO_ANSWER, INFERRED)
        self._metrics = [
            each for each in scorer.metrics if each.name not in excluded and PROBABILITY not in each.columns
        ]
        self._pairs = Pairs(self._metrics)
        self._floors = {reply: Pairs(metrics) for reply, metrics in scorer.fixed_replies.items()}

    def add(self, replies: Columns, people: Columns, item: Numbers) -> None:
        """Add the scores of whole clusters; `item` numbers the items (`Pairs.add`)."""
        for pairs in (self._pairs, *self._floors.values()):
            pairs.add(replies, people, item)

    def figures(self, items: Iterable[Item]) -> AnnotatorComparison | None:
        """Return the figures, with the agreement of the annotators of all items; None if no item has two."""
        labels = [(item, by_item) for item in items if len(by_item := by_annotator(item)) > 1]
        if not labels:
            return None
        shared, figures = [item for item, _ in labels], self._pairs.figures()
        estimates = {name: figure.other for name, figure in figures.items() if figure.other}
        compared = (m for m in self._metrics if len(m.of_classes(Columns.of([])).T) > 1 and not m.requires_option)
        people = People(
            estimates,
            annotators_alpha(shared, self._task.scoring.answer, self._mode),
            shared[0].gold.pool,
            len(shared),
            len({name for _, by_item in labels for name in by_item}),
            tuple(metric.name for metric in compared if metric.name not in estimates),
        )
        floors = {
            reply: {name: figure.value.value for name, figure in pairs.figures().items() if figure.value}
            for reply, pairs in self._floors.items()
        }
        return AnnotatorComparison(people, figures, floors)
