"""What was paid for: judges stop at their budget, whatever replies cost; verdicts and replies are kept."""

import itertools
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from cases import CASES
from common import Capture, Patch, Run
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelUsage
from judges import (
    BUILT,
    COST,
    ITEMS,
    USAGE,
    asked_text,
    priced,
    questions,
    score,
    verdict,
    write_replies,
)

from halu_tasks.core.errors import BudgetError, JudgeError, UsageError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options, Price
from halu_tasks.judging.chat import chat_server
from halu_tasks.judging.judge_model import Judge
from halu_tasks.judging.stores import Budget, VerdictStore, budget_variables, dollars, open_budget
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM
from halu_tasks.replies.scoring import keep_replies
from halu_tasks.scorers.benchmarks.judged import OPEN_ANSWER
from halu_tasks.scorers.judge import Verdict

PRICE = Price(2.5, 10.0)
BUDGET = ["--judge-price", "2.50/10", "--judge-max-cost"]


# --- runs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_run_stops_before_the_budget_is_passed_and_the_next_asks_only_the_rest(
    folder: bool, serve: Run, judged_replies: Path, tmp_path: Path, capsys: Capture
) -> None:
    server = serve(priced)
    budget = [*(["--work-folder", str(tmp_path / "work")] if folder else []), *BUDGET]
    stopped = score(capsys, judged_replies, server, *budget, "0.06")
    paid = questions(server)
    assert stopped.status == 2 and not stopped.metrics and 10 < paid < 36 and paid * COST <= 0.06
    assert f"spent ${paid * COST:.4f} of $0.0600" in stopped.err
    assert f"{36 - paid} of 36 questions are left for judge openai/gpt-4o" in stopped.err
    assert f"for about {dollars((36 - paid) * COST)} at the average cost so far" in stopped.err
    if folder:
        # it keeps what was spent
        again = score(capsys, judged_replies, server, *budget, "0.06")
        assert again.status == 2 and questions(server) == paid and f"spent ${paid * COST:.4f} of" in again.err
    assert score(capsys, judged_replies, server, *budget, "1").metrics["hallucination_rate"] == pytest.approx(24 / 36)
    assert questions(server) == 36


@pytest.mark.slow
def test_both_harnesses_end_with_an_error_and_keep_what_was_paid(
    serve: Run, judged_replies: Path, run_lm_eval: Run, run_inspect: Run
) -> None:
    def options(prefix: str, server: Any, limit: float) -> dict[str, Any]:
        named = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "judge_price": "2.5/10"}
        return {prefix + name: value for name, value in {**named, "judge_max_cost": limit}.items()}

    server, replayed = serve(priced), {"predictions": str(judged_replies)}
    with pytest.raises(JudgeError, match=r"spent \$0\.\d+ of \$0\.0500.*score cfaith_gen"):
        run_lm_eval(["cfaith_gen"], ReplayLM(str(judged_replies)), options("halu_", server, 0.05))
    assert 0 < questions(server) * COST <= 0.05

    server = serve(priced)
    log = run_inspect("cfaith_gen", "halu/replay", options("", server, 0.05), model_args=replayed)
    assert log.status == "error" and "judging stopped at judge_max_cost" in log.error.message
    assert 0 < questions(server) * COST <= 0.05
    log = run_inspect("cfaith_gen", "halu/replay", options("", server, 5), model_args=replayed)
    assert read_eval_log(log.location).results.scores[0].metrics["hallucination_rate"].value == pytest.approx(24 / 36)
    assert questions(server) == 36


def test_a_budget_does_not_slow_a_run_whose_replies_are_short(
    serve: Run, judged_replies: Path, capsys: Capture
) -> None:
    lock, in_flight, most = threading.Lock(), 0, 0

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal in_flight, most
        with lock:
            in_flight += 1
            most = max(most, in_flight)
        time.sleep(0.2)
        with lock:
            in_flight -= 1
        return priced(request)

    # room for six replies of the longest kind
    scored = score(capsys, judged_replies, serve(answer), *BUDGET, "1", "--judge-max-tokens", "16000")
    assert scored.status == 0 and most > 12


@pytest.mark.parametrize("reported", [{"prompt_tokens": -400}, {"completion_tokens": -100}])
def test_a_usage_below_zero_is_not_free(
    reported: dict[str, int], serve: Run, judged_replies: Path, capsys: Capture
) -> None:
    server = serve(lambda request: {**priced(request), "usage": USAGE | reported})
    stopped = score(capsys, judged_replies, server, *BUDGET, "0.1")
    # each counts as the most that it can have cost
    assert stopped.status == 2 and 0 < questions(server) < 12 and "spent $0.0" in stopped.err


def test_calls_that_may_have_been_charged_count(serve: Run, judged_replies: Path, capsys: Capture) -> None:
    # a reply without a usage is taken to have cost as much as it could
    server = serve(lambda request: {"object": "nonsense"} if "=====" in asked_text(request) else priced(request))
    scored = score(capsys, judged_replies, server, *BUDGET, "0.2", "--judge-max-failures", "1")
    assert scored.status == 2 and "judging stopped" in scored.err and questions(server) < 36


@pytest.mark.parametrize("harness", ["score", "inspect"])
@pytest.mark.parametrize("failure", [None, 503, 429, b"<html>"])
def test_each_request_on_the_wire_is_in_the_ledger(failure: Any, harness: str, serve: Run, monkeypatch: Patch) -> None:
    monkeypatch.setattr("halu_tasks.judging.reaching._LONGEST_PAUSE", 0.0)
    count = itertools.count()
    # every other request fails, and where no status says that it costs nothing, it may be charged
    server = serve(lambda request: failure if next(count) % 2 else priced(request))
    options = Options(judge="openai/gpt-4o", judge_base_url=server.url, judge_max_cost=0.2, judge_price="2.5/10")

    async def run() -> Judge:
        judge = Judge(None, OPEN_ANSWER, options)
        async with judge.model, chat_server(judge.model) as server_of_judge:
            # in a run of Inspect, its client asks
            judge.server = server_of_judge if harness == "score" else None
            with suppress(JudgeError):
                await judge.judge_replies([(item, item.target) for item in ITEMS[:3]], lambda: None)
        return judge

    judge = anyio.run(run)
    assert judge.budget and len(server.asked) == judge.budget.calls > 3
    charged = judge.budget.calls // 2 if failure in (None, b"<html>") else 0
    assert charged * 0.01 <= judge.budget.spent <= 0.2  # a failed request costs as much as the longest reply


def test_an_unknown_price_is_an_error_before_anything_is_asked(
    serve: Run, judged_replies: Path, capsys: Capture
) -> None:
    server = serve(priced)
    error = score(capsys, judged_replies, server, "--judge-max-cost", "1").err
    assert "the price of openai/gpt-4o is unknown" in error and "judge_price=2.50/10" in error
    assert error.count("\n") == 1 and not server.asked


@pytest.mark.slow
def test_a_grader_in_inspect_has_the_budget(serve: Run, judged_replies: Path, run_inspect: Any, openai: Any) -> None:
    log = run_inspect(
        "cfaith_gen", "halu/replay", {"judge_max_cost": 0.05, "judge_price": "2.5/10"},
        model_args={"predictions": str(judged_replies)}, model_roles={"grader": openai(serve(priced))},
    )  # fmt: skip
    assert log.status == "error" and re.search(r"spent \$0\.0\d+ of \$0\.0500", log.error.message)


@pytest.mark.parametrize(("options", "message"), CASES["faults_of_the_options_are_named"])
def test_faults_of_the_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Options(**options)


# --- the budget ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(st.floats(0.01, 3.0), min_size=1, max_size=40), st.floats(0.1, 20.0))
@pytest.mark.slow
def test_the_limit_holds_if_no_call_costs_more_than_expected_and_none_is_in_flight_when_it_stops(
    costs: list[float], limit: float
) -> None:
    async def run() -> None:
        budget, in_flight, stopped = Budget(limit, PRICE), 0, 0

        async def one(cost: float) -> None:
            nonlocal in_flight, stopped
            try:
                await budget.admit(lambda: max(costs))
            except BudgetError:
                stopped += 1
                assert in_flight == 0
                return
            in_flight += 1
            await anyio.sleep(0)
            in_flight -= 1
            budget.settle(cost)

        async with anyio.create_task_group() as group:
            for cost in costs:
                group.start_soon(one, cost)
        assert budget.spent <= limit + 1e-9 and budget.calls + stopped == len(costs)
        if stopped:
            assert budget.spent + max(costs) > limit

    anyio.run(run)


SHARED = """
import sys
from pathlib import Path
import anyio
from halu_tasks.core.options import Price
from halu_tasks.judging.stores import Budget
async def ask():
    budget = Budget(1.0, Price(1.0, 1.0), Path(sys.argv[1]))
    for _ in range(2):
        await budget.admit(lambda: 0.3)
        budget.settle(0.4)
    print("asked", flush=True)
    sys.stdin.read()
anyio.run(ask)
"""


@pytest.mark.slow
def test_what_other_processes_have_spent_counts_also_if_they_were_killed(tmp_path: Path) -> None:
    path = tmp_path / "costs.sqlite3"
    other = subprocess.Popen(
        [sys.executable, "-c", SHARED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout and other.stdout.readline() == "asked\n"
    other.kill()
    other.communicate()

    async def ask(limit: float) -> None:
        budget = Budget(limit, PRICE, path)
        await budget.admit(lambda: 0.2)
        budget.settle(0.1)

    anyio.run(ask, 1.0)
    with pytest.raises(
        BudgetError, match=r"spent \$0\.9000 of \$1\.0000, and the next question is expected to cost \$0\.2"
    ):
        anyio.run(ask, 1.0)
    anyio.run(ask, 1.2)


def test_a_call_waits_for_those_in_flight_which_may_leave_room(tmp_path: Path) -> None:
    order = []

    async def run() -> None:
        budget = Budget(1.0, PRICE)

        async def call(name: str) -> None:
            await budget.admit(lambda: 0.6)
            await anyio.sleep(0.05)
            order.append(name)
            budget.settle(0.2)

        async with anyio.create_task_group() as group:
            for name in ("first", "second", "third"):
                group.start_soon(call, name)
        with pytest.raises(BudgetError, match=r"spent \$0\.6000"):
            await budget.admit(lambda: 0.6)

    anyio.run(run)
    assert order == ["first", "second", "third"]


def test_costs_that_can_no_longer_be_written_stop_the_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        budget = Budget(1.0, PRICE, tmp_path / "costs.sqlite3")
        await budget.admit(lambda: 0.1)
        budget._db.execute("PRAGMA query_only = 1")
        # what was paid for is not lost
        budget.settle(0.1)
        assert "cannot be recorded (attempt to write a readonly database)" in caplog.text
        with pytest.raises(BudgetError, match="none is asked; make the file writable"):
            await budget.admit(lambda: 0.1)

    anyio.run(run)


def test_a_file_of_costs_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "costs.sqlite3").write_text("this is no database, and nothing may be asked on its account" * 20)
    with pytest.raises(BudgetError, match=r"costs\.sqlite3: what judges cost cannot be recorded \(file is not a data"):
        Budget(1.0, PRICE, tmp_path / "costs.sqlite3")


def test_the_environment_says_what_judges_may_cost(monkeypatch: Patch, tmp_path: Path) -> None:
    model = "mockllm/model"
    assert open_budget(Options(), model, None) is None
    variables = budget_variables({"judge_max_cost": 0.5, "judge_price": "2.5/10", "data": "sample"}, tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    budget = open_budget(Options(), model, None)
    assert budget and budget.limit == 0.5 and budget.highest_cost("", 100_000) > 1
    assert (tmp_path / "judge_costs.sqlite3").exists()
    # an option of the run has precedence
    stated = open_budget(Options(judge_max_cost=2.0, judge_price="1/1"), model, None)
    assert stated and stated.limit == 2.0
    monkeypatch.setenv("HALU_TASKS_JUDGE_MAX_COST", "much")
    with pytest.raises(UsageError, match="HALU_TASKS_JUDGE_MAX_COST: expected a number, got 'much'"):
        open_budget(Options(), model, None)


def test_the_most_that_a_call_can_cost_covers_what_it_costs() -> None:
    prompt, budget = "判断下面的回答" * 100, Budget(1.0, PRICE)
    usage = ModelUsage(input_tokens=700, input_tokens_cache_read=700, output_tokens=1024)
    assert budget.cost(usage, 9.0) == pytest.approx((1400 * 2.5 + 1024 * 10) / 1e6)
    assert budget.highest_cost(prompt, 1024) >= budget.cost(usage, 9.0)


# --- verdicts -----------------------------------------------------------------------------------


def test_a_stored_word_that_is_no_label_is_asked_again(
    serve: Run, tmp_path: Path, capsys: Capture, halu_cache: Path
) -> None:
    replies, server = write_replies(tmp_path / "r.jsonl", ["回答"] * 4), serve(lambda request: verdict("conflict"))
    for stored in ("banana", "conflict"):
        assert score(capsys, replies, server).metrics["hallucination_rate"] == 1.0
        with sqlite3.connect(halu_cache / "verdicts.sqlite3") as db:
            assert {row[0] for row in db.execute("SELECT label FROM verdicts")} == {"conflict"}
            db.execute("UPDATE verdicts SET label = ?", (stored,))
        db.close()
    assert questions(server) == 8


@pytest.mark.slow
def test_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    # forked, so that imports do not spread them over time
    program = (
        "import os, pathlib, sys, time\nfrom halu_tasks.judging.stores import Verdict, VerdictStore\n"
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
        path = tmp_path / "cache" / f"{attempt}.sqlite3"
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with sqlite3.connect(path) as db:
            assert db.execute("SELECT count(*) FROM verdicts").fetchone() == (32,)
        db.close()


def test_a_damaged_store_is_to_be_moved_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "verdicts.sqlite3"
    path.write_text("no database " * 1_000)
    with pytest.raises(JudgeError, match=r"not a database\); the file is damaged: move verdicts\.sqlite3\* out of"):
        VerdictStore(path)
    path.unlink()
    store = VerdictStore(path)
    store.put("a", Verdict("conflict"))
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    assert VerdictStore(path).get("a") is None
    assert f"move verdicts.sqlite3* out of {tmp_path}" in caplog.text


def test_a_store_that_cannot_be_opened_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JudgeError, match="HALU_TASKS_CACHE=PATH"):
        VerdictStore(tmp_path / "file" / "verdicts.sqlite3")
    store = VerdictStore(tmp_path / "verdicts.sqlite3")
    store.put("a", Verdict("conflict", "half \ud800"))
    assert store.get("a") == Verdict("conflict", "half ?")


# --- replies of a harness whose judge fails -----------------------------------------------------


def test_replies_are_never_overwritten_and_go_elsewhere_if_the_disk_is_full(
    halu_cache: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    replies = [(item, Reply(item.target)) for item in ITEMS[:3]]
    first, second = keep_replies(BUILT, replies), keep_replies(BUILT, replies[:1])
    assert first and second and first != second
    assert [len(path.read_text().splitlines()) for path in (first, second)] == [3, 1]
    assert first.is_relative_to(halu_cache / "kept")

    fsync, full = os.fsync, [halu_cache.resolve()]

    def failing(number: int) -> None:
        if any(Path(f"/proc/self/fd/{number}").readlink().is_relative_to(folder) for folder in full):
            raise OSError(28, "No space left on device")
        fsync(number)

    monkeypatch.setattr(os, "fsync", failing)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    elsewhere = keep_replies(BUILT, replies)
    assert elsewhere and elsewhere.is_relative_to(tmp_path / "temporary")
    full.append(tmp_path.resolve())
    assert keep_replies(BUILT, replies) is None
