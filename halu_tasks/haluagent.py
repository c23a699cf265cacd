"""HaluAgent in Inspect: questions with hallucinated answers, made of your own documents.

Paper: Zhang et al., C-FAITH: A Chinese Fine-Grained Benchmark for Automated Hallucination Evaluation, 2025,
arXiv 2504.10167. The agents, checks and formats are declared in `builders/pipelines/haluagent`; how documents look
and what is written is in `docs/builders.md`.

    inspect eval halu_tasks/haluagent -T documents=documents.jsonl --model openai/gpt-4o
    halu-tasks build haluagent documents.jsonl -o out --model openai/gpt-4o

Arguments:
    documents: a file of JSON Lines with `id` and `text`, or a folder of .txt and .md files.
    part: `0/4` for the first of four parts, by the hashes of the documents' ids.
    cache: keep replies, so that a run with other options asks nothing twice; false.
    language: of documents and prompts, `zh` or `en`, or one that the prompt file adds.
    types: types of hallucination to ask for, all seven when not given.
    questions: for each type and document, 1.
    prompts, seed, max_chars, check_language: as of every builder.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.builders.run.inspect_task import build_task


@task
def haluagent(documents: str, part: str | None = None, cache: bool = False, **options: Any) -> Task:
    """Draft and verify questions for each type of hallucination, with answers right and wrong."""
    return build_task("haluagent", documents, part, cache, **options)
