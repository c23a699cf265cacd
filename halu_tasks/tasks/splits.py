"""Samples of a task's rows: the option `split`, after Factored Verification (section 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Case
from halu_tasks.core.options import Options

TRAIN_SHARE, TEST_SHARE = 0.05, 0.2
"""The sizes of the paper's two samples: one to tune the threshold on, one to test."""


def sampled(cases: Iterable[Case], options: Options) -> Iterator[Case]:
    """Select the cases of the option `split`, in their order.

    Samples depend only on the clusters of cases and on the seed: clusters are not split, the samples are disjoint, and
    their sizes are exact shares of all clusters. `train5` and `test20` are one sample each; `train5_test20` is both and
    `train5_rest` everything, each case tagged with its part.
    """
    if options.split == "all":
        yield from cases
        return
    from halu_tasks.scorers.statistics.calibration import PART, TEST, TRAIN  # imports numpy, which listings avoid

    held = list(cases)
    drawn = sorted({case.cluster for case in held}, key=lambda cluster: (stable_hash(options.seed, cluster), cluster))
    ends = round(TRAIN_SHARE * len(drawn)), round(TRAIN_SHARE * len(drawn)) + round(TEST_SHARE * len(drawn))
    train, test, rest = set(drawn[: ends[0]]), set(drawn[slice(*ends)]), set(drawn[ends[0] :])
    tested = {"train5": set[str](), "train5_rest": rest}.get(options.split, test)
    trained = set[str]() if options.split == "test20" else train
    tagged = options.split.startswith("train5_")
    for case in held:
        part = TRAIN if case.cluster in trained else TEST if case.cluster in tested else None
        if part:
            yield replace(case, tags={**case.tags, PART: part}) if tagged else case
