"""The prompt formats of ReFACT (Appendix C) as solvers, for the fields of any sample.

Each builds the messages from a sample's metadata, in the wording of this package's own task files unless its arguments
give another, and generates. docs/solvers.md has an example of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspect_ai.model import ChatMessage
from inspect_ai.solver import Solver, TaskState, solver

from halu_tasks.errors import ArgumentError, UsageError
from halu_tasks.prompting import Prompt, placeholders, texts, turns
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
"""The task that words the prompt, by what the reply is to list."""


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
        system: system text, or a file that holds it. Default: that of `refact_judgment_independent`.
        template: user text with `{question}` and `{answer}`, or a file that holds it. Default: that of the same task.
        cot: ask for reasoning first. Has no effect where `system` is given.
        examples: worked examples to show before the question, each with the fields of a sample and `output`: a list, or
            a JSON Lines or YAML file.
        question: metadata key of the question; `input` is the sample's input.
        answer: metadata key of the answer.
        generate: call the model; False leaves that to the solvers that follow.
    """
    names = {"question": question, "answer": answer}
    asked = PromptFormat("independent", "refact_judgment_independent", names, system, template, cot, examples)
    return prompt_solver(asked.messages, generate)


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
        system: system text, or a file that holds it. Default: that of `refact_judgment_comparative`.
        template: user text with `{question}`, `{answer_a}` and `{answer_b}`, or a file that holds it. Default: that of
            the same task.
        cot: ask for reasoning first. Has no effect where `system` is given.
        examples: worked examples to show before the question, each with the fields of a sample and `output`: a list, or
            a JSON Lines or YAML file.
        question: metadata key of the question; `input` is the sample's input.
        answer_a: metadata key of the answer shown first.
        answer_b: metadata key of the answer shown second.
        generate: call the model; False leaves that to the solvers that follow.
    """
    names = {"question": question, "answer_a": answer_a, "answer_b": answer_b}
    asked = PromptFormat("comparative", "refact_judgment_comparative", names, system, template, cot, examples)
    return prompt_solver(asked.messages, generate)


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
        returns: what the reply is to list: `entities`, the wrong entities one a line, or `sentence`, the one sentence
            that is wrong. Default: what the sample's task asks for where it is of this package, and else `entities`.
        system: system text, or a file that holds it. Default: that of `refact_localization_entity` or, for `sentence`,
            of `refact_localization_negation`.
        template: user text with `{question}` and `{answer}`, or a file that holds it. Default: that of the same task.
        cot: ask for reasoning first. Has no effect where `system` is given.
        examples: worked examples to show before the question, each with the fields of a sample and `output`: a list, or
            a JSON Lines or YAML file.
        question: metadata key of the question; `input` is the sample's input.
        answer: metadata key of the answer.
        generate: call the model; False leaves that to the solvers that follow.
    """
    if returns is not None and returns not in LOCALIZATION:
        raise ArgumentError(f"localization: argument returns={returns!r}: expected {' or '.join(LOCALIZATION)}")
    names = {"question": question, "answer": answer}
    reference = LOCALIZATION[returns or "entities"]
    asked = PromptFormat("localization", reference, names, system, template, cot, examples, own_wording=returns is None)
    return prompt_solver(asked.messages, generate)


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
    """Ask what stood where an answer has masks, one replacement a line.

    Args:
        mask: what hides words in the answers of the samples. The model is shown `<mask>`.
        system: system text, or a file that holds it. Default: that of `refact_correction`.
        template: user text with `{question}`, `{answer}` and `{number_of_masks}`, which is counted, or a file that
            holds it. Default: that of the same task.
        cot: ask for reasoning first. Has no effect where `system` is given.
        examples: worked examples to show before the question, each with the fields of a sample and `output`: a list, or
            a JSON Lines or YAML file.
        question: metadata key of the question; `input` is the sample's input.
        answer: metadata key of the answer with its masks.
        generate: call the model; False leaves that to the solvers that follow.
    """
    if not mask:
        raise ArgumentError("correction: argument mask is empty")
    names = {"question": question, "answer": answer}
    asked = PromptFormat("correction", "refact_correction", names, system, template, cot, examples, mask=mask)
    return prompt_solver(asked.messages, generate)


class PromptFormat:
    """Builds the messages of a prompt format.

    Args:
        name: of the solver.
        reference: the packaged task whose wording is the default.
        names: the metadata key of each field.
        system: system text or file that replaces the default.
        template: user text or file that replaces the default.
        cot: whether the default system text is the one that asks for reasoning.
        examples: worked examples, or their file.
        mask: what hides words in the answers, of a format that shows their number.
        own_wording: whether a sample of this package is asked in the wording of its own task.
    """

    def __init__(
        self,
        name: str,
        reference: str,
        names: Mapping[str, str],
        system: str | None,
        template: str | None,
        cot: bool,
        examples: str | list[dict[str, Any]] | None,
        *,
        mask: str | None = None,
        own_wording: bool = True,
    ) -> None:
        self.name, self.cot, self.own_wording = name, cot, own_wording
        self.system = text_argument(name, "system", system)
        self.template = text_argument(name, "template", template)
        if self.template is not None and not placeholders(self.template):
            shown = " or ".join(f"{{{field}}}" for field in names)
            raise ArgumentError(f"{name}: argument template shows no field such as {shown}")
        self.fields = SampleFields(name, names, mask)
        self.examples = read_examples(name, examples)
        self.wording = task_named(reference).wordings[0].prompt
        renamed = any(field != key for field, key in names.items()) or mask not in (None, MASK)
        self.default = system is None and template is None and not (cot or self.examples or renamed)

    def messages(self, state: TaskState) -> list[ChatMessage]:
        """The messages that ask a sample. One of this package's tasks of this format is asked as its run asks it,
        unless the arguments say otherwise."""
        task = own_task(state)
        own = task is not None and task.prompt_format == self.name and self.own_wording
        if own and self.default and not isinstance(state.input, str):
            return [message.model_copy() for message in state.input]
        prompt = self.prompt(wording_of(task) if own and task else self.wording)
        system, user = texts(prompt, self.fields.of_sample(state, prompt))
        examples = [self.fields.example(row, where, prompt["user"]) for where, row in self.examples]
        messages = chat_messages(turns(system, user, examples))
        # by which the embedded models know the item
        messages[-1].metadata = state.messages[question_index(state)].metadata
        return messages

    def prompt(self, wording: Prompt) -> Prompt:
        """The texts of `wording`, or those that were given in their place."""
        system = self.system
        if system is None and self.cot and "cot" not in wording:
            raise UsageError(f"{self.name}: the task has no chain-of-thought text; give 'system' in place of cot=True")
        if system is None:
            system = wording["cot"] if self.cot else wording.get("system", "")
        return {"system": system, "user": wording["user"] if self.template is None else self.template}
