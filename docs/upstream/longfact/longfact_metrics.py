"""F1@K of LongFact, the mean over replies of the F1 of precision and of recall up to K supported claims."""

import numpy as np

from halu_tasks.scorers.metrics import metric

K = 64


@metric
def f1_at_64(good_claims, relevant_claims):
    """F1 of a reply's supported claims, of which 64 are wanted; 0 without any."""
    precision = good_claims / np.maximum(relevant_claims, 1)
    recall = np.minimum(good_claims / K, 1)
    return 2 * precision * recall / np.where(good_claims > 0, precision + recall, 1)
