"""Not answering is neither right nor wrong: a judge with a neutral label, points, and labels of people."""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Run, write_rows
from judges import asked_text, figures, is_question, verdict

from halu_tasks.cli import main
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM

TASK = """class: !function halu_tasks.lm_eval_adapter.task.HaluTask
task: questions
file: rows.jsonl
fields: [question, answer]
doc_to_text: |-
  Question: {{question}}
  Answer:
gold: {target: answer}
tags: {topic: [sea, land]}
answer: {kind: judged_text}
judge:
  labels: {CORRECT: good, INCORRECT: bad, PARTLY: partial, NOT_ATTEMPTED: neutral}
  prompt: |-
    Question: {{question}}
    Right answer: {{answer}}
    Reply: {{reply}}
    Is it CORRECT, INCORRECT, PARTLY or NOT_ATTEMPTED?
"""
N = 120
SILENT = {"Silence.": "NOT_ATTEMPTED", "half": "PARTLY"}


def reply_to(number: int) -> str:
    """Right three times in eight, else wrong (2), half right, declined in words that only a judge knows, and empty."""
    return [*[f"right {number}"] * 3, *[f"wrong {number}"] * 2, "half", "Silence.", ""][number % 8]


def judge(request: dict[str, Any]) -> str:
    if not is_question(request):
        return "ready"
    text = asked_text(request).partition("Reply:")[2]
    silent = next((label for words, label in SILENT.items() if words in text), None)
    return verdict(silent or ("INCORRECT" if "wrong" in text else "CORRECT"))


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"q{n}", "question": f"Which is {n}?", "answer": f"right {n}", "topic": "sea" if n % 2 else "land"}
        for n in range(N)
    ]
    write_rows(tmp_path / "rows.jsonl", rows)
    path = tmp_path / "questions.yaml"
    path.write_text(TASK)
    return path


def replies_of(folder: Path, name: str, reply: Any) -> Path:
    return write_rows(folder / f"{name}.jsonl", [{"id": f"q{n}", "output": reply(n)} for n in range(N)])


def score(capsys: Capture, task: Path, replies: Path, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["score", str(task), str(replies), "--json", *arguments]) == 0
    return dict(json.loads(capsys.readouterr().out))


def asking(server: Any) -> list[str]:
    return ["--judge", "openai/gpt-4o", "--judge-base-url", server.url]


def test_shares_of_labels_and_outcomes_add_up_and_silence_earns_nothing(
    task: Path, serve: Run, capsys: Capture, tmp_path: Path
) -> None:
    server = serve(judge)
    scored = score(capsys, task, replies_of(tmp_path, "mixed", reply_to), *asking(server))
    found = scored["metrics"]
    shares = ("share_correct", "share_incorrect", "share_partly", "share_not_attempted")
    assert [found[name] for name in shares] == pytest.approx([3 / 8, 2 / 8, 1 / 8, 1 / 8])
    outcomes = ("empty", "unparsed", "failed", "judge_failed")
    assert math.fsum(found[name] for name in (*shares, *outcomes)) == pytest.approx(1)
    assert "abstained" not in found  # the share of the neutral label says it
    attempts = {"attempted": 6 / 8, "acc_attempted": 3 / 6, "net": 1 / 8, "bad_rate": 2 / 8, "acc": 3 / 8}
    assert {name: found[name] for name in attempts} == pytest.approx(attempts)
    assert next(iter(found)) == "net" and {"net", "acc_attempted"} <= scored["intervals"].keys()

    silent = score(capsys, task, replies_of(tmp_path, "silent", lambda n: ""), *asking(server))["metrics"]
    assert (silent["net"], silent["attempted"], silent["bad_rate"], silent["empty"]) == (0, 0, 0, 1)
    assert "acc_attempted" not in silent
    guessing = score(capsys, task, replies_of(tmp_path, "wrong", lambda n: f"wrong {n}"), *asking(server))["metrics"]
    assert guessing["net"] == -1


def test_a_wrong_answer_costs_the_penalty_in_score_lm_eval_inspect_and_reports(
    task: Path, serve: Run, capsys: Capture, tmp_path: Path, run_lm_eval: Run, run_inspect: Any
) -> None:
    server, replies = serve(judge), replies_of(tmp_path, "mixed", reply_to)
    scored = score(capsys, task, replies, *asking(server), "--penalty", "3", "--model", "m", "--details", "d.jsonl")
    assert scored["metrics"]["net"] == pytest.approx(3 / 8 - 3 * 2 / 8) and scored["version"].endswith("penalty_3")
    low, high = scored["intervals"]["net"]
    assert -3 < low < scored["metrics"]["net"] < high < 1

    options = {"halu_judge": "openai/gpt-4o", "halu_judge_base_url": server.url, "halu_penalty": 3}
    found = run_lm_eval(["questions"], ReplayLM(str(replies)), options, task.parent)["results"]["questions"]
    given = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "penalty": 3, "data": None, "config": str(task)}
    log = run_inspect("task", "halu/replay", given, model_args={"predictions": str(replies)})
    assert found["net,none"] == figures(log)["net"] == scored["metrics"]["net"]

    result = tmp_path / "m.json"
    result.write_text(json.dumps(scored))
    assert main(["report", str(result), log.location, "-o", "report"]) == 0
    report = json.loads(Path("report/report.json").read_text())
    assert {one["metrics"]["net"]["value"] for one in report["results"]} == {scored["metrics"]["net"]}


def test_labels_with_names_correct_every_share_and_yes_and_no_only_the_rate(
    task: Path, serve: Run, capsys: Capture, tmp_path: Path
) -> None:
    """The judge takes every fourth wrong answer for right; people label two thirds of the replies."""

    def lenient(request: dict[str, Any]) -> str:
        text = asked_text(request)
        return verdict("CORRECT") if any(f"wrong {n}\n" in text for n in range(3, N, 16)) else judge(request)

    task.write_text(TASK + "metric_list: [{metric: bad_rate, by: topic}]\n")
    true = [reply_to(n) for n in range(N)]
    words = {"right": "CORRECT", "wrong": "INCORRECT", "half": "PARTLY", "Silence.": "NOT_ATTEMPTED"}
    labelled = [n for n in range(N) if true[n] and n % 3]
    with (tmp_path / "labels.csv").open("w") as file:
        csv.writer(file).writerows([("id", "label"), *((f"q{n}", words[true[n].split()[0]]) for n in labelled)])
    rows = [{"id": f"q{n}", "label": "yes" if "wrong" in true[n] else "no"} for n in labelled]
    truth = write_rows(tmp_path / "truth.jsonl", rows)

    replies, given = replies_of(tmp_path, "mixed", reply_to), asking(serve(lenient))
    found = score(capsys, task, replies, *given, "--reference", str(tmp_path / "labels.csv"))
    assert found["metrics"]["bad_rate"] < found["metrics"]["bad_rate_ppi"]
    corrected = {name for name in found["intervals"] if name.endswith("_ppi") or "_ppi_" in name}
    assert {"bad_rate_ppi", "net_ppi", "attempted_ppi", "bad_rate_ppi_sea", "bad_rate_ppi_land"} <= corrected
    assert {"judge_sensitivity", "judge_specificity", "judge_kappa"} <= found["metrics"].keys()  # listed or not
    task.write_text(TASK)
    found = score(capsys, task, replies, *given, "--reference", str(tmp_path / "labels.csv"))["metrics"]
    names = ("correct", "incorrect", "partly", "not_attempted")
    assert math.fsum(found[f"share_{name}_ppi"] for name in names) == pytest.approx(7 / 8, abs=0.02)
    assert found["share_correct_ppi"] < found["share_correct"]
    assert found["net_ppi"] == pytest.approx(found["acc_ppi"] - found["bad_rate_ppi"], abs=0.02)
    # yes and no leave open which of three labels is right
    details = ["--details", str(tmp_path / "details.jsonl"), "--model", "m"]
    assert main(["score", str(task), str(replies), "--json", *given, "--reference", str(truth)]) == 0
    printed = capsys.readouterr()
    assert "shares of labels are not corrected; write CORRECT, INCORRECT" in " ".join(printed.err.split())
    by_rate = json.loads(printed.out)
    of_labels = {"net_ppi", "acc_ppi", "share_correct_ppi"}
    assert "bad_rate_ppi" in by_rate["metrics"] and not of_labels & by_rate["metrics"].keys()

    # labels of a report take the place of those with which a run was scored, and nothing is left of them
    by_label = score(capsys, task, replies, *given, "--reference", str(tmp_path / "labels.csv"), *details)
    assert of_labels < by_label["metrics"].keys()
    (tmp_path / "m.json").write_text(json.dumps(by_label))
    assert main(["report", str(tmp_path / "m.json"), "--reference", str(truth), "-o", "report"]) == 0
    (row,) = json.loads(Path("report/report.json").read_text())["results"]
    assert not of_labels & row["metrics"].keys()
    assert row["metrics"]["bad_rate_ppi"]["value"] == pytest.approx(by_rate["metrics"]["bad_rate_ppi"])


def test_a_report_says_where_two_models_attempt_differently(
    task: Path, serve: Run, capsys: Capture, tmp_path: Path
) -> None:
    """One model answers everything, the other only what it knows; on what both attempt, they are alike."""
    server, results = serve(judge), []
    for name, reply in (("bold", lambda n: f"{'wrong' if n % 2 else 'right'} {n}"), ("shy", None)):
        reply = reply or (lambda n: "Silence." if n % 2 else f"right {n}")
        scored = score(
            capsys, task, replies_of(tmp_path, name, reply), *asking(server), "--model", name, "--details", f"{name}.d"
        )
        results.append(tmp_path / f"{name}.json")
        results[-1].write_text(json.dumps(scored))
    assert main(["report", *map(str, results), "-o", "report"]) == 0
    text = Path("report/report.md").read_text()
    assert "bold attempts 1.00 of the items and shy 0.50" in text
    assert "acc_attempted is -0.50" in re.sub(r"\\", "", text.replace("−", "-"))
    assert "on the 60 items that both attempted +0.00" in text


def test_a_table_with_labels_is_not_overwritten(task: Path, serve: Run, capsys: Capture, tmp_path: Path) -> None:
    details = ["--details", "details.jsonl", "--model", "m"]
    result = score(capsys, task, replies_of(tmp_path, "mixed", reply_to), *asking(serve(judge)), *details)
    Path("m.json").write_text(json.dumps(result))
    draw = ["label", "verdicts", "m.json", "--sample", "40", "-o", "labels.csv"]
    assert main(draw) == main(draw) == 0  # nobody has labelled anything yet
    rows = list(csv.DictReader(Path("labels.csv").read_text("utf-8-sig").splitlines(keepends=True)))
    with Path("labels.csv").open("w") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"label": "CORRECT" if n < 3 else ""} for n, row in enumerate(rows))
    before = Path("labels.csv").read_bytes()
    capsys.readouterr()
    assert main(draw) == 2
    assert "labels.csv: 3 of its rows have labels, which would be lost; name another file" in capsys.readouterr().err
    assert Path("labels.csv").read_bytes() == before
