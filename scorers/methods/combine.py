"""The probability of a text from those of its claims (Factored Verification, section 2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

UNKNOWN = 0.5
"""The probability of a claim of which nothing is known: its checks say neither yes nor no."""


def combined(probabilities: Sequence[float | None]) -> float | None:
    """The probability that all claims are right, taken as independent: the product, computed in log space.

    A claim of which nothing is known (None) counts as 0.5; a text without claims, or with nothing known of any, has
    no probability.

    Args:
        probabilities: of the claims, each 0 to 1 or None.
    """
    if all(probability is None for probability in probabilities):
        return None
    known = [UNKNOWN if probability is None else probability for probability in probabilities]
    if min(known) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, known)))
