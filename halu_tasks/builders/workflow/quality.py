"""Checking the quality of a built dataset."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from halu_tasks.builders.card.describe import COLLECTED, dropped_of
from halu_tasks.builders.quality.near_duplicates import NearDuplicates
from halu_tasks.builders.quality.published import at_hand
from halu_tasks.builders.quality.quality import Quality, quality
from halu_tasks.builders.run.collect import Collected
from halu_tasks.builders.run.folder import Folder
from halu_tasks.data.rows import read_json_object


def check_quality(folder: Folder, against: Sequence[Path], near: float | None, seed: int) -> Quality:
    """Measure the quality of the dataset of a build.

    Args:
        folder: the build.
        against: published files to compare with, in addition to cached ones.
        near: similarity in percent from which on two items are near-duplicates; None skips this check.
        seed: seed of the sample of pairs and of the folds.

    Returns:
        As `quality.quality` returns it.

    Raises:
        DataError: the dataset or a published file is missing or damaged.
    """
    path = folder.path / COLLECTED
    collected = Collected.from_json(read_json_object(path)) if path.is_file() else None
    benchmarks, missing = at_hand(against)
    with ExitStack() as stack:
        return quality(
            folder.pipeline,
            folder.items(),
            benchmarks=benchmarks,
            not_compared=missing,
            near=stack.enter_context(NearDuplicates(near)) if near else None,
            dropped=dropped_of(collected) if collected else None,
            refused=collected.refused if collected else None,
            seed=seed,
        )
