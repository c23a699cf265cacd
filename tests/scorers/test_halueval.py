"""HaluEval: reading judgements, claims and passages; the figures worked out by hand."""

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.core.items import Item
from halu_tasks.scorers.benchmarks import released_readers
from halu_tasks.scorers.benchmarks.labels import claims_scorer
from halu_tasks.scorers.metrics import estimates
from halu_tasks.scorers.reading.claims import checks
from halu_tasks.scorers.reading.questions import hallucinates
from halu_tasks.scorers.reading.strings import quotations
from halu_tasks.scorers.score import ScoredReply


def score_claims(item: Item, reply: str) -> ScoredReply:
    return claims_scorer().score(item, reply, None)


def score_published(item: Item, reply: str) -> ScoredReply:
    return claims_scorer(published=True).score(item, reply, None)


@pytest.mark.parametrize("reply", CASES["a_reply_that_declines_to_check_abstains"])
def test_a_reply_that_declines_to_check_abstains(reply: str) -> None:
    score = score_claims(item(), reply)
    assert (score.answer, score.outcome, score.facts["correct"]) == (None, "abstained", 0.0)


@pytest.mark.parametrize(("reply", "unchecked"), CASES["a_claim_whose_check_is_missing_is_counted"])
def test_a_claim_whose_check_is_missing_is_counted(reply: str, unchecked: int) -> None:
    assert checks(reply).unchecked == unchecked


def item(target: str = "Yes", id: str = "a") -> Item:
    kind = "right" if target == "No" else "hallucinated"
    return Item(f"{id}/{kind}", id, target, tags={"kind": kind})


@pytest.mark.parametrize(
    ("reply", "answer", "claims", "supported"), CASES["a_summary_is_hallucinated_when_a_claim_is_not_supported"]
)
def test_a_summary_is_hallucinated_when_a_claim_is_not_supported(
    reply: str, answer: str | None, claims: int | None, supported: float | None
) -> None:
    score = score_claims(item(), reply)
    assert score.answer == answer and score.facts["correct"] == float(answer == "Yes")
    assert (score.facts.get("claims"), score.facts.get("supported")) == (claims, supported)
    assert bool(score.reason) == (answer is None)


def test_the_published_readings_of_the_other_forms() -> None:
    reasoned = "No date is given. Yesterday is wrong.\n#Your Judgement#: Yes"
    assert released_readers.published_reasoned_judgement(reasoned).value == "Yes"
    assert released_readers.published_judgement(reasoned).value is None
    assert released_readers.published_reasoned_judgement("It is right. No").value == "No"
    assert score_published(item(), "Claim: A\nSupported: No\nSupported: no").answer == "Yes"
    assert score_published(item(), "1. A - Yes").answer is None


def test_the_number_of_claims_has_an_interval_without_an_upper_end() -> None:
    replies = ["Claim: A.\nSupported: Yes\n" * 1, "Claim 1: A.\nSupported: Yes\nClaim 2: B.\nSupported: No"]
    scores = [score_claims(item(id=str(n)), reply) for n, reply in enumerate(replies)]
    found = estimates(claims_scorer().metrics, scores)
    # 1 and 2: mean 1.5, standard error 0.5; Student's t with one degree of freedom is 12.706
    assert (found["claims"].value, found["claims"].stderr) == (1.5, pytest.approx(0.5))
    low, high = found["claims"].low, found["claims"].high
    assert low is not None and high is not None and 0 <= low < 0.01 and high > 1.5 + 12.706 * 0.5
    assert found["supported"].value == 0.75


TEXT = '1. Night\n2. Boat - a "small" one\n3. Kite\nBoats are made of stone. They float.'


# --- properties -------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["Yes", "No", "not ", "Claim: ", "Supported: ", "hallucination ", "faithful ", "|", "\n", ". ", "#Your Judgement#:",
     "<think>", "</think>", "- ", "1. ", "if ", "(", '"', ":", "the summary ", "\u2028", "\ud800"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(WORDS).map("".join)))
def test_no_reply_is_an_error(reply: str) -> None:
    assert hallucinates(reply).value in ("Yes", "No", None)
    found = checks(reply)
    assert found.unchecked >= 0 and (found.checked or found.none.reason)
    returned = quotations(reply, TEXT, "passage")
    assert (returned.value is None) == bool(returned.reason)
    for score in (score_claims, score_published):
        assert score(item(), reply).answer in ("Yes", "No", None)


@given(st.text(), st.sampled_from(["Yes", "No"]))
def test_a_judgement_behind_the_cue_wins(before: str, word: str) -> None:
    reasoned = before.replace("<", "").rstrip("\r") + f"\n#Your Judgement#: {word}"
    assert hallucinates(reasoned).value == word
