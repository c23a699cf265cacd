"""Datasets on the Hugging Face Hub: their addresses, and downloads by the Hub's own client.

The client brings its cache (`HF_HOME`), tokens (`HF_TOKEN`), `HF_ENDPOINT` and `HF_HUB_OFFLINE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from halu_tasks.core.errors import DataError

SCHEME = "hf://"
_HUB = "https://huggingface.co/datasets"
_ADDRESS = re.compile(
    rf"{SCHEME}(?:datasets/)?(?P<repository>[^/@]+/[^/@]+)(?:@(?P<revision>refs/(?:convert|pr)/[^/]+|[^/]+))?"
    r"(?:/(?P<path>.+?))?/?"
)


class HubAddress(NamedTuple):
    """The address of a dataset on the Hub, or of a file in it.

    Attributes:
        repository: The dataset, `USER/NAME`.
        revision: A branch, tag or commit; None for the newest commit.
        path: A file, or a pattern of files, in the repository; None for all of it.
    """

    repository: str
    revision: str | None = None
    path: str | None = None

    @classmethod
    def parse(cls, text: str) -> HubAddress:
        """Parse `hf://USER/NAME@REVISION/PATH`, in which revision and path may be left out.

        Raises:
            DataError: It is not such an address.
        """
        match = _ADDRESS.fullmatch(text)
        if not match:
            raise DataError(f"{text}: expected hf://USER/NAME or hf://USER/NAME@REVISION, optionally with /FILE")
        return cls(match["repository"], match["revision"] and unquote(match["revision"]), match["path"])

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{SCHEME}{self.repository}{revision}{f'/{self.path}' if self.path else ''}"

    @property
    def homepage(self) -> str:
        """The address of the dataset's page."""
        return f"{_HUB}/{self.repository}"


def download(address: HubAddress, advice: str, *, gated: bool = False) -> Path:
    """Download a file into the Hub's cache, unless it is already there.

    Args:
        address: The file.
        advice: What to do instead, for error messages.
        gated: Whether access to the dataset is known to need a token.

    Returns:
        Its path, in a folder with the dataset's layout.

    Raises:
        DataError: There is no network or no access, or no such file.
    """
    from huggingface_hub import hf_hub_download

    assert address.path
    with hub_errors(address, advice, gated=gated):
        return Path(hf_hub_download(address.repository, address.path, repo_type="dataset", revision=address.revision))


def cached(address: HubAddress) -> Path | None:
    """Return the path of a file in the Hub's cache; None if it has not been downloaded."""
    from huggingface_hub import try_to_load_from_cache

    assert address.path
    path = try_to_load_from_cache(address.repository, address.path, repo_type="dataset", revision=address.revision)
    return Path(path) if isinstance(path, str) else None


def commit_of(address: HubAddress, advice: str) -> str:
    """Ask the Hub for the commit that a revision stands for.

    Raises:
        DataError: There is no network or no access, or no such dataset or revision.
    """
    from huggingface_hub import HfApi

    with hub_errors(address, advice):
        return str(HfApi().dataset_info(address.repository, revision=address.revision).sha)


@contextmanager
def hub_errors(address: HubAddress, advice: str, *, gated: bool = False) -> Iterator[None]:
    """Turn the errors of the Hub's client into errors of one line.

    Args:
        address: What was asked for.
        advice: What to do instead.
        gated: Whether access to the dataset is known to need a token.
    """
    from datasets.exceptions import DatasetNotFoundError
    from huggingface_hub import errors

    try:
        yield
    except (errors.HfHubHTTPError, DatasetNotFoundError) as error:
        refused = isinstance(error, errors.HfHubHTTPError) and error.response.status_code in (401, 403)
        # datasets drops the cause of its error, so only the message says that the dataset is gated
        if isinstance(error, errors.GatedRepoError) or "gated dataset" in str(error) or (gated and refused):
            how = f"accept the terms at {address.homepage} and set HF_TOKEN to a token of that account"
            raise DataError(f"{address} is gated; {how}, or {advice}") from None
        if isinstance(error, errors.RevisionNotFoundError | errors.EntryNotFoundError):
            missing = "such file" if isinstance(error, errors.EntryNotFoundError) else f"revision {address.revision!r}"
            raise DataError(f"{address}: the dataset has no {missing}; see {address.homepage}") from None
        if refused or isinstance(error, errors.RepositoryNotFoundError | DatasetNotFoundError):
            reason = "no such dataset on the Hub, or no access to it; if it is private, set HF_TOKEN to a token for it"
            raise DataError(f"{address}: {reason}") from None
        raise DataError(f"{address}: cannot be downloaded ({_reason(error)}); {advice}") from None
    except OSError as error:
        # errors of the Hub are above, so one with a file is of its cache
        if error.filename is not None and not isinstance(error, errors.LocalEntryNotFoundError):
            written = f"cannot write {error.filename} ({error.strerror}); name another folder with HF_HOME=PATH"
            raise DataError(f"{address}: {written}") from None
        raise DataError(f"{address}: cannot reach the Hub ({_reason(error)}); {advice}") from None
    except Exception as error:
        # releases of the client use different HTTP libraries
        if not any(kind.__name__ in ("HTTPError", "ConnectionError") for kind in type(error).__mro__):
            raise
        raise DataError(f"{address}: cannot reach the Hub ({_reason(error)}); {advice}") from None


def _reason(error: BaseException) -> str:
    """Return the first line of an error's root cause."""
    from huggingface_hub.errors import OfflineModeIsEnabled

    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set"
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
