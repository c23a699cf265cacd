"""Better labels of judged replies: drawn, labelled, and used alike by all commands and both harnesses."""

import csv
import json
import re
import shlex
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from cases import CASES
from common import Capture, Patch, Run, read_rows, write_rows
from hypothesis import given
from hypothesis import strategies as st
from judges import ITEMS, asked_text, by_rule, figures, verdict, write_replies

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM
from halu_tasks.tasks import build
from halu_tasks.tasks.label_tables import FIELDS, read_label_rows, write_label_rows

CORRECTED = ("hallucination_rate_ppi", "judge_sensitivity", "judge_specificity", "judge_kappa")


@pytest.fixture
def judge(serve: Run) -> list[str]:
    return ["--data", "sample", "--judge", "openai/gpt-4o", "--judge-base-url", serve(by_rule).url]


@pytest.fixture
def replies(judged_replies: Path) -> Path:
    return judged_replies


def labels(folder: Path, number: int, **columns: str) -> Path:
    """Write labels of the first items; people disagree with the judge on every sixth."""
    rows = [
        {"id": item.id, "label": "yes" if n % 3 == 1 or n % 6 == 5 else "no", **columns}
        for n, item in enumerate(ITEMS[:number])
    ]
    return write_rows(folder / f"labels{number}.jsonl", rows)


def score(capsys: Capture, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["score", "cfaith_gen", *arguments, "--json"]) == code
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.slow
def test_all_harnesses_and_the_report_correct_alike(
    judge: list[str], replies: Path, tmp_path: Path, capsys: Capture, run_lm_eval: Run, run_inspect: Run
) -> None:
    reference = labels(tmp_path, 30)
    plain = score(capsys, str(replies), *judge)
    scored = score(capsys, str(replies), *judge, "--reference", str(reference))
    assert not plain["metrics"].keys() & set(CORRECTED)
    assert plain["metrics"].items() <= scored["metrics"].items()
    # of 30 labelled, people call 15 a hallucination, of which the judge finds all, and the judge calls 20 so
    assert scored["metrics"]["judge_sensitivity"] == 1.0
    assert scored["metrics"]["judge_specificity"] == pytest.approx(10 / 15)
    assert set(CORRECTED) <= scored["intervals"].keys()
    assert "reference_" in scored["version"] and "reference_" not in plain["version"]

    options = {"halu_judge": judge[3], "halu_judge_base_url": judge[5], "halu_reference": str(reference)}
    found = run_lm_eval(["cfaith_gen"], ReplayLM(str(replies)), options)["results"]["cfaith_gen"]
    log = run_inspect(
        "cfaith_gen",
        "halu/replay",
        {"judge": judge[3], "judge_base_url": judge[5], "reference": str(reference)},
        model_args={"predictions": str(replies)},
    )
    in_inspect = figures(log)
    for name in CORRECTED:
        assert found[f"{name},none"] == scored["metrics"][name] == in_inspect[name], name

    results, details, report = (tmp_path / name for name in ("results.json", "details.jsonl", "report"))
    results.write_text(json.dumps(score(capsys, str(replies), *judge, "--model", "m", "--details", str(details))))
    assert main(["report", str(results), "-o", str(report)]) == 0
    assert "is what the verdicts say" in (report / "report.md").read_text()
    assert main(["report", str(results), "-o", str(report), "--reference", str(reference)]) == 0
    assert "is what the verdicts say" not in (report / "report.md").read_text()
    assert "corrected 0." in (report / "report.md").read_text()
    assert "corrected:" in (report / "index.html").read_text()
    (result,) = json.loads((report / "report.json").read_text())["results"]
    assert "hallucination_rate_ppi" in json.dumps(result)
    assert "reference_" in result["version"]


@pytest.mark.slow
def test_models_are_compared_by_the_corrected_rate_if_all_have_one(
    judge: list[str], tmp_path: Path, capsys: Capture
) -> None:
    """The judge calls all replies of one model hallucinations and none of the other's; most people see the opposite."""
    reference = tmp_path / "both.jsonl"
    rows = [
        {"id": item.id, "reply": reply, "label": "yes" if (n % 12 == 0) != right else "no"}
        for n, item in enumerate(ITEMS[:32])
        for reply, right in ((item.target, True), (f"在火星上{n}", False))
    ]
    write_rows(reference, rows)
    strange, right = tmp_path / "strange.jsonl", tmp_path / "right.jsonl"
    write_replies(strange, [f"在火星上{n}" for n in range(len(ITEMS))])
    write_replies(right, [item.target for item in ITEMS])

    def results(name: str, path: Path, *options: str) -> str:
        file, details = tmp_path / f"{name}.json", tmp_path / f"{name}-details.jsonl"
        scored = score(capsys, str(path), *judge, "--model", name, "--details", str(details), *options)
        file.write_text(json.dumps(scored))
        return str(file)

    def reported(*files: str) -> tuple[dict[str, Any], dict[str, Any]]:
        assert main(["report", *files, "-o", str(tmp_path / "report")]) == 0
        capsys.readouterr()
        report = json.loads((tmp_path / "report" / "report.json").read_text())
        assert main(["report", "--pairs", *files, "--json"]) == 0
        return report, json.loads(capsys.readouterr().out)

    half = [results("one", strange, "--reference", str(reference)), results("two", right)]
    report, compared = reported(*half)
    (pair,), (column,) = report["pairs"], report["columns"]
    assert column["compared_by"] == pair["metric"] == "net"
    # the judge prefers the second model, which claims nothing as long as its errors are not known
    assert pair["value"] == -2 and pair["p"] < 0.01 and pair["better"] is None and pair["p_adjusted"] is None
    assert [result["rank"] for result in report["results"]] == [None, None] and report["wins"] == []
    answer, told = (sentence for sentence in report["summary"] if "verdicts" in sentence)
    assert answer.startswith("Nothing is claimed between one and two; ")
    assert told.startswith("No model is said to lead or to be better on cfaith_gen: no labels check the verdicts")
    assert "halu-tasks label verdicts" in told and not any("leads" in sentence for sentence in report["summary"])
    assert report["rule"] == "Nothing is claimed of the difference in verdicts without labels."
    assert any("its error is not in them" in note for note in column["notes"])
    assert (compared["columns"][0]["notes"], compared["pairs"]) == (column["notes"], report["pairs"])

    report, compared = reported(half[0], results("two", right, "--reference", str(reference)))
    (pair,), (column,) = report["pairs"], report["columns"]
    assert column["headline"] == "net"
    assert column["compared_by"] == pair["metric"] == "net_ppi"
    assert pair["value"] > 1 and pair["better"] == pair["first"], "people prefer the first one"
    assert report["summary"][0].startswith("one leads on cfaith_gen, but ") and "judge" not in report["rule"]
    ranks = {result["entry"]: result["rank"] for result in report["results"]}
    assert ranks == {pair["first"]: [1, 1], pair["second"]: [2, 2]}
    assert report["wins"][0]["better"] == 1
    assert any("corrected by 32 labels of each result" in note for note in column["notes"])
    assert compared["pairs"] == [pair]

    others = []
    for task, model in product(("cfaith_tf", "cfaith_choice"), ("one", "two")):
        replies, scored = tmp_path / f"{model}-{task}.jsonl", tmp_path / f"{model}-{task}.json"
        rows = [{"id": item.id, "output": item.target} for item in build(task, Options(data="sample")).items]
        write_rows(replies, rows)
        assert main(["score", task, str(replies), "--data", "sample", "--model", model, "--json"]) == 0
        scored.write_text(capsys.readouterr().out)
        others.append(str(scored))
    assert main(["report", str(tmp_path / "one.json"), str(tmp_path / "two.json"), *others, "-o", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    (mean,) = (one for one in report["pairs"] if one["group"])
    assert report["groups"][0]["compared_by"] == mean["metric"] == "acc_ppi"
    # the members without a judge are equal, and each reply that is right and not wrong counts twice in net
    assert mean["value"] == pytest.approx(pair["value"] / 2 / 3)


def test_the_documented_commands_draw_labels_and_use_them(
    judge: list[str], replies: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
    section = page.partition('id="the-judges-errors"')[2].partition("## Recorded verdicts")[0]
    commands = [shlex.split(line) for line in section.splitlines() if line.startswith("halu-tasks ")]
    printed = []
    for _, *words in commands:
        output = words[words.index(">") + 1] if ">" in words else None
        words = words[: words.index(">")] if output else words
        assert main([*words, *(judge[:2] + judge[4:] if words[0] == "score" else [])]) == 0, words
        printed.append(capsys.readouterr().out)
        if output:
            Path(output).write_text(printed[-1])
        if words[0] == "label":
            label_drawn(Path("labels.csv"))
    assert [command[1] for command in commands] == ["score", "label", "score", "report", "score"]
    assert re.search(r"cfaith_gen +36 +36 of 36", printed[1])
    assert re.search(r"^hallucination_rate_ppi +0\.6667", printed[2], re.M)
    assert re.search(r"^judge_kappa +1\.0000", printed[2], re.M)
    assert "hallucination_rate_assumed_low" in printed[4]


def label_drawn(path: Path) -> None:
    """Label each drawn verdict rightly, after a look at whether the judge's answer is shown."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert not any("conflict" in value or "=====" in value for row in rows for value in row.values())
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": "yes" if "在火星上" in row["reply"] else "no"} for row in rows)


def test_half_of_the_labels_may_be_of_reported_replies(
    judge: list[str], replies: Path, tmp_path: Path, capsys: Capture
) -> None:
    """The judge reports 24 of 36 replies."""
    of_run = [str(replies), *judge, "--model", "m", "--details", str(tmp_path / "details.jsonl")]
    results, drawn = tmp_path / "results.json", tmp_path / "labels.csv"
    results.write_text(json.dumps(score(capsys, *of_run)))

    def draw(number: int, *options: str) -> list[dict[str, Any]]:
        assert main(["label", "verdicts", str(results), "--sample", str(number), "-o", str(drawn), *options]) == 0
        return [row for _, row in read_label_rows(drawn)]

    half = draw(12, "--half-reported")
    assert re.search(r"cfaith_gen +12 +12 of 36 +6 of 24", capsys.readouterr().out)
    assert sum("在火星上" in row["reply"] for row in half) == 6
    assert half == draw(12, "--half-reported") != draw(12, "--half-reported", "--seed", "1")
    assert sum("在火星上" in row["reply"] for row in half[:6]) in range(1, 6), "the first rows are of one kind"
    # where one kind has fewer than half, all of these are drawn, and more of the other
    more = draw(30, "--half-reported")
    assert sum("在火星上" in row["reply"] for row in more) == 18 and len(more) == 30
    label_drawn(drawn)
    capsys.readouterr()
    assert score(capsys, *of_run, "--reference", str(drawn))["metrics"]["hallucination_rate_ppi"] == 24 / 36


CELLS = st.text() | st.text("='-+@\t\r\n \",;\uff1da\0", max_size=6)


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(FIELDS, CELLS)), min_size=1))
def test_a_table_for_people_is_read_as_it_was_written_and_runs_nothing_in_a_spreadsheet(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]]
) -> None:
    for name in ("labels.csv", "labels.jsonl"):
        path = tmp_path_factory.mktemp("table") / name
        write_label_rows(path, rows)
        assert [row for _, row in read_label_rows(path)] == rows
        if name == "labels.csv":
            with path.open(encoding="utf-8", newline="") as file:
                cells = [cell.strip() for row in csv.reader(file) for cell in row]
            assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\uff1d"))]


def test_labels_of_replies_with_any_line_end_and_formulas_are_used(
    judge: list[str], tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = ["=1+1", "- a\rb", "\r", "@SUM(A1)\r\n=2", "'=3"]
    given = [{"id": item.id, "output": f"{odd[n % len(odd)]} {item.id}"} for n, item in enumerate(ITEMS)]
    for name, number in (("one", len(given)), ("two", 32)):  # what two models both reply is drawn once
        replies = write_rows(tmp_path / f"{name}.jsonl", given[:number])
        output = ["--model", name, "--details", f"{name}.details.jsonl", "--json", "--partial"]
        assert main(["score", "cfaith_gen", str(replies), *judge, *output]) == 0
        (tmp_path / f"{name}.json").write_text(capsys.readouterr().out)
    assert main(["label", "verdicts", "one.json", "two.json", "--sample", "30", "-o", "labels.csv"]) == 0
    assert capsys.readouterr().out
    rows = [row for _, row in read_label_rows(Path("labels.csv"))]
    assert len({row["id"] for row in rows}) == len(rows) >= 30
    write_label_rows(Path("labels.csv"), [{**row, "label": "no"} for row in rows])
    scored = score(capsys, "one.jsonl", *judge, "--reference", "labels.csv")
    assert scored["metrics"]["hallucination_rate_ppi"] is not None


def test_labels_of_other_replies_are_not_used_and_too_few_have_no_interval(
    judge: list[str], replies: Path, tmp_path: Path, capsys: Capture
) -> None:
    arguments = [str(replies), *judge, "--reference"]
    assert main(["score", "cfaith_gen", *arguments, str(labels(tmp_path, 4))]) == 0
    printed = capsys.readouterr()
    assert "labels of 4 replies are too few for an interval" in printed.err
    assert "hallucination_rate_ppi" in printed.out and "note:" not in printed.out
    assert main(["score", "cfaith_gen", *arguments, str(labels(tmp_path, 11, reply="another"))]) == 0
    printed = capsys.readouterr()
    assert "11 of 11 labels fit no verdict" in printed.err
    assert "hallucination_rate_ppi" not in printed.out


@pytest.mark.parametrize(("rows", "message"), CASES["faults_of_labels_are_one_line_before_anything_is_judged"])
def test_faults_of_labels_are_one_line_before_anything_is_judged(
    rows: list[dict[str, str]], message: str, replies: Path, tmp_path: Path, capsys: Capture
) -> None:
    path = write_rows(tmp_path / "labels.jsonl", rows)
    path.write_text(path.read_text().replace("ID", ITEMS[0].id))
    assert main(["score", "cfaith_gen", str(replies), "--data", "sample", "--reference", str(path)]) == 2
    error = capsys.readouterr().err
    assert message.replace("ID", ITEMS[0].id) in error and error.count("\n") == 1


def test_assumed_errors_give_a_band(judge: list[str], replies: Path, capsys: Capture) -> None:
    scored = score(capsys, str(replies), *judge, "--assume", "sensitivity:0.8-0.9,specificity:0.9")
    assert scored["metrics"]["hallucination_rate_assumed_low"] == pytest.approx((24 / 36 - 0.1) / 0.8)
    assert scored["metrics"]["hallucination_rate_assumed_high"] == pytest.approx((24 / 36 - 0.1) / 0.7)
    assert scored["version"].endswith("assume_sensitivity0.8to0.9-assume_specificity0.9")


def test_a_stronger_judges_details_are_labels_of_the_replies_that_were_drawn(
    judge: list[str], replies: Path, serve: Run, tmp_path: Path, capsys: Capture
) -> None:
    def lenient(request: dict[str, Any]) -> str:
        return verdict("consistent") if "1\n=====" in asked_text(request) else by_rule(request)

    weak = ["--data", "sample", "--judge", "openai/gpt-4o-mini", "--judge-base-url", serve(lenient).url]
    results, drawn, details, strong = (tmp_path / name for name in ("r.json", "drawn.jsonl", "d.jsonl", "s.jsonl"))
    results.write_text(json.dumps(score(capsys, str(replies), *weak, "--model", "m", "--details", str(details))))
    # 4 verdicts are fewer than an interval needs, which is said before anybody labels them
    assert main(["label", "verdicts", str(results), "-o", str(drawn), "--sample", "4"]) == 3
    assert "m: 4 replies of cfaith_gen are too few for an interval" in capsys.readouterr().err
    assert main(["label", "verdicts", str(results), "-o", str(drawn), "--sample", "36"]) == 0
    capsys.readouterr()
    score(capsys, str(drawn), *judge, "--output-field", "reply", "--partial", "--details", str(strong))
    scored = score(capsys, str(replies), *weak, "--reference", str(strong))["metrics"]
    missed = len([n for n in range(36) if n % 3 and n % 10 == 1])
    assert scored["hallucination_rate"] == pytest.approx((24 - missed) / 36)
    assert scored["hallucination_rate_ppi"] == pytest.approx(24 / 36)
    assert scored["judge_sensitivity"] == pytest.approx((24 - missed) / 24)


def test_drawn_replies_of_two_epochs_are_judged_again(
    judge: list[str], replies: Path, tmp_path: Path, capsys: Capture
) -> None:
    twice = [
        row | {"epoch": epoch, "output": row["output"] if epoch == 1 else "在火星上"}
        for row in read_rows(replies)
        for epoch in (1, 2)
    ]
    results, drawn, strong = (tmp_path / name for name in ("r.json", "drawn.jsonl", "s.jsonl"))
    of_run = [str(write_rows(tmp_path / "twice.jsonl", twice)), *judge, "--model", "m", "--details", str(strong)]
    results.write_text(json.dumps(score(capsys, *of_run)))
    assert main(["label", "verdicts", str(results), "-o", str(drawn), "--sample", "72"]) == 0
    capsys.readouterr()
    again = score(capsys, str(drawn), *judge, "--output-field", "reply", "--partial", "--details", str(strong))
    assert again["n"] == 72 and again["metrics"]["hallucination_rate"] == pytest.approx((24 + 36) / 72)


def test_several_annotators_count_as_their_mean(
    judge: list[str], replies: Path, tmp_path: Path, capsys: Capture
) -> None:
    table = tmp_path / "labels.jsonl"
    rows = [
        {"id": item.id, "label": label, "by": by}
        for item in ITEMS
        for by, label in (("a", "conflict"), ("b", "consistent"), ("c", 0.5))
    ]
    write_rows(table, rows)
    assert score(capsys, str(replies), *judge, "--reference", str(table))["metrics"]["hallucination_rate_ppi"] == 0.5
