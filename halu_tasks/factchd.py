"""FactCHD in Inspect: is an answer factual, and why?

Paper: Chen et al., FactCHD: Benchmarking Fact-Conflicting Hallucination Detection, IJCAI 2024,
arXiv 2310.12086. Data: https://huggingface.co/datasets/zjunlp/FactCHD, MIT. Rows, prompts, scores and metrics are
declared in `halu_tasks/benchmarks/factchd.py`; what differs from the paper is in `docs/tasks.md`.

    inspect eval halu_tasks/factchd.py --model openai/gpt-4o-mini
    inspect eval halu_tasks/factchd_evidence -T data=sample --model halu/oracle

Arguments of every task:
    data: a file, a folder, or `sample`; the pinned source when not given.
    scoring: `strict`, or `paper` for the published extraction and definitions.
    fewshot: number of worked examples before the question, from the training part.
    seed: seed of the choice of these examples.
    prompts: a prompt file whose wording replaces the package's.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_task


@task
def factchd(**options: Any) -> Task:
    """A label and an explanation, given question and answer."""
    return inspect_task("factchd", **options)


@task
def factchd_4shot(**options: Any) -> Task:
    """The same after four worked examples, one a factuality pattern."""
    return inspect_task("factchd_4shot", **options)


@task
def factchd_evidence(**options: Any) -> Task:
    """The same with the gold evidence shown."""
    return inspect_task("factchd_evidence", **options)


@task
def factchd_no_query(**options: Any) -> Task:
    """The same without the question."""
    return inspect_task("factchd_no_query", **options)
