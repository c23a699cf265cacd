"""Asking a task's question with something to look up: a user's passages, the item's own evidence, or a tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio
from anyio import to_thread
from inspect_ai.model import ChatMessage, ChatMessageUser, ModelOutput
from inspect_ai.solver import TaskState

from halu_tasks.core.errors import UsageError
from halu_tasks.core.prompting import fill
from halu_tasks.knowledge import Knowledge, Snippet, open_knowledge
from halu_tasks.solvers.asking import ask, decoding_for
from halu_tasks.solvers.method_prompts import method_prompt
from halu_tasks.solvers.passages import (
    GOLD,
    PassagePrompts,
    as_finding,
    check_lookup,
    evidence_in,
    query_for,
    shown,
)
from halu_tasks.solvers.sample_metadata import SampleMetadata
from halu_tasks.solvers.tools import ask_with_tool, cited, tool_named


class InformedReply(NamedTuple):
    """The reply of a model that could look things up.

    Attributes:
        output: The reply.
        messages: The messages before it, including tool calls.
        findings: What was found, in the order in which it was shown.
        counts: The number of `passages`, and `no_passage`, 1 if there is none; with a tool, also the number of its
            calls, `lookups`, and of those that failed, `lookups_failed`.
        steps: For people who read the log, id and title of what was found, and the sha256 of the files with passages.
    """

    output: ModelOutput
    messages: list[ChatMessage]
    findings: list[Snippet]
    counts: dict[str, float]
    steps: dict[str, Any]


class Seeker:
    """Asks questions with something to look up; shared by all samples of a run.

    Args:
        method: The name of the method, for errors.
        knowledge: A file or folder that is searched for each item, or `gold` for the item's own evidence.
        tool: The name of an Inspect tool that the model may call instead.
        top: The number of passages to look up.
        prompts: A prompt file with texts that replace those of the package.
        cache: Whether replies are cached.

    Raises:
        UsageError: Neither or both of `knowledge` and `tool` are given, the tool is unknown, or `top` is less than 1.
        DataError: The file or folder does not exist, or has no file that can be read.
    """

    def __init__(
        self, method: str, *, knowledge: str | None, tool: str | None, top: int, prompts: str | None, cache: bool
    ) -> None:
        if (knowledge is None) == (tool is None):
            choices = "knowledge=PATH, knowledge=gold (the item's own evidence) or tool=NAME"
            problem = "needs something to look up" if tool is None else "cannot use both knowledge and tool"
            raise UsageError(f"{method} {problem}; name one of {choices}")
        check_lookup(knowledge or GOLD, top)
        self._method, self._knowledge, self._top, self._cache = method, knowledge, top, cache
        self._tool = tool_named(tool) if tool else None
        self._prompts = PassagePrompts.of(prompts)
        self._with_tool = method_prompt("knowledge_tool", "knowledge", prompts)["user"]
        self._opened: Knowledge | None = None
        self._lock = anyio.Lock()

    async def reply(self, state: TaskState, role: str | None) -> InformedReply:
        """Ask the model in a role the sample's question.

        Raises:
            UsageError: The knowledge is the item's evidence, and it has none.
        """
        config = decoding_for(state, role)
        if self._tool:
            question = with_question(state.messages, self._with_tool, {})
            output, messages, lookups = await ask_with_tool(question, role, self._tool, cache=self._cache, **config)
            results = [Snippet(f"call {n}", call, text) for n, (call, text) in enumerate(lookups, 1) if text]
            results += [Snippet(f"page {n}", *page) for n, page in enumerate(cited(output.message), 1)]
            failed = sum(lookup.result is None for lookup in lookups)
            counts = {**_counts(results), "lookups": len(lookups), "lookups_failed": failed}
            return InformedReply(output, messages, results, counts, _steps(results))
        passages = self._gold(state) if self._knowledge == GOLD else await self.search(query_of(state))
        messages = with_question(state.messages, self._prompts.for_findings(passages), {"passages": shown(passages)})
        output = await ask(messages, role, cache=self._cache, **config)
        steps = _steps(passages) | ({"knowledge_sha256": self._opened.sha256} if self._opened else {})
        return InformedReply(output, messages, passages, _counts(passages), steps)

    async def search(self, query: str) -> list[Snippet]:
        """Return the passages for a query if the knowledge is a file or folder."""
        async with self._lock:
            if self._opened is None:
                # in a thread, since building an index may take minutes while other samples wait for replies
                self._opened = await to_thread.run_sync(open_knowledge, str(self._knowledge))
        return await to_thread.run_sync(self._opened.search, query, self._top)

    def _gold(self, state: TaskState) -> list[Snippet]:
        source = evidence_of(state)
        if source is None:
            task = state.metadata.get("task", "the task")
            raise UsageError(
                f"{self._method} with knowledge=gold needs evidence in each item, and item {state.sample_id} of {task} "
                "has none; name knowledge=PATH or tool=NAME"
            )
        return as_finding(source)


def evidence_of(state: TaskState) -> str | None:
    """Return the item's own evidence, even if its task does not show it; None if it has none."""
    return evidence_in(SampleMetadata.subject_of(state) or {})


def query_of(state: TaskState) -> str:
    """Return the query for a sample: the text that methods examine after its question, or the last user message."""
    return query_for(SampleMetadata.subject_of(state) or {}, state.user_prompt.text)


def with_question(messages: Sequence[ChatMessage], prompt: str, fields: dict[str, str]) -> list[ChatMessage]:
    """Replace the last user message by a prompt that contains it as `{question}`.

    Args:
        messages: The messages.
        prompt: The prompt.
        fields: The other fields of the prompt.
    """
    last = next(n for n in reversed(range(len(messages))) if isinstance(messages[n], ChatMessageUser))
    text = fill(prompt, {**fields, "question": messages[last].text})
    # metadata and other attributes of the message are kept
    return [*messages[:last], messages[last].model_copy(update={"content": text}), *messages[last + 1 :]]


def _counts(findings: Sequence[Snippet]) -> dict[str, float]:
    return {"passages": len(findings), "no_passage": not findings}


def _steps(findings: Sequence[Snippet]) -> dict[str, Any]:
    return {"found": [{"id": finding.id, "title": finding.title} for finding in findings]}
