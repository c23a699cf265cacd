"""C-FAITH in Inspect: Chinese questions in three formats, and how often the answers hallucinate.

Paper: Zhang et al., C-FAITH: A Chinese Fine-Grained Benchmark for Automated Hallucination Evaluation,
https://arxiv.org/abs/2504.10167. Data: https://github.com/pkulcwmzx/C-FAITH, licence not stated.
Prompts, scoring and metrics are defined in `task_configs/cfaith/`, the reading of rows in
`halu_tasks/benchmarks/cfaith.py`; `docs/tasks.md` lists the differences from the paper.

    inspect eval halu_tasks/cfaith.py --model openai/gpt-4o-mini --model-role grader=openai/gpt-4o
    inspect eval halu_tasks/cfaith_choice -T data=sample --model halu/oracle

Arguments of every task:
    data: A file, a folder, or `sample`; by default, the pinned source.
    scoring: `strict`, or `paper` for the paper's direct comparison.
    fewshot: The number of worked examples before the question.
    prompts: A prompt file that replaces the package's prompts; with several, items are asked in each wording.
The judged task, and the group that includes it, also take:
    judge: The judge's model, unless there is a model role `grader` (`--model-role grader=…`).
    judge_base_url: The address of the judge's server.
    judge_max_failures: The share of replies without a verdict above which the run fails.
    judge_max_cost, judge_price: Dollars that judges may cost, and the judge's price of a million input and output
        tokens, such as `2.50/10`.
    reference: A table of better labels of judged replies, by which the rate is corrected.
    assume: Without labels, the judge's errors, such as `sensitivity:0.8-0.9,specificity:0.95`.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_task


@task
def cfaith_gen(**options: Any) -> Task:
    """Ask for an open answer; a judge decides whether it conflicts with the correct one."""
    return inspect_task("cfaith_gen", **options)


@task
def cfaith_choice(**options: Any) -> Task:
    """Ask for the letter of the correct one of four answers."""
    return inspect_task("cfaith_choice", **options)


@task
def cfaith_tf(**options: Any) -> Task:
    """Ask whether an answer is correct, for the correct and the hallucinated answer of each row."""
    return inspect_task("cfaith_tf", **options)
