"""Models as users name them, translated to the arguments of a harness, and a check that they answer."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StrictStr, ValidationError

from halu_tasks.core.credentials import key_variables, secret_in
from halu_tasks.core.errors import HaluTasksError, ModelError, UsageError, missing_modules, require_extra
from halu_tasks.core.files import read_yaml
from halu_tasks.data.rows import read_json_object
from halu_tasks.tasks.keys import Keys, reason_of

if TYPE_CHECKING:
    from halu_tasks.judging.reaching import FirstRequest

Harness = Literal["inspect", "lm_eval"]

# providers that load weights; lm-eval's models that do have the same names
_LOADED = ("hf", "vllm")
_EMBEDDED = ("oracle", "baseline", "replay")
# the number of items of which replies are generated at a time
_BATCH = 8
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# the options of the harnesses' commands that a run sets itself
_SET_BY_RUN = {
    "inspect": ["display", "limit", "log_dir", "log_dir_allow_dirty", "log_format", "model", "retry_attempts"],
    "lm_eval": [
        *("config", "include_path", "limit", "log_samples", "metadata", "model"),
        *("model_args", "output_path", "tasks", "use_cache"),
    ],
}

# the address that lm-eval's client asks unless another one is named
_OPENAI = "https://api.openai.com/v1"
_TOKENIZER = "tokenizer_config.json"
_TEMPLATES = ("chat_template.jinja", "chat_template.json")


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

    Raises:
        UsageError: There is a credential in one of these.
    """

    name: str
    harness: Harness
    model: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    provider: str = ""
    at_provider: str = ""
    base_url: str | None = None

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name in ("model", "base_url", "arguments", "options")}
        if (place := secret_in(values)) is not None:
            raise UsageError(f"{place}: contains a credential; set it in the environment instead")

    @property
    def written(self) -> str:
        """Its name as users write it: PROVIDER/MODEL, or the key of a models file."""
        name = f"{self.provider}/{self.at_provider}"
        return name if self.provider and folder_name(name) == self.name else self.name

    @property
    def key_variables(self) -> dict[str, str]:
        """The environment variables that give its client the key of its provider; empty if it finds it."""
        name = f"{self.provider}/{self.at_provider}"
        return key_variables(name, self.base_url, in_lm_eval=self.harness == "lm_eval")


def models_named(names: Sequence[str], **reached: Any) -> list[HarnessModel]:
    """Return models by their names, or those of models files.

    Args:
        names: Names of models, or models files.
        **reached: How the models that are named are reached, as in `named_model`.

    Raises:
        HaluTasksError: A model or a models file is invalid, or a model is named twice.
    """
    models: list[HarnessModel] = []
    for name in names:
        if not name.endswith((".yaml", ".yml")):
            models.append(named_model(name, **reached))
        elif any(value not in (None, {}) for value in reached.values()):
            raise UsageError(f"{name}: says how its models are reached; leave out the options about it")
        else:
            models += read_models(Path(name))
    if twice := next((name for name, n in Counter(model.name for model in models).items() if n > 1), None):
        raise UsageError(f"model {twice} is named twice")
    return models


def folder_name(model: str) -> str:
    """Return the name of a model's folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", model).strip("._") or "model"


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
    provider, _, at_provider = name.partition("/")
    if not (provider and at_provider):
        raise UsageError(
            f"model {name!r}: expected PROVIDER/MODEL as in Inspect, such as openai/gpt-4o-mini, "
            "hf/Qwen/Qwen2.5-0.5B-Instruct or halu/baseline"
        )
    by = harness or ("lm_eval" if provider == "hf" else "inspect")
    model = HarnessModel(
        folder_name(name), by, name, arguments or {}, provider=provider, at_provider=at_provider, base_url=base_url
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
    # the name that a server knows; a provider such as openai-api has a word of its own before it
    served = model.at_provider.partition("/")[2] if model.provider == "openai-api" else model.at_provider
    if model.provider == "halu" and model.at_provider in _EMBEDDED:
        kind, arguments = f"halu-{model.at_provider}", {}
    elif model.base_url and served and model.provider != "halu":
        address = model.base_url.rstrip("/") + "/chat/completions"
        kind, arguments = "local-chat-completions", {"model": served, "base_url": address}
    elif model.provider in _LOADED:
        kind, arguments = model.provider, {"pretrained": model.at_provider}
    elif model.provider == "openai":
        kind, arguments = "openai-chat-completions", {"model": model.at_provider}
    else:
        raise UsageError(
            f"model {model.model}: lm-eval has no counterpart; use the harness inspect, or name a server that speaks "
            "the OpenAI protocol as base URL (--harness, --base-url; in a models file harness, base_url)"
        )
    if kind in _LOADED and chat_template is None:
        chat_template = has_chat_template(model)
    elif kind.endswith("chat-completions"):
        if chat_template is False:
            raise UsageError(f"{kind} of lm-eval is always asked in chat messages; leave out --no-chat-template")
        chat_template = True
    options: dict[str, Any] = {"apply_chat_template": True} if chat_template else {}
    # lm-eval's own default is one item at a time
    options |= {"batch_size": _BATCH} if kind == "hf" else {}
    return replace(model, model=kind, arguments={**arguments, **model.arguments}, options=options)


def has_chat_template(model: HarnessModel) -> bool:
    """Return whether the tokenizer of a Hugging Face model has a chat template.

    Raises:
        ModelError: There is no such model, in a folder or on the Hub.
        DataError: The configuration of its tokenizer is damaged.
    """
    name, why = model.at_provider, "they are not in the cache"
    folder = Path(name).expanduser()
    if weights := model.arguments.get("gguf_file"):
        return _gguf_has_chat_template(name, str(weights))
    if not folder.is_dir():
        from huggingface_hub import snapshot_download

        try:
            wanted = ["config.json", _TOKENIZER, *_TEMPLATES]
            folder = Path(snapshot_download(name, revision=model.arguments.get("revision"), allow_patterns=wanted))
        except Exception as error:
            why = next(iter(str(error.__cause__ or error).strip().splitlines()), type(error).__name__)
        if not (folder / "config.json").is_file():
            raise ModelError(
                f"model {name}: there is no such folder, and its files cannot be read from the Hub ({why}); check the "
                "name, the network and HF_TOKEN"
            )
    config = read_json_object(folder / _TOKENIZER) if (folder / _TOKENIZER).is_file() else {}
    return any((folder / name).is_file() for name in _TEMPLATES) or bool(config.get("chat_template"))


def _gguf_has_chat_template(name: str, weights: str) -> bool:
    """Return whether a GGUF file, which has the tokenizer within, has a chat template.

    Raises:
        UsageError: transformers or gguf is not installed.
        ModelError: The file cannot be read.
    """
    require_extra("hf", f"model {name}")
    from transformers import AutoTokenizer  # takes seconds to import

    try:
        return bool(AutoTokenizer.from_pretrained(name, gguf_file=weights).chat_template)
    except ImportError:
        raise UsageError(f"model {name}: gguf_file requires the package gguf: pip install gguf") from None
    except Exception as error:
        why = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ModelError(f"model {name}: {weights} cannot be read ({why}); check the folder and the file") from None


def require_model(model: HarnessModel, first: Iterable[FirstRequest] = ()) -> None:
    """Check that what a model needs is installed, and if a server has it, that it answers what is asked first.

    The harnesses themselves wait minutes for a server that is not there.

    Args:
        model: The model.
        first: What it is asked first, which is made only if a server has it.

    Raises:
        HaluTasksError: A package or an API key is missing, the harness does not know the model, or it does not answer.
    """
    if model.provider in _LOADED and not model.base_url:  # the harness loads its weights
        if model.provider == "hf":
            require_extra("hf", f"model {model.name}")
        return
    name, base_url, arguments = model.model, model.base_url, model.arguments
    key = next(iter(model.key_variables.values()), None)
    if model.harness == "lm_eval":
        # Inspect's client asks in the place of lm-eval's, which is not made to ask a single question
        if not name.endswith("-chat-completions") or missing_modules("openai"):
            return
        service = name.partition("-")[0]
        if service == "local":
            key = key or os.environ.get("OPENAI_API_KEY", "none")
        base_url = str(arguments.get("base_url", _OPENAI)).removesuffix("/chat/completions")
        name, arguments = f"openai-api/{service}/{arguments.get('model')}", {}
    from halu_tasks.inspect_adapter.run_models import create_model
    from halu_tasks.judging.reaching import has_server, reach

    config = {"timeout": model.options.get("timeout")}
    created = create_model(name, base_url, {"memoize": False, "api_key": key, **arguments}, config)
    if has_server(created):
        reach([created], [*first])


class ModelKeys(Keys):
    """A model of a models file: its keys."""

    model: Annotated[StrictStr, Field(min_length=1)]
    harness: Harness = "inspect"
    base_url: Annotated[StrictStr, Field(min_length=1)] | None = None
    arguments: dict[StrictStr, Any] = Field(default_factory=dict)
    options: dict[StrictStr, Any] = Field(default_factory=dict)


def read_models(path: Path) -> list[HarnessModel]:
    """Read models from a YAML file: a mapping of names to models, under the key `models`.

    Raises:
        UsageError: The file cannot be read, a key is unknown or missing, a value has the wrong type, a name is not a
            plain file name, or there is a credential.
    """
    content = read_yaml(path)
    models = content.get("models") if isinstance(content, dict) else None
    if not isinstance(models, dict) or not models or len(content) > 1:
        raise UsageError(f"{path}: expected a mapping of names to models under the key 'models'")
    read = []
    for name, value in models.items():
        try:
            read.append(_read_model(str(name), ModelKeys.model_validate(value)))
        except ValidationError as error:
            raise UsageError(f"{path}: {name}: {reason_of(error)}") from None
        except HaluTasksError as error:
            raise UsageError(f"{path}: {name}: {error}") from None
    return read


def set_by_run(harness: Harness, flag: str) -> str | None:
    """Return the option that a run sets itself and that a harness takes for a flag; None if there is none.

    lm-eval, whose options argparse reads, takes the beginning of a name for the whole.
    """
    name = flag.lstrip("-").partition("=")[0].replace("-", "_").casefold()
    is_begun = harness == "lm_eval" and bool(name)
    options = (option for option in _SET_BY_RUN[harness] if option == name or (is_begun and option.startswith(name)))
    return next(options, None)


def _read_model(name: str, entry: ModelKeys) -> HarnessModel:
    if not _FOLDER.fullmatch(name):
        raise UsageError("expected a name of letters, digits, '.', '_' and '-', which names its folder")
    options = {key.replace("-", "_"): option for key, option in entry.options.items()}
    if taken := next(filter(None, (set_by_run(entry.harness, key) for key in options)), None):
        raise UsageError(f"options: {taken} is set by the run")
    if entry.harness == "lm_eval" and "/" not in entry.model:
        if entry.base_url:
            raise UsageError(
                "base_url: name the model PROVIDER/MODEL, such as openai-api/local/NAME; a model of lm-eval such as "
                "local-completions takes its whole address as arguments: {base_url: URL}"
            )
        return HarnessModel(name, entry.harness, entry.model, entry.arguments, options)
    template = options.get("apply_chat_template") if entry.harness == "lm_eval" else None
    applied = None if template is None else bool(template)
    model = named_model(entry.model, entry.harness, entry.base_url, entry.arguments, applied)
    return replace(model, name=name, options={**model.options, **options})
