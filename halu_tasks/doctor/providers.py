"""Checks of what a provider's models need here: packages, and an API key in the environment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

from halu_tasks.core.errors import did_you_mean
from halu_tasks.core.extras import install_hint
from halu_tasks.doctor.check import Check
from halu_tasks.sweeps.keys import PLACEHOLDER_KEY, key_variable, placeholder_key
from halu_tasks.sweeps.named_model import ModelName
from halu_tasks.sweeps.sweep_model import SweepModel


class Packages(NamedTuple):
    """Modules that a model needs, and the command that installs them."""

    modules: Sequence[str]
    install: str


_OPENAI = Packages(["openai"], install_hint("openai"))
_SPEAK_OPENAI = (
    *("openai", "openai-api", "together", "openrouter", "fireworks", "perplexity", "sambanova", "ollama"),
    *("llama-cpp-python", "hf-inference-providers"),
)
"""Inspect's providers that use the client of OpenAI."""
_INSPECT = {
    **dict.fromkeys(_SPEAK_OPENAI, _OPENAI),
    "anthropic": Packages(["anthropic"], "pip install anthropic"),
    "google": Packages(["google.genai"], "pip install google-genai"),
    "groq": Packages(["groq"], "pip install groq"),
    "hf": Packages(["torch", "transformers", "accelerate"], install_hint("hf")),
    "mistral": Packages(["mistralai"], "pip install mistralai"),
    "vllm": Packages(["openai", "vllm"], f"{install_hint('openai')} vllm"),
    "halu": Packages([], ""),
}
"""What the providers of Inspect need."""
_API = Packages(["aiohttp", "requests", "tenacity"], install_hint("openai"))
_LM_EVAL = {
    "hf": Packages(["torch", "transformers", "accelerate"], install_hint("hf")),
    "vllm": Packages(["vllm"], 'pip install "lm-eval[vllm]"'),
    "local-chat-completions": _API,
    "openai-chat-completions": _API,
    "halu-oracle": Packages([], ""),
    "halu-baseline": Packages([], ""),
    "halu-replay": Packages([], ""),
}
"""What the models of lm-eval need."""

_KEYLESS = ("halu", "hf")


def check_packages(name: ModelName, model: SweepModel) -> Check:
    """Check that the packages of a model are installed."""
    label = "packages"
    packages = _INSPECT.get(name.provider) if model.harness == "inspect" else _LM_EVAL.get(model.model)
    if packages is None:
        known = _inspect_providers()
        if name.provider not in known:
            found = f"Inspect has no provider {name.provider!r}{did_you_mean(name.provider, known)}"
            return Check(label, "failed", found, "correct the name, or install the package that adds the provider")
        return Check(label, "not checked", f"it is not known here which ones Inspect needs for {name.provider}")
    needed = [module for module in packages.modules if not (module == "vllm" and name.base_url)]
    if missing := [module for module in needed if not _installed(module)]:
        return Check(label, "failed", f"{', '.join(missing)} not installed", packages.install)
    return Check(label, "ok", ", ".join(needed) or "none needed")


def _inspect_providers() -> set[str]:
    """Return the names of all providers of Inspect, with those that installed packages add."""
    import inspect_ai.model  # noqa: F401 -- registers Inspect's own
    from inspect_ai._util import entrypoints, registry  # inspect-evals-lint: ignore[IECQ001] -- have no public names

    entrypoints.ensure_entry_points()
    found = registry.registry_find(lambda info: info.type == "modelapi")
    return {registry.registry_unqualified_name(provider) for provider in found}


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # the parent of a submodule is missing
        return False


def check_key(name: ModelName, model: SweepModel) -> Check:
    """Check that the API key of a provider is set; whether it is right, the server says."""
    label, variable = "API key", key_variable(name, model)
    if name.provider in _KEYLESS:
        return Check(label, "ok", "none needed")
    if variable is None:
        return Check(label, "not checked", f"which variable {name.provider} reads is not known here; see the server")
    if os.environ.get(variable):
        return Check(label, "ok", f"{variable} is set")
    if model.model == "local-chat-completions":
        return Check(label, "ok", f"{variable} is not set, which servers of your own may not need")
    if placeholder_key(name, model):
        found = f"{variable} is not set, so {PLACEHOLDER_KEY!r} is sent"
        return Check(label, "ok", found, f"if the server needs a key: export {variable}=…")
    return Check(label, "failed", f"{variable} is not set", f"export {variable}=…")
