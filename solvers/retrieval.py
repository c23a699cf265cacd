"""Asking with something to look up: a user's passages, the item's own evidence, or a tool; the solver `with_knowledge`.

All methods that look things up use the same queries and prompts, and so does the export of training data.
"""

import json
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ContentText,
    ContentToolUse,
    ModelOutput,
    UrlCitation,
    execute_tools,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool
from inspect_ai.util import registry_create

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Item
from halu_tasks.core.prompting import fill
from halu_tasks.core.settings import Count
from halu_tasks.knowledge import Knowledge, Snippet, named_files, open_knowledge
from halu_tasks.scorers.judge import shown_passages
from halu_tasks.solvers import model_calls
from halu_tasks.tasks import Task

GOLD = "gold"
"""The value of `knowledge` for each item's own evidence."""
MOST_ROUNDS = 10
"""The maximum number of rounds of tool calls for one reply; after that, the model must answer."""
# the evidence of FactCHD's rows that have none
_NO_EVIDENCE = ("", "none")

Lookup = tuple[str, str | None]
"""The name of a tool with the arguments of a call, and the result; None if the call failed."""


def evidence_of(subject: Mapping[str, str], item: object, task: object) -> str:
    """Return an item's own evidence, even if its task does not show it.

    Raises:
        UsageError: It has none.
    """
    evidence = subject.get("source", subject.get("evidence"))
    if evidence is None:
        raise UsageError(
            f"item {item} of {task} has no evidence, as knowledge=gold needs; name a file or folder of passages"
        )
    return evidence


def informed_questions(task: Task, knowledge: str, top: int, prompts: str | None) -> Callable[[Item], str]:
    """Return the function that makes a task's questions as the solver `with_knowledge` asks them.

    Args:
        task: The task.
        knowledge: A file or folder that is searched for each item, or `gold` for the item's own evidence.
        top: The number of passages to look up.
        prompts: A prompt file with texts that replace the packaged ones.

    Returns:
        A function of an item, which raises UsageError if the knowledge is the item's evidence, and it has none.

    Raises:
        UsageError: `top` is less than 1, or the prompt file cannot be read.
        DataError: The file or folder does not exist, or has no file that can be read.
    """
    _check_lookup(knowledge, top, prompts)
    library = None if knowledge == GOLD else open_knowledge(knowledge)

    def question(item: Item) -> str:
        subject = task.prompts.parts_of(item.fields)
        if library:
            findings = library.search(_query(subject, item.prompt), top)
        else:
            findings = _as_finding(evidence_of(subject, item.id, task.name))
        fields = {"passages": shown_passages(findings), "question": item.prompt}
        return fill(_passages_prompt(findings, prompts), fields)

    return question


def with_question(messages: Sequence[ChatMessage], prompt: str, fields: dict[str, str]) -> list[ChatMessage]:
    """Replace the last user message by a prompt that contains it as `{question}`.

    Args:
        messages: The messages.
        prompt: The prompt.
        fields: The other fields of the prompt.
    """
    last = model_calls.last_question(messages)
    text = fill(prompt, {**fields, "question": messages[last].text})
    # metadata and other attributes of the message are kept
    return [*messages[:last], messages[last].model_copy(update={"content": text}), *messages[last + 1 :]]


InformedReply = tuple[ModelOutput, list[ChatMessage], list[Snippet], model_calls.MethodRecord]
"""The reply of a model that could look things up; the messages before it, including tool calls; what was found, in the
order in which it was shown; and what was counted: the number of `passages`, and `no_passage`, 1 if there is none; with
a tool, also the number of its calls, `lookups`, and of those that failed, `lookups_failed`. The steps of this record
are id and title of what was found, and the sha256 of the files with passages."""


class Seeker:
    """Asks questions with something to look up; shared by all samples of a run.

    Args:
        method: The name of the method.
        knowledge: A file or folder that is searched for each item, or `gold` for the item's own evidence.
        tool: The name of an Inspect tool that the model may call instead.
        top: The number of passages to look up.
        prompts: A prompt file with texts that replace the packaged ones.
        cache: Whether replies are cached.

    Raises:
        UsageError: Neither or both of `knowledge` and `tool` are given, the tool is unknown, or `top` is less than 1.
        DataError: The file or folder does not exist, or has no file that can be read.
    """

    def __init__(
        self, method: str, knowledge: str | None, tool: str | None, top: int, prompts: str | None, cache: bool
    ) -> None:
        if (knowledge is None) == (tool is None):
            choices = "knowledge=PATH, knowledge=gold (the item's own evidence) or tool=NAME"
            problem = "needs something to look up" if tool is None else "cannot use both knowledge and tool"
            raise UsageError(f"{method} {problem}; name one of {choices}")
        _check_lookup(knowledge or GOLD, top, prompts)
        self._method, self._knowledge, self._top, self._prompts, self._cache = method, knowledge, top, prompts, cache
        self._tool = get_tool(tool) if tool else None
        self._opened: Knowledge | None = None
        self._lock = anyio.Lock()

    async def reply(self, state: TaskState, role: str | None) -> InformedReply:
        """Ask the model in a role the sample's question.

        Raises:
            UsageError: The knowledge is the item's evidence, and it has none.
        """
        config, counts = model_calls.decoding_for(state, role), dict[str, float]()
        if self._tool:
            prompt = model_calls.method_prompt("knowledge_tool", "knowledge", self._prompts)
            question = with_question(state.messages, prompt, {})
            output, messages, lookups = await _ask_with_tool(question, role, self._tool, cache=self._cache, **config)
            findings = [Snippet(f"call {n}", call, text) for n, (call, text) in enumerate(lookups, 1) if text]
            findings += [Snippet(f"page {n}", *page) for n, page in enumerate(_cited(output.message), 1)]
            counts = {"lookups": len(lookups), "lookups_failed": sum(result is None for _, result in lookups)}
        else:
            findings = await self._passages(state)
            prompt = _passages_prompt(findings, self._prompts)
            messages = with_question(state.messages, prompt, {"passages": shown_passages(findings)})
            output = await model_calls.ask(messages, role, cache=self._cache, **config)
        counts = {"passages": len(findings), "no_passage": not findings, **counts}
        steps: dict[str, Any] = {"found": [{"id": finding.id, "title": finding.title} for finding in findings]}
        steps |= {"knowledge_sha256": self._opened.sha256} if self._opened else {}
        return output, messages, findings, model_calls.MethodRecord(method=self._method, counts=counts, steps=steps)

    async def search(self, query: str) -> list[Snippet]:
        """Return the passages for a query if the knowledge is a file or folder."""
        async with self._lock:
            if self._opened is None:
                # in a thread, since building an index may take minutes while other samples wait for replies
                self._opened = await to_thread.run_sync(open_knowledge, str(self._knowledge))
        return await to_thread.run_sync(self._opened.search, query, self._top)

    async def _passages(self, state: TaskState) -> list[Snippet]:
        subject = model_calls.parts_of(state) or {}
        if self._knowledge != GOLD:
            return await self.search(_query(subject, state.user_prompt.text))
        return _as_finding(evidence_of(subject, state.sample_id, state.metadata.get("task", "the task")))


@solver
@model_calls.method
def with_knowledge(
    knowledge: str | None = None,
    tool: str | None = None,
    top: Count = 5,
    prompts: str | None = None,
    cache: bool = True,
) -> Solver:
    """Ask the model under test the task's question together with what was looked up for it.

    This works with every task, since the reply is the task's own answer, as in knowledge-enhanced FactCHD (section
    5.3.4). Give either `knowledge` or `tool`.

    Args:
        knowledge: File or folder of passages, which BM25 searches for each item; or `gold`, the item's own evidence.
        tool: Name of an Inspect tool that the model may call instead: `web_search`, `package/tool`, `file.py@tool`.
        top: Number of passages to look up.
        prompts: Prompt file with texts that replace the packaged ones.
        cache: Whether to cache replies, so that a second run does not repeat the calls.
    """
    seeker = Seeker("with_knowledge", knowledge, tool, top, prompts, cache)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        output, state.messages, _, record = await seeker.reply(state, None)
        return model_calls.conclude(state, output, record)

    return solve


def _check_lookup(knowledge: str, top: int, prompts: str | None) -> None:
    if knowledge != GOLD:
        named_files(Path(knowledge).expanduser())
    _passages_prompt([], prompts)


def _passages_prompt(findings: Sequence[Snippet], prompts: str | None) -> str:
    return model_calls.method_prompt("knowledge_passages" if findings else "knowledge_no_passage", "knowledge", prompts)


def _query(subject: Mapping[str, str], question: str) -> str:
    return "\n".join(subject[part] for part in ("query", "text") if part in subject) or question


def _as_finding(evidence: str) -> list[Snippet]:
    return [] if evidence.strip() in _NO_EVIDENCE else [Snippet(GOLD, "", evidence)]


# --- tools ----------------------------------------------------------------------------------------


def get_tool(name: str) -> Tool:
    """Create an Inspect tool by name.

    The name is `web_search` or the like for Inspect's own tools, `package/tool` for a tool of an installed package, and
    `file.py@tool` for a tool in a file.

    Raises:
        UsageError: The file or tool does not exist, or the tool cannot be created without arguments.
    """
    file, _, registered_name = name.rpartition("@")
    if file:
        _load(Path(file).expanduser(), name)
    try:
        created = registry_create("tool", registered_name)
    except LookupError:
        raise UsageError(
            f"tool {name!r} is not known to Inspect; name its own, as web_search, or package/tool, or file.py@tool"
        ) from None
    except TypeError as error:
        raise UsageError(f"tool {name!r} cannot be made without arguments ({error}); wrap it in file.py@tool") from None
    assert isinstance(created, Tool)
    return created


def _load(path: Path, name: str) -> None:
    """Run a file whose decorators register its tools; it may import modules from its own folder."""
    if not path.is_file():
        raise UsageError(f"tool {name!r}: there is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    runpy.run_path(str(path))


async def _ask_with_tool(
    prompt: list[ChatMessage], role: str | None, tool: Tool, *, cache: bool, **config: Any
) -> tuple[ModelOutput, list[ChatMessage], list[Lookup]]:
    """Call a model, and the tool each time that the model asks for it, until the model replies.

    Replies are cached, but the results of the tool are not: a second run calls the tool again, but not the model, as
    long as the results are the same.

    Returns:
        The reply, the messages before it, and the tool calls, also those that the provider executed itself.
    """
    messages, lookups = [*prompt], list[Lookup]()
    for left in reversed(range(MOST_ROUNDS + 1)):
        output = await model_calls.ask(
            messages, role, cache=cache, tools=[tool], tool_choice=None if left else "none", **config
        )
        for part in _parts(output.message):
            if isinstance(part, ContentToolUse):
                # the results of a provider's searches are known only if they are cited
                result_text = "" if part.tool_type == "web_search" else part.result
                lookups.append((f"{part.name} {part.arguments}", None if part.error else result_text))
        calls = output.message.tool_calls
        if not calls or not left:
            break
        results, _ = await execute_tools([*messages, output.message], [tool])
        messages += [output.message, *results]
        arguments = {call.id: json.dumps(call.arguments, ensure_ascii=False, default=str) for call in calls}
        for result in results:
            if isinstance(result, ChatMessageTool):
                call = f"{result.function} {arguments.get(result.tool_call_id or '', '{}')}"
                lookups.append((call, None if result.error else result.text))
    return output, messages, lookups


def _cited(message: ChatMessageAssistant) -> list[tuple[str, str]]:
    """Return each page that a reply cites: title and address, and the passage if the provider quotes one."""
    texts = (part for part in _parts(message) if isinstance(part, ContentText))
    cited = (each for text in texts for each in text.citations or [] if isinstance(each, UrlCitation))
    pages = [(f"{each.title or ''} {each.url}".strip(), each.cited_text) for each in cited]
    return list(dict.fromkeys((title, quoted if isinstance(quoted, str) else "") for title, quoted in pages))


def _parts(message: ChatMessageAssistant) -> Sequence[Any]:
    return message.content if isinstance(message.content, list) else []
