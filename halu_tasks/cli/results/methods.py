"""`halu-tasks methods`: run the plain prompt and methods on the same items in Inspect, and compare them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halu_tasks.cli.arguments import (
    add_comparison_arguments,
    add_model_arguments,
    add_options,
    add_task_arguments,
    key_values,
    positive_int,
    run_models,
    task_options,
)
from halu_tasks.cli.output import warn
from halu_tasks.cli.results.compare import show
from halu_tasks.core.errors import DataError, UsageError, did_you_mean
from halu_tasks.core.options import Options

if TYPE_CHECKING:
    from halu_tasks.inspect_adapter.methods import Method

HELP = "run methods and the plain prompt in Inspect, and compare them"

_NEXT_ARGUMENT = re.compile(r",(?=\s*[A-Za-z_]\w*=)")
"""Separates the arguments of a method, whose values can contain commas."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_task_arguments(parser)
    about = "plain, or a method as NAME or NAME:ARGUMENT=VALUE,… (factored_verification:how=samples,samples=3)"
    parser.add_argument("methods", metavar="METHOD", nargs="+", help=about)
    add_options(parser, "scoring")
    parser.add_argument("--limit", type=positive_int, metavar="N", help="only the first N items")
    add_model_arguments(parser, "any other option that the task has in Inspect (probability=true)")
    about = "the directory of the logs (default: logs/methods/TASK)"
    parser.add_argument("--log-dir", metavar="PATH", help=about)
    add_comparison_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Run the methods that have not finished yet, and print how they compare."""
    from halu_tasks.report.write import compare
    from halu_tasks.results.methods import MethodsRequest, run_methods

    request = MethodsRequest(
        task=arguments.task,
        methods=parse_methods(arguments.methods),
        task_args=_task_args(arguments),
        models=run_models(arguments),
        log_dir=Path(arguments.log_dir or f"logs/methods/{arguments.task}"),
        limit=arguments.limit,
        metrics=arguments.metric,
    )
    runs, failures = run_methods(request)
    for failure in failures:
        warn(failure)
    if runs and (len(runs) > 1 or not failures):
        report = compare({str(request.log_dir): runs}, arguments.metric, arguments.margin)
        show(report, arguments.metric, as_json=arguments.json)
    if failures:
        raise DataError(
            f"{len(failures)} of {len(request.methods)} methods failed (above); {request.log_dir} keeps what is "
            "finished, and the same command continues from there"
        )


def parse_methods(names: Sequence[str]) -> list[Method]:
    """Parse methods, each `NAME` or `NAME:ARGUMENT=VALUE,…`, and return them with the plain prompt first.

    Raises:
        UsageError: A method is unknown or named twice, or an argument is malformed.
        ArgumentError: A method does not accept an argument.
    """
    from halu_tasks.inspect_adapter.methods import Method, check_methods

    methods = []
    for text in names:
        name, _, arguments = text.partition(":")
        parts = _NEXT_ARGUMENT.split(arguments) if arguments else ()
        methods.append(Method(name, key_values(parts, f"method {name}")))
    return check_methods(methods)


def _task_args(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the task's options that are not at their default, as Inspect's `-T` takes them."""
    given = key_values(arguments.task_option, "-T")
    known = Options.specs()
    if unknown := [name for name in given if name not in known]:
        close = did_you_mean(unknown[0], known)
        raise UsageError(f"-T {unknown[0]}: unknown option{close}; options: {', '.join(known)}")
    return task_options(arguments).changed() | given
