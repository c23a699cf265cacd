"""`reader`: a model reads the replies whose label the rules infer or do not find, in both harnesses and in `score`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common import write_rows
from judges import figures
from shared_runs import asked_lm_eval

from halu_tasks.cli import main
from halu_tasks.core.options import Options
from halu_tasks.tasks import build

TASK = "refact_judgment_independent"
BUILT = build(TASK, Options(data="sample"))
ITEMS = BUILT.items
INFERRED = "The answer contains no errors."
UNREAD = "Of all I know, this one I would sign, were I asked."


def outputs(number: int) -> str:
    """A declared label, one to infer, and a text without one, in turn."""
    return [f"Final verdict: {ITEMS[number].target}", INFERRED, UNREAD][number % 3]


def asked(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


def reads(request: dict[str, Any]) -> str:
    """The reader: what cannot be read by rules means True, and what they infer is no answer."""
    text = asked(request)
    if text == "Reply with the single word: ready":
        return "ready"
    assert '"false", "true"' in text and "Final verdict" not in text
    return json.dumps({"reason": "it says so", "verdict": "true" if UNREAD in text else "no answer"})


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    return write_rows(
        tmp_path / f"{TASK}.jsonl", ({"id": item.id, "output": outputs(n)} for n, item in enumerate(ITEMS))
    )


def share(of_number: Callable[[int, str], bool]) -> float:
    return sum(of_number(number % 3, item.target) for number, item in enumerate(ITEMS)) / len(ITEMS)


ASKED = share(lambda kind, target: kind != 0)
EXPECTED = {
    "acc": share(lambda kind, target: kind == 0 or (kind == 1 and target == "True")),
    "acc_reader": share(lambda kind, target: kind == 0 or (kind == 2 and target == "True")),
    "read_by_reader": ASKED, "changed_by_reader": ASKED, "reader_failed": 0.0,
}  # fmt: skip


def test_lm_eval_prints_both_figures(serve: Any, tmp_path: Path, predictions: Path) -> None:
    server = serve(reads)
    results = asked_lm_eval(
        tmp_path / "results", [TASK], "halu-replay", model_args=f"predictions={predictions}",
        metadata={"halu_reader": "openai/gpt-4o", "halu_reader_base_url": server.url},
    )  # fmt: skip
    found = json.loads(results.read_text())["results"][TASK]
    assert {name: found[f"{name},none"] for name in EXPECTED} == pytest.approx(EXPECTED)
    # equal replies are asked about once
    assert len([request for request in server.asked if "A model was given" in asked(request)]) == 2


def test_inspect_prints_both_figures_with_a_reader_in_its_role(
    serve: Any, openai: Any, run_inspect: Any, predictions: Path
) -> None:
    from inspect_ai.model import get_model

    server = serve(reads)
    model = get_model("halu/replay", predictions=str(predictions))
    log = run_inspect(TASK, model, model_roles={"reader": openai(server)})
    found = figures(log)
    assert {name: found[name] for name in EXPECTED} == pytest.approx(EXPECTED)


def test_score_asks_the_reader(serve: Any, tmp_path: Path, predictions: Path, capsys: Any) -> None:
    server = serve(reads)
    command = ["score", TASK, str(predictions), "--data", "sample", "--json"]
    assert main([*command, "--reader", "openai/gpt-4o", "--reader-base-url", server.url]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: found[name] for name in EXPECTED} == pytest.approx(EXPECTED)


def test_a_reader_that_fails_stops_the_run_and_keeps_the_replies(
    serve: Any, tmp_path: Path, predictions: Path, capsys: Any
) -> None:
    server = serve(lambda request: "I would rather not say.")
    command = ["score", TASK, str(predictions), "--data", "sample"]
    assert main([*command, "--reader", "openai/gpt-4o", "--reader-base-url", server.url]) != 0
    assert "gave no verdict" in capsys.readouterr().err
