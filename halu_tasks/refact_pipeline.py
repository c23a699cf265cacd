"""ReFACT's construction in Inspect: put tagged errors into answers to your own questions.

Paper: Wang et al., ReFACT: A Benchmark for Scientific Confabulation Detection with Positional Error Annotations, EACL
2026, arXiv 2509.25868. The pipeline is in `halu_tasks/builders/pipelines/refact.py`; `docs/builders.md` describes the
formats of documents and results.

    inspect eval halu_tasks/refact_pipeline -T documents=answers.jsonl --model openai/gpt-4o
    halu-tasks build refact_pipeline answers.jsonl -o out --model openai/gpt-4o

Arguments:
    documents: A JSON Lines file with `id`, `question`, `text` (the true answer), and `score`.
    cache: Cache replies, so that a run with other options does not repeat calls; false by default.
    min_score: The minimum score of a question; 4 by default, 0 for none.
    best_answer: Only use the best answer to each question; true by default.
    min_chars: The minimum length of a question with its answer; 500 by default. `max_chars`, 1,000, is the maximum.
    kinds: The transformations: `neg` (negate a sentence), `swap` (replace entities); by default, both.
    most_facts: The maximum number of sentences to negate, of which the most convincing result is kept; 5 by default.
    candidates: The number of sets of replacements, of which the most convincing one is kept; 1 by default.
    nli_model: What decides whether a replacement means the same: `judge`, a model for natural-language inference, or
        `auto`, the paper's model if the extra `nli` is installed.
    stop_words: A file of stop words, to use instead of NLTK's English ones.
    language, prompts, seed, max_chars, check_language, generator_temperature, verifier_temperature: As for every
        builder.
"""

from typing import Any

from inspect_ai import Task, task

from halu_tasks.builders.drafting import build_task


@task
def refact_pipeline(documents: str, cache: bool = False, **options: Any) -> Task:
    """Draft and verify a negated and an entity-replaced version of each answer."""
    return build_task("refact_pipeline", documents, cache, **options)
