"""ReFACT in Inspect: judge, compare, localize and correct scientific confabulations.

Paper: Wang et al., ReFACT: A Benchmark for Scientific Confabulation Detection with Positional Error
Annotations, EACL 2026, https://arxiv.org/abs/2509.25868. Data: https://github.com/ddz5431/ReFACT, CC BY 4.0.
Prompts, scoring and metrics are defined in `task_configs/refact/`, the reading of rows in
`halu_tasks/benchmarks/refact.py`; `docs/tasks.md` lists the differences from the paper.

    inspect eval halu_tasks/refact.py --model openai/gpt-4o-mini
    inspect eval halu_tasks/refact_correction -T data=sample --model halu/oracle

Arguments of every task:
    data: A file, a folder, or `sample`; by default, the pinned source.
    scoring: `strict`, or `paper` for the published extraction and definitions.
    subset: `multi_error` or `single_error`.
    fewshot: The number of worked examples before the question.
    cot: Ask for reasoning before the answer (chain of thought).
    prompts: A prompt file that replaces the package's prompts; with several, items are asked in each wording.
The comparative task also takes:
    both_orders: Ask about every row in both orders, and report consistency and flips.
    seed: The seed of the order of the two answers.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_task


@task
def refact_judgment_independent(**options: Any) -> Task:
    """Ask whether an answer is factual, for the original and the confabulated answer of each row."""
    return inspect_task("refact_judgment_independent", **options)


@task
def refact_judgment_comparative(**options: Any) -> Task:
    """Ask which of two answers is factual."""
    return inspect_task("refact_judgment_comparative", **options)


@task
def refact_localization_negation(**options: Any) -> Task:
    """Ask which sentence of the answer was negated."""
    return inspect_task("refact_localization_negation", **options)


@task
def refact_localization_entity(**options: Any) -> Task:
    """Ask which entities of the answer were replaced."""
    return inspect_task("refact_localization_entity", **options)


@task
def refact_correction(**options: Any) -> Task:
    """Ask for the entities that belong where the answer has masks."""
    return inspect_task("refact_correction", **options)
