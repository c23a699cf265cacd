"""C-FAITH in Inspect: Chinese questions in three formats, and how often the answers hallucinate.

Paper: Zhang et al., C-FAITH: A Chinese Fine-Grained Benchmark for Automated Hallucination Evaluation,
arXiv 2504.10167. Data: https://github.com/pkulcwmzx/C-FAITH, licence not stated. Rows, prompts, scores
and metrics are declared in `halu_tasks/benchmarks/cfaith.py`; what differs from the paper is in
`docs/tasks.md`.

    inspect eval halu_tasks/cfaith.py --model openai/gpt-4o-mini --model-role grader=openai/gpt-4o
    inspect eval halu_tasks/cfaith_choice -T data=sample --model halu/oracle

Arguments of every task:
    data: a file, a folder, or `sample`; the pinned source when not given.
    scoring: `strict`, or `paper` for the direct comparison of the paper.
    fewshot: number of worked examples before the question.
    prompts: a prompt file whose wording replaces the package's.
The judged task, and the group that holds it, also take:
    judge, judge_base_url: a judge's model and address, where no `--model-role grader=…` is given.
    judge_max_failures: the share of replies that the judge may fail on before the run is an error.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import group, inspect_group, inspect_task


@task
def cfaith_gen(**options: Any) -> Task:
    """An open answer; a judge decides whether it conflicts with the correct one."""
    return inspect_task("cfaith_gen", **options)


@task
def cfaith_choice(**options: Any) -> Task:
    """The letter of the correct one of four answers."""
    return inspect_task("cfaith_choice", **options)


@task
def cfaith_tf(**options: Any) -> Task:
    """Is an answer correct? Asked of the correct and of the hallucinated answer of each row."""
    return inspect_task("cfaith_tf", **options)


@group
def cfaith(**options: Any) -> Task:
    """All three formats in one run; `hallucination_rate` is their mean, absent without a judge."""
    return inspect_group("cfaith", **options)
