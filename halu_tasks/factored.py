"""Factored Verification in Inspect: cited summaries of papers, and checking your own texts claim by claim.

Paper: George and Stuhlmüller, Factored Verification: Detecting and Reducing Hallucination in Summaries of Academic
Papers, 2023, https://arxiv.org/abs/2310.10627. Data of `fave`: https://github.com/elicit/fave-dataset, MIT. Its
prompts, scoring and metrics are defined in `task_configs/fave/`, the reading of rows in
`halu_tasks/benchmarks/fave.py`. The methods are solvers; see `docs/methods.md`.

    inspect eval halu_tasks/factored.py --model openai/gpt-4o-mini --model-role grader=openai/gpt-4o
    inspect eval halu_tasks/fave --solver halu_tasks/factored_revision --model-role grader=openai/gpt-4o
    inspect eval halu_tasks/factored_verification -T input=my.jsonl --model openai/gpt-4o-mini
    inspect eval halu_tasks/factored_verification -T input=my.jsonl --solver halu_tasks/truth_triangulator \
        -S knowledge=wiki/ --model openai/gpt-4o-mini
    inspect eval halu_tasks/halueval_factored --model openai/gpt-4o-mini

Arguments of `fave` are the options of judged tasks (docs/options.md). A judge in the model role `grader` takes the
place of the option `judge`. `assume=precision:0.7` is the share of reported hallucinations that are real, for adjusted
figures (2/3 by default).
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.named_scorers import texts_task
from halu_tasks.inspect_adapter.tasks import inspect_task, named
from halu_tasks.solvers.factored_verification import factored_verification as solver


@task
def fave(**options: Any) -> Task:
    """Ask for a cited summary of eight papers; a judge decides which of its claims the abstracts support."""
    return inspect_task("fave", **options)


@named
def halueval_factored(**options: Any) -> Task:
    """Check HaluEval's summaries by Factored Verification, as in Table 1 of the paper.

    The threshold is tuned on 5% of the rows and tested on 20%. Options are those of `halueval_summarization`.
    """
    task = inspect_task("halueval_summarization", **{"split": "train5_test20", **options})
    task.solver = solver()
    return task


@named
def factored_verification(input: str, prompts: str | None = None) -> Task:
    """Check your own texts, claim by claim against their sources, or with another solver.

    Args:
        input: A JSON Lines file with `text`; with `source` (a string or a list of strings), unless the solver looks
            things up; optionally with `id`, `query` and `label`: Yes if the text hallucinates, No if it does not.
        prompts: A prompt file whose `own_text` replaces the question that solvers such as `with_knowledge` ask.
    """
    return texts_task(input, solver(), prompts)
