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
from halu_tasks.scorers.judge_correction import (
    ReferenceLabels,
    VerdictLabel,
    judge_error_metrics,
    unlabelled_kinds,
    with_judge_errors,
)
from halu_tasks.scorers.metrics import Estimate, estimates
from halu_tasks.scorers.reading.claims import SUPPORTED, UNSUPPORTED
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import difference

METRICS = judge_error_metrics("hallucination_rate", OPEN_ANSWER)
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
    return estimates(METRICS, (with_judge_errors(score, OPEN_ANSWER, reference, assumed) for score in scores))


def drawn(items: int, labelled: int, sensitivity: float = 0.85, specificity: float = 0.92) -> list[Row]:
    generator = np.random.default_rng(items + labelled)
    true = generator.random(items) < 0.3
    judge = generator.random(items) < np.where(true, sensitivity, 1 - specificity)
    return [(bool(j), bool(y) if at < labelled else None) for at, (j, y) in enumerate(zip(judge, true, strict=True))]


def test_each_stratum_counts_as_its_labels_say_worked_out_by_hand() -> None:
    # the judge reports 4 of 10 replies; of 3 labelled of these, 2 are bad, and of 2 of the others 1
    labels = [(True, True), (True, True), (True, False), (False, True), (False, False)]
    values = figures([*labels, (True, None), *[(False, None)] * 4])
    assert values["hallucination_rate_ppi"].value == pytest.approx((4 * 2 / 3 + 6 * 1 / 2) / 10)
    assert values["judge_sensitivity"].value == pytest.approx(4 * 2 / 3 / (4 * 2 / 3 + 6 * 1 / 2))
    assert values["judge_specificity"].value == pytest.approx(6 * 1 / 2 / (4 * 1 / 3 + 6 * 1 / 2))


def test_what_has_no_label_counts_as_the_judge_says_and_may_be_anything() -> None:
    labels = [(True, at < 9) for at in range(10)]
    values = figures([*labels, *[(True, None)] * 10, *[(False, None)] * 180])
    rate = values["hallucination_rate_ppi"]
    assert rate.value == pytest.approx(20 * 0.9 / 200) and rate.low is not None and rate.high is not None
    assert 20 * 0.4 / 200 < rate.low < 20 * 0.9 / 200 and 0.9 + rate.value < rate.high
    # nobody looked at what it may have missed
    sensitivity = values["judge_sensitivity"]
    assert sensitivity.low is not None and sensitivity.low < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("items", "labelled"), [(60, 30), (200, 50), (1000, 150), (400, 399)])
def test_the_estimate_is_that_of_ppi_python_with_the_labels_of_a_stratum_as_predictions(
    items: int, labelled: int
) -> None:
    from ppi_py import ppi_mean_pointestimate  # compiles for seconds

    rows = drawn(items, labelled)
    known = [(j, y) for j, y in rows if y is not None]
    predicted = {said: np.mean([y for j, y in known if j == said]) for said in (True, False)}
    truth, of_known, of_all = (
        np.array(each, float)
        for each in ([y for _, y in known], [predicted[j] for j, _ in known], [predicted[j] for j, _ in rows])
    )
    expected = ppi_mean_pointestimate(truth, of_known, of_all, lam=1)
    assert figures(rows)["hallucination_rate_ppi"].value == pytest.approx(float(expected[0]), abs=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=40))
def test_with_a_label_of_everything_the_rate_is_that_of_people(rows: list[Row]) -> None:
    assert figures(rows)["hallucination_rate_ppi"].value == pytest.approx(np.mean([bool(y) for _, y in rows]))


def test_errors_of_the_judge_are_its_confusions_with_people_if_these_labelled_everything() -> None:
    rows = drawn(120, 120)
    judge, human = zip(*[(j, y) for j, y in rows if y is not None], strict=True)
    values = figures(rows)
    pairs = list(zip(judge, human, strict=True))
    assert values["judge_sensitivity"].value == pytest.approx(np.mean([j for j, y in pairs if y]))
    assert values["judge_specificity"].value == pytest.approx(np.mean([not j for j, y in pairs if not y]))
    assert values["judge_kappa"].value == pytest.approx(cohen_kappa_score(judge, human))
    assert all(values[name].low is not None for name in ("judge_sensitivity", "judge_specificity", "judge_kappa"))


def test_labels_of_fewer_than_five_replies_give_no_interval() -> None:
    assert figures(drawn(500, 4))["hallucination_rate_ppi"].low is None
    few, more = (figures(drawn(500, number))["hallucination_rate_ppi"] for number in (5, 50))
    assert few.low is not None and few.high is not None and few.high - few.low > 0.6
    assert more.low is not None and more.high is not None and more.high - more.low < 0.4


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
        with_judge_errors(
            ScoredReply("1", "1", answer, "", {"hallucinated": 1.0}, verdicts=[Verdict(CONFLICT)]),
            OPEN_ANSWER,
            labels,
            None,
        ).facts
        for answer in ("Paris is not", "other", "neither")
    )
    assert (seen["labels"], seen["bad_of_conflict"]) == (1, 1)
    assert (other["labels"], other["bad_of_conflict"]) == (1, 0)
    assert unseen["labels"] == unseen["labelled_conflict"] == 0


def test_a_warning_names_verdicts_without_labels_in_words_and_no_failed_ones() -> None:
    verdicts = [Verdict(UNSUPPORTED, "", "One."), Verdict(SUPPORTED, "", "Two."), Verdict(FAILED, "", "Three.")]
    score = ScoredReply("1", "1", "One. Two. Three.", "", {"hallucinations": 1.0}, verdicts=verdicts)
    labels = ReferenceLabels.of("", [VerdictLabel("1", "One.", None, 1.0)])
    kinds = unlabelled_kinds(SUMMARY, [with_judge_errors(score, SUMMARY, labels, None)])
    assert [*map(SUMMARY.in_words, kinds)] == ["'supported', on replies of which another verdict is unsupported"]


def test_labels_may_be_drawn_by_what_the_judge_said() -> None:
    """Half of the labels are of replies that the judge reports, which are one in ten, and nothing is off."""
    generator = np.random.default_rng(3)
    true = generator.random(4000) < 0.1
    judge = generator.random(4000) < np.where(true, 0.8, 0.04)
    parts = [generator.permutation(np.flatnonzero(judge == said))[:150] for said in (True, False)]
    labelled = {int(at) for part in parts for at in part}
    values = figures([(bool(judge[at]), bool(true[at]) if at in labelled else None) for at in range(4000)])
    rate = values["hallucination_rate_ppi"]
    assert rate.value == pytest.approx(true.mean(), abs=0.02)
    assert rate.low is not None and rate.high is not None and rate.low < true.mean() < rate.high < rate.low + 0.07


@pytest.mark.parametrize("top", [1.0, 0.5])
def test_labels_may_lie_between_yes_and_no(top: float) -> None:
    labels = ReferenceLabels.of("", [VerdictLabel(str(at), "", None, top * (at % 2)) for at in range(40)])
    known = (with_judge_errors(score, OPEN_ANSWER, labels, None) for score in judged(at % 2 == 1 for at in range(40)))
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
    metrics = judge_error_metrics("hallucinations_per_summary", SUMMARY, np.inf)

    def corrected(labelled: list[VerdictLabel]) -> Estimate:
        reference = ReferenceLabels.of("", labelled)
        known = (with_judge_errors(score, SUMMARY, reference, None) for score in scores)
        return estimates(metrics, known)["hallucinations_per_summary_ppi"]

    assert corrected(labels).value == pytest.approx(real / 120)
    for some in (
        [label for label in labels if int(label.id) % 3 == 0],  # all sentences of some summaries
        [label for label in labels if int(label.claim[9]) % 2],  # some sentences of all summaries
    ):
        estimate = corrected(some)
        assert estimate.low is not None and estimate.high is not None
        assert estimate.low < real / 120 < estimate.high


def of_drawn(reported: tuple[int, int], others: tuple[int, int]) -> dict[str, Estimate]:
    """Return figures of 2,000 replies, of which the judge reports 100, by how many labels of each part there are, and
    how many of these are bad."""
    rows: list[Row] = []
    for said, size, (number, bad) in ((True, 100, reported), (False, 1900, others)):
        rows += [(said, at < bad if at < number else None) for at in range(size)]
    return figures(rows)


def test_what_the_judge_does_not_report_is_no_better_known_than_its_labels_say() -> None:
    """Of 75 labels of what the judge did not report, none is a miss, but 4% of it may be, as many as it found."""
    half = of_drawn((75, 70), (75, 0))
    found, missed = 100 * 70 / 75, 1900 * (1 - 0.025 ** (1 / 75))
    low = half["judge_sensitivity"].low
    assert half["judge_sensitivity"].value == 1.0 and low is not None and low < found / (found + missed)
    rate, fewer = half["hallucination_rate_ppi"], of_drawn((15, 14), (15, 0))["hallucination_rate_ppi"]
    assert rate.high is not None and rate.high > (found + missed) / 2000
    # as wide as what 15 labels leave open of 1,900 replies
    assert fewer.high is not None and fewer.high > (1900 * (1 - 0.025 ** (1 / 15)) + 50) / 2000
    kappa = half["judge_kappa"]
    assert kappa.low is not None and kappa.high is not None and kappa.high - kappa.low > 0.15


def test_a_difference_has_what_the_labels_of_either_run_leave_open() -> None:
    """None of 30 labelled replies that the judge does not report is bad in either run, but a tenth may be."""

    def run(reported: int) -> list[ScoredReply]:
        rows = [(at < reported, at < reported if at < reported or at >= 170 else None) for at in range(200)]
        labels = ReferenceLabels.of(
            "", (VerdictLabel(str(at), "", None, float(y)) for at, (_, y) in enumerate(rows) if y is not None)
        )
        return [with_judge_errors(score, OPEN_ANSWER, labels, None) for score in judged(said for said, _ in rows)]

    (rate, *_), few, many = METRICS, run(20), run(120)
    clear, open_ = difference(rate, many, few), difference(rate, run(24), few)
    assert clear and clear.low is not None and clear.p is not None and clear.low > 0.3 and clear.p < 0.01
    assert open_ and open_.low is not None and open_.high is not None and open_.p is not None
    assert open_.value == pytest.approx(0.02) and open_.low < -0.07 and open_.high > 0.11 and open_.p > 0.05
