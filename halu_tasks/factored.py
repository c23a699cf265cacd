"""Factored Verification in Inspect: HaluEval's summaries as in the paper, and checking your own texts claim by claim.

Paper: George and Stuhlmüller, Factored Verification: Detecting and Reducing Hallucination in Summaries of Academic
Papers, 2023, https://arxiv.org/abs/2310.10627. The paper's cited summaries are the task `fave`. The methods are
solvers; see `docs/methods.md`.

    inspect eval halu_tasks/factored_verification -T input=my.jsonl --model openai/gpt-4o-mini
    inspect eval halu_tasks/factored_verification -T input=my.jsonl --solver halu_tasks/truth_triangulator \
        -S knowledge=wiki/ --model openai/gpt-4o-mini
    inspect eval halu_tasks/halueval_factored --model openai/gpt-4o-mini
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.core.errors import UsageError
from halu_tasks.inspect_adapter.named_scorers import texts_task
from halu_tasks.inspect_adapter.task_factories import inspect_task, named
from halu_tasks.solvers.factored_verification import factored_verification as solver


@task
def halueval_factored(**options: Any) -> Task:
    """Check HaluEval's summaries by Factored Verification, as in Table 1 of the paper.

    The threshold is tuned on 5% of the rows and tested on 20%. Options are those of `halueval_summarization`.
    """
    task = inspect_task("halueval_summarization", **{"split": "train5_test20", **options})
    task.solver = solver()
    return task


@named
def factored_verification(input: str | None = None, prompts: str | None = None) -> Task:
    """Check your own texts, claim by claim against their sources, or with another solver.

    Args:
        input: A JSON Lines file with `text`; with `source` (a string or a list of strings), unless the solver looks
            things up; optionally with `id`, `query` and `label`: Yes if the text hallucinates, No if it does not.
        prompts: A prompt file whose `own_text` replaces the question that solvers such as `with_knowledge` ask.
    """
    if input is None:
        raise UsageError("halu_tasks/factored_verification: name a file of texts with -T input=FILE.jsonl")
    return texts_task(input, solver(), prompts)
