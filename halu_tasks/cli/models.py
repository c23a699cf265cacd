"""Command-line arguments that name models."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import yaml

from halu_tasks.errors import UsageError
from halu_tasks.inspect_adapter.run_models import RunModels

_CALLS = ("max_connections", "max_retries", "timeout")


def assigned(given: Sequence[str], what: str) -> dict[str, Any]:
    """Parse `KEY=VALUE` arguments as Inspect does: values are YAML, and lists if they contain commas.

    Args:
        given: The arguments.
        what: What they are, for the error, such as `-T`.

    Raises:
        UsageError: An argument is not of this form.
    """
    values: dict[str, Any] = {}
    for text in given:
        key, equals, raw = text.strip().partition("=")
        if not (key and equals):
            raise UsageError(f"{what}: expected KEY=VALUE, got {text!r}")
        try:
            value = yaml.safe_load(raw)
        except yaml.YAMLError:
            value = raw
        parts = value.split(",") if isinstance(value, str) else []
        values[key.replace("-", "_")] = parts if len(parts) > 1 else value
    return values


def models_of(arguments: argparse.Namespace) -> RunModels:
    """Return the models that a command line names.

    Raises:
        UsageError: Inspect cannot create one of them.
    """
    calls = {name: value for name in _CALLS if (value := getattr(arguments, name)) is not None}
    models = RunModels(
        name=arguments.model,
        base_url=arguments.model_base_url,
        arguments=assigned(arguments.model_arg, "-M"),
        roles=assigned(arguments.model_role, "--model-role"),
        eval_settings={"display": arguments.display, **calls},
    )
    models.check()
    return models
