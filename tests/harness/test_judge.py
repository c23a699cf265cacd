"""The judge with a real server on loopback: in both harnesses and on the command line; slow, failing,
talking nonsense, and being talked to."""

import gzip
import itertools
import json
import re
import shlex
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from common import Capture, Patch, Run, fenced, write_rows
from inspect_ai.model import GenerateConfig, get_model
from item_values import check_items
from judges import (
    ITEMS,
    asked_text,
    by_rule,
    figures,
    is_question,
    priced,
    questions,
    score,
    verdict,
    write_replies,
)
from loopback import Handler, Server, completion

from halu_tasks.cli import main
from halu_tasks.core.errors import JudgeError, ModelError
from halu_tasks.core.options import Options
from halu_tasks.judging import judge_model as judging
from halu_tasks.judging.judge_model import Judge
from halu_tasks.lm_eval_adapter import task as lm_eval_task
from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM, ReplayLM
from halu_tasks.scorers.benchmarks.judged import OPEN_ANSWER
from halu_tasks.tasks import build, registry


def judged(server: Any, prefix: str = "halu_") -> dict[str, Any]:
    return {f"{prefix}judge": "openai/gpt-4o", f"{prefix}judge_base_url": server.url}


# --- figures ------------------------------------------------------------------------------------


def test_the_same_judge_gives_the_same_rates_and_reasons_everywhere(
    serve: Run, judged_replies: Path, capsys: Capture, run_lm_eval: Run, run_inspect: Run
) -> None:
    server = serve(by_rule)
    scored = score(capsys, judged_replies, server)
    assert scored.metrics["hallucination_rate"] == pytest.approx(24 / 36) and scored.metrics["judge_failed"] == 0.0
    assert scored.details[1]["verdicts"] == [{"label": "conflict", "reason": "…", "about": ""}]
    assert len(server.asked) == 36 + 1  # the question whether it is there, and one for each reply

    run = run_lm_eval(["cfaith_gen"], ReplayLM(str(judged_replies)), judged(server))
    found = run["results"]["cfaith_gen"]
    arguments = {"predictions": str(judged_replies)}
    log = run_inspect("cfaith_gen", "halu/replay", judged(server, ""), model_args=arguments)
    for name, value in scored.metrics.items():
        assert found[f"{name},none"] == value == figures(log)[name], name
    assert Counter(check_items(registry()[0]["cfaith_gen"], log, run)) == {1: 12, 0: 24}
    assert log.results.headline.metric == "net"
    assert all("…" in str(sample["filtered_resps"]) for sample in run["samples"]["cfaith_gen"])
    assert all("…" in sample.scores["halu_score"].explanation for sample in log.samples)
    # the verdicts were kept: each harness asked only whether the judge is there
    assert len(server.asked) == 36 + 3


def test_a_grader_that_is_asked_in_batches_may_wait_for_them() -> None:
    model = get_model("mockllm/model", config=GenerateConfig(batch=True), memoize=False)
    judge = Judge(model, OPEN_ANSWER, Options())
    assert judge.model.config.attempt_timeout is None and judge.model.config.max_connections is None
    assert Judge(get_model("mockllm/model", memoize=False), OPEN_ANSWER, Options()).model.config.attempt_timeout


def test_each_verdict_of_a_summary_names_its_sentence(serve: Run, openai: Any, run_inspect: Any) -> None:
    grader = openai(serve(lambda request: '{"critique": "It is there.", "supported": "yes"}'))
    (sample,) = run_inspect("fave", "halu/oracle", model_roles={"grader": grader}, limit=1).samples
    verdicts = sample.scores["halu_score"].metadata["halu_tasks"]["verdicts"]
    assert len(verdicts) > 1
    for each in verdicts:
        assert each["about"] in sample.output.completion and each["reason"] == "It is there."
        assert repr(each["about"]) in sample.scores["halu_score"].explanation


def test_a_run_records_its_judge_but_neither_its_address_nor_its_price() -> None:
    known, of_costs = ("sensitivity:0.9", "specificity:0.9"), {"judge_max_cost": 1.0, "judge_price": "1/1"}
    options = Options(data="sample", judge="m/j", judge_base_url="http://x", assume=known, **of_costs)
    assert build("cfaith_gen", options).provenance.options == {"judge": "m/j", "assume": [*known]}


# --- judges that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", [500, 401])
@pytest.mark.slow
def test_a_judge_that_cannot_be_reached_stops_the_run_before_generation(
    status: int, serve: Run, run_lm_eval: Run, run_inspect: Run, monkeypatch: Patch
) -> None:
    # Inspect and the judge try again, and nobody need wait seconds for that here
    monkeypatch.setattr("tenacity.wait_exponential_jitter.__call__", lambda *_: 0.0)
    monkeypatch.setattr("halu_tasks.judging.reaching._LONGEST_PAUSE", 0.0)

    class Unasked(OracleLM):
        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            raise AssertionError("generated although the judge is not there")

    server = serve(lambda request: status)
    with pytest.raises(JudgeError, match=r"judge openai/gpt-4o cannot be reached: [^\n]+"):
        run_lm_eval(["cfaith_gen"], Unasked(), judged(server))
    with pytest.raises(JudgeError, match="cannot be reached"):
        run_inspect("cfaith_gen", "halu/oracle", judged(server, ""))
    grader = get_model("openai/gpt-4o", base_url=serve(by_rule, ready=status).url, memoize=False)
    with pytest.raises(ModelError, match=r"cannot be reached|rejects the API key"):
        run_inspect("cfaith_gen", "halu/oracle", model_roles={"grader": grader})


def test_an_unknown_judge_is_named(run_lm_eval: Run) -> None:
    with pytest.raises(JudgeError, match="judge 'nobody/nothing'"):
        run_lm_eval(["cfaith_gen"], OracleLM(), {"halu_judge": "nobody/nothing"})


@pytest.mark.slow
def test_failures_are_counted_never_scored_and_never_kept(
    serve: Run, run_lm_eval: Run, run_inspect: Run, monkeypatch: Patch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(lm_eval_task.logger, "warning", warnings.append)
    nonsense = True

    def sometimes(request: dict[str, Any]) -> str:
        hard = ITEMS[0].target in asked_text(request)
        return "It depends on what you mean." if hard and nonsense else by_rule(request)

    server = serve(sometimes)
    run = run_lm_eval(["cfaith_gen"], OracleLM(), judged(server) | {"halu_judge_max_failures": 0.1})
    found = run["results"]["cfaith_gen"]
    assert found["judge_failed,none"] == pytest.approx(1 / 36)
    assert found["hallucination_rate,none"] == 0.0 and found["sample_len"] == 36
    (warning,) = warnings
    bounds = f"left out of net, which is {34 / 36:.4f} to 1.0000 with them"
    assert warning == f"cfaith_gen: 1 of 36 questions (2.8%) have no verdict of the judge and are {bounds}"
    log = run_inspect("cfaith_gen", "halu/oracle", judged(server, "") | {"judge_max_failures": 0.1})
    assert Counter(check_items(registry()[0]["cfaith_gen"], log, run)) == {1: 35, None: 1}
    assert (log.results.scores[0].scored_samples, log.results.scores[0].unscored_samples) == (36, 0)
    scores = [sample.scores["halu_score"] for sample in log.samples]
    assert [score.reason for score in scores if score.value == "N"] == ["grader_failed"]
    nonsense = False
    before = len(server.asked)
    found = run_lm_eval(["cfaith_gen"], OracleLM(), judged(server))["results"]["cfaith_gen"]
    assert found["judge_failed,none"] == 0.0
    assert len(server.asked) - before == 2  # is it there, and the one that failed


def test_too_many_failures_are_an_error_and_no_reply_is_lost(serve: Run, run_lm_eval: Run, capsys: Capture) -> None:
    working = False
    server = serve(lambda request: by_rule(request) if working or not is_question(request) else "perhaps")
    with pytest.raises(JudgeError, match=r"gave no verdict on \d+ of \d+ questions \(allowed: 5%") as caught:
        run_lm_eval(["cfaith_gen", "refact_correction"], OracleLM(), judged(server))
    assert "in the reply 'perhaps' (no verdict)" in str(caught.value) and "run again to ask only" in str(caught.value)
    assert "replies to other tasks were kept: refact_correction" in str(caught.value)
    _, _, command = str(caught.value).partition("score them with: halu-tasks ")
    working = True
    command, _, _ = command.partition(";")
    (other,) = re.findall(r"refact_correction \((.+?)\)", str(caught.value))
    assert main(["score", "refact_correction", other, "--data", "sample", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["em"] == 1.0
    assert main([*shlex.split(command), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["metrics"]["hallucination_rate"] == 0.0 and scored["missing"] == 0


@pytest.mark.parametrize(
    "odd", ['{"reason": "y", "verdict": ' + "9" * 5_000 + "}", "{" * 100_000, "\ud800", '{"verdict": "']
)
def test_one_odd_reply_is_a_failed_verdict_and_ends_nothing(
    odd: str, serve: Run, tmp_path: Path, capsys: Capture
) -> None:
    first = ITEMS[0].gold.correct_answer
    server = serve(lambda request: odd if first in asked_text(request) else verdict("conflict"))
    replies = write_replies(tmp_path / "r.jsonl", ["回答"] * 4)
    scored = score(capsys, replies, server, "--judge-max-failures", "0.5")
    assert scored.status == 0 and scored.metrics["judge_failed"] == 0.25
    assert scored.details[0]["verdicts"][0]["label"] == "failed" and scored.details[0]["verdicts"][0]["reason"]


def test_whatever_a_reader_raises_is_a_failed_verdict(
    serve: Run, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("halu_tasks.scorers.reading.verdicts.VerdictReader.__call__", lambda *_: 1 / 0)
    replies = write_replies(tmp_path / "r.jsonl", ["回答"])
    scored = score(capsys, replies, serve(lambda request: "x"), "--judge-max-failures", "1")
    assert scored.status == 0 and scored.metrics["judge_failed"] == 1.0
    assert "ZeroDivisionError" in scored.details[0]["verdicts"][0]["reason"]


@pytest.fixture
def no_pause(monkeypatch: Patch) -> None:
    """No pause before a failed request is made again."""
    monkeypatch.setattr("halu_tasks.judging.reaching._LONGEST_PAUSE", 0.0)


@pytest.mark.usefixtures("no_pause")
@pytest.mark.parametrize("failure", [503, 429, None])
@pytest.mark.parametrize("judge", ["openai/gpt-4o", "openai-api/local/gpt-4o"])
def test_a_question_that_fails_for_a_while_is_asked_again_in_the_same_words(
    judge: str, failure: int | None, serve: Run, tmp_path: Path, capsys: Capture
) -> None:
    # of too many requests, more are waited for than of other failures
    fails = iter([failure] * (10 if failure == 429 else 3))
    server = serve(lambda request: next(fails, by_rule(request)) if is_question(request) else "ready")
    scored = score(capsys, write_replies(tmp_path / "r.jsonl", ["回答"]), server, judge=judge)
    assert scored.metrics["judge_failed"] == 0.0 and not [*fails]
    first, *others = filter(is_question, server.asked)
    assert others == [first] * (10 if failure == 429 else 3)


@pytest.mark.usefixtures("no_pause")
@pytest.mark.parametrize("failure", [429, 503])
def test_a_judge_that_has_too_many_requests_at_the_start_is_waited_for(
    failure: int, serve: Run, tmp_path: Path, capsys: Capture
) -> None:
    fails = iter([failure] * (10 if failure == 429 else 1))
    server = serve(lambda request: next(fails, by_rule(request)))
    scored = score(capsys, write_replies(tmp_path / "r.jsonl", ["回答"]), server)
    assert scored.metrics["judge_failed"] == 0.0 and not [*fails]


def test_a_judge_that_is_gone_is_not_missed_if_all_verdicts_are_cached(
    serve: Run, tmp_path: Path, capsys: Capture
) -> None:
    server, replies = serve(by_rule), write_replies(tmp_path / "r.jsonl", ["回答"])
    before = score(capsys, replies, server).metrics
    asked = len(server.asked)
    server.answer = lambda request: 401
    assert score(capsys, replies, server).metrics == before and len(server.asked) == asked
    judging._reached.clear()
    told = score(capsys, write_replies(tmp_path / "other.jsonl", ["别的"]), server)
    assert told.status == 2 and "gpt-4o cannot be reached: ChatError: HTTP 401: scripted failure" in told.err


def test_the_reason_of_a_rejected_request_is_shown_and_the_judge_can_be_set(
    serve: Run, tmp_path: Path, capsys: Capture, run_inspect: Run, run_lm_eval: Run
) -> None:
    def picky(request: dict[str, Any]) -> Any:
        right = request["temperature"] == 1 and request["max_tokens"] == 99 and "response_format" not in request
        return completion({"content": by_rule(request)}) if right else 400

    server, replies = serve(picky), write_replies(tmp_path / "r.jsonl", ["回答"])
    told = score(capsys, replies, server)
    assert told.status == 2 and "rejects the request: ChatError: HTTP 400: scripted failure (server_error)" in told.err
    settings = {"judge_temperature": 1.0, "judge_max_tokens": 99, "judge_without_schema": True}
    flags = ["--judge-temperature", "1", "--judge-max-tokens", "99", "--judge-without-schema"]
    assert score(capsys, replies, server, *flags).metrics["judge_failed"] == 0.0
    metadata = judged(server) | {f"halu_{name}": value for name, value in settings.items()}
    run = run_lm_eval(["cfaith_gen"], OracleLM(), metadata, limit=2)
    assert run["results"]["cfaith_gen"]["judge_failed,none"] == 0.0
    log = run_inspect("cfaith_gen", "halu/oracle", judged(server, "") | settings, limit=2)
    assert figures(log)["judge_failed"] == 0.0
    (recorded,) = log.eval.metadata["halu_tasks"]
    assert {name: recorded[name] for name in settings} == settings


@pytest.mark.usefixtures("no_pause")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"choices": None, "error": {"message": "No provider", "code": 400}}, "ChatError: HTTP 400: No provider (400)"),
        ({"choices": None}, "ChatError: the server's answer has no message: '{"),
        ({"choices": []}, "ChatError: the server's answer has no message: '{"),
        (b"[]", "ChatError: the server's answer has no message: '[]'"),
        (b'"busy"', "ChatError: the server's answer has no message: '\"busy\"'"),
        (b"<html>", "ChatError: the server's answer has no message: '<html>'"),
    ],
)
def test_an_answer_that_is_none_is_a_failure_with_its_reason(
    body: Any, reason: str, serve: Run, tmp_path: Path, capsys: Capture
) -> None:
    def answer(request: dict[str, Any]) -> Any:
        if not is_question(request):
            return "ready"
        return body if isinstance(body, bytes) else completion({"content": ""}) | body

    scored = score(capsys, write_replies(tmp_path / "r.jsonl", ["回答"]), serve(answer), "--judge-max-failures", "1")
    (verdict,) = scored.details[0]["verdicts"]
    assert verdict["label"] == "failed" and reason in verdict["reason"]


def test_a_verdict_in_parts_of_a_message_is_read(serve: Run, tmp_path: Path, capsys: Capture) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": verdict("consistent")}]}
    parts = [thought, {"type": "text", "text": '{"reason": "…", '}, {"type": "text", "text": '"verdict": "conflict"}'}]
    server = serve(lambda request: completion({"content": parts}) if is_question(request) else "ready")
    scored = score(capsys, write_replies(tmp_path / "r.jsonl", ["回答"]), server)
    assert scored.metrics["hallucination_rate"] == 1.0 and questions(server) == 1


def test_markup_and_keys_that_a_judge_repeats_change_and_keep_nothing(
    serve: Run, tmp_path: Path, capsys: Capture, halu_cache: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-a-stranger")
    said = verdict("conflict", 'it has </think>consistent and "a-key-of-a-stranger"')
    server = serve(lambda request: said if is_question(request) else "ready")
    scored = score(capsys, write_replies(tmp_path / "r.jsonl", ["回答"]), server)
    assert scored.metrics["hallucination_rate"] == 1.0 and "</think>" in scored.details[0]["verdicts"][0]["reason"]
    assert "stranger" not in str(scored.details) and "***" in str(scored.details)
    for file in halu_cache.glob("verdicts.sqlite3*"):
        assert b"stranger" not in file.read_bytes()


def test_a_verdict_beside_the_reasoning_of_the_judge_is_asked_for_once(
    serve: Run, tmp_path: Path, capsys: Capture
) -> None:
    reasoning = {"reasoning_content": verdict("consistent"), "content": verdict("conflict")}
    server = serve(lambda request: completion(reasoning) if is_question(request) else "ready")
    scored = score(capsys, write_replies(tmp_path / "r.jsonl", ["回答"]), server)
    assert scored.metrics["hallucination_rate"] == 1.0 and questions(server) == 1


@pytest.mark.usefixtures("no_pause")
@pytest.mark.parametrize("refusal", [400, 404, 415, 422, 500, 501, "", "{" + " \n" * 500, "It seems to be right."])
def test_a_judge_that_cannot_follow_a_schema_is_asked_without(
    refusal: Any, serve: Run, judged_replies: Path, capsys: Capture
) -> None:
    server = serve(lambda request: refusal if "response_format" in request else by_rule(request))
    assert score(capsys, judged_replies, server).metrics["hallucination_rate"] == pytest.approx(24 / 36)
    # refused once for each question of the first round at most
    assert sum("response_format" not in request for request in server.asked) == 37


@pytest.mark.slow
def test_a_judge_is_asked_for_an_object(serve: Run, judged_replies: Path, capsys: Capture) -> None:
    server = serve(by_rule)
    assert score(capsys, judged_replies, server).metrics["judge_failed"] == 0.0
    asked = [request for request in server.asked if is_question(request)]
    schema = asked[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["verdict"]["enum"] == ["conflict", "consistent"]
    assert list(schema["properties"]) == ["reason", "verdict"] and len(asked) == 36


# --- servers that are not to be trusted ---------------------------------------------------------


class Bad(Handler):
    """Answers in a way that takes much memory, or leads elsewhere."""

    way: str

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.way == "elsewhere":
            self.send(307, Location="http://127.0.0.1:9/v1/chat/completions")
        elif self.way == "packed":
            self.send(200, gzip.compress(b" " * (1 << 20)), Content_Encoding="gzip")
        else:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while True:
                    self.wfile.write(b" " * (1 << 16))


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("elsewhere", "HTTP 307: redirects to http://127.0.0.1:9/v1/chat/completions, which is not followed"),
        ("packed", "is compressed although the request does not allow it"),
        (
            "endless",
            "more than 16,777,216 bytes in the answer of a judge's server; to allow more, set HALU_TASKS_MAX_ANS",
        ),
    ],
)
def test_an_answer_has_a_largest_size_and_is_not_looked_for_elsewhere(
    way: str, reason: str, tmp_path: Path, capsys: Capture
) -> None:
    with Server(type("_Bad", (Bad,), {"way": way})) as server:
        told = score(capsys, write_replies(tmp_path / "r.jsonl", ["回答"]), server)
    assert told.status == 2 and "judge openai/gpt-4o cannot be reached: ChatError: " in told.err and reason in told.err


# --- long replies -------------------------------------------------------------------------------


def test_of_a_long_reply_the_judge_sees_the_beginning_and_the_end_and_it_is_counted(
    serve: Run, tmp_path: Path, capsys: Capture, run_lm_eval: Run, monkeypatch: Patch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(lm_eval_task.logger, "warning", warnings.append)

    def at_the_end(request: dict[str, Any]) -> str:
        is_wrong = is_question(request) and fenced(asked_text(request))[-1].endswith("月")
        return verdict("conflict" if is_wrong else "consistent")

    server, long = serve(at_the_end), "开" + "…" * 9_000 + "月"
    replies = write_replies(tmp_path / "r.jsonl", [long, *["短"] * 35])
    scored = score(capsys, replies, server)
    shown = max((fenced(asked_text(request))[-1] for request in server.asked if is_question(request)), key=len)
    assert shown == f"开{'…' * 3_999}\n[1002 characters are left out here]\n{'…' * 3_999}月"
    assert scored.metrics["hallucination_rate"] == pytest.approx(1 / 36)
    assert [row["verdicts"][0].get("left_out") for row in scored.details] == [1_002, *[None] * 35]
    line = "1 of 36 questions (2.8%) concern a text that is too long for the judge: up to 1,002 characters"
    assert line in scored.err and "judge_max_characters=N" in scored.err
    in_full = score(capsys, replies, server, "--judge-max-characters", "10000")
    assert "too long" not in in_full.err and in_full.metrics == scored.metrics
    run_lm_eval(["cfaith_gen"], ReplayLM(str(replies)), judged(server))
    assert any(line in warning for warning in warnings)


# --- replies that talk, and questions that come again -------------------------------------------


def test_a_slow_judge_is_asked_side_by_side(serve: Run, judged_replies: Path, capsys: Capture) -> None:
    together = threading.Barrier(4, timeout=60)
    numbers = itertools.count()

    def answer(request: dict[str, Any]) -> str:
        # the first four verdicts come only after four questions are under way
        if is_question(request) and not together.broken and next(numbers) < 4:
            together.wait()
        return by_rule(request)

    assert score(capsys, judged_replies, serve(answer)).status == 0
    assert not together.broken


def test_empty_and_endless_replies_earn_nothing_without_asking(serve: Run, tmp_path: Path, capsys: Capture) -> None:
    server = serve(by_rule)
    replies = write_replies(tmp_path / "r.jsonl", ["", "<think>" + ITEMS[1].target])
    assert [(row["reason"], row["facts"]["hallucinated"]) for row in score(capsys, replies, server).details] == [
        ("empty", 0.0),
        ("unclosed reasoning", 0.0),
    ]
    assert score(capsys, replies, server).metrics["net"] == 0
    assert not questions(server)


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
def test_a_question_that_comes_again_before_it_is_answered_is_asked_and_paid_once(
    fails: bool, serve: Run, tmp_path: Path, capsys: Capture, run_inspect: Run
) -> None:
    server = serve(
        lambda request: "perhaps" if fails and ITEMS[0].target in asked_text(request) else priced(request), delay=0.05
    )
    rows = [{"id": item.id, "output": item.target, "epoch": n} for item in ITEMS for n in (1, 2, 3)]
    path = write_rows(tmp_path / "thrice.jsonl", rows)
    # a failing question is asked twice, whether or not others wait for it
    assert score(capsys, path, server).metrics["judge_failed"] == pytest.approx(fails / 36)
    assert questions(server) == 36 + fails
    options = judged(server, "") | {"judge": "openai/gpt-3.5", "judge_max_cost": 5, "judge_price": "2.5/10"}
    path = write_replies(tmp_path / "once.jsonl", ["", *(item.target for item in ITEMS[1:])])
    run_inspect("cfaith_gen", "halu/replay", options, model_args={"predictions": str(path)}, epochs=2)
    # the item without a reply is not judged
    assert questions(server) == 36 + fails + 35


def test_another_asker_takes_over_when_the_first_is_cancelled(serve: Run) -> None:
    model = get_model("openai/gpt-4o", base_url=serve(priced, delay=0.05).url, memoize=False)
    options = Options(judge_max_cost=5.0, judge_price="2.5/10")
    asked = Judge(model, OPEN_ANSWER, options)
    labels: list[str] = []

    async def ask(scope: anyio.CancelScope) -> None:
        with scope:
            labels.extend(verdict.label for verdict in await asked.judge_reply(ITEMS[0], ITEMS[0].target))

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
