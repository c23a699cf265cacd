"""The solver `chain_of_thought`: reasoning before the answer, for any sample."""

from __future__ import annotations

from inspect_ai.model import ChatMessage, ChatMessageSystem
from inspect_ai.solver import Solver, TaskState, solver

from halu_tasks.core.prompting import fill
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import own_task, wording_of
from halu_tasks.solvers.sample_fields import SampleFields, prompt_solver, text_argument

SYSTEM = (
    "Think step by step: write down your reasoning first. Then end with the answer alone, in the form in which it is "
    "asked for."
)
"""The default text. Its wording is part of the prompt, so a change of it changes results."""


@solver
@checked
def chain_of_thought(*, system: str | None = None, generate: bool = True) -> Solver:
    """Ask for reasoning before the answer, in a system message after those of the sample.

    In a chain of solvers, it comes after the one that writes the question. If a task of this package has its own
    chain-of-thought text, that replaces the system text, unless `system` is given.

    Args:
        system: System text, or a file with it. `{field}` stands for a field of the sample's metadata.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    name = "chain_of_thought"
    given, fields = text_argument(name, "system", system), SampleFields(name)

    def messages(state: TaskState) -> list[ChatMessage]:
        task = own_task(state)
        prompt = wording_of(task) if task else {}
        replaces_system = given is None and "cot" in prompt
        text = prompt["cot"] if replaces_system else given or SYSTEM
        instruction = ChatMessageSystem(content=fill(text, fields.of_sample(state, {"system": text})))
        before = [message for message in state.messages if message.role == "system" and not replaces_system]
        return [*before, instruction, *(message for message in state.messages if message.role != "system")]

    return prompt_solver(messages, generate)
