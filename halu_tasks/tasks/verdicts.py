"""Recorded verdicts: what a judge, another program or people said of replies, in the place of asking."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import short_hash
from halu_tasks.core.items import Item
from halu_tasks.data.rows import Row
from halu_tasks.scorers.judge import FAILED, JudgeSpec, Verdict
from halu_tasks.scorers.reference import squeezed
from halu_tasks.tasks.reference import read_label_rows
from halu_tasks.tasks.task import Task

_TRUTH = {"true": True, "false": False}


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

    def of_text(self, judged: JudgeSpec, item: Item, text: str, longest: int) -> list[Verdict]:
        """Return the verdicts on a text, one for each question about it; `failed` where there is none.

        Args:
            judged: What a judge is asked.
            item: The item.
            text: The reply, or the part of it that is judged.
            longest: As in `JudgeSpec.questions`.
        """
        verdicts = []
        for question in judged.questions(item, text, longest):
            given = self.verdicts.get((item.id, squeezed(question.about)), ())
            found = next((verdict for verdict in given if _is_on(verdict, text)), None)
            label, reason = (found.label, found.reason) if found else (FAILED, "no recorded verdict")
            verdicts.append(Verdict(label, reason, question.about))
        return verdicts


def _is_on(verdict: RecordedVerdict, text: str) -> bool:
    """Return whether a verdict is on a text, of which details keep the beginning."""
    if verdict.reply is None:
        return True
    reply, own = squeezed(verdict.reply), squeezed(text)
    return own in reply or (reply.endswith("…") and own.startswith(reply[:-1]))


def read_verdicts(path: str, task: Task, ids: Collection[str] | None = None) -> RecordedVerdicts:
    """Read the verdicts on replies to a judged task: JSON Lines, a JSON array, a CSV file or a workbook.

    A row has `id` and `verdict`, a label of the judge, or true or false where it has two labels, of which true is the
    bad one; optionally `claim`, the part of the reply, `reply`, `reason` and `by`. Details of `halu-tasks score` are
    read as well. Rows without a verdict, and those that name another task, are left out.

    Args:
        path: The file.
        task: The task.
        ids: The ids of the task's items; None if they are not known.

    Raises:
        DataError: The file cannot be read or has no verdict of the task, a value is invalid, a part of a reply has
            several verdicts, or there is no item with an id.
    """
    assert task.judged
    together: dict[tuple[str, str], dict[str | None, RecordedVerdict]] = {}
    for number, row in read_label_rows(Path(path).expanduser(), "verdict"):
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
    if not isinstance(id, str) or not id:
        raise ValueError(f"expected the id of an item in 'id', got {id!r}")
    if isinstance(row.get("verdicts"), list):
        for verdict in row["verdicts"]:
            if not isinstance(verdict, dict) or "label" not in verdict:
                raise ValueError(f"expected objects with 'label' in 'verdicts', as of --details, got {verdict!r}")
            if verdict["label"] != FAILED:
                own = RecordedVerdict(None, _label(verdict["label"], judged), str(verdict.get("reason") or ""), by)
                yield id, str(verdict.get("about") or ""), own
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
    raise ValueError(f"verdict is {verdict!r}, expected {' or '.join(judged.read.labels)}{truth}")
