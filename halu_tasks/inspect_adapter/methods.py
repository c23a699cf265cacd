"""Methods, which answer a task with the plain prompt or with a solver of this package."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.model import CachePolicy
from inspect_ai.solver import SolverSpec
from inspect_ai.util import registry_create, registry_info

from halu_tasks import solvers
from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.inspect_adapter.run_models import RunModels
from halu_tasks.inspect_adapter.runs import FinishedRun, run_eval

PACKAGE = "halu_tasks/"
"""The prefix of this package's names in Inspect's registry."""
PLAIN = "plain"
"""The method that sends the task's own prompt."""
JUDGE = "grader"
"""The model role of the judge."""


@dataclass(frozen=True)
class Method:
    """A way to answer: the plain prompt, or a solver of this package.

    Attributes:
        name: `plain`, or the name of the solver.
        arguments: The solver's arguments.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> SolverSpec | None:
        """The solver as Inspect creates it and recognizes it in a log; None for the plain prompt."""
        arguments = dict(self.arguments)
        return None if self.name == PLAIN else SolverSpec(PACKAGE + self.name, arguments, arguments)


def check_methods(methods: Sequence[Method]) -> list[Method]:
    """Check methods, and return them with the plain prompt first.

    Raises:
        UsageError: A method is unknown or named twice, or the plain prompt has arguments.
        ArgumentError: A solver does not accept an argument.
    """
    for method in methods:
        if methods.count(method) > 1:
            raise UsageError(f"method {method.name} is named twice")
        _check(method)
    plain = Method(PLAIN)
    return [plain, *(method for method in methods if method != plain)]


def _check(method: Method) -> None:
    if method.name == PLAIN:
        if method.arguments:
            raise UsageError(f"method {PLAIN}: the plain prompt has no arguments")
        return
    known = _solvers()
    if method.name not in known:
        methods = [PLAIN, *known]
        close = did_you_mean(method.name, methods)
        raise UsageError(f"unknown method {method.name!r}{close}; methods: {', '.join(methods)}")
    registry_create("solver", PACKAGE + method.name, **method.arguments)


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


def run_method(
    task: str, method: Method, log_dir: Path, models: RunModels, task_args: Mapping[str, Any], limit: int | None
) -> FinishedRun:
    """Run a task with a method, or the rest of an earlier run.

    Args:
        task: The task's name.
        method: The method.
        log_dir: The directory of the logs, which other methods share.
        models: The models.
        task_args: The task's options.
        limit: Maximum number of items.

    Raises:
        RunInterrupted: The run was interrupted from the keyboard.
        DataError: The log cannot be written, or Inspect cannot start.
    """
    plain = method.name == PLAIN
    # replies to the plain prompt are cached, unless this package's own models give them: these cost nothing, and may
    # read a file of replies that changes
    cache = {"cache": CachePolicy(expiry=None)} if plain and not models.name.startswith("halu/") else {}
    return run_eval(
        PACKAGE + task,
        log_dir,
        models,
        # the plain prompt has no use for the roles of methods, and is not asked again when they change
        roles=(JUDGE,) if plain else (),
        solver=method.spec,
        task_args=dict(task_args),
        limit=limit,
        log_dir_allow_dirty=True,
        **cache,
    )
