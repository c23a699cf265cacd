"""`halu-tasks methods`: the plain prompt and methods on the same items in Inspect, compared."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from inspect_ai import eval_set
from inspect_ai.log import EvalLog
from inspect_ai.model import CachePolicy
from inspect_ai.solver import SolverSpec
from inspect_ai.util import registry_create, registry_info

from halu_tasks import solvers
from halu_tasks.cli import options_of
from halu_tasks.cli.compare import show
from halu_tasks.cli.models import Models, assigned, logged_safely
from halu_tasks.errors import DataError, ModelError, UsageError, did_you_mean
from halu_tasks.options import Options
from halu_tasks.results.comparison import chosen_metrics, compare
from halu_tasks.results.readers.inspect import PACKAGE, path_of, read_runs, state
from halu_tasks.results.run import Run
from halu_tasks.tasks import Built, build, task_named

_PLAIN = "plain"
_JUDGE = "grader"
_ARGUMENT = re.compile(r",(?=\s*[A-Za-z_]\w*=)")
"""Where one argument of a method ends and the next begins: values may hold commas."""


class Method(NamedTuple):
    """A way to answer: the plain prompt, or a solver of this package with its arguments."""

    name: str
    arguments: Mapping[str, Any]

    @property
    def spec(self) -> SolverSpec | None:
        """What Inspect makes the solver of, and knows it by in a log; None for the plain prompt."""
        given = dict(self.arguments)
        return None if self.name == _PLAIN else SolverSpec(PACKAGE + self.name, given, given)


def run(arguments: argparse.Namespace) -> None:
    methods = named_methods(arguments.methods)
    task_args = _task_args(arguments)
    # what is wrong with the options, the data or the models is told before anything is asked
    built = build(arguments.task, Options(**{"fewshot": task_named(arguments.task).shots, **task_args}))
    chosen_metrics(built.task, built.options.scoring, arguments.metric)
    models = Models.of(arguments)
    models.reach()
    folder = arguments.log_dir or f"logs/methods/{arguments.task}"
    settings: dict[str, Any] = {
        **models.settings,
        "task_args": task_args,
        "limit": arguments.limit,
        "log_dir": folder,
    }
    runs: list[Run] = []
    failed: list[str] = []
    for number, method in enumerate(methods):
        try:
            # what ended one method may end them all
            models.reach(again=bool(failed))
        except ModelError as error:
            failed += [f"{other.name} was not begun: {error}" for other in methods[number:]]
            break
        # models of their own for each run, as their connections end with it; the plain prompt has no other role
        # than the judge's, and is not to be asked again when those of a method change
        own = models.by_role(*([_JUDGE] if method.name == _PLAIN else []))
        log = _answered(arguments.task, method, {**settings, "model_roles": own})
        if log.status == "success":
            (run,) = read_runs(path_of(log.location))
            runs.append(_of_these_data(run, built))
        else:
            failed.append(f"{method.name} ended as {state(log)} (log: {path_of(log.location)})")
    for why in failed:
        print(f"halu-tasks: {why}", file=sys.stderr)
    if runs and (len(runs) > 1 or not failed):
        show(compare(runs, arguments.metric), as_json=arguments.json)
    if failed:
        raise DataError(
            f"{len(failed)} of {len(methods)} methods failed (above); what is done lies in {folder}, and the same "
            "command goes on from there"
        )


def _task_args(arguments: argparse.Namespace) -> dict[str, Any]:
    """The task's options that are not at their default, as Inspect's `-T` takes them."""
    options = options_of(arguments, scoring=arguments.scoring)
    named = {field.name: value for field in fields(options) if (value := getattr(options, field.name)) != field.default}
    given = assigned(arguments.task_option, "-T")
    known = [field.name for field in fields(Options)]
    if unknown := [name for name in given if name not in known]:
        close = did_you_mean(unknown[0], known)
        raise UsageError(f"-T {unknown[0]}: unknown option{close}; options: {', '.join(known)}")
    return named | given


def named_methods(given: Sequence[str]) -> list[Method]:
    """The methods that a command names, `NAME` or `NAME:ARGUMENT=VALUE,…` each, with the plain prompt first.

    Raises:
        UsageError: a method is unknown or named twice, or an argument is none of its own.
    """
    found = [_method(text) for text in given]
    if twice := next((text for text, method in zip(given, found, strict=True) if found.count(method) > 1), None):
        raise UsageError(f"method {twice} is named twice")
    plain = Method(_PLAIN, {})
    return [plain, *(method for method in found if method != plain)]


def _method(text: str) -> Method:
    name, _, listed = text.partition(":")
    method = Method(name, assigned(_ARGUMENT.split(listed) if listed else (), f"method {name}"))
    if name == _PLAIN:
        if method.arguments:
            raise UsageError(f"method {text}: the plain prompt has no arguments")
        return method
    known = _solvers()
    if name not in known:
        methods = [_PLAIN, *known]
        raise UsageError(f"unknown method {name!r}{did_you_mean(name, methods)}; methods: {', '.join(methods)}")
    registry_create("solver", PACKAGE + name, **method.arguments)
    return method


def _solvers() -> dict[str, Callable[..., Any]]:
    """The solvers of this package, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for info in pkgutil.iter_modules(solvers.__path__):
        for name, member in vars(importlib.import_module(f"{solvers.__name__}.{info.name}")).items():
            # whatever is in no registry of Inspect raises one of these
            with contextlib.suppress(ValueError, TypeError, AttributeError):
                told = registry_info(member)
                if told.type == "solver" and told.name == f"{PACKAGE}{name}":
                    found[name] = member
    return dict(sorted(found.items()))


def _answered(task: str, method: Method, settings: Mapping[str, Any]) -> EvalLog:
    """The log of a method, which an earlier run may have written in part or in full."""
    asked = {**settings, "max_tasks": 1, "retry_attempts": 1, "log_dir_allow_dirty": True}
    # this package's own models cost nothing, and the file of replies that one reads may change
    if method.name == _PLAIN and not settings["model"].startswith("halu/"):
        asked["cache"] = CachePolicy(expiry=None)
    try:
        # one after the other, so that the time of each is its own, and standard output left to the comparison
        with contextlib.redirect_stdout(sys.stderr):
            _, logs = eval_set(PACKAGE + task, solver=method.spec, **logged_safely(asked))
    except KeyboardInterrupt:
        logs = []
    # Inspect, too, may end a run that is broken off, and then tells of no log
    if not logs or logs[0].status == "cancelled":
        told = f"broken off; what is done lies in {settings['log_dir']}, and the same command goes on from there"
        print(f"halu-tasks: {told}", file=sys.stderr)
        raise SystemExit(130)
    return logs[0]


def _of_these_data(run: Run, built: Built) -> Run:
    if run.provenance.data_sha256 != built.located.sha256:
        raise DataError(
            f"{run.source} is of other data than {built.located.path} now holds; name another folder with --log-dir"
        )
    return run
