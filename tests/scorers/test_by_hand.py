"""Figures that can be checked with a pencil and a table of quantiles: each case has the arithmetic in it."""

import math

import numpy as np
import pytest
from scipy.stats import beta, gamma, t

from halu_tasks.core.items import Item
from halu_tasks.scorers.benchmarks.span_scorers import soft_iou
from halu_tasks.scorers.benchmarks.string_scorers import score_passages
from halu_tasks.scorers.columns import by_cluster
from halu_tasks.scorers.gold import SpanGold
from halu_tasks.scorers.metrics import estimate, mean, micro
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.intervals import Moments as M
from halu_tasks.scorers.statistics.intervals import exact_interval, unseen_weight
from halu_tasks.text.marks import Mark

NORMAL = 1.959964


# --- intervals --------------------------------------------------------------------------------------------


def test_two_of_ten_clusters_that_carry_the_variance_leave_a_quarter_of_what_was_not_seen() -> None:
    # each deviates by 0.1: the squares sum up to 0.02, the fourth powers to 0.0002, so 0.0002 / 0.02² is 1/2, one over
    # the number of clusters that carry the variance. Of single observations, the variance would be 0.09
    moments = M(10, second=0.02, third=0.0, fourth=0.0002)
    assert unseen_weight(moments, 0.09) == pytest.approx((1 - 2 / 9) * (1 / 2) ** 2)
    # a variance as of single observations leaves nothing
    assert unseen_weight(moments, 0.02) == unseen_weight(moments, 0.01) == 0.0


def test_the_interval_of_three_clusters_has_room_for_clusters_that_were_not_seen() -> None:
    # the clusters have 0.2, 0.3 and 0.4, equally many items each: v = 0.3, and the deviations are (x - v) / √(3 · 2)
    v, second, fourth = 0.3, (0.01 + 0.01) / 6, (0.0001 + 0.0001) / 36
    # two degrees of freedom: Satterthwaite's would be 2 / (1/2 - 1/3 + (0.4 / 0.21)² · second) = 11.2, which is more
    quantile = t.ppf(0.975, 2)
    assert quantile == pytest.approx(4.3027, abs=5e-5)
    n = 0.21 / second * (NORMAL / quantile) ** 2
    assert n == pytest.approx(13.07, abs=0.005)
    # of what was not seen, 1 / (1 + 3/t²) = 0.861, (1 - second / 0.07) · (1/2)² = 0.238 counts
    unseen = 1 / (1 + 3 / quantile**2) * math.sqrt((1 - second / 0.07) / 4)
    assert unseen == pytest.approx(0.4199, abs=5e-5)
    low, high = beta.ppf(0.025, n * v, n * 0.7 + 1), beta.ppf(0.975, n * v + 1, n * 0.7)
    expected = v - math.hypot(v - low, unseen * v), v + math.hypot(high - v, unseen * 0.7)
    assert exact_interval(v, M(3, second, 0.0, fourth)) == pytest.approx(expected, abs=1e-6)
    # the same from scores
    scores = [
        ScoredReply(f"{c}/{i}", str(c), "x", "x", {"correct": float(i < right)})
        for c, right in enumerate((2, 3, 4))
        for i in range(10)
    ]
    found = estimate(mean("acc", "correct"), by_cluster(scores))
    assert found and (found.low, found.high) == pytest.approx(expected, abs=1e-6)


def test_a_count_of_which_one_cluster_has_a_third_reaches_as_far_as_its_skewness_says() -> None:
    # 39 summaries have one hallucination and one has 21: v = 60/40 = 1.5. The deviations are (x - v) / √(40 · 39): 39
    # of -0.5 and one of 19.5, whose squares sum up to 390, third powers to 7410 and fourth powers to 144592.5
    v, root = 1.5, math.sqrt(40 * 39)
    second, third, fourth = 390 / root**2, 7410 / root**3, 144592.5 / root**4
    degrees = 2 / (fourth / second**2 - 1 / 40 + second / v**2 - 2 * third / second / v)
    quantile = t.ppf(0.975, degrees)
    assert (second, degrees) == (pytest.approx(0.25), pytest.approx(5.06, abs=0.005))
    n = v / second * (NORMAL / quantile) ** 2
    # the end of a Poisson rate is nearer than that of a rate whose variance grows by Σd³/Σd²
    skew = NORMAL**2 * third / second
    end = v + skew / 2 + math.sqrt(quantile**2 * second + skew**2 / 4)
    assert gamma.ppf(0.975, n * v + 1) / n == pytest.approx(3.43, abs=0.01)
    assert end == pytest.approx(4.00, abs=0.01)
    weight = max(1 - second / (v / 40), 0) * (fourth / second**2) ** 2
    assert weight == 0  # the variance is that of many single observations: nothing is added for what was not seen
    found = exact_interval(v, M(40, second, third, fourth), (0.0, math.inf))
    assert found[1] == pytest.approx(end, abs=1e-6)


def test_an_interval_reaches_as_far_as_the_bias_of_a_ratio() -> None:
    # five texts with shared and returned characters: 5 of 10 in all. Without each text it is 4/9, 5/8, 4/7, 3/8, 4/8
    texts = [(1, 1), (0, 2), (1, 3), (2, 2), (1, 2)]
    without = np.array([4 / 9, 5 / 8, 4 / 7, 3 / 8, 4 / 8])
    bias = 4 * (without.mean() - 0.5)
    assert bias == pytest.approx(4 * (2.515873 / 5 - 0.5), abs=1e-6)  # 0.0127
    apart = math.sqrt(4 / 5) * (without.mean() - without)
    moments = M(5, *(float((apart**power).sum()) for power in (2, 3, 4)))
    scores = [
        ScoredReply(str(n), str(n), [], [], {"shared": shared, "returned": returned})
        for n, (shared, returned) in enumerate(texts)
    ]
    found = estimate(micro("precision", "shared", "returned"), by_cluster(scores))
    low, high = exact_interval(0.5, moments)
    assert found and found.value == 0.5
    assert (found.low, found.high) == pytest.approx((low - bias, high), abs=1e-9)


# --- degrees of characters ---------------------------------------------------------------------------------


def test_what_is_marked_outside_of_the_text_counts_against_soft_iou() -> None:
    gold, predicted = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0.5, 0])
    # smaller degrees 1, larger ones 1 + 1 + 0.5, and two characters that are not in the text
    assert soft_iou(gold, predicted, extra=2) == pytest.approx(1 / (2.5 + 2))
    assert soft_iou(gold, predicted) == pytest.approx(1 / 2.5)
    # in a reply: the four gold characters are marked, and five behind the end of the text
    item = Item(
        "1",
        "1",
        "",
        gold=SpanGold(text="Bern is big.", spans=[(0, 4)], strings=["Bern"], degrees=[Mark(0, 4)]),
    )
    scored = score_passages(item, '[{"start": 0, "end": 4}, {"start": 12, "end": 17}]', "passage", degrees=True)
    assert scored.facts["soft_iou"] == pytest.approx(4 / (4 + 5))
