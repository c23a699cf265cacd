"""ReFACT in Inspect: judge, compare, localize and correct scientific confabulations.

Paper: Wang et al., ReFACT: A Benchmark for Scientific Confabulation Detection with Positional Error
Annotations, EACL 2026, arXiv 2509.25868. Data: https://github.com/ddz5431/ReFACT, CC BY 4.0. Rows,
prompts, scores and metrics are declared in `halu_tasks/benchmarks/refact.py`; what differs from the
paper is in `docs/tasks.md`.

    inspect eval halu_tasks/refact.py --model openai/gpt-4o-mini
    inspect eval halu_tasks/refact_correction -T data=sample --model halu/oracle

Arguments of every task:
    data: a file, a folder, or `sample`; the pinned source when not given.
    scoring: `strict`, or `paper` for the published extraction and definitions.
    subset: `multi_error` or `single_error`.
    fewshot: number of worked examples before the question.
    cot: ask for reasoning before the answer (chain of thought).
    prompts: a prompt file whose wording replaces the package's.
The comparative task also takes:
    both_orders: ask every row in both orders, and report consistency and flips.
    seed: seed of the order of the two answers.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import group, inspect_group, inspect_task


@task
def refact_judgment_independent(**options: Any) -> Task:
    """Is an answer factual? Asked of the original and of the confabulated answer of each row."""
    return inspect_task("refact_judgment_independent", **options)


@task
def refact_judgment_comparative(**options: Any) -> Task:
    """Which of two answers is factual?"""
    return inspect_task("refact_judgment_comparative", **options)


@task
def refact_localization_negation(**options: Any) -> Task:
    """Which sentence of the answer was negated?"""
    return inspect_task("refact_localization_negation", **options)


@task
def refact_localization_entity(**options: Any) -> Task:
    """Which entities of the answer were replaced?"""
    return inspect_task("refact_localization_entity", **options)


@task
def refact_correction(**options: Any) -> Task:
    """What stood where the answer has masks?"""
    return inspect_task("refact_correction", **options)


@group
def refact_judgment(**options: Any) -> Task:
    """Both judgment tasks in one run, with their mean accuracy."""
    return inspect_group("refact_judgment", **options)


@group
def refact_localization(**options: Any) -> Task:
    """Both localization tasks in one run, with their mean accuracy and IoU."""
    return inspect_group("refact_localization", **options)


@group
def refact(**options: Any) -> Task:
    """All five tasks in one run; `acc` is the average accuracy of the paper's Table 2."""
    return inspect_group("refact", **options)
