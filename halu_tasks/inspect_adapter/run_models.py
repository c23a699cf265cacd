"""The models of a run: created as users name them, and passed to Inspect without credentials it would log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model

from halu_tasks.core.credentials import in_address, public
from halu_tasks.core.errors import HaluTasksError, UsageError
from halu_tasks.judging.reaching import log_retries, reach


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
        self.main()
        self.by_role()
        log_retries()

    def in_task(self, tasks: int) -> RunModels:
        """Return the models for one of several tasks, in whose process retries of calls are reported too.

        Inspect's displays would overwrite each other, so several tasks have none unless the user asked for one.
        """
        self.check()
        if tasks == 1 or self.eval_settings.get("display"):
            return self
        return replace(self, eval_settings={**self.eval_settings, "display": "none"})

    @property
    def secret(self) -> bool:
        """Whether arguments or roles contain credentials."""
        given = [dict(self.arguments), dict(self.roles)]
        return bool(public(given) != given)

    def main(self) -> Model:
        """Create the main model.

        Raises:
            UsageError: Inspect cannot create it.
        """
        return create_model(self.name, self.base_url, {"memoize": False, **self.arguments})

    def by_role(self, *roles: str) -> dict[str, Any] | None:
        """Create the models of some roles, or of all if none is given, as `inspect_ai.eval` takes them.

        Returns:
            Models by role; None if there are none.
        """
        selected = [role for role in self.roles if not roles or role in roles]
        return {role: without_secrets(_role_model(self.roles[role])) for role in selected} or None

    def reach(self, *, again: bool = False) -> None:
        """Check that every model answers.

        Args:
            again: Also ask models that have answered before.

        Raises:
            ModelError: A model does not answer.
        """
        models = [self.main()]
        for value in self.roles.values():
            created = _role_model(value)
            for model in created if isinstance(created, list) else [created]:
                models.append(model if isinstance(model, Model) else create_model(model, None, {}))
        reach(models, again=again, timeout=self.eval_settings.get("timeout"))

    def as_settings(self, roles: Sequence[str] = ()) -> dict[str, Any]:
        """Return the arguments of `inspect_ai.eval` that name the models.

        The models are new ones, because their connections end with the run that uses them. Credentials and addresses
        are not among the arguments, since Inspect would log them.

        Args:
            roles: The roles that the run has a use for; all if empty.
        """
        return {
            **self.eval_settings,
            "model": without_secrets(self.main()),
            "model_roles": self.by_role(*roles),
        }


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
    if in_address(base_url):
        raise UsageError(
            f"model {name}: the address {base_url} contained credentials, which Inspect would log; name the model "
            "openai-api/PROVIDER/MODEL, and set PROVIDER_BASE_URL and PROVIDER_API_KEY in the environment"
        )
    try:
        return get_model(name, base_url=base_url, config=GenerateConfig(**config or {}), **arguments)
    except HaluTasksError:
        raise
    except Exception as error:
        # an unknown provider, a package that is not installed, a missing key: each raises another error
        message = re.sub(r"\[/?\w+\]", "", str(getattr(error, "message", error)))
        raise UsageError(f"model {name}: {' '.join(message.split())}") from None


def without_secrets(model: Any) -> Any:
    """Remove credentials from the arguments that Inspect logs and by which it recognizes a run.

    The model's client already has them; a copy of the model would not.

    Args:
        model: A model, a model's name, or a list of these.
    """
    if isinstance(model, list):
        return [without_secrets(element) for element in model]
    if isinstance(model, Model):
        model.model_args = public(model.model_args)
    return model


def recorded(value: Any) -> Any:
    """Return what a plan records of how models are named, which must be the same when a command is resumed.

    Credentials are left out, and so are addresses of servers, which may differ between machines.
    """
    if isinstance(value, Mapping):
        value = {key: recorded(entry) for key, entry in value.items() if key != "base_url"}
    return public(value)


def _role_model(value: Any) -> Any:
    """Return what Inspect takes for a role: a name, a list, or the model that a mapping describes."""
    if isinstance(value, list):
        return [_role_model(element) for element in value]
    if not isinstance(value, dict):
        create_model(str(value), None, {})
        return str(value)
    config = {name: setting for name, setting in value.items() if name not in ("model", "base_url", "model_args")}
    arguments = {"memoize": False, **value.get("model_args", {})}
    return create_model(str(value.get("model")), value.get("base_url"), arguments, config)
