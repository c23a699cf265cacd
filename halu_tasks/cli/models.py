"""Options of commands that name models, as Inspect takes them."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import yaml
from inspect_ai.model import GenerateConfig, Model, get_model

from halu_tasks.credentials import in_address, public
from halu_tasks.errors import HaluTasksError, UsageError


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
        found = get_model(name, base_url=base_url, config=GenerateConfig(**config or {}), **arguments)
    except HaluTasksError:
        raise
    except Exception as error:
        # a provider that is unknown or not installed, a missing key: each has an error of its own
        told = re.sub(r"\[/?\w+\]", "", str(getattr(error, "message", error)))
        raise UsageError(f"model {name}: {' '.join(told.split())}") from None
    # the client has its arguments by now; these are what Inspect logs, and knows a run again by
    found.model_args = public(found.model_args)
    return found


def logged_safely(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an eval with its model in place of the model's name, address and arguments, which Inspect would
    write down as they are."""
    others = {name: value for name, value in settings.items() if name not in ("model_base_url", "model_args")}
    arguments = {"memoize": False, **settings["model_args"]}
    return others | {"model": model_named(settings["model"], settings["model_base_url"], arguments)}


def recorded(value: Any) -> Any:
    """What is written down of how models are named, and must be the same to go on with a folder: without credentials,
    and without the addresses of servers, which may differ from machine to machine."""
    if isinstance(value, dict):
        value = {key: recorded(own) for key, own in value.items() if key != "base_url"}
    return public(value)


def reach(base_url: str | None) -> None:
    """Raises UsageError where nothing listens at an address, at which Inspect would try again and again."""
    if base_url is None:
        return
    address = urlsplit(base_url)
    try:
        port = address.port or {"https": 443}.get(address.scheme, 80)
        socket.create_connection((address.hostname or "", port), timeout=20).close()
    except (OSError, ValueError) as error:
        raise UsageError(f"--model-base-url {base_url}: nothing answers there ({error})") from None


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
