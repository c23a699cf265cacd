"""Options of commands that name models, as Inspect takes them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml
from inspect_ai.model import GenerateConfig, Model, get_model

from halu_tasks.credentials import in_address, public
from halu_tasks.errors import HaluTasksError, UsageError
from halu_tasks.judging.reaching import reach
from halu_tasks.judging.retries import tell_retries


def assigned(given: Sequence[str], what: str) -> dict[str, Any]:
    """`KEY=VALUE` each, values as YAML and with commas lists, as Inspect reads them."""
    found: dict[str, Any] = {}
    for text in given:
        key, equals, raw = text.strip().partition("=")
        if not (key and equals):
            raise UsageError(f"{what}: {text!r} is not of the form KEY=VALUE")
        try:
            value = yaml.safe_load(raw)
        except yaml.YAMLError:
            value = raw
        split = value.split(",") if isinstance(value, str) else []
        found[key.replace("-", "_")] = split if len(split) > 1 else value
    return found


def model_named(
    name: str, base_url: Any, arguments: Mapping[str, Any], config: Mapping[str, Any] | None = None
) -> Model:
    """The model of that name. Raises UsageError, in one line, where Inspect cannot make it, and for credentials in
    its address, which Inspect would log."""
    if in_address(base_url):
        raise UsageError(
            f"model {name}: the address {base_url} was given with credentials, which Inspect writes into its log; name "
            "the model openai-api/PROVIDER/MODEL, and set PROVIDER_BASE_URL and PROVIDER_API_KEY in the environment"
        )
    try:
        return get_model(name, base_url=base_url, config=GenerateConfig(**config or {}), **arguments)
    except HaluTasksError:
        raise
    except Exception as error:
        # a provider that is unknown or not installed, a missing key: each has an error of its own
        told = re.sub(r"\[/?\w+\]", "", str(getattr(error, "message", error)))
        raise UsageError(f"model {name}: {' '.join(told.split())}") from None


def without_secrets(model: Any) -> Any:
    """The model, or models or name of one, with no credentials among the arguments that Inspect logs and by which it
    recognises a run. The client has them by now; a copy made of the model would not."""
    if isinstance(model, list):
        return [without_secrets(each) for each in model]
    if isinstance(model, Model):
        model.model_args = public(model.model_args)
    return model


def logged_safely(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an eval with its model in place of the model's name, address and arguments, which Inspect would
    write down as they are."""
    others = {name: value for name, value in settings.items() if name not in ("model_base_url", "model_args")}
    arguments = {"memoize": False, **settings["model_args"]}
    return others | {"model": without_secrets(model_named(settings["model"], settings["model_base_url"], arguments))}


def recorded(value: Any) -> Any:
    """What is written down of how models are named, and must be the same to go on with a folder: without credentials,
    and without the addresses of servers, which may differ from machine to machine."""
    if isinstance(value, dict):
        value = {key: recorded(own) for key, own in value.items() if key != "base_url"}
    return public(value)


class Models(NamedTuple):
    """The models that a command names.

    Attributes:
        model: the one that `--model` names.
        arguments: those of `-M`.
        roles: what `--model-role` names, by role.
        settings: arguments of Inspect's `eval` for the model and its calls.
    """

    model: Model
    arguments: dict[str, Any]
    roles: dict[str, Any]
    settings: dict[str, Any]

    @staticmethod
    def of(arguments: argparse.Namespace) -> Models:
        """The models of a command line. Raises UsageError where Inspect cannot make one."""
        given = assigned(arguments.model_arg, "-M")
        found = Models(
            model_named(arguments.model, arguments.model_base_url, given),
            given,
            assigned(arguments.model_role, "--model-role"),
            {
                "model": arguments.model,
                "model_base_url": arguments.model_base_url,
                "model_args": given,
                "display": arguments.display,
                **{name: value for name in _CALLS if (value := getattr(arguments, name)) is not None},
            },
        )
        found.by_role()
        tell_retries()
        return found

    def by_role(self, *names: str) -> dict[str, Any] | None:
        """Models by role, as Inspect takes them: of the roles in `names`, or of all; None if there are none."""
        wanted = [role for role in self.roles if not names or role in names]
        return {role: without_secrets(role_named(self.roles[role])) for role in wanted} or None

    def reach(self, *, again: bool = False) -> None:
        """See that every model answers before it is given work.

        Args:
            again: also ask those that have answered before.

        Raises:
            ModelError: one gives no answer.
        """
        roles = map(role_named, self.roles.values())
        named = [each for own in roles for each in (own if isinstance(own, list) else [own])]
        models = [own if isinstance(own, Model) else model_named(own, None, {}) for own in named]
        reach([self.model, *models], again=again, timeout=self.settings.get("timeout"))


_CALLS = ("max_connections", "max_retries", "timeout")


def role_named(value: Any) -> Any:
    """What Inspect takes for a role: a name, names, or the model that `{model: NAME, temperature: …}` describes."""
    if isinstance(value, list):
        return [role_named(each) for each in value]
    if not isinstance(value, dict):
        model_named(str(value), None, {})
        return str(value)
    config = {name: given for name, given in value.items() if name not in ("model", "base_url", "model_args")}
    arguments = {"memoize": False, **value.get("model_args", {})}
    return model_named(str(value.get("model")), value.get("base_url"), arguments, config)
