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

from inspect_ai import Task, task

from halu_tasks.inspect_adapter import group, inspect_group, inspect_task


@task
def refact_judgment_independent(
    data: str | None = None,
    scoring: str = "strict",
    subset: str = "multi_error",
    fewshot: int = 0,
    cot: bool = False,
    prompts: str | None = None,
) -> Task:
    """Is an answer factual? Asked of the original and of the confabulated answer of each row."""
    return inspect_task("refact_judgment_independent", **locals())


@task
def refact_judgment_comparative(
    data: str | None = None,
    scoring: str = "strict",
    subset: str = "multi_error",
    fewshot: int = 0,
    cot: bool = False,
    prompts: str | None = None,
    both_orders: bool = False,
    seed: int = 0,
) -> Task:
    """Which of two answers is factual?"""
    return inspect_task("refact_judgment_comparative", **locals())


@task
def refact_localization_negation(
    data: str | None = None,
    scoring: str = "strict",
    subset: str = "multi_error",
    fewshot: int = 0,
    cot: bool = False,
    prompts: str | None = None,
) -> Task:
    """Which sentence of the answer was negated?"""
    return inspect_task("refact_localization_negation", **locals())


@task
def refact_localization_entity(
    data: str | None = None,
    scoring: str = "strict",
    subset: str = "multi_error",
    fewshot: int = 0,
    cot: bool = False,
    prompts: str | None = None,
) -> Task:
    """Which entities of the answer were replaced?"""
    return inspect_task("refact_localization_entity", **locals())


@task
def refact_correction(
    data: str | None = None,
    scoring: str = "strict",
    subset: str = "multi_error",
    fewshot: int = 0,
    cot: bool = False,
    prompts: str | None = None,
) -> Task:
    """What stood where the answer has masks?"""
    return inspect_task("refact_correction", **locals())


@group
def refact_judgment(
    data: str | None = None,
    scoring: str = "strict",
    subset: str = "multi_error",
    fewshot: int = 0,
    cot: bool = False,
    prompts: str | None = None,
) -> Task:
    """Both judgment tasks in one run, with their mean accuracy."""
    return inspect_group("refact_judgment", **locals())


@group
def refact_localization(
    data: str | None = None,
    scoring: str = "strict",
    subset: str = "multi_error",
    fewshot: int = 0,
    cot: bool = False,
    prompts: str | None = None,
) -> Task:
    """Both localization tasks in one run, with their mean accuracy and IoU."""
    return inspect_group("refact_localization", **locals())


@group
def refact(
    data: str | None = None,
    scoring: str = "strict",
    subset: str = "multi_error",
    fewshot: int = 0,
    cot: bool = False,
    prompts: str | None = None,
) -> Task:
    """All five tasks in one run; `acc` is the average accuracy of the paper's Table 2."""
    return inspect_group("refact", **locals())
