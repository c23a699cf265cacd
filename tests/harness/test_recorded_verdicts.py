"""Verdicts that exist already take the place of a judge: rows of one's own, details of a run, other programs' files."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Patch, Run, read_rows, write_rows
from docs_commands import ROOT, commands_of, in_one_line, shown_files
from judges import ITEMS, by_rule, questions, third_right, write_replies
from test_fave import FALSE, Lab
from test_fave import ITEMS as FAVE_ITEMS

from halu_tasks.cli import main
from halu_tasks.core.errors import UsageError
from halu_tasks.data.locate import SAMPLE
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM
from halu_tasks.tasks import get_task
from halu_tasks.tasks.recorded_verdicts import read_verdicts

PAGE = "docs/recorded-verdicts.md"
FILES = Path(__file__).parents[1] / "recorded"
"""What each program writes of six answers: four supported, one unsupported, and one on which the program failed."""
N = 6
THREE = "{CORRECT: good, INCORRECT: bad, NOT_ATTEMPTED: neutral}"


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A folder with the task of the page and six replies."""
    monkeypatch.chdir(tmp_path)
    write_rows(
        tmp_path / "rows.jsonl",
        [{"id": f"q{n}", "question": f"Which is {n}?", "answer": f"Fact {n}."} for n in range(1, N + 1)],
    )
    write_rows(tmp_path / "replies.jsonl", [{"id": f"q{n}", "output": f"Answer {n}."} for n in range(1, N + 1)])
    (tmp_path / "answers.yaml").write_text(shown_files(PAGE)["answers.yaml"])
    return tmp_path


def three_labels(folder: Path) -> None:
    path = folder / "answers.yaml"
    path.write_text(path.read_text().replace("{unsupported: bad, supported: good}", THREE))


def scored(capsys: Capture, *arguments: str, status: int = 0) -> tuple[dict[str, Any], str]:
    """What `halu-tasks score` prints as JSON, and its other lines."""
    capsys.readouterr()
    assert main(["score", *arguments, "--json"]) == status, capsys.readouterr().err
    out, err = capsys.readouterr()
    return json.loads(out) if out else {}, err


def of_answers(
    capsys: Capture, rows: Any, *arguments: str, replies: str = "replies.jsonl"
) -> tuple[dict[str, Any], str]:
    write_rows(Path("verdicts.jsonl"), rows)
    return scored(capsys, "answers.yaml", replies, "--verdicts", "verdicts.jsonl", *arguments)


def verdicts(*labels: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"q{n}", "verdict": label, **more} for n, label in enumerate(labels, 1)]


def refused(capsys: Capture, *arguments: str) -> str:
    """The one line with which `halu-tasks score` refuses."""
    capsys.readouterr()
    assert main(["score", *arguments]) not in (0, 3)
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    return err


# --- rows of one's own --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad, good", [("unsupported", "supported"), (True, False), ("TRUE", "Supported")])
def test_labels_or_true_and_false_give_the_figures(answers: Path, capsys: Capture, bad: Any, good: Any) -> None:
    found, err = of_answers(capsys, verdicts(bad, good, good, good, bad, good))
    metrics = found["metrics"]
    assert (metrics["bad_rate"], metrics["acc"], metrics["judge_failed"]) == pytest.approx((2 / 6, 4 / 6, 0))
    assert metrics["net"] == pytest.approx(2 / 6) and "bad_rate" in found["intervals"]
    assert "no judge was named" not in err and "recorded verdict" not in err


def test_tables_arrays_and_the_file_with_the_replies_have_verdicts(answers: Path, capsys: Capture) -> None:
    rows = verdicts("unsupported", *["supported"] * 5)
    figures = of_answers(capsys, rows)[0]["metrics"]
    (answers / "array.json").write_text(json.dumps(rows))
    with (answers / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "verdict", "note"), *((row["id"], row["verdict"], "") for row in rows)])
    both = [row | {"output": f"Answer {n}."} for n, row in enumerate(rows, 1)]
    write_rows(answers / "both.jsonl", both)
    given = [("replies.jsonl", "array.json"), ("replies.jsonl", "table.csv"), ("both.jsonl", "both.jsonl")]
    for replies, file in given:
        assert scored(capsys, "answers.yaml", replies, "--verdicts", file)[0]["metrics"] == figures


def test_three_labels_are_taken_by_name_and_true_and_false_are_refused(answers: Path, capsys: Capture) -> None:
    three_labels(answers)
    labels = ["CORRECT", "CORRECT", "INCORRECT", "NOT_ATTEMPTED", "NOT_ATTEMPTED", "CORRECT"]
    metrics = of_answers(capsys, verdicts(*labels))[0]["metrics"]
    shares = [metrics[f"share_{label}"] for label in ("correct", "incorrect", "not_attempted")]
    assert shares == pytest.approx([3 / 6, 1 / 6, 2 / 6])
    assert metrics["attempted"] == pytest.approx(4 / 6) and metrics["acc_attempted"] == pytest.approx(3 / 4)
    write_rows(Path("verdicts.jsonl"), verdicts(True))
    err = refused(capsys, "answers.yaml", "replies.jsonl", "--verdicts", "verdicts.jsonl")
    assert "verdicts.jsonl:1: verdict is True, expected CORRECT or INCORRECT or NOT_ATTEMPTED" in err
    assert "or true or false" not in err


def test_missing_verdicts_are_judge_failed_and_those_of_another_reply_are_not_used(
    answers: Path, capsys: Capture
) -> None:
    rows = verdicts("unsupported", "supported", "supported", "", None)  # and no row for the sixth
    found, err = of_answers(capsys, rows)
    assert found["metrics"]["judge_failed"] == pytest.approx(3 / 6)
    assert found["metrics"]["bad_rate"] == pytest.approx(1 / 3)
    assert "3 of 6 questions have no recorded verdict, and count as judge_failed" in err and "not used" not in err

    # a verdict that names its reply is on no other, be it that its text begins alike
    rows = verdicts(*["supported"] * N)
    rows = [row | {"reply": f"Answer {n}.  \n" if n < 5 else f"Answer {n}. No."} for n, row in enumerate(rows, 1)]
    found, err = of_answers(capsys, rows)
    assert found["metrics"]["judge_failed"] == pytest.approx(2 / 6)
    assert "2 of 6 questions have no recorded verdict" in err
    assert "2 of 6 recorded verdicts are not used: they are on other replies" in err


def test_verdicts_on_several_replies_to_an_item_go_to_their_own(answers: Path, capsys: Capture) -> None:
    replies = [{"id": f"q{n}", "epoch": epoch, "output": "x" * epoch} for n in range(1, N + 1) for epoch in (1, 2)]
    write_rows(answers / "twice.jsonl", replies)
    rows = verdicts(*["unsupported"] * N, reply="xx") + verdicts(*["supported"] * N, reply="x")
    found, err = of_answers(capsys, rows, "--details", "details.jsonl", replies="twice.jsonl")
    assert {(row["answer"], row["verdicts"][0]["label"]) for row in read_rows(Path("details.jsonl"))} == {
        ("x", "supported"),
        ("xx", "unsupported"),
    }
    assert found["metrics"]["judge_failed"] == 0 and "not used" not in err
    again, _ = scored(capsys, "answers.yaml", "twice.jsonl", "--verdicts", "details.jsonl")
    assert again["metrics"] == found["metrics"]
    # without reasoning, which other programs leave out
    thinking = [row | {"output": f"<think>xx or x?</think>\n{row['output']}"} for row in replies]
    write_rows(answers / "thinking.jsonl", thinking)
    again, _ = of_answers(capsys, rows, replies="thinking.jsonl")
    assert again["metrics"] == found["metrics"]


def test_versions_and_reports_name_the_verdicts(answers: Path, capsys: Capture) -> None:
    rows = verdicts(*["supported"] * 5, "unsupported", by="Ada")
    first, _ = of_answers(capsys, [*rows[:5], rows[5] | {"by": "Ben"}], "--model", "m", "--details", "m.jsonl")
    tag = re.search(r"verdicts_([0-9a-f]{8})", first["version"])
    assert tag
    other, _ = of_answers(capsys, verdicts(*["supported"] * 6))
    assert other["version"] != first["version"]
    (answers / "m.json").write_text(json.dumps(first))
    assert main(["report", "m.json", "-o", "report"]) == 0
    assert f"recorded by Ada, Ben ({tag[1]})" in Path("report/report.json").read_text()


def test_labels_of_people_correct_recorded_verdicts(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    write_replies(Path("replies.jsonl"), third_right())
    rows = [{"id": item.id, "verdict": n % 2 == 0} for n, item in enumerate(ITEMS)]
    write_rows(Path("verdicts.jsonl"), rows)
    truth = [{"id": item.id, "label": "no" if n % 4 == 0 else "yes"} for n, item in enumerate(ITEMS)]
    write_rows(Path("labels.jsonl"), truth)
    given = ["cfaith_gen", "replies.jsonl", "--data", "sample", "--verdicts", "verdicts.jsonl"]
    found, err = scored(capsys, *given, "--reference", "labels.jsonl")
    assert found["metrics"]["hallucination_rate"] == pytest.approx(1 / 2)
    assert found["metrics"]["hallucination_rate_ppi"] == pytest.approx(3 / 4)
    assert "is what the verdicts say" not in err
    assert re.search(r"verdicts_\w{8}-reference_\w{8}", found["version"])
    assert "hallucination_rate_ppi" not in scored(capsys, *given)[0]["metrics"]


def test_a_verdict_without_the_reply_that_a_named_column_should_have_is_on_none(answers: Path, capsys: Capture) -> None:
    rows = [{"id": f"q{n}", "verdict": "supported", "text": f"Answer {n}."} for n in range(1, N + 1)]
    rows[0]["text"], rows[1]["text"] = "", None
    found, _ = of_answers(capsys, rows, "--verdict-columns", "reply:text")
    assert found["metrics"]["judge_failed"] == pytest.approx(2 / 6)


# --- details of a run, and claims ---------------------------------------------------------------------------------


def test_details_of_a_judged_run_give_its_figures_and_not_another_models(
    serve: Run, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = serve(by_rule)
    outputs = [*third_right()[:-1], "长" * 3000]  # of a long reply, details keep the beginning
    write_replies(Path("replies.jsonl"), outputs)
    given = ["cfaith_gen", "replies.jsonl", "--data", "sample"]
    asking = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url]
    judged, _ = scored(capsys, *given, *asking, "--details", "details.jsonl")
    assert questions(server) == len(ITEMS)
    again, err = scored(capsys, *given, "--verdicts", "details.jsonl")
    assert again["metrics"] == judged["metrics"] and again["intervals"] == judged["intervals"]
    assert questions(server) == len(ITEMS) and "recorded verdict" not in err

    write_replies(Path("other.jsonl"), [f"{output}!" for output in outputs[:-1]] + [outputs[-1]])
    other, err = scored(capsys, "cfaith_gen", "other.jsonl", "--data", "sample", "--verdicts", "details.jsonl")
    assert other["metrics"]["judge_failed"] == pytest.approx(1 - 1 / len(ITEMS))
    assert f"{len(ITEMS) - 1} of {len(ITEMS)} recorded verdicts are not used" in err


def test_claims_of_a_summary_have_verdicts_of_their_own(
    serve: Run, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    lab = Lab(false=1)
    server = serve(lab)
    outputs = [{"id": item.id, "output": f"Summary:\n{lab.draft(query)}"} for query, item in FAVE_ITEMS.items()]
    write_rows(Path("replies.jsonl"), outputs)
    given = ["fave", "replies.jsonl", "--data", "sample"]
    asking = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url]
    judged, _ = scored(capsys, *given, *asking, "--details", "details.jsonl")
    assert judged["metrics"]["hallucinations_per_summary"] == 1
    again, err = scored(capsys, *given, "--verdicts", "details.jsonl")
    assert again["metrics"] == judged["metrics"] and "recorded verdict" not in err

    details = read_rows(Path("details.jsonl"))
    rows = [
        {"id": row["id"], "claim": one["about"].replace(" ", "  "), "verdict": FALSE in one["about"]}
        for row in details
        for one in row["verdicts"]
    ]
    write_rows(Path("claims.jsonl"), rows)
    again, _ = scored(capsys, *given, "--verdicts", "claims.jsonl")
    assert again["metrics"] == judged["metrics"]
    # without those of the first summary
    left = [row for row in rows if row["id"] != details[0]["id"]]
    write_rows(Path("claims.jsonl"), left)
    again, err = scored(capsys, *given, "--verdicts", "claims.jsonl")
    assert again["metrics"]["judge_failed"] == pytest.approx(1 - len(left) / len(rows))
    assert f"{len(rows) - len(left)} of {len(rows)} questions have no recorded verdict" in err


# --- what is refused ----------------------------------------------------------------------------------------------

SUPPORTED = {"id": "q1", "verdict": "supported"}
FAULTS = [
    ([SUPPORTED, {"id": "q9", "verdict": "supported"}], "1 of 2 ids are not items of answers, such as 'q9'"),
    (
        [SUPPORTED, SUPPORTED],
        "verdicts.jsonl:2: another verdict on the same reply to 'q1'; each part of a reply has one",
    ),
    ([SUPPORTED | {"reply": "Answer 1."}, SUPPORTED], "verdicts.jsonl:2: another verdict on the same reply"),
    ([SUPPORTED, SUPPORTED | {"reply": "Answer 1."}], "verdicts.jsonl:2: another verdict on the same reply"),
    ([SUPPORTED | {"verdict": "fine"}], "verdict is 'fine', expected unsupported or supported or true or false"),
    ([{"verdict": "supported"}], "verdicts.jsonl:1: expected the id of an item in 'id', got None"),
    ([SUPPORTED | {"reply": 3}], "expected strings in 'claim', 'reply' and 'reason'"),
    ([SUPPORTED | {"task": "other"}], "contains no verdict of answers; expected one of unsupported, supported in"),
    ([{"id": "q1", "verdicts": ["supported"]}], "expected objects with 'label' in 'verdicts', as of --details"),
]


def test_another_program_may_have_a_column_of_facts(tmp_path: Path) -> None:
    row = {
        "id": "Albert Einstein",
        "claim": "Born in Ulm.",
        "verdict": "supported",
        "reply": "x",
        "facts": "one",
    }
    path = write_rows(tmp_path / "verdicts.jsonl", [row])
    assert len(read_verdicts(str(path), get_task("factscore"))) == 1


@pytest.mark.parametrize("rows, fault", FAULTS)
def test_faults_of_verdicts_are_one_line(answers: Path, capsys: Capture, rows: Any, fault: str) -> None:
    write_rows(Path("verdicts.jsonl"), rows)
    assert fault in refused(capsys, "answers.yaml", "replies.jsonl", "--verdicts", "verdicts.jsonl")


SCORES = [{"key": {"id": f"q{n}"}, "score": n / 10, "verdict": "supported"} for n in range(1, N + 1)]
BY_SCORE = "unsupported:score<0.5,supported:score>=0.5"
COLUMN_FAULTS = [
    (BY_SCORE, "verdicts.jsonl:1: expected the id of an item in 'id', got None"),
    (f"id:doc.id,{BY_SCORE}", "verdicts.jsonl:1: field 'doc.id' is missing (has 'key', 'score', 'verdict')"),
    ("id:key.id,unsupported:score<0.5", "verdicts.jsonl:5: no label's condition holds: score is 0.5"),
    (f"id:key.id,{BY_SCORE},supported:score<0.2", "conditions of supported and unsupported hold: score is 0.1"),
    ("id:key.id,verdict:score", "verdict is 0.1, expected unsupported or supported or true or false; other values: "),
    ("id:key.id,unsupported:scor<1", "verdicts.jsonl: no row has 'scor', which option verdict_columns names"),
    ("id:key.id,reply:text", "verdicts.jsonl: no row has 'text', which option verdict_columns names"),
    ("id:key.id,unsupported:key<1", "key is {'id': 'q1'}, expected a number or a list"),
    ("id:key.id,unsupported:score", "expected a condition such as unsupported:COLUMN<0.5"),
    ("id:key.id,unsupported:score<low", "expected a condition such as unsupported:COLUMN<0.5"),
    ("id:key.id,wrong:score<1", "'wrong' in 'wrong:score<1' is not one of id, verdict, claim, reply, reason, by, "),
    ("id:key.id,verdict:score,supported:score<1", "the column of the verdict or conditions of labels, not both"),
    ("id", "option verdict_columns: expected FIELD:COLUMN, got 'id'"),
    ("records:key", "verdicts.jsonl:2: not JSON"),
]


@pytest.mark.parametrize("columns, fault", COLUMN_FAULTS)
def test_faults_of_columns_are_one_line(answers: Path, capsys: Capture, columns: str, fault: str) -> None:
    write_rows(Path("verdicts.jsonl"), SCORES)
    given = ["answers.yaml", "replies.jsonl", "--verdicts", "verdicts.jsonl"]
    assert fault in refused(capsys, *given, "--verdict-columns", columns)


def test_verdicts_are_only_for_replies_that_exist_to_judged_tasks_without_a_judge(
    answers: Path, capsys: Capture, run_lm_eval: Run, run_inspect: Run
) -> None:
    write_rows(Path("verdicts.jsonl"), verdicts(*["supported"] * N))
    given = ["answers.yaml", "replies.jsonl", "--verdicts", "verdicts.jsonl"]
    assert "take the place of a judge; leave out one of the two" in refused(capsys, *given, "--judge", "openai/gpt-4o")
    assert "verdict_columns: needs the option verdicts" in refused(capsys, *given[:2], "--verdict-columns", "id:doc_id")
    choices = ["refact_judgment_independent", "replies.jsonl", "--data", "sample", "--verdicts", "verdicts.jsonl"]
    assert "task refact_judgment_independent has no judge, so it takes no recorded verdicts" in refused(
        capsys, *choices
    )
    with pytest.raises(UsageError, match="recorded verdicts are on replies that exist; use halu-tasks score"):
        run_lm_eval(["answers"], ReplayLM("replies.jsonl"), {"halu_verdicts": "verdicts.jsonl"}, answers)
    own = {"config": "answers.yaml", "data": None, "verdicts": "verdicts.jsonl"}
    with pytest.raises(UsageError, match="use halu-tasks score"):
        run_inspect("task", "halu/replay", own, model_args={"predictions": "replies.jsonl"})


# --- other programs -----------------------------------------------------------------------------------------------

PROGRAMS = [command for command in commands_of(PAGE) if "--verdict-columns" in command.text]


@pytest.mark.parametrize("command", PROGRAMS, ids=[str(command.line) for command in PROGRAMS])
def test_the_command_of_each_program_gives_the_figures(answers: Path, capsys: Capture, command: Any) -> None:
    for file in FILES.iterdir():
        shutil.copy(file, answers)
    words = shlex.split(in_one_line(command))
    if "log.json" in words:
        (dump,) = [other.text for other in commands_of(PAGE) if other.text.startswith("inspect log dump")]
        own = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        subprocess.run(dump.replace("LOG", "inspect_log.json"), shell=True, check=True, env=own)
    found, err = scored(capsys, *words[2:])
    figures = {name: found["metrics"][name] for name in ("bad_rate", "acc", "judge_failed")}
    assert figures == pytest.approx({"bad_rate": 1 / 5, "acc": 4 / 5, "judge_failed": 1 / 6})
    assert "1 of 6 questions have no recorded verdict" in err and "not used" not in err

    # the verdicts name the replies that they are on
    write_rows(Path("replies.jsonl"), [{"id": f"q{n}", "output": f"{n}"} for n in range(1, N + 1)])
    found, err = scored(capsys, "answers.yaml", "replies.jsonl", *words[4:])
    assert found["metrics"]["judge_failed"] == 1 and "5 of 5 recorded verdicts are not used" in err


def test_each_program_of_the_page_has_a_command() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)", page, re.MULTILINE)
    assert headings.pop() == "Claims that people labelled"
    assert len(headings) == len(PROGRAMS) == len(list(FILES.iterdir())) == 6


def test_the_commands_about_labelled_claims_score_the_released_format(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    # the sample has the form of the released files
    shutil.copy(SAMPLE / "factscore" / "InstructGPT.jsonl", "ChatGPT.jsonl")
    convert, score = (command.text for command in commands_of(PAGE) if "factscore" in command.text)
    own = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(convert, shell=True, check=True, env=own)
    found, err = scored(capsys, *shlex.split(score)[2:], "--data", "sample")
    assert found["metrics"]["acc_attempted"] == pytest.approx(0.7019, abs=5e-5) and "recorded verdict" not in err
    # the lines that the page shows
    (shown,) = re.findall(r"```json\n(\{.*?)```", (ROOT / PAGE).read_text(encoding="utf-8"), re.DOTALL)
    for line in shown.splitlines():
        assert json.loads(line).keys() == {"id", "reply", "by", "verdicts"}
    rows = [json.loads(line) for line in shown.splitlines()]
    people = [row["id"] for row in read_rows(Path("labelled.jsonl"))]
    verdicts_of = [{**row, "id": id, "output": row["reply"]} for row, id in zip(rows, people, strict=False)]
    write_rows(Path("shown.jsonl"), verdicts_of)
    found, _ = scored(capsys, "factscore", "shown.jsonl", "--verdicts", "shown.jsonl", "--data", "sample", "--partial")
    assert found["metrics"]["acc_attempted"] == found["metrics"]["attempted"] == 0.5


def test_what_the_page_says_of_three_labels_and_of_letters(answers: Path, capsys: Capture) -> None:
    three_labels(answers)
    (given,) = re.findall(r"`(CORRECT:judge_1\S+)`", (ROOT / PAGE).read_text(encoding="utf-8"))
    found, _ = scored(
        capsys, "answers.yaml", "replies.jsonl", "--verdicts", str(FILES / "uqlm.csv"), "--verdict-columns", given
    )
    assert found["metrics"]["share_correct"] == pytest.approx(4 / 6)
    assert found["metrics"]["share_incorrect"] == found["metrics"]["judge_failed"] == pytest.approx(1 / 6)

    path = answers / "answers.yaml"
    path.write_text(path.read_text().replace(THREE, "{C: good, P: partial, I: bad}"))
    given = "records:samples,verdict:scores.model_graded_qa.value"
    log = str(FILES / "inspect_log.json")
    found, _ = scored(capsys, "answers.yaml", "replies.jsonl", "--verdicts", log, "--verdict-columns", given)
    assert found["metrics"]["bad_rate"] == pytest.approx(1 / 5)
