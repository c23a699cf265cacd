"""`halu-tasks data`: the sources, what is cached of them, fetching and verifying."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from halu_tasks.cli import DONE_IN_PART
from halu_tasks.cli.tables import table
from halu_tasks.data.cache import cache_folder, cached_path, verify
from halu_tasks.data.sources import Source
from halu_tasks.errors import DataError, HaluTasksError
from halu_tasks.tasks import registry, source_named, sources


def run(arguments: argparse.Namespace) -> int:
    named = [source_named(name) for name in arguments.sources]
    # what has to be downloaded by hand is no failure of a fetch of everything
    known = list(sources().values())
    fetched = [source for source in known if all(file.url for file in source.files)]
    everything = known if arguments.action == "list" else fetched
    return {"list": show, "fetch": fetch, "verify": check}[arguments.action](named or everything)


def show(sources: Sequence[Source]) -> int:
    counts = Counter(task.reader.source.name for task in registry()[0].values())
    rows = []
    for source in sources:
        for file in source.files:
            path = cached_path(source, file.name)
            cached = path.is_file()
            size = f"{path.stat().st_size:,}" if cached else ""
            missing = "by hand" if file.url is None else "gated" if source.gated else "missing"
            state = "cached" if cached else missing
            tasks = str(counts[source.name] or "none yet")
            rows.append([source.name, file.name, source.licence, size, state, tasks, source.homepage])
    print(table(["source", "file", "licence", "bytes", "state", "tasks", "from"], rows, right=(3,)))
    print(f"\nCached in {cache_folder()} (HALU_TASKS_CACHE). Fetch with: halu-tasks data fetch SOURCE")
    return 0


def fetch(sources: Sequence[Source]) -> int:
    from halu_tasks.data.download import fetch as fetch_file

    return _each(sources, lambda source, name: f"fetched {fetch_file(source, name)}")


def check(sources: Sequence[Source]) -> int:
    def verified(source: Source, name: str) -> str:
        path = cached_path(source, name)
        if not path.is_file():
            how = f"fetch it with: halu-tasks data fetch {source.name}" if source.file(name).url else "it comes by hand"
            raise DataError(f"{source.name}: {name} is not cached; {how}")
        found = verify(source, name, path)
        known = "as published" if source.file(name).sha256 else "no published sum to compare with"
        return f"{path}: sha256 {found}, {known}"

    return _each(sources, verified)


def _each(sources: Sequence[Source], action: Callable[[Source, str], str]) -> int:
    """Act on every file; one that fails does not keep the others from being done. Returns the exit status."""
    failed, total = 0, sum(len(source.files) for source in sources)
    for source in sources:
        for file in source.files:
            try:
                print(action(source, file.name))
            except HaluTasksError as error:
                failed += 1
                print(f"halu-tasks: {error}", file=sys.stderr)
    if failed:
        print(f"halu-tasks: {failed} of {total} files failed (above)", file=sys.stderr)
    return 0 if not failed else 2 if failed == total else DONE_IN_PART
