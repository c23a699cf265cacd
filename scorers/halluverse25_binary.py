"""HalluVerse25's binary task: how a yes or no scores, and the metrics. The positive class is Yes.

`paper` takes a reply that is yes or no and nothing else, in any case, with or without a full stop: nobody has
published how such replies are read.
"""

from __future__ import annotations

from dataclasses import replace

from halu_tasks.items import Item
from halu_tasks.scorers.answer import Answer
from halu_tasks.scorers.calibration import probability_metrics
from halu_tasks.scorers.classification import both_right, label_metric, score_label
from halu_tasks.scorers.error_type import NONE
from halu_tasks.scorers.metrics import mean, share_unparsed
from halu_tasks.scorers.score import Score
from halu_tasks.scorers.verdict_hallucination import NO, YES
from halu_tasks.scorers.verdict_hallucination_multilingual import hallucinates_multilingual

CHOICES = (YES, NO)


def score(item: Item, reply: str) -> Score:
    return score_label(item.id, item.cluster, item.target, hallucinates_multilingual(reply), item.tags)


def score_word(item: Item, reply: str) -> Score:
    word = reply.strip().removesuffix(".").capitalize()
    answer = Answer(word) if word in CHOICES else Answer(None, "not yes or no alone")
    return score_label(item.id, item.cluster, item.target, answer, item.tags)


_ACCURACY = mean("acc", "correct")
METRICS = (
    _ACCURACY,
    label_metric("precision", YES, "precision"),
    label_metric("recall", YES, "recall"),
    label_metric("f1", YES, "f1"),
    _ACCURACY.only("shown", "edited", "acc_edited"),
    _ACCURACY.only("shown", "original", "acc_original"),
    replace(_ACCURACY.only("shown", NONE, "acc_none"), needs="with_zero"),
    both_right("acc_pair", ("edited", "original")),
    share_unparsed(),
    *probability_metrics(YES),
)
