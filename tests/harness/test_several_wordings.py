"""`prompts=a.yaml,b.yaml`: every item is asked in each wording, and figures spread over them."""

import json
from pathlib import Path

import pytest
from cases import CASES
from common import Capture, Run, write_rows
from judges import figures
from programs import shown_stderr

from halu_tasks.cli import main
from halu_tasks.core.errors import UsageError
from halu_tasks.core.options import Options
from halu_tasks.tasks import build

TASK = "refact_judgment_independent"
SHORT = "{question}\n{answer}\nTrue or False?"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The built-in wording and another."""
    path = tmp_path / "short.yaml"
    path.write_text(json.dumps({TASK: {"user": SHORT}}))
    return ["packaged", str(path)]


@pytest.mark.slow
def test_both_harnesses_and_score_ask_every_item_in_each_wording(
    files: list[str], tmp_path: Path, capsys: Capture, run_lm_eval: Run, run_inspect: Run
) -> None:
    """`short` is answered wrong, so that accuracies of 1 and 0 have the standard deviation 0.707."""
    evaluation = build(TASK, Options(data="sample", prompts=tuple(files)))
    plain = build(TASK, Options(data="sample"))
    assert [item.prompt for item in evaluation.items[::2]] == [item.prompt for item in plain.items]
    assert len({item.id for item in evaluation.items}) == len(evaluation.items) == 2 * len(plain.items)

    wrong = {"True": "False", "False": "True"}
    replies = tmp_path / "replies.jsonl"
    rows = [
        {"id": item.id, "output": wrong[item.target] if item.tags["wording"] == "short" else item.target}
        for item in evaluation.items
    ]
    write_rows(replies, rows)
    expected = {"acc": 0.5, "acc_pair": 0.5, "wording_sd": 0.5**0.5}
    expected |= {"acc_wording_packaged": 1.0, "acc_wording_short": 0.0}

    assert main(["score", TASK, str(replies), "--data", "sample", "--prompts", ",".join(files), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)["metrics"]
    assert {name: scored[name] for name in expected} == pytest.approx(expected)

    results = run_lm_eval([TASK], "halu-replay", {"halu_prompts": files}, model_args=f"predictions={replies}")
    in_lm_eval = results["results"][TASK]
    log = run_inspect(TASK, "halu/replay", {"prompts": files}, model_args={"predictions": str(replies)})
    in_inspect = figures(log)
    assert {name: in_lm_eval[f"{name},none"] for name in expected} == pytest.approx(expected)
    assert {name: in_inspect[name] for name in expected} == pytest.approx(expected)
    assert "wording_sd_stderr" not in in_inspect and in_lm_eval["wording_sd_stderr,none"] == "N/A"
    assert in_lm_eval["acc_stderr,none"] == shown_stderr(in_inspect["acc_stderr"])
    assert results["versions"][TASK] == f"1.0-sample-prompts_{evaluation.prompt_hash}"
    shown = results["configs"][TASK]["doc_to_text"]
    assert evaluation.prompt["user"] in shown and SHORT in shown

    folder = tmp_path / "report"
    assert main(["report", str(tmp_path / "logs"), "-o", str(folder)]) == 0
    (result,) = json.loads((folder / "report.json").read_text())["results"]
    assert {name: result["metrics"][name]["value"] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(("prompts", "fewshot", "message"), CASES["wordings_that_cannot_be_compared_are_refused"])
def test_wordings_that_cannot_be_compared_are_refused(
    prompts: list[str], fewshot: int, message: str, files: list[str], tmp_path: Path
) -> None:
    paths = tuple(name if name == "packaged" else str(tmp_path / f"{name}.yaml") for name in prompts)
    with pytest.raises(UsageError, match=message):
        build(TASK, Options(data="sample", prompts=paths, fewshot=fewshot))
