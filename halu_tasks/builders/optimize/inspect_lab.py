"""Prompt optimization in Inspect.

There is an eval for each set of prompts that is evaluated, and one for the optimizer's replies of each round. All logs
are kept, and finished work is not repeated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.builders.documents import Document
from halu_tasks.builders.optimize.optimize import OPTIMIZER, Asked, Texts
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.builders.run.inspect_logs import build_logs, outcomes
from halu_tasks.builders.run.inspect_task import build_task
from halu_tasks.builders.run.outcomes import Outcome
from halu_tasks.builders.run.parts import part_of
from halu_tasks.core.errors import DataError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.executors.job import Executor, Report
from halu_tasks.inspect_adapter.run_models import RunModels
from halu_tasks.inspect_adapter.runs import run_eval
from halu_tasks.results.readers.inspect import path_of, samples_of, state
from halu_tasks.solvers.asking import ask

_REPLY = "halu_reply"
MAX_TOKENS = 8192

_PARTS = "*-of-*"


@dataclass(frozen=True, kw_only=True)
class DraftingJob:
    """Drafts items of documents with a set of prompts; the tasks share parts of the documents.

    Attributes:
        name: A name for the queue of a cluster.
        folder: The folder of the optimization.
        builder: The pipeline.
        options: Its options, with the file of the prompts.
        documents: The documents.
        logs: The folder of the logs; of several parts, each has a folder in it.
        parts: The number of parts.
        models: The models.
    """

    name: str
    folder: Path
    builder: str
    options: Mapping[str, Any]
    documents: Path
    logs: Path
    parts: int
    models: RunModels

    def finished(self, rank: int, tasks: int) -> bool:
        """Whether all documents of a task are drafted."""
        return all(any(log.finished for log in build_logs(logs)) for _, logs in self.shares()[rank::tasks])

    def work(self, rank: int, tasks: int, report: Report) -> None:
        """Draft the documents of a task that are not drafted yet."""
        models = self.models.in_task(tasks)
        for part, logs in self.shares()[rank::tasks]:
            run_task(build_task(self.builder, str(self.documents), part, **self.options), logs, models)

    def shares(self) -> list[tuple[str | None, Path]]:
        """Return the parts that have documents, in order, with the folders of their logs; None stands for all."""
        if self.parts == 1:
            return [(None, self.logs)]
        documents = pipeline_named(self.builder, self.options).documents(self.documents)
        numbers = sorted({part_of(document.id, self.parts) for document in documents})
        return [(f"{number}/{self.parts}", self.logs / f"{number}-of-{self.parts}") for number in numbers]

    def outcomes(self) -> list[Outcome]:
        """Return the outcomes of all documents."""
        return [outcome for _, logs in self.shares() for outcome in outcomes(build_logs(logs))]


def run_task(task: Task, logs: Path, models: RunModels) -> EvalLog:
    """Run a task to its end, or the rest of it.

    Args:
        task: The task.
        logs: The folder of its logs.
        models: The models.

    Raises:
        DataError: It failed.
    """
    run = run_eval(task, logs, models, retry_on_error=2, log_realtime=False)
    run.check_written()
    if not run.succeeded:
        raise DataError(f"{logs}: ended as {state(run.log)}; run the same command again to continue")
    return run.log


class Lab:
    """Evaluates and rewrites prompts for an optimization.

    Args:
        folder: Folder of the optimization.
        pipeline: The pipeline whose prompts are optimized.
        options: Options of the pipeline, without its prompt file.
        models: The models.
        executor: Runs the drafting.
        report: Called with lines about the progress.
    """

    def __init__(
        self,
        folder: Path,
        pipeline: Pipeline,
        options: Mapping[str, Any],
        *,
        models: RunModels,
        executor: Executor,
        report: Report,
    ) -> None:
        self._folder, self._pipeline, self._options = folder, pipeline, dict(options)
        self._models, self._executor, self._report = models, executor, report

    def evaluate(self, name: str, texts: Texts, part: str) -> Sequence[Outcome]:
        """Run the pipeline on the `train` or `validation` documents with prompts, which are saved as `name.yaml`."""
        prompts = self._folder / "prompts" / f"{name}.yaml"
        prompts.parent.mkdir(exist_ok=True)
        write_prompts(prompts, self._pipeline, texts)
        logs = self._folder / "logs" / name
        job = DraftingJob(
            name=f"optimize-{name}",
            folder=self._folder,
            builder=self._pipeline.name,
            options={**self._options, "prompts": str(prompts)},
            documents=self._folder / f"{part}.jsonl",
            logs=logs,
            parts=_parts_of(logs) or self._executor.tasks,
            models=self._models,
        )
        self._executor.run(job, self._report)
        return job.outcomes()

    def rewrite(self, number: int, requests: Sequence[Asked]) -> Sequence[str]:
        """Return the optimizer's replies of a round, in order."""
        samples = [
            Sample(
                id=f"candidate-{request.candidate + 1}-{request.prompt}",
                input=request.question,
                metadata={"draw": request.candidate},
            )
            for request in requests
        ]
        task = Task(
            dataset=MemoryDataset(samples, name="optimize"),
            solver=rewrite_prompt(),
            name="optimize",
            config=GenerateConfig(max_tokens=MAX_TOKENS),
        )
        log = run_task(task, self._folder / "logs" / f"round-{number}-optimizer", self._models)
        replies = {
            sample["id"]: ((sample.get("output") or {}).get("metadata") or {}).get(_REPLY, "")
            for sample in samples_of(path_of(log.location))
        }
        return [replies.get(sample.id, "") for sample in samples]


def _parts_of(logs: Path) -> int | None:
    """Return the number of parts in which documents were drafted before; None if there are no logs."""
    if folder := next(logs.glob(_PARTS), None):
        return int(folder.name.rpartition("-")[2])
    return 1 if any(logs.glob("*.eval")) else None


@solver
def rewrite_prompt() -> Solver:
    """Ask the model in the role `optimizer` for a rewritten prompt, at temperature 1."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        draw = int(state.metadata["draw"])
        output = await ask(state.input_text, OPTIMIZER, cache=False, draw=draw, temperature=1.0, max_tokens=MAX_TOKENS)
        state.output = ModelOutput.from_content(str(state.model), output.completion)
        state.output.metadata = {_REPLY: output.completion}
        return state

    return solve


def write_prompts(path: Path, pipeline: Pipeline, texts: Texts) -> None:
    """Write prompts to a file that can be passed as the option `prompts`."""
    entries = {f"{pipeline.name}_{name}_{pipeline.language}": {"user": text} for name, text in texts.items()}
    atomic_write_text(path, yaml.dump(entries, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10_000))


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes strings of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Represent a string, as a block if it has several lines."""
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def write_documents(path: Path, documents: Sequence[Document]) -> None:
    """Write documents to a JSON Lines file."""
    atomic_write_text(path, "".join(json.dumps(document.as_row()) + "\n" for document in documents))
