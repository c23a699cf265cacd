"""The judge of an Inspect run: the model role `grader`, or the judge that is named as an option."""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop
from typing import Any
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.model import Model, model_roles
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.credentials import in_address
from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import JUDGE_OPTIONS, JudgeOptions, Options
from halu_tasks.judging.blocking import open_judge
from halu_tasks.judging.judge import Judge
from halu_tasks.replies.scoring import logger, no_judge
from halu_tasks.scorers.judge import JudgeSpec
from halu_tasks.solvers.records import SampleMetadata
from halu_tasks.tasks import Task

_judges: WeakKeyDictionary[AbstractEventLoop, dict[str, Judge]] = WeakKeyDictionary()
"""The judges of each run, which has an event loop of its own and so its own connections and count of failures."""


def reader_of_run(task: Task, options: Options) -> Judge | None:
    """Return the model that reads replies to a task: the one in the role `reader`, or else the one in `options`."""
    spec = task.reading_spec(options.scoring)
    return judge_of_run(spec, options.for_reader, "reader") if spec else None


def judge_of_run(spec: JudgeSpec, options: JudgeOptions, role: str = "grader") -> Judge | None:
    """Return the judge of this run: the model in the role, or else the one in `options`.

    The model under test is never the judge by default; without a judge the result is None.
    """
    named = model_roles().get(role)
    model: Model | None = named[0] if isinstance(named, list) else named
    if model is None and not options.judge:
        return None
    judges = _judges.setdefault(get_running_loop(), {})
    key = " ".join([spec.prompt, str(id(spec)), str(model), *(str(getattr(options, name)) for name in JUDGE_OPTIONS)])
    if key not in judges:
        judges[key] = Judge(model, spec, options) if model else open_judge(options, spec)
    return judges[key]


def check_addresses(options: Options) -> None:
    """Check the addresses of judges, which Inspect writes into its log.

    Raises:
        UsageError: An address contains credentials.
    """
    for name in ("judge_base_url", "reader_base_url"):
        if in_address(address := getattr(options, name)):
            raise UsageError(
                f"{name}={address} contains credentials, which Inspect writes into its log; name the judge "
                "openai-api/PROVIDER/MODEL, and set PROVIDER_BASE_URL and PROVIDER_API_KEY in the environment"
            )


@solver
def judge_ready(**judge_options: Any) -> Solver:
    """Check that the judge of a judged task answers, before the task generates anything.

    Only a judge in the role `grader` is asked: one that is named as an option was asked when the task was made.
    Without a judge a warning is logged.

    Args:
        **judge_options: Those of `JUDGE_OPTIONS` that are not at their default.
    """
    options = Options(**judge_options)
    check_addresses(options)
    lock = anyio.Lock()
    checked: set[str] = set()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = SampleMetadata.required_of(state).benchmark_task
        async with lock:
            if task.judged and task.name not in checked:
                judge = judge_of_run(task.judged, options)
                if judge and model_roles().get("grader"):
                    await judge.reach()
                elif not judge:
                    logger.warning(no_judge(task))
                checked.add(task.name)
        return state

    return solve
