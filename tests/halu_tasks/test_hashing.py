"""Hashes are the same as in every earlier version: ids of datasets, splits and caches depend on their bytes."""

from halu_tasks.benchmarks.refact import original_first
from halu_tasks.builders.annotation import fingerprint
from halu_tasks.builders.documents import Document, place
from halu_tasks.builders.pipeline import Draft
from halu_tasks.core.hashing import short_hash, stable_hash, stable_number
from halu_tasks.core.prompting import prompt_hash
from halu_tasks.scorers.judge import fence
from halu_tasks.solvers.opinions import winner


def test_a_hash_is_sha256_of_the_parts_joined_by_nul() -> None:
    # of a split's cluster, of an optimizer's candidate, of an item in a report
    assert stable_hash(7, "é") == "1a48c6cd8bb23cfd9eb578013f0102b4964cde9cde063ce7e7530e8087f778ea"
    assert stable_hash(3, "x", 1.5) == "d22a20e4ff06410cf5d544e54c70da603685653395d513b6a1db764b6028b1b7"
    assert stable_hash("é\ud800") == "549a1e715e0f64a03efa8402c2c10f31a31a6ef546ece1aa9766c8d511024fb4"
    assert short_hash("doc", "a", "b") == stable_hash("doc", "a", "b")[:16]


def test_a_number_is_the_first_eight_bytes_of_the_hash() -> None:
    assert stable_number(3, "a", "é") == int(stable_hash(3, "a", "é")[:16], 16) == 9006842397259355153
    # of near duplicates, which keep it as a signed integer
    assert stable_number("a b") == -4005817690909479214 % 2**64
    assert stable_number("\ud800") == -7951525457951367244 % 2**64


def test_either_answer_is_first_half_the_time() -> None:
    assert 450 < sum(original_first(f"{n}_x", 0) for n in range(1000)) < 550


def test_ids_are_those_of_earlier_versions() -> None:
    assert fingerprint("a b\n c") == "ba7816bf8f01cfea" and fingerprint("é \ud800") == "549a1e715e0f64a0"
    assert place("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    assert Draft.of(Document("doc", ""), "", "a", "b").id == "eba6bebc76bb4096"
    assert short_hash("a", "é") == "e7308e4f6aa65075"
    assert prompt_hash({"user": "é", "system": "b"}) == "905306f5"
    assert fence("a é") == "=====aada5ff906095a0e\na é\n=====aada5ff906095a0e"


def test_seeded_choices_are_those_of_earlier_versions() -> None:
    # of a sample of items or pairs
    assert stable_number(0, "a") == 6852966567523245171
    assert [original_first(f"{n}_x", 0) for n in range(16)] == [bool(int(bit)) for bit in "0101000011110110"]
    assert winner(["True", "False"], "i", 0) == ("False", True)
    assert "".join(winner(["a", "b", "c"], f"é{n}", 7)[0] for n in range(12)) == "ccbbbacaacac"
