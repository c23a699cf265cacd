"""Cited summaries of papers that are revised by critiques (Factored Verification, section 4): `factored_revision`, and
`self_correction`, the baseline that it is measured against.

The draft is the task's own reply. The outcome tells it beside the revised summary, so that a judge counts both.
"""

from __future__ import annotations

from collections.abc import Mapping

from inspect_ai.solver import Generate, Solver, TaskState, solver

from halu_tasks.concurrency import gather
from halu_tasks.errors import UsageError
from halu_tasks.prompting import fill
from halu_tasks.scorers.answer import strip_reasoning
from halu_tasks.scorers.benchmarks.fave import Cited, Papers, cited_sentences, shown, summary_of
from halu_tasks.scorers.reading.claims import supported
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.solvers.arguments import checked
from halu_tasks.solvers.asking import ask, conclude, task_of
from halu_tasks.solvers.method_prompts import method_prompt

_LENGTH = 1024
"""Tokens that a critique, and a revised summary, may have."""


@solver
@checked
def factored_revision(prompts: str | None = None, cache: bool = True) -> Solver:
    """Write a summary, check each cited sentence against the abstracts that it cites, and revise the summary by the
    critiques of the sentences that are not supported (Algorithm 1 of the paper); none is, no revision.

    The model role `writer` writes and revises, `critic` checks; both are the model under test where they are not
    named.

    Args:
        prompts: a prompt file whose wording replaces the package's.
        cache: keep replies, so that a second run asks nothing again.
    """
    critique, entry = _wording("fave_critique", prompts), _wording("fave_critique_entry", prompts)
    revision = _revision(prompts)

    async def check(one: Cited) -> tuple[bool | None, str]:
        """Whether a sentence is supported, None where the critic does not say, and the critique of it."""
        if not one.papers:
            return False, f"There is no paper {' or '.join(one.unknown)} among those given, so nothing supports this."
        asked = fill(critique, {"papers": shown(one.papers), "claim": fence(one.sentence)})
        reply = await ask(asked, "critic", cache=cache, temperature=0.0, max_tokens=_LENGTH)
        return supported(reply.completion).value, _critique_of(reply.completion)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        papers = _papers(state, "factored_revision")
        draft = await _draft(state, cache)
        checked = cited_sentences(summary, papers)[0] if (summary := summary_of(draft)) else []
        found = await gather(*(check(one) for one in checked))
        faults = [
            fill(entry, {"sentence": one.sentence, "critique": text})
            for one, (holds, text) in zip(checked, found, strict=True)
            if holds is False
        ]
        counts = {
            "sentences_checked": len(checked),
            "sentences_unsupported": len(faults),
            "critiques_unread": sum(holds is None for holds, _ in found),
        }
        return await _revised(state, "factored_revision", draft, "\n".join(faults), counts, revision, cache)

    return solve


@solver
@checked
def self_correction(prompts: str | None = None, cache: bool = True) -> Solver:
    """Write a summary, ask for feedback on the whole of it in one go, and revise it by that feedback (section 4.1).

    Roles and arguments are those of `factored_revision`.
    """
    feedback, revision = _wording("fave_feedback", prompts), _revision(prompts)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        papers = _papers(state, "self_correction")
        draft = await _draft(state, cache)
        asked = fill(feedback, {"papers": shown(papers), "summary": fence(summary_of(draft) or "")})
        reply = await ask(asked, "critic", cache=cache, temperature=0.0, max_tokens=_LENGTH)
        text = (strip_reasoning(reply.completion) or "").strip().removeprefix("Feedback:").strip()
        counts = {"feedback_empty": float(not text)}
        return await _revised(state, "self_correction", draft, text, counts, revision, cache)

    return solve


def _wording(name: str, prompts: str | None) -> str:
    return method_prompt(name, "fave", prompts)["user"]


def _revision(prompts: str | None) -> str:
    """The wording of the revision, which is asked for by itself: neither the task's question nor the draft goes before
    it, since nothing in these is fenced."""
    text = _wording("fave_revision", prompts)
    if missing := [name for name in ("summary", "critique") if f"{{{name}}}" not in text]:
        raise UsageError(f"prompts {prompts}: fave_revision must have {{{missing[0]}}}")
    return text


def _papers(state: TaskState, method: str) -> Papers:
    task = task_of(state)
    if task.benchmark != "fave":
        raise UsageError(f"{method} revises the cited summaries of fave, and {task.name} asks for something else")
    # of what the scorer is given only what the prompt shows too
    papers: Papers = state.metadata["gold"]["papers"]
    return papers


async def _draft(state: TaskState, cache: bool) -> str:
    return (await ask(state.messages, "writer", cache=cache)).completion


def _critique_of(reply: str) -> str:
    """The critique of a reply without its other parts."""
    text = (strip_reasoning(reply) or "").partition("Supported:")[0].strip(" \n*")
    return " ".join(text.removeprefix("Critique:").split()) or "No source supports this sentence."


async def _revised(
    state: TaskState,
    method: str,
    draft: str,
    critique: str,
    counts: Mapping[str, float],
    revision: str,
    cache: bool,
) -> TaskState:
    """The outcome: the summary as revised by a critique, or the draft where there is nothing to revise."""
    final, steps = draft, {"draft": draft, "critique": critique}
    revise = bool(critique and summary_of(draft))
    if revise:
        fields = {
            "query": fence(state.metadata["gold"]["query"]),
            "papers": shown(_papers(state, method)),
            "summary": fence(summary_of(draft) or ""),
            "critique": fence(critique),
        }
        asked = fill(revision, fields)
        final = (await ask(asked, "writer", cache=cache)).completion
    told = {**counts, "revised": float(revise)}
    return conclude(state, method, final, counts=told, steps=steps, draft=draft)
