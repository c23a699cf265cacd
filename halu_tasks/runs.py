"""Runs: the answers of one model to the items of one task, whichever harness asked for them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from halu_tasks.credentials import is_secret, public
from halu_tasks.items import Item, Reply
from halu_tasks.options import Options
from halu_tasks.predictions import aimed
from halu_tasks.scorers.answer import NO_ANSWER
from halu_tasks.scorers.cost import Cost
from halu_tasks.scorers.probability import FACT
from halu_tasks.scorers.score import Score
from halu_tasks.tasks import Decoding, Task, logged_task

PLAIN = "plain prompt"
UNTOLD = "method unknown"

_OF_TRANSPORT = {
    "adaptive_connections",
    "attempt_timeout",
    "base_url",
    "batch",
    "cache",
    "cache_prompt",
    "eos_string",
    "max_connections",
    "max_retries",
    "num_concurrent",
    "predictions",
    "stream_idle_timeout",
    "timeout",
    "tokenized_requests",
    "tokenizer_backend",
    "verify_certificate",
}
"""Settings that do not bear on what a model answers, or that its name has."""


class Step(NamedTuple):
    """One solver of a method, and the arguments that it was given."""

    solver: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        given = ",".join(f"{name}={_written(value)}" for name, value in self.arguments.items())
        return f"{self.solver}:{given}" if given else self.solver


class Answered(NamedTuple):
    """An item, what was replied to it, and the score of that reply."""

    item: Item
    reply: str
    score: Score

    def scored(self, task: Task, mode: str) -> Score:
        """The score of the same reply in `strict` or `paper`, for a task without a judge."""
        probability = self.score.facts.get(FACT)
        target = self.score.target if isinstance(self.score.target, str) else None
        return task.score(mode, aimed(self.item, target), Reply(self.reply, probability=probability))


class Skipped(NamedTuple):
    """A file, or a part of it, that is not among the runs, and why. `lost` unless nothing is missing without it: a
    copy, or a result of another package."""

    source: str
    why: str
    lost: bool = True


@dataclass(frozen=True)
class Run:
    """One finished run: the items of a task, answered by one method and one model.

    Attributes:
        source: the file that tells of it.
        id: of the replies: what copies have in common, however they are scored.
        harness: the program that made it, and its version.
        task: the task's name.
        scoring: the mode that its replies are scored in.
        steps: the solvers that answered, in their order.
        model: the model under test.
        roles: the models of other roles, by role; the judge's is `grader`.
        settings: how the model was asked, where that bears on its answers and is not the task's own way.
        provenance: what was asked and of which data (`Built.provenance`); `prompt_hash` is None where nothing tells
            how the model was asked.
        epochs: how many times each item was answered.
        answers: one a reply, in the order of the log.
        costs: of the answers for which a model was asked.
        created, completed: when the run began and ended, in ISO 8601; `completed` may be empty.
    """

    source: str
    id: str
    harness: str
    task: str
    scoring: str
    steps: tuple[Step, ...]
    model: str
    roles: Mapping[str, str]
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any]
    epochs: int
    answers: Sequence[Answered]
    created: str
    completed: str = ""
    costs: Sequence[Cost] = field(default=())

    @cached_property
    def scores(self) -> list[Score]:
        return [answered.score for answered in self.answers]

    @cached_property
    def benchmark_task(self) -> Task:
        """The task that was asked, also where a user derived it."""
        return logged_task({**self.provenance, "task": self.task})

    @property
    def unanswered(self) -> dict[str, int]:
        """How many replies give no answer, by outcome."""
        return {outcome: sum(score.outcome == outcome for score in self.scores) for outcome in NO_ANSWER}

    @property
    def method(self) -> str:
        """The method as `halu-tasks methods` is told it, `plain prompt` where the model was asked once, or `method
        unknown` where nothing tells how it was asked."""
        if self.provenance["prompt_hash"] is None:
            return UNTOLD
        asked_once = all(step.solver == "generate" for step in self.steps)
        return PLAIN if asked_once else " + ".join(map(str, self.steps))

    @property
    def version(self) -> str:
        """The task's version and the marks, the same in all harnesses."""
        return "-".join([self.task_version, *self.marks])

    @property
    def task_version(self) -> str:
        """The version without the marks: where it differs, runs of a task do not compare."""
        return str(self.provenance["version"]).split("-")[0]

    @property
    def marks(self) -> list[str]:
        """What sets the run apart from the benchmark as published and asked in the task's own way."""
        # how a log was scored in the end is not always how it was run
        marks = [mark for mark in str(self.provenance["version"]).split("-")[1:] if mark != "paper"]
        marks += ["paper"] if self.scoring == "paper" else []
        shots = self.provenance.get("fewshot")
        return marks if shots in (None, self.benchmark_task.shots) else [*marks, f"{shots}shot"]

    @property
    def identity(self) -> tuple[str, str, str, str | None]:
        """What copies of the run have in common: the same answers, scored in the same way."""
        return self.id, self.task, self.scoring, self.judge

    @property
    def judge(self) -> str | None:
        return self.roles.get("grader")

    @property
    def asked(self) -> dict[str, Any]:
        """The options of the task that its items and prompts depend on, by name."""
        own = self.benchmark_task.own_options
        return {name: self.provenance[name] for name in ("fewshot", "cot", *own) if name in self.provenance}

    @property
    def options(self) -> dict[str, Any]:
        """Those of `asked` that are not at their default, but for the number of worked examples."""
        usual = Options()
        return {
            name: value
            for name, value in self.asked.items()
            if name != "fewshot" and value is not None and value != getattr(usual, name)
        }

    @cached_property
    def items_hash(self) -> str:
        """A hash of which items were answered, their clusters, and how often each."""
        ids = sorted(f"{score.id}\0{score.cluster}" for score in self.scores)
        return hashlib.sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest()


def own_settings(settings: Mapping[str, Any], decodings: Iterable[Decoding]) -> dict[str, Any]:
    """The settings that are not those of the tasks that were asked together, in Inspect's names, and that bear on
    the answers: of a run with the tasks' own decoding none. Credentials are left out."""
    decodings = list(decodings)
    usual = {
        "max_tokens": max(decoding.max_tokens for decoding in decodings),
        "temperature": decodings[0].temperature,
        "top_p": decodings[0].top_p,
    }
    return {
        name: public(value)
        for name, value in settings.items()
        if value not in (None, [], {}, "")
        and name not in _OF_TRANSPORT
        and not is_secret(name)
        and not (name in usual and value == usual[name])
    }


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
