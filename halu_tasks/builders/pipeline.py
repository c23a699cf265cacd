"""The base class of pipelines, which turn documents into validated items of a benchmark, and the records they make.

A pipeline decides how one document becomes drafts, which checks each draft has to pass, and which rows are written for
those that pass. It knows nothing of a harness, of the file system or of other documents.

    documents → (refused | drafts, each with the faults that checks found) → files in a benchmark's format
"""

import importlib
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from annotated_types import Ge, Predicate

from halu_tasks.builders.documents import NO_LICENCE, Document, read_documents
from halu_tasks.builders.rates import KEPT, OVERALL
from halu_tasks.core.errors import UsageError, did_you_mean
from halu_tasks.core.hashing import short_hash, stable_number
from halu_tasks.core.plugins import added_parts
from halu_tasks.core.prompting import PLACEHOLDER, PROMPTS, fill, prompt_hash, read_prompts
from halu_tasks.core.settings import Count, Help, Setting, checked_settings, settings_of
from halu_tasks.data.rows import Row as Row
from halu_tasks.text.folding import language_of

GENERATOR, VERIFIER = "generator", "verifier"
"""The model roles of every pipeline; a role that the user assigns no model to uses the run's model."""

MAX_TOKENS = 4096
"""Default maximum length of a reply in tokens."""

_LETTER = re.compile(r"[^\W\d_]")
_END = re.compile(r"[.!?。！？؟…।]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# minimum number of letters for the language of a text to be detected reliably
_SURE = 200


class Fault(NamedTuple):
    """The reason why a draft (or a document) was rejected.

    Attributes:
        check: Name of the check that found it.
        reason: A few words; reasons are counted, so equal faults should have equal reasons.
        detail: What exactly was wrong in this case.
    """

    check: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One item as drafted by a model; it becomes an item of the dataset if it has a row.

    Attributes:
        id: Unique within the build; see `of`.
        kind: The type by which items can be balanced; empty if it is not known yet.
        document: Id of the document.
        checks: The checks that were run on the draft, in order.
        faults: What they found, one entry per reason.
        row: The data to keep, as JSON values; empty if the draft is dropped.
    """

    id: str
    kind: str
    document: str
    checks: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    row: Row = field(default_factory=dict)

    @classmethod
    def of(cls, document: Document, kind: str, *distinction: str, **values: Any) -> Self:
        """Create a draft of a document whose id depends on the document's and on what distinguishes it within it."""
        return cls(id=short_hash(document.id, *distinction), kind=kind, document=document.id, **values)


@dataclass(frozen=True)
class DocumentOutcome:
    """The result of working on one document.

    Attributes:
        document: The document's id.
        drafts: Its drafts; empty if it was refused.
        refused: Why it was refused; None if it was not.
        licence: Licence stated by the document.
    """

    document: str
    drafts: tuple[Draft, ...] = ()
    refused: Fault | None = None
    licence: str = NO_LICENCE

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return for each rate how many of the drafts passed, and how many were checked."""
        counts: dict[str, tuple[int, int]] = {}
        for draft in self.drafts:
            faulty = {fault.check for fault in draft.faults}
            facts = {**{check: check not in faulty for check in draft.checks}, OVERALL: not faulty}
            for name, passed in {**facts, KEPT: bool(draft.row)}.items():
                before = counts.get(name, (0, 0))
                counts[name] = (before[0] + passed, before[1] + 1)
        return counts


class TextPair(NamedTuple):
    """A true and a hallucinated text that differ only in the hallucination, to test for shortcuts.

    Attributes:
        true: The true text.
        hallucinated: The hallucinated text.
        context: What a task shows together with the texts, by name (for example the question): words shared with it may
            reveal which text is true.
    """

    true: str
    hallucinated: str
    context: Mapping[str, str] = {}


class Gate(NamedTuple):
    """What samples of drafts have to pass before `halu-tasks build` works on all documents.

    Attributes:
        checks: The checks that make a draft consistent.
        samples: The number of documents of each group to sample; 0 if nothing is.
        share: The minimum share of consistent drafts.
    """

    checks: Sequence[str]
    samples: int
    share: float


Ask = Callable[..., Coroutine[Any, Any, str]]
"""`ask(prompt, role, draw=0, draws=1)` returns the reply of the model in a role.

`draw` distinguishes several replies to the same prompt. If there is more than one (`draws`), they are sampled at
temperature 1, otherwise at that of `Pipeline.temperatures`.
"""


Temperature = Annotated[float, Ge(0), Help("temperature of the generator's calls; default: the paper's")]
"""The type of `Pipeline.generator_temperature` where its default is that of the paper."""


@dataclass(frozen=True)
class KeptFile:
    """Marks an option as the path of a file, of which the folder of a build keeps a copy with this name."""

    name: str


def some_of(names: Iterable[str]) -> Predicate:
    """Return the limit of a list to one or more different names of some."""
    allowed = tuple(names)

    def check(values: Sequence[str]) -> bool:
        if not 0 < len(values) == len({*values} & {*allowed}):
            raise ValueError(f"expected one or more different ones of {', '.join(allowed)}, got {', '.join(values)}")
        return True

    return Predicate(check)


@dataclass(frozen=True)
class Pipeline(ABC):
    """A builder for the format of one benchmark. Its dataclass fields are its options."""

    name: ClassVar[str]
    version: ClassVar[int]
    about: ClassVar[str]
    benchmark: ClassVar[str]
    """Name of the source whose tasks read the built files."""
    paper: ClassVar[str]
    """The paper that describes the method: a key of `papers.yaml`, or a citation."""
    checks: ClassVar[tuple[str, ...]]
    """All checks of drafts, in the order in which they are reported."""
    prompts_used: ClassVar[tuple[str, ...]]
    """Entries of the prompt file, without the language suffix; `prompt_names` has those that an option needs."""
    shortest: ClassVar[int] = 20
    """Minimum number of letters of a document; shorter ones contain no fact."""
    near: ClassVar[float] = 100.0
    """Default similarity in percent from which on two items' keys are duplicates; 100 means equal."""
    generating: ClassVar[tuple[str, ...]] = ()
    """The prompts that can be optimized; `blamed` maps each fault to those of them that may have caused it."""
    gate: ClassVar[Gate | None] = None
    """What samples have to pass before a build; None if nothing is tested."""
    labels: ClassVar[tuple[str, ...]] = ("valid", "invalid")
    """The labels annotators choose from; the last one drops an item, the others keep it."""

    language: Annotated[str, Help("language of the documents and the prompts (ISO 639-1)")] = "en"
    prompts: Annotated[
        str | None, KeptFile("prompts.yaml"), Help("prompts that replace the package's or add a language")
    ] = None
    seed: Annotated[int, Help("seed of random choices; they also depend on the document's id")] = 0
    max_chars: Annotated[Count, Help("maximum length of a document in characters")] = 20_000
    check_language: Annotated[bool, Help("refuse documents in another language")] = True
    generator_temperature: Annotated[float, Ge(0), Help("temperature of the generator's calls")] = 0.0
    verifier_temperature: Annotated[float, Ge(0), Help("temperature of the verifier's calls")] = 0.0

    def __post_init__(self) -> None:
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
    def variant(self) -> str:
        """The wording of the prompts, if there are several; empty for the usual one."""
        return ""

    @property
    def texts(self) -> Mapping[str, str]:
        """The prompts in the pipeline's language, by name without the language suffix."""
        return prompt_texts(self.name, self.prompt_names, self.language, self.prompts, self.variant)

    def prompt(self, name: str, **shown: str) -> str:
        """Return the prompt `name` with `shown` filled in."""
        return fill(self.texts[name], shown)

    async def generate(self, ask: Ask, name: str, draw: int = 0, draws: int = 1, /, **shown: str) -> str:
        """Ask the generator the prompt `name` with `shown` filled in; see `Ask` for several draws."""
        return await ask(self.prompt(name, **shown), GENERATOR, draw=draw, draws=draws)

    async def verify(self, ask: Ask, name: str, draw: int = 0, draws: int = 1, /, **shown: str) -> str:
        """Ask the verifier the prompt `name` with `shown` filled in; see `Ask` for several draws."""
        return await ask(self.prompt(name, **shown), VERIFIER, draw=draw, draws=draws)

    @property
    def settings(self) -> dict[str, Any]:
        """What determines the drafts of a document besides the models, as JSON values."""
        values = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        values.pop("prompts")
        return {"builder": self.name, "version": self.version, **values, "prompt_hash": prompt_hash(self.texts)}

    @classmethod
    def files(cls) -> dict[str, str]:
        """Return the options that hold the path of a file, with the file's name in the folder of a build."""
        marks = ((name, mark) for name, setting in settings_of(cls).items() for mark in setting.extras)
        return {name: mark.name for name, mark in marks if isinstance(mark, KeptFile)}

    def draw(self, *of: str) -> int:
        """Return a 64-bit number that depends only on the seed and the given strings, for seeded choices."""
        return stable_number(self.seed, *of)

    # --- documents --------------------------------------------------------------------------------

    def documents(self, path: Path) -> Iterator[Document]:
        """Read the documents of a file or folder.

        Raises:
            DataError: As in `read_documents`.
        """
        return read_documents(path)

    def refuse(self, document: Document) -> Fault | None:
        """Return why a document cannot be used; None if it can."""
        text = document.text
        if len(text) > self.max_chars:
            return Fault("document", f"longer than max_chars={self.max_chars}", f"{len(text)} characters")
        if _SURROGATE.search(text):
            return Fault("document", "invalid characters", "a lone surrogate")
        if not self.is_prose(document):
            return None
        letters, ends = len(_LETTER.findall(text)), len(_END.findall(text))
        if letters < self.shortest or not ends:
            return Fault("document", "no sentence", f"{letters} letters and {ends} ends of sentences")
        if self.check_language and letters >= _SURE and (detected := language_of(text)) != self.language:
            return Fault("document", f"not in language={self.language}", f"looks like {detected!r}")
        return None

    def is_prose(self, document: Document) -> bool:
        """Whether a document has to consist of sentences in the pipeline's language."""
        return True

    def sampled_as(self, document: Document) -> str:
        """Return the group of a document; the gate samples some of each group. There is one by default."""
        return ""

    # --- drafts -----------------------------------------------------------------------------------

    @abstractmethod
    async def drafts(self, document: Document, ask: Ask) -> list[Draft]:
        """Return the drafts of a document, in an order that depends only on the document."""

    def checks_until(self, check: str) -> tuple[str, ...]:
        """Return the checks up to one after which no other could be made."""
        return self.checks[: self.checks.index(check) + 1]

    def rejected(self, fault: Fault, document: Document, kind: str, *distinction: str) -> Draft:
        """Return a draft, as `Draft.of` does, that failed a check after which no other could be made."""
        return Draft.of(document, kind, *distinction, checks=self.checks_until(fault.check), faults=(fault,))

    def blamed(self, fault: Fault, draft: Draft) -> tuple[str, ...]:
        """Return the prompts of `generating` that may have caused a fault of a draft."""
        return ()

    def unusable(self, name: str, text: str) -> str:
        """Return why `text` cannot take the place of the prompt `name`, besides its placeholders; empty if it can."""
        return ""

    # --- items ------------------------------------------------------------------------------------

    @abstractmethod
    def lines(self, item: Draft) -> Iterable[tuple[str, Row]]:
        """Return the rows an item adds to the benchmark's files, each with its file name."""

    @abstractmethod
    def pairs(self, item: Draft) -> Iterable[TextPair]:
        """Return the pairs of texts that could leak which one is true."""

    @abstractmethod
    def parts(self, item: Draft) -> Mapping[str, Mapping[str, str]]:
        """Return what annotators see of each part that they label, by the names of its texts.

        An item that is labelled as a whole has one part, without a name. The first word of a name, such as `label` of
        `label 2`, is the kind of part by which labels are reported.
        """

    @abstractmethod
    def key(self, item: Draft) -> str:
        """Return the text by which duplicates are detected (a question, a sentence)."""

    def group(self, item: Draft) -> str:
        """Return a label shared by items that are similar on purpose; empty by default.

        Items of one group are duplicates only if they are equal.
        """
        return ""

    def annotated(self, item: Draft, labels: Mapping[str, str | None]) -> Draft | None:
        """Return the item with the labels of its parts, None for those without an agreed one; None drops the item."""
        return None if labels[""] in (None, self.labels[-1]) else item


# --- prompts --------------------------------------------------------------------------------------


@cache
def prompt_texts(
    pipeline: str, names: Sequence[str], language: str, file: str | None, variant: str
) -> Mapping[str, str]:
    """Return the prompts `<pipeline>_<name>_<language>` by name.

    A user's file can replace some of the package's prompts, or provide all prompts of another language.

    Args:
        pipeline: Name of the pipeline.
        names: Names of the prompts.
        language: Language of the prompts (ISO 639-1).
        file: Path of the user's file, which may have any of the pipeline's prompts; None for the package's only.
        variant: Another wording of some prompts, `<pipeline>_<name>_<variant>_<language>`, which is used where there is
            one; but a prompt of the user's file without a variant takes precedence over a variant of this package.
            Empty for none.

    Raises:
        UsageError: The file cannot be read, contains unknown entries, or an entry is missing.
    """
    packaged = read_prompts(PROMPTS / f"{pipeline}.yaml")
    user_prompts = read_prompts(Path(file).expanduser()) if file else {}
    stems = tuple(name.rpartition("_")[0] + "_" for name in packaged)
    if unknown := sorted(name for name in user_prompts if not name.startswith(stems)):
        valid = ", ".join(f"{pipeline}_{name}_{language}" for name in names)
        raise UsageError(f"prompts {file}: {pipeline} has no prompt {unknown[0]!r}; valid names: {valid}")
    texts, missing = {}, []
    for name in names:
        stem = f"{pipeline}_{name}_"
        wordings = [*([f"{stem}{variant}_{language}"] if variant else []), f"{stem}{language}"]
        sources = [(source, entry) for source in (user_prompts, packaged) for entry in wordings if entry in source]
        source, entry = sources[0] if sources else (packaged, "")
        if "user" not in source.get(entry, {}):
            missing.append(wordings[-1])
            continue
        texts[name] = source[entry]["user"]
        # the placeholders the pipeline fills are those of the package's prompt in this language, or else in any
        reference = packaged.get(entry) or next(packaged[key] for key in sorted(packaged) if key.startswith(stem))
        expected, actual = (set(PLACEHOLDER.findall(text)) for text in (reference["user"], texts[name]))
        if wrong := sorted(expected ^ actual):
            problem = "lacks the placeholder" if wrong[0] in expected else "has the unknown placeholder"
            listed = ", ".join(f"{{{name}}}" for name in sorted(expected)) or "none"
            raise UsageError(f"prompts {file}: {entry} {problem} {{{wrong[0]}}}; expected {listed}")
    if missing:
        stem = f"{pipeline}_{names[0]}_"
        choices = sorted({name.removeprefix(stem) for name in {**packaged, **user_prompts} if name.startswith(stem)})
        raise UsageError(
            f"{pipeline} has no prompts in {language!r}; choose {' or '.join(choices)}, or provide a prompt file with "
            f"{', '.join(missing)}"
        )
    return texts


# --- the registry ---------------------------------------------------------------------------------


@cache
def pipelines() -> dict[str, type[Pipeline]]:
    """Return the pipelines of the modules in `pipelines/`, and those that packages add, by name, sorted."""
    from halu_tasks.builders import pipelines as packaged

    for module in pkgutil.iter_modules(packaged.__path__):
        importlib.import_module(f"{packaged.__name__}.{module.name}")
    classes = [cls for cls in Pipeline.__subclasses__() if cls.__module__.startswith(f"{packaged.__name__}.")]
    places = {cls.name: f"{cls.__module__}:{cls.__qualname__}" for cls in classes}
    return dict(sorted({**{cls.name: cls for cls in classes}, **added_parts("pipelines", places)}.items()))


def pipeline_class(name: str) -> type[Pipeline]:
    """Return a pipeline's class by name.

    Raises:
        UsageError: The pipeline does not exist.
    """
    classes = pipelines()
    if name not in classes:
        raise UsageError(f"unknown builder {name!r}{did_you_mean(name, classes)}; builders: {', '.join(classes)}")
    return classes[name]


def pipeline_named(name: str, options: Mapping[str, Any]) -> Pipeline:
    """Create a pipeline by name.

    Args:
        name: Name of the pipeline.
        options: The user's options; None stands for the default.

    Raises:
        UsageError: The pipeline or an option does not exist, or a value has the wrong type.
    """
    cls = pipeline_class(name)
    settings, chosen = settings_of(cls), {key: value for key, value in options.items() if value is not None}
    values = {key: _converted(settings[key], value) if key in settings else value for key, value in chosen.items()}
    try:
        return cls(**checked_settings(cls, values))
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def _converted(setting: Setting, value: Any) -> Any:
    """Return a value as a string if it should be one, which YAML may have read as something else."""
    if setting.type is not str:
        return value
    if setting.name == "language" and value is False:
        return "no"  # Norwegian
    # a model is either a name or an existing folder
    path = Path(str(value)).expanduser()
    is_file = any(isinstance(mark, KeptFile) for mark in setting.extras)
    is_path = is_file or (setting.name.endswith("_model") and path.is_dir())
    return str(path.absolute()) if is_path else str(value)
