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
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry_point in entry_points(group=f"halu_tasks.{kind}"):
        found[entry_point.name] = (*found.get(entry_point.name, ()), entry_point)
    return dict(sorted(found.items()))


def added_parts(kind: Kind, own: Mapping[str, str]) -> dict[str, Any]:
    """Return the parts of a kind that installed packages add, by name; one that cannot be used is named in a warning.

    Args:
        kind: The kind.
        own: The package's own parts, as for `find_part`; none of their names can be taken.
    """
    parts: dict[str, Any] = {}
    for name in added(kind):
        try:
            parts[name] = find_part(kind, name, own)
        except ValueError as error:
            logger.warning("%s", error)
    return parts


def find_part(kind: Kind, name: str, own: Mapping[str, str]) -> Any:
    """Return the part of a kind by its name.

    Args:
        kind: The kind.
        name: The name.
        own: The package's own parts, `module:attribute` by name.

    Raises:
        ValueError: There is no part of that name, there are several, or it cannot be imported.
    """
    what, others = kind.removesuffix("s"), added(kind)
    ours = [EntryPoint(name, own[name], f"halu_tasks.{kind}")] if name in own else []
    match [*ours, *others.get(name, ())]:
        case []:
            known = [*own, *(other for other in others if other not in own)]
            raise ValueError(f"unknown {what} {name!r}{did_you_mean(name, known)}; known: {', '.join(known)}")
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
