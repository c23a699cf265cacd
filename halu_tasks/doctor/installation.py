"""Checks of what is installed: versions, lm-eval's way to the tasks, the report, and the cache folder."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from shutil import disk_usage

from halu_tasks.data.cache import cache_folder
from halu_tasks.doctor.check import Check

TESTED = {
    "python": ("3.11", "3.14"),
    "lm-eval": ("0.4.13", "0.4.13"),
    "inspect-ai": ("0.3.285", "0.3.285"),
}
"""The first and the last release that this version of the package was tested with."""

_LEAST_FREE = 1 << 30
"""Bytes of free disk space below which a run may not be able to write its logs."""


def check_installation() -> Iterator[Check]:
    """Check versions, lm-eval's way to the tasks, the report, and the cache folder."""
    yield from (check_version(name) for name in TESTED)
    yield check_hook()
    yield check_cache()


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


def check_hook() -> Check:
    """Check that lm-eval finds the tasks by their names."""
    name, advice = "tasks in lm-eval", 'add --include_path "$(halu-tasks path)" to lm_eval'
    if os.environ.get("HALU_TASKS_NO_AUTOLOAD") == "1":
        return Check(name, "warning", "HALU_TASKS_NO_AUTOLOAD=1: tasks and halu-… models are not found by name", advice)
    if not any(getattr(hook, "__module__", "") == "_halu_tasks_autoload" for hook in sys.meta_path):
        return Check(name, "warning", "the import hook did not run when Python started", advice)
    return Check(name, "ok", "found by name, through the import hook")


def check_cache() -> Check:
    """Check that the cache folder can be written and has space left."""
    name, folder = "cache folder", cache_folder()
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            free = disk_usage(existing).free
    except OSError as error:
        return Check(name, "failed", f"{folder}: {error.strerror or error}", "name another with HALU_TASKS_CACHE=PATH")
    found = f"{_shown(folder)}, {free / 1e9:,.1f} GB free"
    if free < _LEAST_FREE:
        return Check(name, "warning", found, "free disk space, or name another folder with HALU_TASKS_CACHE=PATH")
    return Check(name, "ok", found)


def _shown(folder: Path) -> str:
    """Return a path with ~ for the home folder."""
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
