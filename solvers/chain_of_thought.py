"""Reasoning before the answer, on any sample."""

from __future__ import annotations

from inspect_ai.model import ChatMessage, ChatMessageSystem
from inspect_ai.solver import Solver, TaskState, solver

from halu_tasks.prompting import fill
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import own_task, wording_of
from halu_tasks.solvers.sample_fields import SampleFields, prompt_solver, text_argument

SYSTEM = (
    "Think step by step: write down your reasoning first. Then end with the answer alone, in the form in which it is "
    "asked for."
)


@solver
@checked
def chain_of_thought(*, system: str | None = None, generate: bool = True) -> Solver:
    """Ask for reasoning before the answer, in a system message after those of the sample.

    In a chain it stands behind the solver that words the question. A task of this package that has a chain-of-thought
    text of its own is asked with that, in place of its system text, unless `system` is given.

    Args:
        system: system text, or a file that holds it; fields of the metadata stand in it as `{field}`.
        generate: call the model; False leaves that to the solvers that follow.
    """
    name = "chain_of_thought"
    given, fields = text_argument(name, "system", system), SampleFields(name)

    def messages(state: TaskState) -> list[ChatMessage]:
        task = own_task(state)
        prompt = wording_of(task) if task else {}
        replaced = given is None and "cot" in prompt
        text = prompt["cot"] if replaced else given or SYSTEM
        asked = ChatMessageSystem(content=fill(text, fields.of_sample(state, {"system": text})))
        before = [message for message in state.messages if message.role == "system" and not replaced]
        return [*before, asked, *(message for message in state.messages if message.role != "system")]

    return prompt_solver(messages, generate)
