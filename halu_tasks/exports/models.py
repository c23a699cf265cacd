"""The models of results under the names that other tools know them by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.results.run import Run

NO_ORGANIZATION = "unknown"
"""The folder of models whose organization is not known."""

_LOCAL_PROVIDERS = ("hf", "vllm", "sglang")
"""Inspect's names for programs that serve a model of the Hub; the model's own name follows."""
_COMPATIBLE = "openai-api"
"""Inspect's name for any server that speaks the OpenAI protocol."""
_EMBEDDED = "halu-"
"""How the names of this package's embedded models begin."""
_FILES = (".jsonl", ".json", ".csv", ".parquet", ".xlsx", "/")
"""How names of files and folders of predictions end."""
_NOT_PORTABLE = re.compile(r'[\x00-\x1f<>:"\\|?*]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?|data", re.IGNORECASE)


def own_name(name: str) -> str:
    """Return a model's own name, by which a server or the Hub knows it, without the provider that reached it."""
    provider, _, rest = name.partition("/")
    if provider == _COMPATIBLE:
        # a name of the user's choice for the server comes first
        return rest.partition("/")[2] or rest
    return rest if provider in _LOCAL_PROVIDERS and "/" in rest else name


class Model(NamedTuple):
    """A model.

    Attributes:
        id: Its id, `ORGANIZATION/NAME` if the organization is known.
        organization: The organization; empty if it is not known.
    """

    id: str
    organization: str

    @classmethod
    def named(cls, name: str, ids: Mapping[str, str]) -> Model:
        """Return the model of this name in results.

        Args:
            name: The name.
            ids: The ids that the user gives, by name.
        """
        own = own_name(name)
        model_id = ids.get(name) or ids.get(own, own)
        organization, slash, _ = model_id.partition("/")
        if slash:
            return cls(model_id, organization)
        return cls(model_id, "halu-tasks" if model_id.startswith(_EMBEDDED) else "")

    @property
    def folders(self) -> str:
        """The folders of its results, `ORGANIZATION/NAME`.

        Raises:
            DataError: The id cannot be the name of folders on every system.
        """
        parts = self.id.split("/")
        if any(_is_no_folder(part) for part in parts):
            raise DataError(
                f"model {self.id!r} is not an id such as ORGANIZATION/NAME; name it with --model-id "
                f"'{self.id}=ORGANIZATION/NAME'"
            )
        return "/".join((self.organization or NO_ORGANIZATION, "_".join(parts[1:] or parts)))


def _is_no_folder(part: str) -> bool:
    odd = part in ("", ".", "..") or part != part.strip() or part.endswith(".")
    return odd or bool(_NOT_PORTABLE.search(part) or _RESERVED.fullmatch(part))


def is_named_after_file(run: Run) -> bool:
    """Return whether a run has the name of its predictions, since it is not known which model gave them."""
    return run.model.endswith(_FILES) and (run.harness.startswith("halu-tasks") or run.model.startswith(_EMBEDDED))
