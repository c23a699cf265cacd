"""Factored Verification in Inspect: cited summaries of papers, and texts of your own checked claim by claim.

Paper: George and Stuhlmüller, Factored Verification: Detecting and Reducing Hallucination in Summaries of Academic
Papers, 2023, arXiv 2310.10627. Data of `fave`: https://github.com/elicit/fave-dataset, MIT. Its rows, prompts, scores
and metrics are declared in `halu_tasks/benchmarks/fave.py`; the methods are solvers, in `docs/methods.md`.

    inspect eval halu_tasks/factored.py --model openai/gpt-4o-mini --model-role grader=openai/gpt-4o
    inspect eval halu_tasks/fave --solver halu_tasks/factored_revision --model-role grader=openai/gpt-4o
    inspect eval halu_tasks/factored_verification -T input=my.jsonl --model openai/gpt-4o-mini
    inspect eval halu_tasks/halueval_factored --model openai/gpt-4o-mini

Arguments of `fave`:
    data: a file, a folder, or `sample`; the pinned source when not given.
    adjustment: the share of reported hallucinations that are real, for the figures called adjusted; 2/3.
    fewshot, prompts: as of every task.
    judge, judge_base_url, judge_max_failures: the judge, where no model role `grader` is given.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_task, named
from halu_tasks.inspect_adapter.texts import texts_task
from halu_tasks.solvers.factored_verification import factored_verification as solver


@task
def fave(**options: Any) -> Task:
    """Summarise eight papers for a query, with citations; how much do the abstracts not support?"""
    return inspect_task("fave", **options)


@named
def halueval_factored(**options: Any) -> Task:
    """HaluEval's summaries by Factored Verification as in Table 1 of the paper: the threshold tuned on 5% of the rows,
    tested on 20%. Options are those of `halueval_summarization`."""
    task = inspect_task("halueval_summarization", **{"split": "train5_test20", **options})
    task.solver = solver()
    return task


@named
def factored_verification(input: str) -> Task:
    """Check texts of your own, claim by claim, against the sources that come with them.

    Args:
        input: a file of JSON Lines with `text` and `source`, a text or a list of texts; optionally `id`, `query`,
            and `label`, Yes where the text hallucinates and No where it does not.
    """
    return texts_task(input, solver())
