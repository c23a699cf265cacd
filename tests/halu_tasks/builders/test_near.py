"""Near duplicates: what is found is one, what is one is found, whatever the script."""

import random

import pytest
from cases import CASES
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz

from halu_tasks.builders.duplicates import duplicate_filter
from halu_tasks.core.errors import UsageError

WORDS = st.sampled_from(
    ["the", "river", "town", "long", "longer", "which", "1963", "1964", "Nepal", "河", "流", "مدينة"]
)
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=12), max_size=25)


def added(texts: list[str], threshold: float = 90.0) -> list[str | None]:
    near = duplicate_filter(threshold)
    return [near(str(place), text, "") for place, text in enumerate(texts)]


def made(rng: random.Random, words: list[str]) -> str:
    return " ".join(rng.choice(words) for _ in range(rng.randint(8, 40)))


def edited(rng: random.Random, text: str, words: list[str]) -> str:
    """The text with some words or characters replaced, added or left out: about a tenth at most."""
    parts: list[str] = text.split() if rng.random() < 0.5 else list(text)
    more = words if " " in text and len(parts) < len(text) else list("abcdefghij ")
    for _ in range(rng.randint(1, max(1, len(parts) // 12))):
        place = rng.randrange(len(parts))
        parts[place : place + rng.randint(0, 1)] = [rng.choice(more)] if rng.random() < 0.7 else []
    return (" " if more is words else "").join(parts)


def test_spelling_and_one_word_are_little_among_many() -> None:
    texts = [
        "Which country had the highest population in 1963, Nepal or Austria?",
        "which country had the  HIGHEST population in 1963: Nepal or Austria",
        "Which country had the highest population in 1964, Nepal or Austria?",
        "How long is the river that flows through the town where Ada Berg was born?",
    ]
    assert added(texts) == [None, "0", "0", None]
    assert added(texts, threshold=100) == [None, "0", None, None]


@pytest.mark.parametrize(("one", "other"), CASES["every_script_has_near_duplicates"])
def test_every_script_has_near_duplicates(one: str, other: str) -> None:
    assert added([one, other]) == [None, "0"]


def test_what_is_of_one_group_is_a_duplicate_only_where_it_is_equal() -> None:
    text = "The tower of the town was built in 1927"
    near = duplicate_filter(90)
    assert near("a", f"{text}.", "document 1") is None
    assert near("b", f"{text[:-1]}8.", "document 1") is None
    assert near("c", f"{text}!", "document 1") == "a"
    assert near("d", f"{text[:-1]}9", "document 2") == "a"
    assert near("e", f"{text[:-1]}9", "") == "a"


def test_a_duplicate_is_not_kept_to_find_others_by() -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
    texts = [" ".join([*words[: 11 - cut], *("x" * 5 for _ in range(cut))]) for cut in range(0, 6, 2)]
    found = added(texts, threshold=75)
    assert found[1] == "0" and fuzz.ratio(texts[1], texts[2]) >= 75 > fuzz.ratio(texts[0], texts[2])
    assert found[2] is None


@given(TEXTS, st.sampled_from([70.0, 90.0, 100.0]))
@settings(max_examples=40)
def test_what_is_found_is_an_earlier_text_that_is_kept_and_the_same_each_time(
    texts: list[str], threshold: float
) -> None:
    found = added(texts, threshold=threshold)
    assert added(texts, threshold=threshold) == found
    for place, (text, near) in enumerate(zip(texts, found, strict=True)):
        if near is not None:
            assert int(near) < place and found[int(near)] is None
        assert near is not None or text not in texts[:place]


def test_almost_all_near_duplicates_are_found() -> None:
    rng = random.Random(0)
    syllables = [a + b for a in "bcdfglmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = ["".join(rng.choice(syllables) for _ in range(rng.randint(1, 4))) for _ in range(3_000)]
    texts = [made(rng, words) for _ in range(1_500)]
    texts += [edited(rng, text, words) for text in texts]
    wanted = [place for place in range(1_500, 3_000) if fuzz.ratio(texts[place - 1_500], texts[place]) >= 90]
    assert len(wanted) > 1_000
    found = added(texts)
    assert found[:1_500] == [None] * 1_500
    # of 1,500 pairs that brute force finds
    assert sum(found[place] == str(place - 1_500) for place in wanted) / len(wanted) > 0.99
    assert all(found[place] is None for place in range(1_500, 3_000) if place not in set(wanted))


def test_embeddings_need_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match='pip install "sentence-transformers'):
        duplicate_filter(90, "some/model")
