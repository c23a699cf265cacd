"""The command of a harness that runs a model on some tasks, for `sweep` and `run`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halu_tasks.core.options import PREFIX
from halu_tasks.sweeps.sweep_model import SweepModel

LOGS, RESULTS, CACHE = "logs", "results", "replies"
"""In a model's folder: Inspect's logs, lm-eval's results, and lm-eval's cache of replies."""

RETRIES = 7
"""How often Inspect repeats a call that fails, unless the user says otherwise; by itself, it never gives up."""

_MODULES = {"inspect": "inspect_ai", "lm_eval": "lm_eval"}


def harness_command(
    model: SweepModel,
    tasks: Sequence[str],
    options: Mapping[str, Any],
    limit: int | None,
    folder: Path,
    *,
    resumable: bool = True,
) -> list[str]:
    """Return the harness's own command, without the interpreter.

    Args:
        model: The model.
        tasks: The names of the tasks.
        options: The options of the tasks, by name.
        limit: Maximum number of items of a task; None for all.
        folder: The model's folder.
        resumable: Whether the same command continues a run that was interrupted. If not, Inspect asks the model a short
            question first, and shows its usual progress.

    Returns:
        The words of the command, the first of which is `inspect` or `lm_eval`.
    """
    parts = _inspect if model.harness == "inspect" else _lm_eval
    limited = ["--limit", str(limit)] if limit else []
    return [*parts(model, tasks, options, folder, resumable), *limited]


def shown(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Return a command as a shell takes it.

    Args:
        command: The words of the command.
        environment: The variables that are set for it.
    """
    variables = [f"{name}={shlex.quote(value)}" for name, value in (environment or {}).items()]
    return " ".join([*variables, shlex.join(command)])


def module_arguments(command: Sequence[str]) -> list[str]:
    """Return a command as arguments of the Python interpreter, so that the harness beside this package is run."""
    return ["-m", "halu_tasks.sweeps.harness_process", _MODULES[command[0]], *command[1:]]


def _inspect(
    model: SweepModel, tasks: Sequence[str], options: Mapping[str, Any], folder: Path, resumable: bool
) -> Iterator[str]:
    verb = "eval-set" if resumable else "eval"
    yield from ("inspect", verb, *(f"halu_tasks/{task}" for task in tasks), "--model", model.model)
    for name, value in model.arguments.items():
        yield from ("-M", f"{name}={_yaml(value)}")
    for name, value in options.items():
        yield from ("-T", f"{name}={_yaml(value)}")
    yield from ("--log-dir", str(folder / LOGS))
    if resumable:
        yield from ("--log-dir-allow-dirty", "--retry-attempts", "1", "--display", "plain")
    for name, value in {"max_retries": RETRIES, **model.options}.items():
        yield from _flag("--" + name.replace("_", "-"), value)


def _lm_eval(
    model: SweepModel, tasks: Sequence[str], options: Mapping[str, Any], folder: Path, resumable: bool
) -> Iterator[str]:
    yield from ("lm_eval", "run", "--model", model.model)
    if model.arguments:
        yield from ("--model_args", json.dumps(model.arguments))
    yield from ("--tasks", ",".join(tasks))
    if options:
        yield from ("--metadata", json.dumps({PREFIX + name: value for name, value in options.items()}))
    yield from ("--output_path", str(folder / RESULTS), "--log_samples")
    if resumable:
        yield from ("--use_cache", str(folder / CACHE))
    for name, value in model.options.items():
        yield from _flag("--" + name, value)


def _flag(flag: str, value: Any) -> Iterator[str]:
    """Return an option; a switch that is off is left out."""
    if value is True:
        yield flag
    elif value is not False and value is not None:
        yield from (flag, _yaml(value))


def _yaml(value: Any) -> str:
    """Return a value as both harnesses read one: lists of plain strings with commas, other structures as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return ",".join(value)
    return json.dumps(value)
