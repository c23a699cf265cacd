"""HalluVerse-M3 in Inspect: types of errors in edited answers and summaries, in four languages.

Paper: Abdaljalil, Sharma, Serpedin and Kurban, HalluVerse-M3: A multitask multilingual benchmark for hallucination in
LLMs, https://arxiv.org/abs/2602.06920. Data: https://huggingface.co/datasets/sabdalja/HalluVerse-M3; download them
manually.
Prompts, scoring and metrics are defined in `task_configs/halluverse_m3/`, the reading of rows in
`halu_tasks/benchmarks/halluverse_m3.py`; `docs/tasks.md` lists the differences from the paper.

    inspect eval halu_tasks/halluverse_m3.py -T data=path/to/FINAL_DATASET --model openai/gpt-4o-mini
    inspect eval halu_tasks/halluverse_m3.py -T lang=hi -T part=summarization -T data=sample --model halu/oracle

Arguments of every task:
    data: A file, a folder, or `sample`.
    scoring: `strict`, or `paper`, which accepts only replies that are nothing but the type.
    part: `qa` (questions and answers), or `summarization` (dialogues and summaries).
    with_zero: Also ask about rows labelled 0, which have no error of the three types.
    fewshot: The number of worked examples before the question; 9 are three of each type.
    prompts: A prompt file that replaces the package's prompts; with several, items are asked in each wording.
`halluverse_m3` also takes:
    lang: One language: `en`, `ar`, `hi` or `tr`; by default, all four.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_languages


@task
def halluverse_m3(lang: str | None = None, **options: Any) -> Task:
    """Ask which type of error an edited answer or summary has, in all four languages or the one in `lang`."""
    return inspect_languages("halluverse_m3", lang, **options)
