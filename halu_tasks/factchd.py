"""FactCHD in Inspect: is an answer factual, and why?

Paper: Chen et al., FactCHD: Benchmarking Fact-Conflicting Hallucination Detection, IJCAI 2024,
arXiv 2310.12086. Data: https://github.com/zjunlp/FactCHD, MIT. Rows, prompts, scores and metrics are
declared in `halu_tasks/benchmarks/factchd.py`; what differs from the paper is in `docs/tasks.md`.

    inspect eval halu_tasks/factchd.py --model openai/gpt-4o-mini -T data=path/to/data
    inspect eval halu_tasks/factchd_evidence -T data=sample --model halu/oracle

Arguments of every task:
    data: a file, a folder, or `sample`; the pinned source, an extract of 50 rows, when not given.
    scoring: `strict`, or `paper` for the published extraction and definitions.
    fewshot: number of worked examples before the question, from the training part in the folder that
        `data` names, else from the package's own rows.
    seed: seed of the choice of these examples.
    prompts: a prompt file whose wording replaces the package's.
"""

from inspect_ai import Task, task

from halu_tasks.inspect_adapter import inspect_task


@task
def factchd(
    data: str | None = None, scoring: str = "strict", fewshot: int = 0, seed: int = 0, prompts: str | None = None
) -> Task:
    """A label and an explanation, given question and answer."""
    return inspect_task("factchd", **locals())


@task
def factchd_4shot(
    data: str | None = None, scoring: str = "strict", fewshot: int = 4, seed: int = 0, prompts: str | None = None
) -> Task:
    """The same after four worked examples, one a factuality pattern."""
    return inspect_task("factchd_4shot", **locals())


@task
def factchd_evidence(
    data: str | None = None, scoring: str = "strict", fewshot: int = 0, seed: int = 0, prompts: str | None = None
) -> Task:
    """The same with the gold evidence shown."""
    return inspect_task("factchd_evidence", **locals())


@task
def factchd_no_query(
    data: str | None = None, scoring: str = "strict", fewshot: int = 0, seed: int = 0, prompts: str | None = None
) -> Task:
    """The same without the question."""
    return inspect_task("factchd_no_query", **locals())
