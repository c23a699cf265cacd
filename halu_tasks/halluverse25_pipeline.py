"""HalluVerse25's construction in Inspect: sentences of your own biographies with an error of a drawn type.

Paper: Abdaljalil, Kurban and Serpedin, HalluVerse25: Fine-grained Multilingual Benchmark Dataset for LLM
Hallucinations, 2025, arXiv 2503.07833. The checks and the format are in `builders/pipelines/halluverse25`;
how documents look and what is written is in `docs/builders.md`.

    inspect eval halu_tasks/halluverse25_pipeline -T documents=documents.jsonl --model openai/gpt-4o
    halu-tasks build halluverse25_pipeline documents.jsonl -o out --model openai/gpt-4o

Arguments:
    documents: a file of JSON Lines with `id` and `text`, or a folder of .txt and .md files.
    part: `0/4` for the first of four parts, by the hashes of the documents' ids.
    cache: keep replies, so that a run with other options asks nothing twice; false.
    language: of documents and prompts, `en`, `ar` or `tr`, or one that the prompt file adds.
    types: types of error to draw from, all three when not given.
    facts: sentences to take of a document, 5.
    min_sentences: of the shortest document that is taken, 20.
    prompts, seed, max_chars, check_language: as of every builder.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.builders.run.inspect_task import build_task


@task
def halluverse25_pipeline(documents: str, part: str | None = None, cache: bool = False, **options: Any) -> Task:
    """Copy factual sentences of biographies, put an entity, relation or sentence error into each, and verify it."""
    return build_task("halluverse25_pipeline", documents, part, cache, **options)
