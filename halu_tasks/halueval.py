"""HaluEval in Inspect: does a summary, or an answer, hallucinate, and where?

Papers: Li et al., HaluEval: A Large-Scale Hallucination Evaluation Benchmark for Large Language Models, EMNLP 2023,
https://arxiv.org/abs/2305.11747; George and Stuhlmüller, Factored Verification: Detecting and Reducing Hallucination in
Summaries of Academic Papers, 2023, https://arxiv.org/abs/2310.10627 (the claims and the samples). Data:
https://github.com/RUCAIBox/HaluEval, MIT.
Prompts, scoring and metrics are defined in `task_configs/halueval/`, the reading of rows in
`halu_tasks/benchmarks/halueval.py`; `docs/tasks.md` lists the differences from the papers.

    inspect eval halu_tasks/halueval.py --model openai/gpt-4o-mini -T split=test20
    inspect eval halu_tasks/halueval_summarization -T data=sample -T probability=true --model halu/oracle

Arguments of every task:
    data: A file, a folder, or `sample`; by default, the pinned source.
    scoring: `strict`, or `paper` for the published extraction and definitions.
    fewshot: The number of worked examples before the question.
    prompts: A prompt file that replaces the package's prompts; with several, items are asked in each wording.
The summarization tasks also take:
    split: `all`, or `train5` or `test20` for a seeded sample of 5% or 20% of the rows.
    seed: The seed of these samples.
Tasks whose reply is one word also take:
    probability: Read the probability of Yes from the reply's log-probabilities, for ROC-AUC.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_task


@task
def halueval_summarization(**options: Any) -> Task:
    """Ask whether a summary hallucinates, for both summaries of each document."""
    return inspect_task("halueval_summarization", **options)


@task
def halueval_summarization_cot(**options: Any) -> Task:
    """Ask the same after reasoning."""
    return inspect_task("halueval_summarization_cot", **options)


@task
def halueval_summarization_claims(**options: Any) -> Task:
    """Ask for the claims of a summary and whether the document supports each, in one reply."""
    return inspect_task("halueval_summarization_claims", **options)


@task
def halueval_general(**options: Any) -> Task:
    """Ask whether an answer to a user's query hallucinates."""
    return inspect_task("halueval_general", **options)


@task
def halueval_general_localization(**options: Any) -> Task:
    """Ask which passages of an answer are hallucinated."""
    return inspect_task("halueval_general_localization", **options)
