"""Recorded verdicts of a judge, another program or people, which replace asking a judge."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import short_hash
from halu_tasks.core.items import Item
from halu_tasks.data.rows import Row, json_records, value_at
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Verdict
from halu_tasks.scorers.judge_correction import squeezed
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.tasks.definition import Task
from halu_tasks.tasks.label_tables import id_of, read_label_rows

FIELDS = ("id", "verdict", "claim", "reply", "reason", "by", "task")
"""The fields of a row; `verdict_columns` may give each another column."""
_NO_CLAIMS = ""
"""The label of a reply in which no claim was found."""
_RECORDS = "records"
_TRUTH = {"true": True, "false": False}
_COMPARED = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}
_CONDITION = re.compile(r"(.+?)(<=|>=|<|>|=)(.+)")


class RecordedVerdict(NamedTuple):
    """A verdict on a part of a reply.

    Attributes:
        reply: The reply, or its judged part; None if the file does not say, so that the verdict is on any reply.
        label: The judge's label; empty if the reply was found to have no claims.
        reason: The reason, if there is one.
        by: Who gave it; empty if the file does not say.
        about: The part of the reply that it is on (`Verdict.about`), if a reply has several.
    """

    reply: str | None
    label: str
    reason: str = ""
    by: str = ""
    about: str = ""


@dataclass(frozen=True)
class RecordedVerdicts:
    """The verdicts of a file.

    Attributes:
        hash: A short hash of the verdicts, which versions show.
        verdicts: The verdicts by item, in the order of the file.
    """

    hash: str
    verdicts: Mapping[str, Sequence[RecordedVerdict]]

    def __len__(self) -> int:
        return sum(verdict.label != _NO_CLAIMS for of_item in self.verdicts.values() for verdict in of_item)

    @property
    def judge(self) -> str:
        """The name of the judge, as reports show it."""
        by = sorted({verdict.by for of_item in self.verdicts.values() for verdict in of_item} - {""})
        return f"recorded by {', '.join(by)} ({self.hash})" if by else f"recorded ({self.hash})"

    def of_text(self, task: Task, mode: str, item: Item, text: str, longest: int) -> list[Verdict]:
        """Return the verdicts on a text, one for each question about it; `failed` where there is none.

        Where a judge lists the claims of a reply, the claims of the file are the questions. A text without a row is
        not known to have no claims, so that it has one verdict, `failed`.

        Args:
            task: The task.
            mode: How replies are read, `strict` or `paper`.
            item: The item.
            text: The reply, or the part of it that is judged.
            longest: As in `JudgeSpec.questions`.
        """
        assert task.judge_spec
        plain_text, candidates = _without_reasoning(text), self.verdicts.get(item.id, ())
        replies = {verdict.reply for verdict in candidates} - {None}
        comparable = {
            reply: (_without_reasoning(reply), _without_reasoning(task.judged_text(mode, item, reply)))
            for reply in replies
            if reply
        }

        def is_on_text(verdict: RecordedVerdict, claim: str = "") -> bool:
            return verdict.reply is None or any(
                _is_reply_of(reply, plain_text, claim) for reply in comparable[verdict.reply]
            )

        questions, none = task.judge_spec.questions(item, text, longest), Verdict(FAILED, "no recorded verdict")
        if task.judge_spec.claims:
            on_text = [verdict for verdict in candidates if is_on_text(verdict)] if questions else []
            verdicts = [Verdict(one.label, one.reason, one.about) for one in on_text if one.label != _NO_CLAIMS]
            return verdicts if on_text or not questions else [none]
        verdicts = []
        for about in (question.about for question in questions):
            of_part = (one for one in candidates if squeezed(one.about) == squeezed(about) and is_on_text(one, about))
            recorded = next(of_part, none)
            verdicts.append(Verdict(recorded.label, recorded.reason, about))
        return verdicts


def _is_reply_of(reply: str, text: str, claim: str) -> bool:
    """Whether the reply of a verdict is a text, or the beginning of it that details keep.

    A claim in it says which it is, whatever heading details leave out.
    """
    begin = reply.removesuffix("…")
    return reply == text or (begin != reply and text.startswith(begin)) or bool(claim and begin in text)


def _without_reasoning(reply: str) -> str:
    """Return a reply without reasoning, which other programs leave out."""
    return squeezed(ReplyText(reply).text)


class LabelCondition(NamedTuple):
    """What a label is known by in the output of another program.

    Attributes:
        label: The label.
        column: The column, or a dotted path. A list counts as its length, true as 1 and false as 0.
        sign: How its value compares to another.
        value: The other value.
    """

    label: str
    column: str
    sign: str
    value: str

    def holds(self, value: Any) -> bool:
        """Return whether it holds of a value.

        Raises:
            ValueError: The value is to be more or less than a number, and is none.
        """
        number, other = _number(value), _number(self.value)
        if self.sign == "=" and None in (number, other):
            return str(value).strip().casefold() == self.value.strip().casefold()
        if number is None:
            raise ValueError(f"{self.column} is {value!r}, expected a number or a list")
        assert other is not None
        return bool(_COMPARED[self.sign](number, other))


def _number(value: Any) -> float | None:
    if isinstance(value, list):
        return float(len(value))
    try:
        return float(_TRUTH.get(str(value).strip().casefold(), value))
    except (TypeError, ValueError):
        return None


def _is_missing(value: Any) -> bool:
    """Whether there is no value. Failed measurements are often written as nan."""
    return value is None or not str(value).strip() or str(value).strip().casefold() == "nan"


@dataclass(frozen=True)
class VerdictColumns:
    """Where the rows of another program's output have what a row of verdicts has.

    Attributes:
        columns: Columns by field; dotted paths name fields within others, and the place in a list.
        conditions: What labels are known by, in the place of a column with labels.
        records: Where the list of rows is in a JSON file; None if the file is rows.
        present: The columns that a row had so far.
    """

    columns: Mapping[str, str]
    conditions: Sequence[LabelCondition]
    records: str | None = None
    present: set[str] = field(default_factory=set)

    @classmethod
    def parse(cls, pairs: Sequence[str], judged: JudgeSpec) -> VerdictColumns:
        """Read the option `verdict_columns`.

        Raises:
            UsageError: A part names neither a field nor a label, or what it says of a label is no condition.
        """
        labels = {label.casefold(): label for label in judged.read.labels}
        columns, conditions = dict[str, str](), list[LabelCondition]()
        for pair in pairs:
            name, _, column = pair.partition(":")
            if name in (*FIELDS, _RECORDS):
                columns[name] = column
            elif label := labels.get(name.casefold()):
                condition = _CONDITION.fullmatch(column)
                if not condition or (condition[2] != "=" and _number(condition[3]) is None):
                    raise UsageError(
                        f"option verdict_columns: expected a condition such as {name}:COLUMN<0.5, {name}:COLUMN>=0.5 "
                        f"or {name}:COLUMN=VALUE, got {pair!r} (in a shell, put the option in quotes)"
                    )
                conditions.append(LabelCondition(label, *condition.groups()))
            else:
                names = f"{', '.join((*FIELDS, _RECORDS))}, or a label of the judge: {', '.join(judged.read.labels)}"
                raise UsageError(f"option verdict_columns: {name!r} in {pair!r} is not one of {names}")
        if conditions and "verdict" in columns:
            raise UsageError("option verdict_columns: give the column of the verdict or conditions of labels, not both")
        records = columns.pop(_RECORDS, None)
        return cls(columns, conditions, records)

    def read(self, path: Path) -> Iterator[tuple[int, Row]]:
        """Read (number, row of verdicts) of each row of a file.

        Raises:
            DataError: The file cannot be read, a column is missing, or not exactly one label's condition holds.
        """
        needed = dict.fromkeys([self.columns.get("id", "id"), *self._verdict_columns])
        lines = json_records(path, self.records) if self.records else read_label_rows(path, needed)
        for number, row in lines:
            try:
                yield number, self._renamed(row) if self.columns or self.conditions else row
            except ValueError as error:
                raise DataError(f"{path}:{number}: {error}") from None
        named = [*self.columns.values(), *(condition.column for condition in self.conditions)]
        if missing := [column for column in named if column not in self.present]:
            raise DataError(f"{path}: no row has {missing[0]!r}, which option verdict_columns names")

    @property
    def _verdict_columns(self) -> list[str]:
        return [condition.column for condition in self.conditions] or [self.columns.get("verdict", "verdict")]

    def _renamed(self, row: Row) -> Row:
        """Convert a row of another program to a row of verdicts.

        Raises:
            ValueError: Not exactly one label's condition holds.
        """
        renamed = {name: self._value(row, self.columns[name]) for name in FIELDS if name in self.columns}
        renamed = {name: row[name] for name in FIELDS if name in row} | renamed
        if self.conditions:
            renamed["verdict"] = self._label(row)
        if "reply" in self.columns and _is_missing(renamed["reply"]):
            renamed["verdict"] = None  # otherwise it would be on any reply
        return {name: value for name, value in renamed.items() if not _is_missing(value)}

    def _value(self, row: Row, column: str) -> Any:
        try:
            value = value_at(row, column)
        except ValueError:
            if column == self.columns.get("id"):
                raise
            return None  # programs leave out what is not known; a column that no row has is an error
        self.present.add(column)
        return value

    def _label(self, row: Row) -> str | None:
        values = {condition.column: self._value(row, condition.column) for condition in self.conditions}
        if any(map(_is_missing, values.values())):
            return None
        labels = {each.label for each in self.conditions if each.holds(values[each.column])}
        if len(labels) != 1:
            what = f"the conditions of {' and '.join(sorted(labels))} hold" if labels else "no label's condition holds"
            raise ValueError(f"{what}: {', '.join(f'{name} is {value!r}' for name, value in values.items())}")
        return labels.pop()


def read_verdicts(
    path: str, task: Task, ids: Collection[str] | None = None, columns: Sequence[str] = ()
) -> RecordedVerdicts:
    """Read the verdicts on replies to a judged task: JSON Lines, a JSON array, a CSV file or a workbook.

    A row has `id` and `verdict`, a label of the judge, or true or false where it has two labels, of which true is the
    bad one; optionally `claim`, the part of the reply, `reply`, `reason` and `by`. A row of several has them in
    `verdicts`, each with `label` and `about`, as details of `halu-tasks score`. Rows without a verdict, and those that
    name another task, are left out. Where a judge lists the claims of a reply, an empty list says that it has none,
    and the same claim may be twice in a list.

    Args:
        path: The file.
        task: The task.
        ids: The ids of the task's items; None if they are not known.
        columns: The option `verdict_columns`.

    Raises:
        UsageError: The option does not fit the task.
        DataError: The file cannot be read or has no verdict of the task, a value is invalid, a part of a reply has
            several verdicts, or there is no item with an id.
    """
    assert task.judge_spec
    verdicts, seen = defaultdict[str, list[RecordedVerdict]](list), defaultdict[tuple[str, str], set[str | None]](set)
    for number, row in VerdictColumns.parse(columns, task.judge_spec).read(Path(path).expanduser()):
        try:
            of_row = [*_verdicts(row, task.name, task.judge_spec)]
            keys = [
                ((id, squeezed(one.about)), None if one.reply is None else squeezed(one.reply)) for id, one in of_row
            ]
            repeated = not task.judge_spec.claims and len({*keys}) < len(keys)
            if repeated or any({on, None} & seen[part] or (on is None and seen[part]) for part, on in keys):
                id = of_row[0][0]
                raise ValueError(f"another verdict on the same reply to {id!r}; each part of a reply has one")
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        for (part, on), (id, verdict) in zip(keys, of_row, strict=True):
            seen[part].add(on)
            verdicts[id].append(verdict)
    if not verdicts:
        labels = ", ".join(task.judge_spec.read.labels)
        raise DataError(f"{path}: contains no verdict of {task.name}; expected one of {labels} in 'verdict'")
    if ids is not None and (unknown := sorted(verdicts.keys() - set(ids))):
        of = f"{len(unknown)} of {len(verdicts)} ids"
        raise DataError(f"{path}: {of} are not items of {task.name}, such as {unknown[0]!r}")
    content = sorted(
        "\0".join(map(str, (id, squeezed(one.about), *one[:-1]))) for id, of_item in verdicts.items() for one in of_item
    )
    return RecordedVerdicts(short_hash("\n".join(content))[:8], verdicts)


def _verdicts(row: Row, task: str, judged: JudgeSpec) -> Iterator[tuple[str, RecordedVerdict]]:
    """Read the verdicts of a row, each with the item's id.

    Raises:
        ValueError: A value is invalid.
    """
    if row.get("task") not in (None, "", task):
        return
    id, by = id_of(row), str(row.get("by") or "")
    listed, answer = row.get("verdicts"), row.get("reply", row.get("answer"))
    facts = row.get("facts")  # of details, but other programs may have a column of this name
    if judged.claims and listed is None and answer and isinstance(facts, dict) and facts.get("asked") == 0:
        listed = []  # which details leave out
    if isinstance(listed, list):
        of_reply = answer if isinstance(answer, str) and answer else None
        if judged.claims and not listed:
            yield id, RecordedVerdict(of_reply, _NO_CLAIMS, by=by)
        for verdict in listed:
            if not isinstance(verdict, dict) or "label" not in verdict:
                raise ValueError(f"expected objects with 'label' in 'verdicts', as of --details, got {verdict!r}")
            if verdict["label"] != FAILED:
                values = _label(verdict["label"], judged), str(verdict.get("reason") or ""), by
                yield id, RecordedVerdict(of_reply, *values, about=str(verdict.get("about") or ""))
        return
    claim, reply, verdict, reason = (row.get(name) for name in ("claim", "reply", "verdict", "reason"))
    if not all(isinstance(text, str | None) for text in (claim, reply, reason)):
        raise ValueError("expected strings in 'claim', 'reply' and 'reason'")
    if verdict is not None and str(verdict).strip():
        if judged.claims and not (claim and claim.strip()):
            raise ValueError(f"expected the claim that the verdict is on in 'claim', got {claim!r}")
        yield id, RecordedVerdict(reply or None, _label(verdict, judged), reason or "", by, claim or "")


def _label(verdict: Any, judged: JudgeSpec) -> str:
    text = str(verdict).strip().casefold()
    if label := {name.casefold(): name for name in judged.read.labels}.get(text):
        return label
    bad, good = judged.positive, [name for name in judged.read.labels if name not in judged.positive]
    if text in _TRUTH and len(bad) == len(good) == 1:
        return bad[0] if _TRUTH[text] else good[0]
    truth = " or true or false" if len(bad) == len(good) == 1 else ""
    raise ValueError(
        f"verdict is {verdict!r}, expected {' or '.join(judged.read.labels)}{truth}; other values: halu-tasks score "
        f"--verdict-columns '{judged.read.labels[0]}:verdict=VALUE,…'"
    )
