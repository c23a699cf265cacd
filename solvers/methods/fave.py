"""Revision of summaries that cite papers (Factored Verification, section 4).

`factored_revision` revises a summary by critiques of its sentences; `self_correction` is the paper's baseline. The
draft is the reply to the task itself. It is recorded with the revised summary, so that the judge scores both.
"""

from __future__ import annotations

from dataclasses import replace

from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.core.concurrency import gather
from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import fill
from halu_tasks.scorers.benchmarks.judged import Cited, Papers, cited_sentences, shown, summary_of
from halu_tasks.scorers.judge import fence
from halu_tasks.scorers.reading.claims import supported
from halu_tasks.scorers.reading.reasoning import strip_reasoning
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, conclude, task_of
from halu_tasks.solvers.method_prompts import method_prompt
from halu_tasks.solvers.method_record import MethodRecord
from halu_tasks.solvers.sample_metadata import SampleMetadata

_LENGTH = 1024
"""The maximum number of tokens of a critique."""


@solver
@checked
def factored_revision(prompts: str | None = None, cache: bool = True) -> Solver:
    """Write a summary and revise it by critiques of its unsupported sentences (Algorithm 1 of the paper).

    Each sentence with citations is checked against the abstracts that it cites. The summary is not revised if all of
    them are supported. The model role `writer` writes and revises, and `critic` checks; both default to the model under
    test.

    Args:
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    critique, entry = _wording("fave_critique", prompts), _wording("fave_critique_entry", prompts)
    revision = _revision(prompts)

    async def check(claim: Cited) -> tuple[bool | None, str]:
        """Return whether a sentence is supported, None if the critic does not say so, and the critique."""
        if not claim.papers:
            # this is part of the prompt of the revision
            return False, f"There is no paper {' or '.join(claim.unknown)} among those given, so nothing supports this."
        prompt = fill(critique, {"papers": shown(claim.papers), "claim": fence(claim.sentence)})
        reply = await ask(prompt, "critic", cache=cache, temperature=0.0, max_tokens=_LENGTH)
        return supported(reply.completion).value, _critique_of(reply.completion)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        papers = _papers(state, "factored_revision")
        draft = await _draft(state, cache)
        claims = cited_sentences(summary, papers)[0] if (summary := summary_of(draft)) else []
        checks = await gather(*(check(claim) for claim in claims))
        faults = [
            fill(entry, {"sentence": claim.sentence, "critique": text})
            for claim, (is_supported, text) in zip(claims, checks, strict=True)
            if is_supported is False
        ]
        counts = {
            "sentences_checked": len(claims),
            "sentences_unsupported": len(faults),
            "critiques_unread": sum(is_supported is None for is_supported, _ in checks),
        }
        record = MethodRecord(method="factored_revision", draft=draft, counts=counts)
        return await _revise(state, record, papers, "\n".join(faults), revision, cache)

    return solve


@solver
@checked
def self_correction(prompts: str | None = None, cache: bool = True) -> Solver:
    """Write a summary, ask for feedback on all of it at once, and revise it by that feedback (section 4.1).

    The model role `writer` writes and revises, and `critic` gives feedback; both default to the model under test.

    Args:
        prompts: Prompt file with texts that replace those of the package.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    feedback, revision = _wording("fave_feedback", prompts), _revision(prompts)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        papers = _papers(state, "self_correction")
        draft = await _draft(state, cache)
        prompt = fill(feedback, {"papers": shown(papers), "summary": fence(summary_of(draft) or "")})
        reply = await ask(prompt, "critic", cache=cache, temperature=0.0, max_tokens=_LENGTH)
        text = (strip_reasoning(reply.completion) or "").strip().removeprefix("Feedback:").strip()
        record = MethodRecord(method="self_correction", draft=draft, counts={"feedback_empty": float(not text)})
        return await _revise(state, record, papers, text, revision, cache)

    return solve


def _wording(name: str, prompts: str | None) -> str:
    return method_prompt(name, "fave", prompts)["user"]


def _revision(prompts: str | None) -> str:
    """Return the prompt of the revision.

    It is sent on its own, without the messages of the task and the draft before it, since these have no fences.

    Raises:
        UsageError: The user's prompt lacks the summary or the critique.
    """
    text = _wording("fave_revision", prompts)
    if missing := [name for name in ("summary", "critique") if f"{{{name}}}" not in text]:
        raise UsageError(f"prompts {prompts}: fave_revision must have {{{missing[0]}}}")
    return text


def _papers(state: TaskState, method: str) -> Papers:
    """Return the papers of a sample; of its gold, methods use only what the prompt shows too."""
    task = task_of(state)
    if task.benchmark != "fave":
        raise UsageError(f"{method} revises the cited summaries of fave, and {task.name} asks for something else")
    papers: Papers = SampleMetadata.required_of(state).gold["papers"]
    return papers


async def _draft(state: TaskState, cache: bool) -> str:
    return (await ask(state.messages, "writer", cache=cache)).completion


def _critique_of(reply: str) -> str:
    """Extract the critique from a reply."""
    text = (strip_reasoning(reply) or "").partition("Supported:")[0].strip(" \n*")
    return " ".join(text.removeprefix("Critique:").split()) or "No source supports this sentence."


async def _revise(
    state: TaskState, record: MethodRecord, papers: Papers, critique: str, revision: str, cache: bool
) -> TaskState:
    """Revise the draft by a critique, unless the draft or the critique is empty, and conclude.

    Args:
        state: The sample.
        record: The method's record, with the draft and counts.
        papers: The papers of the sample.
        critique: The critique.
        revision: The prompt of the revision.
        cache: Whether replies are cached.
    """
    draft = final = record.draft or ""
    summary = summary_of(draft)
    revised = bool(critique and summary)
    if revised:
        fields = {
            "query": fence(SampleMetadata.required_of(state).gold["query"]),
            "papers": shown(papers),
            "summary": fence(summary or ""),
            "critique": fence(critique),
        }
        final = (await ask(fill(revision, fields), "writer", cache=cache)).completion
    counts = {**(record.counts or {}), "revised": float(revised)}
    return conclude(state, final, replace(record, counts=counts, steps={"draft": draft, "critique": critique}))
