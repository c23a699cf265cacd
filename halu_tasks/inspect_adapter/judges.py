"""The judge of an Inspect run: the model role `grader`, or the judge that is named as an option."""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop
from weakref import WeakKeyDictionary

import anyio
from inspect_ai.model import Model, model_roles
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.credentials import in_address
from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options
from halu_tasks.judging.judge import Judge, open_judge
from halu_tasks.replies.scoring import logger, no_judge
from halu_tasks.scorers.reading.judge import JudgeSpec
from halu_tasks.solvers.sample_metadata import SampleMetadata

_judges: WeakKeyDictionary[AbstractEventLoop, dict[str, Judge]] = WeakKeyDictionary()
"""The judges of each run, which has an event loop of its own and so its own connections and count of failures."""


def judge_of_run(spec: JudgeSpec, options: Options) -> Judge | None:
    """Return the judge of this run: the model in the role `grader`, or else the one in `options`.

    The model under test is never the judge by default; without a judge the result is None.
    """
    named = model_roles().get("grader")
    model: Model | None = named[0] if isinstance(named, list) else named
    if model is None and not options.judge:
        return None
    judges = _judges.setdefault(get_running_loop(), {})
    key = f"{spec.prompt} {model or options.judge} {options.judge_base_url} {options.judge_max_failures}"
    if key not in judges:
        judges[key] = Judge(model, spec, options.judge_max_failures) if model else open_judge(options, spec)
    return judges[key]


def check_address(judge_base_url: str | None) -> str | None:
    """Return the address of a judge, which Inspect writes into its log.

    Raises:
        UsageError: The address contains credentials.
    """
    if in_address(judge_base_url):
        raise UsageError(
            f"judge_base_url={judge_base_url} contains credentials, which Inspect writes into its log; name the judge "
            "openai-api/PROVIDER/MODEL, and set PROVIDER_BASE_URL and PROVIDER_API_KEY in the environment"
        )
    return judge_base_url


@solver
def judge_ready(
    judge: str | None = None, judge_base_url: str | None = None, judge_max_failures: float = 0.05
) -> Solver:
    """Check that the judge of a judged task answers, before the task generates anything.

    Only a judge in the role `grader` is asked: one that is named as an option was asked when the task was made.
    Without a judge a warning is logged.
    """
    options = Options(judge=judge, judge_base_url=check_address(judge_base_url), judge_max_failures=judge_max_failures)
    lock = anyio.Lock()
    checked: set[str] = set()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = SampleMetadata.required_of(state).benchmark_task
        async with lock:
            if task.judged and task.name not in checked:
                of_run = judge_of_run(task.judged, options)
                if of_run and model_roles().get("grader"):
                    await of_run.reach()
                elif not of_run:
                    logger.warning(no_judge(task))
                checked.add(task.name)
        return state

    return solve
