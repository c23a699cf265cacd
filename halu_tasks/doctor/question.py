"""One short question to models, through the harnesses that would run them.

The harnesses themselves wait minutes for a server that is not there.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from halu_tasks.core.errors import HaluTasksError, UsageError
from halu_tasks.runs.models import HarnessModel

_THOUGHT = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_TOKENS = 64
"""The token limit of the question."""
_HAVE_SERVERS = ("local-chat-completions", "openai-chat-completions", "local-completions", "openai-completions")
"""The models of lm-eval that are asked over the OpenAI protocol."""


class ProbeReply(NamedTuple):
    """The reply to the question.

    Attributes:
        seconds: How long it took.
        overloaded: Whether the server is there, but accepted no question.
        reasons: Whether the model reasoned before it answered, or used up the tokens without an answer.
        log_probabilities: Whether the reply came with log-probabilities.
    """

    seconds: float
    overloaded: bool = False
    reasons: bool = False
    log_probabilities: bool = False


def ask(model: HarnessModel, *, log_probabilities: bool = False) -> ProbeReply:
    """Ask a model.

    Args:
        model: The model.
        log_probabilities: Whether to ask for log-probabilities, which only Inspect can.

    Raises:
        HaluTasksError: The harness cannot create the model, or it does not answer.
    """
    return _ask_in_lm_eval(model) if model.harness == "lm_eval" else _ask_in_inspect(model, log_probabilities)


def has_server(model: HarnessModel) -> bool:
    """Return whether a model has a server which can be asked; the others run in the harness's process."""
    if model.harness == "lm_eval":
        return model.model in _HAVE_SERVERS
    from halu_tasks.judging.reaching import has_server as inspect_has_server

    return inspect_has_server(model.model, model.base_url)


def unanswered(models: Sequence[HarnessModel]) -> dict[str, HaluTasksError]:
    """Ask models with a server at the same time; return why some do not answer, by their names."""
    asked = [model for model in models if has_server(model)]
    if any(model.harness == "lm_eval" for model in asked):
        # imported before the threads, which would wait for each other
        import lm_eval.models.api_models  # noqa: F401
    if any(model.harness == "inspect" for model in asked):
        import halu_tasks.inspect_adapter.run_models  # noqa: F401

    def fault(model: HarnessModel) -> HaluTasksError | None:
        try:
            ask(model)
        except HaluTasksError as error:
            return error
        return None

    if not asked:
        return {}
    with ThreadPoolExecutor(len(asked)) as pool:
        faults = pool.map(fault, asked)
        return {model.name: error for model, error in zip(asked, faults, strict=True) if error}


def _ask_in_inspect(model: HarnessModel, log_probabilities: bool) -> ProbeReply:
    from inspect_ai.model import GenerateConfig

    from halu_tasks.inspect_adapter.run_models import create_model
    from halu_tasks.judging.reaching import probe
    from halu_tasks.solvers.asking import MOST_ALTERNATIVES

    key = next(iter(model.placeholder_key.values()), None)
    arguments = {"memoize": False, "api_key": key, **model.arguments}
    created = create_model(model.model, model.base_url, arguments, {"timeout": model.options.get("timeout")})
    settings = GenerateConfig(logprobs=True, top_logprobs=MOST_ALTERNATIVES) if log_probabilities else None
    start = time.monotonic()
    output = probe(created, settings)
    seconds = time.monotonic() - start
    if output is None:
        return ProbeReply(seconds, overloaded=True)
    choice = output.choices[0] if output.choices else None
    # Inspect takes <think> out of the text
    content = choice.message.content if choice else []
    parts = [] if isinstance(content, str) else [part.type for part in content]
    thoughts = "reasoning" in parts or bool(output.usage and output.usage.reasoning_tokens)
    cut = output.stop_reason == "max_tokens" and not output.completion.strip()
    return ProbeReply(seconds, False, thoughts or cut, bool(choice and choice.logprobs and choice.logprobs.content))


def _ask_in_lm_eval(model: HarnessModel) -> ProbeReply:
    from lm_eval.api.registry import get_model
    from lm_eval.models.api_models import JsonChatStr

    from halu_tasks.judging.reaching import PATIENCE, PROBE, model_error, status_of

    arguments = {"timeout": PATIENCE, **model.arguments}
    question: Any = JsonChatStr(json.dumps([{"role": "user", "content": PROBE}]))
    if not model.model.endswith("-chat-completions"):
        # the question needs no tokenizer, which may have to be downloaded
        arguments |= {"tokenizer_backend": "none", "tokenized_requests": False}
        question = PROBE
    with _silent("lm_eval"):
        try:
            created: Any = get_model(model.model).create_from_arg_obj(arguments, {})
        except Exception as error:
            raise UsageError(f"model {model.model}: {' '.join(str(error).split())}") from None
        settings = {"max_gen_toks": _TOKENS, "temperature": 0.0, "until": []}
        start = time.monotonic()
        try:
            reply = created.model_call([question], gen_kwargs=settings)
        except HaluTasksError:
            raise
        except Exception as error:
            if status_of(error) == 429:
                return ProbeReply(time.monotonic() - start, overloaded=True)
            key = getattr(created, "api_key", None)
            address = str(getattr(created, "base_url", "") or "")
            raise model_error(str(model.arguments.get("model")), address, error, int(created.timeout), key) from None
    return ProbeReply(time.monotonic() - start, reasons=_reasons(reply or {}))


def _reasons(reply: Mapping[str, Any]) -> bool:
    """Return whether a reply of a chat server contains reasoning, or nothing but it."""
    choice: Mapping[str, Any] = next(iter(reply.get("choices") or []), {})
    message = choice.get("message") or {}
    text = message.get("content") or ""
    reasoning = message.get("reasoning_content") or message.get("reasoning") or _THOUGHT.search(text)
    return bool(reasoning) or (choice.get("finish_reason") == "length" and not text.strip())


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Keep what a logger would print out of a table."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
