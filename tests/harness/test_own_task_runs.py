"""The examples of docs/own_task, copied away: both harnesses run them, and a report needs no file of them."""

import json
import shutil
from pathlib import Path

import pytest
from common import Run
from judges import figures
from programs import LM_EVAL_OF_FEW
from programs import run as program

from halu_tasks.core.errors import UsageError

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "own_task"


def run(*words: str | Path, folder: Path, code: str = "") -> None:
    done = program(*words, folder=folder, code=code)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "task"),
    [
        ("plain.yaml", "claim_support"),
        ("few_shot.yaml", "edit_error"),
        ("spans.yaml", "wrong_spans"),
        ("annotators.yaml", "unsupported_spans"),
    ],
)
def test_the_oracle_reaches_the_ceiling_and_the_report_needs_no_file(file: str, task: str, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    folder = tmp_path / "mine"
    shutil.copytree(EXAMPLES, folder)
    for number, named in enumerate((("--include_path", ".", "--tasks", task), ("--tasks", file))):
        told = ("--model", "halu-oracle", "--output_path", f"results{number}", "--log_samples")
        run(*told, *named, folder=folder, code=LM_EVAL_OF_FEW)
    run(
        "inspect_ai", "eval", "halu_tasks/task", "-T", f"config={file}", "--model", "halu/oracle", "--log-dir", "logs",
        folder=folder,
    )  # fmt: skip
    for path in EXAMPLES.iterdir():
        (folder / path.name).unlink()
    run("halu_tasks", "report", "results0", "results1", "logs", "-o", "report", folder=folder)
    told = json.loads((folder / "report" / "report.json").read_text())
    # all are runs of one task under one condition, whichever harness ran it, and however it was named
    assert not told["skipped"] and {each["task"] for each in told["columns"]} == {task}
    (result,) = told["results"]
    assert (result["version"], result["metrics"]["acc"]["value"], len(result["equal"])) == ("1", 1.0, 2)
    page, text = ((folder / "report" / name).read_text() for name in ("index.html", "report.md"))
    people = told["columns"][0]["human_ceiling"]
    assert ("on items with annotators" in text) == ("<h4>Compared with people</h4>" in page) == (people is not None)
    if task == "unsupported_spans":
        assert (people["annotators"], people["items"], people["pool"]) == (3, 12, "majority")
        assert 0 < people["estimates"]["iou"]["value"] < 1 and people["alpha"]["low"] is not None
        # what all three mark together is nearer to two of them than the third is
        beside = result["beside_people"]["iou"]
        assert beside["other"] == people["estimates"]["iou"] and result["metrics"]["iou"]["value"] == 1.0
        assert beside["other"]["value"] < beside["value"]["value"] < 1.0 and beside["difference"]["low"] is not None
        assert (
            f"on items with annotators {beside['value']['value']:.3f}, annotators {beside['other']['value']:.3f}"
            in text
        )
        floors = {floor["name"]: floor["beside_people"] for floor in told["floors"] if floor["headline"]}
        assert floors["marking nothing"] > 0 and "Intervals are over items, with these annotators" in text
    log = read_eval_log(str(next((folder / "logs").glob("*.eval"))))
    assert figures(log)["acc"] == 1.0 and str(folder) not in json.dumps(log.eval.metadata)
    samples = next((folder / "results0").rglob("samples_*.jsonl")).read_text().splitlines()
    prompts = [json.loads(line)["arguments"]["gen_args_0"]["arg_0"] for line in samples]
    assert all(("Changed: number" in prompt) == (task == "edit_error") for prompt in prompts)


def test_lm_eval_refuses_a_group_whose_members_have_other_directions(tmp_path: Path, run_lm_eval: Run) -> None:
    """lm-eval averages what the members of a group have under one name, whatever its direction."""
    shutil.copytree(EXAMPLES, folder := tmp_path / "mine")
    worse = folder / "few_shot.yaml"
    worse.write_text(worse.read_text() + "metric_list: [{metric: unparsed}]\n")
    (folder / "ours.yaml").write_text(
        "group: ours\ntask: [claim_support, edit_error]\nmetadata: {version: 1, about: two tasks}\n"
        "aggregate_metric_list: [{metric: headline, weight_by_size: false}]\n"
    )
    told = r"ours\.yaml:4: .* claim_support: acc \(higher is better, 0 to 1\), edit_error: unparsed \(lower is better"
    with pytest.raises(UsageError, match=told):
        run_lm_eval(["ours"], "halu-oracle", folder=folder, limit=2)
    # a task alone has no mean
    assert run_lm_eval(["edit_error"], "halu-oracle", folder=folder, limit=2)["results"]["edit_error"]
