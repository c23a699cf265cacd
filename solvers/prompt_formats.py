"""The prompt formats of ReFACT (Appendix C) as solvers, for any sample.

Each builds the messages from a sample's metadata and calls the model. The texts are those of this package's task files
unless the arguments replace them. docs/solvers.md has an example of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspect_ai.model import ChatMessage
from inspect_ai.solver import Solver, TaskState, solver

from halu_tasks.core.errors import ArgumentError, UsageError
from halu_tasks.core.prompting import Prompt, placeholders, texts, turns
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import chat_messages, own_task, wording_of
from halu_tasks.solvers.sample_fields import (
    MASK,
    SampleFields,
    prompt_solver,
    question_index,
    read_examples,
    text_argument,
)
from halu_tasks.tasks import task_named

LOCALIZATION = {"entities": "refact_localization_entity", "sentence": "refact_localization_negation"}
"""The task whose texts are the default, by what replies are asked to list."""


@solver
@checked
def independent(
    *,
    system: str | None = None,
    template: str | None = None,
    cot: bool = False,
    examples: str | list[dict[str, Any]] | None = None,
    question: str = "question",
    answer: str = "answer",
    generate: bool = True,
) -> Solver:
    """Ask whether an answer is factual, True or False.

    Args:
        system: System text, or a file with it. Default: that of `refact_judgment_independent`.
        template: User text with `{question}` and `{answer}`, or a file with it. Default: that of the same task.
        cot: Whether to ask for reasoning first; ignored if `system` is given.
        examples: Worked examples to show before the question, each with the fields of a sample and `output`, as a list
            or a JSON Lines or YAML file.
        question: Metadata key of the question; `input` is the sample's input.
        answer: Metadata key of the answer.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    names = {"question": question, "answer": answer}
    prompt_format = PromptFormat(
        "independent",
        "refact_judgment_independent",
        names,
        system=system,
        template=template,
        cot=cot,
        examples=examples,
    )
    return prompt_solver(prompt_format.messages, generate)


@solver
@checked
def comparative(
    *,
    system: str | None = None,
    template: str | None = None,
    cot: bool = False,
    examples: str | list[dict[str, Any]] | None = None,
    question: str = "question",
    answer_a: str = "answer_a",
    answer_b: str = "answer_b",
    generate: bool = True,
) -> Solver:
    """Ask which of two answers is factual, A or B.

    Args:
        system: System text, or a file with it. Default: that of `refact_judgment_comparative`.
        template: User text with `{question}`, `{answer_a}` and `{answer_b}`, or a file with it. Default: that of the
            same task.
        cot: Whether to ask for reasoning first; ignored if `system` is given.
        examples: Worked examples to show before the question, each with the fields of a sample and `output`, as a list
            or a JSON Lines or YAML file.
        question: Metadata key of the question; `input` is the sample's input.
        answer_a: Metadata key of the answer shown first.
        answer_b: Metadata key of the answer shown second.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    names = {"question": question, "answer_a": answer_a, "answer_b": answer_b}
    prompt_format = PromptFormat(
        "comparative",
        "refact_judgment_comparative",
        names,
        system=system,
        template=template,
        cot=cot,
        examples=examples,
    )
    return prompt_solver(prompt_format.messages, generate)


@solver
@checked
def localization(
    *,
    returns: str | None = None,
    system: str | None = None,
    template: str | None = None,
    cot: bool = False,
    examples: str | list[dict[str, Any]] | None = None,
    question: str = "question",
    answer: str = "answer",
    generate: bool = True,
) -> Solver:
    """Ask which passages of an answer are wrong.

    Args:
        returns: What the reply is asked for: `entities`, the wrong entities one per line, or `sentence`, the one
            sentence that is wrong. Default: what the sample's task asks for if it is a task of this package, otherwise
            `entities`.
        system: System text, or a file with it. Default: that of `refact_localization_entity` or, for `sentence`,
            of `refact_localization_negation`.
        template: User text with `{question}` and `{answer}`, or a file with it. Default: that of the same task.
        cot: Whether to ask for reasoning first; ignored if `system` is given.
        examples: Worked examples to show before the question, each with the fields of a sample and `output`, as a list
            or a JSON Lines or YAML file.
        question: Metadata key of the question; `input` is the sample's input.
        answer: Metadata key of the answer.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    if returns is not None and returns not in LOCALIZATION:
        raise ArgumentError(f"localization: argument returns={returns!r}: expected {' or '.join(LOCALIZATION)}")
    names = {"question": question, "answer": answer}
    reference = LOCALIZATION[returns or "entities"]
    prompt_format = PromptFormat(
        "localization",
        reference,
        names,
        system=system,
        template=template,
        cot=cot,
        examples=examples,
        own_wording=returns is None,
    )
    return prompt_solver(prompt_format.messages, generate)


@solver
@checked
def correction(
    *,
    mask: str = MASK,
    system: str | None = None,
    template: str | None = None,
    cot: bool = False,
    examples: str | list[dict[str, Any]] | None = None,
    question: str = "question",
    answer: str = "answer",
    generate: bool = True,
) -> Solver:
    """Ask for the words that masks in an answer replace, one replacement per line.

    Args:
        mask: The mask in the answers of the samples. The model is shown `<mask>`.
        system: System text, or a file with it. Default: that of `refact_correction`.
        template: User text with `{question}`, `{answer}` and `{number_of_masks}`, which is counted, or a file with it.
            Default: that of the same task.
        cot: Whether to ask for reasoning first; ignored if `system` is given.
        examples: Worked examples to show before the question, each with the fields of a sample and `output`, as a list
            or a JSON Lines or YAML file.
        question: Metadata key of the question; `input` is the sample's input.
        answer: Metadata key of the answer with masks.
        generate: Whether to call the model; if False, the call is left to later solvers.
    """
    if not mask:
        raise ArgumentError("correction: argument mask is empty")
    names = {"question": question, "answer": answer}
    prompt_format = PromptFormat(
        "correction",
        "refact_correction",
        names,
        system=system,
        template=template,
        cot=cot,
        examples=examples,
        mask=mask,
    )
    return prompt_solver(prompt_format.messages, generate)


class PromptFormat:
    """Builds the messages of a prompt format.

    Args:
        name: The name of the solver.
        reference: The packaged task whose texts are the default.
        names: The metadata key of each field.
        system: System text, or file, that replaces the default.
        template: User text, or file, that replaces the default.
        cot: Whether to use the system text that asks for reasoning, if the system text is the default.
        examples: Worked examples, or a file with them.
        mask: The mask in the answers, for a format that shows the number of masks.
        own_wording: Whether a sample of this package is asked with the texts of its own task.

    Raises:
        ArgumentError: An argument is invalid.
        DataError: The examples are invalid.
    """

    def __init__(
        self,
        name: str,
        reference: str,
        names: Mapping[str, str],
        *,
        system: str | None,
        template: str | None,
        cot: bool,
        examples: str | list[dict[str, Any]] | None,
        mask: str | None = None,
        own_wording: bool = True,
    ) -> None:
        self.name, self.cot, self.own_wording = name, cot, own_wording
        self.system = text_argument(name, "system", system)
        self.template = text_argument(name, "template", template)
        if self.template is not None and not placeholders(self.template):
            expected = " or ".join(f"{{{field}}}" for field in names)
            raise ArgumentError(f"{name}: argument template has no field such as {expected}")
        self.fields = SampleFields(name, names, mask)
        self.examples = read_examples(name, examples)
        self.wording = task_named(reference).prompts.wordings[0].prompt
        renamed = any(field != key for field, key in names.items()) or mask not in (None, MASK)
        self.default = system is None and template is None and not (cot or self.examples or renamed)

    def messages(self, state: TaskState) -> list[ChatMessage]:
        """Build the messages for a sample.

        A sample of this package whose task has this format is asked with the texts of its run, unless the arguments
        replace them.
        """
        task = own_task(state)
        if task and not (self.own_wording and task.prompts.format == self.name):
            task = None
        if task and self.default and not isinstance(state.input, str):
            return [message.model_copy() for message in state.input]
        prompt = self.prompt(wording_of(task) if task else self.wording)
        system, user = texts(prompt, self.fields.of_sample(state, prompt))
        examples = [self.fields.example(row, where, prompt["user"]) for where, row in self.examples]
        messages = chat_messages(turns(system, user, examples))
        # the embedded models identify the item by this metadata
        messages[-1].metadata = state.messages[question_index(state)].metadata
        return messages

    def prompt(self, wording: Prompt) -> Prompt:
        """Return system and user text: those of `wording`, unless the arguments replace them."""
        system = self.system
        if system is None and self.cot and "cot" not in wording:
            raise UsageError(f"{self.name}: the task has no chain-of-thought text; give 'system' instead of cot=True")
        if system is None:
            system = wording["cot"] if self.cot else wording.get("system", "")
        return {"system": system, "user": wording["user"] if self.template is None else self.template}
