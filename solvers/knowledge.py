"""A task's own question, asked with something to look up: passages of the user's, the item's evidence, or a tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from anyio import to_thread
from inspect_ai.model import ChatMessage, ChatMessageUser, ModelOutput
from inspect_ai.solver import TaskState

from halu_tasks.errors import UsageError
from halu_tasks.knowledge.index import Knowledge, open_knowledge
from halu_tasks.knowledge.passages import named_files
from halu_tasks.prompting import fill
from halu_tasks.scorers.reading.judge import fence
from halu_tasks.solvers.asking import ask, decoding_for
from halu_tasks.solvers.method_prompts import method_prompt
from halu_tasks.solvers.tools import ask_with_tool, cited, tool_named

GOLD = "gold"
"""The knowledge that is each item's own evidence."""
NOTHING = "(nothing was found)"
# what FactCHD's rows without evidence show
_NO_EVIDENCE = ("", "none")


class Found(NamedTuple):
    """A passage, the result of a tool's call, or a page that a reply cites. Title or text may be empty."""

    id: str
    title: str
    text: str


class Sought(NamedTuple):
    """The reply of a model that had something to look up.

    Attributes:
        output: the reply.
        messages: what came before it, the calls of a tool included.
        found: what was found, in the order in which it was shown.
        counts: `passages`, their number, and `no_passage`, 1 where there is none; with a tool also `lookups`, its
            calls, and `lookups_failed`.
        steps: for a reader of the log: id and title of what was found, and the sha256 of the files it came from.
    """

    output: ModelOutput
    messages: list[ChatMessage]
    found: list[Found]
    counts: dict[str, float]
    steps: dict[str, Any]


class Seeker:
    """Asks tasks with something to look up. One serves all samples of a run, and opens the knowledge once.

    Args:
        method: that asks, for messages.
        knowledge: a file or folder that is searched for each item, or `gold` for the item's own evidence.
        tool: name of an Inspect tool that the model may call itself instead.
        top: number of passages to look up.
        prompts: a prompt file whose wording replaces the package's.
        cache: whether replies are kept.

    Raises:
        UsageError: neither of knowledge and tool is named, or both are; no such tool; `top` is less than 1.
        DataError: what is named as knowledge does not exist or holds no file that can be read.
    """

    def __init__(
        self, method: str, knowledge: str | None, tool: str | None, top: int, prompts: str | None, cache: bool
    ) -> None:
        if (knowledge is None) == (tool is None):
            how = "knowledge=PATH, knowledge=gold (the item's own evidence) or tool=NAME"
            wrong = "needs something to look up" if tool is None else "looks up one thing, and two are named"
            raise UsageError(f"{method} {wrong}; name one of {how}")
        if top < 1:
            raise UsageError(f"option top={top} is less than 1")
        if knowledge not in (None, GOLD):
            # so that a wrong name is told before a run begins
            named_files(Path(str(knowledge)).expanduser())
        self._method, self._knowledge, self._top, self._cache = method, knowledge, top, cache
        self._tool = tool_named(tool) if tool else None
        self._passages, self._none, self._calls = (
            method_prompt(name, "knowledge", prompts)["user"]
            for name in ("knowledge_passages", "knowledge_no_passage", "knowledge_tool")
        )
        self._opened: Knowledge | None = None
        self._lock = anyio.Lock()

    async def reply(self, state: TaskState, role: str | None) -> Sought:
        """The reply of the model in `role` to the sample's own question. Raises UsageError where the evidence of an
        item without any is asked for."""
        config = decoding_for(state, role)
        if self._tool:
            asked = with_question(state.messages, self._calls, {})
            output, messages, lookups = await ask_with_tool(asked, role, self._tool, cache=self._cache, **config)
            results = [Found(f"call {n}", call, text) for n, (call, text) in enumerate(lookups, 1) if text]
            results += [Found(f"page {n}", *page) for n, page in enumerate(cited(output.message), 1)]
            failed = sum(lookup.result is None for lookup in lookups)
            counts = {**_counts(results), "lookups": len(lookups), "lookups_failed": failed}
            return Sought(output, messages, results, counts, _steps(results))
        found = self._gold(state) if self._knowledge == GOLD else await self.search(query_of(state))
        asked = with_question(state.messages, self._passages if found else self._none, {"passages": shown(found)})
        output = await ask(asked, role, cache=self._cache, **config)
        steps = _steps(found) | ({"knowledge_sha256": self._opened.sha256} if self._opened else {})
        return Sought(output, asked, found, _counts(found), steps)

    async def search(self, query: str) -> list[Found]:
        """The passages for a query, where a path is named as knowledge."""
        async with self._lock:
            if self._opened is None:
                # in a thread, since an index may take minutes to build, and others are waiting for replies
                self._opened = await to_thread.run_sync(open_knowledge, str(self._knowledge))
        passages = await to_thread.run_sync(self._opened.search, query, self._top)
        return [Found(passage.id, passage.title, passage.text) for passage in passages]

    def _gold(self, state: TaskState) -> list[Found]:
        source = evidence_of(state)
        if source is None:
            task = state.metadata.get("task", "the task")
            raise UsageError(
                f"{self._method} with knowledge=gold needs evidence in each item, and item {state.sample_id} of {task} "
                "has none; name knowledge=PATH or tool=NAME"
            )
        return [] if source.strip() in _NO_EVIDENCE else [Found(GOLD, "", source)]


def evidence_of(state: TaskState) -> str | None:
    """The item's own evidence: the source that the task shows, or what it keeps for who asks for it."""
    subject: dict[str, str] = state.metadata.get("subject") or {}
    return subject.get("source", subject.get("evidence"))


def query_of(state: TaskState) -> str:
    """What is looked up for a sample: the text that a method judges, behind the question that it answers; for a
    task without such a text its last user message."""
    subject: dict[str, str] = state.metadata.get("subject") or {}
    parts = [subject[part] for part in ("query", "text") if part in subject]
    return "\n".join(parts) or state.user_prompt.text


def shown(found: Sequence[Found]) -> str:
    """Passages as a model sees them: numbered, each with its title, between two equal lines that are not in them."""
    if not found:
        return NOTHING
    parts = (f"[{n}] {title}\n{text}" if title else f"[{n}] {text}" for n, (_, title, text) in enumerate(found, 1))
    return fence("\n\n".join(part.strip() for part in parts))


def with_question(messages: Sequence[ChatMessage], prompt: str, fields: dict[str, str]) -> list[ChatMessage]:
    """The messages with the last user message put into a prompt as its `{question}`."""
    last = next(n for n in reversed(range(len(messages))) if isinstance(messages[n], ChatMessageUser))
    text = fill(prompt, {**fields, "question": messages[last].text})
    # what the message carries besides stays with it
    return [*messages[:last], messages[last].model_copy(update={"content": text}), *messages[last + 1 :]]


def _counts(found: Sequence[Found]) -> dict[str, float]:
    return {"passages": len(found), "no_passage": not found}


def _steps(found: Sequence[Found]) -> dict[str, Any]:
    return {"found": [{"id": one.id, "title": one.title} for one in found]}
