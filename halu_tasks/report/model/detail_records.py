"""The records of a column's details: what the models answered, and where they differ.

Fields and their order are keys of `report.json`. Entries and columns are referred to by id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from halu_tasks.scorers.metrics import Estimate
from halu_tasks.scorers.reading.judge import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDetails:
    """What the models answered in a column, and where they differ.

    Attributes:
        column: The column's id.
        breakdowns: The headline by kinds of item.
        confusion: For each entry, the answers by target.
        calibration: For each entry, the calibration of its probabilities.
        modes: For each entry, the figures in both modes; None if they cannot be compared.
        modes_missing: Why `modes` is None; otherwise empty.
        items: The items that are shown.
    """

    column: str
    breakdowns: Sequence[Breakdown]
    confusion: Sequence[Confusion]
    calibration: Sequence[Calibration]
    modes: Sequence[BothModes] | None
    modes_missing: str
    items: Sequence[ShownItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """The headline by the values of a tag, by the length of the prompt, or by difficulty."""

    by: str
    metric: str
    values: Sequence[BreakdownValue]
    cells: Sequence[BreakdownRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakdownValue:
    """A value of a tag, and the number of items that have it; None if it is not the same for all entries."""

    value: str
    n: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakdownRow:
    """The figures of an entry, in the order of the breakdown's values.

    Attributes:
        entry: The entry's id.
        figures: The figures; None for those that are not defined.
        n: The numbers of items; None if they are the same for all entries.
    """

    entry: str
    figures: Sequence[Estimate | None]
    n: Sequence[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often items with each target got each answer; `counts` has the shape (targets, answers)."""

    entry: str
    targets: Sequence[str]
    answers: Sequence[str]
    counts: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Items with a probability in [low, high): their number, mean probability, and share with the label."""

    low: float
    high: float
    n: int
    mean: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The calibration of a label's probabilities; `without` is the number of items without one."""

    entry: str
    label: str
    bins: Sequence[Bin]
    without: int
    ece: Estimate
    brier: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class BothModes:
    """The same replies scored in both modes.

    In JSON, `figures` are the keys `strict` and `paper`, and `unanswered` are `unanswered_strict` and
    `unanswered_paper`, with the column's own mode first.

    Attributes:
        entry: The entry's id.
        metric: A metric that both modes have.
        figures: Its figure in each mode.
        unanswered: The number of replies without an answer in each mode.
        changed: The number of replies with different figures in the two modes.
        n: The number of replies.
    """

    entry: str
    metric: str
    figures: Mapping[str, Estimate | None]
    unanswered: Mapping[str, int]
    changed: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    """An item with the replies of all entries.

    Attributes:
        id: The item's id.
        title: The item's question, or the beginning of what it is about, in one line.
        kinds: What it was chosen for: `worst`, `disagreeing`, `modes differ`.
        right: The number of entries that are entirely right.
        entries: The number of entries.
        prompt: The prompt, possibly truncated.
        system: The system message, possibly truncated.
        target: The target, possibly truncated.
        cut: The number of characters left out of these three.
        tags: The item's tags.
        text: The text in which spans are marked; None if the task does not ask for spans.
        replies: The replies.
    """

    id: str
    title: str
    kinds: Sequence[str]
    right: int
    entries: int
    prompt: str
    system: str
    target: str
    cut: int
    tags: Mapping[str, str]
    text: GoldText | None
    replies: Sequence[ShownReply]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldText:
    """A text and its gold spans, as (start, end) in characters."""

    text: str
    gold: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownReply:
    """A reply to an item.

    Attributes:
        entry: The entry's id.
        reply: The reply, possibly truncated.
        cut: The number of characters left out of it.
        answer: What was read from it: a label, a list of strings, or None without an answer.
        outcome: What became of it: `answered`, `inferred`, `unparsed`, `abstained` or `empty`.
        target: The correct answer, if the item was asked in another order; otherwise None.
        value: The headline's figure of this reply; None if the metric does not define one.
        reason: Why there is no answer, or what else a reader should know.
        verdicts: The first verdicts of the judge.
        verdicts_left_out: The number of further verdicts.
        spans: Where the answer's strings are in the text; None if no spans are marked.
        unplaced: Strings of the answer that are not in the text.
        probability: The probability of the label, if it is known.
        other: The score in the other mode; None for a judged task.
    """

    entry: str
    reply: str
    cut: int
    answer: str | Sequence[str] | None
    outcome: str
    target: str | None
    value: float | None
    reason: str
    verdicts: Sequence[Verdict]
    verdicts_left_out: int
    spans: Sequence[Sequence[int]] | None
    unplaced: Sequence[str]
    probability: float | None
    other: OtherScore | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherScore:
    """The answer and figure of a reply in the other mode."""

    scoring: str
    answer: str | Sequence[str] | None
    outcome: str
    value: float | None
