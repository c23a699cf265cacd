"""Prompt optimization in Inspect.

There is an eval for each set of prompts that is evaluated, and one for the optimizer's replies of each round. All logs
are kept, and finished work is not repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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
from halu_tasks.builders.run.inspect_logs import build_logs, outcomes
from halu_tasks.builders.run.inspect_task import build_task
from halu_tasks.builders.run.outcomes import Outcome
from halu_tasks.core.files import atomic_write_text
from halu_tasks.results.readers.inspect import path_of, samples_of
from halu_tasks.solvers.asking import ask

_REPLY = "halu_reply"
MAX_TOKENS = 8192

Run = Callable[[Task, Path], EvalLog]
"""Runs a task to its end, with its logs in a folder."""


class Lab:
    """Evaluates and rewrites prompts for an optimization.

    Args:
        folder: Folder of the optimization.
        pipeline: The pipeline whose prompts are optimized.
        options: Options of the pipeline, without its prompt file.
        run: Runs a task.
    """

    def __init__(self, folder: Path, pipeline: Pipeline, options: Mapping[str, Any], run: Run) -> None:
        self._folder, self._pipeline, self._options, self._run = folder, pipeline, dict(options), run

    def evaluate(self, name: str, texts: Texts, part: str) -> Sequence[Outcome]:
        """Run the pipeline on the `train` or `validation` documents with prompts, which are saved as `name.yaml`."""
        prompts = self._folder / "prompts" / f"{name}.yaml"
        prompts.parent.mkdir(exist_ok=True)
        write_prompts(prompts, self._pipeline, texts)
        options = {**self._options, "prompts": str(prompts)}
        documents = str(self._folder / f"{part}.jsonl")
        task = build_task(self._pipeline.name, documents, **options)
        logs = self._folder / "logs" / name
        self._run(task, logs)
        return outcomes(build_logs(logs))

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
        log = self._run(task, self._folder / "logs" / f"round-{number}-optimizer")
        replies = {
            sample["id"]: ((sample.get("output") or {}).get("metadata") or {}).get(_REPLY, "")
            for sample in samples_of(path_of(log.location))
        }
        return [replies.get(sample.id, "") for sample in samples]


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
