"""What an item's answer cost: model calls, tokens and time, from the events of its sample in Inspect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Cost = Mapping[str, float]
COUNTED = ("calls", "cached_calls", "input_tokens", "output_tokens")


def cost_of(events: Iterable[Any]) -> Cost | None:
    """The cost of one sample: `calls` that reached a provider and `cached_calls` that did not, tokens of the former,
    and `start` and `end` in seconds since 1970. None where no model was asked."""
    asked = [event for event in events if event.event == "model"]
    if not asked:
        return None
    called = [event for event in asked if event.cache != "read"]
    usage = [event.output.usage for event in called if event.output.usage]
    return {
        "calls": len(called),
        "cached_calls": len(asked) - len(called),
        "input_tokens": sum(used.input_tokens for used in usage),
        "output_tokens": sum(used.output_tokens for used in usage),
        "start": min(event.timestamp.timestamp() for event in asked),
        "end": max((event.completed or event.timestamp).timestamp() for event in asked),
    }


def total(costs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Of many samples: the sums, and `wall_seconds`, the time in which at least one of them was being answered. A
    pause between an interrupted run and its resumption is not in it."""
    found = {name: float(sum(cost[name] for cost in costs)) for name in COUNTED}
    seconds, until = 0.0, float("-inf")
    for start, end in sorted((cost["start"], cost["end"]) for cost in costs):
        seconds += max(end - max(start, until), 0.0)
        until = max(until, end)
    return {**found, "wall_seconds": seconds}
