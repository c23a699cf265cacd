"""Tools for looking things up: finding one by name, and calling it until the model replies."""

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

from halu_tasks.core.errors import UsageError
from halu_tasks.solvers.asking import ask

MOST_ROUNDS = 10
"""The maximum number of rounds of tool calls for one reply; after that, the model must answer."""


class Lookup(NamedTuple):
    """A tool call.

    Attributes:
        call: The name of the tool and its arguments.
        result: The result; None if the call failed.
    """

    call: str
    result: str | None


def tool_named(name: str) -> Tool:
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
    module = f"_halu_tasks_tool_{path.stem}"
    spec = importlib.util.spec_from_file_location(module, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"tool {name!r}: {path} is not a Python file")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    # without an entry in sys.modules, annotations in the file could not be resolved
    sys.modules[module] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[module])


async def ask_with_tool(
    prompt: list[ChatMessage], role: str | None, tool: Tool, *, cache: bool = True, **config: Any
) -> tuple[ModelOutput, list[ChatMessage], list[Lookup]]:
    """Call a model in a role, and the tool as often as the model asks for it, until the model replies.

    Replies are cached, but the results of the tool are not: a second run calls the tool again, but not the model, as
    long as the results are the same.

    Args:
        prompt: The messages.
        role: The name of the model role; None for the model under test.
        tool: The tool.
        cache: Whether replies are cached.
        config: The configuration of generation, as in `ask`.

    Returns:
        The reply, the messages before it, and the tool calls.
    """
    messages = [*prompt]
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
    arguments = {call.id: call.arguments for call in message.tool_calls or []}.get(result.tool_call_id or "", {})
    call = f"{result.function} {json.dumps(arguments, ensure_ascii=False, default=str)}"
    return Lookup(call, None if result.error else result.text)


def _by_provider(message: ChatMessageAssistant) -> list[Lookup]:
    """Return the calls that the provider executed itself; results of its searches are known only if they are cited."""
    return [
        Lookup(f"{part.name} {part.arguments}", None if part.error else _result(part))
        for part in _parts(message)
        if isinstance(part, ContentToolUse)
    ]


def _result(part: ContentToolUse) -> str:
    return "" if part.tool_type == "web_search" else part.result


def cited(message: ChatMessageAssistant) -> list[tuple[str, str]]:
    """Return the pages that a reply cites, each once: title with address, and the passage if the provider quotes it."""
    pages = [
        (f"{citation.title or ''} {citation.url}".strip(), citation.cited_text)
        for part in _parts(message)
        if isinstance(part, ContentText)
        for citation in part.citations or []
        if isinstance(citation, UrlCitation)
    ]
    return list(dict.fromkeys((title, quoted if isinstance(quoted, str) else "") for title, quoted in pages))


def _parts(message: ChatMessageAssistant) -> list[Content]:
    return message.content if isinstance(message.content, list) else []
