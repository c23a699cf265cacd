"""Rates corrected for a judge's errors, against ppi-python, scikit-learn and the definitions."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from halu_tasks.core.options import Assumption
from halu_tasks.scorers.benchmarks.judged import OPEN_ANSWER, SUMMARY
from halu_tasks.scorers.judge import CONFLICT, CONSISTENT, FAILED, Verdict
from halu_tasks.scorers.metrics import Estimate, estimates
from halu_tasks.scorers.reading.claims import SUPPORTED, UNSUPPORTED
from halu_tasks.scorers.reference import (
    ReferenceLabels,
    VerdictLabel,
    drawn_otherwise,
    judge_error_metrics,
    ppi_mean,
    with_known_error,
)
from halu_tasks.scorers.score import ScoredReply

METRICS = judge_error_metrics("hallucination_rate", "hallucinated")
VERDICTS = {True: Verdict(CONFLICT), False: Verdict(CONSISTENT)}
Row = tuple[bool, bool | None]
"""Whether the judge calls a reply a hallucination, and whether people do, if they saw it."""


def judged(says: Iterable[bool]) -> list[ScoredReply]:
    """Scores of replies, each of which the judge calls a hallucination or does not."""
    return [
        ScoredReply(str(at), str(at), "a", "", {"hallucinated": float(said)}, verdicts=[VERDICTS[bool(said)]])
        for at, said in enumerate(says)
    ]


def figures(
    rows: Sequence[Row], assumed: Assumption | None = None, empty: int = 0, failed: int = 0
) -> dict[str, Estimate]:
    """Return the figures of replies, of which some are empty and on some of which the judge failed."""
    labels = (VerdictLabel(str(at), "", None, float(y)) for at, (_, y) in enumerate(rows) if y is not None)
    reference = ReferenceLabels.of("", labels)
    scores = judged(judge for judge, _ in rows)
    scores += [ScoredReply(f"empty{at}", f"e{at}", None, "", {"hallucinated": 1.0}) for at in range(empty)]
    scores += [ScoredReply(f"failed{at}", f"f{at}", "a", "", {}, verdicts=[Verdict(FAILED)]) for at in range(failed)]
    return estimates(METRICS, (with_known_error(score, OPEN_ANSWER, reference, assumed) for score in scores))


def drawn(items: int, labelled: int, sensitivity: float = 0.85, specificity: float = 0.92) -> list[Row]:
    generator = np.random.default_rng(items + labelled)
    true = generator.random(items) < 0.3
    judge = generator.random(items) < np.where(true, sensitivity, 1 - specificity)
    return [(bool(j), bool(y) if at < labelled else None) for at, (j, y) in enumerate(zip(judge, true, strict=True))]


def test_the_power_tuned_estimate_worked_out_by_hand() -> None:
    # 10 verdicts, 4 of them positive; 5 labels, 2 of them positive, where the judge has 3, these 2 among them
    items, sums, labelled, weighted = np.array(10.0), np.array([4.0, 4.0]), np.array(5.0), np.array([5.0, 2, 3, 2])
    # λ is 0.16 / (0.24 · 10/9) · 5/10 = 0.3
    assert ppi_mean(items, sums, labelled, weighted) == pytest.approx(0.4 + 0.3 * (0.2 - 0.6))
    # weights that are all the same change nothing
    assert ppi_mean(items, sums, labelled, 2 * weighted) == pytest.approx(0.4 + 0.3 * (0.2 - 0.6))


@pytest.mark.slow
@pytest.mark.parametrize(("items", "labelled"), [(60, 30), (200, 50), (1000, 150), (400, 399)])
def test_the_estimate_is_that_of_ppi_python(items: int, labelled: int) -> None:
    from ppi_py import ppi_mean_pointestimate  # compiles for seconds

    rows = drawn(items, labelled)
    known = np.array([[float(y), float(j)] for j, y in rows if y is not None])
    others = np.array([float(j) for j, y in rows if y is None])
    if len(others) < 2:  # its variance is undefined there
        known, others = known[:-1], np.append(others, known[-1, 1])
        rows = [*rows[: labelled - 1], (rows[labelled - 1][0], None), *rows[labelled:]]
    expected = ppi_mean_pointestimate(known[:, 0], known[:, 1], others)
    assert figures(rows)["hallucination_rate_ppi"].value == pytest.approx(float(expected[0]), abs=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=40))
def test_with_a_label_of_everything_the_rate_is_that_of_people(rows: list[Row]) -> None:
    assert figures(rows)["hallucination_rate_ppi"].value == pytest.approx(np.mean([bool(y) for _, y in rows]))


def test_errors_of_the_judge_are_its_confusions_with_people() -> None:
    rows = drawn(300, 120)
    judge, human = zip(*[(j, y) for j, y in rows if y is not None], strict=True)
    values = figures(rows)
    pairs = list(zip(judge, human, strict=True))
    assert values["judge_sensitivity"].value == pytest.approx(np.mean([j for j, y in pairs if y]))
    assert values["judge_specificity"].value == pytest.approx(np.mean([not j for j, y in pairs if not y]))
    assert values["judge_kappa"].value == pytest.approx(cohen_kappa_score(judge, human))
    assert all(values[name].low is not None for name in ("judge_sensitivity", "judge_specificity", "judge_kappa"))


def test_fewer_than_thirty_labels_give_no_interval() -> None:
    assert figures(drawn(500, 29))["hallucination_rate_ppi"].low is None
    assert figures(drawn(500, 30))["hallucination_rate_ppi"].low is not None


def test_replies_without_an_answer_stay_hallucinations_and_failures_stay_out() -> None:
    rows = drawn(300, 60)
    rate = figures(rows)["hallucination_rate_ppi"].value
    assert figures(rows, failed=50)["hallucination_rate_ppi"].value == pytest.approx(rate)
    assert figures(rows, empty=100)["hallucination_rate_ppi"].value == pytest.approx((300 * rate + 100) / 400)


def test_an_assumed_judge_gives_the_rate_of_rogan_and_gladen() -> None:
    rows = [(at < 310, None) for at in range(1000)]
    exact = figures(rows, Assumption((0.85, 0.85), (0.92, 0.92)))
    assert exact["hallucination_rate_assumed_low"] == exact["hallucination_rate_assumed_high"]
    assert exact["hallucination_rate_assumed_low"].value == pytest.approx((0.31 + 0.92 - 1) / (0.85 + 0.92 - 1))
    band = figures(rows, Assumption((0.8, 0.9), (0.9, 0.95)))
    assert band["hallucination_rate_assumed_low"].value == pytest.approx((0.31 + 0.9 - 1) / (0.9 + 0.9 - 1))
    assert band["hallucination_rate_assumed_high"].value == pytest.approx((0.31 + 0.95 - 1) / (0.8 + 0.95 - 1))
    assert "hallucination_rate_ppi" not in band


def test_a_rate_that_the_assumption_cannot_explain_is_cut_and_has_no_interval() -> None:
    rare = figures([(at < 5, None) for at in range(1000)], Assumption((0.85, 0.85), (0.92, 0.92)))
    assert rare["hallucination_rate_assumed_low"] == Estimate(0.0, None, None, None)


@pytest.mark.parametrize("positive", [75, 80, 310, 845, 855])
def test_the_interval_of_an_assumed_rate_is_that_of_the_judge_s_rate_corrected(positive: int) -> None:
    """Also where the corrected rate is below 0 or above 1, but not its interval."""
    rows = [(at < positive, None) for at in range(1000)]
    raw, e = (
        figures(rows, Assumption((each, each), (other, other)))["hallucination_rate_assumed_low"]
        for each, other in ((1.0, 1.0), (0.85, 0.92))
    )
    low, high = ((end + 0.92 - 1) / (0.85 + 0.92 - 1) for end in (raw.low or 0, raw.high or 0))
    assert (e.low, e.high) == pytest.approx((max(low, 0), min(high, 1)))
    assert e.low is not None and e.high is not None and e.low <= e.value <= e.high


def test_a_label_is_of_the_reply_that_was_labelled() -> None:
    labels = ReferenceLabels.of(
        "", [VerdictLabel("1", "", "Paris  is\r\nnot", 1.0), VerdictLabel("1", "", "other", 0.0)]
    )
    seen, other, unseen = (
        with_known_error(
            ScoredReply("1", "1", answer, "", {"hallucinated": 1.0}, verdicts=[Verdict(CONFLICT)]),
            OPEN_ANSWER,
            labels,
            None,
        ).facts
        for answer in ("Paris is not", "other", "neither")
    )
    assert (seen["labels"], seen["reference"]) == (1, 1)
    assert (other["labels"], other["reference"]) == (1, 0)
    assert unseen["labels"] == 0 and "reference" not in unseen


def test_replies_count_as_often_as_they_stand_for_others() -> None:
    """Half of the labels are of replies that the judge reports, which are one in ten: with weights, nothing is off."""
    generator = np.random.default_rng(3)
    true = generator.random(4000) < 0.1
    judge = generator.random(4000) < np.where(true, 0.8, 0.04)
    reported, others = (generator.permutation(np.flatnonzero(judge == said)) for said in (True, False))
    stands_for = {int(at): len(part) / 150 for part in (reported, others) for at in part[:150]}

    def rate(weights: dict[int, float]) -> Estimate:
        labels = [VerdictLabel(str(at), "", None, float(true[at]), "a", weight) for at, weight in weights.items()]
        reference = ReferenceLabels.of("", labels)
        known = (with_known_error(score, OPEN_ANSWER, reference, None) for score in judged(judge))
        return estimates(METRICS, known)["hallucination_rate_ppi"]

    weighted = rate(stands_for)
    assert weighted.value == pytest.approx(true.mean(), abs=0.02) and weighted.low is not None
    assert abs(rate(dict.fromkeys(stands_for, 1.0)).value - true.mean()) > 0.05


@pytest.mark.parametrize("top", [1.0, 0.5])
def test_labels_may_lie_between_yes_and_no(top: float) -> None:
    labels = ReferenceLabels.of("", [VerdictLabel(str(at), "", None, top * (at % 2)) for at in range(40)])
    known = (with_known_error(score, OPEN_ANSWER, labels, None) for score in judged(at % 2 == 1 for at in range(40)))
    assert estimates(METRICS, known)["hallucination_rate_ppi"].value == pytest.approx(top / 2)


def test_a_mean_of_sentences_is_corrected_summary_by_summary() -> None:
    generator = np.random.default_rng(1)
    scores, labels, real = [], [], 0
    for summary in range(120):
        verdicts = [
            Verdict((SUPPORTED, UNSUPPORTED)[generator.random() < 0.4], about=f"Sentence {n}.") for n in range(5)
        ]
        better = [(verdict.label == UNSUPPORTED) != (generator.random() < 0.2) for verdict in verdicts]
        real += sum(better) + 1
        reported = sum(verdict.label == UNSUPPORTED for verdict in verdicts)
        # one more sentence only cites unknown papers, and so is a hallucination without a judge
        measurements = {"hallucinations": reported + 1.0}
        scores.append(ScoredReply(str(summary), str(summary), "a", "", measurements, verdicts=verdicts))
        labels += [VerdictLabel(str(summary), v.about, None, float(y)) for v, y in zip(verdicts, better, strict=True)]
    metrics = judge_error_metrics("hallucinations_per_summary", "hallucinations", np.inf)

    def corrected(labelled: list[VerdictLabel]) -> Estimate:
        reference = ReferenceLabels.of("", labelled)
        known = (with_known_error(score, SUMMARY, reference, None) for score in scores)
        return estimates(metrics, known)["hallucinations_per_summary_ppi"]

    assert corrected(labels).value == pytest.approx(real / 120)
    for some in (
        [label for label in labels if int(label.id) % 3 == 0],  # all sentences of some summaries
        [label for label in labels if int(label.claim[9]) % 2],  # some sentences of all summaries
    ):
        estimate = corrected(some)
        assert estimate.low is not None and estimate.high is not None
        assert estimate.low < real / 120 < estimate.high


@pytest.mark.parametrize(
    ("positives", "weights", "advice"),
    [
        (50, (1.0, 1.0), "add a column `weight`"),
        (50, (2.0, 38.0), None),
        (50, (3.0, 3.0), "or correct `weight`"),
        (100, (2.0, 38.0), "label all that were drawn"),
        (5, (1.0, 1.0), None),
        (5, (20.0, 20.0), None),
    ],
)
def test_labels_that_are_no_random_part_are_told_of(
    positives: int, weights: tuple[float, float], advice: str | None
) -> None:
    """A judge calls 100 of 2,000 replies a hallucination; of 100 labels, half are of these, all, or as by chance."""
    scores = judged(n < 100 for n in range(2_000))
    labelled = [*range(positives), *range(100, 200 - positives)]
    labels = [VerdictLabel(str(n), "", None, 0.0, weight=weights[n >= 100]) for n in labelled]
    reference = ReferenceLabels.of("h", labels)
    told = drawn_otherwise([with_known_error(score, OPEN_ANSWER, reference, None) for score in scores])
    assert (told is None) == (advice is None)
    assert told is None or (advice and advice in told and "a hallucination, and 5% of all" in told)


def of_drawn(
    labelled: Sequence[tuple[int, int, float]], replies: int = 2000, reported: int = 100
) -> dict[str, Estimate]:
    """Return the figures of replies, the first of which the judge reports, by labels of two kinds of replies.

    Args:
        labelled: For the reported replies and for the others, how many are labelled, how many of these are bad, and the
            weight of each.
        replies: How many replies there are.
        reported: How many the judge reports.
    """
    labels = [
        VerdictLabel(str(begin + n), "", None, float(n < bad), weight=weight)
        for begin, (number, bad, weight) in zip((0, reported), labelled, strict=True)
        for n in range(number)
    ]
    reference = ReferenceLabels.of("h", labels)
    scores = judged(n < reported for n in range(replies))
    return estimates(METRICS, (with_known_error(score, OPEN_ANSWER, reference, None) for score in scores))


def test_a_sensitivity_is_no_better_known_than_the_heavy_labels_that_show_no_miss() -> None:
    """Of 75 labels of what the judge did not report, none is a miss, but 4% of it may be, as many as it found."""
    half = of_drawn([(75, 70, 100 / 75), (75, 0, 1900 / 75)])
    found, missed = 70 * 100 / 75, 1900 * (1 - 0.025 ** (1 / 75))
    low = half["judge_sensitivity"].low
    assert half["judge_sensitivity"].value == 1.0 and low is not None and low < found / (found + missed)
    # a few more of those drawn would tell of misses, so that little is known of kappa, and nothing with fewer labels
    kappa, fewer = half["judge_kappa"], of_drawn([(15, 14, 100 / 15), (15, 0, 1900 / 15)])
    assert kappa.low is not None and kappa.high is not None and kappa.high - kappa.low > 0.15
    assert fewer["judge_kappa"].low is None and fewer["judge_sensitivity"].low in (None, pytest.approx(0, abs=0.05))
    # labels that count alike, of which seven of seven hallucinations were found, say what seven do
    alike = of_drawn([(8, 7, 2000 / 150), (142, 0, 2000 / 150)])["judge_sensitivity"]
    assert alike.low == pytest.approx(of_drawn([(8, 7, 1.0), (142, 0, 1.0)])["judge_sensitivity"].low)
    assert alike.low == pytest.approx(0.44, abs=0.01)
