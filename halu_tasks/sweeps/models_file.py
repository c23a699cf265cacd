"""The file that names the models of a sweep."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from halu_tasks.core.credentials import in_address, is_secret
from halu_tasks.core.errors import HaluTasksError, UsageError, did_you_mean
from halu_tasks.sweeps.named_model import ModelName, for_harness
from halu_tasks.sweeps.sweep_model import HARNESSES, SweepModel

_KEYS = ("harness", "model", "base_url", "arguments", "options")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SET_BY_SWEEP = {
    "inspect": ["display", "limit", "log_dir", "log_dir_allow_dirty", "log_format", "model", "retry_attempts"],
    "lm_eval": [
        *("include_path", "limit", "log_samples", "metadata", "model"),
        *("model_args", "output_path", "tasks", "use_cache"),
    ],
}
"""The options of the harnesses' commands that the sweep sets itself."""


def read_models(path: Path) -> list[SweepModel]:
    """Read the models of a sweep from a YAML file: a mapping of names to models, under the key `models`.

    Raises:
        UsageError: The file cannot be read, a key is unknown or missing, a value has the wrong type, a name is not a
            plain file name, or there is a credential.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"{path}: is not YAML ({' '.join(str(error).split())})") from None
    models = content.get("models") if isinstance(content, dict) else None
    if not isinstance(models, dict) or not models or len(content) > 1:
        raise UsageError(f"{path}: expected a mapping of names to models under the key 'models'")
    try:
        return [_model(str(name), entry) for name, entry in models.items()]
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def _model(name: str, entry: Any) -> SweepModel:
    """Read a model.

    Raises:
        ValueError: It is invalid.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"models: {name!r}: expected a name of letters, digits, '.', '_' and '-'")
    if not isinstance(entry, dict):
        raise ValueError(f"{name}: expected a mapping with {', '.join(_KEYS)}, got {entry!r}")
    if unknown := next((key for key in entry if key not in _KEYS), None):
        raise ValueError(f"{name}: unknown key {unknown!r}{did_you_mean(str(unknown), _KEYS)}")
    harness = entry.get("harness", "inspect")
    if harness not in HARNESSES:
        raise ValueError(f"{name}: harness: expected {' or '.join(HARNESSES)}, got {harness!r}")
    model = entry.get("model")
    if not isinstance(model, str) or not model:
        raise ValueError(f"{name}: model: expected the model as {harness} names it, got {model!r}")
    arguments, options = (_mapping(name, key, entry.get(key)) for key in ("arguments", "options"))
    for key, value in arguments.items():
        if is_secret(key) or in_address(value):
            raise ValueError(f"{name}: arguments: {key}: contains a credential; set it in the environment instead")
    options = {key.replace("-", "_"): value for key, value in options.items()}
    if own := next((key for key in options if key in _SET_BY_SWEEP[harness]), None):
        raise ValueError(f"{name}: options: {own} is set by the sweep")
    base_url = entry.get("base_url")
    if base_url is not None and (not isinstance(base_url, str) or not base_url):
        raise ValueError(f"{name}: base_url: expected the address of the model's server, got {base_url!r}")
    if in_address(base_url):
        raise ValueError(f"{name}: base_url: contains a credential; set it in the environment instead")
    if harness == "lm_eval" and "/" not in model:
        if base_url:
            raise ValueError(
                f"{name}: base_url: name the model PROVIDER/MODEL, such as openai-api/local/NAME; a model of lm-eval "
                "such as local-completions takes its whole address as arguments: {base_url: URL}"
            )
        return SweepModel(name, harness, model, arguments, options)
    for key, given, address in (("arguments", arguments, "base_url"), ("options", options, "model_base_url")):
        if address in given:
            raise ValueError(f"{name}: {key}: {address}: name the server as base_url, a key of the model like {key}")
    chat_template = options.get("apply_chat_template") if harness == "lm_eval" else None
    try:
        model_name = ModelName.parse(model, base_url, arguments)
        named = for_harness(model_name, harness, None if chat_template is None else bool(chat_template))
    except HaluTasksError as error:
        raise ValueError(f"{name}: {error}") from None
    return replace(named, name=name, options={**named.options, **options})


def _mapping(name: str, key: str, value: Any) -> dict[str, Any]:
    """Return a mapping of strings to values; None stands for an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name}: {key}: expected a mapping, got {value!r}")
    return value
