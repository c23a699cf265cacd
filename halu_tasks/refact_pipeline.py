"""The construction of ReFACT in Inspect: false answers with tagged errors, made of your own questions and answers.

Paper: Wang et al., ReFACT: A Benchmark for Scientific Confabulation Detection with Positional Error Annotations, EACL
2026, arXiv 2509.25868. The steps, checks and formats are declared in `builders/pipelines/refact`; how documents
look and what is written is in `docs/builders.md`.

    inspect eval halu_tasks/refact_pipeline -T documents=answers.jsonl --model openai/gpt-4o
    halu-tasks build refact_pipeline answers.jsonl -o out --model openai/gpt-4o

Arguments:
    documents: a file of JSON Lines with `id`, `question` and `text`, the true answer.
    part: `0/4` for the first of four parts, by the hashes of the documents' ids.
    cache: keep replies, so that a run with other options asks nothing twice; false.
    kinds: `neg` (a negated sentence), `swap` (replaced entities), or both when not given.
    most_facts: factual sentences that are negated, of which the most convincing is kept; 5.
    candidates: sets of replacements that are drawn, of which the most convincing is kept; 1.
    nli_model: who decides whether a replacement says the same: `judge`, a model of natural-language inference, or
        `auto`, the paper's where the extra `nli` is installed.
    stop_words: a file of stop words, in place of NLTK's for the language.
    language, prompts, seed, max_chars, check_language: as of every builder.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.builders.run.inspect_task import build_task


@task
def refact_pipeline(documents: str, part: str | None = None, cache: bool = False, **options: Any) -> Task:
    """Draft and verify a negated and an entity-replaced version of each answer."""
    return build_task("refact_pipeline", documents, part, cache, **options)
