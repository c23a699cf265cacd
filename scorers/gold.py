"""What scorers need to know of an item in addition to its target: one record for each kind of answer or benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import TypedDict

from halu_tasks.core.items import Gold
from halu_tasks.text.marks import Mark
from halu_tasks.text.spans import Span


@dataclass(frozen=True, slots=True)
class LabelAnnotation:
    """The label that an annotator gives to an item.

    Attributes:
        by: The annotator.
        label: The label; empty if there is none.
        values: The different values that are given, each with its label, None if it is left out; only pooling of
            `distinct` values has any.
    """

    by: str
    label: str
    values: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class SpanAnnotation:
    """The spans of an item's text that an annotator marks."""

    by: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelGold(Gold):
    """The gold of a label, which is the target.

    Attributes:
        annotators: What each of several people says, of which the target is pooled.
        pool: How it is pooled; empty without annotators.
        classes: The labels by scoring mode, by class, if the target depends on the mode.
    """

    annotators: Sequence[LabelAnnotation] = ()
    pool: str = ""
    classes: Mapping[str, Mapping[str, str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanGold(Gold):
    """The gold of passages of a text.

    Attributes:
        text: The text that the model is shown.
        spans: The passages, as pairs of start and end in characters of the text.
        strings: The passages themselves.
        categories: The categories of the spans; None if they have none.
        degrees: All marks, if spans have degrees, else None.
        other_text: The text of the row of the other error type, with which the published evaluation of ReFACT scores a
            reply a second time; None if there is no such row.
        annotators: What each of several people marks, of which the spans are pooled.
        pool: How it is pooled; empty without annotators.
    """

    text: str
    spans: Sequence[Span] = ()
    strings: Sequence[str] = ()
    categories: Sequence[str] | None = None
    degrees: Sequence[Mark] | None = None
    other_text: str | None = None
    annotators: Sequence[SpanAnnotation] = ()
    pool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StringsGold(Gold):
    """The gold of strings in a fixed order.

    Attributes:
        originals: The strings.
        published_originals: The strings as the published evaluation of ReFACT reads them from its rows.
    """

    originals: Sequence[str]
    published_originals: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeGold(Gold):
    """The gold of a type of error, which is the target; `types` are those that the question offers."""

    types: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationGold(Gold):
    """The gold of a label with an explanation (FactCHD, section 5.1).

    Attributes:
        reason: The reference explanation, with its label.
        alpha: The weight of the explanation's body in ExpMatch, 0 to 1.
    """

    reason: str
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGold(Gold):
    """The gold of an open answer (C-FAITH): the question, and the answers that are right and hallucinated."""

    question: str
    correct_answer: str
    halu_answer: str


class Paper(TypedDict):
    """A paper of a list.

    Attributes:
        name: The name under which it is cited.
        title: Its title.
        abstract: Its abstract; may be empty.
        authors: The names of its authors.
        year: Its year; None if it is missing.
    """

    name: str
    title: str
    abstract: str
    authors: list[str]
    year: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryGold(Gold):
    """The gold of a summary of papers (Factored Verification).

    Attributes:
        query: The question that the summary answers.
        papers: The papers, with the names by which they are cited.
        adjustment: The share (0 to 1) of the claims called unsupported that are, by which their number is corrected.
        summary: The summary of a worked example; otherwise empty.
    """

    query: str
    papers: Sequence[Paper]
    adjustment: float
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleGold(Gold):
    """What a worked example says of a summary: why it is right or hallucinated, and its checked claims."""

    explanation: str = ""
    claims: str = ""
