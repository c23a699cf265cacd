"""The probability that a text is right, from the probabilities of its claims (Factored Verification, section 2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

UNKNOWN = 0.5
"""The probability of a claim whose checks say neither yes nor no."""


def combined(probabilities: Sequence[float | None]) -> float | None:
    """Compute the probability that all claims are right, assuming that they are independent.

    This is the product of their probabilities, computed in log space.

    Args:
        probabilities: The probability of each claim, 0 to 1; None, if it is unknown, counts as 0.5.

    Returns:
        The probability, 0 to 1; None if there are no claims or nothing is known about any of them.
    """
    if all(probability is None for probability in probabilities):
        return None
    factors = [UNKNOWN if probability is None else probability for probability in probabilities]
    if min(factors) <= 0:
        return 0.0
    return math.exp(math.fsum(map(math.log, factors)))
