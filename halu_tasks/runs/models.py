"""Models as users name them, in the words of the harness that runs them, and their API keys."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from halu_tasks.core.credentials import in_address, is_secret
from halu_tasks.core.errors import HaluTasksError, UsageError, did_you_mean
from halu_tasks.runs.model_files import has_chat_template

Harness = Literal["inspect", "lm_eval"]

PLACEHOLDER_KEY = "none"
"""The key that is sent to a server whose address the user names, if no key is set. Most local servers need none."""

LOADED = ("hf", "vllm")
"""Providers that load weights; lm-eval's models that do have the same names."""

_KEYED = ("openai", "anthropic", "mistral", "groq", "together", "openrouter", "fireworks", "perplexity")
"""The providers of Inspect that always need a key, which they read from `PROVIDER_API_KEY`."""
_EMBEDDED = ("oracle", "baseline", "replay")
_BATCH = 8
"""The number of items of which replies are generated at a time."""
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SET_BY_RUN = {
    "inspect": ["display", "limit", "log_dir", "log_dir_allow_dirty", "log_format", "model", "retry_attempts"],
    "lm_eval": [
        *("include_path", "limit", "log_samples", "metadata", "model"),
        *("model_args", "output_path", "tasks", "use_cache"),
    ],
}
"""The options of the harnesses' commands that a run sets itself."""


@dataclass(frozen=True)
class HarnessModel:
    """A model and the harness that runs it.

    Attributes:
        name: The name of its folder.
        harness: The harness that runs it.
        model: The model, as its harness names it.
        arguments: Arguments of the model (`-M` of Inspect, `--model_args` of lm-eval).
        options: Further options of the harness's command, such as `max_connections` or `apply_chat_template`.
        provider: The provider as in Inspect, such as `openai`; empty for a type of lm-eval's own.
        at_provider: The model's name at the provider.
        base_url: The address of its server, such as `http://localhost:8000/v1`.
    """

    name: str
    harness: Harness
    model: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    provider: str = ""
    at_provider: str = ""
    base_url: str | None = None

    @property
    def is_loaded_here(self) -> bool:
        """Whether the harness loads the weights."""
        return self.provider in LOADED and not self.base_url

    @property
    def revision(self) -> str | None:
        """The revision of a Hugging Face model."""
        revision = self.arguments.get("revision")
        return str(revision) if revision else None

    @property
    def key_variable(self) -> str | None:
        """The environment variable with the API key; None if it is not known or there is none."""
        if self.model.endswith("-chat-completions"):
            return "OPENAI_API_KEY"
        prefix = self._prefix
        return f"{prefix}_API_KEY" if prefix else None

    @property
    def placeholder_key(self) -> dict[str, str]:
        """The variable to be set for a server that may need no key; empty if there is a key, or no address is named.

        Inspect's client does not ask a server at all without a key; that of lm-eval does.
        """
        variable = self.key_variable
        address = self.base_url or os.environ.get(f"{self._prefix}_BASE_URL")
        if self.harness == "inspect" and variable and address and not os.environ.get(variable):
            return {variable: PLACEHOLDER_KEY}
        return {}

    @property
    def _prefix(self) -> str | None:
        """How the names of the variables begin that Inspect reads the address and the key from."""
        if self.provider == "openai-api":
            return self.at_provider.partition("/")[0].upper().replace("-", "_")
        return self.provider.upper() if self.provider in _KEYED else None


def named_model(
    name: str,
    harness: Harness | None = None,
    base_url: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    chat_template: bool | None = None,
) -> HarnessModel:
    """Return the model of a name such as `openai/gpt-4o-mini`, in the words of a harness.

    Args:
        name: The model, named as in Inspect.
        harness: The harness; by default lm-eval for weights that are loaded here, and Inspect for models behind an API.
        base_url: The address of its server.
        arguments: Its other arguments.
        chat_template: Whether lm-eval applies the chat template; by default if the tokenizer has one. Chat servers and
            Inspect always apply it.

    Raises:
        UsageError: It has no provider, there is a credential among the other values, lm-eval has no such model, or the
            chat template cannot be left out.
        ModelError: The tokenizer of a Hugging Face model cannot be read.
    """
    provider, slash, at_provider = name.partition("/")
    if not (provider and slash and at_provider):
        raise UsageError(
            f"model {name!r}: expected PROVIDER/MODEL as in Inspect, such as openai/gpt-4o-mini, "
            "hf/Qwen/Qwen2.5-0.5B-Instruct or halu/baseline"
        )
    for key, value in (arguments or {}).items():
        if is_secret(key) or in_address(value):
            raise UsageError(f"-M {key}: contains a credential; set it in the environment instead")
    if in_address(base_url):
        raise UsageError("--base-url: contains a credential; set it in the environment instead")
    model = HarnessModel(
        name=re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._") or "model",
        harness=harness or ("lm_eval" if provider == "hf" else "inspect"),
        model=name,
        arguments=arguments or {},
        provider=provider,
        at_provider=at_provider,
        base_url=base_url,
    )
    if model.harness == "lm_eval":
        return _in_lm_eval(model, chat_template)
    if chat_template is not None:
        raise UsageError("--chat-template: Inspect decides it itself; use it with --harness lm_eval")
    # the transformers provider samples by itself, and rejects the tasks' temperature of 0
    usual: dict[str, Any] = {"do_sample": False} if provider == "hf" else {}
    options = {"model_base_url": base_url} if base_url else {}
    return replace(model, arguments={**usual, **model.arguments}, options=options)


def _in_lm_eval(model: HarnessModel, chat_template: bool | None) -> HarnessModel:
    """Return a model in the words of lm-eval."""
    # the name that a server knows; a provider such as openai-api has a word of its own before it
    served = model.at_provider.partition("/")[2] if model.provider == "openai-api" else model.at_provider
    if model.provider == "halu" and model.at_provider in _EMBEDDED:
        kind, arguments = f"halu-{model.at_provider}", {}
    elif model.base_url and served and model.provider != "halu":
        address = model.base_url.rstrip("/") + "/chat/completions"
        kind, arguments = "local-chat-completions", {"model": served, "base_url": address}
    elif model.provider in LOADED:
        kind, arguments = model.provider, {"pretrained": model.at_provider}
    elif model.provider == "openai":
        kind, arguments = "openai-chat-completions", {"model": model.at_provider}
    else:
        raise UsageError(
            f"model {model.model}: lm-eval has no counterpart; use the harness inspect, or name a server that speaks "
            "the OpenAI protocol as base URL (--harness, --base-url; in a models file harness, base_url)"
        )
    if kind in LOADED and chat_template is None:
        chat_template = has_chat_template(model.at_provider, model.revision)
    elif kind.endswith("chat-completions"):
        if chat_template is False:
            raise UsageError(f"{kind} of lm-eval is always asked in chat messages; leave out --no-chat-template")
        chat_template = True
    options: dict[str, Any] = {"apply_chat_template": True} if chat_template else {}
    # lm-eval's own default is one item at a time
    options |= {"batch_size": _BATCH} if kind == "hf" else {}
    return replace(model, model=kind, arguments={**arguments, **model.arguments}, options=options)


class ModelEntry(BaseModel):
    """A model of a models file: its keys."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str = Field(min_length=1)
    harness: Harness = "inspect"
    base_url: str | None = Field(default=None, min_length=1)
    arguments: dict[str, Any] = {}
    options: dict[str, Any] = {}


def read_models(path: Path) -> list[HarnessModel]:
    """Read models from a YAML file: a mapping of names to models, under the key `models`.

    Raises:
        UsageError: The file cannot be read, a key is unknown or missing, a value has the wrong type, a name is not a
            plain file name, or there is a credential.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not YAML ({' '.join(str(error).split())})") from None
    models = content.get("models") if isinstance(content, dict) else None
    if not isinstance(models, dict) or not models or len(content) > 1:
        raise UsageError(f"{path}: expected a mapping of names to models under the key 'models'")
    try:
        return [_read_model(str(name), entry) for name, entry in models.items()]
    except (ValueError, HaluTasksError) as error:
        raise UsageError(f"{path}: {error}") from None


def _read_model(name: str, value: Any) -> HarnessModel:
    """Read a model.

    Raises:
        ValueError: It is invalid.
    """
    if not _FOLDER.fullmatch(name):
        raise ValueError(f"{name!r}: expected a name of letters, digits, '.', '_' and '-', which names its folder")
    try:
        entry = ModelEntry.model_validate(value)
    except ValidationError as error:
        raise ValueError(f"{name}: {_first_fault(error, value)}") from None
    for key, argument in entry.arguments.items():
        if is_secret(key) or in_address(argument):
            raise ValueError(f"{name}: arguments: {key}: contains a credential; set it in the environment instead")
    options = {key.replace("-", "_"): option for key, option in entry.options.items()}
    if own := next((key for key in options if key in _SET_BY_RUN[entry.harness]), None):
        raise ValueError(f"{name}: options: {own} is set by the run")
    if entry.harness == "lm_eval" and "/" not in entry.model:
        if entry.base_url:
            raise ValueError(
                f"{name}: base_url: name the model PROVIDER/MODEL, such as openai-api/local/NAME; a model of lm-eval "
                "such as local-completions takes its whole address as arguments: {base_url: URL}"
            )
        return HarnessModel(name, entry.harness, entry.model, entry.arguments, options)
    for key, given, address in (
        ("arguments", entry.arguments, "base_url"),
        ("options", options, "model_base_url"),
    ):
        if address in given:
            raise ValueError(f"{name}: {key}: {address}: name the server as base_url, a key of the model like {key}")
    template = options.get("apply_chat_template") if entry.harness == "lm_eval" else None
    try:
        model = named_model(
            entry.model, entry.harness, entry.base_url, entry.arguments, None if template is None else bool(template)
        )
    except HaluTasksError as error:
        raise ValueError(f"{name}: {str(error).replace('--base-url', 'base_url')}") from None
    return replace(model, name=name, options={**model.options, **options})


def _first_fault(error: ValidationError, value: Any) -> str:
    fault = error.errors()[0]
    key = str(fault["loc"][0]) if fault["loc"] else ""
    keys: Sequence[str] = list(ModelEntry.model_fields)
    if fault["type"] == "extra_forbidden":
        return f"unknown key {key!r}{did_you_mean(key, keys)}"
    if not key:
        return f"expected a mapping with {', '.join(keys)}, got {value!r}"
    return f"{key}: {fault['msg'][0].lower()}{fault['msg'][1:]}, got {value.get(key)!r}"
