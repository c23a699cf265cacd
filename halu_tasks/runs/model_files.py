"""What the small files of a Hugging Face model say, without importing transformers."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from halu_tasks.core.errors import ModelError

_MODEL, _CONFIG = "config.json", "tokenizer_config.json"
_PATIENCE = 5
"""Seconds within which the Hub must answer."""
_TEMPLATES = ("chat_template.jinja", "chat_template.json")
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
"""Names of models on the Hub, unlike paths such as `./model`."""


def is_folder(model: str) -> bool:
    """Return whether a model is a folder on this machine, not a name on the Hub."""
    return Path(model).expanduser().is_dir()


def has_chat_template(model: str, revision: str | None = None) -> bool:
    """Return whether a model's tokenizer has a chat template.

    Args:
        model: A folder, or the model's name on the Hub, whose small files are then downloaded into the Hub's cache.
        revision: The revision on the Hub.

    Raises:
        ModelError: The model's files cannot be read.
    """
    files = [path for name in (_CONFIG, *_TEMPLATES) if (path := _file(model, name, revision))]
    return any(path.name in _TEMPLATES or _json(path).get("chat_template") for path in files)


def context_length(model: str, revision: str | None = None) -> int | None:
    """Return how many tokens a model's prompt and reply may have together; None if its files do not say.

    Args:
        model: A folder, or the model's name on the Hub.
        revision: The revision on the Hub.

    Raises:
        ModelError: The model's files cannot be read.
    """
    path = _file(model, _MODEL, revision)
    length = _json(path).get("max_position_embeddings") if path else None
    return length if isinstance(length, int) else None


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error})") from None
    return content if isinstance(content, dict) else {}


def _file(model: str, name: str, revision: str | None) -> Path | None:
    """Return a file of a model; None if the model does not have it."""
    folder = Path(model).expanduser()
    if not is_folder(model):
        if folder.exists() or not _HUB_NAME.fullmatch(model):
            what = "is not a folder" if folder.exists() else "the folder does not exist"
            raise ModelError(f"model {model}: {what}; correct the path, or name a model of the Hub as hf/OWNER/NAME")
        return _from_hub(model, name, revision)
    if not (folder / _MODEL).is_file():
        raise ModelError(f"model {model}: the folder has no {_MODEL}; name a folder that transformers can load")
    return folder / name if (folder / name).is_file() else None


def _from_hub(model: str, name: str, revision: str | None) -> Path | None:
    """Return a file of a model on the Hub; None if the model does not have it."""
    from huggingface_hub import errors, hf_hub_download

    local = not hub_is_reachable()
    try:
        return Path(hf_hub_download(model, name, revision=revision, local_files_only=local))
    except errors.EntryNotFoundError as error:
        # without a connection, the client cannot say whether there is such a file
        if not isinstance(error, errors.LocalEntryNotFoundError):
            return None
        if name != _CONFIG and _is_cached(model, revision):
            return None
        reason: Exception = error
    except Exception as error:
        reason = error
    lines = str(reason.__cause__ or reason).strip().splitlines()
    why = "it cannot be reached" if local else lines[0] if lines else type(reason).__name__
    raise ModelError(
        f"model {model}: its files cannot be read from the Hub ({why}); check the name, the network and HF_TOKEN, or "
        "name a local folder as hf/PATH"
    ) from None


@cache
def hub_is_reachable() -> bool:
    """Return whether the Hub can be reached; its client would try again for half a minute."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=_PATIENCE)
    except Exception:
        return False
    return True


def _is_cached(model: str, revision: str | None) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(model, _CONFIG, revision=revision), str)
