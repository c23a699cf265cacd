"""FactCHD's construction in Inspect: build queries with factual and non-factual responses from your own facts.

Paper: Chen et al., FactCHD: Benchmarking Fact-Conflicting Hallucination Detection, IJCAI 2024, arXiv 2310.12086,
section 4. The pipeline is in `halu_tasks/builders/pipelines/factchd.py`; `docs/builders.md` describes the formats of
triples, text facts and results.

    inspect eval halu_tasks/factchd_pipeline -T documents=facts/ --model openai/gpt-4o
    halu-tasks build factchd_pipeline facts/ -o out --model openai/gpt-4o

Arguments:
    documents: JSON Lines of triples (`head`, `relation`, `tail`) or texts (`id`, `text`), or a folder with
        `triples.jsonl` and texts.
    cache: Cache replies, so that a run with other options does not repeat calls; false by default.
    walks: The maximum number of subgraphs of each pattern; 100 by default.
    hops: The maximum number of triples in a walk; 3 by default.
    class_relation: The relation to an entity's class, within which entities are compared; `instance of` by default.
    one_answer: Walk only along relations of which an entity has a single value; true by default.
    votes: The number of times label and style are verified, of which most must agree; 1 by default.
    demonstrations: A JSON Lines file of labelled queries and responses from real use, which drafts have to read like.
    domain: The domain of rows whose document names none.
    language, prompts, seed, max_chars, check_language, generator_temperature, verifier_temperature: As for every
        builder.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.builders.drafting import build_task


@task
def factchd_pipeline(documents: str, cache: bool = False, **options: Any) -> Task:
    """Draft and verify a factual and a non-factual response to one query for each subgraph and each text fact."""
    return build_task("factchd_pipeline", documents, cache, **options)
