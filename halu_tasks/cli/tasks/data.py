"""`halu-tasks data`: the sources of data; download them, or verify what is cached."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from halu_tasks.cli.output import EXIT_PARTIAL, warn
from halu_tasks.cli.tables import table
from halu_tasks.core.errors import DataError, HaluTasksError

if TYPE_CHECKING:
    from halu_tasks.data.sources import Source

HELP = "list the sources, download them, or verify what is cached"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", nargs="?", choices=("list", "fetch", "verify"), default="list")
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help="names from the list (default: all)")


def run(arguments: argparse.Namespace) -> int:
    """Run the action."""
    from halu_tasks.tasks import source_named, sources

    named = [source_named(name) for name in arguments.sources]
    every = list(sources().values())
    # to fetch everything does not include what can only be downloaded manually
    default = every if arguments.action == "list" else [s for s in every if all(file.url for file in s.files)]
    return {"list": _list, "fetch": _fetch, "verify": _verify}[arguments.action](named or default)


def _list(sources: Sequence[Source]) -> int:
    from halu_tasks.data.cache import cache_folder, cached_file
    from halu_tasks.tasks import registry

    counts = Counter(task.reader.source.name for task in registry()[0].values())
    rows = []
    for source in sources:
        for file in source.files:
            path = cached_file(source, file.name)
            size = f"{path.stat().st_size:,}" if path else ""
            missing = "manual" if file.url is None else "gated" if source.gated else "missing"
            state = "cached" if path else missing
            tasks = str(counts[source.name] or "none")
            rows.append([source.name, file.name, source.licence, size, state, tasks, source.homepage])
    print(table(["source", "file", "licence", "bytes", "state", "tasks", "from"], rows, right=(3,)))
    print(
        f"\nCached in {cache_folder()} (HALU_TASKS_CACHE), files of the Hub in its own cache (HF_HOME). Download with: "
        "halu-tasks data fetch SOURCE"
    )
    if any("manual" in row for row in rows):
        print("Files marked manual have no address: download them manually.")
    return 0


def _fetch(sources: Sequence[Source]) -> int:
    from halu_tasks.data.download import fetch

    return _each_file(sources, lambda source, name: f"fetched {fetch(source, name)}")


def _verify(sources: Sequence[Source]) -> int:
    from halu_tasks.data.cache import cached_file, verify

    def verify_file(source: Source, name: str) -> str:
        path = cached_file(source, name)
        if path is None:
            fetch = f"fetch it with: halu-tasks data fetch {source.name}"
            advice = fetch if source.file(name).url else "download it manually"
            raise DataError(f"{source.name}: {name} is not cached; {advice}")
        checksum = verify(source, name, path)
        published = "as published" if source.file(name).sha256 else "no published checksum to compare with"
        return f"{path}: sha256 {checksum}, {published}"

    return _each_file(sources, verify_file)


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
    return 0 if not failed else 2 if failed == total else EXIT_PARTIAL
