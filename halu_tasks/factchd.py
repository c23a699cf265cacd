"""FactCHD in Inspect: is an answer factual, and why?

Paper: Chen et al., FactCHD: Benchmarking Fact-Conflicting Hallucination Detection, IJCAI 2024,
https://arxiv.org/abs/2310.12086. Data: https://huggingface.co/datasets/zjunlp/FactCHD, MIT.
Prompts, scoring and metrics are defined in `task_configs/factchd/`, the reading of rows in
`halu_tasks/benchmarks/factchd.py`; `docs/tasks.md` lists the differences from the paper.

    inspect eval halu_tasks/factchd.py --model openai/gpt-4o-mini
    inspect eval halu_tasks/factchd_evidence -T data=sample --model halu/oracle

Arguments of every task:
    data: A file, a folder, or `sample`; by default, the pinned source.
    scoring: `strict`, or `paper` for the published extraction and definitions.
    fewshot: The number of worked examples before the question; they are rows of the training file.
    seed: The seed of the choice of these examples.
    alpha: The weight of an explanation's body in ExpMatch; 0.7 by default, as published.
    prompts: A prompt file that replaces the package's prompts; with several, items are asked in each wording.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_task


@task
def factchd(**options: Any) -> Task:
    """Ask whether an answer to a question is factual, and why."""
    return inspect_task("factchd", **options)


@task
def factchd_4shot(**options: Any) -> Task:
    """Ask the same after four worked examples, one of each factuality pattern."""
    return inspect_task("factchd_4shot", **options)


@task
def factchd_evidence(**options: Any) -> Task:
    """Ask the same with the gold evidence in the prompt."""
    return inspect_task("factchd_evidence", **options)


@task
def factchd_no_query(**options: Any) -> Task:
    """Ask the same without the question in the prompt."""
    return inspect_task("factchd_no_query", **options)
