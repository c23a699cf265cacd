"""`score` of a group, a group file and a folder of task files: each task's figures, and the group's means."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from common import Cli, Patch, write_rows

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "own_task"
GROUP = """
group: ours
task: [claim_support, edit_error]
aggregate_metric_list: [{metric: acc, weight_by_size: false}, {metric: unparsed, weight_by_size: false}]
metadata: {version: 1, about: two tasks}
"""


@pytest.fixture
def own(here: Cli, tmp_path: Path, monkeypatch: Patch) -> Path:
    """A folder with two tasks and a group of them, and replies of which the first to each task is wrong."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "replies" / "edit_error").mkdir(parents=True)
    for name in ("plain", "few_shot"):
        for path in EXAMPLES.glob(f"{name}*"):
            shutil.copy(path, "tasks")
    (tmp_path / "tasks" / "ours.yaml").write_text(GROUP)
    for task, target in (("plain", "claim_support.jsonl"), ("few_shot", "edit_error/a.jsonl")):
        rows = [json.loads(line) for line in here("items", f"tasks/{task}.yaml", "--json").stdout.splitlines()]
        replies = [{"id": row["id"], "output": row["target"]} for row in rows]
        replies[0]["output"] = "I do not know."
        write_rows(tmp_path / "replies" / target, replies)
    return tmp_path


def test_a_group_file_has_the_means_of_its_members(own: Path, here: Cli) -> None:
    told = here("score", "tasks/ours.yaml", "replies", "--model", "m", "--details", "details", "--json")
    scored = json.loads(told.stdout)
    acc = {task: figures["metrics"]["acc"] for task, figures in scored["tasks"].items()}
    assert told.returncode == 0 and acc.keys() == {"claim_support", "edit_error"}
    assert scored["group"]["metrics"]["acc"] == pytest.approx(sum(acc.values()) / 2)
    low, high = scored["group"]["intervals"]["acc"]
    assert low < scored["group"]["metrics"]["acc"] < high
    assert {path.name for path in Path("details").iterdir()} == {"claim_support.jsonl", "edit_error.jsonl"}
    shown = here("score", "tasks/ours.yaml", "replies").stdout
    assert "ours 1  means over 2 tasks" in shown and shown.count("scoring: strict") == 2
    Path("scored.json").write_text(told.stdout)
    assert here("report", "scored.json", "tasks/ours.yaml", "-o", "report").returncode == 0
    report = json.loads(Path("report/report.json").read_text())
    ((mean,), results) = (report["group_results"], report["results"])
    assert report["groups"][0]["group"] == "ours" and mean["figure"]["value"] == scored["group"]["metrics"]["acc"]
    # the tasks have no baseline, but labels
    assert {floor["name"] for floor in report["floors"]} == {"best constant"}
    assert sorted(result["metrics"]["acc"]["value"] for result in results) == sorted(acc.values())


def test_a_folder_of_task_files_is_taken_for_its_tasks(own: Path, here: Cli) -> None:
    assert here("check", "tasks").stdout == "no faults in 3 files\n"
    scored = json.loads(here("score", "tasks", "replies", "--json").stdout)
    assert scored.keys() == {"tasks"} and scored["tasks"].keys() == {"claim_support", "edit_error"}
    rows = [json.loads(line) for line in here("items", "tasks", "--limit", "1", "--json").stdout.splitlines()]
    assert [row["task"] for row in rows] == ["edit_error", "claim_support"]


def test_tasks_without_replies_are_named(own: Path, here: Cli) -> None:
    shutil.rmtree("replies/edit_error")
    refused = here("score", "tasks/ours.yaml", "replies")
    said = "halu-tasks: replies: no replies to edit_error; expected files such as edit_error.jsonl\n"
    assert (refused.returncode, refused.stderr) == (2, said)
    partial = here("score", "tasks/ours.yaml", "replies", "--partial", "--json")
    scored = json.loads(partial.stdout)
    assert (partial.returncode, partial.stderr) == (3, said)
    assert scored["tasks"].keys() == {"claim_support"} and scored["group"]["metrics"] == {}
    assert here("score", "tasks", "replies", "--gold").returncode == 2
    Path("one.json").write_text(partial.stdout)
    assert "halu-tasks: ours: no mean, as no entry has all" in here("report", "one.json", "tasks/ours.yaml").stderr


def test_a_packaged_group_has_the_means_of_a_report(here: Cli, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("replies").mkdir()
    for task in ("refact_judgment_independent", "refact_judgment_comparative"):
        rows = [json.loads(line) for line in here("items", task, "--data", "sample", "--json").stdout.splitlines()]
        replies = [{"id": row["id"], "output": row["target"] if n % 3 else "no"} for n, row in enumerate(rows)]
        Path("replies", f"{task}.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    told = here("score", "refact_judgment", "replies", "--data", "sample", "--model", "m", "--json")
    Path("scored.json").write_text(told.stdout)
    assert here("report", "scored.json", "-o", "report").returncode == 0
    (mean,) = json.loads(Path("report/report.json").read_text())["group_results"]
    figure, group = mean["figure"], json.loads(told.stdout)["group"]
    assert group["metrics"]["acc"] == figure["value"]
    assert group["intervals"]["acc"] == [figure["low"], figure["high"]]


def test_a_group_of_metrics_with_other_directions_or_ranges_is_refused(
    own: Path, here: Cli, monkeypatch: Patch
) -> None:
    """A mean of a share of right answers and one of wrong answers would rank the worse model first."""
    monkeypatch.setenv("HALU_TASKS_TRUST", "1")
    Path("tasks/mine.py").write_text(
        "from halu_tasks.scorers.metrics import metric\n"
        "@metric(higher_is_better=False)\ndef wrong(correct):\n    'Share wrong.'\n    return 1 - correct\n"
        "@metric(range=(0.0, 100.0))\ndef percent(correct):\n    'Percent right.'\n    return 100 * correct\n"
    )
    group, task = Path("tasks/ours.yaml"), Path("tasks/few_shot.yaml")
    group.write_text(GROUP.replace("metric: acc", "metric: headline"))
    before = task.read_text()
    for name, told in (
        ("wrong", "edit_error: wrong (lower is better, 0 to 1)"),
        ("percent", "edit_error: percent (higher is better, 0 to 100)"),
    ):
        task.write_text(f"{before}metric_list: [{{metric: !function mine.{name}}}]\n")
        why = "cannot be averaged over metrics that differ in direction or range"
        line = f"ours.yaml:4: aggregate_metric_list: headline {why}"
        expected = f"tasks/{line}: claim_support: acc (higher is better, 0 to 1), {told} (scoring: strict)"
        checked = here("check", "tasks/ours.yaml", "tasks/plain.yaml", "tasks/few_shot.yaml")
        assert checked.returncode == 2 and expected in checked.stdout
        for command in (
            ("score", "tasks/ours.yaml", "replies"),
            ("report", "replies", "tasks/ours.yaml"),
            ("run", "halu-oracle", "--tasks", "tasks/ours.yaml", "--dry-run"),
        ):
            refused = here(*command)
            assert refused.returncode == 2 and expected in refused.stderr
