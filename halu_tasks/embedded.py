"""Embedded models: `oracle` answers from the gold, `baseline` without looking, `replay` from a file.

They need no network and no weights. They find an item by its prompt; where several items have the same
prompt, the task and the id that the harness carries along decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from halu_tasks.errors import UsageError
from halu_tasks.items import Item, Reply
from halu_tasks.predictions import Prediction, check_targets, read_predictions, unknown_id
from halu_tasks.tasks import Built, Task

Kind = Literal["oracle", "baseline", "replay"]
REPLY = "halu_reply"
"""Where a document of lm-eval tells the reply of an embedded model that was asked for likelihoods."""
KINDS: tuple[Kind, ...] = ("oracle", "baseline", "replay")


def name_of(kind: str, arguments: Mapping[str, Any]) -> str:
    """What a result calls an embedded model, the same in both harnesses: a replay by what it replays."""
    predictions = arguments.get("predictions")
    return f"halu-{kind}:{predictions}" if predictions else f"halu-{kind}"


def provenance_of(kind: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """What a result tells of how an embedded model was asked: of a replay nothing, for its replies were made
    elsewhere."""
    unknown = ("prompt_hash", "fewshot", "cot") if kind == "replay" else ()
    return {**told, **dict.fromkeys(unknown)}


class Known(NamedTuple):
    task: Task
    item: Item


_loaded: dict[str, Built] = {}
_new: list[Built] = []
_by_prompt: dict[str, list[Known]] = {}
_lengths: list[int] = []


def remember(built: Built) -> None:
    """Make the items of a loaded task known to the embedded models of this process, in place of the items
    that it was loaded with before."""
    _loaded[built.task.name] = built
    _new.append(built)


def loaded(task: str) -> Built | None:
    """The task of that name as it was loaded last in this process."""
    return _loaded.get(task)


def find(prompt: str, id: str | None = None, task: str | None = None) -> Known:
    """The item whose prompt is `prompt`, or ends it (after a system text or worked examples).

    Raises:
        UsageError: no task loaded in this process asks this.
    """
    while _new:
        built = _new.pop(0)
        for item in built.items:
            others = _by_prompt.get(item.prompt, [])
            kept = [known for known in others if (known.task.name, known.item.id) != (built.task.name, item.id)]
            _by_prompt[item.prompt] = [*kept, Known(built.task, item)]
        _lengths[:] = sorted({len(text) for text in _by_prompt}, reverse=True)
    found = _by_prompt.get(prompt)
    if found is None:
        tails = (prompt[-length:] for length in _lengths if length <= len(prompt))
        found = next((_by_prompt[tail] for tail in tails if tail in _by_prompt), None)
    if not found:
        raise UsageError(f"the embedded models answer halu-tasks items only; this prompt is none: {prompt[-80:]!r}")
    # the task loaded last where nothing else decides
    return max(reversed(found), key=lambda known: (known.item.id == id, known.task.name == task))


@dataclass
class Embedded:
    """One embedded model. `predictions` is for replay: a predictions file, or a folder of
    `<task>.jsonl` files."""

    kind: Kind
    predictions: str | None = None

    def __post_init__(self) -> None:
        self._read: dict[str, dict[str, Prediction]] = {}
        if self.kind == "replay":
            if not self.predictions:
                raise UsageError(
                    "halu-replay needs a predictions file: --model_args predictions=FILE (lm-eval), "
                    "-M predictions=FILE (Inspect)"
                )
            path = Path(self.predictions).expanduser()
            if not path.exists():
                raise UsageError(f"predictions {self.predictions} does not exist")
            if path.is_file():
                read_predictions(path)

    def reply(self, prompt: str, id: str | None = None, asked: str | None = None) -> Reply:
        """The reply to `prompt` in the task `asked`; empty where a replayed file has none."""
        task, item = find(prompt, id, asked)
        if self.kind == "oracle":
            probability = float(item.target == task.choices[0]) if task.choices else None
            return Reply(task.oracle(item), probability=probability)
        if self.kind == "baseline":
            return Reply(task.baseline(item))
        found = self._predictions(task).get(item.id)
        return found.reply if found else Reply("")

    def probability(self, prompt: str, id: str | None, asked: str | None, choice: str) -> float | None:
        """The probability of one of the two choices of the task `asked`, as the answer to `prompt`; None where
        there is none."""
        choices = find(prompt, id, asked).task.choices
        found = self.reply(prompt, id, asked).probability
        if choices is None or choice not in choices:
            raise UsageError(f"halu-{self.kind} has no probability of {choice!r} for item {id!r} of {asked}")
        if found is None:
            return None
        return found if choice == choices[0] else 1 - found

    def _predictions(self, task: Task) -> dict[str, Prediction]:
        """The predictions for a task, held to what `halu-tasks score` holds them to."""
        if task.name not in self._read:
            named = Path(str(self.predictions)).expanduser()
            path = named / f"{task.name}.jsonl" if named.is_dir() else named
            if not path.is_file():
                raise UsageError(f"predictions {named} has no {task.name}.jsonl")
            if self._read and not named.is_dir():
                asked = " and ".join([*self._read, task.name])
                raise UsageError(
                    f"predictions {named} holds replies to one task, and {asked} are asked; name a folder with a file "
                    "TASK.jsonl for each"
                )
            found = read_predictions(path)
            built = _loaded[task.name]
            check_targets(path, found, task, built.options)
            known = {item.id for item in built.items}
            if unknown := {id: prediction for id, prediction in found.items() if id not in known}:
                raise unknown_id(path, unknown, task)
            self._read[task.name] = found
        return self._read[task.name]


__all__ = ["KINDS", "Embedded", "Kind", "Known", "Reply", "find", "remember"]
