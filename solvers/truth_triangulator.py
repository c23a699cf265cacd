"""Truth-Triangulator (FactCHD, Chen et al. 2024, section 5.4): one looks things up, one relies on what it knows, and
a third weighs what both say against what was found."""

from __future__ import annotations

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.concurrency import gather
from halu_tasks.errors import UsageError
from halu_tasks.scorers.answer import strip_reasoning
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, conclude, decoding_for, task_of
from halu_tasks.solvers.knowledge import Seeker, Sought, shown, with_question
from halu_tasks.solvers.method_prompts import method_prompt

SEEKER, GUARDIAN, MANAGER = "seeker", "guardian", "manager"
SILENT = "(gave no answer)"


@solver
@checked
def truth_triangulator(
    knowledge: str | None = None,
    tool: str | None = None,
    top: int = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Ask a seeker, who can look things up, and a guardian, who cannot; then a manager, who sees both answers and
    what was found, and whose reply is the answer.

    For tasks whose answer is a label. The model roles `seeker`, `guardian` and `manager` are the model under test
    where they are not named. One of `knowledge` and `tool` is to be named.

    Args:
        knowledge: a file or folder of passages, searched by BM25 for each item; or `gold`, the item's own evidence.
        tool: name of an Inspect tool that the seeker may call instead: `web_search`, `package/tool`, `file.py@tool`.
        top: number of passages to look up.
        prompts: a prompt file whose wording replaces the package's.
        cache: keep replies, so that a second run asks nothing again.
    """
    name = "truth_triangulator"
    seeker = Seeker(name, knowledge, tool, top, prompts, cache)
    weighing = method_prompt("truth_triangulator_manager", name, prompts)["user"]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = task_of(state)
        if task.read is None:
            raise UsageError(f"{name} weighs two labels, and {task.name} asks for something else")
        sought, guarded = await _both(seeker, state, cache)
        said = {SEEKER: _said(sought.output), GUARDIAN: _said(guarded)}
        fields = {role: fence(text) if text else SILENT for role, text in said.items()}
        asked = with_question(state.messages, weighing, {**fields, "passages": shown(sought.found)})
        output = await ask(asked, MANAGER, cache=cache, **decoding_for(state, MANAGER))
        return conclude(
            state,
            name,
            output,
            counts={**sought.counts, "opinions_unread": sum(not text for text in said.values())},
            steps={**sought.steps, **said},
            opinions={role: task.label(text).value for role, text in said.items()},
        )

    return solve


async def _both(seeker: Seeker, state: TaskState, cache: bool) -> tuple[Sought, ModelOutput]:
    """What seeker and guardian say, asked side by side."""

    async def guard() -> ModelOutput:
        return await ask(state.messages, GUARDIAN, cache=cache, **decoding_for(state, GUARDIAN))

    found: list[Sought | ModelOutput] = await gather(seeker.reply(state, SEEKER), guard())
    sought, guarded = found
    assert isinstance(sought, Sought) and isinstance(guarded, ModelOutput)
    return sought, guarded


def _said(output: ModelOutput) -> str:
    """What a reply says behind its reasoning; empty where that is nothing, or never ends."""
    return (strip_reasoning(output.completion) or "").strip()
