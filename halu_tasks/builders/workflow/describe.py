"""Describing the dataset of a build."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from halu_tasks.builders.run.folder import DATASET, PLAN, Folder
from halu_tasks.core.options import Options
from halu_tasks.data.locate import in_folder
from halu_tasks.tasks import registry
from halu_tasks.tasks.profiles import DataProfile, profiles


@dataclass(frozen=True, kw_only=True)
class BuildProfile:
    """The dataset of a build.

    Attributes:
        builder: The builder.
        documents: The number of documents that the build was started with.
        used: The number of documents that items were made of.
        items: The number of items.
        kinds: The number of items by kind.
        data: The files in the benchmark's format.
    """

    builder: str
    documents: int
    used: int
    items: int
    kinds: dict[str, int]
    data: tuple[DataProfile, ...]

    def as_json(self) -> dict[str, Any]:
        """Convert to JSON."""
        return asdict(self)


def build_folder(path: Path) -> Path | None:
    """Return the build folder that a path is, or whose dataset it is; None if it is neither."""
    return next((folder for folder in (path, path.parent) if (folder / PLAN).is_file()), None)


def describe_build(path: Path) -> BuildProfile:
    """Describe the dataset of a build.

    Args:
        path: The build folder.

    Raises:
        DataError: There is no dataset, or it is damaged.
    """
    folder = Folder(path)
    dataset = folder.path / DATASET
    kinds: Counter[str] = Counter()
    documents: set[str] = set()
    for item in folder.items():
        kinds[item.kind] += 1
        documents.add(item.document)
    options = Options(data=str(dataset))
    tasks = [
        task
        for task in registry()[0].values()
        if task.benchmark == folder.pipeline.benchmark and in_folder(task.data.source, task.data.file(options), dataset)
    ]
    return BuildProfile(
        builder=folder.plan.builder,
        documents=folder.plan.documents,
        used=len(documents),
        items=kinds.total(),
        kinds=dict(kinds.most_common()),
        data=tuple(profiles(tasks, options)) if kinds else (),
    )
