"""HalluVerse25 in Inspect: types of errors in edited sentences, in English, Arabic and Turkish.

The tasks ask which type of error a sentence has, and whether it hallucinates at all.

Paper: Abdaljalil, Kurban and Serpedin, HalluVerse25: Fine-grained Multilingual Benchmark Dataset for LLM
Hallucinations, https://arxiv.org/abs/2503.07833. Data: https://huggingface.co/datasets/sabdalja/HalluVerse3, gated.
Prompts, scoring and metrics are defined in `task_configs/halluverse25/`, the reading of rows in
`halu_tasks/benchmarks/halluverse25.py`; `docs/tasks.md` lists the differences from the paper.

    inspect eval halu_tasks/halluverse --model openai/gpt-4o-mini
    inspect eval halu_tasks/halluverse25_tr --model openai/gpt-4o-mini
    inspect eval halu_tasks/halluverse25_9shot --model openai/gpt-4o-mini
    inspect eval halu_tasks/halluverse25_binary_tr -T data=sample --model halu/oracle

Arguments of every task:
    data: A file, a folder, or `sample`; by default, the gated source.
    scoring: `strict`, or `paper`, which accepts only replies that are nothing but the answer.
    with_zero: Also ask about rows labelled 0, which have no error of the three types.
    fewshot: The number of worked examples before the question; the tasks with `9shot` in their name, which stand for
        the paper's Table 3, show nine: three of each type.
    prompts: A prompt file that replaces the package's prompts; with several, items are asked in each wording.
If the file is named, the group `halluverse25` runs; every other task must be named itself.
The binary tasks also take:
    without_original: Show the sentence without the original.
    probability: Weigh Yes and No by their probabilities, for `roc_auc`.
A task of one language has it at the end of its name: `en`, `ar` or `tr`.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.task_factories import inspect_group


@task
def halluverse(**options: Any) -> Task:
    """Ask which type of error an edited sentence has, in all three languages: the group `halluverse25`."""
    return inspect_group("halluverse25", **options)
