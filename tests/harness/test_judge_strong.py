"""A stronger judge of a drawn part: the same items and figures in both harnesses, in commands and in the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_judge import ITEMS, asked_text, by_rule

from halu_tasks.cli import main
from halu_tasks.lm_eval_adapter.models import ReplayLM

Serve = Callable[..., Any]
Capture = pytest.CaptureFixture[str]
STRONG = (
    "hallucination_rate_ppi_strong", "judge_sensitivity_strong", "judge_specificity_strong", "judge_kappa_strong",
)  # fmt: skip


def lenient(request: dict[str, Any]) -> str:
    """A judge that misses every hallucination whose number ends in 1."""
    missed = '{"reason": "", "verdict": "consistent"}'
    return missed if "1\n=====" in asked_text(request) else by_rule(request)


@pytest.fixture
def servers(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return serve(lenient), serve(by_rule)


@pytest.fixture
def judges(servers: tuple[Any, Any]) -> dict[str, Any]:
    return {
        "judge": "openai/gpt-4o-mini", "judge_base_url": servers[0].url,
        "judge_strong": "openai/gpt-4o", "judge_strong_base_url": servers[1].url,
    }  # fmt: skip


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    rows = [{"id": item.id, "output": item.target if n % 3 == 0 else f"不知道{n}"} for n, item in enumerate(ITEMS)]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def flags(options: dict[str, Any]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def score(capsys: Capture, path: Path, options: dict[str, Any], *more: str) -> dict[str, Any]:
    assert main(["score", "cfaith_gen", str(path), "--data", "sample", *flags(options), "--json", *more]) == 0
    return dict(json.loads(capsys.readouterr().out))


def questions(server: Any) -> int:
    return sum("=====" in asked_text(request) for request in server.asked)


def test_a_stronger_judge_of_all_gives_its_own_rate_and_the_errors_of_the_other(
    judges: dict[str, Any], servers: tuple[Any, Any], replies: Path, capsys: Capture
) -> None:
    figures = score(capsys, replies, judges | {"judge_strong_share": 1})["metrics"]
    # 24 of 36 replies are hallucinations, of which the judge misses those numbered 1, 11 and 31
    missed = len([n for n in range(36) if n % 3 and n % 10 == 1])
    assert figures["hallucination_rate"] == pytest.approx((24 - missed) / 36)
    assert figures["hallucination_rate_ppi_strong"] == pytest.approx(24 / 36)
    assert figures["judge_sensitivity_strong"] == pytest.approx((24 - missed) / 24)
    assert figures["judge_specificity_strong"] == 1.0
    assert not figures.keys() & {"hallucination_rate_ppi", "judge_sensitivity"}
    assert questions(servers[0]) == questions(servers[1]) == 36


@pytest.mark.slow
def test_a_drawn_part_is_the_same_everywhere_and_nothing_else_changes(
    judges: dict[str, Any],
    servers: tuple[Any, Any],
    replies: Path,
    tmp_path: Path,
    capsys: Capture,
    run_lm_eval: Callable[..., dict[str, Any]],
    run_inspect: Callable[..., Any],
) -> None:
    options = judges | {"judge_strong_share": 0.9}
    plain = score(capsys, replies, {name: judges[name] for name in ("judge", "judge_base_url")})
    details = tmp_path / "details.jsonl"
    scored = score(capsys, replies, options, "--model", "m", "--details", str(details))
    assert plain["metrics"].items() <= scored["metrics"].items()
    assert set(STRONG) <= scored["metrics"].keys() and set(STRONG) <= scored["intervals"].keys()
    assert scored["version"] == f"{plain['version']}-judge_strong_openai.gpt-4o_0.9"
    drawn = questions(servers[1])
    assert 30 <= drawn < 36
    rows = [json.loads(line) for line in details.read_text().splitlines()]
    assert sum("strong_verdicts" in row for row in rows) == drawn

    found = run_lm_eval(["cfaith_gen"], ReplayLM(str(replies)), {f"halu_{name}": v for name, v in options.items()})
    log = run_inspect("cfaith_gen", "halu/replay", options, model_args={"predictions": str(replies)})
    in_inspect = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    for name in ("hallucination_rate", *STRONG):
        assert found["results"]["cfaith_gen"][f"{name},none"] == scored["metrics"][name] == in_inspect[name], name
    # the same items were drawn, so every verdict was in the store
    assert questions(servers[1]) == drawn and questions(servers[0]) == 36

    results, report = tmp_path / "results.json", tmp_path / "report"
    results.write_text(json.dumps(scored))
    assert main(["report", str(results), "-o", str(report)]) == 0
    page = (report / "report.md").read_text()
    assert "by the stronger judge 0." in page
    assert "what the stronger judge would say of all replies, which is not the truth either" in page
    assert "by the stronger judge:" in (report / "index.html").read_text()
    (result,) = json.loads((report / "report.json").read_text())["results"]
    assert result["metrics"].keys() >= set(STRONG)


@pytest.mark.slow
def test_the_seed_draws_others_and_few_verdicts_have_no_interval(
    judges: dict[str, Any], replies: Path, tmp_path: Path, capsys: Capture
) -> None:
    drawn = []
    for seed in ("0", "1"):
        details = tmp_path / f"{seed}.jsonl"
        options = judges | {"judge_strong_share": 0.5, "judge_strong_seed": seed}
        command = ["score", "cfaith_gen", str(replies), "--data", "sample", *flags(options), "--details", str(details)]
        assert main(command) == 0
        printed = capsys.readouterr()
        assert "verdicts of the stronger judge are too few for an interval" in printed.err
        assert "is what the judge says, not the truth" in printed.out
        drawn.append([row["id"] for row in map(json.loads, details.open()) if "strong_verdicts" in row])
    assert drawn[0] != drawn[1] and all(5 < len(ids) < 31 for ids in drawn)


def test_what_the_stronger_judge_fails_on_is_left_out_and_counted(
    judges: dict[str, Any], serve: Serve, replies: Path, capsys: Capture
) -> None:
    silent = serve(lambda request: "?" if "3\n=====" in asked_text(request) else by_rule(request))
    options = judges | {"judge_strong_base_url": silent.url, "judge_strong_share": 1, "judge_max_failures": 0.5}
    command = ["score", "cfaith_gen", str(replies), "--data", "sample", *flags(options), "--json"]
    assert main(command) == 0
    printed = capsys.readouterr()
    failed = len([n for n in range(36) if n % 3 and n % 10 == 3])
    assert f"the stronger judge gave no verdict on {failed} questions" in printed.err
    assert 0 < json.loads(printed.out)["metrics"]["hallucination_rate_ppi_strong"] < 1


@pytest.mark.slow
def test_sentences_of_a_summary_are_put_to_the_stronger_judge_together(
    serve: Serve, openai: Callable[..., Any], run_inspect: Callable[..., Any]
) -> None:
    no, yes = (json.dumps({"critique": "", "supported": word}) for word in ("no", "yes"))
    strong = serve(lambda request: yes)
    log = run_inspect(
        "fave", "halu/oracle",
        {"judge_strong": "openai/gpt-4o-mini", "judge_strong_base_url": strong.url, "judge_strong_share": 0.5},
        model_roles={"grader": openai(serve(lambda request: no))},
    )  # fmt: skip
    scores = [sample.scores["halu_score"] for sample in log.samples]
    records = [score.metadata["halu_tasks"]["score"] for score in scores]
    drawn = [record for record in records if "strong_verdicts" in record]
    assert 0 < len(drawn) < len(records)
    assert all(len(record["strong_verdicts"]) == len(record["verdicts"]) for record in drawn)
    assert all(("stronger judge on" in score.explanation) == ("strong_verdicts" in record)
               for score, record in zip(scores, records, strict=True))  # fmt: skip
    assert log.results.scores[0].metrics["judge_specificity_strong"].value == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge_strong": "openai/a"}, "option judge_strong: also name the judge of all replies"),
        ({"judge": "openai/a", "judge_strong": "openai/a"}, "expected another model than that of judge"),
        ({"judge": "openai/a", "judge_strong_share": 0.5}, "judge_strong_share: only has a meaning with judge_strong"),
        ({"judge": "openai/a", "judge_strong": "openai/b", "judge_strong_share": 0}, "expected a number above 0"),
    ],
)
def test_faults_of_the_options_are_one_line(
    options: dict[str, Any], message: str, replies: Path, capsys: Capture
) -> None:
    assert main(["score", "cfaith_gen", str(replies), "--data", "sample", *flags(options)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
