"""What `halu-tasks run` changes in lm-eval: a refused request does not end the run, and the cache is JSON.

lm-eval repeats a request that a chat server refuses, and then ends without results, whatever else has been answered.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any

from halu_tasks.core.credentials import redacted
from halu_tasks.core.errors import DataError, is_refused

_FAILURE = "halu_failure"
# maximum number of characters of what a server says
_LONGEST = 300

# what lm-eval logs of a response before it raises an error that does not have it
_response: ContextVar[str] = ContextVar("response", default="")


class FailedReply(str):
    """The empty text in the place of the reply to a request that failed.

    Attributes:
        failure: Why it failed.
    """

    failure: str

    @classmethod
    def of(cls, failure: str) -> FailedReply:
        """Return the reply to a request that failed for this reason."""
        reply = cls("")
        reply.failure = failure
        return reply


def keep_going() -> None:
    """Make lm-eval's clients return a `FailedReply` for a request that the server refuses or filters.

    Requests for likelihoods, and of several prompts at once, are left as they are.
    """
    from lm_eval.models import api_models, openai_completions

    logging.getLogger(api_models.__name__).addFilter(_remember)
    model = api_models.TemplateAPI
    call, acall = model.model_call, model.amodel_call

    @wraps(call)
    def model_call(self: Any, messages: Sequence[Any], *, generate: bool = True, **kwargs: Any) -> Any:
        try:
            return call(self, messages, generate=generate, **kwargs)
        except Exception as error:
            if (failed := _failed(error, messages, generate=generate)) is None:
                raise
            choice = {"index": 0, "message": {"content": failed}, "text": failed}
            return {"choices": [choice], "content": [choice]}

    @wraps(acall)
    async def amodel_call(self: Any, session: Any, sem: Any, messages: Sequence[Any], **kwargs: Any) -> Any:
        try:
            return await acall(self, session, sem, messages, **kwargs)
        except Exception as error:
            if (failed := _failed(error, messages, generate=kwargs.get("generate", True))) is None:
                raise
            return [failed]

    model.model_call, model.amodel_call = model_call, amodel_call
    for client in (openai_completions.LocalCompletionsAPI, openai_completions.LocalChatCompletion):
        client.parse_generations = _with_filtered(vars(client)["parse_generations"])


def _remember(record: logging.LogRecord) -> bool:
    if record.levelno == logging.WARNING:
        _response.set(record.getMessage())
    return True


def _failed(error: Exception, messages: Sequence[Any], *, generate: bool) -> FailedReply | None:
    """Return the reply to a request that was refused; None if the error is another one."""
    status = getattr(error, "status", None) or getattr(getattr(error, "response", None), "status_code", None)
    if not is_refused(status, _response.get()) or not generate or len(messages) != 1:
        return None
    message = re.search(r'"message"\s*:\s*("(?:[^"\\]|\\.)*")', _response.get())
    why = json.loads(message[1], strict=False) if message else _response.get()
    return FailedReply.of(redacted(": ".join(filter(None, (f"HTTP {status}", " ".join(why.split())[:_LONGEST])))))


def _with_filtered(parse: Any) -> Callable[..., list[str]]:
    """Make a method or static method that reads replies replace those that a filter ended."""

    def parsed(self: Any, outputs: Any = None, **kwargs: Any) -> list[str]:
        replies: list[str] = parse.__get__(self)(outputs=outputs, **kwargs)
        bodies = outputs if isinstance(outputs, list) else [outputs]
        choices = [choice for body in bodies if isinstance(body, Mapping) for choice in body.get("choices") or ()]
        if len(choices) != len(replies):
            return replies
        return [
            FailedReply.of("content_filter") if choice.get("finish_reason") == "content_filter" else reply
            for choice, reply in zip(choices, replies, strict=True)
        ]

    return parsed


def keep_replies_as_json() -> None:
    """Let `lm_eval.api.model.CachingLM` keep replies as JSON: pickles, which it would write and read, run code."""
    import sqlitedict

    sqlitedict.dumps = lambda reply, protocol: json.dumps(_as_json(reply)).encode()
    sqlitedict.loads = _as_reply


def _as_json(reply: Any) -> Any:
    return {_FAILURE: reply.failure} if isinstance(reply, FailedReply) else reply


def _as_reply(cached: bytes) -> Any:
    try:
        value = json.loads(cached)
    except ValueError:
        raise DataError("a reply in the cache of lm-eval (--use_cache) is not JSON; remove the file") from None
    return FailedReply.of(value[_FAILURE]) if isinstance(value, dict) and _FAILURE in value else value
