"""All checks before a run, and those of what is installed, of the data and of the judge."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from shutil import disk_usage

from halu_tasks.core.errors import HaluTasksError
from halu_tasks.core.options import Options
from halu_tasks.data.cache import cache_folder, cached_file, remote_size, verify
from halu_tasks.data.hub import SCHEME
from halu_tasks.data.locate import is_sample, locate
from halu_tasks.data.sources import Source
from halu_tasks.doctor.check import Check, failed
from halu_tasks.doctor.model import check_model
from halu_tasks.runs.models import HarnessModel
from halu_tasks.tasks import Task, tasks_selected
from halu_tasks.tasks.registry import TAG

TESTED = {
    "python": ("3.11", "3.14"),
    "lm-eval": ("0.4.13", "0.4.13"),
    "inspect-ai": ("0.3.285", "0.3.285"),
}
"""The first and the last release that this version of the package was tested with."""

_LEAST_FREE = 1 << 30
"""Bytes of free disk space below which a run may not be able to write its logs."""


_CONCURRENT = 8


def examine(model: HarnessModel | None, tasks: Sequence[Task], options: Options) -> Iterator[Check]:
    """Make all checks, in the order in which they are shown.

    Args:
        model: The model; None to check everything else.
        tasks: The tasks that the user named; without any, the data of all that need no judge are looked at.
        options: The options of the tasks.
    """
    yield from (check_version(name) for name in TESTED)
    yield _check_hook()
    yield _check_cache()
    yield from check_data(tasks or tasks_selected([TAG]), options, named=bool(tasks))
    yield from check_judge(tasks, options)
    if model:
        yield from check_model(model, tasks, options)
    else:
        yield Check("model", "not checked", "none was named", "halu-tasks doctor MODEL --tasks A,B")


def check_version(name: str) -> Check:
    """Check that a program has a version that was tested."""
    first, last = TESTED[name]
    try:
        version = ".".join(map(str, sys.version_info[:3])) if name == "python" else metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name, "failed", "not installed", f'pip install "{name}>={first}"')
    tested = first if first == last else f"{first} to {last}"
    if _numbers(version) < _numbers(first):
        return Check(name, "failed", f"{version}, older than {first}", f"install {first} or later")
    # 3.13.5 is a release of 3.13
    if _numbers(version)[: len(_numbers(last))] > _numbers(last):
        advice = (
            f"if something fails, install {name}=={last}" if name != "python" else f"if something fails, use {last}"
        )
        return Check(name, "warning", f"{version}, newer than what was tested ({tested})", advice)
    return Check(name, "ok", version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0]))


def _check_hook() -> Check:
    name, advice = "tasks in lm-eval", 'add --include_path "$(halu-tasks show --path)" to lm_eval'
    if os.environ.get("HALU_TASKS_NO_AUTOLOAD") == "1":
        return Check(name, "warning", "HALU_TASKS_NO_AUTOLOAD=1: tasks and halu-… models are not found by name", advice)
    if not any(getattr(hook, "__module__", "") == "_halu_tasks_autoload" for hook in sys.meta_path):
        return Check(name, "warning", "the import hook did not run when Python started", advice)
    return Check(name, "ok", "found by name, through the import hook")


def _check_cache() -> Check:
    name, folder = "cache folder", cache_folder()
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            free = disk_usage(existing).free
    except OSError as error:
        return Check(name, "failed", f"{folder}: {error.strerror or error}", "name another with HALU_TASKS_CACHE=PATH")
    home = Path.home()
    shown = f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
    found = f"{shown}, {free / 1e9:,.1f} GB free"
    if free < _LEAST_FREE:
        return Check(name, "warning", found, "free disk space, or name another folder with HALU_TASKS_CACHE=PATH")
    return Check(name, "ok", found)


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


def check_judge(tasks: Sequence[Task], options: Options) -> Iterator[Check]:
    """Check that the judge answers, for tasks that need one."""
    judged = {task.name: task.judged for task in tasks if task.judged}
    if not judged:
        return
    if not options.judge:
        without = ", ".join(dict.fromkeys(spec.unjudged for spec in judged.values()))
        found = f"{', '.join(judged)}: the headline needs a judge; without one there is only {without}"
        yield Check("judge", "warning", found, "--judge MODEL (docs/judges.md)")
        return
    from halu_tasks.judging.judge import reach_now

    try:
        reach_now(options, next(iter(judged.values())))
    except HaluTasksError as error:
        yield failed("judge", error)
    else:
        yield Check("judge", "ok", f"{options.judge} answers")


def _size(source: Source, name: str) -> tuple[int | None, bool]:
    """Return the size of a file in bytes, None if the server does not say, and whether it is cached.

    Raises:
        DataError: It is damaged, or can neither be found in the cache nor reached.
    """
    if path := cached_file(source, name):
        verify(source, name, path)
        return path.stat().st_size, True
    return remote_size(source, name), False
