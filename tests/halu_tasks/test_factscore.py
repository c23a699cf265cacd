"""FActScore: people's labels of the facts of released biographies give the published figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from common import Capture, Patch, read_rows, write_rows

import halu_tasks
from halu_tasks.benchmarks import factscore
from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.tasks import build

SAMPLE = Path(halu_tasks.__path__[0]) / "sample" / "factscore" / "InstructGPT.jsonl"
FIGURES = {
    "InstructGPT": (0.4258, 0.4739, 182),
    "ChatGPT": (0.5828, 0.6233, 157),
    "PerplexityAI": (0.7162, 0.8402, 166),
}
"""By the published definition, without irrelevant facts, and how many biographies there are."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)


def labelled(released: Path, capsys: Capture) -> str:
    """Convert released biographies to the file `labelled.jsonl`."""
    capsys.readouterr()
    assert factscore.main([str(released)]) is None
    Path("labelled.jsonl").write_text(capsys.readouterr().out, encoding="utf-8")
    return "labelled.jsonl"


def scored(capsys: Capture, *arguments: str, data: str = "sample") -> dict[str, Any]:
    """What `halu-tasks score` prints as JSON, and its other lines under `said`."""
    capsys.readouterr()
    assert main(["score", "factscore", *arguments, "--data", data, "--json"]) == 0, capsys.readouterr().err
    out, err = capsys.readouterr()
    return {**json.loads(out), "said": err}


def refused(capsys: Capture, *arguments: str) -> str:
    capsys.readouterr()
    assert main(["score", "factscore", *arguments, "--data", "sample"]) not in (0, 3)
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    return err


def shares(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """The share of the facts of a biography that are supported, of all and of the relevant ones, counted by hand."""
    labels = list[str]()
    for sentence in row["annotations"] or []:
        by_people, by_model = sentence["human-atomic-facts"], sentence["model-atomic-facts"]
        labels += ["IR"] * len(by_model) if by_people is None else [fact["label"] for fact in by_people]
    relevant = len(labels) - labels.count("IR")
    return (labels.count("S") / len(labels), labels.count("S") / relevant) if labels else None


# --- the published figures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", FIGURES)
def test_released_labels_give_the_published_figures(shared_data: Path, capsys: Capture, system: str) -> None:
    folder = shared_data / "factscore"
    if not folder.is_dir():
        pytest.skip("FActScore is not there")
    file = labelled(folder / f"{system}.jsonl", capsys)
    paper, strict = (
        scored(capsys, file, "--verdicts", file, "--scoring", mode, data=str(folder)) for mode in ("paper", "strict")
    )
    published, of_relevant, written = FIGURES[system]
    for found, expected in ((paper, published), (strict, of_relevant)):
        assert found["metrics"]["acc_attempted"] == pytest.approx(expected, abs=5e-5)
        assert found["metrics"]["judge_failed"] == 0 and "recorded verdict" not in found["said"]
    assert paper["metrics"]["attempted"] * 183 == pytest.approx(written)
    # facts of a biography are alike, so that the interval is wider than that of as many single facts
    low, high = strict["intervals"]["acc_claims"]
    share, number = strict["metrics"]["acc_claims"], 183 * strict["metrics"]["claims"]
    assert high - low > 1.5 * 2 * 1.96 * (share * (1 - share) / number) ** 0.5


def test_items_are_the_published_people(shared_data: Path) -> None:
    folder = shared_data / "factscore"
    if not folder.is_dir():
        pytest.skip("FActScore is not there")
    built = build("factscore", Options(data=str(folder)))
    assert len(built.items) == 183 and built.version == "1"
    item = next(item for item in built.items if item.id == "Lanny Flaherty")
    assert item.prompt.strip() == "Write a biography of Lanny Flaherty."
    assert item.tags == {"frequency": "very_rare", "region": "North_America"}


# --- the packaged sample ------------------------------------------------------------------------------------------


def test_people_s_facts_of_the_sample_are_the_questions(capsys: Capture) -> None:
    rows = read_rows(SAMPLE)
    file = labelled(SAMPLE, capsys)
    by_mode = {mode: scored(capsys, file, "--verdicts", file, "--scoring", mode) for mode in ("paper", "strict")}
    known = [found for row in rows if (found := shares(row))]
    for place, mode in enumerate(by_mode):
        metrics = by_mode[mode]["metrics"]
        own = [found[place] for found in known]
        assert metrics["acc_attempted"] == pytest.approx(fmean(own))
        assert metrics["attempted"] == pytest.approx(len(known) / len(rows))
        # silence earns and costs nothing
        assert metrics["net"] == pytest.approx(sum(2 * share - 1 for share in own) / len(rows))
        assert metrics["share_supported"] + metrics["share_not_supported"] + metrics["share_irrelevant"] == (
            pytest.approx(1)
        )
    strict = by_mode["strict"]["metrics"]
    assert (strict["abstained"], strict["empty"]) == pytest.approx((2 / len(rows), 1 / len(rows)))
    rare = [found[1] for row in rows if row["cat"][0] == "very rare" and (found := shares(row))]
    assert strict["acc_attempted_very_rare"] == pytest.approx(fmean(rare))


def test_facts_are_read_one_a_row_too_and_those_of_another_reply_are_not_used(capsys: Capture) -> None:
    file = labelled(SAMPLE, capsys)
    whole = scored(capsys, file, "--verdicts", file)
    rows = read_rows(Path(file))
    single = [
        {"id": row["id"], "reply": row["reply"], "claim": claim, "verdict": label}
        for row in rows
        for claim, label in {one["about"]: one["label"] for one in row["verdicts"]}.items()
    ]
    write_rows(Path("single.jsonl"), single)
    again = scored(capsys, file, "--verdicts", "single.jsonl")
    # one fact is twice in a biography; and a row a fact cannot say that a reply has none, as of the two that decline
    assert len(single) == sum(len(row["verdicts"]) for row in rows) - 1
    assert again["metrics"]["judge_failed"] == pytest.approx(2 / (len(single) + 2))
    assert again["metrics"]["acc_attempted"] == pytest.approx(whole["metrics"]["acc_attempted"], abs=0.01)
    assert again["metrics"]["acc_attempted_rare"] == whole["metrics"]["acc_attempted_rare"]

    others = [{**row, "output": f"{row['output']} And more."} for row in rows]
    write_rows(Path("others.jsonl"), others)
    other = scored(capsys, "others.jsonl", "--verdicts", file)
    assert other["metrics"]["judge_failed"] == 1 and "acc_attempted" not in other["metrics"]
    assert f"{len(single) + 1} of {len(single) + 1} recorded verdicts are not used" in other["said"]


def test_a_biography_without_labels_is_judge_failed_and_one_without_facts_attempts_nothing(capsys: Capture) -> None:
    rows = read_rows(Path(labelled(SAMPLE, capsys)))[:4]
    silent, declines, left, known = rows
    assert not declines["verdicts"]
    write_rows(Path("some.jsonl"), [{**silent, "verdicts": []}, declines, known])
    write_rows(Path("replies.jsonl"), rows)
    found = scored(capsys, "replies.jsonl", "--verdicts", "some.jsonl", "--partial")["metrics"]
    assert found["judge_failed"] == pytest.approx(1 / (len(known["verdicts"]) + 1)) and left["verdicts"]
    # of three that are known, two are silent: the one that declines, and the one in which people saw no fact
    assert found["attempted"] == pytest.approx(1 / 3) and found["abstained"] == pytest.approx(2 / 4)


def test_details_of_people_s_labels_give_their_figures(capsys: Capture) -> None:
    file = labelled(SAMPLE, capsys)
    first = scored(capsys, file, "--verdicts", file, "--scoring", "paper", "--details", "details.jsonl")
    again = scored(capsys, file, "--verdicts", "details.jsonl", "--scoring", "paper")
    assert again["metrics"] == first["metrics"] and again["intervals"] == first["intervals"]


FACT = {"id": "Keiko Tanimachi", "claim": "She is a seismologist.", "verdict": "supported"}
FAULTS = [
    ([{**FACT, "claim": " "}], "v.jsonl:1: expected the claim that the verdict is on in 'claim', got ' '"),
    ([{**FACT, "verdict": "S"}], "v.jsonl:1: verdict is 'S', expected supported or not_supported or irrelevant"),
    ([FACT, FACT], "v.jsonl:2: another verdict on the same reply to 'Keiko Tanimachi'"),
    ([{**FACT, "id": "Nobody"}], "1 of 1 ids are not items of factscore, such as 'Nobody'"),
]


@pytest.mark.parametrize("rows, fault", FAULTS)
def test_faults_of_labelled_facts_are_one_line(capsys: Capture, rows: list[dict[str, Any]], fault: str) -> None:
    write_rows(Path("v.jsonl"), rows)
    write_rows(Path("replies.jsonl"), [{"id": "Keiko Tanimachi", "output": "She is a seismologist."}])
    assert fault in refused(capsys, "replies.jsonl", "--verdicts", "v.jsonl", "--partial")


def test_the_same_labels_twice_are_refused(capsys: Capture) -> None:
    rows = read_rows(Path(labelled(SAMPLE, capsys)))
    write_rows(Path("twice.jsonl"), [*rows, rows[0]])
    assert f"twice.jsonl:{len(rows) + 1}: another verdict on the same reply" in refused(
        capsys, "labelled.jsonl", "--verdicts", "twice.jsonl"
    )


def test_what_is_not_as_released_is_said_with_its_line(capsys: Capture) -> None:
    rows = read_rows(SAMPLE)[:2]
    rows[0]["annotations"][0]["human-atomic-facts"][0]["label"] = "X"
    said = factscore.main([str(write_rows(Path("released.jsonl"), rows))])
    assert said is not None and said.startswith("released.jsonl:1: annotations: expected sentences with 'is-relevant'")
    assert main(["items", "factscore", "--data", "released.jsonl"]) != 0
    assert "released.jsonl:1" in capsys.readouterr().err
    assert (factscore.main(["none.jsonl"]) or "").startswith("none.jsonl: ")
    assert (factscore.main([]) or "").startswith("usage: python -m halu_tasks.benchmarks.factscore")


def test_recorded_labels_need_no_passages(capsys: Capture, caplog: pytest.LogCaptureFixture) -> None:
    file = labelled(SAMPLE, capsys)
    scored(capsys, file, "--verdicts", file, "--judge-knowledge", "wiki")
    assert "judge_knowledge has no effect, since recorded verdicts take the place of its judge" in caplog.text
