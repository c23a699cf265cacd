"""HalluVerse25's construction in Inspect: put errors into sentences of your own biographies.

Paper: Abdaljalil, Kurban and Serpedin, HalluVerse25: Fine-grained Multilingual Benchmark Dataset for LLM
Hallucinations, 2025, arXiv 2503.07833. The pipeline is in `halu_tasks/builders/pipelines/halluverse25.py`;
`docs/builders.md` describes the formats of documents and results.

    inspect eval halu_tasks/halluverse25_pipeline -T documents=documents.jsonl --model openai/gpt-4o
    halu-tasks build halluverse25_pipeline documents.jsonl -o out --model openai/gpt-4o

Arguments:
    documents: A JSON Lines file with `id` and `text`, or a folder of .txt and .md files.
    cache: Cache replies, so that a run with other options does not repeat calls; false by default.
    language: The language of documents and prompts: `en`, `ar`, `tr`, or one that the prompt file adds.
    types: The types of error to draw from; by default, all three.
    facts: The number of sentences to copy from a document; 5 by default.
    min_sentences: The minimum number of sentences of a document; 20 by default.
    prompts, seed, max_chars, check_language, generator_temperature, verifier_temperature: As for every
        builder.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.builders.drafting import build_task


@task
def halluverse25_pipeline(documents: str, cache: bool = False, **options: Any) -> Task:
    """Copy factual sentences of biographies, put an entity, relation or sentence error into each, and verify it."""
    return build_task("halluverse25_pipeline", documents, cache, **options)
