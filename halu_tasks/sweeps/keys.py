"""The API keys of models: the environment variables that the harnesses read them from."""

from __future__ import annotations

import os
from collections.abc import Mapping

from halu_tasks.sweeps.named_model import ModelName
from halu_tasks.sweeps.sweep_model import SweepModel

PLACEHOLDER_KEY = "none"
"""The key that is sent to a server whose address the user names, if no key is set. Most local servers need none."""

_PROVIDERS = ("openai", "anthropic", "mistral", "groq", "together", "openrouter", "fireworks", "perplexity")
"""The providers of Inspect that always need a key, which they read from `PROVIDER_API_KEY`."""


def key_variable(name: ModelName, model: SweepModel) -> str | None:
    """Return the environment variable with the key of a model; None if it is not known or there is none.

    Args:
        name: The model.
        model: The same model, as its harness names it.
    """
    if model.model.endswith("-chat-completions"):
        return "OPENAI_API_KEY"
    prefix = _prefix(name)
    return f"{prefix}_API_KEY" if prefix else None


def placeholder_key(name: ModelName, model: SweepModel) -> Mapping[str, str]:
    """Return the variable that has to be set for a server that may need no key.

    Inspect's client does not ask a server at all without a key; that of lm-eval does.

    Returns:
        `PLACEHOLDER_KEY` by the name of the variable; empty if a key is set or the user names no server's address.
    """
    variable, prefix = key_variable(name, model), _prefix(name)
    address = name.base_url or os.environ.get(f"{prefix}_BASE_URL")
    if model.harness == "inspect" and variable and address and not os.environ.get(variable):
        return {variable: PLACEHOLDER_KEY}
    return {}


def harness_environment(model: SweepModel) -> Mapping[str, str]:
    """Return the variables that have to be set for a model of a models file (`placeholder_key`)."""
    if model.harness != "inspect":
        return {}
    return placeholder_key(ModelName.parse(model.model, model.options.get("model_base_url")), model)


def _prefix(name: ModelName) -> str | None:
    """Return how the names of the variables begin that Inspect reads the address and the key of a model from."""
    if name.provider == "openai-api":
        return name.model.partition("/")[0].upper().replace("-", "_")
    return name.provider.upper() if name.provider in _PROVIDERS else None
