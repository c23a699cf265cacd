"""Methods, which answer a task with a solver of this package."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from inspect_ai.util import registry_create, registry_info

from halu_tasks import solvers
from halu_tasks.core.errors import UsageError, did_you_mean

PACKAGE = "halu_tasks/"
"""The prefix of this package's names in Inspect's registry."""


def check_method(name: str, arguments: Mapping[str, Any]) -> None:
    """Check the name and the arguments of a method.

    Raises:
        UsageError: The method is unknown.
        ArgumentError: The solver does not accept an argument.
    """
    known = _solvers()
    if name not in known:
        methods = ["plain", *known]
        raise UsageError(f"unknown method {name!r}{did_you_mean(name, methods)}; methods: {', '.join(methods)}")
    registry_create("solver", PACKAGE + name, **arguments)


def _solvers() -> dict[str, Callable[..., Any]]:
    """Return the solvers of this package by name."""
    by_name: dict[str, Callable[..., Any]] = {}
    for info in pkgutil.walk_packages(solvers.__path__, f"{solvers.__name__}."):
        for name, member in vars(importlib.import_module(info.name)).items():
            # Inspect raises one of these for whatever is not in its registry
            with contextlib.suppress(ValueError, TypeError, AttributeError):
                registered = registry_info(member)
                if registered.type == "solver" and registered.name == f"{PACKAGE}{name}":
                    by_name[name] = member
    return dict(sorted(by_name.items()))
