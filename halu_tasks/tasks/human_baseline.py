"""People beside a model: each annotator scored as a model against the others, and replies against the same gold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from halu_tasks.core.items import Item, Reply
from halu_tasks.scorers.annotators import annotators_alpha, by_annotator, in_mode, pooled
from halu_tasks.scorers.answer import INFERRED, NO_ANSWER
from halu_tasks.scorers.columns import Columns, Numbers, by_cluster
from halu_tasks.scorers.metrics import Estimate, as_json
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.calibration import FACT
from halu_tasks.scorers.statistics.side_by_side import Pairs, SideBySide
from halu_tasks.tasks.definition import Task

# the number of items whose annotators' scores are kept for further replies
_KEPT = 1_000


class ScoredPair(NamedTuple):
    """A reply and what an annotator says of the item, both scored against what the other annotators say."""

    reply: ScoredReply
    person: ScoredReply


class OtherAnnotators:
    """Scores replies as annotators are scored: against what all annotators of an item but one say, for each of them.

    A person cannot be scored against gold that has their own labels, so neither are replies that stand beside people
    (the jackknife of Lin 2004, "ROUGE", section 2.1; Calderon et al. 2025, arXiv 2501.10970).

    Args:
        task: The task.
        mode: The scoring mode, `strict` or `paper`.
    """

    def __init__(self, task: Task, mode: str) -> None:
        self._task, self._mode = task, mode
        self._people: dict[str, list[tuple[Item, ScoredReply]]] = {}

    def pairs(self, item: Item, reply: Reply) -> list[ScoredPair]:
        """Score a reply beside each annotator of an item; empty if it has fewer than two."""
        scores: dict[int, ScoredReply] = {}
        pairs = []
        for gold, person in self._of_item(item):
            if id(gold) not in scores:
                scores[id(gold)] = self._task.score(self._mode, gold, reply)
            pairs.append(ScoredPair(scores[id(gold)], person))
        return pairs

    def beside(self, replies: Iterable[tuple[Item, Reply]]) -> BesidePeople | None:
        """Put replies beside annotators; None if no item has two of them. An item may have several replies."""
        items: dict[str, int] = {}
        shown, pairs = list[Item](), list[ScoredPair]()
        for item, reply in replies:
            if item.id not in items:
                shown.append(item)
            items.setdefault(item.id, len(items))
            pairs += self.pairs(item, reply)
        if not pairs:
            return None
        ones, people = (by_cluster(scores) for scores in zip(*pairs, strict=True))
        sums = PeopleSums(self._task, self._mode)
        sums.add(ones, people, np.array([items[pair.person.id] for pair in pairs]))
        return sums.figures(shown)

    def _of_item(self, item: Item) -> list[tuple[Item, ScoredReply]]:
        """Return, for each annotator, the item with what the others say as gold, and the annotator's score."""
        if item.id not in self._people:
            if len(self._people) >= _KEPT:
                self._people.clear()
            self._people[item.id] = self._scored(item)
        return self._people[item.id]

    def _scored(self, item: Item) -> list[tuple[Item, ScoredReply]]:
        people, answer, oracle = by_annotator(item), self._task.scoring.answer, self._task.prompts.oracle
        if len(people) < 2:
            return []
        different: dict[str, Item] = {}
        scored = []
        for who, own in people.items():
            gold = pooled(item, [one for other, said in people.items() if other != who for one in said], answer)
            # many annotators leave the same gold, against which a reply is scored once
            gold = different.setdefault(repr((gold.target, gold.tags, replace(gold.gold, annotators=()))), gold)
            reply = Reply(oracle(in_mode(pooled(item, own, answer), self._mode)))
            scored.append((gold, self._task.score(self._mode, gold, reply)))
        return scored


class People(NamedTuple):
    """The figures of annotators, each scored against the others, and how far they agree.

    Attributes:
        estimates: The metrics of what each annotator says of an item, with that of the others, pooled, as the gold.
        alpha: Krippendorff's alpha, of labels or of whether each character is marked; None if it is undefined.
        pool: How the others are pooled.
        items: The number of items with two or more annotators, of which alone this is.
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


class BesidePeople(NamedTuple):
    """Replies beside the annotators of their items, all against what the other annotators say.

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


class PeopleSums:
    """Sums up replies beside annotators, part by part.

    Args:
        task: The task.
        mode: The scoring mode, `strict` or `paper`.
    """

    def __init__(self, task: Task, mode: str) -> None:
        self._task, self._mode, scorer = task, mode, task.scorers[mode]
        # people give no probabilities and decline nothing
        left_out = (*NO_ANSWER, INFERRED)
        self._metrics = [one for one in scorer.metrics if one.name not in left_out and FACT not in one.columns]
        self._pairs = Pairs(self._metrics)
        self._floors = {reply: Pairs(metrics) for reply, metrics in scorer.fixed_replies.items()}

    def add(self, replies: Columns, people: Columns, item: Numbers) -> None:
        """Add the scores of whole clusters; `item` numbers the items (`Pairs.add`)."""
        for pairs in (self._pairs, *self._floors.values()):
            pairs.add(replies, people, item)

    def figures(self, items: Iterable[Item]) -> BesidePeople | None:
        """Return the figures, with what is known of the annotators of all items; None if no item has two."""
        known = [(item, people) for item in items if len(people := by_annotator(item)) > 1]
        if not known:
            return None
        shared, figures = [item for item, _ in known], self._pairs.figures()
        estimates = {name: figure.other for name, figure in figures.items() if figure.other}
        compared = (m for m in self._metrics if len(m.of_classes(Columns.of([])).T) > 1 and not m.requires_option)
        of_all = People(
            estimates,
            annotators_alpha(shared, self._task.scoring.answer, self._mode),
            shared[0].gold.pool,
            len(shared),
            len({who for _, people in known for who in people}),
            tuple(metric.name for metric in compared if metric.name not in estimates),
        )
        floors = {
            reply: {name: figure.value.value for name, figure in pairs.figures().items() if figure.value}
            for reply, pairs in self._floors.items()
        }
        return BesidePeople(of_all, figures, floors)
