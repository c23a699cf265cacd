"""What single replies are worth: localization, correction, C-FAITH."""

from functools import partial

import pytest
from cases import CASES

from halu_tasks.core.items import Item
from halu_tasks.scorers.benchmarks.judged import open_scorer
from halu_tasks.scorers.benchmarks.labels import hallucination_rate_scorer
from halu_tasks.scorers.benchmarks.string_scorers import (
    score_passages,
    score_passages_published,
    score_replacements,
    score_replacements_published,
)
from halu_tasks.scorers.gold import AnswerGold, SpanGold, StringsGold

score_entities, score_sentence = (partial(score_passages, unit=unit) for unit in ("entity", "sentence"))
TEXT = "The pull of gravity keeps the moons near. Gravity bends light, and the moons glow."


def entity_item(*strings: str) -> Item:
    """An item whose gold spans are the first occurrences of `strings`."""
    spans = [[TEXT.index(s), TEXT.index(s) + len(s)] for s in strings]
    return Item("i", "c", "\n".join(strings), gold=SpanGold(text=TEXT, spans=spans, strings=strings))


def test_partly_right_entities_by_hand() -> None:
    score = score_entities(entity_item("gravity", "moons"), "gravity\nlight\nquasar stars")
    # gold: gravity (7) and the first moons (5); placed: gravity (7), light (5); nowhere: 12 characters
    assert score.answer == ["gravity", "light", "quasar stars"]
    assert score.facts["iou"] == pytest.approx(7 / (7 + 5 + 5 + 12))
    assert (score.facts["acc"], score.facts["exact"], score.facts["unplaced"]) == (0.5, 0.0, 1.0)
    assert score.reason == "1 of 3 strings not in the text"


def test_a_gold_string_counts_where_the_gold_span_is_and_others_everywhere() -> None:
    # "moons" stands twice and only the first is gold: nothing tells which one the reply meant
    assert score_entities(entity_item("moons"), "moons").facts["iou"] == 1.0
    # "the moons" is no gold string: both places count
    other = score_entities(entity_item("gravity"), "the moons")
    assert other.facts["predicted_chars"] == 18.0 and other.facts["iou"] == 0.0


@pytest.mark.parametrize("gold", [(), ("gravity",)])
@pytest.mark.parametrize(
    ("reply", "outcome"), CASES["a_reply_without_an_answer_earns_nothing_even_where_nothing_is_to_be_found"]
)
def test_a_reply_without_an_answer_earns_nothing_even_where_nothing_is_to_be_found(
    reply: str, outcome: str, gold: tuple[str, ...]
) -> None:
    score = score_entities(entity_item(*gold), reply)
    assert score.answer is None and score.outcome == outcome
    assert score.facts["iou"] == score.facts["acc"] == score.facts["exact"] == 0.0


def test_none_is_right_where_there_is_nothing_to_find() -> None:
    right = score_entities(entity_item(), "There are no wrong entities.")
    assert right.answer == [] and right.outcome == "answered"
    assert right.facts["iou"] == right.facts["acc"] == right.facts["exact"] == 1.0
    wrong = score_entities(entity_item("gravity"), "There are no wrong entities.")
    assert wrong.answer == [] and wrong.outcome == "answered"
    assert wrong.facts["iou"] == wrong.facts["acc"] == wrong.facts["exact"] == 0.0
    found = score_entities(entity_item(), "gravity")
    assert found.facts["iou"] == found.facts["acc"] == found.facts["exact"] == 0.0


def test_a_string_counts_once_however_often_it_is_returned() -> None:
    item = entity_item("gravity")
    once = score_entities(item, "gravity\nquasar stars")
    often = score_entities(item, "gravity\n" + "quasar stars\nQuasar stars.\n“quasar stars”\n" * 50)
    assert often.facts == once.facts
    assert once.facts["strings"] == 2.0 and once.facts["unplaced"] == 1.0
    assert often.reason == "1 of 2 strings not in the text"
    assert score_entities(item, "moons\n" * 50).facts == score_entities(item, "moons").facts


def test_a_sentence_that_stands_in_the_text_keeps_what_looks_like_a_mark() -> None:
    text = "1) Light bends. 2) Moons glow. 3) Stars burn."
    gold = "2) Moons glow."
    start = text.index(gold)
    item = Item("i", "c", gold, gold=SpanGold(text=text, spans=[(start, start + len(gold))], strings=[gold]))
    assert score_sentence(item, f"\n{gold}\n").facts["acc"] == 1.0


def test_published_entities_fail_on_a_trailing_space() -> None:
    item = entity_item("gravity", "light")
    assert score_passages_published(item, "gravity \nlight", "entity").facts["acc"] == 0.5
    assert score_entities(item, "gravity \nlight").facts["acc"] == 1.0


def mask_item(*originals: str) -> Item:
    gold = StringsGold(originals=originals, published_originals=originals)
    return Item("i", "c", "\n".join(originals), gold=gold)


@pytest.mark.parametrize(("reply", "em", "em_mask", "em_fuzzy"), CASES["corrections_are_in_order"])
def test_corrections_are_in_order(reply: str, em: float, em_mask: float, em_fuzzy: float) -> None:
    facts = score_replacements(mask_item("chalk", "North Sea"), reply).facts
    assert (facts["em"], facts["em_mask"], facts["em_fuzzy"]) == (em, em_mask, em_fuzzy)
    assert facts["acc"] == facts["em_mask"]


def test_published_exact_match_is_recall_of_a_set() -> None:
    item = mask_item("chalk", "sea")
    assert score_replacements_published(item, "Replacements:\nsea\nchalk\nmore").facts["em"] == 1.0
    assert score_replacements_published(item, "Replacements:\nsea").facts["em"] == 0.5


def test_true_false_counts_each_kind_of_error_on_its_own_items() -> None:
    def facts(target: str, reply: str) -> dict[str, float]:
        scorer = hallucination_rate_scorer("true_false_zh", of_truth=True)
        return dict(scorer.score(Item("i", "c", target, tags={"type": "EntErr"}), reply, None).facts)

    assert facts("True", "错误") == {"correct": 0.0, "hallucinated": 1.0, "false_positive": 1.0}
    assert facts("False", "正确") == {"correct": 0.0, "hallucinated": 1.0, "false_negative": 1.0}
    # an unparsed reply is no correct rejection
    assert facts("False", "……") == {"correct": 0.0, "hallucinated": 1.0, "false_negative": 1.0}


def test_the_papers_direct_comparison_takes_the_answer_alone() -> None:
    item = Item("i", "c", "B", tags={"type": "EntErr"})
    paper, strict = (hallucination_rate_scorer(reading).score for reading in ("letter_alone", "choice"))
    assert paper(item, " B\n", None).facts["correct"] == 1.0
    assert paper(item, "答案：B", None).answer is None
    assert strict(item, "答案：B", None).facts["correct"] == 1.0


@pytest.mark.parametrize(
    ("reply", "verdict", "hallucinated", "failed"), CASES["an_open_answer_is_worth_what_the_judge_says"]
)
def test_an_open_answer_is_worth_what_the_judge_says(
    reply: str, verdict: str | None, hallucinated: float | None, failed: float | None
) -> None:
    gold = AnswerGold(question="最高的山峰？", correct_answer="珠穆朗玛峰", halu_answer="乔戈里峰")
    facts = open_scorer().score(Item("i", "c", "珠穆朗玛峰", gold=gold), reply, [verdict] if verdict else None).facts
    assert facts.get("hallucinated") == hallucinated and facts.get("judge_failed") == failed
    assert facts["closer_to_correct"] == float(reply == "珠穆朗玛峰")
