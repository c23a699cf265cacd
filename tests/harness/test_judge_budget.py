"""The budget of judges: it is not passed, whatever replies cost, and what was paid is kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelUsage, get_model
from test_judge import ITEMS, asked_text, by_rule

from halu_tasks.cli import main
from halu_tasks.core.errors import BudgetError, JudgeError, UsageError
from halu_tasks.core.options import JudgeOptions, Options
from halu_tasks.judging.budget import Budget, Price, dollars, open_budget
from halu_tasks.judging.judge import Judge
from halu_tasks.judging.shared_budget import budget_variables
from halu_tasks.lm_eval_adapter.models import ReplayLM
from halu_tasks.scorers.benchmarks.judged import OPEN_ANSWER

Serve = Callable[..., Any]
Capture = pytest.CaptureFixture[str]
PRICE = Price(2.5, 10.0)
USAGE = {"prompt_tokens": 400, "completion_tokens": 100, "total_tokens": 500}
COST = (400 * 2.5 + 100 * 10) / 1e6
"""What each scripted verdict costs."""


def priced(request: dict[str, Any]) -> dict[str, Any]:
    """Answer by the rule, with the usage of a real judge."""
    message = {"role": "assistant", "content": by_rule(request)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = USAGE if "=====" in asked_text(request) else {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    rows = [{"id": item.id, "output": item.target if n % 3 == 0 else f"不知道{n}"} for n, item in enumerate(ITEMS)]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def judge(server: Any, *more: str) -> list[str]:
    return ["--data", "sample", "--judge", "openai/gpt-4o", "--judge-base-url", server.url, *more]


def questions(server: Any) -> int:
    return sum("=====" in asked_text(request) for request in server.asked)


def test_a_run_stops_before_the_budget_is_passed_and_the_next_asks_only_the_rest(
    serve: Serve, replies: Path, capsys: Capture
) -> None:
    server = serve(priced)
    budget = judge(server, "--judge-price", "2.50/10", "--judge-max-cost")
    # room for some verdicts, and for what the last one may cost with all its retries
    assert main(["score", "cfaith_gen", str(replies), *budget, "0.1", "--json"]) == 2
    printed = capsys.readouterr()
    paid = questions(server)
    assert 10 < paid < 36 and paid * COST <= 0.1
    assert not printed.out
    message = printed.err
    assert f"spent ${paid * COST:.4f} of $0.1000" in message
    assert f"{36 - paid} of 36 questions are left for judge openai/gpt-4o" in message
    assert f"for about {dollars((36 - paid) * COST)} at the average cost so far" in message
    assert "--judge-max-cost 0.1 --judge-price 2.50/10" in message  # the command that goes on
    assert main(["score", "cfaith_gen", str(replies), *budget, "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["hallucination_rate"] == pytest.approx(24 / 36)
    assert questions(server) == 36


@pytest.mark.slow
def test_a_work_folder_keeps_what_was_spent(serve: Serve, replies: Path, tmp_path: Path, capsys: Capture) -> None:
    server = serve(priced)
    work = ["--work-folder", str(tmp_path / "work"), "--json"]
    budget = judge(server, *work, "--judge-price", "2.50/10", "--judge-max-cost")
    assert main(["score", "cfaith_gen", str(replies), *budget, "0.1"]) == 2
    assert main(["score", "cfaith_gen", str(replies), *budget, "0.1"]) == 2
    paid = questions(server)
    assert 10 < paid < 36
    assert f"spent ${paid * COST:.4f} of $0.1000" in capsys.readouterr().err
    assert main(["score", "cfaith_gen", str(replies), *budget, "1"]) == 0
    assert questions(server) == 36


@pytest.mark.slow
def test_lm_eval_ends_with_an_error_that_names_the_replies(
    serve: Serve, replies: Path, run_lm_eval: Callable[..., dict[str, Any]]
) -> None:
    server = serve(priced)
    options = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "judge_price": "2.5/10", "judge_max_cost": 0.08}
    with pytest.raises(JudgeError, match=r"spent \$0\.\d+ of \$0\.0800.*score cfaith_gen"):
        run_lm_eval(["cfaith_gen"], ReplayLM(str(replies)), {f"halu_{name}": v for name, v in options.items()})
    assert 0 < questions(server) * COST <= 0.08


@pytest.mark.slow
def test_inspect_ends_with_an_error_and_keeps_verdicts(
    serve: Serve, replies: Path, run_inspect: Callable[..., Any]
) -> None:
    server = serve(priced)
    options = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "judge_price": "2.5/10", "judge_max_cost": 0.08}
    log = run_inspect("cfaith_gen", "halu/replay", options, model_args={"predictions": str(replies)})
    assert log.status == "error" and "judging stopped before it could cost more" in log.error.message
    assert 0 < questions(server) * COST <= 0.08
    log = run_inspect(
        "cfaith_gen", "halu/replay", options | {"judge_max_cost": 5}, model_args={"predictions": str(replies)}
    )
    assert read_eval_log(log.location).results.scores[0].metrics["hallucination_rate"].value == pytest.approx(24 / 36)
    assert questions(server) == 36


def test_calls_that_may_have_been_charged_count(serve: Serve, replies: Path, capsys: Capture) -> None:
    def cut(request: dict[str, Any]) -> Any:
        return {"object": "nonsense"} if "=====" in asked_text(request) else priced(request)

    # a reply without a usage is taken to have cost as much as it could
    server = serve(cut)
    arguments = judge(server, "--judge-price", "2.5/10", "--judge-max-cost", "0.2", "--judge-max-failures", "1")
    assert main(["score", "cfaith_gen", str(replies), *arguments]) == 2
    assert "judging stopped" in capsys.readouterr().err
    assert questions(server) < 36


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_a_question_that_comes_again_before_it_is_answered_is_asked_and_paid_once(
    fails: bool, serve: Serve, tmp_path: Path, capsys: Capture, run_inspect: Callable[..., Any]
) -> None:
    def answer(request: dict[str, Any]) -> Any:
        if fails and ITEMS[0].target in asked_text(request):
            return "perhaps"
        return priced(request)

    server = serve(answer, delay=0.05)
    rows = [{"id": item.id, "output": item.target, "epoch": n} for item in ITEMS for n in (1, 2, 3)]
    path = tmp_path / "thrice.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    # a failing question is asked twice, whether or not others wait for it
    assert main(["score", "cfaith_gen", str(path), *judge(server), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)["metrics"]
    assert scored["judge_failed"] == pytest.approx(fails / 36)
    assert questions(server) == 36 + fails
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[3:] if row["epoch"] == 1))
    options = {"judge": "openai/gpt-3.5", "judge_base_url": server.url, "judge_max_cost": 5, "judge_price": "2.5/10"}
    run_inspect("cfaith_gen", "halu/replay", options, model_args={"predictions": str(path)}, epochs=2)
    # the item without a reply is not judged
    assert questions(server) == 36 + fails + 35


def test_another_asker_takes_over_when_the_first_is_cancelled(serve: Serve, tmp_path: Path) -> None:
    server = serve(priced, delay=0.05)
    model = get_model("openai/gpt-4o", base_url=server.url, memoize=False)
    options = JudgeOptions(judge_max_cost=5.0, judge_price="2.5/10")
    asked = Judge(model, OPEN_ANSWER, options, store=tmp_path / "verdicts")
    labels: list[str] = []

    async def ask(scope: anyio.CancelScope) -> None:
        with scope:
            labels.extend(verdict.label for verdict in await asked.of_reply(ITEMS[0], ITEMS[0].target))

    async def run() -> None:
        scopes = [anyio.CancelScope() for _ in range(3)]
        async with anyio.create_task_group() as group:
            for scope in scopes:
                group.start_soon(ask, scope)
            await anyio.sleep(0.01)
            scopes[0].cancel()

    anyio.run(run)
    # the cancelled call may be charged; one of the others asked again, and shared its verdict
    assert labels == ["consistent"] * 2 and asked.budget and asked.budget.calls == 2


def test_an_unknown_price_is_an_error_before_anything_is_asked(serve: Serve, replies: Path, capsys: Capture) -> None:
    server = serve(priced)
    assert main(["score", "cfaith_gen", str(replies), *judge(server, "--judge-max-cost", "1")]) == 2
    error = capsys.readouterr().err
    assert "the price of openai/gpt-4o is unknown" in error and "judge_price=2.50/10" in error
    assert error.count("\n") == 1 and not server.asked


@pytest.mark.slow
def test_the_price_that_inspect_was_given_is_used(serve: Serve, replies: Path, run_inspect: Any, openai: Any) -> None:
    from inspect_ai.model import ModelCost, set_model_cost
    from inspect_ai.model._model_info import clear_model_info_cache

    set_model_cost("openai/gpt-4o", ModelCost(input=2.5, output=10, input_cache_write=2.5, input_cache_read=1.25))
    try:
        log = run_inspect(
            "cfaith_gen", "halu/replay", {"judge_max_cost": 0.08}, model_args={"predictions": str(replies)},
            model_roles={"grader": openai(serve(priced))},
        )  # fmt: skip
    finally:
        clear_model_info_cache()
    assert log.status == "error" and re.search(r"spent \$0\.0\d+ of \$0\.0800", log.error.message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge-max-cost", "0"], "option judge_max_cost: expected dollars, more than 0, got 0"),
        (["--judge-max-cost", "1", "--judge-price", "2.5"], "expected prices of a million input and output tokens"),
        (["--judge-max-cost", "1", "--judge-price", "0/0"], "got '0/0'"),
        (["--judge-price", "2.5/10"], "option judge_price: only has a meaning with judge_max_cost"),
    ],
)
def test_faults_of_the_options_are_one_line(arguments: list[str], message: str, replies: Path, capsys: Capture) -> None:
    assert main(["score", "cfaith_gen", str(replies), "--data", "sample", "--judge", "openai/m", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 1.0), st.integers(1, 4)), min_size=1, max_size=40),
    st.floats(0.1, 20.0),
)
@pytest.mark.slow
def test_whatever_calls_cost_the_limit_holds_and_none_is_on_its_way_when_it_stops(
    calls: list[tuple[float, float, int]], limit: float
) -> None:
    async def run() -> None:
        budget, under_way, stopped = Budget(limit), 0, 0

        async def one(attempt: float, share: float, attempts: int) -> None:
            nonlocal under_way, stopped
            try:
                number = await budget.reserve(attempt * attempts)
            except BudgetError:
                stopped += 1
                assert under_way == 0
                return
            under_way += 1
            await anyio.sleep(0)
            under_way -= 1
            budget.settle(number, attempt * attempts * share)

        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(one, *call)
        assert budget.spent <= limit + 1e-9 and budget.calls + stopped == len(calls)
        if sum(attempt * attempts for attempt, _, attempts in calls) <= limit:
            assert not stopped

    anyio.run(run)


SHARED = """
import sys
from pathlib import Path
import anyio
from halu_tasks.judging.budget import Budget
print(anyio.run(Budget(1.0, Path(sys.argv[1])).reserve, 0.6), flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_the_calls_of_other_processes_count_and_those_of_a_killed_one_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halu_tasks.judging.budget._PATIENCE", 1.0)
    path = tmp_path / "costs.sqlite3"
    other = subprocess.Popen(
        [sys.executable, "-c", SHARED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout and other.stdout.readline() == "1\n"
    other.kill()
    other.communicate()

    async def ask(limit: float, most: float, cost: float) -> None:
        budget = Budget(limit, path)
        budget.settle(await budget.reserve(most), cost)

    anyio.run(ask, 1.0, 0.4, 0.1)
    with pytest.raises(
        BudgetError, match=r"spent \$0\.7000 of \$1\.0000 \(\$0\.6000 of it for questions that were inter"
    ):
        anyio.run(ask, 1.0, 0.4, 0.1)
    # nobody waits for them a second time
    monkeypatch.setattr("halu_tasks.judging.budget._PATIENCE", 600.0)
    with pytest.raises(BudgetError):
        anyio.run(ask, 1.0, 0.4, 0.1)
    anyio.run(ask, 1.5, 0.4, 0.1)
    assert Budget(1.0, path).costs() == pytest.approx((0.2, 0.6, 0))


@pytest.mark.slow
def test_a_call_waits_for_those_of_a_process_that_still_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "costs.sqlite3"
    order = []

    async def call(budget: Budget, seconds: float, name: str) -> None:
        number = await budget.reserve(0.6)
        await anyio.sleep(seconds)
        budget.settle(number, 0.2)
        order.append(name)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(call, Budget(1.0, path), 2.0, "first")
            await anyio.sleep(0.1)
            group.start_soon(call, Budget(1.0, path), 0.0, "second")

    anyio.run(run)
    assert order == ["first", "second"]
    assert Budget(1.0, path).costs() == pytest.approx((0.4, 0.0, 0))


def test_a_file_of_costs_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "costs.sqlite3").write_text("this is no database, and nothing may be asked on its account" * 20)
    with pytest.raises(
        BudgetError, match=r"costs\.sqlite3: what judges cost cannot be recorded \(file is not a database"
    ):
        Budget(1.0, tmp_path / "costs.sqlite3")


def test_the_environment_says_what_judges_may_cost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert open_budget(Options(), None)[0] is None
    variables = budget_variables({"judge_max_cost": 0.5, "judge_price": "2.5/10", "data": "sample"}, tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    budget, options = open_budget(Options(), None)
    assert budget and budget.limit == 0.5 and options.judge_price == "2.5/10"
    assert (tmp_path / "judge_costs.sqlite3").exists()
    # an option of the run has precedence
    stated, _ = open_budget(Options(judge_max_cost=2.0, judge_price="1/1"), None)
    assert stated and stated.limit == 2.0
    monkeypatch.setenv("HALU_TASKS_JUDGE_MAX_COST", "much")
    with pytest.raises(UsageError, match="HALU_TASKS_JUDGE_MAX_COST: expected dollars, more than 0, got 'much'"):
        open_budget(Options(), None)


def test_the_most_that_a_call_can_cost_covers_what_it_costs() -> None:
    prompt = "判断下面的回答" * 100
    usage = ModelUsage(input_tokens=700, input_tokens_cache_read=700, output_tokens=1024)
    assert PRICE.cost(usage) == pytest.approx((1400 * 2.5 + 1024 * 10) / 1e6)
    assert PRICE.most(prompt, 1024) >= PRICE.cost(usage)
