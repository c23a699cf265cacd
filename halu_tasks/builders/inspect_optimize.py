"""Prompt optimization in Inspect: an eval for each set of prompts that is tried, and one for what the optimizer replies
in a round. All logs are kept, and what is done is not asked again."""

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
from halu_tasks.builders.inspect_build import build_task
from halu_tasks.builders.inspect_outcomes import build_logs, outcomes
from halu_tasks.builders.optimize import OPTIMIZER, Asked, Texts
from halu_tasks.builders.outcomes import Outcome
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.files import atomic_write_text
from halu_tasks.inspect_logs import path_of, samples_of
from halu_tasks.solvers.asking import ask

_REPLY = "halu_reply"
MAX_TOKENS = 8192

Run = Callable[[Task, Path], EvalLog]
"""Runs a task, with its logs in a folder, to its end."""


class Lab:
    """Where prompts are tried.

    Args:
        folder: of the optimization.
        pipeline: whose prompts they are.
        options: of the pipeline, without its prompt file.
        run: how a task is run.
    """

    def __init__(self, folder: Path, pipeline: Pipeline, options: Mapping[str, Any], run: Run) -> None:
        self._folder, self._pipeline, self._options, self._run = folder, pipeline, dict(options), run

    def evaluate(self, name: str, texts: Texts, part: str) -> Sequence[Outcome]:
        """What becomes of the documents of `train` or `validation` under prompts, kept as `name.yaml`."""
        prompts = self._folder / "prompts" / f"{name}.yaml"
        prompts.parent.mkdir(exist_ok=True)
        write_prompts(prompts, self._pipeline, texts)
        own = {**self._options, "prompts": str(prompts)}
        documents = str(self._folder / f"{part}.jsonl")
        task = build_task(self._pipeline.name, documents, **own)
        logs = self._folder / "logs" / name
        self._run(task, logs)
        return outcomes(build_logs(logs))

    def rewrite(self, number: int, asked: Sequence[Asked]) -> Sequence[str]:
        """The optimizer's replies of a round, in order."""
        samples = [
            Sample(
                id=f"candidate-{one.candidate + 1}-{one.prompt}", input=one.question, metadata={"draw": one.candidate}
            )
            for one in asked
        ]
        task = Task(
            dataset=MemoryDataset(samples, name="optimize"),
            solver=rewrite_prompt(),
            name="optimize",
            config=GenerateConfig(max_tokens=MAX_TOKENS),
        )
        log = self._run(task, self._folder / "logs" / f"round-{number}-optimizer")
        found = {
            sample["id"]: ((sample.get("output") or {}).get("metadata") or {}).get(_REPLY, "")
            for sample in samples_of(path_of(log.location))
        }
        return [found.get(sample.id, "") for sample in samples]


@solver
def rewrite_prompt() -> Solver:
    """Ask the model in the role `optimizer` for a candidate, at temperature 1."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        draw = int(state.metadata["draw"])
        output = await ask(state.input_text, OPTIMIZER, cache=False, draw=draw, temperature=1.0, max_tokens=MAX_TOKENS)
        state.output = ModelOutput.from_content(str(state.model), output.completion)
        state.output.metadata = {_REPLY: output.completion}
        return state

    return solve


def write_prompts(path: Path, pipeline: Pipeline, texts: Texts) -> None:
    """Write prompts as a file that the option `prompts` takes."""
    entries = {f"{pipeline.name}_{name}_{pipeline.language}": {"user": text} for name, text in texts.items()}
    atomic_write_text(path, yaml.dump(entries, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10_000))


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def write_documents(path: Path, documents: Sequence[Document]) -> None:
    """Write documents as JSON Lines."""
    lines = ({"id": own.id, "text": own.text, **own.fields} for own in documents)
    atomic_write_text(path, "".join(json.dumps(line) + "\n" for line in lines))
