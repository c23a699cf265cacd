"""Cost of a run: calls, tokens and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Cost = Mapping[str, float]
"""The counts of one sample by name, and its `start` and `end`; see `inspect_adapter.sample_cost`."""
COUNTED = ("calls", "cached_calls", "input_tokens", "output_tokens")
"""The counts of a cost, which add up over samples."""


def total_cost(costs: Sequence[Cost]) -> dict[str, float]:
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
