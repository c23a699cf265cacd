"""Leaks that are put in are found, and nothing is found where there are none."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halu_tasks.builders.pipeline import Item, Pair, Pipeline
from halu_tasks.builders.quality.balance import Balance, Distribution
from halu_tasks.builders.quality.overlaps import Compared, Overlaps
from halu_tasks.builders.quality.published import at_hand
from halu_tasks.builders.quality import quality as measure
from halu_tasks.builders.leaks import PairSample
from halu_tasks.core.errors import DataError
from halu_tasks.data.locate import SAMPLE

Toys = Callable[..., Item]
Here = Callable[..., subprocess.CompletedProcess[str]]
NOUNS = ["river", "tower", "garden", "letter", "bridge", "school", "engine", "island", "market", "temple"]
VERBS = ["crossed", "built", "left", "sold", "burned", "found", "painted"]


def quality(*arguments: Any, **options: Any) -> dict[str, Any]:
    """The quality as `quality.json` has it."""
    return measure(*arguments, **options).to_json()


def sentence(draw: random.Random) -> str:
    return f"The {draw.choice(NOUNS)} was {draw.choice(VERBS)} in {draw.randint(1200, 1999)} by a {draw.choice(NOUNS)}"


def dataset(toys: Toys, number: int = 400, **changed: Callable[[str], str]) -> list[Item]:
    """Items whose answers are drawn alike; `true` or `hallucinated` changes them."""
    draw = random.Random(7)
    plain: Callable[[str], str] = str
    return [
        toys(
            place,
            true=changed.get("true", plain)(sentence(draw)),
            hallucinated=changed.get("hallucinated", plain)(sentence(draw)),
        )
        for place in range(number)
    ]


@pytest.mark.slow
def test_answers_drawn_alike_leak_nothing(toy: Pipeline, toys: Toys) -> None:
    found = quality(toy, dataset(toys, 1_000))
    assert {own["verdict"] for own in found["leaks"].values()} == {"none"}
    assert found["classifier"]["verdict"] == "none" and found["flagged"] == []
    assert (found["items"], found["documents"], found["pairs"]) == (1_000, 500, {"n": 1_000, "used": 1_000})


@pytest.mark.parametrize(
    ("feature", "side", "change", "more"),
    [
        ("space or line end at the end", "true", lambda text: text + "\n", 0.0),  # HaluEval's
        ("line ends", "true", lambda text: text + "\n", 0.0),
        ("space or line end at the beginning", "hallucinated", lambda text: " " + text, 1.0),
        ("characters", "hallucinated", lambda text: text + " of the whole wide world of old", 1.0),
        ("words", "hallucinated", lambda text: text + " of the old", 1.0),
        ("digits", "true", lambda text: text + " 20202020", 0.0),
        ("punctuation at the end", "hallucinated", lambda text: text + ".", 1.0),
        ("words shared with the question", "hallucinated", lambda text: text + " what is thing number", 1.0),
    ],
)
def test_a_leak_is_found_by_its_feature(
    toy: Pipeline, toys: Toys, feature: str, side: str, change: Callable[[str], str], more: float
) -> None:
    found = quality(toy, dataset(toys, 60, **{side: change}))
    own = found["leaks"][feature]
    assert own["verdict"] == "leak" and own["in_pairs"]["value"] == more
    assert any(feature in flag["text"] for flag in found["flagged"])


@pytest.mark.slow
def test_a_leak_within_pairs_is_found_where_texts_differ_more_from_item_to_item(toy: Pipeline, toys: Toys) -> None:
    texts = ["word " * (1 + place) for place in range(200)]
    items = [toys(place, true=text + "x", hallucinated=text + "xy") for place, text in enumerate(texts)]
    own = quality(toy, items)["leaks"]["characters"]
    assert own["in_pairs"]["value"] == 1 and abs(own["area"]["value"] - 0.5) < 0.02 and own["verdict"] == "leak"


def test_a_classifier_finds_words_that_hallucinations_favour(toy: Pipeline, toys: Toys) -> None:
    found = quality(toy, dataset(toys, 200, hallucinated=lambda text: text.replace("by a", "by famous")))["classifier"]
    assert found["verdict"] == "leak" and found["area"]["value"] > 0.95 and found["in_pairs"]["value"] > 0.95
    assert "famous" in found["words"]["hallucinated"] and "famous" not in found["words"]["true"]


def test_a_classifier_is_not_tested_on_documents_that_it_has_seen(toy: Pipeline) -> None:
    # each document has words of its own for true and hallucinated: learnt by heart in training, of no use elsewhere
    draw = random.Random(3)
    items = []
    for document in range(60):
        true, hallucinated = ("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=12)) for _ in range(2))
        row = {"question": "q", "correct_answer": true, "halu_answer": hallucinated}
        items += [Item(f"{document}/{place}", "", f"d{document}", row) for place in range(4)]
    assert 0.35 < quality(toy, items)["classifier"]["area"]["value"] < 0.65


def test_figures_do_not_depend_on_the_order_of_items(toy: Pipeline, toys: Toys) -> None:
    items = dataset(toys, 200)
    mixed = random.Random(1).sample(items, len(items))
    one, other = (quality(toy, own, most_pairs=50) for own in (items, mixed))
    for name in ("leaks", "classifier", "balance", "pairs"):
        assert one[name] == other[name]
    assert one["pairs"] == {"n": 200, "used": 50}
    assert quality(toy, items, most_pairs=50, seed=1)["leaks"] != one["leaks"]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=60), st.integers(1, 20), st.integers(1, 400), st.randoms())
def test_a_sample_keeps_to_its_limits_whatever_the_order(
    sizes: list[int], most: int, characters: int, draw: random.Random
) -> None:
    pairs = [(f"{place}", Pair("x" * size, "", "d", "")) for place, size in enumerate(sizes)]

    def taken(own: Sequence[tuple[str, Pair]]) -> list[Pair]:
        sample = PairSample(0, most, characters)
        for key, pair in own:
            sample.add(key, pair, {})
        assert sample.seen == len(own)
        return [sampled.pair for sampled in sample.taken()]

    found = taken(pairs)
    assert len(found) <= most and (sum(len(own.true) for own in found) <= characters or len(found) == 1)
    draw.shuffle(pairs)
    assert taken(pairs) == found


def test_few_documents_get_figures_and_no_verdict(toy: Pipeline, toys: Toys) -> None:
    found = quality(toy, dataset(toys, 18, true=lambda text: text + "\n"))
    assert found["leaks"]["line ends"]["verdict"] == "too few documents"
    assert found["leaks"]["line ends"]["area"]["value"] == 0
    assert found["classifier"] == {"verdict": "too few documents", "reason": "9 documents; 10 are needed"}
    assert [own["check"] for own in found["flagged"]] == ["not tested"]
    assert found["flagged"][0]["text"].startswith("too few documents")


def test_a_feature_that_is_the_same_in_both_texts_has_no_interval(
    here: Here, built: Callable[..., Path], toys: Toys
) -> None:
    items = dataset(toys, 40)
    # one pair in which it is not the same
    other = items[0].row | {"halu_answer": items[0].row["halu_answer"] + "\n"}
    folder = built([items[0]._replace(row=other), *items[1:]])
    found = json.loads(here("quality", folder, "--json").stdout)["leaks"]
    assert found["digits"]["same"] and not found["line ends"]["same"]
    lines = here("quality", folder).stdout.splitlines()
    row = next(line for line in lines if line.startswith("digits"))
    assert row.split() == ["digits", "0.500", "0.500", "same", "in", "every", "pair"]
    assert "[" in next(line for line in lines if line.startswith("line ends"))


def test_strict_fails_where_leaks_could_not_be_tested(here: Here, built: Callable[..., Path], toys: Toys) -> None:
    result = here("quality", built([toys(place) for place in range(4)]), "--strict")
    assert result.returncode == 1 and "  not tested: too few documents" in result.stdout


@pytest.mark.parametrize(
    ("near", "told"),
    [
        (90.0, "not checked again (dropped when collected, at 90% similarity or more: 3)"),
        (100.0, "not checked (equal items dropped when collected: 3)"),
        (None, "not checked\n"),
    ],
)
def test_duplicates_that_collect_dropped_are_told(
    here: Here, built: Callable[..., Path], toys: Toys, near: float | None, told: str
) -> None:
    folder = built([toys(place) for place in range(4)])
    collected = {"dropped": {"duplicate": 3}} | ({} if near is None else {"near": near})
    (folder / "collected.json").write_text(json.dumps(collected))
    assert f"near-duplicates: {told}" in here("quality", folder).stdout
    assert "near-duplicates: 3\n" in here("quality", folder, "--near", "95").stdout


def test_nothing_at_all_has_no_figures(toy: Pipeline) -> None:
    found = quality(toy, [])
    assert found["items"] == 0 and found["leaks"]["characters"]["area"] is None
    assert [own["check"] for own in found["flagged"]] == ["not tested"]


# --- balance --------------------------------------------------------------------------------------


def test_evenness_is_entropy_over_the_largest_possible() -> None:
    assert Distribution.of({"a": 5, "b": 5}) == Distribution({"a": 5, "b": 5}, 1.0, 1.0, 0.5)
    assert Distribution.of({"b": 1, "a": 3}) == Distribution({"a": 3, "b": 1}, 0.8113, 3.0, 0.75)
    assert Distribution.of({"a": 4}).evenness is None


@pytest.mark.parametrize(
    ("letters", "verdict"),
    [("ABCD" * 25, "none"), ("A" * 60 + "ABCD" * 10, "leak"), ("AAAABCD", "unsure"), ("ABC" * 30, "leak")],
)
def test_the_place_of_the_right_answer_should_be_any(letters: str, verdict: str) -> None:
    balance = Balance("cfaith")
    for letter in letters:
        balance.add("", [("single_choice_qa.jsonl", {"correct_option": letter})])
    assert balance.distributions().labels["single_choice_qa.jsonl"]["correct_option"].verdict == verdict


def test_a_reply_that_is_always_the_same_must_not_pay() -> None:
    balance = Balance("factchd")
    for label in ["FACTUAL"] * 3 + ["NON-FACTUAL"] * 7:
        balance.add("", [("fact_test_noe.jsonl", {"label": label})])
    own = balance.distributions().labels["fact_test_noe.jsonl"]["label"]
    assert own.verdict == "leak" and own.largest == 0.7


# --- duplicates -----------------------------------------------------------------------------------

LONG = "In which year did the old bridge over the river near the northern market fall down in a storm?"
LONG_ZH = "在北部市场附近那条河上的老桥究竟是在哪一年的哪一场暴风雨中倒塌的呢？"


def test_items_whose_keys_differ_in_marks_alone_are_the_same() -> None:
    overlaps = Overlaps()
    for id, key in {"a": "Who built it?", "b": "who built  IT", "c": "Who sold it?", "d": "WHO BUILT IT!"}.items():
        overlaps.add(id, key)
    found = overlaps.within()
    assert found.same == (2, [("b", "a"), ("d", "a")]) and found.similar is None


def test_near_duplicates_are_told_where_they_are_looked_for() -> None:
    class Near:
        def __init__(self) -> None:
            self.seen: dict[str, str] = {}

        def add(self, id: str, text: str, group: str = "") -> str | None:
            return None if (first := self.seen.setdefault(text[0], id)) == id else first

    overlaps = Overlaps(Near())
    for id, key in {"a": "who?", "b": "Who", "c": "is it?", "d": "if so?"}.items():
        overlaps.add(id, key)
    assert overlaps.within().similar == (1, [("d", "c")])


@pytest.mark.parametrize(
    ("key", "text", "shared"),
    [
        (LONG, f"Some say: {LONG.upper()} Nobody knows.", True),
        (LONG, "In which year did the old bridge over the river near the southern market fall?", False),
        (LONG, "in which year did the old bridge over the river near the northern", True),  # 13 words
        (LONG, "in which year did the old bridge over the river near the", False),  # 12
        (LONG_ZH, f"有人问：{LONG_ZH}没有人知道。", True),
        (LONG_ZH, LONG_ZH[:26], True),
        (LONG_ZH, LONG_ZH[:25], False),
        ("Who built it?", "who built it", True),
        ("Who built it?", "Nobody knows who built it.", False),
    ],
)
def test_an_item_overlaps_by_a_long_run_or_by_being_the_same(key: str, text: str, shared: bool) -> None:
    overlaps = Overlaps()
    overlaps.add("other", "What is nothing of the kind?")
    overlaps.add("own", key)
    found = overlaps.against([Compared("source", "file", "named", ["Something else.", text])])
    assert found.n == shared and found.compared[0].examples == ["own"] * shared
    assert found.compared[0].texts == 2


@settings(max_examples=50)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60), st.data())
def test_runs_are_found_wherever_they_stand(own: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(own) - 1))
    end = data.draw(st.integers(start + 1, len(own)))
    overlaps = Overlaps()
    overlaps.add("own", " ".join(own))
    found = overlaps.against([Compared("s", "f", "named", [" ".join(["start", *own[start:end], "stop"])])])
    if end - start >= 13:
        assert found.n == 1


def test_what_is_at_hand_is_compared_and_the_rest_is_named(tmp_path: Path, halu_cache: Path) -> None:
    files, missing = at_hand([])
    assert files == [] and "refact/refact_single_error.jsonl" in missing and "halluverse25/tr_final_data.csv" in missing
    files, missing = at_hand([SAMPLE / "factchd"])
    assert [(own.source, own.file, own.of) for own in files] == [("factchd", "fact_test_noe.jsonl", "named")]
    assert "factchd/fact_test_noe.jsonl" not in missing and "factchd/fact_train_noe.jsonl" in missing
    first = json.loads((SAMPLE / "factchd" / "fact_test_noe.jsonl").read_text(encoding="utf-8").splitlines()[0])
    texts = set(files[0].texts)
    assert {first["query"], first["response"], first["evidence"][0][0]} <= texts
    own = tmp_path / "mine.jsonl"
    own.write_text('{"a": {"b": ["deep"]}}\n')
    assert [list(file.texts) for file in at_hand([own])[0]] == [["deep"]]


def test_a_folder_without_published_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no file of a published benchmark"):
        at_hand([tmp_path])
    with pytest.raises(DataError, match="no such file or folder"):
        at_hand([tmp_path / "nothing"])


# --- the command ----------------------------------------------------------------------------------


def test_the_command_tells_what_is_bad_and_strict_fails(here: Here, built: Callable[..., Path], toys: Toys) -> None:
    question = json.loads((SAMPLE / "cfaith" / "generative_qa.jsonl").read_text(encoding="utf-8").splitlines()[0])
    items = dataset(toys, 40, true=lambda text: text + "\n")
    items[3] = toys(3, question=question["question"])
    items[5] = items[5]._replace(row={**items[5].row, "question": items[4].row["question"]})
    folder = built(items)
    result = here("quality", folder, "--against", SAMPLE)
    assert result.returncode == 0, result.stderr
    out = result.stdout
    assert "40 items of 20 documents, 40 of 40 pairs" in out
    assert "LEAK" in next(line for line in out.splitlines() if line.startswith("line ends"))
    assert "balance: " not in out and "1 of 40 items are the same as an earlier one" in out
    assert "benchmarks: 1 of 40 items share text with cfaith" in out
    assert "not compared, as they are not available locally: " in out
    assert here("quality", folder, "--strict").returncode == 1
    shown: dict[str, Any] = json.loads(here("quality", folder, "--json").stdout)
    assert shown["benchmarks"]["compared"] == [] and shown["duplicates"]["same"]["n"] == 1


def test_a_folder_that_is_no_build_is_an_error_of_one_line(here: Here, tmp_path: Path) -> None:
    result = here("quality", tmp_path)
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
