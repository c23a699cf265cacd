"""Define the questions to a judge and read its verdicts; no model is called here.

Text from data or from a model is put between two identical lines that do not occur in it, so that nothing in it can
be mistaken for an instruction or a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from halu_tasks.core.hashing import short_hash
from halu_tasks.core.items import Item
from halu_tasks.core.prompting import fill
from halu_tasks.scorers.reading.lexicon import phrases
from halu_tasks.scorers.reading.verdicts import VerdictReader

if TYPE_CHECKING:
    from halu_tasks.knowledge import Snippet

CONFLICT, CONSISTENT = "conflict", "consistent"
Sense = Literal["good", "bad", "partial", "neutral"]
"""What a label says of a reply: that it is right, wrong, right in part, or neither, as when it does not answer."""
REPLY, TARGET, CLAIM, PASSAGES = "reply", "target", "claim", "passages"
"""The placeholders, besides fields, of a judge's prompt in a task file."""
NOTHING_FOUND = "(nothing was found)"
"""What is shown in place of passages if none was found."""
FAILED = "failed"
"""The label of a question on which the judge gave no verdict."""
_BESIDE = "_beside"
"""What the kind of verdicts ends with that report nothing, on replies of which another verdict reports something."""
JUDGE_FAILED = "judge_failed"
"""The metric of the share of questions on which it gave none."""


class Verdict(NamedTuple):
    """A judge's verdict on one question.

    Attributes:
        label: One of the reader's labels, or `failed`.
        reason: The judge's reason, or what failed.
        about: The part of the reply that the verdict is about, if there are questions about several parts.
        left_out: How many characters of the judged text the judge was not shown, because that is too long.
    """

    label: str
    reason: str = ""
    about: str = ""
    left_out: int = 0


class Question(NamedTuple):
    """A question to a judge.

    Attributes:
        fields: The values of the prompt's placeholders.
        about: The part of the reply that it is about, if there are questions about several parts.
        left_out: How many characters of the judged text it leaves out, because that is too long.
    """

    fields: Mapping[str, str]
    about: str = ""
    left_out: int = 0


Questions = Callable[[Item, str, int], list[Question]]
"""Returns the questions about an item's reply, of which so many characters are shown; may be none."""


@dataclass(frozen=True, eq=False)  # by identity, as a key of caches: its mappings have no hash
class JudgeSpec:
    """The questions to a judge about a reply, and how the judge's reply is read.

    Attributes:
        prompt: The text of a question, with placeholders.
        questions: Returns the questions. If the judge lists the claims first, they are about the sentences, which stand
            for claims that are not known yet.
        read: Reads the judge's reply as one of a few labels.
        unjudged: The figure to look at if no judge is used.
        coverage: The metric of how much of a reply the questions cover, if a reply can avoid questions; a revision that
            lowers it leaves less that can be found wrong.
        labels: What each label says of what was judged; empty if the judge's errors cannot be corrected.
        measurement: The measurement that counts the hallucinations of a reply: one for each positive verdict, and those
            that are found without a judge.
        measurements: Further measurements of a reply with one verdict, and the value of each by the verdict's label.
        precision: The share of the reported hallucinations that the paper takes to be real, if it says one.
        claims: How the claims of a reply are found if they are not known from the reply alone; None if they are, or if
            there is one question about a reply. The labels are then of claims, and recorded verdicts may be on any.
        parts: Whether there are questions about several parts of a reply, as there are of claims.
    """

    prompt: str
    questions: Questions
    read: VerdictReader
    unjudged: str
    coverage: str | None = None
    labels: Mapping[str, Sense] = field(default_factory=dict)
    measurement: str = ""
    measurements: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    precision: float | None = None
    claims: ClaimSpec | None = None
    parts: bool = False

    def text(self, question: Question) -> str:
        """Return the text of a question."""
        return fill(self.prompt, question.fields)

    @property
    def positive(self) -> tuple[str, ...]:
        """The labels that report a hallucination."""
        return tuple(label for label, sense in self.labels.items() if sense == "bad")

    @cached_property
    def kinds(self) -> Mapping[str, bool]:
        """The kinds of verdicts of each of which labels are a random part, and whether one reports a hallucination."""
        reports = {label: sense == "bad" for label, sense in self.labels.items()}
        if not self.parts:
            return reports
        beside = {label + _BESIDE: False for label, is_report in reports.items() if not is_report}
        return {**reports, **beside, FAILED: False}

    def kind(self, label: str, is_reported: bool) -> str | None:
        """Return the kind of a verdict; None if it is none of `kinds`, as is a failure on a whole reply.

        Args:
            label: The verdict's label.
            is_reported: Whether any verdict on the reply reports a hallucination.
        """
        beside = label + _BESIDE
        if is_reported and beside in self.kinds:
            return beside
        return label if label in self.kinds else None

    def in_words(self, kind: str) -> str:
        """Return how a warning names a kind of verdicts."""
        label = kind.removesuffix(_BESIDE)
        beside = f", on replies of which another verdict is {' or '.join(self.positive)}" if kind != label else ""
        return f"{label!r}{beside}"

    def is_said_by(self, columns: Collection[str]) -> bool:
        """Return whether a metric that reads these columns is what a judge says."""
        shares = ("good", "bad") if self.claims else ()
        return not {self.measurement, *self.measurements, *shares}.isdisjoint(columns)

    @property
    def has_neutral(self) -> bool:
        """Whether a label says that a reply is neither right nor wrong, without which none fits one that declines."""
        return self.claims is None and "neutral" in self.labels.values()

    def __deepcopy__(self, memo: object) -> JudgeSpec:
        """Return itself: lm-eval copies task files, and a copy of the reader would differ from it."""
        return self


@dataclass(frozen=True)
class ClaimSpec:
    """How a judge finds the claims of a reply, each of which it is then asked about.

    Attributes:
        listing: What it is asked first; `claims_of` reads the claims from the verdict.
        question: Returns the question about a claim of the reply to an item, with the passages found for it.
        looks_up: Whether passages are looked up for each claim.
    """

    listing: JudgeSpec
    question: Callable[[Item, str, Sequence[Snippet]], Question]
    looks_up: bool


def claims_of(listed: Verdict) -> list[str]:
    """Return the claims that a judge listed, in order."""
    return [claim for claim in listed.reason.split("\n") if claim]


def verdict_schema(reader: VerdictReader) -> dict[str, Any]:
    """Return the JSON Schema of the object that a judge is asked for: first the reason, then the verdict."""
    verdict = reader.names[0]
    return {
        "type": "object",
        "properties": {reader.reason: {"type": "string"}, verdict: {"type": "string", "enum": reader.asked}},
        "required": [reader.reason, verdict],
        "additionalProperties": False,
    }


read_verdict = VerdictReader(phrases("conflict"))
"""Reads a judge's reply as `conflict` or `consistent`."""


def excerpt(text: str, longest: int) -> tuple[str, int]:
    """Return the beginning and the end of a text that is too long, and how many characters between them are left out.

    Args:
        text: The text.
        longest: The most characters of it that are shown.
    """
    left_out = max(len(text) - longest, 0)
    if not left_out:
        return text, 0
    end = longest // 2
    line = f"[{left_out} characters are left out here]"
    return f"{text[: longest - end]}\n{line}\n{text[len(text) - end :]}", left_out


def fence(text: str) -> str:
    """Return the text between two identical lines that do not occur in it.

    The line depends only on the text, so the same text always gives the same prompt.
    """
    text = text.encode("utf-8", "replace").decode()
    salt = 0
    while (mark := "=====" + short_hash(f"{salt}{text}")) in text:
        salt += 1
    return f"{mark}\n{text}\n{mark}"


def shown_passages(passages: Sequence[Snippet]) -> str:
    """Return passages as a model is shown them, numbered and with their titles, between fences."""
    if not passages:
        return NOTHING_FOUND
    parts = (f"[{n}] {title}\n{text}" if title else f"[{n}] {text}" for n, (_, title, text) in enumerate(passages, 1))
    return fence("\n\n".join(part.strip() for part in parts))
