"""Truth-Triangulator (FactCHD, Chen et al. 2024, section 5.4).

A seeker looks things up, a guardian relies on its own knowledge, and a manager weighs both answers against what was
found.
"""

from __future__ import annotations

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, conclude, decoding_for, task_of
from halu_tasks.solvers.knowledge import InformedReply, Seeker, with_question
from halu_tasks.solvers.method_prompts import method_prompt
from halu_tasks.solvers.method_record import MethodRecord
from halu_tasks.solvers.passages import shown

SEEKER, GUARDIAN, MANAGER = "seeker", "guardian", "manager"
"""The model roles."""
SILENT = "(gave no answer)"
"""What the manager is shown in place of a missing answer."""


@solver
@checked
def truth_triangulator(
    knowledge: str | None = None,
    tool: str | None = None,
    top: int = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Ask a seeker that can look things up and a guardian that cannot, and let a manager decide.

    The manager sees both answers and what was found, and its reply is the answer. This works with tasks whose answer is
    a label. The model roles `seeker`, `guardian` and `manager` default to the model under test. Give either `knowledge`
    or `tool`.

    Args:
        knowledge: File or folder of passages, which BM25 searches for each item; or `gold`, the item's own evidence.
        tool: Name of an Inspect tool that the seeker may call instead: `web_search`, `package/tool`, `file.py@tool`.
        top: Number of passages to look up.
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    method = "truth_triangulator"
    seeker = Seeker(method, knowledge=knowledge, tool=tool, top=top, prompts=prompts, cache=cache)
    weighing = method_prompt("truth_triangulator_manager", method, prompts)["user"]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task = task_of(state)
        if task.read is None:
            raise UsageError(f"{method} weighs two labels, and {task.name} asks for something else")
        informed, guarded = await _seek_and_guard(seeker, state, cache)
        answers = {SEEKER: _answer(informed.output), GUARDIAN: _answer(guarded)}
        fields = {role: fence(text) if text else SILENT for role, text in answers.items()}
        messages = with_question(state.messages, weighing, {**fields, "passages": shown(informed.findings)})
        output = await ask(messages, MANAGER, cache=cache, **decoding_for(state, MANAGER))
        record = MethodRecord(
            method=method,
            counts={**informed.counts, "opinions_unread": sum(not text for text in answers.values())},
            steps={**informed.steps, **answers},
            opinions={role: task.label(text).value for role, text in answers.items()},
        )
        return conclude(state, output, record)

    return solve


async def _seek_and_guard(seeker: Seeker, state: TaskState, cache: bool) -> tuple[InformedReply, ModelOutput]:
    """Ask seeker and guardian concurrently."""

    async def guard() -> ModelOutput:
        return await ask(state.messages, GUARDIAN, cache=cache, **decoding_for(state, GUARDIAN))

    replies: list[InformedReply | ModelOutput] = await gather(seeker.reply(state, SEEKER), guard())
    informed, guarded = replies
    assert isinstance(informed, InformedReply) and isinstance(guarded, ModelOutput)
    return informed, guarded


def _answer(output: ModelOutput) -> str:
    """Return a reply without its reasoning; empty if the reasoning never ends or nothing follows it."""
    return (strip_reasoning(output.completion) or "").strip()
