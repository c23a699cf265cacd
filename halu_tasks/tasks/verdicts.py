"""Recorded verdicts: what a judge, another program or people said of replies, in the place of asking."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.hashing import short_hash
from halu_tasks.core.items import Item
from halu_tasks.data.rows import Row, json_records, value_at
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Verdict
from halu_tasks.scorers.reading.reply import ReplyText
from halu_tasks.scorers.reference import squeezed
from halu_tasks.tasks.reference import read_label_rows
from halu_tasks.tasks.task import Task

FIELDS = ("id", "verdict", "claim", "reply", "reason", "by", "task")
"""The fields of a row; `verdict_columns` may give each another column."""
_RECORDS = "records"
_TRUTH = {"true": True, "false": False}
_COMPARED = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}
_CONDITION = re.compile(r"(.+?)(<=|>=|<|>|=)(.+)")


class RecordedVerdict(NamedTuple):
    """A verdict on a part of a reply.

    Attributes:
        reply: The reply, or its judged part; None if the file does not say, so that the verdict is on any reply.
        label: The judge's label.
        reason: The reason, if there is one.
        by: Who gave it; empty if the file does not say.
    """

    reply: str | None
    label: str
    reason: str = ""
    by: str = ""


@dataclass(frozen=True)
class RecordedVerdicts:
    """The verdicts of a file.

    Attributes:
        hash: A short hash of the verdicts, which versions show.
        verdicts: The verdicts by item and part (`Verdict.about`), several if they are on different replies.
    """

    hash: str
    verdicts: Mapping[tuple[str, str], tuple[RecordedVerdict, ...]]

    def __len__(self) -> int:
        return sum(map(len, self.verdicts.values()))

    @property
    def judge(self) -> str:
        """The name of the judge, as reports show it."""
        by = sorted({verdict.by for given in self.verdicts.values() for verdict in given} - {""})
        return f"recorded by {', '.join(by)} ({self.hash})" if by else f"recorded ({self.hash})"

    def of_text(self, task: Task, mode: str, item: Item, text: str, longest: int) -> list[Verdict]:
        """Return the verdicts on a text, one for each question about it; `failed` where there is none.

        Args:
            task: The task.
            mode: How replies are read, `strict` or `paper`.
            item: The item.
            text: The reply, or the part of it that is judged.
            longest: As in `JudgeSpec.questions`.
        """
        assert task.judged
        own, verdicts = _shown(text), []
        for question in task.judged.questions(item, text, longest):
            label, reason = FAILED, "no recorded verdict"
            for given in self.verdicts.get((item.id, squeezed(question.about)), ()):
                replies = () if given.reply is None else (given.reply, task.judged_text(mode, item, given.reply))
                if not replies or any(_is_on(_shown(reply), own, question.about) for reply in replies):
                    label, reason = given.label, given.reason
                    break
            verdicts.append(Verdict(label, reason, question.about))
        return verdicts


def _is_on(reply: str, text: str, claim: str) -> bool:
    """Return whether the reply of a verdict has a text, or is the beginning of it that details keep.

    A claim in it says which it is, whatever heading details leave out.
    """
    begin = reply.removesuffix("…")
    return reply == text or (begin != reply and text.startswith(begin)) or bool(claim and begin in text)


def _shown(reply: str) -> str:
    """Return a reply without reasoning, which other programs leave out."""
    return squeezed(ReplyText(reply).text)


class Condition(NamedTuple):
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

    def holds(self, found: Any) -> bool:
        """Return whether it holds of a value.

        Raises:
            ValueError: The value is to be more or less than a number, and is none.
        """
        number, other = _number(found), _number(self.value)
        if self.sign == "=" and None in (number, other):
            return str(found).strip().casefold() == self.value.strip().casefold()
        if number is None:
            raise ValueError(f"{self.column} is {found!r}, expected a number or a list")
        assert other is not None
        return bool(_COMPARED[self.sign](number, other))


def _number(value: Any) -> float | None:
    """Return a value as a number; None if it is none."""
    if isinstance(value, list):
        return float(len(value))
    try:
        return float(_TRUTH.get(str(value).strip().casefold(), value))
    except (TypeError, ValueError):
        return None


def _is_missing(value: Any) -> bool:
    """Return whether there is no value; a failed measurement is often written as nan."""
    return value is None or not str(value).strip() or str(value).strip().casefold() == "nan"


@dataclass(frozen=True)
class VerdictColumns:
    """Where the rows of another program's output have what a row of verdicts has.

    Attributes:
        columns: Columns by field; dotted paths name fields within others, and the place in a list.
        conditions: What labels are known by, in the place of a column with labels.
        records: Where the list of rows is in a JSON file; None if the file is rows.
        found: The columns that a row had so far.
    """

    columns: Mapping[str, str]
    conditions: Sequence[Condition]
    records: str | None = None
    found: set[str] = field(default_factory=set)

    @classmethod
    def parse(cls, pairs: Sequence[str], judged: JudgeSpec) -> VerdictColumns:
        """Read the option `verdict_columns`.

        Raises:
            UsageError: A part names neither a field nor a label, or what it says of a label is no condition.
        """
        labels = {label.casefold(): label for label in judged.read.labels}
        columns, conditions = dict[str, str](), list[Condition]()
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
                conditions.append(Condition(label, *condition.groups()))
            else:
                known = f"{', '.join((*FIELDS, _RECORDS))}, or a label of the judge: {', '.join(judged.read.labels)}"
                raise UsageError(f"option verdict_columns: {name!r} in {pair!r} is none of {known}")
        if conditions and "verdict" in columns:
            raise UsageError("option verdict_columns: give the column of the verdict or conditions of labels, not both")
        records = columns.pop(_RECORDS, None)
        return cls(columns, conditions, records)

    def read(self, path: Path) -> Iterator[tuple[int, Row]]:
        """Read (number, row of verdicts) of each row of a file.

        Raises:
            DataError: The file cannot be read, a column is missing, or no condition holds, or those of several labels.
        """
        own = dict.fromkeys([self.columns.get("id", "id"), *self._verdict_columns])
        lines = json_records(path, self.records) if self.records else read_label_rows(path, own)
        for number, row in lines:
            try:
                yield number, self._renamed(row) if self.columns or self.conditions else row
            except ValueError as error:
                raise DataError(f"{path}:{number}: {error}") from None
        named = [*self.columns.values(), *(condition.column for condition in self.conditions)]
        if missing := [column for column in named if column not in self.found]:
            raise DataError(f"{path}: no row has {missing[0]!r}, which option verdict_columns names")

    @property
    def _verdict_columns(self) -> list[str]:
        return [condition.column for condition in self.conditions] or [self.columns.get("verdict", "verdict")]

    def _renamed(self, row: Row) -> Row:
        """Return the row of verdicts that a row states.

        Raises:
            ValueError: No condition holds of it, or those of several labels.
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
        self.found.add(column)
        return value

    def _label(self, row: Row) -> str | None:
        """Return the label whose condition holds of a row; None if a value is missing."""
        values = {condition.column: self._value(row, condition.column) for condition in self.conditions}
        if any(map(_is_missing, values.values())):
            return None
        found = {each.label for each in self.conditions if each.holds(values[each.column])}
        if len(found) != 1:
            what = f"the conditions of {' and '.join(sorted(found))} hold" if found else "no label's condition holds"
            raise ValueError(f"{what}: {', '.join(f'{name} is {value!r}' for name, value in values.items())}")
        return found.pop()


def read_verdicts(
    path: str, task: Task, ids: Collection[str] | None = None, columns: Sequence[str] = ()
) -> RecordedVerdicts:
    """Read the verdicts on replies to a judged task: JSON Lines, a JSON array, a CSV file or a workbook.

    A row has `id` and `verdict`, a label of the judge, or true or false where it has two labels, of which true is the
    bad one; optionally `claim`, the part of the reply, `reply`, `reason` and `by`. Details of `halu-tasks score` are
    read as well. Rows without a verdict, and those that name another task, are left out.

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
    assert task.judged
    together: dict[tuple[str, str], dict[str | None, RecordedVerdict]] = {}
    for number, row in VerdictColumns.parse(columns, task.judged).read(Path(path).expanduser()):
        try:
            for id, claim, verdict in _verdicts(row, task.name, task.judged):
                on = None if verdict.reply is None else squeezed(verdict.reply)
                given = together.setdefault((id, squeezed(claim)), {})
                if {on, None} & given.keys() or (on is None and given):
                    raise ValueError(f"another verdict on the same reply to {id!r}; each part of a reply has one")
                given[on] = verdict
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from None
    if not together:
        labels = ", ".join(task.judged.read.labels)
        raise DataError(f"{path}: contains no verdict of {task.name}; expected one of {labels} in 'verdict'")
    judged = {id for id, _ in together}
    if ids is not None and (unknown := sorted(judged - set(ids))):
        of = f"{len(unknown)} of {len(judged)} ids"
        raise DataError(f"{path}: {of} are not items of {task.name}, such as {unknown[0]!r}")
    verdicts = {key: tuple(given.values()) for key, given in together.items()}
    content = sorted("\0".join(map(str, (*key, *verdict))) for key, given in verdicts.items() for verdict in given)
    return RecordedVerdicts(short_hash("\n".join(content))[:8], verdicts)


def _verdicts(row: Row, task: str, judged: JudgeSpec) -> Iterator[tuple[str, str, RecordedVerdict]]:
    """Read the verdicts of a row with the item's id and the part they are on: of details, all of them.

    Raises:
        ValueError: A value is invalid.
    """
    if row.get("task") not in (None, "", task):
        return
    id, by = row.get("id"), str(row.get("by") or "")
    id = str(id) if isinstance(id, int) and not isinstance(id, bool) else id  # as in predictions
    if not isinstance(id, str) or not id:
        raise ValueError(f"expected the id of an item in 'id', got {id!r}")
    if isinstance(row.get("verdicts"), list):
        answer = row.get("answer")
        for verdict in row["verdicts"]:
            if not isinstance(verdict, dict) or "label" not in verdict:
                raise ValueError(f"expected objects with 'label' in 'verdicts', as of --details, got {verdict!r}")
            if verdict["label"] != FAILED:
                own = _label(verdict["label"], judged), str(verdict.get("reason") or ""), by
                of_reply = answer if isinstance(answer, str) and answer else None
                yield id, str(verdict.get("about") or ""), RecordedVerdict(of_reply, *own)
        return
    claim, reply, verdict, reason = (row.get(name) for name in ("claim", "reply", "verdict", "reason"))
    if not all(isinstance(text, str | None) for text in (claim, reply, reason)):
        raise ValueError("expected strings in 'claim', 'reply' and 'reason'")
    if verdict is not None and str(verdict).strip():
        yield id, claim or "", RecordedVerdict(reply or None, _label(verdict, judged), reason or "", by)


def _label(verdict: Any, judged: JudgeSpec) -> str:
    text = str(verdict).strip().casefold()
    if label := {name.casefold(): name for name in judged.read.labels}.get(text):
        return label
    bad, others = judged.positive, [name for name in judged.read.labels if name not in judged.positive]
    if text in _TRUTH and len(bad) == len(others) == 1:
        return bad[0] if _TRUTH[text] else others[0]
    truth = " or true or false" if len(bad) == len(others) == 1 else ""
    raise ValueError(
        f"verdict is {verdict!r}, expected {' or '.join(judged.read.labels)}{truth}; other values: halu-tasks score "
        f"--verdict-columns '{judged.read.labels[0]}:verdict=VALUE,…'"
    )
