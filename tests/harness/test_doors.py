"""The same replies, judge and labels give the same figures by whatever door they are scored."""

import json
from pathlib import Path
from typing import Any

import pytest
from common import Capture, Run, write_rows
from inspect_ai import score as inspect_score
from judges import ITEMS, asked_text, by_rule, figures
from programs import shown_stderr

from halu_tasks.cli import main
from halu_tasks.core.items import Reply
from halu_tasks.core.options import Options
from halu_tasks.inspect_adapter.inspect_scorer import halu_score
from halu_tasks.lm_eval_adapter.lm_eval_models import ReplayLM
from halu_tasks.replies.reply_scorer import ReplyScorer
from halu_tasks.results.read import read_results
from halu_tasks.scorers.judge import Verdict
from halu_tasks.scorers.metrics import estimates
from halu_tasks.tasks import build

TASK = "cfaith_gen"
LABELLED = 30
WITHOUT_VERDICT = (7, 10, 22)
"""The items on whose replies the judge gives no verdict."""


def rarely_failing(request: dict[str, Any]) -> str:
    text = asked_text(request)
    return "Who knows?" if any(f"在火星上{n}\n" in text for n in WITHOUT_VERDICT) else by_rule(request)


@pytest.mark.parametrize("corrected", ["by labels", pytest.param("by what is assumed", marks=pytest.mark.slow)])
def test_a_judge_that_fails_on_some_replies_gives_the_same_figures_by_every_door(
    corrected: str,
    serve: Run,
    judged_replies: Path,
    tmp_path: Path,
    capsys: Capture,
    run_lm_eval: Run,
    run_inspect: Run,
) -> None:
    server = serve(rarely_failing)
    judge = {"judge": "openai/gpt-4o", "judge_base_url": server.url, "judge_max_failures": 0.2}
    if corrected == "by labels":
        rows = [{"id": item.id, "label": "yes" if n % 3 == 1 else "no"} for n, item in enumerate(ITEMS[:LABELLED])]
        judge["reference"] = str(write_rows(tmp_path / "labels.jsonl", rows))
    else:
        judge["assume"] = "sensitivity:0.8-0.9,specificity:0.85-0.95"

    # `score`
    details = tmp_path / "details.jsonl"
    given = [word for name, value in judge.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    arguments = [TASK, str(judged_replies), "--data", "sample", "--details", str(details), "--model", "m", "--json"]
    assert main(["score", *arguments, *given]) == 0
    printed = capsys.readouterr().out
    scored = json.loads(printed)
    values, intervals = scored["metrics"], scored["intervals"]
    assert values["judge_failed"] == pytest.approx(len(WITHOUT_VERDICT) / len(ITEMS))
    assert any(name.endswith(("_ppi", "_assumed_low")) for name in values)

    # the run that `score` wrote, and each of its replies with the verdicts that it had
    (tmp_path / "scored").mkdir()
    (tmp_path / "scored" / "results.json").write_text(printed)
    (run,) = read_results([str(tmp_path / "scored")]).runs
    assert {name: figure.value for name, figure in run.figures.items()} == values
    recorded = {
        row["id"]: [Verdict(**one) for one in row.get("verdicts", ())] for row in map(json.loads, details.open())
    }
    scorer = ReplyScorer.of(build(TASK, Options(data="sample", **judge)))
    again = [scorer.score(own.item, Reply(own.reply), recorded[own.item.id]) for own in run.answers]
    assert again == run.scores
    assert {
        name: figure.value for name, figure in estimates(run.benchmark_task.metrics_of("strict", again), again).items()
    } == values

    # lm-eval
    in_lm_eval = run_lm_eval(
        [TASK], ReplayLM(str(judged_replies)), {f"halu_{name}": value for name, value in judge.items()}
    )["results"][TASK]

    # Inspect: a run with the judge, and one without that is scored later
    model = {"model_args": {"predictions": str(judged_replies)}}
    log = run_inspect(TASK, "halu/replay", judge, **model)
    without = run_inspect(TASK, "halu/replay", **model)
    later = inspect_score(without, halu_score(**judge), action="overwrite", display="none")
    (of_log,) = read_results([log.location]).runs

    for name, value in values.items():
        assert in_lm_eval[f"{name},none"] == value, name
        assert figures(log)[name] == figures(later)[name] == of_log.figures[name].value == value, name
    for name, ends in intervals.items():
        assert [figures(log)[f"{name}_low"], figures(log)[f"{name}_high"]] == ends
        assert [figures(later)[f"{name}_low"], figures(later)[f"{name}_high"]] == ends
        assert in_lm_eval[f"{name}_stderr,none"] == shown_stderr(figures(log)[f"{name}_stderr"])
