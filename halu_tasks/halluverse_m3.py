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

from inspect_ai import Task, task

from halu_tasks.benchmarks.halluverse_m3 import LANGUAGES
from halu_tasks.errors import UsageError
from halu_tasks.inspect_adapter import inspect_group, inspect_task, named


@task
def halluverse_m3(
    lang: str | None = None,
    data: str | None = None,
    scoring: str = "strict",
    part: str = "qa",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """All four languages in one run, with the means over them, or the one named."""
    options = {name: value for name, value in locals().items() if name != "lang"}
    if lang is None:
        return inspect_group("halluverse_m3", **options)
    if lang not in LANGUAGES:
        raise UsageError(f"option lang={lang!r} is unknown; choose {' or '.join(LANGUAGES)}")
    return inspect_task(f"halluverse_m3_{lang}", **options)


@named
def halluverse_m3_en(
    data: str | None = None,
    scoring: str = "strict",
    part: str = "qa",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Which type of error has an edited English answer or summary?"""
    return inspect_task("halluverse_m3_en", **locals())


@named
def halluverse_m3_ar(
    data: str | None = None,
    scoring: str = "strict",
    part: str = "qa",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Which type of error has an edited Arabic answer or summary?"""
    return inspect_task("halluverse_m3_ar", **locals())


@named
def halluverse_m3_hi(
    data: str | None = None,
    scoring: str = "strict",
    part: str = "qa",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Which type of error has an edited Hindi answer or summary?"""
    return inspect_task("halluverse_m3_hi", **locals())


@named
def halluverse_m3_tr(
    data: str | None = None,
    scoring: str = "strict",
    part: str = "qa",
    with_zero: bool = False,
    fewshot: int = 0,
    prompts: str | None = None,
) -> Task:
    """Which type of error has an edited Turkish answer or summary?"""
    return inspect_task("halluverse_m3_tr", **locals())
