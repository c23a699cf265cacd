"""A judged task of one's own, in YAML alone: the example of the documentation in both harnesses and all commands."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Run, fenced, write_rows
from judges import asked_text, figures, is_question, verdict

from halu_tasks.cli import main
from halu_tasks.core.errors import JudgeError
from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM
from halu_tasks.tasks import build

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "own_task"
LABELS = ("belegt", "teilweise belegt", "widerlegt")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """The example, copied away from the checkout."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("judged.yaml", "judged.jsonl"):
        shutil.copy(EXAMPLE / name, folder)
    return folder / "judged.yaml"


@pytest.fixture
def replies(task: Path, tmp_path: Path) -> Path:
    """Replies to all items: right, wrong and half right in turn, one that declines and one that is blank."""
    items = build(str(task), Options()).items
    texts = [(item.target, f"Falsch ist: {item.target}", f"Halb: {item.target}")[n % 3] for n, item in enumerate(items)]
    texts[0], texts[1] = "Das kann ich leider nicht beantworten.", " "
    rows = ({"id": item.id, "output": text} for item, text in zip(items, texts, strict=True))
    return write_rows(tmp_path / "replies.jsonl", rows)


def by_its_beginning(request: dict[str, Any]) -> str:
    """A judge that goes by how the answer begins, which it finds between the last fences."""
    if not is_question(request):
        return "ready"
    reply = fenced(asked_text(request))[-1]
    label = (
        "widerlegt" if reply.startswith("Falsch") else "teilweise belegt" if reply[:4] in ("Halb", "Das ") else "belegt"
    )
    return verdict(label.capitalize())


def in_lm_eval(run_lm_eval: Run, task: Path, replies: Path, server: Any = None) -> dict[str, Any]:
    options = {"halu_judge": "openai/gpt-4o", "halu_judge_base_url": server.url} if server else {}
    return dict(run_lm_eval(["stuetzung"], ReplayLM(str(replies)), options, task.parent)["results"]["stuetzung"])


def in_inspect(run_inspect: Any, task: Path, replies: Path, server: Any, **options: Any) -> Any:
    judge = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "data": None}
    model_args = {"predictions": str(replies)}
    return run_inspect("task", "halu/replay", {"config": str(task), **judge, **options}, model_args=model_args)


def in_score(capsys: Capture, task: Path, replies: Path, server: Any, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    judge = ("--judge", "openai/gpt-4o", "--judge-base-url", server.url)
    assert main(["score", str(task), str(replies), "--json", *judge, *arguments]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_both_harnesses_and_score_say_the_same(
    task: Path, replies: Path, serve: Run, capsys: Capture, run_inspect: Any, run_lm_eval: Run
) -> None:
    server = serve(by_its_beginning)
    scored = in_score(capsys, task, replies, server)
    # the blank reply and the one that declines are not judged, and neither good nor bad
    shares = {f"share_{label.replace(' ', '_')}": n / 30 for label, n in zip(LABELS, (9, 10, 9), strict=True)}
    silent = {"judge_failed": 0.0, "abstained": 1 / 30, "empty": 1 / 30, "unparsed": 0.0, "failed": 0.0}
    assert math.fsum([*shares.values(), *silent.values()]) == pytest.approx(1)
    attempts = {"attempted": 28 / 30, "acc_attempted": 9 / 28, "net": (9 - 19) / 30}
    expected = {"bad_rate": 19 / 30, "acc": 9 / 30, **shares, **silent, **attempts}
    assert {name: scored["metrics"][name] for name in expected} == pytest.approx(expected)
    assert {"bad_rate", "acc", *shares} <= scored["intervals"].keys()
    (asked, *_) = [asked_text(request) for request in server.asked if is_question(request)]
    assert asked.startswith("Ist die Antwort durch den Text belegt") and '"teilweise belegt", "widerlegt"' in asked
    found, log = in_lm_eval(run_lm_eval, task, replies, server), in_inspect(run_inspect, task, replies, server)
    for name in expected:
        assert found[f"{name},none"] == scored["metrics"][name] == figures(log)[name], name
    assert log.results.headline.metric == "net"
    without = {name.partition(",")[0] for name in in_lm_eval(run_lm_eval, task, replies) if "_stderr" not in name}
    assert without == {"alias", "name", "sample_len", "unparsed", "abstained", "empty", "failed"}


@pytest.mark.parametrize("failing", [1, 2])
def test_a_run_ends_in_either_harness_if_more_than_the_allowed_share_has_no_verdict(
    failing: int, task: Path, replies: Path, serve: Run, run_inspect: Any, run_lm_eval: Run
) -> None:
    """Of 29 questions, 5% are one."""
    hard = [json.loads(line)["output"] for line in replies.read_text().splitlines()][3 : 3 + failing]

    def sometimes(request: dict[str, Any]) -> str:
        odd = any(f"\n{reply}\n" in asked_text(request) for reply in hard)
        return "Das kommt darauf an." if odd else by_its_beginning(request)

    server = serve(sometimes)
    log = in_inspect(run_inspect, task, replies, server)
    if failing == 1:
        found = in_lm_eval(run_lm_eval, task, replies, server)
        assert found["judge_failed,none"] == figures(log)["judge_failed"] == pytest.approx(1 / 30)
        assert found["bad_rate,none"] == figures(log)["bad_rate"] == pytest.approx(19 / 29)
    else:
        said = r"gave no verdict on 2 of 28 questions \(allowed: 5%"
        with pytest.raises(JudgeError, match=said):
            in_lm_eval(run_lm_eval, task, replies, server)
        assert log.status == "error" and re.search(said, log.error.message)


def test_labels_of_people_are_those_of_the_task(
    task: Path, replies: Path, serve: Run, capsys: Capture, tmp_path: Path
) -> None:
    server, given = serve(by_its_beginning), tmp_path / "labels.csv"
    # of the answers that begin with "Halb", which the judge calls bad, people call a third good
    said = {0: "Belegt", 1: "widerlegt", 2: "0"}
    ids = [json.loads(line)["id"] for line in replies.read_text().splitlines()][2:]
    rows = [
        (id, said[2] if n % 9 == 0 else "teilweise belegt" if n % 3 == 0 else said[n % 3 - 1])
        for n, id in enumerate(ids)
    ]
    given.write_text("id,label\n" + "".join(f"{id},{label}\n" for id, label in rows))
    metrics = in_score(capsys, task, replies, server, "--reference", str(given))["metrics"]
    assert metrics["judge_sensitivity"] == 1.0 and metrics["judge_specificity"] == pytest.approx(9 / 13)
    assert metrics["bad_rate_ppi"] < metrics["bad_rate"]
    given.write_text(f"id,label\n{ids[0]},vielleicht\n")
    assert main(["score", str(task), str(replies), "--judge", "m/j", "--reference", str(given)]) == 2
    assert (
        "label is 'vielleicht', expected yes or no, belegt or teilweise belegt or widerlegt" in capsys.readouterr().err
    )


def test_a_report_and_labels_need_no_task_file(
    task: Path, replies: Path, serve: Run, capsys: Capture, run_inspect: Any, tmp_path: Path
) -> None:
    server, drawn, results = serve(by_its_beginning), tmp_path / "drawn.jsonl", tmp_path / "results.json"
    results.write_text(
        json.dumps(in_score(capsys, task, replies, server, "--model", "m", "--details", str(tmp_path / "d")))
    )
    log = in_inspect(run_inspect, task, replies, server)
    task.unlink()
    assert main(["report", log.location, "-o", str(tmp_path / "report")]) == 0
    (result,) = json.loads((tmp_path / "report" / "report.json").read_text())["results"]
    assert result["metrics"]["share_widerlegt"]["value"] == pytest.approx(9 / 30)
    assert main(["export", "eee", str(results), "-o", str(tmp_path / "eee"), "--model-id", "m=org/m"]) == 0
    exported = "\n".join(path.read_text() for path in (tmp_path / "eee").rglob("*.json"))
    assert "Ist die Antwort durch den Text belegt" in exported and "share_teilweise_belegt" in exported
    assert main(["label", "verdicts", log.location, "--sample", "3", "-o", str(drawn)]) == 3
    assert "3 replies of stuetzung are too few" in capsys.readouterr().err
    first = json.loads(drawn.read_text().splitlines()[0])
    assert first["shown"].startswith("frage: ") and "quelle: " in first["shown"] and first["reply"]
