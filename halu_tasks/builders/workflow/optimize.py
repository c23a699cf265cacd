"""Optimizing the prompts of a builder, in a folder from which it can be continued."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halu_tasks.builders.optimize.inspect_lab import Lab, write_documents, write_prompts
from halu_tasks.builders.optimize.optimize import TRAIN, UNREAD, VALIDATION, Round, Tried, best_of, choose, optimize
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.builders.run.collect import rates_by_check
from halu_tasks.builders.run.folder import LOCK, digest, guard
from halu_tasks.core.errors import DataError, UsageError
from halu_tasks.core.files import atomic_write_text
from halu_tasks.core.json_lines import json_line
from halu_tasks.data.rows import read_json_object
from halu_tasks.executors.job import Executor, Report
from halu_tasks.inspect_adapter.run_models import RunModels, recorded

_PLAN, _ROUNDS, _PROMPTS = "optimize.json", "rounds.json", "prompts.yaml"


@dataclass(frozen=True, kw_only=True)
class OptimizeRequest:
    """What to optimize.

    Attributes:
        builder: name of the builder.
        options: options of the builder.
        documents: a file or folder of documents.
        output: the folder of the optimization.
        models: the models.
        train: number of documents whose rejected drafts the optimizer sees.
        validation: number of documents by which prompts are compared.
        rounds: maximum number of rounds.
        candidates: number of candidates per round.
        compare_wordings: also measure the builder's other wordings of its prompts, and begin with the best.
    """

    builder: str
    options: Mapping[str, Any]
    documents: Path
    output: Path
    models: RunModels
    train: int
    validation: int
    rounds: int
    candidates: int
    compare_wordings: bool = False


@dataclass(frozen=True)
class Optimization:
    """A finished optimization.

    Attributes:
        folder: its folder.
        pipeline: the pipeline whose prompts were optimized.
        rounds: the rounds.
    """

    folder: Path
    pipeline: Pipeline
    rounds: Sequence[Round]

    @property
    def best(self) -> Tried:
        """The prompts with the highest validation rate."""
        return best_of(self.rounds)

    @property
    def prompts(self) -> Path:
        """The file of the best prompts, which is not written if no candidate could be read."""
        return self.folder / _PROMPTS

    @property
    def unread(self) -> Round | None:
        """The round without a readable candidate, if no earlier round found better prompts."""
        if self.best is not self.rounds[0].chosen:
            return None
        return next((each for each in self.rounds if each.ended == UNREAD), None)

    def as_json(self) -> dict[str, Any]:
        """Return the rounds as JSON values."""
        return {"best": self.best.name, "rounds": [round_as_json(each) for each in self.rounds]}

    def check(self) -> None:
        """Raise DataError if nothing was optimized because no candidate could be read."""
        if not (unread := self.unread):
            return
        counts = Counter(problem for problems in unread.problems.values() for problem in problems.values())
        reasons = ", ".join(f"{problem} ({count})" for problem, count in counts.most_common(3))
        logs = self.folder / "logs" / f"round-{unread.number}-optimizer"
        raise DataError(
            f"{self.folder}: nothing was optimized, since no reply of the optimizer in round {unread.number} contains "
            f"a usable prompt: {reasons}; remove {logs} to ask it again, or choose another optimizer (--model-role "
            "optimizer=…) and another folder"
        )


def optimize_prompts(request: OptimizeRequest, executor: Executor, report: Report) -> Optimization:
    """Optimize the prompts of a builder, or continue an optimization.

    Args:
        request: what to optimize.
        executor: runs the drafting.
        report: called with lines about the progress, one of them when a round ends.

    Raises:
        UsageError: the builder, an option or the documents do not exist, or the builder has no prompts to optimize.
        ModelError: a model does not answer.
        DataError: the folder contains something else, or another process works on it.
        RunInterrupted: the optimization was interrupted from the keyboard.
    """
    pipeline = pipeline_named(request.builder, request.options)
    if not pipeline.generating:
        raise UsageError(f"{pipeline.name} has no prompts that can be optimized")
    if request.compare_wordings and not pipeline.wording:
        raise UsageError(f"{pipeline.name} has a single wording of its prompts; leave out --compare-wordings")
    pipeline.ready()
    # always the same path: Inspect recognizes a task by its arguments, and this path is one of them
    folder = request.output.resolve()
    if folder.is_dir() and not (folder / _PLAN).is_file() and any(file.name != LOCK for file in folder.iterdir()):
        raise DataError(f"{folder}: is not empty and contains no optimization; choose another folder")
    with guard(folder):
        return _optimize(folder, pipeline, request, executor, report)


def _optimize(
    folder: Path, pipeline: Pipeline, request: OptimizeRequest, executor: Executor, report: Report
) -> Optimization:
    _begin(folder, pipeline, request)
    if not (folder / _ROUNDS).is_file():
        request.models.reach()
    # a prompt file with all prompts takes the place of options for their wording
    options = {key: value for key, value in request.options.items() if key not in ("prompts", *pipeline.wording)}
    lab = Lab(folder, pipeline, options, models=request.models, executor=executor, report=report)
    rounds = []
    for each in optimize(
        pipeline,
        lab.evaluate,
        lab.rewrite,
        request.rounds,
        request.candidates,
        compare_wordings=request.compare_wordings,
    ):
        rounds.append(each)
        _write_round(folder, each)
        report(each.describe())
    optimization = Optimization(folder, pipeline, rounds)
    if not optimization.unread:
        write_prompts(optimization.prompts, pipeline, optimization.best.texts)
        _write_json(folder / _ROUNDS, optimization.as_json())
    return optimization


def _begin(folder: Path, pipeline: Pipeline, request: OptimizeRequest) -> None:
    """Write the plan and draw the documents.

    Raises:
        DataError: the folder contains an optimization with other settings.
    """
    if not request.documents.exists():
        raise UsageError(f"{request.documents}: no such file or folder")
    # convert to what JSON preserves, to compare it with a plan that was read
    plan = json.loads(
        json.dumps(
            {
                "settings": pipeline.settings,
                # the settings record the contents of files
                "options": {key: value for key, value in request.options.items() if key not in pipeline.files()},
                "models": {"model": request.models.name, "roles": recorded(request.models.roles)},
                "source": {"name": request.documents.name, "sha256": digest(request.documents)},
                TRAIN: request.train,
                VALIDATION: request.validation,
                "rounds": request.rounds,
                "candidates": request.candidates,
                "compare_wordings": request.compare_wordings,
            }
        )
    )
    if (folder / _PLAN).is_file():
        earlier = read_json_object(folder / _PLAN)
        # more rounds continue from the earlier ones; with more candidates, earlier rounds could end differently
        if other := next((key for key in plan if key != "rounds" and earlier.get(key) != plan[key]), None):
            raise DataError(f"{folder}: contains an optimization with other {other}; choose another folder")
    drawn = choose(pipeline, pipeline.documents(request.documents), request.train, request.validation, pipeline.seed)
    for name, documents in zip((TRAIN, VALIDATION), drawn, strict=True):
        write_documents(folder / f"{name}.jsonl", documents)
    _write_json(folder / _PLAN, plan)


def _write_round(folder: Path, finished: Round) -> None:
    """Write the rejects and the rates of a round to files of its own."""
    lines = (
        {"document": reject.document, "draft": reject.draft, "prompt": reject.prompt, **reject.failure._asdict()}
        for reject in finished.rejects
    )
    (folder / "rounds").mkdir(exist_ok=True)
    atomic_write_text(
        folder / "rounds" / f"{finished.number}-rejects.jsonl",
        "".join(json_line(line) + "\n" for line in lines),
    )
    _write_json(folder / "rounds" / f"{finished.number}.json", round_as_json(finished))


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    atomic_write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def round_as_json(finished: Round) -> dict[str, Any]:
    """Return a round as JSON values."""
    return {
        "round": finished.number,
        "chosen": finished.chosen.name if finished.chosen else None,
        "ended": finished.ended,
        "rejects": len(finished.rejects),
        "tried": [
            {
                "name": tried.name,
                "validation": {name: rate.to_json() for name, rate in rates_by_check(tried.validation).items()},
            }
            for tried in finished.tried
        ],
        "problems": {name: dict(problems) for name, problems in finished.problems.items()},
    }
