"""The n-gram variant of SelfCheckGPT: by hand, against figures of the authors' package, and its tokens."""

import math
from math import log
from statistics import fmean

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from halu_tasks.scorers.ngrams import Statistic, as_probability, ngram_scores, tokens


def scored(
    sentences: list[str], samples: list[str], n: int = 1, statistic: Statistic = "maximum"
) -> tuple[float, list[float | None]]:
    found = ngram_scores(sentences, samples, n, statistic)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("n", "surprises"),
    [
        # a 4, b 2, c 1 of 7, the response's own counted
        (1, [[log(7 / 4), log(7 / 2)], [log(7 / 4), log(7)]]),
        # a at the begin 3, (a, b) 2, (a, c) 1, (b, a) 1: shares of all seven, not of those that begin alike
        (2, [[log(7 / 3), log(7 / 2)], [log(7 / 3), log(7)]]),
    ],
)
def test_scores_by_hand(n: int, surprises: list[list[float]]) -> None:
    for statistic, of_sentence in (("average", fmean), ("maximum", max)):
        each = [of_sentence(own) for own in surprises]
        found = scored(["A b", "a C"], ["a b a"], n, statistic)
        assert found == (pytest.approx(fmean(each)), pytest.approx(each))


def test_every_sentence_of_a_sample_has_a_begin() -> None:
    one, two = (scored(["a b"], [sample], 2, "average")[0] for sample in ("b a b", "b. a b"))
    # of five n-grams, and of six: the full stop is a token, and the second "a" stands at a begin only in the latter
    assert one == pytest.approx((log(5 / 1) + log(5 / 2)) / 2) and two == pytest.approx(log(6 / 2))


RESPONSE = ["Ada Lovelace was born in London.", "She was born in 1815, and wrote poems."]
SAMPLES = [
    "Ada Lovelace was born in London in 1815. She wrote notes on a machine.",
    "Ada Lovelace (born 1815) was a mathematician.",
    "She was born in London. Lovelace wrote the first program.",
]


@pytest.mark.parametrize(
    ("n", "average", "maximum", "averages", "maxima"),
    CASES["the_figures_are_those_of_the_authors_package_on_the_same_tokens"],
)
def test_the_figures_are_those_of_the_authors_package_on_the_same_tokens(
    n: int, average: float, maximum: float, averages: tuple[float, ...], maxima: tuple[float, ...]
) -> None:
    """selfcheckgpt 0.1.7, its spaCy replaced by these tokens and sentences."""
    assert scored(RESPONSE, SAMPLES, n, "average") == (pytest.approx(average), pytest.approx(averages))
    assert scored(RESPONSE, SAMPLES, n) == (pytest.approx(maximum), pytest.approx(maxima))


@pytest.mark.parametrize("sentences", [[], ["", " \n"]])
def test_a_response_without_a_token_has_no_scores(sentences: list[str]) -> None:
    assert ngram_scores(sentences, ["a b"]) is None


@pytest.mark.parametrize("statistic", ["average", "maximum"])
def test_a_sentence_without_a_token_has_no_figure_and_changes_none(statistic: Statistic) -> None:
    figure, (first, none, last) = scored(["a b", "", "c"], ["a"], 1, statistic)
    assert none is None and (figure, [first, last]) == scored(["a b", "c"], ["a"], 1, statistic)


WORDS = st.lists(st.sampled_from(["a", "b", "c", "D", "1", "."]), max_size=8).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=4), st.lists(WORDS, max_size=4), st.integers(1, 3))
def test_scores_are_finite_and_in_order(sentences: list[str], samples: list[str], n: int) -> None:
    found = ngram_scores(sentences, samples, n)
    if found is None:
        assert not any(tokens(sentence) for sentence in sentences)
        return
    average, averages = scored(sentences, samples, n, "average")
    for mean, maximum in zip(averages, found[1], strict=True):
        assert (mean is None) == (maximum is None)
        assert mean is None or (maximum is not None and -1e-9 <= mean <= maximum + 1e-9 < math.inf)
    assert min(average, found[0]) >= 0
    # the order of the samples and that of the sentences do not matter
    assert scored(sentences, samples[::-1], n) == found
    assert scored(sentences[::-1], samples, n, "average")[0] == pytest.approx(average)


@given(st.lists(st.floats(0, 30), min_size=2, max_size=2, unique=True).map(sorted))
def test_a_probability_keeps_the_order(surprises: list[float]) -> None:
    low, high = map(as_probability, surprises)
    assert 0 <= low <= high < 1
    assert high - low == pytest.approx(math.exp(-surprises[0]) - math.exp(-surprises[1]))
    assert as_probability(0) == 0 and 0.999 < as_probability(1_000) <= as_probability(math.inf) < 1


@pytest.mark.parametrize(("text", "expected"), CASES["tokens"])
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize("text", ["." * 100_000, ".'" * 50_000, "。" * 100_000, "a" * 100_000, "word. " * 20_000])
def test_long_texts_are_read_whole(text: str) -> None:
    """In time linear in their length: a scan that is quadratic would not end."""
    assert "".join(tokens(text)) == text.replace(" ", "")
    score, of_sentences = scored([text], [text], 3)
    assert of_sentences == [score] and scored([text], [text], 3, "average")[0] <= score
