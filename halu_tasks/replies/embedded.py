"""Embedded models: `oracle` replies with the gold answer, `baseline` without reading, `replay` from a file.

They need no network and no weights. They look up an item by its prompt. If several items have the same prompt, the
task and the id that the harness passes along decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Item, Reply
from halu_tasks.replies.predictions import PredictionRow, read_predictions
from halu_tasks.tasks import Evaluation, Provenance, Task

Kind = Literal["oracle", "baseline", "replay"]
REPLY = "halu_reply"
"""Key of an lm-eval document for the reply of an embedded model that was asked for likelihoods."""
KINDS: tuple[Kind, ...] = ("oracle", "baseline", "replay")


def name_of(kind: str, arguments: Mapping[str, Any]) -> str:
    """Return an embedded model's name in results, the same for both harnesses; a replay's includes its file."""
    predictions = arguments.get("predictions")
    return f"halu-{kind}:{predictions}" if predictions else f"halu-{kind}"


def provenance_of(kind: str, provenance: Provenance) -> Provenance:
    """Return the provenance of a run, given the kind of embedded model or the name of another model.

    The replies of a replay were made elsewhere, so it is not known how they were asked for.
    """
    return provenance.without_prompt() if kind == "replay" else provenance


_loaded: dict[str, Evaluation] = {}


def remember(evaluation: Evaluation) -> None:
    """Register the items of a task with the embedded models of this process.

    They replace the items that the task was registered with before.
    """
    _loaded.pop(evaluation.task.name, None)
    _loaded[evaluation.task.name] = evaluation
    _by_prompt.cache_clear()


def loaded(task: str) -> Evaluation | None:
    """The task of that name as it was loaded last in this process."""
    return _loaded.get(task)


@cache
def _by_prompt() -> tuple[dict[str, list[tuple[Evaluation, Item]]], list[int]]:
    """Return the items by prompt, and the different lengths of prompts, the longest first."""
    items: dict[str, list[tuple[Evaluation, Item]]] = {}
    for evaluation in _loaded.values():
        for item in evaluation.items:
            items.setdefault(item.prompt, []).append((evaluation, item))
    return items, sorted(set(map(len, items)), reverse=True)


def find(prompt: str, id: str | None = None, task: str | None = None) -> tuple[Evaluation, Item]:
    """Find the item with this prompt, and its task.

    Args:
        prompt: The item's prompt, possibly after a system message or worked examples.
        id: The item's id, to choose among items with the same prompt.
        task: The task's name, to choose among items with the same prompt.

    Raises:
        UsageError: No task that is loaded in this process has such an item.
    """
    items, lengths = _by_prompt()
    ends = (prompt[-length:] for length in lengths if length <= len(prompt))
    candidates = items.get(prompt) or next((items[end] for end in ends if end in items), None)
    if not candidates:
        raise UsageError(
            f"the embedded models answer only items of halu-tasks; this prompt belongs to none: {prompt[-80:]!r}"
        )
    # if nothing else decides, the task that was loaded last
    return max(reversed(candidates), key=lambda known: (known[1].id == id, known[0].task.name == task))


@dataclass
class Embedded:
    """One embedded model.

    Attributes:
        kind: `oracle`, `baseline` or `replay`.
        predictions: For `replay`, a predictions file or a folder of `<task>.jsonl` files.
    """

    kind: Kind
    predictions: str | None = None

    def __post_init__(self) -> None:
        self._read: dict[str, dict[str, PredictionRow]] = {}
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

    def reply(self, prompt: str, id: str | None = None, task_name: str | None = None) -> Reply:
        """Reply to a prompt.

        Args:
            prompt: The prompt.
            id: The item's id, if the harness passes it along.
            task_name: The task's name, if the harness passes it along.

        Returns:
            The reply; empty if the replayed file has none.
        """
        evaluation, item = find(prompt, id, task_name)
        task = evaluation.task
        if self.kind == "oracle":
            probability = float(item.target == task.choices[0]) if task.choices else None
            return Reply(evaluation.oracle(item), probability=probability)
        if self.kind == "baseline":
            return Reply(evaluation.baseline(item))
        prediction = self._predictions(task).get(item.id)
        return prediction.reply if prediction else Reply("")

    def probability(self, prompt: str, id: str | None, task_name: str | None, choice: str) -> float | None:
        """Return the probability of one of the task's two choices.

        Args:
            prompt: The prompt.
            id: The item's id, if the harness passes it along.
            task_name: The task's name.
            choice: One of the task's choices.

        Returns:
            The probability, from 0 to 1; None if the model's reply has none.
        """
        choices = find(prompt, id, task_name)[0].task.choices
        probability = self.reply(prompt, id, task_name).probability
        if choices is None or choice not in choices:
            raise UsageError(f"halu-{self.kind} has no probability of {choice!r} for item {id!r} of {task_name}")
        if probability is None:
            return None
        return probability if choice == choices[0] else 1 - probability

    def _predictions(self, task: Task) -> dict[str, PredictionRow]:
        """Read the predictions for a task, with the same checks as `halu-tasks score`."""
        if task.name not in self._read:
            source = Path(str(self.predictions)).expanduser()
            path = source / f"{task.name}.jsonl" if source.is_dir() else source
            if not path.is_file():
                raise UsageError(f"predictions {source} has no {task.name}.jsonl")
            if self._read and not source.is_dir():
                tasks = " and ".join([*self._read, task.name])
                raise UsageError(
                    f"predictions {source} has the replies to one task, but {tasks} are run; name a folder with a file "
                    "TASK.jsonl for each"
                )
            self._read[task.name] = read_predictions(path, evaluation=_loaded[task.name])
        return self._read[task.name]
