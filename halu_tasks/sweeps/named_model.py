"""A model as Inspect names it, in the words of either harness."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from halu_tasks.core.credentials import in_address, is_secret
from halu_tasks.core.errors import UsageError
from halu_tasks.sweeps.model_files import has_chat_template
from halu_tasks.sweeps.sweep_model import Harness, SweepModel

_EMBEDDED = {"oracle": "halu-oracle", "baseline": "halu-baseline", "replay": "halu-replay"}
_LOCAL = {"hf": "hf", "vllm": "vllm"}
"""Providers that load weights, and the models of lm-eval that do."""
_BATCH = 8
"""The number of items of which replies are generated at a time."""


class ModelName(NamedTuple):
    """A model, and how it is reached.

    Attributes:
        provider: The provider, such as `openai`.
        model: The model's name at the provider.
        base_url: The address of its server, such as `http://localhost:8000/v1`.
        arguments: Its other arguments (`-M` of Inspect, `--model_args` of lm-eval).
    """

    provider: str
    model: str
    base_url: str | None
    arguments: Mapping[str, Any]

    @classmethod
    def parse(cls, name: str, base_url: str | None = None, arguments: Mapping[str, Any] | None = None) -> ModelName:
        """Parse a name such as `openai/gpt-4o-mini`.

        Raises:
            UsageError: It has no provider, or there is a credential among the other values.
        """
        provider, slash, model = name.partition("/")
        if not (provider and slash and model):
            raise UsageError(
                f"model {name!r}: expected PROVIDER/MODEL as in Inspect, such as openai/gpt-4o-mini, "
                "hf/Qwen/Qwen2.5-0.5B-Instruct or halu/baseline"
            )
        for key, value in (arguments or {}).items():
            if is_secret(key) or in_address(value):
                raise UsageError(f"-M {key}: contains a credential; set it in the environment instead")
        if in_address(base_url):
            raise UsageError("--base-url: contains a credential; set it in the environment instead")
        return cls(provider, model, base_url, arguments or {})

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def default_harness(self) -> Harness:
        """lm-eval for weights that are loaded here; Inspect for models behind an API."""
        return "lm_eval" if self.provider == "hf" else "inspect"

    @property
    def folder(self) -> str:
        """The name as that of a folder."""
        return re.sub(r"[^A-Za-z0-9._-]+", "_", str(self)).strip("._") or "model"


def for_harness(name: ModelName, harness: Harness, chat_template: bool | None = None) -> SweepModel:
    """Return a model as a harness names it.

    Args:
        name: The model.
        harness: The harness.
        chat_template: Whether lm-eval applies the chat template; by default if the tokenizer has one. Chat servers and
            Inspect always apply it.

    Raises:
        UsageError: lm-eval has no such model, or the chat template cannot be left out.
        ModelError: The tokenizer of a Hugging Face model cannot be read.
    """
    if harness == "inspect":
        if chat_template is not None:
            raise UsageError("--chat-template: Inspect decides it itself; use it with --harness lm_eval")
        # the transformers provider samples by itself, and rejects the tasks' temperature of 0
        usual: dict[str, Any] = {"do_sample": False} if name.provider == "hf" else {}
        options: dict[str, Any] = {"model_base_url": name.base_url} if name.base_url else {}
        return SweepModel(name.folder, "inspect", str(name), {**usual, **name.arguments}, options)
    model, arguments = _in_lm_eval(name)
    if model in _LOCAL.values() and chat_template is None:
        revision = name.arguments.get("revision")
        chat_template = has_chat_template(str(arguments["pretrained"]), str(revision) if revision else None)
    elif model.endswith("chat-completions"):
        if chat_template is False:
            raise UsageError(f"{model} of lm-eval is always asked in chat messages; leave out --no-chat-template")
        chat_template = True
    options = {"apply_chat_template": True} if chat_template else {}
    if model == "hf":
        # lm-eval's own default is one item at a time
        options |= {"batch_size": _BATCH}
    return SweepModel(name.folder, "lm_eval", model, {**arguments, **name.arguments}, options)


def _in_lm_eval(name: ModelName) -> tuple[str, dict[str, Any]]:
    """Return lm-eval's name of a model, and the arguments that say which it is.

    Raises:
        UsageError: lm-eval has none.
    """
    if name.provider == "halu" and name.model in _EMBEDDED:
        return _EMBEDDED[name.model], {}
    # the name that a server knows; a provider such as openai-api has a word of its own before it
    served = name.model.partition("/")[2] if name.provider == "openai-api" else name.model
    if name.base_url and served and name.provider != "halu":
        address = name.base_url.rstrip("/") + "/chat/completions"
        return "local-chat-completions", {"model": served, "base_url": address}
    if name.provider in _LOCAL:
        return _LOCAL[name.provider], {"pretrained": name.model}
    if name.provider == "openai":
        return "openai-chat-completions", {"model": name.model}
    raise UsageError(
        f"model {name}: lm-eval has no counterpart; use the harness inspect, or name a server that speaks the OpenAI "
        "protocol as base URL (--harness, --base-url; in a models file harness, base_url)"
    )
