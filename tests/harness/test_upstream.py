"""What `docs/upstream` would send to other projects: it stands alone, and says what this package says."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs_commands import commands_of

from halu_tasks.cli import main
from halu_tasks.scorers.metrics import mean
from halu_tasks.scorers.score import ScoredReply
from halu_tasks.scorers.statistics.differences import difference
from halu_tasks.tasks.task_registry import registry

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "upstream"
NOT_REGISTERED = {"simpleqa", "simpleqa_verified", "halluverse_m3"}
"""Benchmarks without an entry for the register, for the reasons that register.yaml gives."""


@pytest.fixture
def paired(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    import paired_comparison

    return paired_comparison


def test_the_standalone_comparison_has_the_figures_of_reports(paired: Any) -> None:
    numbers = random.Random(5)
    metric = mean("share", "right", range=(0.0, 1.0))
    for number, size in enumerate((2, 7, 40, 300)):
        for odds in ((0.5, 0.5), (0.9, 0.3), (1.0, 1.0), (1.0, 0.98)):
            clusters = [str(numbers.randrange(1 + size // (1 + number))) for _ in range(size)]
            clusters[:2] = ["a", "b"]
            runs = [[float(numbers.random() < share) for _ in range(size)] for share in odds]
            scores = [
                [ScoredReply(str(n), clusters[n], None, "", {"right": value}) for n, value in enumerate(run)]
                for run in runs
            ]
            ours, found = difference(metric, *scores), paired.paired_difference(*runs, clusters)
            assert ours and found[:5] == pytest.approx([ours.value, ours.stderr, ours.low, ours.high, ours.p])
            assert (found.samples, found.clusters) == (ours.items, ours.clusters)


@pytest.mark.parametrize("chosen", ["not command_line", pytest.param("command_line", marks=pytest.mark.slow)])
def test_its_files_need_nothing_of_this_package_and_their_own_tests_pass(chosen: str) -> None:
    for path in FOLDER.glob("*.py"):
        assert not re.search(r"^\s*(from|import) .*halu", path.read_text("utf-8"), re.MULTILINE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_paired_comparison.py", "-k", chosen]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_lm_eval_finds_the_tasks_that_the_package_advertises() -> None:
    command = [*(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"), "test_installed_tasks.py"]
    done = subprocess.run([*command, "-k", "halu_tasks"], cwd=FOLDER, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_the_register_has_each_benchmark_with_its_paper_and_tasks() -> None:
    tasks, groups = registry()
    papers = {task.data.source.name: task.data.source.paper for task in tasks.values()}
    entries = yaml.safe_load((FOLDER / "register.yaml").read_text("utf-8"))
    assert {*entries} == {*papers} - NOT_REGISTERED
    for name, entry in entries.items():
        named = [task["name"] for task in entry["tasks"]]
        assert {*named} <= {*tasks, *groups}
        arxiv = "2310.10627" if name == "fave" else papers[name].partition("arXiv ")[2].partition(";")[0]
        assert entry["arxiv"] == f"https://arxiv.org/abs/{arxiv}"
        for one in named:
            members = groups[one].tasks if one in groups else (tasks[one],)
            assert {task.data.source.name for task in members} == {name}
        # all languages of a benchmark are in its groups
        listed = {member for one in named for member in (groups[one].members if one in groups else (one,))}
        assert listed == {task.name for task in tasks.values() if task.data.source.name == name}


def test_the_addresses_for_the_register_are_of_lines_with_a_task() -> None:
    command = [sys.executable, "addresses.py", "owner", "0" * 40]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)
    addresses = done.stdout.splitlines()
    assert len(addresses) == len(yaml.safe_load((FOLDER / "register.yaml").read_text("utf-8")))
    for address in addresses:
        paper, source = address.split()
        path, _, line = source.partition(f"owner/halu-tasks/blob/{'0' * 40}/")[2].partition("#L")
        assert paper.startswith("https://arxiv.org/abs/")
        assert (ROOT / path).read_text("utf-8").splitlines()[int(line) - 1] == "@task"
    refused = subprocess.run([*command[:3], "main"], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "40 digits" in refused.stderr


def test_the_task_for_longfact_scores_claims_by_f1_at_k(capsys: pytest.CaptureFixture[str]) -> None:
    folder = FOLDER / "longfact"
    replies = str(folder / "replies.jsonl")
    assert main(["score", str(folder / "longfact.yaml"), replies, "--verdicts", replies, "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    # of three relevant claims two are supported, and of one, one; 64 are wanted
    f1 = [2 * precision * recall / (precision + recall) for precision, recall in ((2 / 3, 2 / 64), (1, 1 / 64))]
    assert metrics["f1_at_64"] == pytest.approx(sum(f1) / 2) and metrics["acc_attempted"] == pytest.approx(5 / 6)


def test_the_entry_for_inspects_page_has_the_keys_of_the_others() -> None:
    (entry,) = yaml.safe_load((FOLDER / "extensions.yml").read_text("utf-8"))
    assert list(entry) == ["name", "description", "author", "categories"] and entry["categories"] == ["Analysis"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [c.text for c in commands_of("docs/upstream/README.md") if re.match("lm_eval |inspect |python docs/make_", c.text)],
)
def test_the_commands_of_answers_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path))
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    if command.startswith("lm_eval"):
        assert all(name in done.stdout for name in command.partition("--tasks ")[2].partition(" ")[0].split(","))
