"""The solver `with_knowledge`: any task with passages or a tool, as in knowledge-enhanced FactCHD (section 5.3.4)."""

from __future__ import annotations

from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import conclude
from halu_tasks.solvers.knowledge import Seeker
from halu_tasks.solvers.method_record import MethodRecord


@solver
@checked
def with_knowledge(
    knowledge: str | None = None,
    tool: str | None = None,
    top: int = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Ask the model under test the task's question together with what was looked up for it.

    This works with every task, since the reply is the task's own answer. Give either `knowledge` or `tool`.

    Args:
        knowledge: File or folder of passages, which BM25 searches for each item; or `gold`, the item's own evidence.
        tool: Name of an Inspect tool that the model may call instead: `web_search`, `package/tool`, `file.py@tool`.
        top: Number of passages to look up.
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    method = "with_knowledge"
    seeker = Seeker(method, knowledge=knowledge, tool=tool, top=top, prompts=prompts, cache=cache)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        informed = await seeker.reply(state, None)
        state.messages = informed.messages
        return conclude(
            state, informed.output, MethodRecord(method=method, counts=informed.counts, steps=informed.steps)
        )

    return solve
