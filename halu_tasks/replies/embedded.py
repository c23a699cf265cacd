"""Embedded models: `oracle` replies with the gold answer, `baseline` without reading, `replay` from a file.

They need no network and no weights. They look up an item by its task and its id, which both harnesses pass along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Item, Reply
from halu_tasks.replies.predictions import PredictionRow, read_predictions
from halu_tasks.tasks import Evaluation, Provenance

EmbeddedKind = Literal["oracle", "baseline", "replay"]
REPLY = "halu_reply"
"""Key of an lm-eval document for the reply of an embedded model that was asked for likelihoods."""
KINDS: tuple[EmbeddedKind, ...] = get_args(EmbeddedKind)


def name_of(kind: str, arguments: Mapping[str, Any]) -> str:
    """Return an embedded model's name in results, the same for both harnesses; a replay's includes its file."""
    predictions = arguments.get("predictions")
    return f"halu-{kind}:{predictions}" if predictions else f"halu-{kind}"


def reads_prompts(model: str) -> bool:
    """Return whether a model of this name in results may depend on how it was asked: `oracle` and `baseline` do not."""
    return model not in (name_of("oracle", {}), name_of("baseline", {}))


def provenance_of(kind: str, provenance: Provenance) -> Provenance:
    """Return the provenance of a run, given the kind of embedded model or the name of another model.

    The replies of a replay were made elsewhere, so it is not known how they were asked for.
    """
    return provenance.without_prompt() if kind == "replay" else provenance


# each task with its items by id, as it was loaded last in this process
_loaded: dict[str, tuple[Evaluation, dict[str, Item]]] = {}


def remember(evaluation: Evaluation) -> None:
    """Register the items of a task with the embedded models of this process, in place of those that it had before."""
    _loaded[evaluation.task.name] = evaluation, {item.id: item for item in evaluation.items}


def loaded(task: str) -> Evaluation | None:
    """The task of that name as it was loaded last in this process."""
    return _loaded[task][0] if task in _loaded else None


@dataclass
class EmbeddedModel:
    """One embedded model.

    Attributes:
        kind: `oracle`, `baseline` or `replay`.
        predictions: For `replay`, a predictions file or a folder of `<task>.jsonl` files.
    """

    kind: EmbeddedKind
    predictions: str | None = None

    def __post_init__(self) -> None:
        self._read: dict[str, dict[str, PredictionRow]] = {}
        if self.kind != "replay":
            return
        if not self.predictions:
            raise UsageError(
                "halu-replay needs a predictions file: --model_args predictions=FILE (lm-eval), -M predictions=FILE "
                "(Inspect)"
            )
        if not (path := Path(self.predictions).expanduser()).is_dir():
            read_predictions(path)

    def reply(self, task: str | None, id: str | None) -> Reply:
        """Reply to an item.

        Args:
            task: The name of its task.
            id: Its id.

        Returns:
            The reply; empty if the replayed file has none.

        Raises:
            UsageError: No task of this process has such an item, as when a solver asks a question of its own.
        """
        evaluation, items = _loaded.get(task or "", (None, {}))
        item = items.get(id or "")
        if evaluation is None or item is None:
            raise UsageError(
                f"halu-{self.kind} replies only to items of halu-tasks, and was asked something else (task: {task}, "
                f"item: {id})"
            )
        if self.kind == "oracle":
            choices = evaluation.task.scoring.choices
            return Reply(evaluation.oracle(item), probability=float(item.target == choices[0]) if choices else None)
        if self.kind == "baseline":
            return Reply(evaluation.baseline(item))
        prediction = self._predictions(evaluation).get(item.id)
        return prediction.reply if prediction else Reply("")

    def _predictions(self, evaluation: Evaluation) -> dict[str, PredictionRow]:
        """Read the predictions for a task, with the same checks as `halu-tasks score`."""
        task = evaluation.task
        if task.name not in self._read:
            source = Path(str(self.predictions)).expanduser()
            path = source / f"{task.name}.jsonl" if source.is_dir() else source
            if self._read and not source.is_dir():
                tasks = " and ".join([*self._read, task.name])
                raise UsageError(
                    f"predictions {source} has the replies to one task, but {tasks} are run; name a folder with a file "
                    "TASK.jsonl for each"
                )
            self._read[task.name] = read_predictions(path, evaluation=evaluation)
        return self._read[task.name]
