"""The models of a run, without credentials that Inspect would log, and runs that continue in their log directory."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval_set
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, Model, get_model

from halu_tasks.core.credentials import public, secret_in
from halu_tasks.core.errors import DataError, HaluTasksError, RunInterrupted, UsageError
from halu_tasks.core.files import path_without_url_signs
from halu_tasks.judging.reaching import log_retries, reach

_OS_ERROR = re.compile(r"^(?:OS|Permission|FileNotFound)Error\(\d+, ['\"](.*?)['\"]")


@dataclass(frozen=True)
class RunModels:
    """The models of a run.

    Attributes:
        name: The main model, named as in Inspect.
        base_url: The address of its server.
        arguments: Its other arguments.
        roles: Models by role. A value is a name, a list of names, or a mapping with `model`, `base_url`, `model_args`
            and settings of its calls.
        eval_settings: Arguments of `inspect_ai.eval` for all models, such as `max_connections`.
    """

    name: str
    base_url: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, Any] = field(default_factory=dict)
    eval_settings: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Check that Inspect can create every model, and have calls that are retried reported.

        Raises:
            UsageError: Inspect cannot create a model.
        """
        self._create()
        log_retries()

    def in_task(self, tasks: int) -> RunModels:
        """Return the models for one of several tasks, in whose process retries of calls are reported too.

        Inspect's displays would overwrite each other, so several tasks have none unless the user asked for one.
        """
        self.check()
        if tasks == 1 or self.eval_settings.get("display"):
            return self
        return replace(self, eval_settings={**self.eval_settings, "display": "none"})

    def reach(self, *, again: bool = False) -> None:
        """Check that every model answers.

        Args:
            again: Also ask models that have answered before.

        Raises:
            ModelError: A model does not answer.
        """
        reach(self._create()[0], again=again, timeout=self.eval_settings.get("timeout"))

    @property
    def record(self) -> dict[str, Any]:
        """What a plan records of how models are named and called, which is the same when a command is resumed.

        Credentials are left out, and so are addresses of servers, which may differ between machines.
        """
        calls = {name: self.eval_settings[name] for name in ("temperature", "max_tokens") if name in self.eval_settings}
        arguments = {"model_args": recorded} if (recorded := _recorded(self.arguments)) else {}
        return {"model": self.name, "roles": _recorded(self.roles), **calls, **arguments}

    def as_settings(self) -> dict[str, Any]:
        """Return the arguments of `inspect_ai.eval` that name the models.

        The models are new ones, because their connections end with the run that uses them. Credentials and addresses
        are not among the arguments, since Inspect would log them; the model's client already has them, and a copy of
        the model would not.
        """
        models, roles = self._create()
        for model in models:
            model.model_args = public(model.model_args)
        return {**self.eval_settings, "model": models[0], "model_roles": roles or None}

    def _create(self) -> tuple[list[Model], dict[str, Model | list[Model]]]:
        """Create the models; return all of them, the main one first, and those of roles."""
        main = create_model(self.name, self.base_url, {"memoize": False, **self.arguments})
        roles = {role: _role_model(value) for role, value in self.roles.items()}
        models = (models if isinstance(models, list) else [models] for models in roles.values())
        return [main, *chain.from_iterable(models)], roles


def create_model(
    name: str, base_url: Any, arguments: Mapping[str, Any], config: Mapping[str, Any] | None = None
) -> Model:
    """Create a model.

    Args:
        name: The model, named as in Inspect.
        base_url: The address of its server.
        arguments: Its other arguments.
        config: Settings of its calls, such as `temperature`.

    Raises:
        UsageError: Inspect cannot create the model, or `base_url` contains credentials, which Inspect would log.
    """
    check_address(f"model {name}", base_url)
    try:
        return get_model(name, base_url=base_url, config=GenerateConfig(**config or {}), **arguments)
    except HaluTasksError:
        raise
    except Exception as error:
        # an unknown provider, a package that is not installed, a missing key: each raises another error
        message = re.sub(r"\[/?\w+\]", "", str(getattr(error, "message", error)))
        raise UsageError(f"model {name}: {' '.join(message.split())}") from None


def check_address(what: str, address: Any) -> None:
    """Check that the address of a model can be logged.

    Raises:
        UsageError: It contains credentials.
    """
    if secret_in(address) is not None:
        raise UsageError(
            f"{what}: the address {address} contained credentials, which Inspect would write into its log; name the "
            "model openai-api/PROVIDER/MODEL, and set PROVIDER_BASE_URL and PROVIDER_API_KEY in the environment"
        )


def _recorded(value: Any) -> Any:
    if isinstance(value, Mapping):
        value = {key: _recorded(entry) for key, entry in value.items() if key != "base_url"}
    return public(value)


def _role_model(value: Any) -> Any:
    if isinstance(value, list):
        return [_role_model(element) for element in value]
    spec: Mapping[str, Any] = value if isinstance(value, dict) else {"model": str(value)}
    config = {name: setting for name, setting in spec.items() if name not in ("model", "base_url", "model_args")}
    arguments = {"memoize": False, **spec.get("model_args", {})}
    return create_model(str(spec.get("model")), spec.get("base_url"), arguments, config)


def run_eval(task: Task | str, log_dir: Path, models: RunModels, **settings: Any) -> EvalLog:
    """Run a task in Inspect, or the rest of it if its log directory contains an unfinished run.

    Inspect's display goes to standard error.

    Args:
        task: The task, or its name in Inspect's registry.
        log_dir: The directory of the logs.
        models: The models.
        **settings: Further arguments of `inspect_ai.eval_set`.

    Returns:
        The log of the run, which may have failed.

    Raises:
        RunInterrupted: The run was interrupted from the keyboard.
        DataError: The directory contains a run with other arguments, the log cannot be written, or Inspect cannot
            start.
    """
    settings = {**models.as_settings(), "max_tasks": 1, "retry_attempts": 1, **settings}
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        # standard output is for the command's result
        with contextlib.redirect_stdout(sys.stderr), path_without_url_signs(log_dir) as folder:
            _, logs = eval_set(task, log_dir=str(folder), **settings)
    except KeyboardInterrupt:
        logs = []
    except OSError as error:
        raise _unwritable(log_dir, error.strerror or str(error)) from None
    except Exception as error:
        # the class has no public name
        if type(error).__name__ != "PrerequisiteError":
            raise
        raise DataError(f"{log_dir}: {_start_error(error)}") from None
    # Inspect may handle the interruption itself, and then returns no log
    if not logs or logs[0].status == "cancelled":
        raise RunInterrupted(
            f"interrupted; {log_dir} keeps what is finished, and the same command continues from there"
        )
    if logs[0].error and (unwritten := _OS_ERROR.search(logs[0].error.message)):
        raise _unwritable(log_dir, unwritten[1])
    if logs[0].location:
        logs[0].location = str(log_dir / Path(logs[0].location).name)
    return logs[0]


def _start_error(error: Exception) -> str:
    message = " ".join(str(getattr(error, "message", error)).split())
    if "not associated with a task" not in message:
        return message
    return (
        "contains a run with other arguments (-M, --cache, or another release of Inspect); use the same ones, "
        "or remove this directory to start its documents over"
    )


def _unwritable(log_dir: Path, reason: str) -> DataError:
    return DataError(
        f"{log_dir}: the log cannot be written ({reason}); free disk space, then run the same command to continue"
    )
