"""HaluAgent in Inspect: build questions with hallucinated answers from your own documents.

Paper: Zhang et al., C-FAITH: A Chinese Fine-Grained Benchmark for Automated Hallucination Evaluation, 2025,
arXiv 2504.10167. The pipeline is in `halu_tasks/builders/pipelines/haluagent.py`; `docs/builders.md` describes the
formats of documents and results.

    inspect eval halu_tasks/haluagent -T documents=documents.jsonl --model openai/gpt-4o
    halu-tasks build haluagent documents.jsonl -o out --model openai/gpt-4o

Arguments:
    documents: A JSON Lines file with `id` and `text`, or a folder of .txt and .md files.
    cache: Cache replies, so that a run with other options does not repeat calls; false by default.
    language: The language of documents and prompts: `zh`, `en`, or one that the prompt file adds.
    types: The types of hallucination to ask for; by default, all seven.
    questions: The number of questions per type and document; 1 by default.
    examples: Use prompts with example inputs and outputs; false by default.
    prompts, seed, max_chars, check_language, generator_temperature, verifier_temperature: As for every
        builder.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.builders.drafting import build_task


@task
def haluagent(documents: str, cache: bool = False, **options: Any) -> Task:
    """Draft and verify questions for each type of hallucination, with right and hallucinated answers."""
    return build_task("haluagent", documents, cache, **options)
