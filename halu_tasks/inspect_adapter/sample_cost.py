"""Cost of a sample, from its events in Inspect."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from halu_tasks.scorers.cost import Cost


def cost_of(events: Iterable[Any]) -> Cost | None:
    """Compute the cost of one sample.

    Args:
        events: The sample's events in Inspect. Those of scorers, which may ask a judge, are not part of the cost.

    Returns:
        The numbers of `calls` that reached a provider and of `cached_calls` that did not, the `input_tokens` and
        `output_tokens` of the former, and `start` and `end` in seconds since 1970; None if no model was called. What
        the server of a model had cached of the input counts, too.
    """
    answering = takewhile(lambda event: not (event.event == "span_begin" and event.name == "scorers"), events)
    model_events = [event for event in answering if event.event == "model"]
    if not model_events:
        return None
    calls = [event for event in model_events if event.cache != "read"]
    usage = [event.output.usage for event in calls if event.output.usage]
    return {
        "calls": len(calls),
        "cached_calls": len(model_events) - len(calls),
        "input_tokens": sum(map(_input_tokens, usage)),
        "output_tokens": sum(used.output_tokens for used in usage),
        "start": min(event.timestamp.timestamp() for event in model_events),
        "end": max((event.completed or event.timestamp).timestamp() for event in model_events),
    }


def _input_tokens(used: Any) -> int:
    """Return all tokens that were sent, of which Inspect counts by themselves those that the server had cached."""
    counts = (used.input_tokens, used.input_tokens_cache_read, used.input_tokens_cache_write)
    return sum(count or 0 for count in counts)
