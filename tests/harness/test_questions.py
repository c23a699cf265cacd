"""Questions from memory with a scripted judge: the same figures in both harnesses and from `score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Run, fenced, write_rows
from judges import asked_text, figures, is_question, verdict

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM
from halu_tasks.tasks import build

JUDGED = ("halluqa", "simpleqa", "simpleqa_verified", "omniscience", "truthfulqa_multi_gl")
REPLIES = ("{right}", "Wrong.", "Pass.", "Half.", "")
"""What is replied to the items in turn."""
SENSES = {"Wrong.": "bad", "Pass.": "neutral", "Half.": "partial"}


def judge_of(labels: dict[str, str]) -> Any:
    """A judge that knows the replies above; where no label fits, a wrong one is bad."""
    by_sense = {sense: label for label, sense in labels.items()}

    def judge(request: dict[str, Any]) -> str:
        if not is_question(request):
            return "ready"
        sense = SENSES.get(fenced(asked_text(request))[-1], "good")
        return verdict(by_sense.get(sense, by_sense["bad"]))

    return judge


@pytest.mark.parametrize("scoring", ["strict", "paper"])
@pytest.mark.parametrize("task", JUDGED)
def test_the_sample_has_the_same_figures_everywhere(
    task: str, scoring: str, tmp_path: Path, serve: Run, capsys: Capture, run_inspect: Any, run_lm_eval: Run
) -> None:
    built = build(task, Options(data="sample"))
    outputs = [REPLIES[n % 5].format(right=built.oracle(item)) for n, item in enumerate(built.items)]
    rows = [{"id": item.id, "output": output} for item, output in zip(built.items, outputs, strict=True)]
    replies = write_rows(tmp_path / "replies.jsonl", rows)
    assert built.task.judge_spec
    server = serve(judge_of(dict(built.task.judge_spec.labels)))
    judge = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "scoring": scoring}
    command = ["score", task, str(replies), "--data", "sample", "--json"]
    assert main([*command, "--judge", "openai/gpt-4o", "--judge-base-url", server.url, "--scoring", scoring]) == 0
    scored = json.loads(capsys.readouterr().out)["metrics"]
    options = {f"halu_{name}": value for name, value in judge.items()}
    in_lm_eval = run_lm_eval([task], ReplayLM(str(replies)), options)["results"][task]
    log = run_inspect(task, "halu/replay", judge, model_args={"predictions": str(replies)})
    in_inspect = figures(log)
    for name, value in scored.items():
        assert in_lm_eval[f"{name},none"] == in_inspect[name] == value, name
    if scoring == "strict":
        assert scored["acc"] == len(outputs[::5]) / len(outputs) and scored["judge_failed"] == 0.0
    assert {"net", "acc", "bad_rate", "attempted"} <= scored.keys()
    headline = {"simpleqa": "f_score", "simpleqa_verified": "f_score", "halluqa": "acc", "truthfulqa_multi_gl": "acc"}
    assert log.results.headline.metric == (headline.get(task, "net") if scoring == "paper" else "net")


def test_a_choice_needs_no_judge(run_lm_eval: Run, run_inspect: Any) -> None:
    from halu_tasks.lm_eval_adapter.lm_eval_models import OracleLM

    found = run_lm_eval(["halluqa_choice"], OracleLM(), {})["results"]["halluqa_choice"]
    assert found["acc,none"] == figures(run_inspect("halluqa_choice", "halu/oracle"))["acc"] == 1.0
