"""What was paid for is kept: verdicts with their reasons, and replies where a judge fails."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log

from halu_tasks.cli import main
from halu_tasks.core.errors import JudgeError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.judging.verdict_store import VerdictStore
from halu_tasks.replies.scoring import keep_replies
from halu_tasks.scorers.judge import Verdict
from halu_tasks.tasks import build

Serve = Callable[..., Any]
BUILT = build("cfaith_gen", Options(data="sample"))
ITEMS = BUILT.items
REPLIES = [(item, Reply(item.target)) for item in ITEMS[:3]]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def is_probe(request: dict[str, Any]) -> bool:
    return "single word: ready" in str(request["messages"][-1]["content"])


@pytest.fixture
def score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """`score(server, number=4, *arguments)` scores replies with a judge; status, figures, errors and details."""

    def run(server: Any, *arguments: str, number: int = 4) -> tuple[int, Any, str, list[dict[str, Any]]]:
        path, details = tmp_path / "replies.jsonl", tmp_path / "out" / "details.jsonl"
        details.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps({"id": item.id, "output": "回答"}) + "\n" for item in ITEMS[:number]))
        capsys.readouterr()
        status = main(
            ["score", "cfaith_gen", str(path), "--data", "sample", "--partial", "--json", "--details", str(details),
             "--judge", "openai/gpt-4o", "--judge-base-url", server.url, *arguments]
        )  # fmt: skip
        out, err = capsys.readouterr()
        rows = [json.loads(line) for line in details.read_text().splitlines()] if status == 0 else []
        return status, json.loads(out) if status == 0 else None, err, rows

    return run


# --- verdicts and reasons -------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_reason_is_kept_and_told_wherever_the_item_is(
    serve: Serve, score: Callable[..., Any], tmp_path: Path, run_inspect: Callable[..., Any],
    run_lm_eval: Callable[..., dict[str, Any]],
) -> None:  # fmt: skip
    server = serve(lambda request: '{"reason": "年份不符", "verdict": "conflict"}')
    expected = [{"label": "conflict", "reason": "年份不符", "about": ""}]
    for _ in range(2):
        _, found, _, rows = score(server)
        # the second time from the store
        assert [row["verdicts"] for row in rows] == [expected] * 4
    assert sum(not is_probe(request) for request in server.asked) == 4
    (tmp_path / "out" / "figures.json").write_text(json.dumps(found))
    assert main(["report", str(tmp_path / "out" / "figures.json"), "-o", str(tmp_path / "report")]) == 0
    assert "年份不符" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")

    log = run_inspect(
        "cfaith_gen", "halu/baseline", {"judge": "openai/gpt-4o", "judge_base_url": server.url}, limit=2
    )  # fmt: skip
    for sample in read_eval_log(log.location).samples:
        assert "年份不符" in sample.scores["halu_score"].explanation
        assert sample.scores["halu_score"].metadata["halu_tasks"]["score"]["verdicts"] == expected
    from halu_tasks.lm_eval_adapter.models import BaselineLM

    metadata = {"halu_judge": "openai/gpt-4o", "halu_judge_base_url": server.url}
    results = run_lm_eval(["cfaith_gen"], BaselineLM(), metadata, limit=2, log_samples=True)
    assert all("年份不符" in str(sample["filtered_resps"]) for sample in results["samples"]["cfaith_gen"])


def test_each_verdict_of_a_summary_names_its_sentence(serve: Serve, openai: Any, run_inspect: Any) -> None:
    def judge(request: dict[str, Any]) -> str:
        return '{"critique": "It is there.", "supported": "yes"}'

    log = run_inspect("fave", "halu/oracle", model_roles={"grader": openai(serve(judge))}, limit=1)
    (sample,) = log.samples
    verdicts = sample.scores["halu_score"].metadata["halu_tasks"]["score"]["verdicts"]
    assert len(verdicts) > 1
    for verdict in verdicts:
        assert verdict["about"] in sample.output.completion and verdict["reason"] == "It is there."
        assert repr(verdict["about"]) in sample.scores["halu_score"].explanation


def test_a_stored_word_that_is_no_label_is_asked_again(
    serve: Serve, score: Callable[..., Any], halu_cache: Path
) -> None:
    server = serve(lambda request: '{"reason": "why", "verdict": "conflict"}')
    assert score(server)[1]["metrics"]["hallucination_rate"] == 1.0
    with sqlite3.connect(halu_cache / "verdicts.sqlite3") as db:
        db.execute("UPDATE verdicts SET label = 'banana'")
    db.close()
    assert score(server)[1]["metrics"]["hallucination_rate"] == 1.0
    with sqlite3.connect(halu_cache / "verdicts.sqlite3") as db:
        assert {row[0] for row in db.execute("SELECT label FROM verdicts")} == {"conflict"}
    db.close()


@pytest.mark.parametrize(
    "odd", ['{"reason": "y", "verdict": ' + "9" * 5_000 + "}", "{" * 100_000, "\ud800", '{"verdict": "']
)
def test_one_odd_reply_is_a_failed_verdict_and_ends_nothing(odd: str, serve: Serve, score: Callable[..., Any]) -> None:
    first = ITEMS[0].gold["correct_answer"]

    def judge(request: dict[str, Any]) -> str:
        return odd if first in str(request["messages"][-1]["content"]) else '{"reason": "r", "verdict": "conflict"}'

    status, found, _, rows = score(serve(judge), "--judge-max-failures", "0.5")
    assert status == 0 and found["metrics"]["judge_failed"] == 0.25
    assert rows[0]["verdicts"][0]["label"] == "failed" and rows[0]["verdicts"][0]["reason"]


def test_whatever_a_reader_raises_is_a_failed_verdict(
    serve: Serve, score: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halu_tasks.scorers.reading.verdicts.VerdictReader.__call__", lambda *_: 1 / 0)
    status, found, _, rows = score(serve(lambda request: "x"), "--judge-max-failures", "1")
    assert status == 0 and found["metrics"]["judge_failed"] == 1.0
    assert "ZeroDivisionError" in rows[0]["verdicts"][0]["reason"]


@pytest.mark.slow
def test_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    # forked, so that imports do not spread them over time
    program = (
        "import os, pathlib, sys, time\nfrom halu_tasks.judging.verdict_store import Verdict, VerdictStore\n"
        "start, own = time.time() + 0.5, []\n"
        "for number in range(32):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        time.sleep(max(start - time.time(), 0))\n"
        "        try:\n"
        "            store = VerdictStore(pathlib.Path(sys.argv[1]))\n"
        "            store.put(str(number), Verdict('conflict', 'r'))\n"
        "            os._exit(store.get(str(number)) != Verdict('conflict', 'r'))\n"
        "        except BaseException as error:\n"
        "            print(error, file=sys.stderr, flush=True)\n"
        "            os._exit(2)\n"
        "    own.append(pid)\n"
        "sys.exit(sum(os.waitpid(pid, 0)[1] != 0 for pid in own))\n"
    )
    for attempt in range(3):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "cache" / f"{attempt}.sqlite3")],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        with sqlite3.connect(tmp_path / "cache" / f"{attempt}.sqlite3") as db:
            assert db.execute("SELECT count(*) FROM verdicts").fetchone() == (32,)
        db.close()


def test_a_store_that_another_process_is_just_making_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite3"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    # SQLite itself does not wait for this lock when it changes the journal's mode
    threading.Timer(0.3, lambda: other.execute("COMMIT")).start()
    store = VerdictStore(path)
    store.put("a", Verdict("conflict"))
    assert store.get("a") == Verdict("conflict")
    other.close()


# --- what the judge is asked -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_judge_is_asked_for_an_object_and_one_that_refuses_that_is_still_used(
    serve: Serve, score: Callable[..., Any]
) -> None:
    def refuses(request: dict[str, Any]) -> Any:
        return 400 if "response_format" in request else '{"reason": "r", "verdict": "conflict"}'

    server = serve(lambda request: '{"reason": "r", "verdict": "consistent"}')
    assert score(server)[1]["metrics"]["hallucination_rate"] == 0.0
    asked = [request for request in server.asked if not is_probe(request)]
    schema = asked[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["verdict"]["enum"] == ["conflict", "consistent"]
    assert list(schema["properties"]) == ["reason", "verdict"] and len(asked) == 4

    server = serve(refuses)
    _, found, _err, _ = score(server, number=36)
    assert found["metrics"]["hallucination_rate"] == 1.0 and found["metrics"]["judge_failed"] == 0.0
    # refused once for each question of the first round at most
    assert sum("response_format" not in request for request in server.asked) == 37


# --- replies of a judge that fails -----------------------------------------------------------------------


def test_replies_are_never_overwritten(halu_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 7)
    first = keep_replies(BUILT, REPLIES)
    second = keep_replies(BUILT, [(item, Reply("other")) for item, _ in REPLIES])
    monkeypatch.setattr("halu_tasks.replies.scoring._process_folders", {})
    # another container's process of the same number
    third = keep_replies(BUILT, REPLIES[:1])
    assert first.path and second.path and third.path
    assert len({first.path, second.path, third.path}) == 3
    assert [len(kept.path.read_text().splitlines()) for kept in (first, second, third)] == [3, 3, 1]
    assert first.path.is_relative_to(halu_cache / "kept")


def full(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Let nothing be written below some folders, as on a full disk."""
    fsync = os.fsync

    def failing(number: int) -> None:
        written = Path(f"/proc/self/fd/{number}").readlink()
        if any(written.is_relative_to(folder.resolve()) for folder in folders):
            raise OSError(28, "No space left on device")
        fsync(number)

    monkeypatch.setattr(os, "fsync", failing)


def test_on_a_full_disk_replies_go_to_the_results_and_both_errors_are_told(
    serve: Serve, score: Callable[..., Any], halu_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(monkeypatch, halu_cache)
    server = serve(lambda request: "ready" if is_probe(request) else "perhaps")
    status, _, err, _ = score(server)
    assert status == 2 and "gave no verdict on" in err and "No space left on device" in err
    (kept,) = (tmp_path / "out").glob("*/cfaith_gen.jsonl")
    assert str(kept) in err and len(kept.read_text().splitlines()) == 4
    assert not list(halu_cache.glob("kept/*/*"))


def test_where_no_place_is_left_the_message_says_so(
    halu_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    full(monkeypatch, halu_cache, tmp_path)
    kept = keep_replies(BUILT, REPLIES, tmp_path / "results")
    assert kept.path is None and kept.message.startswith("the replies could not be saved: ")
    assert kept.message.count("No space left on device") == 3


def test_a_store_that_cannot_be_opened_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JudgeError, match="HALU_TASKS_CACHE=PATH"):
        VerdictStore(tmp_path / "file" / "verdicts.sqlite3")
    store = VerdictStore(tmp_path / "verdicts.sqlite3")
    store.put("a", Verdict("conflict", "half \ud800"))
    assert store.get("a") == Verdict("conflict", "half ?")
