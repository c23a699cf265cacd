"""FactCHD: labels and explanations of replies, ExpMatch by hand, and the published evaluator's ways."""

from fractions import Fraction
from itertools import product

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from halu_tasks.core.items import Item
from halu_tasks.scorers.benchmarks.explanations import (
    Parts,
    expmatch,
    matches,
    rouge_l_recall,
    score_factchd,
    score_factchd_published,
    split,
    token_f1,
)
from halu_tasks.scorers.benchmarks.released_readers import published_explanation
from halu_tasks.scorers.gold import ExplanationGold
from halu_tasks.scorers.metrics import estimates
from halu_tasks.tasks import registry

TASK = registry()[0]["factchd"]
GOLD = "NON-FACTUAL.\nThe answer is wrong. Rome is in Italy. Therefore the answer is false."
SHORT = "FACTUAL.\nRome is in Italy. Therefore all is well."


def item(
    target: str = "NON-FACTUAL", reason: str = GOLD, id: str = "i", pattern: str = "vanilla", alpha: float = 0.7
) -> Item:
    return Item(id, id, target, gold=ExplanationGold(reason=reason, alpha=alpha), tags={"pattern": pattern})


# --- ExpMatch ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("explanation", "parts"), CASES["explanations_fall_into_parts"])
def test_explanations_fall_into_parts(explanation: str, parts: list[str]) -> None:
    assert split(explanation) == Parts(*parts)


def test_expmatch_by_hand() -> None:
    # head: 2 of 4 words (the, answer); body: 3 of 4 tokens shared on both sides; tail: 4 of 5 in order
    reply = "NON-FACTUAL.\nThe answer errs. Rome is in France. Therefore the answer is bad."
    facts = score_factchd(item(), reply).facts
    assert facts["expmatch_head"] == 2 / 4
    assert facts["expmatch_body"] == 3 / 4
    assert facts["expmatch_tail"] == 4 / 5
    assert facts["expmatch"] == pytest.approx(0.7 * 3 / 4 + 0.15 * 2 / 4 + 0.15 * 4 / 5)
    assert score_factchd_published(item(), reply).facts == pytest.approx(facts)


def test_alpha_is_the_weight_of_the_body() -> None:
    reply = "NON-FACTUAL.\nThe answer errs. Rome is in France. Therefore the answer is bad."
    for score in (score_factchd, score_factchd_published):
        for alpha in (0.75, 0.8, 1.0):
            facts = score(item(alpha=alpha), reply).facts
            head_and_tail = (facts["expmatch_head"] + facts["expmatch_tail"]) / 2
            assert facts["expmatch"] == pytest.approx(alpha * facts["expmatch_body"] + (1 - alpha) * head_and_tail)
    # the gold explanation scores 1 under every weight, also where it lacks parts
    assert score_factchd(item("FACTUAL", SHORT, alpha=0.8), SHORT).facts["expmatch"] == 1.0


def test_expmatch_is_the_same_on_every_python() -> None:
    # the rounding of `sum` of floats changed in Python 3.12; the sum of the products is rounded once on all
    for scores in product([number / 10 for number in range(11)], repeat=3):
        named = dict(zip(("body", "head", "tail"), scores, strict=True))
        terms = [weight * score for weight, score in zip((0.7, 0.15, 0.15), scores, strict=True)]
        assert expmatch(named, published=True) == float(sum(map(Fraction, terms)))


def test_token_f1_counts_tokens_as_often_as_they_occur() -> None:
    assert token_f1("a a b", "a b b") == pytest.approx(2 / 3)
    assert token_f1("a", "b") == token_f1("", "a") == token_f1("", "") == 0.0


def test_a_part_that_the_gold_lacks_is_left_out_in_strict_and_worth_nothing_in_paper() -> None:
    gold = item("FACTUAL", SHORT)
    strict = score_factchd(gold, SHORT).facts
    assert strict["expmatch"] == 1.0 and "expmatch_head" not in strict
    paper = score_factchd_published(gold, SHORT).facts
    assert paper["expmatch"] == pytest.approx(0.85) and paper["expmatch_head"] == 0.0
    # what the reply lacks is worth nothing in both
    for score in (score_factchd, score_factchd_published):
        assert score(item(), "NON-FACTUAL. Rome is in Italy").facts["expmatch_tail"] == 0.0
    assert expmatch(matches("a", "")) is None


def test_an_unparsed_reply_is_worth_nothing_in_strict_and_its_explanation_in_paper() -> None:
    reply = "The answer errs. Rome is in Italy. Therefore the answer is not it."
    strict, paper = score_factchd(item(), reply), score_factchd_published(item(), reply)
    assert strict.answer is paper.answer is None
    assert strict.facts["expmatch"] == 0.0 and paper.facts["expmatch"] > 0.8


def test_figures_by_hand() -> None:
    golds = [item("NON-FACTUAL", id="1"), item("NON-FACTUAL", id="2"), item("FACTUAL", SHORT, "3", "comparison")]
    replies = ["NON-FACTUAL.", "Rome.", "NON-FACTUAL."]
    pairs = list(zip(golds, replies, strict=True))
    strict = estimates(TASK.scorers["strict"].metrics, [score_factchd(*pair) for pair in pairs])
    paper = estimates(TASK.scorers["paper"].metrics, [score_factchd_published(*pair) for pair in pairs])
    # tp 1, fp 1, and the unparsed one is a miss (fn 1) or nothing
    assert (strict["precision"].value, strict["recall"].value, strict["factcls"].value) == (0.5, 0.5, 0.5)
    assert (paper["precision"].value, paper["recall"].value) == (0.5, 1.0)
    assert paper["factcls"].value == pytest.approx(2 / 3)
    for found in (strict, paper):
        assert found["acc"].value == found["unparsed"].value == pytest.approx(1 / 3)
        assert (found["acc_vanilla"].value, found["acc_comparison"].value) == (0.5, 0.0)
        assert found["unparsed_vanilla"].value == 0.5 and "acc_multi_hop" not in found


# --- as published -----------------------------------------------------------------------------------


def test_the_published_split_keeps_a_label_in_mixed_case() -> None:
    assert split(published_explanation("Factual. One. Two.")) == Parts("One. ", "Factual. ", "Two. ")
    assert split(published_explanation("FACTUAL. One. Two.")) == Parts("One. Two. ", "", "")
    assert split(published_explanation("**FACTUAL. One.")) == Parts("FACTUAL. One. ", "", "")
    assert split(published_explanation("123")) == Parts("123. ", "", "")


# --- ROUGE-L ----------------------------------------------------------------------------------------

SCORER = RougeScorer(["rougeL"], use_stemmer=True)
VOCABULARY = ("the", "running", "runners", "answered", "answers", "is", "1927", "Écoles", "it's", "skies", "dying")
TEXTS = st.lists(st.sampled_from(VOCABULARY), max_size=30).map(" ".join) | st.text(max_size=80)


@given(TEXTS, TEXTS)
def test_rouge_l_is_rouge_scores_to_the_last_bit(reply: str, gold: str) -> None:
    assert (rouge_l_recall(reply, gold) or 0.0) == SCORER.score(gold, reply)["rougeL"].recall
