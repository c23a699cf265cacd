"""Parts that are found by name: the package's own, and those that installed packages add.

A package adds a part with an entry point of a group `halu_tasks.KIND` (docs/plugins.md):

    [project.entry-points."halu_tasks.readings"]
    shouted = "my_package:shouted"
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from halu_tasks.core.errors import did_you_mean

logger = logging.getLogger(__name__)
Kind = Literal["readings", "scorers", "exports", "executors", "pipelines"]


@cache
def added(kind: Kind) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the parts of a kind that installed packages add, by name; several packages may add the same name."""
    entry_points_by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for entry_point in entry_points(group=f"halu_tasks.{kind}"):
        entry_points_by_name[entry_point.name] = (*entry_points_by_name.get(entry_point.name, ()), entry_point)
    return dict(sorted(entry_points_by_name.items()))


def added_parts(kind: Kind, packaged: Mapping[str, str]) -> dict[str, Any]:
    """Return the parts of a kind that installed packages add, by name; warn of those that cannot be loaded.

    Args:
        kind: The kind.
        packaged: The parts of this package, as for `find_part`; no other package can take their names.
    """
    parts: dict[str, Any] = {}
    for name in added(kind):
        try:
            parts[name] = find_part(kind, name, packaged)
        except ValueError as error:
            logger.warning("%s", error)
    return parts


def find_part(kind: Kind, name: str, packaged: Mapping[str, str]) -> Any:
    """Return the part of a kind by its name.

    Args:
        kind: The kind.
        name: The name.
        packaged: The parts of this package, `module:attribute` by name.

    Raises:
        ValueError: There is no part of that name, there are several, or it cannot be imported.
    """
    what, added_by_name = kind.removesuffix("s"), added(kind)
    ours = [EntryPoint(name, packaged[name], f"halu_tasks.{kind}")] if name in packaged else []
    match [*ours, *added_by_name.get(name, ())]:
        case []:
            names = [*packaged, *(other for other in added_by_name if other not in packaged)]
            raise ValueError(f"unknown {what} {name!r}{did_you_mean(name, names)}; known: {', '.join(names)}")
        case [part]:
            try:
                return part.load()
            except Exception as error:
                if ours:
                    raise
                reason = " ".join(str(error).split())
                raise ValueError(f"{what} {name!r} of {_package(part)}: {type(error).__name__}: {reason}") from None
        case several:
            packages = ", ".join(sorted(map(_package, several)))
            raise ValueError(f"{what} {name!r}: {packages} have one of this name; uninstall all of them but one")


def _package(part: EntryPoint) -> str:
    return part.dist.name if part.dist else "halu-tasks"
