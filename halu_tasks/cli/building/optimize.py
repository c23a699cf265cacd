"""`halu-tasks optimize`: better prompts for a builder, from what its verifier rejects."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import Timeout
from inspect_ai import Task
from inspect_ai.log import EvalLog

from halu_tasks.builders.optimize.inspect_lab import Lab, write_documents, write_prompts
from halu_tasks.builders.optimize.optimize import TRAIN, UNREAD, VALIDATION, Round, Tried, best_of, choose, optimize
from halu_tasks.builders.pipeline import Pipeline
from halu_tasks.builders.registry import pipeline_named
from halu_tasks.builders.run.folder import LOCK, digest, lock_file
from halu_tasks.builders.run.outcomes import KEPT
from halu_tasks.builders.run.parts import read_json
from halu_tasks.cli.models import assigned, models_of
from halu_tasks.cli.tables import table
from halu_tasks.errors import DataError, UsageError
from halu_tasks.files import atomic_write_text
from halu_tasks.inspect_adapter.run_models import RunModels, recorded
from halu_tasks.inspect_adapter.runs import run_eval
from halu_tasks.results.readers.inspect import state

_PLAN = "optimize.json"


def run(arguments: argparse.Namespace) -> None:
    options = assigned(arguments.task_option, "-T")
    pipeline = pipeline_named(arguments.builder, options)
    pipeline.ready()
    if not pipeline.generating:
        raise UsageError(f"{pipeline.name} has no prompts that can be optimized")
    models = models_of(arguments)
    # one path, however it is named: it is among the arguments by which Inspect knows a task again
    folder = Path(arguments.output).resolve()
    if folder.is_dir() and not (folder / _PLAN).is_file() and any(own.name != LOCK for own in folder.iterdir()):
        raise DataError(f"{folder}: is not empty, and holds no optimization; name another folder")
    try:
        with lock_file(folder / LOCK):
            _optimized(folder, pipeline, options, arguments, models)
    except Timeout:
        raise DataError(f"{folder}: another process is working on it") from None


def _optimized(
    folder: Path,
    pipeline: Pipeline,
    options: dict[str, Any],
    arguments: argparse.Namespace,
    models: RunModels,
) -> None:
    """Go through the rounds, and tell of them."""
    _begin(folder, pipeline, options, arguments, models.roles)
    if not (folder / "rounds.json").is_file():
        models.reach()

    def answered(task: Task, logs: Path) -> EvalLog:
        return _answered(task, logs, models)

    own = {key: value for key, value in options.items() if key != "prompts"}
    lab = Lab(folder, pipeline, own, answered)
    rounds: list[Round] = []
    for found in optimize(
        pipeline, lab.evaluate, lab.rewrite, arguments.rounds, arguments.candidates, pipeline.language
    ):
        rounds.append(found)
        _keep(folder, found)
        print(_line(found), file=sys.stderr, flush=True)
    best = best_of(rounds)
    told = {"best": best.name, "rounds": [_told(found) for found in rounds]}
    if arguments.json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        print(_table(pipeline, rounds))
    if best is rounds[0].chosen and (unread := next((found for found in rounds if found.ended == UNREAD), None)):
        reasons = Counter(why for problems in unread.problems.values() for why in problems.values())
        told_why = ", ".join(f"{why} ({number})" for why, number in reasons.most_common(3))
        logs = folder / "logs" / f"round-{unread.number}-optimizer"
        raise DataError(
            f"{folder}: nothing was optimized, as no reply of the optimizer in round {unread.number} holds a prompt "
            f"that can be used: {told_why}; remove {logs} to ask it again, or name another "
            "one (--model-role optimizer=…) and another folder"
        )
    write_prompts(folder / "prompts.yaml", pipeline, best.texts)
    atomic_write_text(folder / "rounds.json", json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    if arguments.json:
        return
    ended = next((found.ended for found in rounds if found.ended), f"{arguments.rounds} rounds")
    prompts = folder / "prompts.yaml"
    print(f"\nended: {ended}\nbest: {best.name}, in {prompts}; build with -T prompts={prompts}")


def _begin(
    folder: Path, pipeline: Pipeline, options: dict[str, Any], arguments: argparse.Namespace, roles: Mapping[str, Any]
) -> None:
    """Draw the documents, once; an optimization that was begun with other settings is not gone on with."""
    documents = Path(arguments.documents)
    if not documents.exists():
        raise UsageError(f"{documents}: there is no such file or folder")
    plan = json.loads(
        json.dumps(
            {
                "settings": pipeline.settings,
                "options": {key: value for key, value in options.items() if key != "prompts"},
                "models": {"model": arguments.model, "roles": recorded(roles)},
                "source": {"name": documents.name, "sha256": digest(documents)},
                **{name: getattr(arguments, name) for name in (TRAIN, VALIDATION, "rounds", "candidates")},
            }
        )
    )
    if (folder / _PLAN).is_file():
        found = read_json(folder / _PLAN)
        # more rounds go on from what there is; of more candidates another one may be best, and then later rounds change
        if other := next((key for key in plan if key != "rounds" and found.get(key) != plan[key]), None):
            raise DataError(f"{folder}: holds an optimization with other {other}; name another folder")
    drawn = choose(pipeline, pipeline.documents(documents), arguments.train, arguments.validation, pipeline.seed)
    for name, own in zip((TRAIN, VALIDATION), drawn, strict=True):
        write_documents(folder / f"{name}.jsonl", own)
    atomic_write_text(folder / _PLAN, json.dumps(plan, ensure_ascii=False, indent=1) + "\n")


def _answered(task: Task, logs: Path, models: RunModels) -> EvalLog:
    run = run_eval(task, logs, models, retry_on_error=2, log_realtime=False)
    run.check_written()
    if not run.succeeded:
        raise DataError(f"{logs}: ended as {state(run.log)}; the same command goes on from there")
    return run.log


def _keep(folder: Path, found: Round) -> None:
    """The round's rejects and rates in files of their own."""
    lines = ({"document": document, "draft": draft, **failure._asdict()} for document, draft, failure in found.rejects)
    (folder / "rounds").mkdir(exist_ok=True)
    atomic_write_text(
        folder / "rounds" / f"{found.number}-rejects.jsonl",
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines),
    )
    atomic_write_text(
        folder / "rounds" / f"{found.number}.json", json.dumps(_told(found), ensure_ascii=False, indent=1) + "\n"
    )


def _told(found: Round) -> dict[str, Any]:
    return {
        "round": found.number,
        "chosen": found.chosen.name if found.chosen else None,
        "ended": found.ended,
        "rejects": len(found.rejects),
        "tried": [_tried(tried) for tried in found.tried],
        "problems": {name: dict(problems) for name, problems in found.problems.items()},
    }


def _tried(tried: Tried) -> dict[str, Any]:
    counts, rates = tried.validation.counts(), tried.validation.estimates()
    return {
        "name": tried.name,
        "validation": {
            name: {"passed": counts[name][0], "of": counts[name][1], **estimate._asdict()}
            for name, estimate in rates.items()
        },
    }


def _line(found: Round) -> str:
    told = [f"round {found.number}"]
    told += [f"{tried.name} {tried.rate:.1%}" for tried in found.tried]
    told += [
        f"{name} has no {prompt} prompt: {problem}"
        for name, problems in found.problems.items()
        for prompt, problem in problems.items()
    ]
    return "; ".join([*told, *([found.ended] if found.ended else [])])


def _table(pipeline: Pipeline, rounds: Sequence[Round]) -> str:
    """A row for each round's prompts, as Table 3 of the paper has them."""
    names = [name for name in rounds[0].tried[0].validation.names if name != KEPT]
    rows = []
    for found in rounds:
        if found.chosen:
            rates = found.chosen.validation.estimates()
            rows.append([str(found.number), *(f"{rates[name].value:.2%}" if name in rates else "" for name in names)])
    return table(["iteration", *names], rows, right=range(len(names) + 1))
