"""The base class of pipelines, which turn documents into validated items of a benchmark.

A pipeline decides how one document becomes drafts of items, which checks each draft has to pass, and which rows are
written for the drafts that pass. It knows nothing of a harness, of the file system or of other documents.

    documents → (refused | drafts, each with the checks it failed) → items → files in a benchmark's format
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from halu_tasks.builders.documents import Document, read_documents, refusal
from halu_tasks.builders.prompts import prompt_texts
from halu_tasks.core.errors import UsageError
from halu_tasks.core.hashing import short_hash, stable_number
from halu_tasks.core.prompting import fill, prompt_hash

Row = dict[str, Any]

GENERATOR, VERIFIER = "generator", "verifier"
"""The model roles of every pipeline; a role that the user assigns no model to uses the run's model."""

MAX_TOKENS = 4096
"""Default maximum length of a reply in tokens."""


class Failure(NamedTuple):
    """The reason why a draft (or a document) was rejected.

    Attributes:
        check: Name of the check that failed.
        reason: A few words; reasons are counted, so equal failures should have equal reasons.
        detail: What exactly was wrong in this case.
    """

    check: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Draft:
    """One item as drafted by a model.

    Attributes:
        id: Unique within the build; derived from the document's id and from what distinguishes the draft within it.
        kind: The type by which items can be balanced; empty if it is not known yet.
        checks: The checks that were run on the draft, in order.
        failures: The failed checks, one entry per reason.
        row: The data to keep, as JSON values; None if the draft is dropped.
        drafted: What was drafted, passed or not, if the pipeline has `parts` that are judged separately.
    """

    id: str
    kind: str
    checks: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    row: Row | None = None
    drafted: Row | None = None

    @property
    def passed(self) -> bool:
        """Whether the draft passed all checks."""
        return not self.failures


class Pair(NamedTuple):
    """A true and a hallucinated text that differ only in the hallucination, to test for shortcuts.

    Attributes:
        true: The true text.
        hallucinated: The hallucinated text.
        cluster: Id of the document that both texts come from.
        kind: The type of the hallucination.
    """

    true: str
    hallucinated: str
    cluster: str
    kind: str


class Part(NamedTuple):
    """A part of a draft that annotators judge by itself.

    Attributes:
        kind: One of the pipeline's `parts`.
        id: Unique among the parts of its kind.
        document: Id of the document.
        shown: What annotators see, by the names of its texts.
        verified: Whether it passed the verifier and is in an item.
    """

    kind: str
    id: str
    document: str
    shown: Mapping[str, str]
    verified: bool


class Item(NamedTuple):
    """An item of a built dataset: the row of a kept draft with its id, kind and document id."""

    id: str
    kind: str
    document: str
    row: Row


class Ask(Protocol):
    """Ask the model in a role.

    `draw` distinguishes several replies to the same prompt. If there is more than one (`draws`), they are sampled at
    temperature 1, otherwise at that of `Pipeline.temperatures`.
    """

    async def __call__(self, prompt: str, role: str, *, draw: int = 0, draws: int = 1) -> str:
        """Return the reply of the model in `role`."""
        ...


def option(default: Any, about: str, *, file: str | None = None) -> Any:
    """Declare a pipeline field that users can set.

    Args:
        default: The default.
        about: What the option does, for `halu-tasks build options`.
        file: For the path of a file, its name in the folder of a build, which keeps a copy.
    """
    return field(default=default, metadata={"about": about, "file": file})


class Gate(NamedTuple):
    """What samples of drafts have to pass before `halu-tasks build` works on all documents.

    Attributes:
        checks: The checks that make a draft consistent.
        samples: The number of documents of each group to sample.
        share: The minimum share of consistent drafts.
    """

    checks: tuple[str, ...]
    samples: int
    share: float


@dataclass(frozen=True)
class Pipeline(ABC):
    """A builder for the format of one benchmark. Its dataclass fields are its options."""

    name: ClassVar[str]
    version: ClassVar[int]
    about: ClassVar[str]
    benchmark: ClassVar[str]
    """Name of the source whose tasks read the built files."""
    paper: ClassVar[str]
    """The paper that describes the method, as cited by the dataset card."""
    checks: ClassVar[tuple[str, ...]]
    """All checks of drafts, in the order in which they are reported."""
    prompts_used: ClassVar[tuple[str, ...]]
    """Entries of the prompt file, without the language suffix."""
    prompts_optional: ClassVar[tuple[str, ...]] = ()
    """Further entries, which are only needed with some options; see `prompt_names`."""
    near: ClassVar[float] = 100.0
    """Default similarity in percent from which on two items' keys are duplicates; 100 means equal."""
    generating: ClassVar[tuple[str, ...]] = ()
    """The prompts that can be optimized; `blamed` maps each failure to one of them."""
    wording: ClassVar[tuple[str, ...]] = ()
    """Options that choose between wordings of the prompts, and do nothing if a prompt file has all of them."""
    gate: ClassVar[Gate | None] = None
    """What samples have to pass before a build; None if nothing is tested."""
    parts: ClassVar[tuple[str, ...]] = ()
    """The parts of a draft that annotators can judge separately; see `parts_of`."""
    labels: ClassVar[tuple[str, ...]] = ("valid", "invalid")
    """The labels annotators choose from; the last one drops an item, the others keep it."""

    language: str = option("en", "language of the documents and the prompts (ISO 639-1)")
    prompts: str | None = option(
        None, "a prompt file that replaces the built-in prompts or adds a language", file="prompts.yaml"
    )
    seed: int = option(0, "seed of random choices; they also depend on the document's id")
    max_chars: int = option(20_000, "maximum length of a document in characters")
    check_language: bool = option(True, "refuse documents in another language")
    generator_temperature: float = option(0.0, "temperature of the generator's calls")
    verifier_temperature: float = option(0.0, "temperature of the verifier's calls")

    def __post_init__(self) -> None:
        if self.max_chars < 1:
            raise UsageError(f"option max_chars: must be at least 1, got {self.max_chars}")
        for role, temperature in self.temperatures.items():
            if temperature < 0:
                raise UsageError(f"option {role}_temperature: must be at least 0, got {temperature:g}")
        # report missing prompts before any model is asked
        _ = self.texts

    def ready(self) -> None:  # noqa: B027 most pipelines need nothing
        """Check that everything the pipeline needs is available, before any model is asked.

        Raises:
            UsageError: Something the pipeline needs cannot be loaded.
        """

    @property
    def temperatures(self) -> Mapping[str, float]:
        """The temperature of calls by role, unless the run or the role's model has another one."""
        return {GENERATOR: self.generator_temperature, VERIFIER: self.verifier_temperature}

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """The prompts that are needed with the pipeline's options."""
        return self.prompts_used

    @property
    def texts(self) -> Mapping[str, str]:
        """The prompts in the pipeline's language, by name without the language suffix."""
        return prompt_texts(
            self.name, self.prompt_names, self.language, self.prompts, self.prompts_optional, self.variant
        )

    @property
    def variant(self) -> str:
        """The wording of the prompts, if there are several; empty for the usual one."""
        return ""

    @property
    def other_texts(self) -> Mapping[str, Mapping[str, str]]:
        """The prompts in their other wordings, by a short name, to compare them when prompts are optimized."""
        return {}

    def prompt(self, name: str, **shown: str) -> str:
        """Return the prompt `name` with `shown` filled in."""
        return fill(self.texts[name], shown)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything besides the models that determines what a document becomes, as JSON values."""
        values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        values.pop("prompts")
        return {"builder": self.name, "version": self.version, **values, "prompt_hash": prompt_hash(self.texts)}

    @classmethod
    def files(cls) -> dict[str, str]:
        """Return the options that hold the path of a file, with the file's name in the folder of a build."""
        return {option.name: name for option in fields(cls) if (name := option.metadata.get("file"))}

    def draw(self, *of: str) -> int:
        """Return a 64-bit number that depends only on the seed and the given strings, for seeded choices."""
        return stable_number(self.seed, *of)

    def documents(self, path: Path) -> Iterator[Document]:
        """Read the documents of a file or folder.

        Raises:
            DataError: As in `read_documents`.
        """
        return read_documents(path)

    def refuse(self, document: Document) -> Failure | None:
        """Return why a document cannot be used; None if it can."""
        reason = refusal(document, self.language if self.check_language else None, self.max_chars)
        return Failure("document", *reason) if reason else None

    def sampled_as(self, document: Document) -> str:
        """Return the group of a document of which the gate samples some; one group by default."""
        return ""

    def advice(self, reason: str) -> str:
        """Return what to do if documents were refused for a reason; empty if there is nothing to say."""
        return f"-T language= is {self.language!r}" if reason == "another language" else ""

    @abstractmethod
    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return the drafts of a document, in an order that depends only on the document."""

    @abstractmethod
    def lines(self, item: Item) -> Iterable[tuple[str, Row]]:
        """Return the rows an item adds to the benchmark's files, each with its file name."""

    @abstractmethod
    def pairs(self, item: Item) -> Iterable[Pair]:
        """Return the pairs of texts that could leak which one is true."""

    def context(self, item: Item) -> Mapping[str, str]:
        """Return what a task shows together with the texts of a pair, by name (for example the question).

        Words shared with the context may reveal which text is true. Empty if the texts are shown alone.
        """
        return {}

    @abstractmethod
    def shown(self, item: Item) -> Mapping[str, str]:
        """Return what annotators see of an item, by the names of its parts."""

    @abstractmethod
    def key(self, item: Item) -> str:
        """Return the text by which duplicates are detected (a question, a sentence)."""

    def parts_of(self, draft: Draft, document: str) -> Iterable[Part]:
        """Return the parts of a draft that annotators judge separately, of each kind in `parts`; none by default."""
        return ()

    def blamed(self, failure: Failure, draft: Draft) -> str | None:
        """Return the prompt of `generating` that caused a failure of a draft; None if none of them did."""
        return None

    def group(self, item: Item) -> str:
        """Return a label shared by items that are similar on purpose; empty by default.

        Items of one group are duplicates only if they are equal.
        """
        return ""

    def annotated(self, item: Item, label: str) -> Item | None:
        """Return the item with the label annotators agreed on; None if the label drops it."""
        return None if label == self.labels[-1] else item


def item_id(document: str, *parts: str) -> str:
    """Return an id of 16 hex digits for a draft, from its document's id and what distinguishes it."""
    return short_hash(document, *parts)
