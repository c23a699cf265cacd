"""`structured`: answers as JSON, asked for by a schema where the server takes one, in both harnesses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared_runs import asked_lm_eval
from test_report import report

from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.tasks import build, registry

TASKS = registry()[0]
WITH_COT = [name for name, task in TASKS.items() if "cot" in task.prompts.wording(Options()).prompt]
CHAT = "/chat/completions"


@pytest.mark.parametrize(("task", "cot"), [*((name, False) for name in TASKS), *((name, True) for name in WITH_COT)])
def test_an_answer_as_json_is_scored_as_the_same_answer_in_words(task: str, cot: bool) -> None:
    options = {"data": "sample", "fewshot": TASKS[task].prompts.shots, "cot": cot}
    evaluation, plain = build(task, Options(**options, structured=True)), build(task, Options(**options))
    assert evaluation.version == f"{plain.version}-structured" and evaluation.prompt_hash != plain.prompt_hash
    for item in evaluation.items:
        for kind in ("oracle", "baseline"):
            text, words = getattr(evaluation, kind)(item), getattr(plain, kind)(item)
            assert json.loads(text).keys() >= {"answer"}
            if TASKS[task].judge_spec:
                assert TASKS[task].judged_text("strict", item, text) == words
            score, expected = (TASKS[task].score("strict", item, Reply(reply)) for reply in (text, words))
            assert (score.answer, score.facts) == (expected.answer, expected.facts)
            assert score.outcome == ("unparsed" if expected.outcome == "unparsed" else "answered")


def schema_of(request: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = request["response_format"]["json_schema"]["schema"]
    return schema


def answering(task: str, options: Options) -> Callable[[dict[str, Any]], str]:
    evaluation = build(task, options)
    by_prompt = {item.prompt: evaluation.oracle(item) for item in evaluation.items}

    def answer(request: dict[str, Any]) -> str:
        asked = request["messages"][-1]["content"]  # lm-eval puts the system text before the prompt
        return next(reply for prompt, reply in by_prompt.items() if asked.endswith(prompt))

    return answer


TASK = "halluverse25_en"
ASKED = Options(data="sample", structured=True)


def test_inspect_asks_by_a_schema(serve: Any, openai: Any, run_inspect: Any) -> None:
    server = serve(answering(TASK, ASKED))
    log = run_inspect(TASK, openai(server), {"structured": True})
    assert log.results.scores[0].metrics["acc"].value == 1.0
    assert "structured" in log.eval.task_version
    # "none" is no answer unless rows without an error are included
    assert {*schema_of(server.asked[0])["properties"]["answer"]["enum"]} == {"entity", "relation", "sentence"}


def test_a_group_has_the_schema_of_each_task(serve: Any, openai: Any, run_inspect: Any) -> None:
    def answer(request: dict[str, Any]) -> str:
        wanted = schema_of(request)["properties"]["answer"]
        return json.dumps({"answer": [] if wanted["type"] == "array" else wanted["enum"][0]})

    server = serve(answer)
    log = run_inspect("refact", openai(server), {"structured": True}, limit=10)
    assert log.status == "success"
    assert {schema_of(request)["properties"]["answer"]["type"] for request in server.asked} == {"array", "string"}


def test_a_server_without_schemas_is_asked_without(serve: Any, openai: Any, run_inspect: Any) -> None:
    answer = answering(TASK, ASKED)
    server = serve(lambda request: 400 if "response_format" in request else answer(request))
    log = run_inspect(TASK, openai(server), {"structured": True}, max_connections=1)
    assert log.results.scores[0].metrics["acc"].value == 1.0


def test_lm_eval_asks_a_chat_server_by_a_schema(serve: Any, tmp_path: Path) -> None:
    server, of_text = serve(answering(TASK, ASKED)), serve(answering(TASK, Options(data="sample")))
    model, of_texts = ({"model_args": f"model=m,base_url={each.url}{CHAT}"} for each in (server, of_text))
    asked: dict[str, Any] = {"model": "local-chat-completions", "apply_chat_template": True}
    options = {"halu_structured": True}
    results = asked_lm_eval(tmp_path / "structured", [TASK], **asked, **model, metadata=options)
    found = json.loads(results.read_text())
    assert found["results"][TASK]["acc,none"] == 1.0 and "structured" in str(found["versions"][TASK])
    assert "enum" in schema_of(server.asked[0])["properties"]["answer"]
    plain = asked_lm_eval(tmp_path / "plain", [TASK], **asked, **of_texts)
    told = report(tmp_path / "report", results, plain)
    assert len({cell["column"] for cell in told["results"]}) == 2


def test_it_is_refused_where_replies_are_read_as_published() -> None:
    with pytest.raises(UsageError, match="structured: scoring=paper"):
        build(TASK, Options(data="sample", structured=True, scoring="paper"))
    with pytest.raises(UsageError, match="structured: an answer that is a probability"):
        build("refact_judgment_independent", Options(data="sample", structured=True, probability=True))
