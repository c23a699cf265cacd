"""The cost of answers in model calls, tokens and time, computed from the events of a sample in Inspect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Cost = Mapping[str, float]
"""The counts of one sample by name, and its `start` and `end`; see `cost_of`."""
COUNTED = ("calls", "cached_calls", "input_tokens", "output_tokens")
"""The counts of a cost, which add up over samples."""


def cost_of(events: Iterable[Any]) -> Cost | None:
    """Compute the cost of one sample.

    Args:
        events: The sample's events in Inspect.

    Returns:
        The numbers of `calls` that reached a provider and of `cached_calls` that did not, the `input_tokens` and
        `output_tokens` of the former, and `start` and `end` in seconds since 1970; None if no model was called.
    """
    model_events = [event for event in events if event.event == "model"]
    if not model_events:
        return None
    calls = [event for event in model_events if event.cache != "read"]
    usage = [event.output.usage for event in calls if event.output.usage]
    return {
        "calls": len(calls),
        "cached_calls": len(model_events) - len(calls),
        "input_tokens": sum(used.input_tokens for used in usage),
        "output_tokens": sum(used.output_tokens for used in usage),
        "start": min(event.timestamp.timestamp() for event in model_events),
        "end": max((event.completed or event.timestamp).timestamp() for event in model_events),
    }


def total(costs: Sequence[Cost]) -> dict[str, float]:
    """Add up the costs of many samples.

    Returns:
        The sums of the counts, and `wall_seconds`, the time during which at least one sample was being answered, which
        excludes a pause between an interrupted run and its resumption.
    """
    sums = {name: float(sum(cost[name] for cost in costs)) for name in COUNTED}
    seconds, until = 0.0, float("-inf")
    for start, end in sorted((cost["start"], cost["end"]) for cost in costs):
        seconds += max(end - max(start, until), 0.0)
        until = max(until, end)
    return {**sums, "wall_seconds": seconds}
