"""HalluVerse-M3 in Inspect: which type of error an edited answer or summary has, in English, Arabic, Hindi and
Turkish.

Paper: Abdaljalil, Sharma, Serpedin and Kurban, HalluVerse-M3: A multitask multilingual benchmark for hallucination
in LLMs, arXiv 2602.06920. Data: https://huggingface.co/datasets/sabdalja/HalluVerse-M3, to be downloaded by hand.
Rows, scores and metrics are declared in `halu_tasks/benchmarks/halluverse_m3.py`.

    inspect eval halu_tasks/halluverse_m3.py -T data=path/to/FINAL_DATASET --model openai/gpt-4o-mini
    inspect eval halu_tasks/halluverse_m3.py -T lang=hi -T part=summarization -T data=sample --model halu/oracle

Arguments of every task:
    data: a file, a folder, or `sample`.
    scoring: `strict`, or `paper` for replies that are the class and nothing else.
    part: `qa` (questions and answers), or `summarization` (dialogues and summaries).
    with_zero: also ask the rows labelled 0, which have no error of the three types.
    fewshot: number of worked examples before the question; 9 are three a type.
    prompts: a prompt file whose wording replaces the package's.
`halluverse_m3` also takes:
    lang: `en`, `ar`, `hi` or `tr` for one language; all four when not given.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_languages, inspect_task, named


@task
def halluverse_m3(lang: str | None = None, **options: Any) -> Task:
    """Which type of error has an edited text? All four languages in one run, or the one named."""
    return inspect_languages("halluverse_m3", lang, **options)


@named
def halluverse_m3_en(**options: Any) -> Task:
    """Which type of error has an edited English answer or summary?"""
    return inspect_task("halluverse_m3_en", **options)


@named
def halluverse_m3_ar(**options: Any) -> Task:
    """Which type of error has an edited Arabic answer or summary?"""
    return inspect_task("halluverse_m3_ar", **options)


@named
def halluverse_m3_hi(**options: Any) -> Task:
    """Which type of error has an edited Hindi answer or summary?"""
    return inspect_task("halluverse_m3_hi", **options)


@named
def halluverse_m3_tr(**options: Any) -> Task:
    """Which type of error has an edited Turkish answer or summary?"""
    return inspect_task("halluverse_m3_tr", **options)
