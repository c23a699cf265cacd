"""Leaks that are put in are found, and nothing is found where there are none."""

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Cli, Patch

from halu_tasks.builders.pipeline import Draft, Pipeline
from halu_tasks.builders.quality import Distribution, measure_quality
from halu_tasks.core.records import to_json

Toys = Callable[..., Draft]
NOUNS = ["river", "tower", "garden", "letter", "bridge", "school", "engine", "island", "market", "temple"]
CLASSIFIER = "wording alone, to a classifier"
VERBS = ["crossed", "built", "left", "sold", "burned", "found", "painted"]


def quality(*arguments: Any, **options: Any) -> dict[str, Any]:
    """The quality as `quality.json` has it."""
    return dict(to_json(measure_quality(*arguments, **options)))


def sentence(draw: random.Random) -> str:
    return f"The {draw.choice(NOUNS)} was {draw.choice(VERBS)} in {draw.randint(1200, 1999)} by a {draw.choice(NOUNS)}"


def dataset(toys: Toys, number: int = 400, **changed: Callable[[str], str]) -> list[Draft]:
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
    assert found["flagged"] == []
    assert [found[name] for name in ("items", "documents", "pairs", "pairs_used")] == [1_000, 500, 1_000, 1_000]


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
    items = dataset(toys, 200, hallucinated=lambda text: text.replace("by a", "by famous"))
    found = quality(toy, items)["leaks"][CLASSIFIER]
    assert found["verdict"] == "leak" and found["area"]["value"] > 0.95 and found["in_pairs"]["value"] > 0.95


def test_a_classifier_is_not_tested_on_documents_that_it_has_seen(toy: Pipeline) -> None:
    # each document has words of its own for true and hallucinated: learnt by heart in training, of no use elsewhere
    draw = random.Random(3)
    items = []
    for document in range(60):
        true, hallucinated = ("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=12)) for _ in range(2))
        row = {"question": "q", "correct_answer": true, "halu_answer": hallucinated}
        items += [Draft(id=f"{document}/{place}", kind="", document=f"d{document}", row=row) for place in range(4)]
    assert 0.35 < quality(toy, items)["leaks"][CLASSIFIER]["area"]["value"] < 0.65


def test_figures_do_not_depend_on_the_order_of_items(toy: Pipeline, toys: Toys, monkeypatch: Patch) -> None:
    items = dataset(toys, 200)
    mixed = random.Random(1).sample(items, len(items))
    monkeypatch.setattr("halu_tasks.builders.quality.PAIRS", 50)
    one, other = (quality(toy, own) for own in (items, mixed))
    assert one == other and (one["pairs"], one["pairs_used"]) == (200, 50)


def test_few_documents_get_figures_and_no_verdict(toy: Pipeline, toys: Toys) -> None:
    found = quality(toy, dataset(toys, 18, true=lambda text: text + "\n"))
    assert found["leaks"]["line ends"]["verdict"] == "too few documents"
    assert found["leaks"]["line ends"]["area"]["value"] == 0
    assert found["leaks"][CLASSIFIER]["verdict"] == "too few documents" and found["leaks"][CLASSIFIER]["area"] is None
    assert [own["check"] for own in found["flagged"]] == ["not tested"]
    assert found["flagged"][0]["text"].startswith("too few documents")


def test_nothing_at_all_has_no_figures(toy: Pipeline) -> None:
    found = quality(toy, [])
    assert found["items"] == 0 and found["leaks"]["characters"]["area"] is None
    assert [own["check"] for own in found["flagged"]] == ["not tested"]


# --- balance --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("counts", "field", "evenness", "largest", "verdict"), CASES["evenness_is_relative_entropy"])
def test_evenness_is_relative_entropy(
    counts: dict[str, int], field: str, evenness: float | None, largest: float, verdict: str | None
) -> None:
    assert Distribution.of(counts, field) == (counts, evenness, largest, verdict)


# --- the command ----------------------------------------------------------------------------------


def test_the_command_tells_what_is_bad_and_strict_fails(here: Cli, built: Callable[..., Path], toys: Toys) -> None:
    items = dataset(toys, 40, true=lambda text: text + "\n")
    items[5] = dataclasses.replace(items[5], row={**items[5].row, "question": items[4].row["question"].upper()})
    folder = built(items)
    result = here("build", "quality", folder)
    assert result.returncode == 0, result.stderr
    assert "pairs_used: 40" in result.stdout
    assert "text: 1 of 40 items are the same as an earlier one" in result.stdout
    assert here("build", "quality", folder, "--strict").returncode == 1
    shown: dict[str, Any] = json.loads(here("build", "quality", folder, "--json").stdout)
    assert (shown["duplicates"], shown["near"]) == (1, 100.0)
    # what could not be tested is flagged, too
    (folder / "dataset" / "items.jsonl").write_text("")
    result = here("build", "quality", folder, "--strict")
    assert result.returncode == 1 and "check: not tested" in result.stdout
    result = here("build", "quality", folder / "dataset")
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
