"""What scanners read of a transcript: the reply, what the model was given before it, and fields of the metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from inspect_ai.model import ChatMessage, ChatMessageAssistant
from inspect_ai.scorer import Reference
from inspect_scout import Result, Transcript

from halu_tasks.core.errors import DataError


class TranscriptReply(NamedTuple):
    """The reply of a transcript: the last message of the model that has text.

    Attributes:
        text: The text.
        before: The messages before it.
        references: The reference to its message, for results.
    """

    text: str
    before: list[ChatMessage]
    references: list[Reference]


def reply_of(transcript: Transcript) -> TranscriptReply | None:
    """Return the reply of a transcript; None if no message of the model has text."""
    messages = transcript.messages
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number]
        if isinstance(message, ChatMessageAssistant) and message.text.strip():
            references = [Reference(type="message", id=message.id)] if message.id else []
            return TranscriptReply(message.text.strip(), messages[:number], references)
    return None


def no_reply() -> Result:
    """Return the result of a transcript without a reply, which has no value."""
    return Result(value=None, explanation="the transcript has no reply")


def asked_of(reply: TranscriptReply) -> str:
    """Return what the user wrote before the reply."""
    return _joined(reply, ("user",))


def source_of(transcript: Transcript, reply: TranscriptReply, name: str | None) -> str:
    """Return the source that a reply is checked against.

    Args:
        transcript: The transcript.
        reply: Its reply.
        name: The name of a field of the sample's metadata; None for all that the user and tools wrote before the reply.

    Raises:
        DataError: The field is missing, or no message precedes the reply.
    """
    if name is None:
        if source := _joined(reply, ("user", "tool")):
            return source
        raise DataError(f"{_name_of(transcript)}: no message of the user or a tool precedes the reply; name a source")
    value = field_of(transcript, name)
    if isinstance(value, list):
        return "\n\n".join(map(_as_text, value))
    return _as_text(value)


def field_of(transcript: Transcript, name: str) -> Any:
    """Return a field of the sample's metadata.

    Args:
        transcript: The transcript.
        name: The name of the field, or names joined by dots for a field of a field.

    Raises:
        DataError: The field is missing.
    """
    # logs of Inspect have the metadata of the sample in a field of its own; other sources have no samples
    value: Any = transcript.metadata.get("sample_metadata", transcript.metadata)
    for part in [name] if isinstance(value, Mapping) and name in value else name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            present = ", ".join(map(str, value)) if isinstance(value, Mapping) and value else "nothing"
            raise DataError(f"{_name_of(transcript)}: metadata lacks {name!r} ({part!r} is not among: {present})")
        value = value[part]
    return value


def _joined(reply: TranscriptReply, roles: tuple[str, ...]) -> str:
    return "\n\n".join(text for message in reply.before if message.role in roles and (text := message.text.strip()))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _name_of(transcript: Transcript) -> str:
    return f"sample {transcript.task_id!r}" if transcript.task_id else f"transcript {transcript.transcript_id!r}"
