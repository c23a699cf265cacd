"""Any task asked with passages or a tool at hand, as FactCHD's knowledge enhancement has it (section 5.3.4)."""

from __future__ import annotations

from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import conclude
from halu_tasks.solvers.knowledge import Seeker


@solver
@checked
def with_knowledge(
    knowledge: str | None = None,
    tool: str | None = None,
    top: int = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Ask the model under test the task's own question with what was looked up in front of it.

    One of `knowledge` and `tool` is to be named. For every task: the reply is the task's own answer.

    Args:
        knowledge: a file or folder of passages, searched by BM25 for each item; or `gold`, the item's own evidence.
        tool: name of an Inspect tool that the model may call instead: `web_search`, `package/tool`, `file.py@tool`.
        top: number of passages to look up.
        prompts: a prompt file whose wording replaces the package's.
        cache: keep replies, so that a second run asks nothing again.
    """
    name = "with_knowledge"
    seeker = Seeker(name, knowledge, tool, top, prompts, cache)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        sought = await seeker.reply(state, None)
        state.messages = sought.messages
        return conclude(state, name, sought.output, counts=sought.counts, steps=sought.steps)

    return solve
