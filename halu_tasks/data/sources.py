"""The published data of the benchmarks, pinned. A benchmark may also declare its source in its own module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

_GITHUB = "https://raw.githubusercontent.com"
_HUB = "https://huggingface.co/datasets"


@dataclass(frozen=True)
class SourceFile:
    """A published file.

    Attributes:
        name: Its name.
        url: The address to download it from, which begins with `hf://` for a file on the Hub; None if there is none.
        sha256: Its checksum, in hex; None if it is not known.
        also: Other names that the file may have in a user's folder; paths and patterns (`*`) are allowed.
        extracts: The checksums of published files that contain only some of its rows.
    """

    name: str
    url: str | None = None
    sha256: str | None = None
    also: tuple[str, ...] = ()
    extracts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order in which they are tried; workbooks instead of CSV files come last."""
        names = (self.name, *self.also)
        return (*names, *(f"{name.removesuffix('.csv')}.xlsx" for name in names if name.endswith(".csv")))


@dataclass(frozen=True)
class Source:
    """A benchmark's published data.

    Attributes:
        name: The source's name, which its folders have, too.
        title: The benchmark's name.
        homepage: The address of its repository.
        licence: The licence of the data.
        revision: The commit that addresses are pinned to; `main` means that there is no pin and files may change.
        files: The published files.
        gated: Whether the terms must be accepted on the hub and a token is needed.
        paper: Where the benchmark is published: authors, venue, arXiv number.
    """

    name: str
    title: str
    homepage: str
    licence: str
    revision: str
    files: tuple[SourceFile, ...]
    gated: bool = False
    paper: str = ""

    @property
    def hub_dataset(self) -> str | None:
        """The dataset of the Hub that it is, `OWNER/NAME`; None if it is published elsewhere."""
        prefix = f"{_HUB}/"
        return self.homepage.removeprefix(prefix) if self.homepage.startswith(prefix) else None

    def file(self, name: str) -> SourceFile:
        """Return the published file of this name."""
        return next(file for file in self.files if file.name == name)


def github_source(
    name: str,
    title: str,
    repo: str,
    licence: str,
    revision: str,
    files: Mapping[str, str | None],
    folder: str = "",
    paper: str = "",
) -> Source:
    """Declare data in a GitHub repository.

    Args:
        name: The source's name, which its folders have, too.
        title: The benchmark's name.
        repo: The repository, `OWNER/NAME`.
        licence: The licence of the data.
        revision: The commit.
        files: The files with their sha256 in hex; None if it is not known.
        folder: The folder of the files in the repository, with a slash at its end.
        paper: Where the benchmark is published.
    """
    address = f"{_GITHUB}/{repo}/{revision}/{folder}"
    return Source(
        name,
        title,
        f"https://github.com/{repo}",
        licence,
        revision,
        tuple(SourceFile(file, address + file, sha256) for file, sha256 in files.items()),
        paper=paper,
    )


def hub_source(
    name: str,
    title: str,
    repo: str,
    licence: str,
    files: Sequence[SourceFile],
    *,
    revision: str = "main",
    gated: bool = False,
    paper: str = "",
) -> Source:
    """Declare data on the Hugging Face Hub.

    Args:
        name: The source's name, which its folders have, too.
        title: The benchmark's name.
        repo: The dataset, `OWNER/NAME`.
        licence: The licence of the data.
        files: The files; their addresses follow from the dataset and the revision.
        revision: The commit; `main` for the newest files.
        gated: Whether the terms must be accepted on the hub and a token is needed.
        paper: Where the benchmark is published.
    """
    return Source(
        name,
        title,
        f"{_HUB}/{repo}",
        licence,
        revision,
        tuple(replace(file, url=f"hf://{repo}@{revision}/{file.name}") for file in files),
        gated,
        paper,
    )


REFACT = github_source(
    "refact",
    "ReFACT",
    "ddz5431/ReFACT",
    "CC BY 4.0",
    "81f5eea3958e6de574c20eca4553bf48e07d2d58",
    {
        "refact_multi_error.jsonl": "ebd8daa17cc95c1343dbc19d22aa597c0241ae41b52028c0a05aec2ee5c4927e",
        "refact_single_error.jsonl": "da49940a5201149c2f2e76de63c29cc4ee21d6aa03ae7739918dbe6dc5dcf21f",
    },
    paper="Wang et al., EACL 2026, arXiv 2509.25868",
)

CFAITH = Source(
    "cfaith",
    "C-FAITH",
    "https://github.com/pkulcwmzx/C-FAITH",
    "not stated",
    # the two files were published by two commits, and each is pinned to its own
    "71f2d032405b+d939ad0440ec",
    tuple(
        SourceFile(name, f"{_GITHUB}/pkulcwmzx/C-FAITH/{commit}/C-FAITH/{name}")
        for name, commit in {
            "generative_qa.jsonl": "71f2d032405b73d5fef3fdc951072b0fe3891eb9",
            "single_choice_qa.jsonl": "d939ad0440ecbbeeac420deb1c0b5582bf02fc7d",
        }.items()
    ),
    paper="Zhang et al. 2025, arXiv 2504.10167",
)

FACTCHD = hub_source(
    "factchd",
    "FactCHD",
    "zjunlp/FactCHD",
    "MIT",
    (
        SourceFile(
            "fact_test_noe.jsonl",
            also=("test.jsonl", "test_case_sample.jsonl"),
            extracts=("aafb76210f9de73a8088468ee2d682617f7d9a937cec099195c79e5509d2937b",),
        ),
        SourceFile(
            "fact_train_noe.jsonl",
            also=("train.jsonl", "train_case_sample.jsonl"),
            extracts=("753e4447f689fa6a32a15537b3ab26f6bd7575282c7e3a25a3cdebdc18891bf2",),
        ),
    ),
    revision="12d00b048630728fc2f8626b678e91658f258bbe",
    paper="Chen et al., IJCAI 2024, arXiv 2310.12086",
)

HALLUVERSE25 = hub_source(
    "halluverse25",
    "HalluVerse25",
    "sabdalja/HalluVerse3",
    "gated",
    [SourceFile(f"{language}_final_data.csv") for language in ("en", "ar", "tr")],
    gated=True,
    paper="Abdaljalil, Kurban and Serpedin 2025, arXiv 2503.07833",
)

_M3_LANGUAGES = ("en", "ar", "hi", "tr")

# The full names of the folders that contain its files are not known, so there is no address to download them from.
HALLUVERSE_M3 = Source(
    "halluverse_m3",
    "HalluVerse-M3",
    f"{_HUB}/sabdalja/HalluVerse-M3",
    "not known",
    "main",
    tuple(
        SourceFile(
            f"{part}_{language}.csv",
            None,
            also=(f"{part}/{pattern}_{language}.csv", f"FINAL_DATASET/{part}/{pattern}_{language}.csv"),
        )
        for part, pattern in (("QA", "QA"), ("summarization", "*"))
        for language in _M3_LANGUAGES
    ),
    paper="arXiv 2602.06920",
)

HALUEVAL = github_source(
    "halueval",
    "HaluEval",
    "RUCAIBox/HaluEval",
    "MIT",
    "b7253db3cdaa0ab2c382f92b26b390109174f77e",
    {
        "summarization_data.json": "2c877f12b23d0d7dce6f5906dfe95ed9f145c316c2e9c56a7e7de288873e64e0",
        "general_data.json": None,
    },
    folder="data/",
    paper="Li et al., EMNLP 2023, arXiv 2305.11747; claims: George and Stuhlmüller 2023, arXiv 2310.10627",
)

FAVE = github_source(
    "fave",
    "FAVE",
    "elicit/fave-dataset",
    "MIT",
    "03f3f26ba2397adbf3382273a2bcf0f524228b01",
    {"paper_dataset.json": None},
    paper="George and Stuhlmüller 2023, arXiv 2310.10627",
)

SOURCES: dict[str, Source] = {source.name: source for source in list(globals().values()) if isinstance(source, Source)}
