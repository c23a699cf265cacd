"""FactCHD's construction pipeline in Inspect: queries with factual and non-factual responses and their evidence, made
of your own triples and text facts.

Paper: Chen et al., FactCHD: Benchmarking Fact-Conflicting Hallucination Detection, IJCAI 2024, arXiv 2310.12086,
section 4. Subgraphs, drafts and checks are declared in `builders/pipelines/factchd`; how triples and texts look and
what is written is in `docs/builders.md`.

    inspect eval halu_tasks/factchd_pipeline -T documents=facts/ --model openai/gpt-4o
    halu-tasks build factchd_pipeline facts/ -o out --model openai/gpt-4o

Arguments:
    documents: JSON Lines of triples (`head`, `relation`, `tail`) or of texts (`id`, `text`), a .tsv or .csv of triples,
        or a folder with `triples.*` and texts.
    part: `0/4` for the first of four parts, by the hashes of the documents' ids.
    cache: keep replies, so that a run with other options asks nothing twice; false.
    walks: subgraphs of each pattern at most, 100.
    hops: triples of the longest walk, 3.
    class_relation: relation that tells the class within which entities are compared, `instance of`.
    one_answer: walk only where an entity has one value of the relation; true.
    votes: times that a label is verified, 1; most of them have to agree with it.
    domain: that rows name where their document names none.
    language, prompts, seed, max_chars, check_language: as of every builder.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.builders.run.inspect_task import build_task


@task
def factchd_pipeline(documents: str, part: str | None = None, cache: bool = False, **options: Any) -> Task:
    """Draft and verify a factual and a non-factual response to one query for each subgraph and each text fact."""
    return build_task("factchd_pipeline", documents, part, cache, **options)
