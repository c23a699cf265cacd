"""Runs: one model's answers to the items of one task, from any harness."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from halu_tasks.core.credentials import public
from halu_tasks.core.errors import DataError
from halu_tasks.core.hashing import stable_hash
from halu_tasks.core.items import Item, Reply
from halu_tasks.core.options import PENALTY, Options
from halu_tasks.replies.embedded import reads_prompts
from halu_tasks.replies.predictions import with_target
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.replies.warnings import (
    HowAsked,
    SameAnswer,
    Stops,
    reply_warnings,
    request_warnings,
    unplaced_replies,
    verdict_warnings,
)
from halu_tasks.scorers.answer import REQUEST_FAILED, Outcome
from halu_tasks.scorers.columns import PROBABILITY, Columns, by_cluster
from halu_tasks.scorers.metrics import Estimate, Metric, estimate
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.tasks import Provenance, Task
from halu_tasks.tasks.prompts import Decoding

if TYPE_CHECKING:
    from inspect_ai.log import EvalError, EvalLog

RUN_FILES = SETTINGS, COMMAND = "settings.json", "command.txt"
"""The files in a folder that `halu-tasks run` made: how the model is run, and its last commands."""

PLAIN = "plain prompt"
METHOD_UNKNOWN = "method unknown"

TRANSPORT = {
    *("model_base_url", "base_url", "verify_certificate", "ca_cert_path", "tokenizer_backend", "tokenized_requests"),
    *("max_connections", "adaptive_connections", "num_concurrent", "max_tasks", "max_samples", "batch", "max_retries"),
    *("timeout", "attempt_timeout", "stream_idle_timeout", "retry_on_error", "fail_on_error", "no_fail_on_error"),
    *("continue_on_fail", "score_on_error", "log_level", "log_level_transcript", "log_buffer", "log_shared"),
    *("no_log_realtime", "tags", "metadata", "cache", "cache_prompt", "eos_string"),
}
"""Settings and options that change where and how fast a model is asked, and what happens on errors, not its replies."""


_FORMS = ("structured", "confidence", "system_in_user")
"""The options that say in which form a task is asked."""
_DEFAULTS = Options()

IS_REJECTED = re.compile(r"(?:Error|Error code|[Ss]tatus(?: code)?):? (?:400|422)\b")
"""How clients say that a server rejected a request, which it would reject again."""
# what a traceback has between two errors, the second of which says that calls were retried, or what was sent
_CAUSED = "The above exception was the direct cause of the following exception:"


def cause_of(error: EvalError) -> str:
    """Return why a task of Inspect failed, in one line; for a call, why its last attempt failed."""
    is_call = error.message.startswith(("RetryError", "ModelGenerateError"))
    called = error.traceback.rpartition(_CAUSED)[0].strip() if is_call else ""
    lines = (called or error.message).strip().splitlines()
    return " ".join((lines[-1] if called else lines[0]).split()) if lines else ""


class RunReply(NamedTuple):
    """An item, a reply to it, and the score of that reply."""

    item: Item
    reply: str
    score: ScoredReply

    @property
    def given(self) -> Reply:
        """The reply as it is scored."""
        failure = self.score.reason if self.score.outcome == REQUEST_FAILED else ""
        return Reply(self.reply, probability=self.score.facts.get(PROBABILITY), failure=failure)

    def scored(self, task: Task, mode: str, *, asks_confidence: bool = False) -> ScoredReply:
        """Score the same reply in `mode` (`strict` or `paper`), for a task without a judge."""
        target = self.score.target if isinstance(self.score.target, str) else None
        penalty = self.score.facts.get(PENALTY, 1.0)
        scorer = ReplyScorer(task, mode, penalty=penalty, asks_confidence=asks_confidence)
        return scorer.score(with_target(self.item, target), self.given)


class SkippedFile(NamedTuple):
    """A file, or part of one, that was not read as a run, and why.

    `lost` is False if nothing is missing without it, as for a copy or a result of another package. `run` says of an
    Inspect log that its run is unfinished, or was continued in another log.
    """

    source: str
    why: str
    lost: bool = True
    run: Literal["", "unfinished", "continued"] = ""


class UnfinishedError(DataError):
    """A log of a run that Inspect can finish.

    Attributes:
        retry_id: What the logs of all attempts at the run share: `inspect eval-retry` keeps the id of the task.
        order: What orders these logs by time.
        ended: Whether the run ended, as far as Inspect is concerned.
    """

    def __init__(self, log: str, header: EvalLog, why: str) -> None:
        path = Path(log)
        advice = f"finish it with: {shlex.join(['inspect', 'eval-retry', log, '--log-dir', str(path.parent)])}"
        if all((path.parent.parent / name).is_file() for name in RUN_FILES):
            # eval-retry would ask without the checks and limits of that command
            advice = "the same halu-tasks run command continues it"
        is_usage = header.error and header.error.message.startswith(("UsageError(", "ArgumentError("))
        if is_usage or (header.error and IS_REJECTED.search(cause_of(header.error))):
            advice = "the run would fail alike; correct the command, or remove this log"
        super().__init__(f"{log}: {why}; {advice}")
        # `inspect log recover` writes what was kept of a log that was broken off to another file
        self.ended = header.status == "success"
        self.retry_id, self.order = header.eval.task_id, (header.eval.created, path.stem.endswith("-recovered"))


@dataclass(frozen=True)
class Run:
    """One finished run: the items of a task, answered by one method and one model.

    Attributes:
        source: The file that it was read from.
        id: Identifies the replies; copies share it, however they are scored.
        harness: The program that made it, and its version.
        model: The model under test.
        roles: The models of other roles by role; the judge's role is `grader`.
        settings: Settings of the model that affect its answers and differ from the task's own.
        provenance: What was asked and how, on which data, and the mode that the replies are scored in.
        epochs: How many times each item was answered.
        answers: One per reply, in the order of the log.
        created: When the run began, in ISO 8601.
        completed: When the run ended, in ISO 8601; may be empty.
        method: The method as it is written for `halu-tasks run --method`; `plain prompt` if the model was asked once.
        chat_template: Whether the model was asked in its chat template; None if that is not known.
        stops: Why the replies ended, by their outcome; empty if that is not known.
        generation: The names of those settings that say how replies are generated, as the harness was told, rather
            than of the model, its server or its chat template.
        cost: The total cost of those answers for which a model was called, and the judge's tokens as far as they are
            recorded; None if nothing is.
    """

    source: str
    id: str
    harness: str
    model: str
    roles: Mapping[str, str]
    settings: Mapping[str, Any]
    provenance: Provenance
    epochs: int
    answers: Sequence[RunReply]
    created: str
    completed: str = ""
    method: str = PLAIN
    chat_template: bool | None = None
    stops: Stops = field(default_factory=dict)
    generation: frozenset[str] = frozenset()
    cost: Mapping[str, float] | None = None

    @property
    def task(self) -> str:
        """The task's name."""
        return self.provenance.task.task

    @property
    def program(self) -> str:
        """The harness, without its version."""
        return self.harness.rpartition(" ")[0] or self.harness

    @property
    def scoring(self) -> str:
        """The mode that the replies are scored in."""
        return self.provenance.scoring

    @cached_property
    def scores(self) -> list[ScoredReply]:
        """The scores of all answers, in their order."""
        return [answered.score for answered in self.answers]

    @cached_property
    def columns(self) -> Columns:
        """The scores as columns."""
        return by_cluster(self.scores)

    def metrics(self, mode: str | None = None) -> dict[str, Metric]:
        """Return the metrics of the scores by name, the headline first; those of another mode if it is named."""
        return {metric.name: metric for metric in self.benchmark_task.metrics_of(mode or self.scoring, self.scores)}

    @cached_property
    def figures(self) -> dict[str, Estimate]:
        """The figures of all metrics that are defined."""
        metrics = self.metrics().items()
        return {name: figure for name, metric in metrics if (figure := estimate(metric, self.columns))}

    @cached_property
    def benchmark_task(self) -> Task:
        """The task of the run, including tasks that users derived."""
        return self.provenance.task.resolve()

    @cached_property
    def outcomes(self) -> Mapping[Outcome, int]:
        """The number of replies by what became of them, where empty replies count as such in both modes."""
        return Counter(score.reply_outcome for score in self.scores)

    @property
    def reply_warnings(self) -> list[tuple[str, str]]:
        """Warnings of many unparsed or empty replies, of one answer to all, and of failures of the judge."""
        task, how = self.benchmark_task, None
        if self.provenance.prompt_hash and self.chat_template is not None:
            harness: Literal["inspect", "lm_eval"] = "inspect" if self.program == "Inspect" else "lm_eval"
            how = HowAsked(harness, self.chat_template, bool(self.asked["structured"]), self.provenance.fewshot)
        warnings = reply_warnings(self.outcomes, how, task, stops=self.stops, unplaced=unplaced_replies(self.scores))
        warnings += request_warnings(self.scores, len(self.answers))
        warnings += self._same.warnings(len(self.answers), how, task) if self.constant else []
        return warnings + verdict_warnings(task, self.scores)

    @cached_property
    def _same(self) -> SameAnswer:
        return SameAnswer(self.scores)

    @property
    def constant(self) -> str | None:
        """The answer that all replies with one give although the correct ones differ; None if they are not constant.

        That `halu-baseline` is constant is no news.
        """
        return self._same.answer if reads_prompts(self.model) else None

    @property
    def expected_replies(self) -> int:
        """The number of replies of a run of all items of the task."""
        return self.provenance.items * self.epochs

    @property
    def version(self) -> str:
        """The task's version and the marks; the same in all harnesses."""
        return "-".join([self.task_version, *self.version_tags])

    @property
    def task_version(self) -> str:
        """The version without the marks; runs of different versions cannot be compared."""
        return self.provenance.version.split("-")[0]

    @property
    def version_tags(self) -> list[str]:
        """How the run deviates from the published benchmark with the task's own prompts."""
        # a log can be scored again in another mode than it was run in
        marks = [mark for mark in self.provenance.version.split("-")[1:] if mark != "paper"]
        marks += ["paper"] if self.scoring == "paper" else []
        shots = self.provenance.fewshot
        return marks if shots in (None, self.benchmark_task.prompts.shots) else [*marks, f"{shots}shot"]

    @property
    def identity(self) -> tuple[str, str, str, str | None]:
        """What copies of the run share: the same answers, scored in the same way."""
        return self.id, self.task, self.scoring, self.judge

    @property
    def judge(self) -> str | None:
        """The judge, if there is one."""
        return self.roles.get("grader")

    @property
    def asked(self) -> dict[str, Any]:
        """The task options that determine its items and prompts, by name."""
        options = self.provenance.options
        specific = {name: options[name] for name in self.benchmark_task.prompts.task_options if name in options}
        form = {name: options.get(name, getattr(_DEFAULTS, name)) for name in (*_FORMS, "risk")}
        return {"fewshot": self.provenance.fewshot, "cot": self.provenance.cot, **form, **specific}

    @property
    def options(self) -> dict[str, Any]:
        """The options in `asked` that differ from their defaults, except for the number of worked examples."""
        asked = {name: value for name, value in self.asked.items() if name != "fewshot" and value is not None}
        return {name: value for name, value in asked.items() if value != getattr(_DEFAULTS, name)}

    @cached_property
    def items(self) -> Counter[tuple[str, str]]:
        """How many times each item was answered, by its id and cluster."""
        return Counter((score.id, score.cluster) for score in self.scores)

    @cached_property
    def items_hash(self) -> str:
        """A hash of which items were answered, in which clusters, and how many times each."""
        return stable_hash("\n".join(sorted(f"{id}\0{cluster}" for id, cluster in self.items.elements())))

    @cached_property
    def targets_hash(self) -> int:
        """A hash of the correct answers, of which models that are asked in another order have others."""
        labelled = bool(self.benchmark_task.scoring.own_targets)
        return hash(() if labelled else tuple(sorted((score.id, str(score.target)) for score in self.scores)))

    @cached_property
    def condition(self) -> tuple[Any, ...]:
        """What comparable runs of a task have in common beside items, as a key; first, how the model was asked."""
        asked = {name: str(value) for name, value in self.asked.items()}
        how = (self.provenance.prompt_hash, *map(asked.pop, ("fewshot", "cot", *_FORMS)))
        what = (self.task, self.task_version, self.scoring, self.provenance.data_sha256)
        return how, *what, tuple(sorted(asked.items())), self.judge, self.epochs


def own_settings(settings: Mapping[str, Any], decodings: Iterable[Decoding]) -> dict[str, Any]:
    """Select the settings that affect the answers and differ from the tasks' own.

    A run with the tasks' own decoding has none. Credentials are left out.

    Args:
        settings: All settings of a run, under Inspect's names.
        decodings: The decodings of the tasks that were run together.
    """
    decodings = list(decodings)
    defaults = {
        "max_tokens": max(decoding.max_tokens for decoding in decodings),
        "temperature": decodings[0].temperature,
        "top_p": decodings[0].top_p,
    }
    # the file of predictions is part of the model's name
    affecting = {name: value for name, value in public(settings).items() if name not in {*TRANSPORT, "predictions"}}
    return {name: value for name, value in affecting.items() if value not in (None, [], {}, "", defaults.get(name))}
