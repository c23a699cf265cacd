"""Tools that a model may look things up with: how one is named, and the calls up to the model's reply."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    Content,
    ContentText,
    ContentToolUse,
    ModelOutput,
    UrlCitation,
    execute_tools,
)
from inspect_ai.tool import Tool, ToolChoice
from inspect_ai.util import registry_create

from halu_tasks.errors import UsageError
from halu_tasks.solvers.asking import ask

MOST_ROUNDS = 10
"""Times that a model may look things up for one reply; then it has to answer with what it has."""


class Lookup(NamedTuple):
    """A call of a tool and what it gave: a text, or None where it failed."""

    call: str
    result: str | None


def tool_named(name: str) -> Tool:
    """The Inspect tool of that name: `web_search` and the like for Inspect's own, `package/tool` for one of an
    installed package, `file.py@tool` for one in a file.

    Raises:
        UsageError: there is no such file or tool, or the tool cannot be made without arguments.
    """
    file, _, own = name.rpartition("@")
    if file:
        _load(Path(file).expanduser(), name)
    try:
        found = registry_create("tool", own)
    except LookupError:
        raise UsageError(
            f"tool {name!r} is not known to Inspect; name its own, as web_search, or package/tool, or file.py@tool"
        ) from None
    except TypeError as error:
        raise UsageError(f"tool {name!r} cannot be made without arguments ({error}); wrap it in file.py@tool") from None
    assert isinstance(found, Tool)
    return found


def _load(path: Path, name: str) -> None:
    """Run a file, whose decorators make its tools known. It may import what lies beside it."""
    if not path.is_file():
        raise UsageError(f"tool {name!r}: there is no file {path}")
    module = f"_halu_tasks_tool_{path.stem}"
    spec = importlib.util.spec_from_file_location(module, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"tool {name!r}: {path} is no Python file")
    beside = str(path.resolve().parent)
    if beside not in sys.path:
        sys.path.append(beside)
    # known by its name, or annotations in it could not be resolved
    sys.modules[module] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[module])


async def ask_with_tool(
    asked: list[ChatMessage], role: str | None, tool: Tool, *, cache: bool = True, **config: Any
) -> tuple[ModelOutput, list[ChatMessage], list[Lookup]]:
    """The reply of the model in `role` once it calls the tool no more, the messages before it, and the calls.

    Arguments are those of `ask`. The replies are cached and the tool's results are not: a second run calls the tool
    again, and asks the model nothing as long as the results are the same.
    """
    messages = [*asked]
    lookups: list[Lookup] = []
    for left in reversed(range(MOST_ROUNDS + 1)):
        choice: ToolChoice | None = None if left else "none"
        output = await ask(messages, role, cache=cache, tools=[tool], tool_choice=choice, **config)
        lookups += _by_provider(output.message)
        if not output.message.tool_calls or not left:
            break
        messages.append(output.message)
        results, _ = await execute_tools(messages, [tool])
        messages += results
        lookups += [_by_call(output.message, result) for result in results if isinstance(result, ChatMessageTool)]
    return output, messages, lookups


def _by_call(message: ChatMessageAssistant, result: ChatMessageTool) -> Lookup:
    given = {call.id: call.arguments for call in message.tool_calls or []}.get(result.tool_call_id or "", {})
    call = f"{result.function} {json.dumps(given, ensure_ascii=False, default=str)}"
    return Lookup(call, None if result.error else result.text)


def _by_provider(message: ChatMessageAssistant) -> list[Lookup]:
    """What the provider looked up by itself while the model replied. Of its searches it tells at most what the reply
    cites."""
    return [
        Lookup(f"{part.name} {part.arguments}", None if part.error else _told(part))
        for part in _parts(message)
        if isinstance(part, ContentToolUse)
    ]


def _told(part: ContentToolUse) -> str:
    return "" if part.tool_type == "web_search" else part.result


def cited(message: ChatMessageAssistant) -> list[tuple[str, str]]:
    """The pages that a reply cites, each once: title and address, and the passage where the provider quotes it."""
    found = [
        (f"{citation.title or ''} {citation.url}".strip(), citation.cited_text)
        for part in _parts(message)
        if isinstance(part, ContentText)
        for citation in part.citations or []
        if isinstance(citation, UrlCitation)
    ]
    return list(dict.fromkeys((title, quoted if isinstance(quoted, str) else "") for title, quoted in found))


def _parts(message: ChatMessageAssistant) -> list[Content]:
    return message.content if isinstance(message.content, list) else []
