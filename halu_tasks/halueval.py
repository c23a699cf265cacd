"""HaluEval in Inspect: does a summary, or an answer, hallucinate, and where?

Papers: Li et al., HaluEval: A Large-Scale Hallucination Evaluation Benchmark for Large Language Models, EMNLP 2023,
arXiv 2305.11747; George and Stuhlmüller, Factored Verification: Detecting and Reducing Hallucination in Summaries of
Academic Papers, 2023, arXiv 2310.10627 (the claims and the samples). Data: https://github.com/RUCAIBox/HaluEval, MIT.
Rows, prompts, scores and metrics are declared in `halu_tasks/benchmarks/halueval.py`; what differs from the papers is
in `docs/tasks.md`.

    inspect eval halu_tasks/halueval.py --model openai/gpt-4o-mini -T split=test20
    inspect eval halu_tasks/halueval_summarization -T data=sample -T probability=true --model halu/oracle

Arguments of every task:
    data: a file, a folder, or `sample`; the pinned source when not given.
    scoring: `strict`, or `paper` for the published extraction and definitions.
    fewshot: number of worked examples before the question.
    prompts: a prompt file whose wording replaces the package's.
The summarization tasks also take:
    split: `all`, or `train5` or `test20`, seeded samples of 5% and 20% of the rows.
    seed: seed of these samples.
And those whose reply is one word:
    probability: read the probability of Yes from the reply's log-probabilities, for ROC-AUC.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import group, inspect_group, inspect_task


@task
def halueval_summarization(**options: Any) -> Task:
    """Does a summary hallucinate? Asked of both summaries of each document."""
    return inspect_task("halueval_summarization", **options)


@task
def halueval_summarization_cot(**options: Any) -> Task:
    """The same after reasoning."""
    return inspect_task("halueval_summarization_cot", **options)


@task
def halueval_summarization_claims(**options: Any) -> Task:
    """Which claims of a summary does the document support? All listed and checked in one reply."""
    return inspect_task("halueval_summarization_claims", **options)


@task
def halueval_general(**options: Any) -> Task:
    """Does an answer to a user's query hallucinate?"""
    return inspect_task("halueval_general", **options)


@task
def halueval_general_localization(**options: Any) -> Task:
    """Which passages of an answer are hallucinated?"""
    return inspect_task("halueval_general_localization", **options)


@group
def halueval(**options: Any) -> Task:
    """The summaries asked in all three ways in one run, with the mean accuracy."""
    return inspect_group("halueval", **options)
