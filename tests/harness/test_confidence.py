"""`confidence` and `threshold`: the same in both harnesses, in `score` and in a report, for whatever shows how sure."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Run, write_rows
from judges import asked_text, figures
from mock_models import saying
from programs import shown_stderr
from test_parity import Keeper
from test_report import report

from halu_tasks.cli import main
from halu_tasks.core.errors import UsageError
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.results.read import read_results
from halu_tasks.tasks import build, registry

TASK = "halluverse25_en"
ITEMS = build(TASK, Options(data="sample")).items
SURE = ("Confidence: 95%", "Confidence: very high", "I am 80% sure.")
UNSURE = ("(confidence: 0.6)", "Confidence: low", "")
OF_CONFIDENCE = ("aurc", "coverage_at_risk", "brier_confidence", "ece_confidence", "no_confidence")


def replies() -> list[dict[str, str]]:
    """Replies of which every third is wrong and unsure, every seventh wrong and sure, and every ninth declines."""
    rows = []
    for n, item in enumerate(ITEMS):
        wrong = "entity" if item.target != "entity" else "relation"
        answer = wrong if n % 3 == 0 or n % 7 == 0 else item.target
        said = (UNSURE if n % 3 == 0 else SURE)[n // 3 % 3]
        rows.append({"id": item.id, "output": "I cannot tell." if n % 9 == 8 else f"{answer}\n{said}".strip()})
    return rows


def test_stated_confidence_gives_the_same_figures_by_every_door(
    tmp_path: Path, capsys: Capture, run_lm_eval: Run, run_inspect: Run
) -> None:
    path = write_rows(tmp_path / "replies.jsonl", replies())
    arguments = [TASK, str(path), "--data", "sample", "--model", "m", "--confidence", "--risk", "0.2", "--json"]
    assert main(["score", *arguments]) == 0
    printed = capsys.readouterr().out
    scored = json.loads(printed)
    values, intervals = scored["metrics"], scored["intervals"]
    assert {*OF_CONFIDENCE} <= values.keys() and 0 < values["aurc"] < 1 - values["acc"]
    assert 0 < values["no_confidence"] < 0.3 and 0 < values["coverage_at_risk"] < 1
    assert {"aurc", "brier_confidence"} <= intervals.keys() and not {"coverage_at_risk", "ece_confidence"} & {
        *intervals
    }

    # the statement changes no answer
    plain = [{**row, "output": row["output"].partition("\n")[0]} for row in replies()]
    assert main(["score", TASK, str(write_rows(tmp_path / "plain.jsonl", plain)), "--data", "sample", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: values[name] for name in alone} == alone and "aurc" not in alone

    (tmp_path / "scored").mkdir()
    (tmp_path / "scored" / "results.json").write_text(printed)
    options = {"confidence": True, "risk": 0.2}
    in_lm_eval = run_lm_eval([TASK], ReplayLM(str(path)), {f"halu_{name}": value for name, value in options.items()})
    log = run_inspect(TASK, "halu/replay", options, model_args={"predictions": str(path)})
    runs = [read_results([str(source)]).runs[0] for source in (tmp_path / "scored", log.location)]
    assert "confidence-risk0.2" in log.eval.task_version
    for name, value in values.items():
        assert in_lm_eval["results"][TASK][f"{name},none"] == figures(log)[name] == value, name
        assert [run.figures[name].value for run in runs] == [value, value], name
    for name, ends in intervals.items():
        assert [figures(log)[f"{name}_low"], figures(log)[f"{name}_high"]] == ends
        assert in_lm_eval["results"][TASK][f"{name}_stderr,none"] == shown_stderr(figures(log)[f"{name}_stderr"])

    told = report(tmp_path / "report", Path(log.location))
    (curve,) = told["why"][0]["risk"]
    assert curve["aurc"]["value"] == values["aurc"]
    coverages, risks = zip(*curve["points"], strict=True)
    assert list(coverages) == sorted(coverages) and coverages[-1] < 1 and max(risks) <= 1
    page = (tmp_path / "report" / "index.html").read_text()
    assert "<h4>Risk and coverage</h4>" in page and page.count("<polyline") == 1


@pytest.mark.slow
def test_both_harnesses_ask_the_same_and_before_a_cue(tmp_path: Path, run_lm_eval: Run, run_inspect: Run) -> None:
    task = "refact_judgment_independent"
    evaluation = build(task, Options(data="sample", confidence=True))
    path = write_rows(
        tmp_path / "replies.jsonl", [{"id": item.id, "output": evaluation.oracle(item)} for item in evaluation.items]
    )
    model = Keeper(path)
    found = run_lm_eval([task], model, {"halu_confidence": True})["results"][task]
    log = run_inspect(task, "halu/oracle", {"confidence": True})
    asked = {str(sample.id): sample.input[-1].text for sample in log.samples}
    for item in evaluation.items:
        assert '"Confidence: N%"' in item.prompt and item.prompt.endswith("Final Verdict:")
        assert asked[item.id] == item.prompt and item.prompt in model.asked[item.id]
    assert found["acc,none"] == figures(log)["acc"] == 1 and found["aurc,none"] == figures(log)["aurc"] == 0
    assert found["brier_confidence,none"] == 0 and found["no_confidence,none"] == 0


@pytest.mark.parametrize("task", registry()[0])
def test_every_task_can_be_asked(task: str) -> None:
    shots = registry()[0][task].prompts.shots
    plain = build(task, Options(data="sample", fewshot=shots))
    for structured in (False, True):
        evaluation = build(task, Options(data="sample", fewshot=shots, confidence=True, structured=structured))
        assert evaluation.decoding.max_tokens > plain.decoding.max_tokens
        scorer, of_plain = ReplyScorer.of(evaluation), ReplyScorer.of(plain)
        for item, other in list(zip(evaluation.items, plain.items, strict=True))[:5]:
            score, expected = (
                scorer.score(item, Reply(evaluation.oracle(item))),
                of_plain.score(other, Reply(plain.oracle(other))),
            )
            assert (score.answer, score.facts) == (expected.answer, {**expected.facts, "confidence": 1.0})
            # texts stand in the prompt as without the option
            assert item.prompt.startswith(other.prompt.rpartition("\n")[0])


def test_a_judge_does_not_see_how_sure_a_reply_is(serve: Any, tmp_path: Path, capsys: Capture) -> None:
    task = "cfaith_gen"
    rows = [
        {"id": item.id, "output": f"答案{n}\n置信度：{95 if n % 3 else 40}%"}
        for n, item in enumerate(build(task, Options(data="sample")).items)
    ]
    server = serve(lambda request: "consistent")
    judge = ["--judge", "openai/gpt-4o", "--judge-base-url", server.url, "--judge-max-failures", "1"]
    main(
        [
            "score",
            task,
            str(write_rows(tmp_path / "r.jsonl", rows)),
            "--data",
            "sample",
            "--confidence",
            "--json",
            *judge,
        ]
    )
    assert json.loads(capsys.readouterr().out)["metrics"]["no_confidence"] == 0
    asked = [asked_text(request) for request in server.asked]
    assert any("答案1" in text for text in asked) and not any("置信度" in text for text in asked)


@pytest.mark.slow
def test_a_field_of_json_is_asked_for_by_a_schema(serve: Any, openai: Run, run_inspect: Run) -> None:
    server = serve(lambda request: json.dumps({"answer": "entity", "confidence": 0.7}))
    log = run_inspect(TASK, openai(server), {"structured": True, "confidence": True})
    schema = server.asked[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["answer", "confidence"] == schema["required"]
    assert figures(log)["no_confidence"] == 0
    assert figures(log)["aurc"] == pytest.approx(1 - figures(log)["acc"])


@pytest.mark.slow
def test_a_probability_shows_how_sure_an_answer_is(tmp_path: Path, run_lm_eval: Run, capsys: Capture) -> None:
    task = "refact_judgment_independent"
    # of "False", the label that is looked for
    rows = [
        {"id": item.id, "output": "True", "probability": 0.45 - 0.4 * (item.target == "True")}
        for item in build(task, Options(data="sample")).items
    ]
    path = write_rows(tmp_path / "replies.jsonl", rows)
    found = run_lm_eval([task], ReplayLM(str(path)), {"halu_probability": True})["results"][task]
    assert main(["score", task, str(path), "--data", "sample", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["metrics"]
    assert values["coverage_at_risk"] == found["coverage_at_risk,none"] == values["acc"] == 0.5
    assert values["aurc"] == found["aurc,none"] and values["no_confidence"] == 0
    with pytest.raises(UsageError, match="option confidence: that of a probability follows from it"):
        build(task, Options(data="sample", probability=True, confidence=True))


@pytest.mark.slow
def test_votes_show_how_sure_an_answer_is_and_stated_confidence_counts_if_it_is_asked_for(
    run_inspect: Run, tmp_path: Path
) -> None:
    from inspect_ai.util import registry_create

    came: dict[str, int] = {}

    def reply(asked: str) -> str:
        came[asked] = came.get(asked, -1) + 1
        return f"{('entity', 'entity', 'relation')[came[asked] % 3]}\nConfidence: 90%"

    def voted(options: dict[str, Any]) -> Any:
        solver = registry_create("solver", "halu_tasks/self_consistency", samples=3, cache=False)
        return run_inspect(TASK, saying(reply), options, solver=solver)

    for options, expected in (({}, 2 / 3), ({"confidence": True}, 0.9)):
        log = voted(options)
        (run,) = read_results([log.location]).runs
        assert {round(score.facts["confidence"], 3) for score in run.scores} == {round(expected, 3)}
        assert figures(log)["aurc"] == pytest.approx(1 - figures(log)["acc"]) and figures(log)["votes_unread"] == 0


THRESHOLD = """\
task: questions
file: rows.jsonl
fields: [question]
doc_to_text: |-
  Which city is asked for? Berlin, Paris or Rome?
  {{question}}
  Answer:
answer: {kind: label, labels: [Berlin, Paris, Rome]}
gold: {target: answer}
task_options: [threshold]
"""


def test_a_task_can_be_asked_to_answer_only_above_a_threshold(
    tmp_path: Path, capsys: Capture, run_inspect: Run
) -> None:
    file = tmp_path / "questions.yaml"
    file.write_text(THRESHOLD)
    rows = write_rows(
        tmp_path / "rows.jsonl", [{"question": f"Question {n} {{x}}", "answer": "Rome"} for n in range(12)]
    )
    log = run_inspect(
        "task", "halu/oracle", {"config": str(file), "data": str(rows), "threshold": 0.75, "confidence": True}
    )
    assert "threshold0.75-confidence" in log.eval.task_version
    asked = log.samples[0].input[-1].text
    assert re.search(r"Question \d+ \{x\}\n\nAnswer only if you are more than 75% sure", asked) and "loses 3," in asked
    assert asked.endswith("Answer:") and figures(log)["acc"] == 1
    assert main(["items", str(file), "--threshold", "0.5", "--limit", "1"]) == 0
    assert "more than 50% sure" in (shown := capsys.readouterr().out) and "loses 1," in shown
    # a task that does not name the option is asked as without it
    assert build(TASK, Options(data="sample", threshold=0.75)).items == ITEMS
