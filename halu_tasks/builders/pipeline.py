"""What a pipeline is: how one document becomes drafts of items, which checks each draft has to pass, and what is
written of those that pass. No pipeline knows a harness, a file system or another document.

    documents → (refused | drafts, each with the checks it failed) → items → files in a benchmark's format
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from halu_tasks.builders.documents import Document, read_documents, refusal
from halu_tasks.builders.wording import prompt_texts
from halu_tasks.errors import UsageError
from halu_tasks.solvers.prompting import fill, prompt_hash

Row = dict[str, Any]

GENERATOR, VERIFIER = "generator", "verifier"
"""The model roles of every pipeline; each is the run's model where none is named for it."""


class Failure(NamedTuple):
    """Why a draft did not pass: the check, a reason of a few words that is counted, and what it was about."""

    check: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Draft:
    """One item as a model drafted it.

    Attributes:
        id: unique within the build, made of the document's id and of what the draft is the only one of.
        kind: the type by which items may be balanced; empty where there is none yet.
        checks: the checks that were made of it, in order.
        failures: those that it failed, one entry a reason.
        row: what is kept of it, JSON values; None where it is dropped.
    """

    id: str
    kind: str
    checks: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    row: Row | None = None

    @property
    def passed(self) -> bool:
        return not self.failures


class Pair(NamedTuple):
    """A true and a hallucinated text that differ in nothing else: what a shortcut could tell apart.

    `cluster` is the document both come from, `kind` the type of the hallucination.
    """

    true: str
    hallucinated: str
    cluster: str
    kind: str


class Item(NamedTuple):
    """An item of a built dataset: a kept draft's row with its id, its kind and the document it is of."""

    id: str
    kind: str
    document: str
    row: Row


class Ask(Protocol):
    """Asks the model in a role. `draw` tells apart replies to one prompt that are drawn several times; more than one
    draw is drawn at temperature 1."""

    async def __call__(self, prompt: str, role: str, *, draw: int = 0, draws: int = 1) -> str: ...


def option(default: Any, about: str) -> Any:
    """A field of a pipeline that a user may set, with what `--help` and the documentation say about it."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True)
class Pipeline(ABC):
    """A builder of one benchmark's format. Its fields are its options."""

    name: ClassVar[str]
    version: ClassVar[int]
    about: ClassVar[str]
    benchmark: ClassVar[str]
    """The name of the source whose tasks read the files."""
    paper: ClassVar[str]
    """Where the method comes from, as a dataset's card cites it."""
    checks: ClassVar[tuple[str, ...]]
    """All checks of drafts, in the order in which they are told of."""
    prompts_used: ClassVar[tuple[str, ...]]
    """Entries of the prompt file, without the language at their ends."""
    near: ClassVar[float] = 100.0
    """Similarity in percent from which on two items' keys are duplicates, where the user names none; 100 for equal."""
    generating: ClassVar[tuple[str, ...]] = ()
    """Those of them that may be optimized; `blamed` tells which one a failure is laid to."""
    labels: ClassVar[tuple[str, ...]] = ("valid", "invalid")
    """What annotators choose from; the first ones keep an item, the last one drops it."""

    language: str = option("en", "language of the documents and of the prompts (ISO 639-1)")
    prompts: str | None = option(None, "a prompt file whose wording replaces the package's, or adds a language")
    seed: int = option(0, "what the seeded choices depend on, together with the document's id")
    max_chars: int = option(20_000, "characters of the longest document that is taken")
    check_language: bool = option(True, "refuse documents of another language")

    def __post_init__(self) -> None:
        if self.max_chars < 1:
            raise UsageError(f"option max_chars={self.max_chars} is less than 1")
        # a prompt that is missing is told before anything is asked
        prompt_texts(self.name, self.prompts_used, self.language, self.prompts)

    def ready(self) -> None:  # noqa: B027 most pipelines need nothing
        """Called before anything is asked. Raises UsageError where something that is needed cannot be had."""

    @property
    def texts(self) -> Mapping[str, str]:
        """The prompts in the language, by their names without it."""
        return prompt_texts(self.name, self.prompts_used, self.language, self.prompts)

    def prompt(self, name: str, **shown: str) -> str:
        """The prompt `name` in the language, filled."""
        return fill(self.texts[name], shown)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that decides what is made of a document, besides the models: JSON values."""
        own = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        own.pop("prompts")
        return {"builder": self.name, "version": self.version, **own, "prompt_hash": prompt_hash(self.texts)}

    @classmethod
    def options(cls) -> dict[str, tuple[Any, str]]:
        """The options by name, each with its default and what it is about."""
        return {own.name: (own.default, own.metadata["about"]) for own in fields(cls)}

    def draw(self, *of: str) -> int:
        """A number that depends on the seed and on the texts given alone: seeded choices are made by it."""
        text = "\0".join((str(self.seed), *of))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

    def documents(self, path: Path) -> Iterator[Document]:
        """The documents of a file or folder. Raises DataError as `read_documents` does."""
        return read_documents(path)

    def refuse(self, document: Document) -> Failure | None:
        """Why a document is not worked on; None where it is."""
        reason = refusal(document, self.language if self.check_language else None, self.max_chars)
        return Failure("document", *reason) if reason else None

    @abstractmethod
    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """The drafts of a document, in an order that depends on the document alone."""

    @abstractmethod
    def lines(self, item: Item) -> Iterable[tuple[str, Row]]:
        """What an item adds to the files of the benchmark's format: file name and row each."""

    @abstractmethod
    def pairs(self, item: Item) -> Iterable[Pair]:
        """The pairs of texts in which an item could leak which one is true."""

    def context(self, item: Item) -> Mapping[str, str]:
        """What a task shows beside the texts of the pairs, by name (the question); nothing where a text stands
        alone. Words shared with it may tell the true text from the hallucinated one."""
        return {}

    @abstractmethod
    def shown(self, item: Item) -> Mapping[str, str]:
        """What an annotator is shown of an item, by the names of its parts."""

    @abstractmethod
    def key(self, item: Item) -> str:
        """The text by which two items are duplicates of each other (a question, a sentence)."""

    def blamed(self, failure: Failure) -> str | None:
        """The prompt of `generating` that a failure is laid to; None where it is none of them."""
        return None

    def group(self, item: Item) -> str:
        """What items share that are alike on purpose, and so duplicates of each other only where they are equal; empty
        where there is nothing such."""
        return ""

    def annotated(self, item: Item, label: str) -> Item | None:
        """The item after annotators settled on a label; None where that drops it."""
        return None if label == self.labels[-1] else item


def item_id(document: str, *parts: str) -> str:
    """An id for a draft: 16 hex digits of the document's id and of what else tells it apart."""
    return hashlib.sha256("\0".join((document, *parts)).encode()).hexdigest()[:16]
