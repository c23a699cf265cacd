"""Scores as columns, from which metrics are computed: an array for each field, measurement and tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halu_tasks.scorers.score import ScoredReply

Array = npt.NDArray[np.float64]
Column = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]

FIELDS = ("answer", "target", "outcome")
PLACES = ("part", "row")
SCORE = "score"
PROBABILITY, NO_PROBABILITY = "probability", "no_probability"
"""The facts of a probability: of the first of a task's two labels, 0 to 1; or 1 if there should be one and is none."""
CONFIDENCE, NO_CONFIDENCE = "confidence", "no_confidence"
"""The facts of a confidence: how sure a model is that it is right, 0 to 1; or 1 if it was asked for and states none."""
TAG = "tag_"
"""What the names of columns with tags begin with."""


class Columns:
    """The scores of N items as arrays by name, each made when it is first asked for.

    - `answer`, `target` and `outcome` are those of the scores;
    - `tag_NAME` is the tag NAME, an empty string where an item has none;
    - `part` is what follows the last slash of an item's id, and `row` a number that items have in common whose ids are
      equal up to there;
    - `score` is the scores themselves;
    - any other name is a measurement, NaN where an item has none.

    Args:
        read: Makes a column from its name.
        cluster: The number of each item's cluster, from 0.
        clusters: The number of clusters.
    """

    def __init__(self, read: Callable[[str], npt.NDArray[Any]], cluster: Numbers, clusters: int) -> None:
        self._read = read
        self._known: dict[str, npt.NDArray[Any]] = {}
        self.cluster = cluster
        self.clusters = clusters

    @classmethod
    def of(cls, scores: Sequence[ScoredReply], cluster: Numbers | None = None) -> Columns:
        """Make the columns of scores; without `cluster`, each item is a cluster."""
        clusters = len(scores) if cluster is None else int(cluster.max(initial=-1)) + 1
        cluster = np.arange(len(scores)) if cluster is None else cluster
        return cls(lambda name: _column(scores, name, cluster), cluster, clusters)

    @classmethod
    def of_kinds(cls, scores: Sequence[ScoredReply], kind: Numbers, cluster: Numbers, row: Numbers) -> Columns:
        """Make the columns of N replies from their different scores, whose ids lack what items have in common.

        Args:
            scores: The different scores.
            kind: Which of them each reply has, shape (N,).
            cluster: The number of its cluster, from 0.
            row: What replies have in common whose ids are equal up to the last slash.
        """
        kinds = cls.of(scores)

        def read(name: str) -> npt.NDArray[Any]:
            if name == "row":
                return np.unique(np.stack([cluster, row]), axis=1, return_inverse=True)[1].ravel()
            return kinds[name][kind]

        return cls(read, cluster, int(cluster.max(initial=-1)) + 1)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def __len__(self) -> int:
        return len(self.cluster)

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Join the columns of different clusters."""
        before = np.cumsum([0, *(part.clusters for part in parts)])
        cluster = np.concatenate([part.cluster + first for part, first in zip(parts, before, strict=False)])
        return cls(lambda name: np.concatenate([part[name] for part in parts]), cluster, int(before[-1]))

    def only(self, names: Iterable[str]) -> Columns:
        """Return some columns, without keeping the scores in memory that they are made of."""
        selected = {name: self[name] for name in names}
        return Columns(selected.__getitem__, self.cluster, self.clusters)

    def where(self, selected: npt.NDArray[np.bool_]) -> Columns:
        """Select the items that a mask selects."""
        return Columns(lambda name: self[name][selected], self.cluster[selected], self.clusters)


def column_names(facts: Iterable[str]) -> set[str]:
    """Return the names of the columns of scores with some facts, except tags."""
    return {*FIELDS, *PLACES, SCORE, *facts, PROBABILITY, NO_PROBABILITY, CONFIDENCE, NO_CONFIDENCE}


def by_cluster(scores: Iterable[ScoredReply]) -> Columns:
    """Make the columns of scores with their clusters, which are numbered in order of first appearance."""
    scores = list(scores)
    numbers: dict[str, int] = {}
    cluster = [numbers.setdefault(score.cluster, len(numbers)) for score in scores]
    return Columns.of(scores, np.array(cluster, dtype=np.int64))


def _column(scores: Sequence[ScoredReply], name: str, cluster: Numbers) -> npt.NDArray[Any]:
    if name == SCORE:
        return _objects(scores)
    if name in FIELDS:
        return _objects([getattr(score, name) for score in scores])
    if name.startswith(TAG):
        return _objects([score.tags.get(name.removeprefix(TAG), "") for score in scores])
    if name == "part":
        return _objects([score.id.rpartition("/")[2] for score in scores])
    if name == "row":
        rows: dict[tuple[int, str], int] = {}
        keys = zip(cluster.tolist(), (score.id.rpartition("/")[0] for score in scores), strict=True)
        return np.array([rows.setdefault(key, len(rows)) for key in keys], dtype=np.int64)
    return np.array([score.facts.get(name, np.nan) for score in scores], dtype=np.float64)


def _objects(values: Sequence[object]) -> npt.NDArray[Any]:
    # `np.array` would make a matrix of lists of the same length
    return np.fromiter(values, dtype=object, count=len(values))
