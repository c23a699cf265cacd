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

from halu_tasks.benchmarks.halluverse25 import LANGUAGES
from halu_tasks.errors import UsageError
from halu_tasks.inspect_adapter import inspect_group, inspect_task, named


@task
def halluverse25(
    lang: str | None = None,
    data: str | None = None,
    scoring: str = "strict",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """All three languages in one run, with the means over them, or the one named."""
    options = {"data": data, "scoring": scoring, "with_zero": with_zero, "fewshot": fewshot, "prompts": prompts}
    return _in_languages("halluverse25", lang, options)


@named
def halluverse25_en(
    data: str | None = None,
    scoring: str = "strict",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Which type of error has an edited English sentence?"""
    return inspect_task("halluverse25_en", **locals())


@named
def halluverse25_ar(
    data: str | None = None,
    scoring: str = "strict",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Which type of error has an edited Arabic sentence?"""
    return inspect_task("halluverse25_ar", **locals())


@named
def halluverse25_tr(
    data: str | None = None,
    scoring: str = "strict",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Which type of error has an edited Turkish sentence?"""
    return inspect_task("halluverse25_tr", **locals())


@named
def halluverse25_binary(
    lang: str | None = None,
    data: str | None = None,
    scoring: str = "strict",
    with_zero: bool = False,
    without_original: bool = False,
    probability: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Does a sentence hallucinate? All three languages in one run, or the one named."""
    options = {name: value for name, value in locals().items() if name != "lang"}
    return _in_languages("halluverse25_binary", lang, options)


@named
def halluverse25_binary_en(
    data: str | None = None,
    scoring: str = "strict",
    with_zero: bool = False,
    without_original: bool = False,
    probability: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Does an English sentence hallucinate?"""
    return inspect_task("halluverse25_binary_en", **locals())


@named
def halluverse25_binary_ar(
    data: str | None = None,
    scoring: str = "strict",
    with_zero: bool = False,
    without_original: bool = False,
    probability: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Does an Arabic sentence hallucinate?"""
    return inspect_task("halluverse25_binary_ar", **locals())


@named
def halluverse25_binary_tr(
    data: str | None = None,
    scoring: str = "strict",
    with_zero: bool = False,
    without_original: bool = False,
    probability: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Does a Turkish sentence hallucinate?"""
    return inspect_task("halluverse25_binary_tr", **locals())


def _in_languages(group: str, lang: str | None, options: dict[str, Any]) -> Task:
    if lang is None:
        return inspect_group(group, **options)
    if lang not in LANGUAGES:
        raise UsageError(f"option lang={lang!r} is unknown; choose {' or '.join(LANGUAGES)}")
    return inspect_task(f"{group}_{lang}", **options)
