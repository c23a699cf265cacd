"""Datasets on the Hugging Face Hub, folders in its layout, and Parquet files, which `datasets` loads.

The Hub's client brings its cache (`HF_HOME`), tokens (`HF_TOKEN`), `HF_ENDPOINT` and `HF_HUB_OFFLINE`. Both libraries
take seconds to import, so they are imported when they are needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from halu_tasks.core.errors import DataError, UsageError, did_you_mean
from halu_tasks.core.files import read_yaml
from halu_tasks.core.options import Options
from halu_tasks.data.rows import Row

HOW_TO_NAME = (
    "name a local copy with halu_data (lm-eval --metadata), -T data=PATH (Inspect), --data PATH "
    "(halu-tasks) or HALU_TASKS_DATA=PATH, or use the word sample instead of PATH for the packaged sample"
)
SCHEME = "hf://"
_HUB = "https://huggingface.co/datasets"
_ADDRESS = re.compile(
    rf"{SCHEME}(?!(?:.*/)?\.\.?(?:[/@]|\Z))(?:datasets/)?(?P<repository>[^/@]+/[^/@]+)(?:@(?P<revision>refs/(?:convert|pr)/[^/]+|[^/]+))?"
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


def download(address: HubAddress) -> Path:
    """Download a file into the Hub's cache, unless it is already there.

    Returns:
        Its path, in a folder with the dataset's layout.

    Raises:
        DataError: There is no network or no access, or no such file.
    """
    from huggingface_hub import hf_hub_download

    with _one_line(str(address)):
        return Path(
            hf_hub_download(address.repository, str(address.path), repo_type="dataset", revision=address.revision)
        )


def cached(address: HubAddress) -> Path | None:
    """Return the path of a file in the Hub's cache; None if it has not been downloaded."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(address.repository, str(address.path), repo_type="dataset", revision=address.revision)
    return Path(path) if isinstance(path, str) else None


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    """Turn the errors of both libraries into one line about what is loaded, on the Hub or not."""
    from datasets.exceptions import DatasetNotFoundError, DatasetsError
    from huggingface_hub import errors

    try:
        yield
    except Exception as error:
        cause = _cause(error)
        on_hub = name.startswith(SCHEME)
        # datasets drops the cause of its error, so only the message says that the dataset is gated
        if isinstance(error, errors.GatedRepoError) or "gated dataset" in str(error):
            page = f"{_HUB}/{HubAddress.parse(name.partition(' ')[0]).repository}"
            how = f"accept the terms at {page} and set HF_TOKEN to a token of that account, or {HOW_TO_NAME}"
            raise DataError(f"{name} is gated; {how}") from None
        if isinstance(error, errors.RevisionNotFoundError):
            raise DataError(f"{name}: the dataset has no such revision") from None
        if on_hub and isinstance(error, errors.RepositoryNotFoundError | DatasetNotFoundError):
            reason = "no such dataset on the Hub, or no access to it; if it is private, set HF_TOKEN to a token for it"
            raise DataError(f"{name}: {reason}") from None
        # releases of the client use different HTTP libraries, whose errors have these names
        if on_hub and not {kind.__name__ for kind in type(error).__mro__}.isdisjoint(("OSError", "HTTPError")):
            offline = isinstance(cause, errors.OfflineModeIsEnabled)
            reason = "HF_HUB_OFFLINE is set" if offline else str(cause).strip().partition("\n")[0]
            raise DataError(f"{name}: cannot be downloaded ({reason or type(cause).__name__}); {HOW_TO_NAME}") from None
        if not isinstance(error, DatasetsError | ValueError | OSError | RuntimeError | TypeError):
            raise
        raise DataError(f"{name}: cannot be loaded ({' '.join(str(cause).split())})") from None


def _cause(error: BaseException) -> BaseException:
    return _cause(error.__cause__) if error.__cause__ else error


# --- datasets ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Rows of one split.

    Attributes:
        name: How messages and records name it.
        path: What `datasets.load_dataset` loads: a dataset on the Hub, a folder, or a format.
        split: The split.
        revision: The commit of a dataset on the Hub.
        config: The configuration, if there are several.
        files: The files, or a pattern of files; None for those that the layout gives.
    """

    name: str
    path: str
    split: str
    revision: str | None = None
    config: str | None = None
    files: str | None = None

    def __str__(self) -> str:
        return self.name

    def rows(self, *, nulls: bool = False) -> Iterator[tuple[int, Row]]:
        """Read (number from 1, row) of each row.

        Args:
            nulls: Keep the fields of a row that are null; `datasets` adds these where a row lacks a field.

        Raises:
            DataError: The rows cannot be loaded.
        """
        from datasets import disable_progress_bars, load_dataset

        disable_progress_bars()
        with _one_line(self.name):
            loaded: Any = load_dataset(split=self.split, streaming=self.revision is None, **self._arguments)
            if self.revision is None:
                loaded = loaded.decode(False)  # a column of pictures may name addresses
            columns = loaded.features or {}
            labels = {name: names for name, column in columns.items() if (names := getattr(column, "names", None))}
            for number, row in enumerate(loaded, 1):
                values = row.items() if nulls else [pair for pair in row.items() if pair[1] is not None]
                yield number, {name: _plain(value, labels.get(name)) for name, value in values}

    @property
    def layout(self) -> dict[str, list[str]]:
        """The files of each split, as the layout gives them."""
        from datasets import load_dataset_builder

        with _one_line(self.name):
            files: Any = load_dataset_builder(**self._arguments).config.data_files
            return {str(split): [str(file) for file in paths] for split, paths in files.items()}

    @property
    def _arguments(self) -> dict[str, Any]:
        return {"path": self.path, "name": self.config, "revision": self.revision, "data_files": self.files}


def parquet_file(path: Path) -> Dataset:
    """Return the dataset of a Parquet file's rows."""
    return Dataset(name=str(path), path="parquet", files=str(path), split="train")


def named_dataset(named: str, options: Options) -> Dataset:
    """Return the dataset of one split: the one that is named, or the only one.

    Args:
        named: The address of a dataset on the Hub, `hf://USER/NAME@REVISION`, which is pinned to the commit that its
            revision stands for now; or a folder in the Hub's layout.
        options: Options that choose configuration and split.

    Raises:
        DataError: The dataset does not exist or cannot be accessed.
        UsageError: The split does not exist, or none is named and there are several; or the working directory has a
            folder of the dataset's name.
    """
    dataset = Dataset(name=named, path=named, config=options.data_config, split=options.data_split or "")
    if named.startswith(SCHEME):
        from huggingface_hub import HfApi

        address = HubAddress.parse(named)
        if Path(address.repository).is_dir():
            raise UsageError(f"{named}: the folder ./{address.repository} would be read in its place; run elsewhere")
        with _one_line(named):
            commit = str(HfApi().dataset_info(address.repository, revision=address.revision).sha)
        name = str(address._replace(revision=commit))
        dataset = replace(dataset, name=name, path=address.repository, revision=commit, files=address.path)
    else:
        _check_card(Path(named))
        # a relative path such as csv would be taken for the name of a format
        dataset = replace(dataset, path=str(Path(named).absolute()))
    splits = list(dataset.layout)
    if dataset.split and dataset.split not in splits:
        close = did_you_mean(dataset.split, splits)
        raise UsageError(f"{dataset}: no split {dataset.split!r}{close}; splits: {', '.join(splits)}")
    if not dataset.split and len(splits) > 1:
        raise UsageError(f"{dataset}: has the splits {', '.join(splits)}; choose one with the option data_split")
    split = dataset.split or splits[0]
    config = f"{dataset.config}/" if dataset.config else ""
    return replace(dataset, name=f"{dataset.name} ({config}{split})", split=split)


def _check_card(folder: Path) -> None:
    """Refuse a folder whose card makes `datasets` fetch files from elsewhere: a result may name any folder."""
    from huggingface_hub.repocard import metadata_load

    for path in (folder / "README.md", folder / ".huggingface.yaml"):
        with _one_line(str(path)):
            read: Any = metadata_load if path.suffix == ".md" else read_yaml
            card = read(path) if path.is_file() else None
        if isinstance(card, dict) and "://" in str(card.get("configs")):
            raise DataError(f"{path}: configs: name only files of the folder, and download what is elsewhere")


def _plain(value: Any, names: list[str] | None = None) -> Any:
    """Convert a value to JSON: labels become names, and objects lose their nulls."""
    if names is not None and isinstance(value, int) and value >= 0:  # -1 stands for no label
        return names[value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value
