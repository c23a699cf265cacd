"""`data`: the sources of data; download them, verify what is cached, or describe data by statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from halu_tasks.cli.command import ItemOptions
from halu_tasks.cli.output import EXIT_PARTIAL, print_json, print_record, table, warn
from halu_tasks.core.errors import DataError, HaluTasksError, UsageError
from halu_tasks.core.options import Options

if TYPE_CHECKING:
    from halu_tasks.data.sources import Source

Names = Annotated[Sequence[str], "SOURCE"]


def list_sources(sources: Names = ()) -> None:
    """List the sources of data, and what is cached.

    Args:
        sources: names of sources (default: all)
    """
    from halu_tasks.data.cache import cache_folder, cached_file
    from halu_tasks.tasks import registry

    counts = Counter(task.data.source.name for task in registry()[0].values())
    rows = []
    for source in _named(sources, manual=True):
        for file in source.files:
            path = cached_file(source, file.name)
            missing = "manual" if file.url is None else "gated" if source.gated else "missing"
            rows.append(
                {
                    "source": source.name,
                    "file": file.name,
                    "licence": source.licence,
                    "bytes": path.stat().st_size if path else "",
                    "state": "cached" if path else missing,
                    "tasks": str(counts[source.name] or "none"),
                    "from": source.homepage,
                }
            )
    print(table(rows))
    print(
        f"\nCached in {cache_folder()} (HALU_TASKS_CACHE), files of the Hub in its own cache (HF_HOME). Download with: "
        "halu-tasks data fetch SOURCE"
    )
    if any(row["state"] == "manual" for row in rows):
        print("Files marked manual have no address: download them manually.")


def fetch(sources: Names = ()) -> int:
    """Download sources into the cache.

    Args:
        sources: names of sources (default: all that have an address)
    """
    from halu_tasks.data.cache import fetch as download

    return _each_file(_named(sources), lambda source, name: f"fetched {download(source, name)}")


def verify(sources: Names = ()) -> int:
    """Verify the checksums of what is cached.

    Args:
        sources: names of sources (default: all that have an address)
    """
    from halu_tasks.data.cache import cached_file
    from halu_tasks.data.cache import verify as checksum_of

    def verify_file(source: Source, name: str) -> str:
        path = cached_file(source, name)
        if path is None:
            command = f"fetch it with: halu-tasks data fetch {source.name}"
            advice = command if source.file(name).url else "download it manually"
            raise DataError(f"{source.name}: {name} is not cached; {advice}")
        published = "as published" if source.file(name).sha256 else "no published checksum to compare with"
        return f"{path}: sha256 {checksum_of(source, name, path)}, {published}"

    return _each_file(_named(sources), verify_file)


def describe(names: Annotated[Sequence[str], "NAME"] = (), *, options: ItemOptions, json: bool = False) -> int:
    """Describe data by statistics: rows, lengths, languages, labels.

    Args:
        names: sources, tasks, groups, task files, or folders that were built (default: all sources)
        options: which data and items
        json: print one JSON list instead of YAML documents
    """
    from halu_tasks.tasks import sources

    names = names or list(sources())
    described: list[dict[str, Any]] = []
    failed = 0
    for name in names:
        try:
            for profile in _profiles(name, options):
                described.append(profile)
                if not json:
                    print("---")
                    print_record(described[-1], as_json=False)
        except DataError as error:
            failed += 1
            warn(str(error))
    if json:
        print_json(described)
    return _status(failed, len(names))


def _named(names: Sequence[str], *, manual: bool = False) -> list[Source]:
    """Return the sources of some names, or all; those that can only be downloaded manually only if `manual`."""
    from halu_tasks.tasks import source_named, sources

    every = [source for source in sources().values() if manual or all(file.url for file in source.files)]
    return [source_named(name) for name in names] or every


def _each_file(sources: Sequence[Source], action: Callable[[Source, str], str]) -> int:
    """Apply an action to every file and print its results, or its errors; return the exit status."""
    failed, total = 0, sum(len(source.files) for source in sources)
    for source in sources:
        for file in source.files:
            try:
                print(action(source, file.name))
            except HaluTasksError as error:
                failed += 1
                warn(str(error))
    if failed:
        warn(f"{failed} of {total} files failed (above)")
    return _status(failed, total)


def _status(failed: int, total: int) -> int:
    return 0 if not failed else 2 if failed == total else EXIT_PARTIAL


def _profiles(name: str, options: Options) -> Iterable[dict[str, Any]]:
    """Describe what a name stands for."""
    from halu_tasks.builders.card import tasks_on
    from halu_tasks.builders.folder import DATASET, Folder, build_folder, dataset_rows
    from halu_tasks.tasks import task_named
    from halu_tasks.tasks.describe import profiles, tasks_of

    if folder := build_folder(Path(name).expanduser()):
        if options.changed():
            raise UsageError(f"{name}: options do not apply to a folder that was built")
        dataset = Folder(folder).path / DATASET
        names = tasks_on(Folder(folder).pipeline.benchmark, dataset_rows(dataset))
        return profiles([task_named(each) for each in names], Options(data=str(dataset)))
    tasks = tasks_of(name)
    if unused := options.unused({option for task in tasks for option in task.task_options}):
        raise UsageError(f"{name} has no option {Options.specs()[unused[0]].flag}")
    return profiles(tasks, options)
