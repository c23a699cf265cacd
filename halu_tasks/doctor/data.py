"""Checks of the data of tasks: cached, or reachable and how large, or what keeps them from being fetched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from halu_tasks.core.errors import HaluTasksError
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cached_file, verify
from halu_tasks.data.hub import SCHEME
from halu_tasks.data.locate import is_sample, locate
from halu_tasks.data.remote import remote_size
from halu_tasks.data.sources import Source
from halu_tasks.doctor.check import Check, failed
from halu_tasks.tasks import Task

_CONCURRENT = 8


def check_data(tasks: Sequence[Task], options: Options, *, named: bool) -> Iterator[Check]:
    """Check the data of tasks, each file once.

    Args:
        tasks: The tasks.
        options: The options that say which data the user wants.
        named: Whether the user named the tasks. Data of tasks that nobody may want to run are no failure.
    """
    if is_sample(options.data):
        yield Check("data", "ok", "the packaged sample: its figures say nothing about a benchmark")
        return
    files: dict[str, list[str]] = {}
    for task in tasks:
        names = files.setdefault(task.benchmark, [])
        if (name := task.data.file(options)) not in names:
            names.append(name)
    sources = {task.benchmark: task.data.source for task in tasks}
    with ThreadPoolExecutor(_CONCURRENT) as pool:
        for check in pool.map(lambda name: _check_source(sources[name], files[name], options), files):
            yield check if named or check.state != "failed" else check._replace(state="warning")


def _check_source(source: Source, names: Sequence[str], options: Options) -> Check:
    """Check the files of one source."""
    label = f"data: {source.name}"
    user_data = options.data or os.environ.get("HALU_TASKS_DATA")
    if user_data and user_data.startswith(SCHEME):
        return Check(label, "not checked", f"{user_data} would be downloaded", "try it with --limit 1")
    try:
        if user_data:
            located = [locate(source, name, options) for name in names]
            return Check(label, "ok", ", ".join(f"{one} ({one.kind})" for one in located))
        sizes = {name: _size(source, name) for name in names}
    except HaluTasksError as error:
        return failed(label, error)
    absent = [size for size, cached in sizes.values() if not cached]
    if not absent:
        return Check(label, "ok", f"cached, {sum(size or 0 for size, _ in sizes.values()) / 1e6:,.1f} MB")
    unknown = " and files of unknown size" if None in absent else ""
    amount = f"{sum(size or 0 for size in absent) / 1e6:,.1f} MB{unknown}"
    return Check(label, "ok", f"{amount} to fetch on first use", f"halu-tasks data fetch {source.name}")


def _size(source: Source, name: str) -> tuple[int | None, bool]:
    """Return the size of a file in bytes, None if the server does not say, and whether it is cached.

    Raises:
        DataError: It is damaged, or can neither be found in the cache nor reached.
    """
    if path := cached_file(source, name):
        verify(source, name, path)
        return path.stat().st_size, True
    return remote_size(source, name), False
