"""HalluVerse25 in Inspect: which type of error an edited sentence has, and whether a sentence hallucinates, in
English, Arabic and Turkish.

Paper: Abdaljalil, Kurban and Serpedin, HalluVerse25: Fine-grained Multilingual Benchmark Dataset for LLM
Hallucinations, arXiv 2503.07833. Data: https://huggingface.co/datasets/sabdalja/HalluVerse3, gated. Rows,
prompts, scores and metrics are declared in `halu_tasks/benchmarks/halluverse25.py`; what differs from
the paper is in `docs/tasks.md`.

    inspect eval halu_tasks/halluverse.py --model openai/gpt-4o-mini
    inspect eval halu_tasks/halluverse.py -T lang=tr --model openai/gpt-4o-mini
    inspect eval halu_tasks/halluverse25_tr -T data=sample --model halu/oracle
    inspect eval halu_tasks/halluverse25_binary -T lang=tr -T data=sample --model halu/oracle

Arguments of every task:
    data: a file, a folder, or `sample`; the gated source when not given.
    scoring: `strict`, or `paper` for replies that are the answer and nothing else.
    with_zero: also ask the rows labelled 0, which have no error of the three types.
    fewshot: number of worked examples before the question; of the types, 9 are three each, as in the paper.
    prompts: a prompt file whose wording replaces the package's.
The binary tasks, which run only when they are named, also take:
    without_original: show the sentence without the original.
    probability: weigh Yes and No by their probabilities, for `roc_auc`.
`halluverse25` and `halluverse25_binary` also take:
    lang: `en`, `ar` or `tr` for one language; all three when not given.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.inspect_adapter.tasks import inspect_languages, inspect_task, named


@task
def halluverse25(lang: str | None = None, **options: Any) -> Task:
    """Which type of error has an edited sentence? All three languages in one run, or the one named."""
    return inspect_languages("halluverse25", lang, **options)


@named
def halluverse25_binary(lang: str | None = None, **options: Any) -> Task:
    """Does a sentence hallucinate? All three languages in one run, or the one named."""
    return inspect_languages("halluverse25_binary", lang, **options)


@named
def halluverse25_en(**options: Any) -> Task:
    """Which type of error has an edited English sentence?"""
    return inspect_task("halluverse25_en", **options)


@named
def halluverse25_ar(**options: Any) -> Task:
    """Which type of error has an edited Arabic sentence?"""
    return inspect_task("halluverse25_ar", **options)


@named
def halluverse25_tr(**options: Any) -> Task:
    """Which type of error has an edited Turkish sentence?"""
    return inspect_task("halluverse25_tr", **options)


@named
def halluverse25_binary_en(**options: Any) -> Task:
    """Does an English sentence hallucinate?"""
    return inspect_task("halluverse25_binary_en", **options)


@named
def halluverse25_binary_ar(**options: Any) -> Task:
    """Does an Arabic sentence hallucinate?"""
    return inspect_task("halluverse25_binary_ar", **options)


@named
def halluverse25_binary_tr(**options: Any) -> Task:
    """Does a Turkish sentence hallucinate?"""
    return inspect_task("halluverse25_binary_tr", **options)
