"""Whether the tokenizer of a Hugging Face model has a chat template, without importing transformers."""

from __future__ import annotations

import json
from pathlib import Path

from halu_tasks.core.errors import ModelError

_CONFIG = "tokenizer_config.json"
_TEMPLATES = ("chat_template.jinja", "chat_template.json")


def has_chat_template(model: str, revision: str | None = None) -> bool:
    """Return whether a model's tokenizer has a chat template.

    Args:
        model: A folder, or the model's name on the Hub, whose small files are then downloaded into the Hub's cache.
        revision: The revision on the Hub.

    Raises:
        ModelError: The model's files cannot be read.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        files = [folder / name for name in (_CONFIG, *_TEMPLATES) if (folder / name).is_file()]
        if not any((folder / name).is_file() for name in ("config.json", _CONFIG)):
            raise ModelError(f"model {model}: the folder has neither config.json nor {_CONFIG}")
    else:
        files = [path for name in (_CONFIG, *_TEMPLATES) if (path := _from_hub(model, name, revision))]
    return any(path.name in _TEMPLATES or _configured(path) for path in files)


def _configured(path: Path) -> bool:
    """Return whether a tokenizer's configuration contains a chat template."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error})") from None
    return bool(isinstance(content, dict) and content.get("chat_template"))


def _from_hub(model: str, name: str, revision: str | None) -> Path | None:
    """Return a file of a model on the Hub; None if the model does not have it."""
    from huggingface_hub import errors, hf_hub_download

    try:
        return Path(hf_hub_download(model, name, revision=revision))
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
    raise ModelError(
        f"model {model}: its files cannot be read from the Hub ({lines[0] if lines else type(reason).__name__}); check "
        "the name, the network and HF_TOKEN, or name a local folder as hf/PATH"
    ) from None


def _is_cached(model: str, revision: str | None) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(model, _CONFIG, revision=revision), str)
